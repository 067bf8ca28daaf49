"""Stores to be copied, and places to copy them to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from app.db.sqlite.store import Store as SqliteStore
from tests.db.helpers import Place, close_kept
from tests.postgres import PostgresServer

NewPlace = Callable[[str], Any]


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewPlace]:
    """Makes places for a store of an engine: a folder yet to be made, or a database whose tables are there already."""
    databases: list[str] = []
    numbers = count(1)

    def make(engine: str) -> Place:
        if engine == "sqlite":
            return tmp_path / f"folder {next(numbers)}"
        server: PostgresServer = request.getfixturevalue("postgres_server")
        databases.append(server.create(request.getfixturevalue("postgres_template")))
        return server.url(databases[-1])

    yield make
    close_kept()
    for name in databases:
        request.getfixturevalue("postgres_server").drop(name)


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[Any]:
    """The store there, made if need be."""
    if isinstance(place, Path):
        place.mkdir(exist_ok=True)
        store: Any = await SqliteStore.open(place, lambda _: None)
    else:
        from app.db.postgres.store import Store as PostgresStore

        store = await PostgresStore.open(place, lambda _: None)
    try:
        yield store
    finally:
        await store.close()
