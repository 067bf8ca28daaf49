"""Response times: collected in memory, and written many at a time with a later commit."""

from __future__ import annotations

import asyncio
import logging

import msgspec
from peewee import SqliteDatabase

from app.core.errors import StorageUnavailableError
from app.db.sqlite.raw_sql import raw
from app.db.sqlite.writer.writer import Writer
from app.db.sqlite.writer.writer_jobs import Job

log = logging.getLogger(__name__)

BATCH = 256
DELAY_S = 1.0


class ResponseTimes:
    """All public methods are called on the loop's thread."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._waiting: list[tuple[int, float]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._closed = False

    def add(self, seq: int, ms: float) -> None:
        """Record that the response to request `seq` was sent after `ms` milliseconds."""
        if self._closed:
            return
        self._waiting.append((seq, ms))
        if len(self._waiting) >= BATCH:
            self._submit()
        else:
            self._later()

    async def close(self) -> None:
        """Write what waits; if that fails it is lost, since no request depends on it."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        waiting, self._waiting = self._waiting, []
        if waiting:
            try:
                await self._writer.run(lambda database: _write(database, waiting))
            except StorageUnavailableError as error:
                log.debug("the times of the last %d answers are lost: %s", len(waiting), error)

    def _later(self) -> None:
        if self._timer is None and not self._closed:
            self._timer = self._loop.call_later(DELAY_S, self._submit)

    def _submit(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []

        def failed(error: Exception) -> None:
            if isinstance(error, StorageUnavailableError):
                self._waiting[:0] = waiting
                self._later()
            else:
                log.error("times of answers could not be stored", exc_info=error)

        self._writer.put(Job(lambda database: _write(database, waiting), _written, failed))


def _written(_: object) -> None:
    """Nobody waits for it."""


def _write(database: SqliteDatabase, waiting: list[tuple[int, float]]) -> None:
    """One statement for any number of rows; deleted requests are skipped."""
    raw(database).execute(
        "INSERT OR REPLACE INTO capture_response (capture_seq, ms)"
        " SELECT c.seq, j.value ->> 1 FROM json_each(?) j JOIN capture c ON c.seq = j.value ->> 0",
        (msgspec.json.encode(waiting).decode(),),
    )
