"""Deletes all requests of an endpoint, now or later, except those stored after the deletion was requested."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from peewee import SqliteDatabase

from app.core.deletion import Clearing, Mark, MarkedIds, StoredIds
from app.core.events import Event, RequestsRemoved
from app.core.model import Capture
from app.db.cleanup import Cleanup
from app.db.counts import Removed, RequestCounts
from app.db.delete_requests import delete_oldest
from app.db.raw_sql import json_list, raw, sql_list
from app.db.readers import Readers
from app.db.schema import CaptureModel
from app.db.storage_limits import StorageLimits
from app.db.writer import Writer
from app.db.writer_jobs import AdaptiveBatch


class BulkDeletions:
    """Bulk deletions that have begun.

    Called on the loop's thread. StorageUnavailableError when the file cannot be read or written.
    """

    def __init__(
        self,
        writer: Writer,
        readers: Readers,
        *,
        counts: RequestCounts,
        cleanup: Cleanup,
        limits: StorageLimits,
        publish: Callable[[Event], None],
    ) -> None:
        self._writer, self._readers = writer, readers
        self._request_counts, self._cleanup, self._limits, self._publish = counts, cleanup, limits, publish
        self._open: list[Clearing] = []

    def storing(self, capture: Capture) -> None:
        """Exclude a request that is about to be stored from the deletions that began before."""
        for one in self._open:
            if one.endpoint_id == capture.endpoint_id:
                one.spare(capture.id)

    async def begin(self, endpoint_id: int, keep: Collection[Mark]) -> Clearing:
        """Select the requests that are stored now, except those that have one of the marks in `keep`."""
        clearing = Clearing(endpoint_id)
        clearing.keep = frozenset(keep)
        self._open.append(clearing)  # before the file is read, so that no request in between is missed

        counts = self._request_counts.of(endpoint_id)

        def job(database: SqliteDatabase) -> tuple[str, frozenset[str], int]:
            with database.atomic():
                marked = marked_ids(database, endpoint_id)
                kept = marked.of(keep)
                newest = CaptureModel.select(CaptureModel.id).where(CaptureModel.endpoint == endpoint_id)
                newest = newest.order_by(CaptureModel.received_at.desc(), CaptureModel.id.desc()).limit(1)
                upto = next((name for (name,) in newest.tuples().execute(database)), "")
                unread = CaptureModel.select().where(CaptureModel.id.in_(sql_list(kept)), ~CaptureModel.is_read)
                return upto, kept, unread.count(database)

        try:
            upto, kept, unread = await self._readers.run(job)
        except BaseException:
            self.give_up(clearing)
            raise
        clearing.total, clearing.unread = max(0, counts.total - len(kept)), max(0, counts.unread - unread)
        clearing.limit(upto, kept)
        return clearing

    def give_up(self, clearing: Clearing) -> None:
        if clearing in self._open:
            self._open.remove(clearing)

    async def finish(self, clearing: Clearing) -> None:
        """Delete the requests in steps, then publish RequestsRemoved."""
        batch, endpoint_id = AdaptiveBatch(64), clearing.endpoint_id

        def job(database: SqliteDatabase, limit: int) -> Removed:
            return delete_oldest(
                database, limit, endpoint_id=endpoint_id, upto_id=clearing.upto, kept=json_list(clearing.kept)
            )

        def after(removed: Removed) -> None:
            clearing.deleted += removed.total
            clearing.deleted_unread += removed.unread
            self._request_counts.removed(endpoint_id, removed)
            self._limits.freed(removed.freed, endpoint_id)

        try:
            if clearing.keep:
                late = (await self.marked(endpoint_id)).of(clearing.keep) - clearing.kept
                clearing.marked_late = any(clearing.has(endpoint_id, name) for name in late)
                clearing.kept |= late
            while (await self._writer.between(job, batch, after)).total:
                pass
        finally:
            self.give_up(clearing)
            self._cleanup.wake()
        kept = frozenset(clearing.kept)
        self._publish(RequestsRemoved(endpoint_id=endpoint_id, ids=None, upto=clearing.upto, kept=kept))

    async def stored(self, ids: Sequence[str]) -> dict[int, StoredIds]:
        """Those of the requests that are stored, by endpoint."""

        def job(database: SqliteDatabase) -> dict[int, StoredIds]:
            rows: dict[int, list[tuple[str, bool]]] = {}
            query = CaptureModel.select(CaptureModel.endpoint, CaptureModel.id, CaptureModel.is_read)
            query = query.where(CaptureModel.id.in_(sql_list(ids)))
            for endpoint_id, name, is_read in query.tuples().execute(database):
                rows.setdefault(endpoint_id, []).append((name, is_read))
            return {
                endpoint_id: StoredIds(
                    ids=tuple(name for name, _ in found), unread=sum(not is_read for _, is_read in found)
                )
                for endpoint_id, found in rows.items()
            }

        return await self._readers.run(job)

    async def marked(self, endpoint_id: int | None) -> MarkedIds:
        """The requests with a star or a note, of an endpoint or of all (None)."""
        return await self._readers.run(partial(marked_ids, endpoint_id=endpoint_id))


def marked_ids(database: SqliteDatabase, endpoint_id: int | None) -> MarkedIds:
    """The requests with a star or a note. Reads the few marks, not the requests."""
    starred, noted = (
        frozenset(
            name
            for (name,) in raw(database).execute(
                f"SELECT id FROM {table} CROSS JOIN capture ON seq = capture_seq"
                " WHERE endpoint_id = coalesce(?, endpoint_id)",
                (endpoint_id,),
            )
        )
        for table in ("capture_star", "capture_note")
    )
    return MarkedIds(starred=starred, noted=noted)
