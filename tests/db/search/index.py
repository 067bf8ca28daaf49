"""The indexes of both engines as tests see them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from app.db.raw_sql import execute
from app.db.sqlite.search import IndexContents
from app.db.sqlite.store import Store as SqliteStore

SMALL = {
    "app.db.search.background_index": {"MOST_WAITING": 10, "BATCH": 8, "REST": 0.0},
    "app.db.sqlite.search": {"GROUP": 32},
    "app.db.postgres.search": {"GROUP": 32},
    "app.db.postgres.group_filter": {"RARE": 10},
}


def make_small(monkeypatch: pytest.MonkeyPatch, *, group: int = 32) -> None:
    """Groups, batches and what may wait, in a size that tests can fill."""
    for place, values in SMALL.items():
        for name, value in values.items():
            monkeypatch.setattr(f"{place}.{name}", group if name == "GROUP" else value)


async def upto(store: Any) -> int:
    """The highest number of a request that is indexed."""
    if isinstance(store, SqliteStore):
        return store._index.contents.upto
    return await _asked(store, "SELECT coalesce(max(upto), 0) FROM search_group")


async def groups(store: Any) -> int:
    """How many groups of requests the index has."""
    if isinstance(store, SqliteStore):
        return len(store._index.contents.spans)
    return await _asked(store, "SELECT count(*) FROM search_group")


async def _asked(store: Any, statement: str) -> int:
    found: int = await store._readers.run(lambda database: execute(database, statement).fetchone()[0])
    return found


async def indexed(store: Any, number: int, seconds: float = 10.0) -> None:
    """Wait until the index has come that far."""
    end = time.monotonic() + seconds
    while await upto(store) < number:
        assert time.monotonic() < end, "the index does not follow"
        await asyncio.sleep(0.01)


async def has_groups(store: Any, number: int, seconds: float = 10.0) -> None:
    """Wait until the index has so many groups."""
    end = time.monotonic() + seconds
    while await groups(store) != number:
        assert time.monotonic() < end, "the index keeps what was deleted"
        await asyncio.sleep(0.01)


def without_index(store: Any, patch: pytest.MonkeyPatch) -> None:
    """Have searches examine all requests."""
    if isinstance(store, SqliteStore):
        patch.setattr(store._index, "contents", IndexContents())
    else:
        patch.setattr("app.db.postgres.search.to_index_query", lambda _: None)
