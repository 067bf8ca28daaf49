"""Deletes requests older than their endpoint's retention. The server's clock says how old they are: those of the nodes
differ."""

from __future__ import annotations

import asyncio
from functools import partial

from peewee import Database

from app.core.clock import DAY_US
from app.core.events import Purged
from app.core.model import PurgeReport, StorageSize
from app.db.background_worker import BackgroundWorker
from app.db.counts import SIZE, Deleted
from app.db.deleting import delete_oldest
from app.db.deliveries.unsent import BY_AGE, UnsentReport
from app.db.part import Part, Shared
from app.db.postgres.cleanup import Cleanup
from app.db.postgres.database import SCHEMA
from app.db.postgres.nodes import Nodes
from app.db.postgres.schema import drop_partition, emptied_partitions
from app.db.raw_sql import execute
from app.db.write_jobs import AdaptiveBatch

_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = ? AND relkind = 'r'"""
_EXPIRED = f"SELECT count(*), coalesce(sum({SIZE}), 0) FROM capture WHERE endpoint_id = ? AND received_at < ?"


def server_time(database: Database) -> int:
    """In microseconds."""
    return int(execute(database, _NOW).fetchone()[0])


class Retention(Part):
    problem = None
    """No clock is doubted but a node's own, which retention does not ask."""

    def __init__(self, shared: Shared, cleanup: Cleanup, nodes: Nodes, *, interval_s: float) -> None:
        super().__init__(shared)
        self._cleanup, self._nodes, self._interval_s = cleanup, nodes, interval_s
        self._rows, self._unsent, self._lock = AdaptiveBatch(256), UnsentReport(), asyncio.Lock()
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

    async def resume(self) -> None:
        self.purge_soon()

    async def purge(self) -> PurgeReport:
        """Delete expired requests; publishes Purged. StorageUnavailableError if impossible."""
        async with self._lock:
            deleted = {
                number: total
                for number, before in await self._cutoffs()
                if (total := await self._purge_endpoint(number, before))
            }
            await self._cleanup.run()
            await self._drop_partitions()
            self.last_report = PurgeReport(
                at=self._shared.clock(), deleted=deleted, freed_bytes=0, unsent=self._unsent.take()
            )
        self._publish(Purged(report=self.last_report))
        return self.last_report

    async def size(self) -> StorageSize:
        """Bytes that the store takes on the server's disk, and about how many of them the next purge makes room for.

        StorageUnavailableError when they cannot be read.
        """
        limits = await self._cutoffs()

        def job(database: Database) -> StorageSize:
            (size,) = execute(database, _SIZE, (SCHEMA,)).fetchone()
            found = [execute(database, _EXPIRED, limit).fetchone() for limit in limits]
            expired, free = sum(count for count, _ in found), sum(int(taken) for _, taken in found)
            return StorageSize(file_bytes=size, free_bytes=free, expired=expired)

        return await self._readers.run(job)

    async def _cutoffs(self) -> list[tuple[int, int]]:
        """Of each endpoint, before when its requests have expired."""
        now = await self._readers.run(server_time)
        return [(endpoint.id, now - endpoint.retention_days * DAY_US) for endpoint in self._directory.all()]

    async def _purge_endpoint(self, endpoint_id: int, before: int) -> int:
        total = 0

        def after(deleted: Deleted) -> None:
            self._limits.deleted(deleted)
            self._unsent.add(deleted.unsent)

        job = partial(delete_oldest, endpoint_id=endpoint_id, before=before, unsent_error=BY_AGE)
        while deleted := (await self._writer.between(job, self._rows, after)).total:
            total += deleted
        return total

    async def _drop_partitions(self) -> None:
        """A table whose requests are all deleted makes each query longer, until it is dropped."""
        for first in await self._readers.run(emptied_partitions, slow=True):
            await self._writer.run(partial(drop_partition, first=first))

    async def _run(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        try:
            if await self._nodes.claim("retention") is not False:
                await self.purge()
        finally:
            self.next_run_at = self._shared.clock() + int(self._interval_s * 1_000_000)
            self._timer = asyncio.get_running_loop().call_later(self._interval_s, self._worker.wake)
