"""Identifies and describes stored requests in the background, newest first: those whose body was too long to be read
for that while it was captured."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial

from peewee import Database

from app.core.bodies.gist import gist
from app.core.errors import StorageUnavailableError
from app.core.events import RequestsUpdated
from app.core.providers import Identify, ProviderMatch
from app.core.record import Record
from app.db.body_parts import FIRST_PART
from app.db.models import NOBODY, decode_headers
from app.db.part import BackgroundWorker, Part, Shared
from app.db.raw_sql import execute, execute_many, is_sqlite
from app.db.writer_thread import AdaptiveBatch

log = logging.getLogger(__name__)


STEP_S = 0.008
"""Seconds one step may take: it holds the interpreter lock, so a longer one would block the window."""
MOST_RECEIVED = 16
"""Requests in one step where a server sends all of them, each with up to a part of its body, before any is read."""
PAUSE_FACTOR = 2.0
"""The pause between steps, as a multiple of the time a step took."""


class Identified(Record, frozen=True):
    """Who sent a stored request (None: unknown) and its gist; `gist_changed`: it differs from the stored one."""

    seq: int
    id: str
    endpoint_id: int
    sender: ProviderMatch | None
    gist: str
    gist_changed: bool

    @property
    def changes(self) -> dict[str, bool | str | None]:
        """The fields of its summary that are others now."""
        sender = {"provider": self.sender.provider, "event": self.sender.event} if self.sender is not None else {}
        return {**sender, "gist": self.gist} if self.gist_changed else {**sender}


class Identification(Part):
    """Works when woken, newest requests first; what a stop interrupts continues at the next start."""

    def __init__(self, shared: Shared, identify: Identify | None) -> None:
        """Without `identify` no request is identified."""
        super().__init__(shared)
        self._identify = identify
        self._batch = AdaptiveBatch(32, most=128)
        self._worker = BackgroundWorker("hookline-identification", self._run)
        self.stop = self._worker.stop

    def wake(self) -> None:
        if self._identify is not None:
            self._worker.wake()

    async def _run(self) -> None:
        assert self._identify is not None, "never woken without it"
        try:
            while True:
                job = partial(identify_batch, identify=self._identify, limit=self._batch.rows)
                began = time.perf_counter()
                found = await self._readers.run(job, slow=True)
                if not found:
                    return
                took = time.perf_counter() - began
                await self._writer.between(partial(store_identified, found=found), self._batch)
                if changes := {one.id: one.changes for one in found if one.changes}:
                    endpoint_ids = {one.endpoint_id for one in found}
                    self._publish(RequestsUpdated(endpoint_ids=tuple(endpoint_ids), changes=changes))
                await asyncio.sleep(took * PAUSE_FACTOR)
        except StorageUnavailableError as error:
            log.warning("identifying requests is postponed: %s", error)


def identify_batch(database: Database, identify: Identify, limit: int) -> list[Identified]:
    """Identify the newest requests that are not identified yet: at most `limit`, fewer when that takes long."""
    end = time.perf_counter() + STEP_S
    if not is_sqlite(database):
        limit = min(limit, MOST_RECEIVED)
    found = []
    with database.atomic():
        rows = execute(
            database,
            "SELECT seq, id, endpoint_id, headers, content_type, data, method, target, size, complete, gist"
            f" FROM capture LEFT JOIN capture_body ON key = {FIRST_PART} WHERE provider IS NULL"
            " ORDER BY seq DESC LIMIT ?",
            (limit,),
        )
        for seq, name, endpoint_id, packed, content_type, data, method, target, size, complete, stored in rows:
            headers, body = decode_headers(packed), data or b""
            described = gist(method, target, headers, content_type, body, size=size, complete=bool(complete))
            sender = identify(headers, content_type, body)
            found.append(
                Identified(
                    seq=seq,
                    id=name,
                    endpoint_id=endpoint_id,
                    sender=sender,
                    gist=described,
                    gist_changed=described != stored,
                )
            )
            if time.perf_counter() > end:
                break
    return found


def store_identified(database: Database, _: int, *, found: list[Identified]) -> None:
    """Store the providers and gists of those requests that are still stored."""
    values = [
        (one.sender.provider, one.sender.event, one.sender.delivery_id, one.gist, one.seq)
        if one.sender is not None
        else (NOBODY, None, None, one.gist, one.seq)
        for one in found
    ]
    columns = "provider = ?, event = ?, delivery_id = ?, gist = ?"
    execute_many(database, f"UPDATE capture SET {columns} WHERE seq = ? AND provider IS NULL", values)
