"""Keeps the loaded rows up to date with the bus, in batches, without moving them while the user reads: then it counts
what is new."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal, Slot

from app.core.events import (
    Bus,
    Captured,
    DeliveriesQueued,
    DeliveryChanged,
    EndpointRead,
    EndpointRemoved,
    EndpointSaved,
    Purged,
    RequestsRemoved,
    RequestsUpdated,
    Subscriptions,
)
from app.core.ids import first_id
from app.core.model import Counts, PageKey, Summary
from app.core.search.query import Query
from app.ui.requests.list.model import RequestModel
from app.ui.requests.list.pager import PAGE, ListScope, Pager, SearchPager, TimeRange, adds_matches, mentions
from app.ui.tasks import Latest, Tasks
from app.ui.throttle import Pause, Throttle

if TYPE_CHECKING:
    from app.db.store import Store

REMEMBERED = 20_000
"""More are not remembered by id: they may be counted twice, and still count after they are deleted."""


class NewRequestCounter(QObject):
    """`changed` carries the new `count`."""

    changed = Signal(int)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.count = 0
        self.ids: set[str] = set()
        """Of those that are known."""
        self._forgotten = 0

    def keep(self, ids: set[str]) -> None:
        """Count these only."""
        self.ids, self._forgotten = ids, 0
        self._show()

    def add(self, items: Iterable[Summary]) -> None:
        """Count these too. A search may find one again when others are received or marked: it counts once."""
        self.ids.update(item.id for item in items)
        self._show()
        if len(self.ids) > REMEMBERED:
            self._forgotten += len(self.ids)
            self.ids.clear()

    def remove(self, ids: Collection[str]) -> None:
        """These were deleted, whether they were counted or not."""
        self.ids.difference_update(ids)
        self._show()

    def _show(self) -> None:
        count = self._forgotten + len(self.ids)
        if count != self.count:
            self.count = count
            self.changed.emit(count)


MERGE_MS, FLOOD_MS = 60, 250
"""Beyond a page per interval the list cannot be read anyway, and painting it would slow down capturing."""
FOLLOWED_ROWS = 600
"""Maximum rows while the user follows at the top: at each batch the view lays out all rows it has."""


class RequestFeed(QObject):
    """The rows of one list. While the user is not at the top, new requests are only counted, not inserted. What the
    filter matches since a change is added; what it no longer matches stays until the list is reloaded, so that nothing
    disappears under the pointer. While the window is paused, new requests are only counted, wherever the user is.
    """

    new_count_changed = Signal(int)
    """The number of requests newer than those shown."""
    loaded = Signal()
    """The list was reloaded, or its first request arrived."""
    counts_changed = Signal()
    arrived = Signal(object)
    """These were received, and belong into the list sooner or later."""
    relisted = Signal()
    """Other requests are about to be listed: another endpoint, filter or time range."""

    def __init__(self, store: Store, bus: Bus, tasks: Tasks, pause: Pause, parent: QObject) -> None:
        super().__init__(parent)
        self._pause = pause
        self.model = RequestModel(self)
        captures = store.captures
        self._captures, self._endpoints, self._tasks = captures, store.endpoints, tasks
        self.scope = ListScope()
        """What is listed."""
        self._all = Pager(self.model, captures, tasks, self)
        self._all.loaded.connect(self._loaded)
        self._new_requests = NewRequestCounter(self)
        self._new_requests.changed.connect(self.new_count_changed)
        self._all.reached_newest.connect(self._count_missing)
        self.search = SearchPager(self.model, captures, tasks, self)
        self.search.loaded.connect(self._loaded)
        self.search.arrived.connect(self._add)
        self.following = True
        """Whether new requests are inserted at the top, because the user is there."""
        self._waiting: list[Summary] = []
        self._tags: dict[int, tuple[str, ...]] = {}
        """The tags of each endpoint when the list was last filtered."""
        self._checking = Latest(self, tasks, "list: what is still stored")
        self._throttle = Throttle(MERGE_MS, self, self._flush)
        self._subscriptions = Subscriptions(bus)
        self._subscriptions.add(Captured, self._captured)
        self._subscriptions.add(RequestsUpdated, self._updated)
        self._subscriptions.add(EndpointRead, self._endpoint_read)
        self._subscriptions.add(RequestsRemoved, self._removed)
        self._subscriptions.add(DeliveryChanged, self._delivered)
        self._subscriptions.add(DeliveriesQueued, self._delivered)
        self._subscriptions.add(Purged, self._purged)
        self._subscriptions.add(EndpointSaved, self._endpoint_saved)
        self._subscriptions.add(
            EndpointRemoved, lambda event: self._removed(RequestsRemoved(endpoint_id=event.endpoint.id, ids=None))
        )

    @property
    def new_count(self) -> int:
        """The number of requests newer than those shown."""
        return self._new_requests.count

    def counts(self) -> dict[int, Counts]:
        """Of the endpoints listed, by their IDs, whatever is filtered."""
        shown = self.endpoint_id
        ids = [shown] if shown is not None else [endpoint.id for endpoint in self._endpoints.all()]
        return {number: self._captures.counts(number) for number in ids}

    @property
    def pager(self) -> Pager | SearchPager:
        """The pager in use: of the search, or of the whole list."""
        return self._all if self.query is None else self.search

    @property
    def endpoint_id(self) -> int | None:
        """The endpoint listed; None for all."""
        return self.scope.endpoint_id

    @property
    def query(self) -> Query | None:
        """The list's filter; `filter_by` changes it for a list that is shown."""
        return self.scope.query

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self._subscriptions.end()

    def show(self, endpoint_id: int | None, query: Query | None = None, times: TimeRange | None = None) -> None:
        """List the requests of an endpoint or of all (None); with a `query`, only its matches."""
        self._list(ListScope(endpoint_id=endpoint_id, query=query, time_range=times))

    def filter_by(self, query: Query | None) -> None:
        """List only matches of this query, or everything (None)."""
        # What a query finds takes the place of the rows once there is any.
        stay = query is not None or self.query is None
        self._list(replace(self.scope, query=query), rows_stay=stay)

    def narrow(self, time_range: TimeRange | None) -> None:
        """List only requests of this time range, or of all times (None)."""
        self._list(replace(self.scope, time_range=time_range))

    def _list(self, scope: ListScope, *, rows_stay: bool = False) -> None:
        self.relisted.emit()
        for pager in (self._all, self.search):
            pager.give_up()
            pager.scope = scope
        self.scope = scope
        if not rows_stay:
            self.model.reset([], at_head=True, at_tail=True)
        self._tags = {endpoint.id: endpoint.tags for endpoint in self._endpoints.all()}
        self.head()

    def head(self, missing: str | None = None) -> None:
        """Go to the newest request and follow new ones; `missing` is as for `Pager.head`."""
        names = (missing, *self._new_requests.ids, *(item.id for item in self._waiting))
        self.following = True
        self._waiting.clear()
        self._new_requests.keep(set())
        self.pager.head(min(filter(None, names), default=None))

    def tail(self) -> None:
        """Go to the oldest request."""
        self.following = False
        self.pager.tail()

    def around(self, key: PageKey) -> None:
        """Go to this request; new ones are inserted at the top if the newest are loaded, too."""
        self.following = True
        self._waiting.clear()
        self._new_requests.keep(set())
        self.pager.around(key)

    def follow(self, on: bool) -> None:
        """Insert new requests because the user is at the top, or only count them."""
        if on and (self.new_count or self.following):
            if self.new_count and not self._pause.on and not self.pager.jumping:
                self.head()
        elif not on or self.model.at_head:
            self.following = on
            if not on:
                self._new_requests.add(self._waiting)
            self._waiting.clear()

    @Slot()
    def _loaded(self) -> None:
        if not self.model.at_head:
            self.follow(False)
        self.loaded.emit()
        if self._waiting or self.query is not None:
            self._throttle.call()

    @Slot()
    def _count_missing(self) -> None:
        """Requests that arrived while the newest were read may be missing, and those that a pause holds back from
        between the rows.
        """
        self._new_requests.keep({name for name in self._new_requests.ids if self.model.lacks(name)})

    def _captured(self, event: Captured) -> None:
        relevant = [item for item in event.summaries if self.endpoint_id in (None, item.endpoint_id)]
        if self.scope.time_range is not None and relevant:
            relevant = self.scope.time_range.cut(relevant)
            self._throttle.call()  # The page's counts are of all times.
        if not relevant:
            return
        self.arrived.emit(relevant)
        if self.query is None:
            self._add(relevant)
            if not self._pause.on:
                self._all.captured(relevant)
        else:
            self._search_for(item.id for item in relevant)

    @Slot(object)
    def _add(self, newer: list[Summary]) -> None:
        """Insert these at the top, or between the rows if they were marked or stored late."""
        known = {item.id for item in self._waiting}
        fresh = [item for item in newer if item.id not in known and self.model.row_of(item.id) is None]
        if self.following and (not self._pause.on or self.pager.jumping):
            # More than a page is not worth inserting: the newest page is read instead.
            self._waiting = (self._waiting + fresh)[-(PAGE + 1) :]
        else:
            if not self._pause.on and len(newer) <= PAGE:
                fresh = self.model.take_between(fresh)
            self._new_requests.add(fresh)
        self._throttle.call()

    @Slot()
    def _flush(self) -> None:
        self.counts_changed.emit()
        self.search.search_queued()
        # Until a failed jump is made again, more than a page waits: the newest page is not what was asked for.
        insertable = not self.pager.jumping or (self.pager.failed and len(self._waiting) <= PAGE)
        if not (self._waiting and insertable):
            return
        waiting, self._waiting = self._waiting, []
        if self._pause.on:
            fresh = [item for item in waiting if self.model.row_of(item.id) is None]
            self._new_requests.add(fresh)
            return
        self._throttle.set_interval(FLOOD_MS if len(waiting) > PAGE else MERGE_MS)
        if len(waiting) > PAGE:
            self.pager.head(first_id(0))  # only the newest were kept: any other may be missing
            return
        rows = self.model.rowCount()
        most = FOLLOWED_ROWS if rows > FOLLOWED_ROWS + PAGE else None
        if self.pager.busy:
            most = rows + len(waiting)  # what is being read belongs below the row that is the last now
        self.model.add_newer(waiting, most)
        if not rows:
            self.loaded.emit()
        elif self.query is not None:
            self.counts_changed.emit()

    def _updated(self, event: RequestsUpdated) -> None:
        for name, fields in event.changes.items():
            self.model.change(name, **fields)
        if self.scope.touches(event.endpoint_ids):
            self.search.queue(name for name, fields in event.changes.items() if adds_matches(self.query, fields))
            if not event.changes and self.query is not None:  # nobody knows which
                self.search.queue((first_id(0),))
        self._throttle.call()

    def _endpoint_read(self, event: EndpointRead) -> None:
        self._mark_all(event)
        if self.pager.busy or self.pager.jumping:
            self._tasks.start(self._mark_again(event), "list: mark what is being read", self)
        if adds_matches(self.query, {"read": True}):
            self.search.queue((first_id(0),))
        self._throttle.call()

    def _search_for(self, ids: Iterable[str]) -> None:
        """They may match only now."""
        self.search.queue(ids)
        self._throttle.call()

    def _mark_all(self, event: EndpointRead) -> None:
        self.model.set_all_read(event.has)
        for item in filter(event.has, self._waiting):
            self.model.change(item.id, read=True)

    async def _mark_again(self, event: EndpointRead) -> None:
        """Mark what was read before and listed since."""
        await self.pager.ended()
        self._mark_all(event)

    def _endpoint_saved(self, event: EndpointSaved) -> None:
        """With other tags, its requests may match a search for tags now, or no longer."""
        endpoint = event.endpoint
        changed = endpoint.tags != self._tags.get(endpoint.id) and self.scope.touches((endpoint.id,))
        if changed and not event.created and mentions(self.query, "tag"):
            self.filter_by(self.query)

    def _delivered(self, event: DeliveryChanged | DeliveriesQueued) -> None:
        for name, state in event.shown.items():
            self.model.change(name, delivery=state)
        # The sender may get the target's response, and so its status.
        if mentions(self.query, "delivery", "status"):
            self._search_for(event.shown)

    def _removed(self, event: RequestsRemoved) -> None:
        if event.ids is not None:
            removed = self._forget(set(event.ids))
        elif self.scope.touches((event.endpoint_id,)):
            removed = self.model.remove(lambda item: event.has(item.endpoint_id, item.id))
            self._throttle.call()
        else:
            return
        if removed and not (self.model.rowCount() or self.pager.jumping):
            self.head()
        if event.ids is None or self.pager.busy or self.pager.jumping:
            self.check()

    def _purged(self, event: Purged) -> None:
        removed = event.report.deleted
        if removed and self.scope.touches(removed):
            self.check()
            self._throttle.call()

    def check(self) -> None:
        """Forget what is no longer stored, whatever deleted it: also of what is being read now."""
        self._checking.run(self._forget_deleted)

    async def _forget_deleted(self) -> None:
        await self.pager.ended()
        model = self.model
        listed = model.summaries() + self._waiting
        names = {one.id for one in listed} | model.kept.keys() | self._new_requests.ids
        if deleted := names - await self._captures.stored(names):
            removed = self._forget(deleted)
            whole = model.at_head and model.at_tail
            if removed and not (model.rowCount() or whole or self.pager.jumping):
                self.head()  # others are left above or below

    def _forget(self, names: Collection[str]) -> int:
        """These were deleted; how many rows were removed."""
        self._waiting = [item for item in self._waiting if item.id not in names]
        self._new_requests.remove(names)
        removed = self.model.remove(lambda item: item.id in names)
        self._throttle.call()
        return removed
