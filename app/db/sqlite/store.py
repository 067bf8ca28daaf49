"""The store: builds its parts, opens them in order and closes them in reverse order."""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from peewee import Database

from app.core.clock import now_us
from app.core.errors import StorageUnavailableError
from app.core.events import Captured, Event, StorageTrouble
from app.core.model import Counts, Summary
from app.core.providers import Identify
from app.core.settings import Settings
from app.core.text import count_of
from app.data_folder.database_files import FILE_NAME, INDEX_NAME, remove_database, unused_name
from app.db.counts import RequestCounts
from app.db.deleting import Cleanup
from app.db.part import EndpointDirectory, Nodes, Shared
from app.db.queries import between, count_all
from app.db.raw_sql import newest_seq, raw
from app.db.readers import Readers
from app.db.sqlite.backups import Backups
from app.db.sqlite.connection import damaged, is_damage, is_unreadable, reader_database, trouble
from app.db.sqlite.damage import IntegrityCheck
from app.db.sqlite.disk_reserve import DiskReserve
from app.db.sqlite.rescue import Known, RequestSaver, copy_whole, give_name
from app.db.sqlite.retention import Reclaim, Retention
from app.db.sqlite.search import Index, Search
from app.db.sqlite.writer import Writer
from app.db.storage_limits import StorageLimits
from app.db.store import Store as AnyStore
from app.db.writer_thread import AdaptiveBatch, Job

log = logging.getLogger(__name__)

ANNOUNCED_MAX = 10_000
"""Of requests that were refused and are stored."""
COPY_STOP_S, SAVE_STOP_S = 0.5, 1.5
"""So long after a stop has begun, the rescue ends its copy of the whole database, and saving the newest requests."""


class Store(AnyStore):
    """The store of one data folder."""

    retention: Retention
    _writer: Writer
    _index: Index

    def __init__(
        self,
        folder: Path,
        publish: Callable[[Event], None],
        own_bases: Callable[[], Sequence[str]] = tuple,
        *,
        clock: Callable[[], int] = now_us,
        running_s: Callable[[], float] = time.monotonic,
        identify: Identify | None = None,
        disk_reserve: Callable[[], int] = lambda: Settings().disk_reserve,
        fsync: bool = True,
    ) -> None:
        """`identify` finds the provider of a request; `disk_reserve` returns the setting of that name. Without `fsync`,
        what was stored last is lost if the machine stops, though not if the program does."""
        path = folder / FILE_NAME
        self._path, self._publish, self.place = path, publish, str(path)
        self._closing = asyncio.Lock()
        self._trouble: str | None = None
        self._rescuing: asyncio.Task[None] | None = None
        self._stopped_at = math.inf
        counts = RequestCounts()
        limits = StorageLimits(publish, counts, self._limit_exceeded)
        self._reserve = DiskReserve(path, disk_reserve)
        self._writer = Writer(
            path,
            self._reserve,
            counts,
            limits,
            self._publish_and_index,
            on_trouble=self._trouble_changed,
            on_loss=self._file_lost,
            on_suspicion=self._damage_suspected,
            on_uncounted=self._count_again,
            fsync=fsync,
        )
        self._readers = Readers(reader_database(path), trouble, self._unreadable)
        self._index = Index(path.with_name(INDEX_NAME), self._readers, self._reserve.has_ample_space)
        self.integrity = IntegrityCheck(path, self._damage_found, self._reserve.has_ample_space)
        self.backups = Backups(path, disk_reserve)
        shared = Shared(
            self._writer,
            self._readers,
            EndpointDirectory(),
            counts,
            limits,
            Nodes(clock),
            self._publish_and_index,
            own_bases,
            clock,
        )
        self._reclaim = Reclaim(self._writer)
        cleanup = Cleanup(shared, rows=64, parts=2, cleaned=self._reclaim.wake)
        retention = Retention(shared, path, cleanup, self._reclaim, running_s=running_s)
        super().__init__(shared, Search(shared, self._index), cleanup, retention, identify, is_damage=is_damage)

    @property
    def file(self) -> Store:
        return self

    def _trouble_changed(self, reason: str | None) -> None:
        self._trouble = reason
        self._publish(StorageTrouble(reason=reason))

    def _count_again(self) -> None:
        """Count what is stored, in the order of commits, and announce the requests that were refused."""
        known = self._request_counts.newest_seq

        def job(database: Database) -> tuple[dict[int, Counts], list[Summary]]:
            return count_all(database), between(database, known, newest_seq(database), ANNOUNCED_MAX)

        def after(found: tuple[dict[int, Counts], list[Summary]]) -> None:
            counts, stored = found
            for endpoint in self.endpoints.all():
                before = self._request_counts.of(endpoint.id).stored_bytes
                self.limits.grew(endpoint.id, counts[endpoint.id].stored_bytes - before)
                self._request_counts.start(endpoint.id, counts[endpoint.id])
                self._request_counts.hide_trashed(endpoint.id)
            missed = tuple(summary for summary in stored if summary.seq > self._request_counts.newest_seq)
            if missed:
                self._request_counts.newest_seq = missed[-1].seq
                self._publish_and_index(Captured(summaries=missed))

        def failed(error: Exception) -> None:
            log.warning("what is stored was not counted again: %s", error)

        self._writer.put(Job(job, after, failed, AdaptiveBatch(1), in_transaction=False))

    def _unreadable(self, error: BaseException) -> None:
        if is_unreadable(error):
            self._damage_suspected()

    def _damage_suspected(self) -> None:
        self._writer.suspect()
        self.integrity.start()

    def _damage_found(self, event: Event) -> None:
        self._publish(event)
        self._writer.suspect()

    def _file_lost(self, whole: bool) -> None:
        if self._rescuing is None or self._rescuing.done():
            self._rescuing = asyncio.create_task(self._rescue(whole), name="rescue of the database")

    async def _rescue(self, whole: bool) -> None:
        """Save what can be read, and add to the trouble where that is. Unless the open file is `whole`, a copy of it
        would mix two databases."""
        kept = unused_name(self._path, "rescued")
        half = kept.with_name(f"{kept.name}.part")
        copy = partial(copy_whole, half=half, is_over=partial(self._stopped_for, COPY_STOP_S))
        try:
            remarks = "" if whole and await self._readers.run(copy) else await self._save_requests(half)
            count = await asyncio.to_thread(give_name, half, kept)
        except (OSError, sqlite3.Error, StorageUnavailableError) as error:
            await asyncio.to_thread(remove_database, half)
            log.warning("nothing of what was stored could be saved: %s", error)
            return
        what = f"What could still be read ({count_of(count, 'request')})"
        text = f"{what} was saved as {kept}, which can be restored.{remarks}"
        log.warning("%s", text)
        if self._trouble is not None:
            self._publish(StorageTrouble(reason=f"{self._trouble} {text}"))

    def _stopped_for(self, seconds: float) -> bool:
        """Whether a stop began so long ago."""
        return time.monotonic() >= self._stopped_at + seconds

    async def _save_requests(self, half: Path) -> str:
        """What there is to say of it."""
        known = Known(self.endpoints.all(), self.account.plan, self._request_counts.newest_seq)
        saver = RequestSaver(half, known, partial(self._stopped_for, SAVE_STOP_S))
        batch = AdaptiveBatch(64)

        def step(database: Database, requests: int) -> bool:
            more = False
            try:
                more = saver.step(raw(database), requests)
            finally:
                if not more:
                    saver.close()
            return more

        while await self._writer.between(step, batch, in_transaction=False, any_file=True):
            pass
        return saver.remarks

    @classmethod
    async def open(cls, *given: Any, **options: Any) -> Self:
        """Raises DamagedDatabaseError, NewerDatabaseError or DataFolderError."""
        try:
            return await super().open(*given, **options)
        except StorageUnavailableError as error:
            if is_damage(error.__cause__):
                raise damaged(given[0] / FILE_NAME) from error
            raise

    def keep_reserve(self) -> None:
        def failed(error: Exception) -> None:
            log.debug("the disk reserve begins with the next capture: %s", error)

        self._writer.put(Job(lambda database: self._reserve.begin(raw(database)), lambda _: None, failed))

    def begin_shutdown(self) -> None:
        self._stopped_at = min(self._stopped_at, time.monotonic())
        super().begin_shutdown()

    async def close(self) -> None:
        self.begin_shutdown()
        async with self._closing:
            await self.backups.cancel()
            await self.retention.close()
            await self._reclaim.stop()
            await self.integrity.stop()
            await self._stop_work()
            if self._rescuing is not None:
                await self._rescuing
            await self._readers.close()
            await self._writer.close()

    async def _load(self) -> None:
        await self._writer.start()
        await self._readers.connect()
        await self.trash.load()
        await self.account.load()
        await self.endpoints.load()
        await self.deliveries.load()
        self._count(await self._readers.run(count_all))
        await self.captures.load(alone=True)
        self._index.start(self.account.instance_id, self._request_counts.newest_seq)
        await self.replays.load()
        await self.tunnels.load()
        await self.retention.load()
        await self._removed_targets.load()
        self._identification.wake()
