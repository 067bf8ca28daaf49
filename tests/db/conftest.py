"""A real store in a temporary place, once for each engine, and what it published."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from app.core.events import Event
from app.core.model import Endpoint
from tests import factories
from tests.db.helpers import OpenStore, Place, close_kept

if TYPE_CHECKING:
    from tests.postgres import PostgresServer


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """A database with the tables of a store: a copy of it takes a third of the time that making them takes."""
    from app.db.postgres.database import PostgresDatabase
    from app.db.postgres.schema import prepare

    name = postgres_server.create()
    database = PostgresDatabase(postgres_server.url(name))
    with database.connection_context():
        prepare(database, postgres_server.url(name))
    return name


@pytest.fixture
def place(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Where the test's store is: a folder, or the URL of a database. `tests.db.helpers` asks it."""
    if engine == "sqlite":
        yield tmp_path
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        name = server.create(request.getfixturevalue("postgres_template"))
        yield server.url(name)
        close_kept()
        server.drop_later(name)


@pytest.fixture
async def open_store(place: Place, events: list[Event], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenStore]:
    """Opens the test's store, a second time too; those that are open at the end of the test are closed. Takes the
    options of `Store.open`; the server's clock, too, shows the time of `clock`."""
    opened = []

    async def open_it(publish: Callable[[Event], None] = events.append, **options: Any) -> Any:
        if isinstance(place, Path):
            from app.db.sqlite.store import Store as SqliteStore

            store: Any = await SqliteStore.open(place, publish, **options)
        else:
            from app.db.postgres import store as postgres_store
            from app.db.postgres.store import Store as PostgresStore

            if "clock" in options:
                monkeypatch.setattr(postgres_store, "server_time", lambda _: options["clock"]())
            store = await PostgresStore.open(place, publish, **options)
        opened.append(store)
        return store

    yield open_it
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: OpenStore) -> Any:
    return await open_store()


@pytest.fixture
async def endpoint(store: Any) -> Endpoint:
    created: Endpoint = await store.endpoints.create(factories.draft())
    return created
