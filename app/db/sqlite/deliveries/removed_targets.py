"""Ends deliveries that are queued for targets that no longer exist."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache

from peewee import SQL, SqliteDatabase

from app.core.errors import StorageUnavailableError
from app.core.events import DeliveryChanged, Event
from app.db.background_worker import BackgroundWorker
from app.db.endpoint_directory import EndpointDirectory
from app.db.sqlite.deliveries import attempts
from app.db.sqlite.deliveries.delivery_results import show_worst
from app.db.sqlite.raw_sql import json_list, raw
from app.db.sqlite.reads.readers import Readers
from app.db.sqlite.reads.records import DELIVERY
from app.db.sqlite.schema.schema import CaptureModel, DeliveryModel
from app.db.sqlite.writer.writer import Writer
from app.db.sqlite.writer.writer_jobs import AdaptiveBatch

_MOST = 256
"""Deliveries in a step: the loop publishes an event for each."""
_NOT_TRIED = "Not sent: the target was removed."
_NOT_RETRIED = "Not retried: the target was removed."
_END = """UPDATE delivery
    SET state = iif(attempts, 'failed', 'not_sent'), error = iif(attempts, error, :not_tried),
        next_step = iif(attempts, :not_retried, NULL), due_at = 0
    WHERE seq IN (SELECT seq FROM delivery WHERE target_id = :target AND state = 'queued' AND replay_id IS NULL
        AND sending_at IS NULL AND NOT EXISTS (SELECT 1 FROM target WHERE id = :target) ORDER BY seq LIMIT :limit)
    RETURNING seq, capture_seq"""
_WITHOUT_TARGET = """SELECT DISTINCT target_id FROM delivery
    WHERE state = 'queued' AND replay_id IS NULL AND target_id NOT IN (SELECT id FROM target)"""


class RemovedTargets:
    """Works when told of a target that is gone; what a stop or a crash interrupts continues at the next start. Leaves
    a delivery whose attempt is being made until that has ended. All public methods are called on the loop's thread."""

    def __init__(
        self, writer: Writer, readers: Readers, directory: EndpointDirectory, publish: Callable[[Event], None]
    ) -> None:
        self._writer, self._readers, self._directory, self._publish = writer, readers, directory, publish
        self._gone: set[int] = set()
        self._batch = AdaptiveBatch(64, most=_MOST)
        self._lock = asyncio.Lock()
        self._worker = BackgroundWorker("hookline-removed-targets", self.run)
        self.stop = self._worker.stop

    async def load(self) -> None:
        """Continue with what an earlier run left."""
        rows = await self._readers.run(lambda database: raw(database).execute(_WITHOUT_TARGET).fetchall())
        self.check(number for (number,) in rows)

    def check(self, target_ids: Iterable[int | None]) -> None:
        """Deliveries to these were queued: end them if their target is gone."""
        gone = {number for number in target_ids if number is not None and self._directory.target(number) is None}
        if gone:
            self._gone |= gone
            self._worker.wake()

    async def run(self) -> None:
        """Return once nothing waits for those targets, or the store cannot write."""
        with suppress(StorageUnavailableError):  # the writer has logged why
            async with self._lock:
                while self._gone:
                    await self._end_all(self._gone.pop())

    async def _end_all(self, target_id: int) -> None:
        def step(database: SqliteDatabase, limit: int) -> list[DeliveryChanged]:
            return _end(database, target_id, limit)

        try:
            while await self._writer.between(step, self._batch, self._ended):
                pass
        except BaseException:
            self._gone.add(target_id)
            raise

    def _ended(self, ended: list[DeliveryChanged]) -> None:
        for event in ended:
            if self._directory.by_id(event.delivery.endpoint_id) is not None:
                self._publish(event)


@cache
def _read_statement() -> str:
    """Built once: that takes peewee as long as changing some deliveries."""
    query = DeliveryModel.select(*DELIVERY.columns, DeliveryModel.seq).join(CaptureModel)
    query = query.where(DeliveryModel.seq.in_(SQL("(SELECT value FROM json_each(:seqs))")))
    return str(query.order_by(DeliveryModel.seq).sql()[0])


def _end(database: SqliteDatabase, target_id: int, limit: int) -> list[DeliveryChanged]:
    """End at most `limit` deliveries; none if the target exists."""
    connection = raw(database)
    texts = {"not_tried": _NOT_TRIED, "not_retried": _NOT_RETRIED}
    captures = dict(connection.execute(_END, {**texts, "target": target_id, "limit": limit}).fetchall())
    if not captures:
        return []
    shown = show_worst(connection, set(captures.values()))
    rows = connection.execute(_read_statement(), {"seqs": json_list(captures)}).fetchall()
    deliveries = [DELIVERY.record(row) for row in rows]
    tried = [delivery.id for delivery in deliveries if delivery.attempts]
    last = attempts.last_of(database, tried) if tried else {}
    ended = []
    for delivery, row in zip(deliveries, rows, strict=True):
        failure = last[delivery.id].failure if delivery.id in last else None
        ended.append(DeliveryChanged(delivery=delivery, state=shown[captures[row[-1]]], failure=failure))
    return ended
