"""Deletes requests, each call as many as one step may: captures never wait long for it. Also who does that in both
engines: the cleanup of what is hidden, retention, and the eviction of what exceeds a storage limit."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from peewee import SQL, Database

from app.core.clock import DAY_US
from app.core.errors import StorageUnavailableError
from app.core.events import Purged
from app.core.model import ClockProblem, PurgeReport, StorageSize
from app.db import body_parts
from app.db.counts import LOOSE, RESPONSES, SIZE, Deleted, Removed, Tally, all_uses
from app.db.deliveries.delivery_results import remove_oldest
from app.db.deliveries.unsent import BY_AGE, BY_LIMIT, Unsent, UnsentReport, keep_unsent
from app.db.models import CaptureModel, EndpointModel
from app.db.part import BackgroundWorker, Part, Shared
from app.db.queries import newest_received_at, trashed_sql
from app.db.raw_sql import execute, execute_many, json_list, sql_list
from app.db.writer_thread import AdaptiveBatch

LONG_SPAN = 10_000
"""Numbers. Of a shorter span all rows are read, whichever endpoint's they are."""


def delete_requests(database: Database, seqs: Sequence[int], *, unsent_error: str | None = None) -> Deleted:
    """Delete the requests with these numbers. What was still to be sent of them is kept with the error `unsent_error`,
    unless that is None."""
    requests = json_list(seqs)
    tallies: dict[int, dict[int | None, Tally]] = {}
    for endpoint_id, deletion, total, unread in execute(
        database,
        f"SELECT endpoint_id, {trashed_sql()} AS deletion, count(*), count(*) - sum(is_read) FROM capture"
        " WHERE seq IN numbers(?) GROUP BY 1, 2",
        (requests,),
    ).fetchall():
        tallies.setdefault(endpoint_id, {})[deletion] = (total, unread)
    if not tallies:
        return Deleted()
    unsent = Unsent() if unsent_error is None else keep_unsent(database, requests, unsent_error)
    before = all_uses(database)
    execute(database, "DELETE FROM capture WHERE seq IN numbers(?)", (requests,))
    after = all_uses(database)
    removed = {}
    for endpoint_id, by_deletion in tallies.items():
        seen = by_deletion.get(None, (0, 0))
        removed[endpoint_id] = Removed(
            total=sum(total for total, _ in by_deletion.values()),
            seen=seen,
            trashed={number: tally for number, tally in by_deletion.items() if number is not None},
            last_received_at=newest_received_at(database, endpoint_id) if seen[0] else None,
            bytes=before[endpoint_id] - after[endpoint_id],
        )
    loose, responses = after[LOOSE] - before[LOOSE], before[RESPONSES] - after[RESPONSES]
    return Deleted(removed=removed, loose=loose, responses=responses, unsent=unsent)


def delete_trashed(database: Database, limit: int, *, deletion: int) -> Deleted | None:
    """Delete at most `limit` of the requests that a deletion hides; None when none are left."""
    query = (
        "SELECT endpoint_id, first_seq, last_seq FROM trash WHERE deletion = ? ORDER BY endpoint_id, last_seq LIMIT ?"
    )
    spans = execute(database, query, (deletion, limit)).fetchall()
    seqs: list[int] = []
    done = []
    for endpoint_id, first, last in spans:
        wanted = limit - len(seqs)
        within = _OF_SHORT_SPAN if last - first < LONG_SPAN else _OF_LONG_SPAN
        found = execute(database, within, (endpoint_id, first, last, wanted)).fetchall()
        seqs += (seq for (seq,) in found)
        if len(found) == wanted:
            break  # there may be more of it
        done.append((endpoint_id, last))
    deleted = delete_requests(database, seqs)
    execute_many(database, "DELETE FROM trash WHERE endpoint_id = ? AND last_seq = ?", done)
    return deleted if spans else None


# The plus keeps SQLite from the other index.
_OF_SHORT_SPAN = "SELECT seq FROM capture WHERE +endpoint_id = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?"
_OF_LONG_SPAN = (
    "SELECT seq FROM capture WHERE endpoint_id = ? AND +seq BETWEEN ? AND ? ORDER BY received_at, id LIMIT ?"
)


SENT = (
    "(delivery IN ('n', 'd') OR NOT EXISTS"
    " (SELECT 1 FROM delivery INDEXED BY delivery_capture WHERE capture_seq = capture.seq AND state = 'queued'))"
)
"""The condition for requests that wait for no target."""


def oldest(database: Database, limit: int, *, endpoint_id: int | None, sent: bool = False) -> list[int]:
    """The numbers of the requests that arrived first, of an endpoint or of all (None), whatever time the clock showed.
    With `sent`, only those that wait for no target."""
    condition = SENT if sent else "true"
    if endpoint_id is None:
        query, values = f"SELECT seq FROM capture WHERE {condition} ORDER BY seq LIMIT ?", [limit]
    else:
        # The plus keeps SQLite from scanning all other endpoints' requests: the list's index has the numbers.
        own = f"SELECT seq FROM capture WHERE endpoint_id = ? ORDER BY +seq LIMIT {2**63 - 1}"
        query = f"SELECT capture.seq FROM ({own}) AS own CROSS JOIN capture USING (seq) WHERE {condition} LIMIT ?"
        values = [endpoint_id, limit]
    return [seq for (seq,) in execute(database, query, values).fetchall()]


def make_room(database: Database, limit: int, *, seqs: Sequence[int], needed: int) -> tuple[int, Deleted]:
    """Delete the first of these requests, at most `limit`, until `needed` bytes are freed; how many were examined, and
    what was deleted. What was still to be sent of them is kept."""
    candidates = seqs[:limit]
    sizes = CaptureModel.select(CaptureModel.seq, SQL(SIZE)).where(CaptureModel.seq.in_(sql_list(candidates)))
    selected: list[int] = []
    for seq, size in sizes.order_by(CaptureModel.seq).tuples().execute(database):
        selected.append(seq)
        needed -= size
        if needed <= 0:
            break
    examined = candidates.index(selected[-1]) + 1 if needed <= 0 and selected else len(candidates)
    return examined, delete_requests(database, selected, unsent_error=BY_LIMIT)


def _delete_removed_endpoints(database: Database, limit: int) -> Deleted | None:
    """Delete at most `limit` requests of removed endpoints, and if they had fewer, these endpoints, as many at most;
    None when there are no removed endpoints."""
    rows = execute(database, "SELECT id FROM endpoint WHERE removed = 1 LIMIT ?", (limit,)).fetchall()
    if not rows:
        return None
    ids = json_list([number for (number,) in rows])
    # In no order: to sort the requests of several endpoints, each step would read all of them.
    query = "SELECT seq FROM capture WHERE endpoint_id IN numbers(?) LIMIT ?"
    seqs = [seq for (seq,) in execute(database, query, (ids, limit)).fetchall()]
    deleted = delete_requests(database, seqs)
    if len(seqs) < limit:
        for table, column in (("trash", "endpoint_id"), ("endpoint", "id")):
            execute(database, f"DELETE FROM {table} WHERE {column} IN numbers(?)", (ids,))
    return deleted


SOON_S = 1.0


class Cleanup(Part):
    """Deletes in the background what is hidden (requests of removed endpoints, bodies without a request). Works when
    woken; what a stop interrupts goes on with the next run of retention. `rows` and `parts` are the first steps'."""

    def __init__(self, shared: Shared, *, rows: int, parts: int, cleaned: Callable[[], None] = lambda: None) -> None:
        """`cleaned` is called when that was done in the background."""
        super().__init__(shared)
        self._rows, self._parts = AdaptiveBatch(rows), AdaptiveBatch(parts, least=1)
        self._lock, self._cleaned = asyncio.Lock(), cleaned
        self._timer: asyncio.TimerHandle | None = None
        self._worker = BackgroundWorker("hookline-cleanup", self._work)
        self.wake, self.stop = self._worker.wake, self._worker.stop

    def wake_soon(self) -> None:
        """Endpoints that are removed within `SOON_S` are deleted together."""
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.when() < loop.time():
            self._timer = loop.call_later(SOON_S, self.wake)

    async def run(self) -> None:
        """Delete until nothing is left; StorageUnavailableError when the store cannot write."""
        async with self._lock:
            for step, batch in ((_delete_removed_endpoints, self._rows), (body_parts.delete_dropped, self._parts)):
                while await self._writer.between(step, batch, self._limits.deleted):
                    pass

    async def _work(self) -> None:
        await self.run()
        self._cleaned()


RETENTION, LIMITS = "retention", "storage limits"
"""Jobs that one node does: deleting by age, and what exceeds a limit."""
PURGE_INTERVAL_S = 900.0


IsDamage = Callable[[BaseException | None], bool]

SELECTED = "FROM capture WHERE endpoint_id = :endpoint AND received_at < :before"
"""The requests that have expired: those of `endpoint` that were received before `before`."""


class Purging(Part):
    """Deletes requests by age, at each interval; `rows` is the first step's. `problem`: why it is waiting."""

    problem: ClockProblem | None = None

    def __init__(self, shared: Shared, cleanup: Cleanup, *, rows: int, is_damage: IsDamage = lambda _: False) -> None:
        """`is_damage`: whether an error says that a row is on a damaged page."""
        super().__init__(shared)
        self._cleanup, self._clock, self._is_damage = cleanup, shared.clock, is_damage
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

    async def resume(self) -> None:
        """Trust the clock, and purge soon."""
        self.purge_soon()

    async def purge(self) -> PurgeReport:
        """Delete expired requests; publishes Purged. StorageUnavailableError if impossible."""
        async with self._lock:
            deleted, freed = await self._purge()
            unsent = self._unsent.take()
            self.last_report = PurgeReport(at=self._clock(), deleted=deleted, freed_bytes=freed, unsent=unsent)
        self._publish(Purged(report=self.last_report))
        return self.last_report

    async def size(self) -> StorageSize:
        """Bytes that the store takes on disk, and about how many of them the next purge makes room for.

        StorageUnavailableError when they cannot be read.
        """
        raise NotImplementedError

    async def _purge(self) -> tuple[dict[int, int], int]:
        """Delete what has expired, and what is hidden; how many requests of which endpoint had expired, and the bytes
        that were given back to the disk."""
        raise NotImplementedError

    async def _purge_until(self, now: int) -> dict[int, int]:
        """Delete in steps what has expired by `now`; how many requests of which endpoint. Each step asks the database
        for how many days the requests are kept: they may be more by then."""
        totals: Counter[int] = Counter()
        failed: StorageUnavailableError | None = None

        def step(database: Database, limit: int, *, endpoint_id: int) -> Deleted:
            days = EndpointModel.select(EndpointModel.retention_days).where(EndpointModel.id == endpoint_id)
            kept: int | None = days.scalar(database)
            if kept is None:  # the endpoint was deleted, with all requests
                return Deleted()
            seqs = self._expired(database, limit, endpoint_id, now - kept * DAY_US)
            return delete_requests(database, seqs, unsent_error=BY_AGE)

        def after(deleted: Deleted) -> None:
            self._limits.deleted(deleted)
            self._unsent.add(deleted.unsent)

        for endpoint in self._directory.all():
            job = partial(step, endpoint_id=endpoint.id)
            try:
                while deleted := (await self._writer.between(job, self._rows, after)).total:
                    totals[endpoint.id] += deleted
            except StorageUnavailableError as error:
                if not self._is_damage(error.__cause__):
                    raise
                failed = error  # a damaged page of one endpoint must not block the others
        if failed is not None:
            raise failed
        return dict(totals)

    def _expired(self, database: Database, limit: int, endpoint_id: int, before: int) -> Sequence[int]:
        """The numbers of at most `limit` requests that were received before `before`, oldest first."""
        values = {"endpoint": endpoint_id, "before": before, "limit": limit}
        rows = execute(database, f"SELECT seq {SELECTED} ORDER BY received_at, id LIMIT :limit", values)
        return [seq for (seq,) in rows.fetchall()]

    def _cutoffs(self, now: int) -> list[tuple[int, int]]:
        """Of each endpoint, before when its requests have expired."""
        return [(endpoint.id, now - endpoint.retention_days * DAY_US) for endpoint in self._directory.all()]

    async def _run(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        try:
            if await self._shared.nodes.claim(RETENTION) is not False:
                await self.purge()
        finally:
            self.next_run_at = self._clock() + int(PURGE_INTERVAL_S * 1_000_000)
            self._timer = asyncio.get_running_loop().call_later(PURGE_INTERVAL_S, self._worker.wake)


def count_expired(
    database: Database, cutoffs: Sequence[tuple[int, int]], selections: Sequence[str] = (SELECTED,), size: str = "0"
) -> tuple[int, int]:
    """How many requests of these endpoints were received before these times, and the sum of `size` over them."""
    total = taken = 0
    for endpoint_id, before in cutoffs:
        for selection in selections:
            values = {"endpoint": endpoint_id, "before": before}
            found = execute(database, f"SELECT count(*), coalesce(sum({size}), 0) {selection}", values)
            number, sizes = found.fetchone()
            total, taken = total + number, taken + int(sizes)
    return total, taken


SEQS_PER_READ = 20_000
"""Numbers of the oldest requests that are read at once: among an endpoint's million that takes a reader 0.3 s."""
PUBLISH_INTERVAL_S = 0.5
"""Seconds between two `Purged` events while requests keep coming."""


class StorageEviction(Part):
    """Works when woken. Deletes in order of arrival, whatever time the clock showed; starred requests too, and last
    those that wait for a target."""

    def __init__(self, shared: Shared, cleanup: Cleanup, is_damage: IsDamage) -> None:
        """`is_damage` as in `Purging`."""
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
        if await self._shared.nodes.claim(LIMITS) is False:
            return
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
                partial(remove_oldest, needed=needed),
                self._responses,
                lambda removed: self._limits.deleted(Deleted(responses=removed.freed)),
            )
            if not removed.examined:
                return

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
