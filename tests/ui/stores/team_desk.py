"""The desk over a team's store: other nodes capture, and this machine does not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
from PySide6.QtWidgets import QApplication

from app.core.events import Bus
from app.db.postgres.store import Store
from app.server.refused import RefusedLog
from tests.postgres import PostgresServer
from tests.ui.desk import BASE, Desk

ADDRESS = "postgresql://ann@db.example.com/team"


class Database:
    """A new one, which can be taken away from all who use it."""

    def __init__(self, server: PostgresServer) -> None:
        self.name, self._server = server.create(), server
        self.url = server.url(self.name)
        self._administrator: psycopg.Connection[Any] = psycopg.connect(server.url("postgres"), autocommit=True)

    def take_away(self) -> None:
        self._administrator.execute(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false")
        self._administrator.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (self.name,)
        )

    def give_back(self) -> None:
        self._administrator.execute(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS true")

    def close(self) -> None:
        """Nobody needs it any more."""
        self._administrator.close()
        self._server.drop_later(self.name)


@asynccontextmanager
async def open_team_desk(folder: Path, url: str) -> AsyncIterator[Desk]:
    """What the window keeps of the store is `ADDRESS`."""
    bus = Bus()
    store: Any = await Store.open(url, bus.publish, lambda: (BASE + "/catch/",), works=False)
    desk = Desk(store=store, bus=bus, refused=RefusedLog(bus.publish), folder=folder, place=None)
    desk.services = replace(desk.services, store_address=ADDRESS)
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    desk.theme.apply(app)
    desk.theme.set_choice("light")
    try:
        yield desk
    finally:
        await desk.tasks.cancel_all()
        await desk.replays.stop()
        await store.close()
