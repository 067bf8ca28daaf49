"""Partitions whose requests are all deleted are dropped, and nobody waits for that."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from app.core.clock import DAY_US, now_us
from app.core.model import Endpoint
from app.db.postgres.schema import PARTITION
from app.db.store import Store
from tests.db.helpers import Place, add, query

TABLES = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'hookline.{}'::regclass ORDER BY 1"


def tables(place: Place, of: str) -> list[str]:
    return [str(name).removeprefix("hookline.") for (name,) in query(place, TABLES.format(of))]


@pytest.fixture
async def kept(store: Store, endpoint: Endpoint, place: Place) -> str:
    """The only request that does not expire, in the second partition; those of the first do."""
    query(place, f"SELECT setval('hookline.capture_seq_seq', {PARTITION - 3})")
    for _ in range(2):
        await add(store, endpoint.id, received_at=now_us() - (endpoint.retention_days + 1) * DAY_US)
    return (await add(store, endpoint.id)).id


async def test_only_what_is_empty_and_full_of_numbers_is_dropped(
    store: Store, endpoint: Endpoint, place: Place, kept: str
) -> None:
    assert tables(place, "capture") == ["capture_0", f"capture_{PARTITION}"]
    await store.retention.purge()
    assert tables(place, "capture") == [f"capture_{PARTITION}"]
    assert tables(place, "capture_body") == [f"capture_body_{PARTITION}", "capture_body_long"]
    assert await store.captures.body(kept) == b'{"hello":"world"}'
    await store.captures.delete([kept])
    await store.retention.purge()
    assert tables(place, "capture") == [f"capture_{PARTITION}"], "the next requests go there"
    assert await add(store, endpoint.id)


async def test_one_that_is_read_is_dropped_later(store: Store, endpoint: Endpoint, place: Place, kept: str) -> None:
    with psycopg.connect(str(place)) as connection:
        reader: Any = connection.execute("SELECT count(*) FROM hookline.capture")  # its transaction goes on
        async with asyncio.timeout(5):
            await store.retention.purge()
            await add(store, endpoint.id)
        assert reader.fetchone() == (3,)
        assert len(tables(place, "capture")) == 2
    await store.retention.purge()
    assert len(tables(place, "capture")) == 1
