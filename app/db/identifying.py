"""Finds out, behind the captures, who sent what was stored unlooked at: long bodies, and what older versions stored."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial

from peewee import SqliteDatabase

from app.core.errors import StorageUnavailableError
from app.core.events import Event, RequestsIdentified
from app.core.model import Record
from app.core.providers.catalogue import Identify, Sender
from app.db.bulk import decode_headers
from app.db.jobs import Pace
from app.db.raw import raw
from app.db.readers import Readers
from app.db.schema import NOBODY, PARTS_PER_BODY
from app.db.writer import Writer

log = logging.getLogger(__name__)


LOOK_S = 0.008
"""Seconds one look may take: Python works on one thread at a time, so that a longer one would hold up the window."""
REST = 2.0
"""Between looks it rests for so many times as long as it looked."""


class Found(Record, frozen=True):
    """Who sent a stored request; None: nobody known."""

    seq: int
    id: str
    sender: Sender | None


class Identifier:
    """Goes through such requests when woken, newest first. What a stop interrupts goes on at the next start."""

    def __init__(
        self, writer: Writer, readers: Readers, identify: Identify | None, publish: Callable[[Event], None]
    ) -> None:
        """Without `identify` nothing is ever looked at."""
        self._writer, self._readers, self._identify, self._publish = writer, readers, identify, publish
        self._pace = Pace(32, most=128)
        self._task: asyncio.Task[None] | None = None
        self._again = False

    def wake(self) -> None:
        """There may be something to look at."""
        self._again = True
        if self._identify is not None and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._run(self._identify), name="hookline-identifier")

    async def stop(self) -> None:
        """Stop after the step in hand."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, identify: Identify) -> None:
        while self._again:
            self._again = False
            try:
                await self._catch_up(identify)
            except StorageUnavailableError as error:
                log.warning("finding out who sent what is put off: %s", error)

    async def _catch_up(self, identify: Identify) -> None:
        while True:
            job = partial(look, identify=identify, limit=self._pace.rows)
            began = time.perf_counter()
            found = await self._readers.run(job)
            if not found:
                return
            looked = time.perf_counter() - began
            await self._writer.between(partial(note, found=found), self._pace)
            senders = tuple((one.id, one.sender.provider, one.sender.event) for one in found if one.sender is not None)
            if senders:
                self._publish(RequestsIdentified(senders=senders))
            await asyncio.sleep(looked * REST)


def look(database: SqliteDatabase, identify: Identify, limit: int) -> list[Found]:
    """The newest requests that were not looked at, looked at: at most `limit`, fewer when that takes long."""
    connection, end = raw(database), time.perf_counter() + LOOK_S
    found = []
    with database.atomic():
        rows = connection.execute(
            "SELECT c.seq, c.id, c.headers, c.content_type, b.data FROM capture c"
            " LEFT JOIN capture_body b ON b.key = c.seq * ? WHERE c.provider IS NULL ORDER BY c.seq DESC LIMIT ?",
            (PARTS_PER_BODY, limit),
        )
        for seq, name, headers, content_type, body in rows:
            sender = identify(decode_headers(headers), content_type, body or b"")
            found.append(Found(seq=seq, id=name, sender=sender))
            if time.perf_counter() > end:
                break
    return found


def note(database: SqliteDatabase, _: int, *, found: list[Found]) -> None:
    """Write down who sent them, as far as they are still there."""
    values = [
        (one.sender.provider, one.sender.event, one.sender.delivery_id, one.seq)
        if one.sender is not None
        else (NOBODY, None, None, one.seq)
        for one in found
    ]
    statement = "UPDATE capture SET provider = ?, event = ?, delivery_id = ? WHERE seq = ? AND provider IS NULL"
    raw(database).executemany(statement, values)
