"""Hears that another node has stored something. It is a hint alone: the writer looks now and then anyway."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from selectors import EVENT_READ, DefaultSelector
from threading import Event, Thread

import psycopg
from peewee import PeeweeException

from app.db.postgres.database import PostgresDatabase
from app.db.postgres.follow import Follower
from app.db.postgres.writer import CHANNEL
from app.db.raw_sql import raw

RETRY_S = 2.0


class Listener:
    """A connection and a thread of its own. All public methods are called on the loop's thread."""

    def __init__(self, address: str, follower: Follower, heard: Callable[[], None]) -> None:
        """`heard` is called on the loop's thread, for what other nodes say."""
        self._database = PostgresDatabase(address, read_only=True)
        self._follower, self._heard = follower, heard
        self._loop = asyncio.get_running_loop()
        self._stopped, self._ended = Event(), asyncio.Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        self._thread = Thread(target=self._main, name="hookline-listener", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        self._stopped.set()
        self._database.cut(closing=True)
        if self._thread is not None:
            await self._ended.wait()
            self._thread.join()

    def _main(self) -> None:
        try:
            while not self._stopped.is_set():
                try:
                    self._listen()
                except (psycopg.Error, PeeweeException):
                    self._stopped.wait(RETRY_S)
        finally:
            self._loop.call_soon_threadsafe(self._ended.set)

    def _listen(self) -> None:
        with contextlib.closing(self._database), DefaultSelector() as selector:
            self._database.connect()
            connection = raw(self._database)
            connection.execute(f"LISTEN {CHANNEL}")
            selector.register(connection.fileno(), EVENT_READ)
            while not self._stopped.is_set():
                connection.pgconn.consume_input()
                while (notice := connection.pgconn.notifies()) is not None:
                    if notice.extra != str(self._follower.number).encode():
                        self._loop.call_soon_threadsafe(self._heard)
                selector.select()
