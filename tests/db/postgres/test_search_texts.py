"""The texts that searches ask in PostgreSQL: stored behind the requests, removed with them, indexed by groups."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from app.core.model import Endpoint
from app.db.postgres.database import PostgresDatabase
from app.db.postgres.schema import INDEX_LOCK, TEXT_LOCK
from app.db.postgres.search import MISSING
from app.db.postgres.store import Store
from app.db.raw_sql import execute
from app.db.search import background_index
from tests import factories
from tests.db.helpers import OpenStore, add, add_many
from tests.db.search.index import has_groups, indexed, make_small, upto
from tests.db.search.test_search import search
from tests.support import until

PARTS = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'search_text_%'"
BUILT = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'search_text_%_text'"


@pytest.fixture
async def store(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> Any:
    make_small(monkeypatch)
    return await open_store()


@pytest.fixture
def other(store: Store, place: str) -> Iterator[PostgresDatabase]:
    """The connection of another node."""
    database = PostgresDatabase(place)
    with database.connection_context():
        yield database


async def asked(store: Store, statement: str) -> int:
    found: int = await store._readers.run(lambda database: execute(database, statement).fetchone()[0])
    return found


async def until_is(store: Store, statement: str, number: int) -> None:
    for _ in range(1_000):
        if await asked(store, statement) == number:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{statement}: {await asked(store, statement)}")


async def test_full_groups_get_an_index_and_empty_ones_go(store: Store, endpoint: Endpoint) -> None:
    assert store.slow_search is None
    await add_many(store, endpoint.id, 120)
    await indexed(store, 110)
    await until_is(store, BUILT, 3)
    assert await asked(store, PARTS) == 4
    await store.captures.clear(endpoint.id)
    await has_groups(store, 1)
    assert await asked(store, PARTS) == await asked(store, BUILT) + 1 == 1


async def test_texts_are_deleted_with_their_requests(store: Store, endpoint: Endpoint) -> None:
    made = await add_many(store, endpoint.id, 80)
    await indexed(store, 80)
    await store.captures.delete([one.id for one in made[5:70]])
    await until_is(store, "SELECT count(*) FROM search_text", 15)


async def test_a_deletion_waits_for_texts_that_are_being_stored(
    store: Store, endpoint: Endpoint, other: PostgresDatabase
) -> None:
    """Or they would stay."""
    made = await add_many(store, endpoint.id, 5)
    with other.atomic():
        execute(other, f"SELECT pg_advisory_xact_lock({TEXT_LOCK})")
        deletion = asyncio.create_task(store.captures.delete([made[0].id]), name="deletion")
        purge = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        await until_is(store, purge, 1)
        assert await asked(store, "SELECT count(*) FROM capture") == 5
    await deletion
    assert await asked(store, "SELECT count(*) FROM capture") == 4


async def test_one_node_stores_texts_at_a_time(store: Store, endpoint: Endpoint, other: PostgresDatabase) -> None:
    execute(other, f"SELECT pg_advisory_lock({INDEX_LOCK})")
    await add_many(store, endpoint.id, 40)
    await asyncio.sleep(0.1)
    assert await upto(store) == 0
    assert len(await search(store, "hello")) == 40
    execute(other, f"SELECT pg_advisory_unlock({INDEX_LOCK})")
    await add_many(store, endpoint.id, 20)
    await indexed(store, 48)


async def test_texts_are_stored_without_a_pause_while_another_node_captures(
    store: Store, endpoint: Endpoint, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_index, "REST", 1e6)
    other = await open_store(works=False)
    await until(lambda: other.endpoints.by_id(endpoint.id))

    async def capture() -> None:
        while True:
            await add_many(other, endpoint.id, 5)

    capturing = asyncio.create_task(capture(), name="captures")
    try:
        await indexed(store, 300)
    finally:
        capturing.cancel()
        await asyncio.gather(capturing, return_exceptions=True)


async def test_without_the_extension_searches_work_and_the_store_says_so(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_small(monkeypatch)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE SCHEMA hookline")
        connection.execute("CREATE ROLE plain LOGIN")
        connection.execute("GRANT ALL ON SCHEMA hookline TO plain")
    plain = postgres_url.replace("user=postgres", "user=plain")
    store = await Store.open(plain, lambda _: None)
    assert store.slow_search == MISSING
    endpoint = await store.endpoints.create(factories.draft())
    await add_many(store, endpoint.id, 100)
    await add(store, endpoint.id, b"needle")
    await indexed(store, 90)
    assert len(await search(store, "needle")) == 1
    assert await asked(store, BUILT) == 0
    await store.close()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE EXTENSION pg_trgm")  # in the schema `public`
    store = await Store.open(plain, lambda _: None)
    assert store.slow_search is None
    await until_is(store, BUILT, 3)
    assert len(await search(store, "needle")) == 1
    await store.close()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP OWNED BY plain")
        connection.execute("DROP ROLE plain")
