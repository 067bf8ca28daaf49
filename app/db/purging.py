"""What both engines' retention has: when to purge, deleting an endpoint's requests in steps, and the cleanup of what is
hidden."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from peewee import Database

from app.core.clock import DAY_US
from app.core.model import PurgeReport
from app.db import body_parts
from app.db.background_worker import BackgroundWorker
from app.db.counts import Deleted
from app.db.deleting import delete_removed_endpoints
from app.db.deliveries.unsent import UnsentReport
from app.db.models import EndpointModel
from app.db.part import Part, Shared
from app.db.write_jobs import AdaptiveBatch


class Cleanup(Part):
    """Deletes in the background what is hidden (requests of removed endpoints, bodies without a request). Works when
    woken; what a stop interrupts goes on with the next run of retention. `rows` and `parts` are the first steps'."""

    def __init__(self, shared: Shared, *, rows: int, parts: int) -> None:
        super().__init__(shared)
        self._rows, self._parts = AdaptiveBatch(rows), AdaptiveBatch(parts, least=1)
        self._lock = asyncio.Lock()
        self._worker = BackgroundWorker("hookline-cleanup", self._work)
        self.wake, self.stop = self._worker.wake, self._worker.stop

    def wake_soon(self) -> None:
        self.wake()

    async def run(self) -> None:
        """Delete until nothing is left; StorageUnavailableError when the store cannot write."""
        async with self._lock:
            for step, batch in ((delete_removed_endpoints, self._rows), (body_parts.delete_dropped, self._parts)):
                while await self._writer.between(step, batch, self._limits.deleted):
                    pass

    async def _work(self) -> None:
        await self.run()


class Purging(Part):
    """Purges at each interval of so many seconds; `rows` is the first step's."""

    def __init__(self, shared: Shared, cleanup: Cleanup, *, rows: int, interval_s: float) -> None:
        super().__init__(shared)
        self._cleanup, self._clock, self._interval_s = cleanup, shared.clock, interval_s
        self._rows, self._unsent, self._lock = AdaptiveBatch(rows), UnsentReport(), asyncio.Lock()
        self._worker = BackgroundWorker("hookline-retention", self._run)
        self._timer: asyncio.TimerHandle | None = None
        self._started = False
        self.last_report: PurgeReport | None = None
        self.next_run_at: int | None = None

    def start(self) -> None:
        """Purge now, then at each interval, and soon after an endpoint's retention has changed."""
        self._started = True
        self._worker.wake()

    def purge_soon(self) -> None:
        """An endpoint's retention has changed. Does nothing before `start`."""
        if self._started:
            self._worker.wake()

    async def stop(self) -> None:
        """Stop after the current step; the rest is deleted next time."""
        await self._worker.stop()
        if self._timer is not None:
            self._timer.cancel()
        self.next_run_at = None

    async def purge(self) -> PurgeReport:
        """Delete expired requests; publishes Purged. StorageUnavailableError if impossible."""
        raise NotImplementedError

    async def _scheduled(self) -> None:
        await self.purge()

    async def _run(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self._scheduled()
        finally:
            self.next_run_at = self._clock() + int(self._interval_s * 1_000_000)
            self._timer = asyncio.get_running_loop().call_later(self._interval_s, self._worker.wake)

    async def _purge_endpoint(self, delete: Callable[..., Deleted], endpoint_id: int, now: int) -> int:
        """Delete in steps what has expired by `now`; how many. Each step asks the database for how many days the
        requests are kept: they may be more by then."""
        total = 0

        def step(database: Database, limit: int) -> Deleted:
            days = EndpointModel.select(EndpointModel.retention_days).where(EndpointModel.id == endpoint_id)
            kept: int | None = days.scalar(database)
            if kept is None:  # the endpoint was deleted, with all requests
                return Deleted()
            return delete(database, limit, endpoint_id=endpoint_id, before=now - kept * DAY_US)

        def after(deleted: Deleted) -> None:
            self._limits.deleted(deleted)
            self._unsent.add(deleted.unsent)

        while deleted := (await self._writer.between(step, self._rows, after)).total:
            total += deleted
        return total
