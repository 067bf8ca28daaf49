"""Both engines do the same and tell the same: random deeds, then random searches."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app.core.model import Plan
from app.db.postgres import store as postgres_store
from app.db.postgres.store import Store as PostgresStore
from app.db.sqlite.store import Store as SqliteStore
from tests import factories
from tests.db.hands import NOW, Hands
from tests.db.helpers import idle, settled
from tests.db.random_queries import queries
from tests.db.search.index import make_small, without_index
from tests.db.search.test_search import search
from tests.db.told import Names, all_told

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("HOOKLINE_SEED", "1"))


@pytest.fixture
async def both(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[Any]]:
    """Stores of both engines, with small indexes and the same clock."""
    make_small(monkeypatch)
    monkeypatch.setattr(postgres_store, "server_time", lambda _: NOW)
    with psycopg.connect(postgres_url) as connection:  # or the server would not use the indexes of so small tables
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET enable_seqscan TO off")
    stores: list[Any] = [await SqliteStore.open(tmp_path, lambda _: None, clock=lambda: NOW)]
    stores.append(await PostgresStore.open(postgres_url, lambda _: None, clock=lambda: NOW))
    yield stores
    for store in stores:
        await store.close()


async def do_the_same(hands: list[Hands], deeds: int, each: int) -> None:
    """After `each` so many of them everything is compared."""
    names = [Names() for _ in hands]
    for number in range(1, deeds + 1):
        done = []
        for own, name in zip(hands, names, strict=True):
            what, came_of_it = await own.act()
            await settled(own.store)
            done.append((what, name.plain(came_of_it)))
        assert done[1] == done[0], number
        if number % each == 0:
            expected, told = [
                await all_told(own.store, name, random.Random(number)) for own, name in zip(hands, names, strict=True)
            ]
            assert told.keys() == expected.keys()
            for what, one in expected.items():
                assert told[what] == one, (number, what)


async def search_the_same(both: list[Any], hands: list[Hands], number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In some more requests: with the index, without it, of all endpoints and of one, and without secrets; in the same
    order."""
    for own in hands:
        await own.store.account.set_plan(Plan.PRO)
        chosen = [await own.store.endpoints.create(factories.draft(name=name, tags=("shop", "eu"))) for name in "ab"]
        for _ in range(min(number, 100)):
            await own.requests.capture(own.dice.choice(chosen))
        await idle(own.store._index._worker)
    endpoints = [store.endpoints.all() for store in both]

    async def ask(engine: int, text: str, how: str) -> list[str]:
        endpoint_id = endpoints[engine][-1].id if how == "one endpoint" else None
        more: dict[str, Any] = {}
        if how == "redacted":
            more["secret_headers"] = {one.id: "X-Kind" for one in endpoints[engine]}
        return [one.id for one in await search(both[engine], text, endpoint_id, limit=1_000, **more)]

    for at, text in enumerate(queries(hands[0].dice, number)):
        how = "redacted" if at % 12 == 5 else "one endpoint" if at % 2 else "all"
        expected = await ask(0, text, how)
        with monkeypatch.context() as patch:
            if at % 2:  # by groups, also within an endpoint
                patch.setattr("app.db.postgres.search.FEW_OF_ENDPOINT", 0)
            assert await ask(1, text, how) == expected, (how, text)
            if at % 6 == 2:
                without_index(both[1], patch)
                assert await ask(1, text, how) == expected, text


@pytest.mark.parametrize(
    ("deeds", "each", "searches"),
    [(100, 50, 24), pytest.param(5_000, 200, 500, marks=[pytest.mark.long, pytest.mark.timeout(1_800)])],
)
async def test_both_engines_do_and_tell_the_same(
    both: list[Any], monkeypatch: pytest.MonkeyPatch, deeds: int, each: int, searches: int
) -> None:
    hands = [Hands(store, random.Random(SEED)) for store in both]
    await do_the_same(hands, deeds, each)
    await search_the_same(both, hands, searches, monkeypatch)
