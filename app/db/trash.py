"""Deletes requests and endpoints: what is deleted is hidden at once, and deleted for good when it is purged.

Until then it can be restored. A start restores what the last run left, or where other nodes may live, its end.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, groupby
from operator import itemgetter

from peewee import Database

from app.core.errors import HooklineError, NotAllowedError, StorageUnavailableError
from app.core.events import DeletionPurged, DeletionUndone, EndpointRemoved, EndpointSaved, RequestsRemoved
from app.core.model import Deletion, Endpoint, Mark
from app.core.record import Record
from app.db.counts import Tally
from app.db.deleting import Cleanup, delete_trashed
from app.db.models import CaptureModel, EndpointModel, TrashModel
from app.db.part import BackgroundWorker, Part, Shared, endpoint_not_found
from app.db.queries import all_endpoints, endpoint_of, marked_ids, newest_received_at, visible_sql
from app.db.raw_sql import ManyRows, execute, is_sqlite, json_list, newest_seq, sql_list
from app.db.writer_thread import AdaptiveBatch

IDS_MAX = 1_024
"""Requests hidden in one step: lists remove the rows of a step at once."""
READS = 10
"""So often at most it is read which request is the newest: while more than that arrive, those are the newest."""

RETRY_S = 2.0

Span = tuple[int, int]
"""The first and the last number."""


class Trashed(Record, frozen=True):
    """Requests of an endpoint that a step has hidden; `unread` of them are unread."""

    ids: tuple[str, ...]
    unread: int


class Cleared(Record, frozen=True):
    """Of an endpoint whose requests were hidden: the newest id, the requests kept, and how many of those are unread."""

    upto: str
    kept: frozenset[str]
    kept_unread: int


class Trash(Part):
    """Deletes what can be restored until it is purged: it is hidden from everybody at once, and counts towards storage
    limits until then."""

    def __init__(self, shared: Shared, cleanup: Cleanup) -> None:
        super().__init__(shared)
        self._cleanup = cleanup
        self._numbers = count(1)
        self._restorable: dict[int, Deletion] = {}
        """Oldest first."""
        self._uncounted: list[tuple[int, int, int, int]] = []
        """What unfinished deletions have hidden so far: their number, the endpoint, requests, unread ones."""
        self._failed: list[Deletion] = []
        """They may have hidden something, and then failed."""
        self._worker = BackgroundWorker("hookline-trash", self._restore_failed)
        self.restore_failed, self.stop = self._worker.wake, self._worker.stop

    async def load(self) -> None:
        """Restore what the last run neither purged nor restored; before anything else is read."""

        def job(database: Database) -> None:
            TrashModel.delete().execute(database)
            restorable = (EndpointModel.trashed.is_null(False)) & (EndpointModel.removed == False)  # noqa: E712
            EndpointModel.update(trashed=None).where(restorable).execute(database)

        await self._writer.run(job)

    def number_from(self, first: int) -> None:
        """Number the deletions from `first` on, where others delete too."""
        self._numbers = count(first)

    # -- delete ---------------------------------------------------------------------------------------------------

    async def delete(self, ids: Sequence[str]) -> Deletion:
        """Hide these requests; publishes RequestsRemoved for each endpoint, more than once if they are many. All are
        subtracted together, unless the database itself counts what is not hidden. If it fails, what it has hidden is
        restored as soon as that can be stored; publishes DeletionUndone."""
        number, done, batch = next(self._numbers), 0, AdaptiveBatch(256, most=IDS_MAX)
        endpoint_ids: set[int] = set()
        requests = 0

        def step(database: Database, limit: int) -> tuple[int, dict[int, Trashed]]:
            some = ids[done : done + limit]
            return len(some), hide_ids(database, number, some)

        def after(step_done: tuple[int, dict[int, Trashed]]) -> None:
            examined, trashed = step_done
            self._uncounted += [(number, of, len(one.ids), one.unread) for of, one in trashed.items()]
            if self._request_counts.for_all_nodes or done + examined >= len(ids):
                self._count_hidden(without=trashed)
            for endpoint_id, one in trashed.items():
                self._publish(RequestsRemoved(endpoint_id=endpoint_id, ids=one.ids, unread=one.unread))

        try:
            while done < len(ids):
                examined, trashed = await self._writer.between(step, batch, after)
                done += examined
                endpoint_ids.update(trashed)
                requests += sum(len(one.ids) for one in trashed.values())
            await self._find_newest(endpoint_ids)
        except BaseException as error:
            self._count_hidden()
            if endpoint_ids or not isinstance(error, NotAllowedError):
                self._restore_later(Deletion(number=number, endpoint_ids=frozenset(endpoint_ids)))
            raise
        return self._hidden(Deletion(number=number, endpoint_ids=frozenset(endpoint_ids), requests=requests))

    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> Deletion:
        """Hide the requests that the endpoint has now, except those with a mark in `keep`; publishes RequestsRemoved
        without ids. If it fails, the same as `delete`."""
        number = next(self._numbers)
        requests = kept = 0

        def after(cleared: Cleared) -> None:
            nonlocal requests, kept
            self._count_hidden()
            counts, kept = self._request_counts.of(endpoint_id), len(cleared.kept)
            requests = max(0, counts.total - kept)
            self._request_counts.trash(number, endpoint_id, requests, max(0, counts.unread - cleared.kept_unread))
            self._publish(RequestsRemoved(endpoint_id=endpoint_id, ids=None, upto=cleared.upto, kept=cleared.kept))

        ids = frozenset((endpoint_id,))
        try:
            await self._writer.run(partial(hide_all, deletion=number, endpoint_id=endpoint_id, keep=keep), after)
            await self._find_newest(ids)
        except BaseException as error:
            if not isinstance(error, NotAllowedError):
                self._restore_later(Deletion(number=number, endpoint_ids=ids))
            raise
        return self._hidden(Deletion(number=number, endpoint_ids=ids, requests=requests, kept=kept))

    async def delete_endpoint(self, endpoint_id: int, *, for_good: bool = False) -> Deletion:
        """Hide an endpoint with its requests, or purge it at once if it is `for_good`. Until it is purged it answers as
        one that is switched off: what it acknowledged would be deleted. Publishes EndpointRemoved. If it fails, the
        endpoint is restored as soon as that can be stored. Raises NotFoundError."""
        endpoint, number = self._directory.require(endpoint_id), next(self._numbers)
        self._count_hidden()
        requests = self._request_counts.of(endpoint_id).total
        self._directory.stop_capturing(endpoint_id)

        def job(database: Database) -> None:
            query = EndpointModel.update(trashed=number, removed=for_good).where(EndpointModel.id == endpoint_id)
            if not query.where(EndpointModel.trashed.is_null()).execute(database):
                raise endpoint_not_found()

        def after(_: None) -> None:
            self._directory.trash(endpoint)
            self._limits.forget(endpoint_id)
            self._publish(EndpointRemoved(endpoint=endpoint))
            if for_good:
                self._endpoint_purged(endpoint)

        ids = frozenset((endpoint_id,))
        deletion = Deletion(number=number, endpoint_ids=ids, requests=requests, endpoint=endpoint)
        try:
            await self._writer.run(job, after)
        except BaseException as error:
            if isinstance(error, Exception):  # else it may still be deleted: that goes on
                self._directory.resume_capturing(endpoint_id)
            if not isinstance(error, NotAllowedError):
                self._restore_later(deletion)
            raise
        return deletion if for_good else self._hidden(deletion)

    # -- undo and purge ---------------------------------------------------------------------------------------------

    async def undo(self, deletion: Deletion) -> None:
        """Restore what it hides, unless it was purged; publishes DeletionUndone, or for an endpoint EndpointSaved."""
        if deletion.number not in self._restorable:
            return
        await self._restore(deletion)
        self._restorable.pop(deletion.number, None)

    async def purge(self, deletion: Deletion) -> None:
        """Delete what it hides for good; publishes DeletionPurged. What cannot be deleted is restored if possible, or
        where the role does not allow that, once it does."""
        if deletion.number not in self._restorable:
            return
        purged = DeletionPurged(number=deletion.number, endpoint_ids=deletion.endpoint_ids)
        try:
            if deletion.endpoint is not None:
                await self._purge_endpoint(deletion.number, deletion.endpoint)
            else:
                await self._purge_requests(deletion.number)
        except NotAllowedError:
            self._give_up(deletion)
            raise
        except StorageUnavailableError:
            with contextlib.suppress(StorageUnavailableError):
                await self.undo(deletion)
                if deletion.endpoint is not None and self._directory.by_id(deletion.endpoint.id) is None:
                    self._endpoint_purged(deletion.endpoint)  # that was stored all the same
                    self._publish(purged)
                    return
            raise
        if self._restorable.pop(deletion.number, None) is not None:
            self._publish(purged)

    async def purge_at_once(self, deletion: Deletion) -> None:
        """As `purge`, of requests that nobody else can restore: what cannot be deleted is restored, if not now then as
        soon as that can be stored."""
        try:
            await self.purge(deletion)
        except StorageUnavailableError:
            self._give_up(deletion)
            raise

    def was_restored(self, number: int) -> None:
        """Another node has restored what this deletion hid: it took this one for dead."""
        self._restorable.pop(number, None)

    def can_undo(self, deletion: Deletion) -> bool:
        """Whether it was neither purged nor restored. From memory."""
        return deletion.number in self._restorable

    async def undo_all(self) -> None:
        """Restore what was neither purged nor restored, as the next start does where nobody else may start first.
        After `stop`."""
        with contextlib.suppress(HooklineError):
            for deletion in [*self._failed, *self._restorable.values()]:
                await self._restore(deletion)

    async def purge_endpoints(self, in_the_way: Callable[[Endpoint], bool], most: int | None = None) -> bool:
        """Purge deleted endpoints that still count towards the plan or hold a slug, at most `most` of them, the first
        deleted first; False if there are none."""
        found = [one for one in self._restorable.values() if one.endpoint is not None and in_the_way(one.endpoint)]
        for one in found[:most]:
            await self.purge(one)
        return bool(found)

    # -- within ---------------------------------------------------------------------------------------------------

    def _count_hidden(self, without: Collection[int] = ()) -> None:
        """Subtract what unfinished deletions have hidden so far, and tell that of each endpoint but these."""
        hidden, self._uncounted = self._uncounted, []
        for one in hidden:
            self._request_counts.trash(*one)
        for endpoint_id in dict.fromkeys(of for _, of, _, _ in hidden if of not in without):
            self._publish(RequestsRemoved(endpoint_id=endpoint_id, ids=()))

    def _hidden(self, deletion: Deletion) -> Deletion:
        self._restorable[deletion.number] = deletion
        return deletion

    def _give_up(self, deletion: Deletion) -> None:
        if self._restorable.pop(deletion.number, None) is not None:
            self._restore_later(deletion)

    def _restore_later(self, deletion: Deletion) -> None:
        self._failed.append(deletion)
        self._worker.wake()

    async def _restore_failed(self) -> None:
        """Nobody else can restore what these have hidden, so it is tried until it is stored; once the role in a team's
        store was taken away, when that is given back."""
        while self._failed:
            try:
                await self._writer.look()  # they may have hidden more than is known, and counted, here
                await self._restore(self._failed[0])
                del self._failed[0]
            except NotAllowedError:
                raise
            except StorageUnavailableError:
                await asyncio.sleep(RETRY_S)

    async def _restore(self, deletion: Deletion) -> None:
        if deletion.endpoint is None:
            await self._show_again(deletion.number, deletion.endpoint_ids)
        else:
            await self._writer.run(partial(restore_endpoint, deletion=deletion.number), self._endpoint_restored)
            self._directory.resume_capturing(deletion.endpoint.id)
            if deletion.endpoint.id not in self._request_counts:
                await self._writer.look()

    async def _show_again(self, number: int, endpoint_ids: Collection[int]) -> None:
        batch, shown, has_begun = AdaptiveBatch(256), True, False
        endpoint_ids = set(endpoint_ids)

        def after(step: tuple[int, dict[int, Tally]]) -> None:
            nonlocal has_begun
            has_begun |= step[0] > 0
            endpoint_ids.update(step[1])
            for endpoint_id, (total, unread) in step[1].items():
                self._request_counts.add(endpoint_id, total, unread)

        try:
            while shown:
                shown = bool((await self._writer.between(partial(show_spans, deletion=number), batch, after))[0])
        except BaseException as error:
            may_be_stored = isinstance(error, StorageUnavailableError) and error.may_be_stored
            if has_begun or may_be_stored:
                self._give_up(Deletion(number=number, endpoint_ids=frozenset(endpoint_ids)))
            raise
        self._count_hidden()  # a step that its caller did not wait for may have hidden some since
        endpoint_ids.update(self._request_counts.restore(number))
        await self._find_newest(endpoint_ids)
        self._publish(DeletionUndone(number=number, endpoint_ids=frozenset(endpoint_ids)))

    def _endpoint_restored(self, restored: tuple[Endpoint, list[int]] | None) -> None:
        if restored is None or restored[0].id not in self._request_counts:
            return  # another look finds one that was found to be deleted
        endpoint, order = restored
        self._directory.restore(endpoint, order)
        self._limits.follow(endpoint)
        self._publish(EndpointSaved(endpoint=endpoint, created=False))

    async def _purge_endpoint(self, number: int, endpoint: Endpoint) -> None:
        """Unless it was restored, also by other nodes, which took this one for dead: it has captured since."""
        query = EndpointModel.update(removed=True).where(_hidden_by(number))
        await self._writer.run(query.execute, lambda purged: self._endpoint_purged(endpoint) if purged else None)

    def _endpoint_purged(self, endpoint: Endpoint) -> None:
        self._directory.forget(endpoint)
        self._request_counts.forget(endpoint.id)
        self._cleanup.wake_soon()

    async def _purge_requests(self, number: int) -> None:
        batch = AdaptiveBatch(64)
        step = partial(delete_trashed, deletion=number)
        try:
            while await self._writer.between(step, batch, self._limits.deleted):
                pass
        finally:
            self._cleanup.wake()
        self._request_counts.restore(number)  # nothing is left of it

    async def _find_newest(self, endpoint_ids: Iterable[int]) -> None:
        """When the newest request left was received. Not in a step of the writer: of many deleted ones, the reader
        passes each. Read again if others were stored or deleted meanwhile."""
        for endpoint_id in endpoint_ids:
            for _ in range(READS):
                before = self._request_counts.of(endpoint_id)
                newest = None
                if before.total:
                    with contextlib.suppress(StorageUnavailableError):
                        newest = await self._readers.run(partial(newest_received_at, endpoint_id=endpoint_id))
                if self._request_counts.of(endpoint_id) is before:
                    self._request_counts.set_newest(endpoint_id, newest)
                    break


def hide_ids(database: Database, deletion: int, ids: Sequence[str]) -> dict[int, Trashed]:
    """Hide those of these requests that are stored; what was hidden, by endpoint."""
    rows = execute(
        database,
        "SELECT endpoint_id, seq, id, is_read FROM capture WHERE id IN names(?)"
        f" AND {visible_sql()} ORDER BY endpoint_id, seq",
        (json_list(ids),),
    ).fetchall()
    hidden = {}
    for endpoint_id, group in groupby(rows, key=itemgetter(0)):
        found = list(group)
        add_spans(database, deletion, endpoint_id, spans_of(seq for _, seq, _, _ in found))
        unread = sum(not is_read for *_, is_read in found)
        hidden[endpoint_id] = Trashed(ids=tuple(name for _, _, name, _ in found), unread=unread)
    return hidden


def hide_all(database: Database, *, deletion: int, endpoint_id: int, keep: Collection[Mark]) -> Cleared:
    """Hide the requests that the endpoint has, except those with a mark in `keep`."""
    newest = CaptureModel.select(CaptureModel.id).where(CaptureModel.endpoint == endpoint_id)
    newest = newest.order_by(CaptureModel.received_at.desc(), CaptureModel.id.desc())
    marked = marked_ids(database, endpoint_id).of(keep) if keep else frozenset()
    kept = CaptureModel.select(CaptureModel.seq, CaptureModel.is_read).where(CaptureModel.id.in_(sql_list(marked)))
    kept_rows = list(kept.tuples().execute(database))
    spans = execute(database, "SELECT first_seq, last_seq FROM trash WHERE endpoint_id = ?", (endpoint_id,)).fetchall()
    taken = sorted([*spans, *((seq, seq) for seq, _ in kept_rows)])
    add_spans(database, deletion, endpoint_id, spans_between(taken, newest_seq(database)))
    return Cleared(
        upto=newest.scalar(database) or "",
        kept=marked,
        kept_unread=sum(not is_read for _, is_read in kept_rows),
    )


def add_spans(database: Database, deletion: int, endpoint_id: int, spans: Iterable[Span]) -> None:
    _SPANS.insert(database, [value for first, last in spans for value in (endpoint_id, first, last, deletion)])


_SPANS = ManyRows("trash", ("endpoint_id", "first_seq", "last_seq", "deletion"), key="last_seq")


def spans_of(rising: Iterable[int]) -> Iterator[Span]:
    """Numbers that follow each other as spans."""
    # Within a span, a number and its place rise alike.
    for _, group in groupby(enumerate(rising), key=lambda placed: placed[1] - placed[0]):
        numbers = [number for _, number in group]
        yield numbers[0], numbers[-1]


def spans_between(taken: Iterable[Span], upto: int) -> Iterator[Span]:
    """What the spans `taken`, which rise, leave of the numbers up to `upto`."""
    begin = 1
    for first, last in taken:
        if first > begin:
            yield begin, first - 1
        begin = last + 1
    if begin <= upto:
        yield begin, upto


def show_spans(database: Database, limit: int, *, deletion: int) -> tuple[int, dict[int, Tally]]:
    """Restore what at most `limit` spans of a deletion hide; how many that were, and where the database counts what is
    seen, how much more that is of each endpoint."""
    before = _seen(database)
    chosen = "SELECT endpoint_id, last_seq FROM trash WHERE deletion = ? LIMIT ?"
    statement = f"DELETE FROM trash WHERE (endpoint_id, last_seq) IN ({chosen})"
    spans = int(execute(database, statement, (deletion, limit)).rowcount)
    return spans, {
        number: (total - before[number][0], unread - before[number][1])
        for number, (total, unread) in _seen(database).items()
        if (total, unread) != before[number]
    }


def _seen(database: Database) -> dict[int, Tally]:
    if is_sqlite(database):
        return {}
    return {number: (total, unread) for number, total, unread in execute(database, _SEEN).fetchall()}


_SEEN = "SELECT owner, total, unread FROM storage_use"


def restore_endpoint(database: Database, *, deletion: int) -> tuple[Endpoint, list[int]] | None:
    """The endpoint, and all ids in their order; None if the deletion hides none any more."""
    update = EndpointModel.update(trashed=None).where(_hidden_by(deletion)).returning(EndpointModel.id)
    for (endpoint_id,) in list(update.tuples().execute(database)):
        return endpoint_of(database, endpoint_id), [endpoint.id for endpoint in all_endpoints(database)]
    return None


def _hidden_by(deletion: int) -> object:
    """The condition for the endpoint that a deletion hides and that can still be restored."""
    return (EndpointModel.trashed == deletion) & (EndpointModel.removed == False)  # noqa: E712
