"""Deletes the oldest requests, or the oldest responses of targets, while their storage limit is exceeded."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial

from app.core.errors import StorageUnavailableError
from app.core.events import Purged
from app.core.model import PurgeReport
from app.db.background_worker import BackgroundWorker
from app.db.counts import Deleted
from app.db.deleting import Cleanup, make_room, oldest
from app.db.deliveries.delivery_results import RemovedResponses, remove_oldest
from app.db.deliveries.unsent import UnsentReport
from app.db.part import Part, Shared
from app.db.writer_thread import AdaptiveBatch

SEQS_PER_READ = 20_000
"""Numbers of the oldest requests that are read at once: among an endpoint's million that takes a reader 0.3 s."""
PUBLISH_INTERVAL_S = 0.5
"""Seconds between two `Purged` events while requests keep coming."""


class StorageEviction(Part):
    """Works when woken. Deletes in order of arrival, whatever time the clock showed; starred requests too, and last
    those that wait for a target."""

    def __init__(
        self, shared: Shared, cleanup: Cleanup, is_damage: Callable[[BaseException | None], bool] = lambda _: False
    ) -> None:
        """`is_damage`: whether an error says that a row is on a damaged page."""
        super().__init__(shared)
        self._cleanup, self._clock, self._is_damage = cleanup, shared.clock, is_damage
        self._rows, self._responses = AdaptiveBatch(16, least=1), AdaptiveBatch(16, least=1)
        self._deleted: Counter[int] = Counter()
        self._freed = 0
        self._published_at = 0.0
        self._unsent = UnsentReport()
        self._damaged: set[int] = set()
        self._worker = BackgroundWorker("hookline-eviction", self._run)
        self.wake = self._worker.wake

    async def stop(self) -> None:
        """Stop after the current step; the next start goes on."""
        await self._worker.stop()
        self._unsent.log()

    async def _run(self) -> None:
        try:
            await self._remove_responses()
            for endpoint_id in self._limits.exceeded():
                await self._evict(endpoint_id)
            self._cleanup.wake()  # which returns the space to the disk
        finally:
            self._publish_purged()

    async def _remove_responses(self) -> None:
        """Until there is room below their limit again, or none is left."""
        if not self._limits.responses_exceeded():
            return
        while (needed := self._limits.response_excess()) > 0:
            removed = await self._writer.between(
                partial(remove_oldest, needed=needed), self._responses, self._removed_responses
            )
            if not removed.examined:
                return

    def _removed_responses(self, removed: RemovedResponses) -> None:
        self._limits.deleted(Deleted(responses=removed.freed))

    async def _evict(self, endpoint_id: int | None) -> None:
        """Delete until there is room below this limit again, or nothing is left to delete."""
        if endpoint_id is None and self._limits.excess(None) > 0:
            await self._cleanup.run()  # deletions that have begun come first
        seqs: list[int] = []
        while (needed := self._limits.excess(endpoint_id)) > 0:
            if not seqs:
                seqs = await self._oldest(endpoint_id)
                if not seqs:
                    return
            job = partial(make_room, seqs=seqs, needed=needed)
            try:
                examined, _ = await self._writer.between(job, self._rows, partial(self._made_room, endpoint_id))
            except StorageUnavailableError as error:
                if not self._is_damage(error.__cause__):
                    raise
                if self._rows.rows > 1:
                    self._rows.use_smallest()
                else:
                    self._damaged.add(seqs.pop(0))  # a request on a damaged page must not block the others
                continue
            del seqs[:examined]
            if self._limits.pending_deletion():
                await self._cleanup.run()
            if time.monotonic() - self._published_at > PUBLISH_INTERVAL_S:
                self._publish_purged()

    async def _oldest(self, endpoint_id: int | None) -> list[int]:
        """The requests to delete first: those that wait for a target only when no others are left."""
        for sent in (True, False):
            job = partial(oldest, limit=SEQS_PER_READ, endpoint_id=endpoint_id, sent=sent)
            if seqs := [seq for seq in await self._readers.run(job) if seq not in self._damaged]:
                return seqs
        return []

    def _made_room(self, limit: int | None, made: tuple[int, Deleted]) -> None:
        deleted = made[1]
        self._limits.deleted(deleted)
        self._unsent.add(deleted.unsent)
        for endpoint_id, removed in deleted.removed.items():
            self._deleted[endpoint_id] += removed.total
            self._freed += removed.bytes
        if deleted.removed:
            self._limits.evicting(limit)

    def _publish_purged(self) -> None:
        self._published_at = time.monotonic()
        if self._deleted:
            report = PurgeReport(
                at=self._clock(),
                deleted=dict(self._deleted),
                freed_bytes=self._freed,
                unsent=self._unsent.take(),
            )
            self._deleted, self._freed = Counter(), 0
            self._publish(Purged(report=report))
