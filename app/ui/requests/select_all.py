"""Selects every request of a list, including those that are not loaded, as they are stored at that moment, and does
what is done with them in batches."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject, Signal, Slot

from app.core.events import (
    Captured,
    EndpointRead,
    EndpointRemoved,
    Purged,
    RequestsRemoved,
    RequestsUpdated,
    Subscriptions,
)
from app.core.model import MarkedIds, Summary
from app.core.record import Record
from app.core.search.query import Query
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.pager import just_above
from app.ui.requests.list.view import RequestList
from app.ui.services import Services
from app.ui.tasks import Tasks

STEP = 200
"""Requests in one go: a moment's work for the store."""


class SelectedRequests(Record, frozen=True):
    """`unread` and `starred` count those of `ids`, received by `endpoint_ids` from `first` to `last` (microseconds).

    `only` is set if there is a single request. `whole`: these are all of a list, oldest first, filtered by `filter`.
    """

    ids: Sequence[str] = ()
    unread: int = 0
    starred: int = 0
    endpoint_ids: frozenset[int] = frozenset()
    first: int = 0
    last: int = 0
    only: Summary | None = None
    whole: bool = False
    filter: str = ""
    deleted: str = ""
    """Why these are no longer stored; empty while they are."""

    @property
    def count(self) -> int:
        return len(self.ids)

    def has(self, capture_id: str) -> bool:
        """Whether it is one of them, if they are a `whole` list."""
        at = bisect_left(self.ids, capture_id)
        return at < len(self.ids) and self.ids[at] == capture_id

    def among(self, marked: MarkedIds) -> MarkedIds:
        """The marked requests that are among these. Marks are few, these may be a million."""
        few = None if self.whole else frozenset(self.ids)
        starred, noted = (
            frozenset(filter(self.has, ids) if few is None else ids & few) for ids in (marked.starred, marked.noted)
        )
        return MarkedIds(starred=starred, noted=noted)


def selected_requests(summaries: Sequence[Summary], deleted: str = "") -> SelectedRequests:
    """These, in their order; `deleted` says why they are no longer stored."""
    if not summaries:
        return SelectedRequests()
    times = [summary.received_at for summary in summaries]
    return SelectedRequests(
        ids=[summary.id for summary in summaries],
        unread=sum(not summary.read for summary in summaries),
        starred=sum(summary.starred for summary in summaries),
        endpoint_ids=frozenset(summary.endpoint_id for summary in summaries),
        first=min(times),
        last=max(times),
        only=summaries[0] if len(summaries) == 1 else None,
        deleted=deleted,
    )


class BatchJob(QObject):
    """One job at a time. `verb` says what is done ("Deleting"), `done` of `total` (0: unknown) how far it is."""

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.verb = ""
        self.done = self.total = 0
        self.stopping = False
        """Whether the user stopped it."""

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return bool(self.verb)

    async def run(self, verb: str, ids: Sequence[str], work: Callable[[Sequence[str]], Awaitable[None]]) -> int:
        """Do `work` on all of `ids`; returns how many were done before `stop`: 0 if another job is running."""
        if len(ids) <= STEP:
            await work(ids)
            return len(ids)
        if self.busy:
            return 0
        with self.running(verb, len(ids)):
            while self.done < len(ids) and not self.stopping:
                some = ids[self.done : self.done + STEP]
                await work(some)
                self.report(self.done + len(some))
        return self.done

    @contextmanager
    def running(self, verb: str, total: int) -> Iterator[None]:
        """While a job runs that calls `report` itself, and ends when `stopping` is set."""
        self.verb, self.done, self.total, self.stopping = verb, 0, total, False
        self.changed.emit()
        try:
            yield
        finally:
            self.verb = ""
            self.changed.emit()

    def report(self, done: int) -> None:
        self.done = done
        self.changed.emit()

    @Slot()
    def stop(self) -> None:
        """Do not start the next step."""
        self.stopping = True
        self.changed.emit()


NO_LIMIT = 2**31


class _Reading:
    """What was read so far, without the requests in `received_meanwhile`, which were received meanwhile. `unread` and
    `starred` say what was marked so meanwhile, or no longer is: it may have been read before.
    """

    def __init__(self) -> None:
        self.received_meanwhile: set[str] = set()
        self.unread: dict[str, bool] = {}
        self.starred: dict[str, bool] = {}
        self._newest_first: list[str] = []
        self._unread: set[str] = set()
        self._starred: set[str] = set()
        self._endpoint_ids: set[int] = set()
        self._first = self._last = 0

    def __len__(self) -> int:
        return len(self._newest_first)

    def add(self, newest_first: Iterable[Summary]) -> None:
        for one in newest_first:
            if one.id not in self.received_meanwhile:
                self._newest_first.append(one.id)
                if not one.read:
                    self._unread.add(one.id)
                if one.starred:
                    self._starred.add(one.id)
                self._endpoint_ids.add(one.endpoint_id)
                self._first, self._last = one.received_at, self._last or one.received_at

    def updated(self, changes: Mapping[str, Mapping[str, object]]) -> None:
        for name, fields in changes.items():
            if "read" in fields:
                self.unread[name] = not fields["read"]
            if "starred" in fields:
                self.starred[name] = bool(fields["starred"])

    def requests(self, query: Query | None) -> SelectedRequests:
        """All that was read, found by `query`."""
        ids = [name for name in reversed(self._newest_first) if name not in self.received_meanwhile]
        has = SelectedRequests(ids=ids).has
        for found, marks in ((self._unread, self.unread), (self._starred, self.starred)):
            found.difference_update(marks, self.received_meanwhile)
            found.update(name for name, on in marks.items() if on and has(name))
        return SelectedRequests(
            ids=ids,
            unread=len(self._unread),
            starred=len(self._starred),
            endpoint_ids=frozenset(self._endpoint_ids),
            first=self._first,
            last=self._last,
            whole=True,
            filter=query.text.strip() if query else "",
        )


class SelectAll(QObject):
    """`select` reads the ids of all requests in the list, from the newest it shows on down.

    Requests received later are not selected. Another selection, filter or list ends it, as does a deleted request of
    the list.
    """

    changed = Signal()

    def __init__(self, rows: RequestList, feed: RequestFeed, services: Services, tasks: Tasks, batch: BatchJob) -> None:
        super().__init__(rows)
        self._list, self._feed, self._services, self._tasks, self._batch = rows, feed, services, tasks, batch
        self._scope = feed.scope
        self._requests: SelectedRequests | None = None
        self._reading = _Reading()
        self._running: asyncio.Task[None] | None = None
        self._loaded_at_start: frozenset[str] = frozenset()
        feed.model.rowsInserted.connect(self._rows_inserted)
        feed.model.modelReset.connect(self._select_loaded)
        feed.relisted.connect(self.drop)
        rows.selection_settled.connect(self._check)
        feed.search.progressed.connect(self._check)
        batch.changed.connect(self._check)
        bus = services.bus
        self._subscriptions = Subscriptions(bus)
        self._subscriptions.add(Captured, self._captured)
        self._subscriptions.add(RequestsUpdated, self._updated)
        self._subscriptions.add(EndpointRead, self._endpoint_read)
        self._subscriptions.add(RequestsRemoved, lambda event: self._removed({event.endpoint_id}))
        self._subscriptions.add(EndpointRemoved, lambda event: self._removed({event.endpoint.id}))
        self._subscriptions.add(Purged, lambda event: self._removed(set(event.report.deleted)))

    @property
    def requests(self) -> SelectedRequests | None:
        """All requests of the list, while they are selected."""
        return self._requests if self._requests is not None and self._still_selected(self._requests.has) else None

    @property
    def more(self) -> bool:
        """Whether the list has requests that are not loaded, as far as is known."""
        model = self._feed.model
        stale = self._feed.pager.jumping
        return bool(model.rowCount()) and not stale and not (model.at_head and model.at_tail)

    @property
    def number(self) -> int | None:
        """How many requests the list has; None with a filter or a time range: those are not counted."""
        if not self._feed.scope.whole:
            return None
        total = sum(one.total for one in self._feed.counts().values())
        return total - (self._feed.new_count if self._feed.model.at_head else 0)

    def stop(self) -> None:
        """End the subscriptions."""
        self.drop()
        self._subscriptions.end()

    @Slot()
    def select(self) -> None:
        """Select what is loaded, then the rest."""
        self._list.selectAll()
        if self.more and not self._batch.busy:
            self.drop()
            self._scope, self._reading = self._feed.scope, _Reading()
            self._loaded_at_start = frozenset(one.id for one in self._list.selection.loaded())
            self._running = self._tasks.start(self._read(), "list: select all")

    @Slot()
    def drop(self) -> None:
        """Leave only loaded requests selected."""
        if self._running is not None:
            self._running.cancel()
            self._running = None
        if self._requests is not None:
            self._requests = None
            self.changed.emit()

    async def _read(self) -> None:
        if self._batch.busy:
            return
        reading, newest = self._reading, self._feed.model.newest_key()
        before = just_above(newest) if newest is not None and self._feed.model.at_head else None
        captures, scope = self._services.store.captures, self._scope
        found = captures.search(scope.search(), scope.endpoint_id, before=before, limit=NO_LIMIT)
        try:
            with self._batch.running("Selecting", self.number or 0):
                async with aclosing(found) as batches:
                    async for batch in batches:
                        reading.add(batch)
                        self._batch.report(len(reading))
        finally:
            if self._reading is reading:
                self._running = None
        self._requests = reading.requests(scope.query)
        self._select_loaded()
        self.changed.emit()

    def _still_selected(self, is_meant: Callable[[str], bool]) -> bool:
        """Whether the list is the same, and of its loaded requests exactly those that are meant are selected."""
        loaded = {one.id for one in self._feed.model.summaries() if is_meant(one.id)}
        return self._scope == self._feed.scope and loaded == {one.id for one in self._list.selection.loaded()}

    @Slot()
    def _check(self) -> None:
        ended = self._running is not None and (
            self._batch.stopping or not self._still_selected(self._loaded_at_start.__contains__)
        )
        if ended or (self._requests is not None and not self._still_selected(self._requests.has)):
            self.drop()

    @Slot(QModelIndex, int, int)
    def _rows_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        """Select rows as they are loaded."""
        if self._requests is None:
            return
        has, model = self._requests.has, self._feed.model
        self._list.selection.add([row for row in range(first, last + 1) if has(model.summary(row).id)])

    @Slot()
    def _select_loaded(self) -> None:
        self._rows_inserted(QModelIndex(), 0, self._feed.model.rowCount() - 1)

    def _captured(self, event: Captured) -> None:
        if self._running is not None:
            self._reading.received_meanwhile.update(item.id for item in event.summaries)

    def _updated(self, event: RequestsUpdated) -> None:
        requests = self._requests
        if self._running is not None:
            self._reading.updated(event.changes)
        elif requests is not None:
            of_these = [fields for name, fields in event.changes.items() if requests.has(name)]
            read, starred = (
                sum(1 if fields[mark] else -1 for fields in of_these if mark in fields) for mark in ("read", "starred")
            )
            unread, starred = max(0, requests.unread - read), max(0, requests.starred + starred)
            self._requests = replace(requests, unread=unread, starred=starred)

    def _endpoint_read(self, event: EndpointRead) -> None:
        requests = self._requests
        if self._running is not None:
            if self._feed.scope.touches((event.endpoint_id,)):
                self.drop()
        elif requests is not None and event.endpoint_id in requests.endpoint_ids:
            if len(requests.endpoint_ids) == 1:
                self._requests = replace(requests, unread=0)
            else:
                self.drop()

    def _removed(self, endpoint_ids: set[int]) -> None:
        if endpoint_ids and self._feed.scope.touches(endpoint_ids):
            self.drop()
