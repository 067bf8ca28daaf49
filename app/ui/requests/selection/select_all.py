"""All that a list has: chosen at once, also what is not loaded, as it is stored in that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject, Signal, Slot

from app.core.events import (
    Captured,
    EndpointRemoved,
    Purged,
    RequestsChanged,
    RequestsRemoved,
    RequestsStarred,
)
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.pager import just_above
from app.ui.requests.list.view import RequestList
from app.ui.requests.selection.batch_job import BatchJob
from app.ui.requests.selection.read_all_ids import Gathered, Listed, requests_of
from app.ui.requests.selection.selected_requests import SelectedRequests
from app.ui.services import Services
from app.ui.tasks import Tasks


class Everything(QObject):
    """`select` reads which requests the list of `rows` has, from the newest it shows on down.

    What comes in later is not among them. Any other selection, filter or list is the end of it; so is a request of the
    list that is deleted.
    """

    changed = Signal()

    def __init__(self, rows: RequestList, feed: RequestFeed, services: Services, tasks: Tasks, bulk: BatchJob) -> None:
        super().__init__(rows)
        self._list, self._feed, self._services, self._tasks, self._bulk = rows, feed, services, tasks, bulk
        self._of = self._listed()
        self._chosen: SelectedRequests | None = None
        self._gathered = Gathered()
        self._running: asyncio.Task[None] | None = None
        self._begun_with: frozenset[str] = frozenset()
        feed.model.rowsInserted.connect(self._take_in)
        feed.model.modelReset.connect(self._take_in_anew)
        feed.relisted.connect(self.drop)
        rows.selection_settled.connect(self._look)
        feed.search.progressed.connect(self._look)
        bulk.changed.connect(self._look)
        bus = services.bus
        self._ends: list[Callable[[], None]] = [
            bus.subscribe(Captured, self._captured),
            bus.subscribe(RequestsChanged, self._marked),
            bus.subscribe(RequestsStarred, self._starred),
            bus.subscribe(RequestsRemoved, lambda event: self._removed({event.endpoint_id})),
            bus.subscribe(EndpointRemoved, lambda event: self._removed({event.endpoint.id})),
            bus.subscribe(Purged, lambda event: self._removed(set(event.report.deleted))),
        ]

    @property
    def chosen(self) -> SelectedRequests | None:
        """All the list had, while that is what is selected."""
        return self._chosen if self._chosen is not None and self._still(self._chosen.has) else None

    @property
    def more(self) -> bool:
        """Whether the list has more than is loaded, as far as is known."""
        model = self._feed.model
        stale = self._feed.pager.jumping
        return bool(model.rowCount()) and not stale and not (model.at_head and model.at_tail)

    @property
    def number(self) -> int | None:
        """How many that is; None while nobody has counted what a filter finds, or what came in a stretch of time."""
        if self._feed.query is not None or self._feed.pager.time_range is not None:
            return None
        wanted = self._feed.endpoint_id
        ids = [wanted] if wanted is not None else [endpoint.id for endpoint in self._services.endpoints.all()]
        total = sum(self._services.captures.counts(number).total for number in ids)
        return total - (self._feed.new_count if self._feed.model.at_head else 0)

    @property
    def busy(self) -> bool:
        """Whether something is done with many requests."""
        return self._bulk.busy

    def stop(self) -> None:
        """Hear no more of the bus."""
        self.drop()
        for end in self._ends:
            end()

    @Slot()
    def select(self) -> None:
        """Select what is loaded, and then all the rest."""
        self._list.selectAll()
        if self.more and not self._bulk.busy:
            self.drop()
            self._of, self._gathered = self._listed(), Gathered()
            self._begun_with = frozenset(one.id for one in self._list.selection.loaded())
            self._running = self._tasks.start(self._gather(), "list: select all")

    @Slot()
    def drop(self) -> None:
        """Only what is loaded is selected now, if anything."""
        if self._running is not None:
            self._running.cancel()
            self._running = None
        if self._chosen is not None:
            self._chosen = None
            self.changed.emit()

    async def _gather(self) -> None:
        if self._bulk.busy:
            return
        gathered, newest = self._gathered, self._feed.model.newest_key()
        before = just_above(newest) if newest is not None and self._feed.model.at_head else None
        self._bulk.begin("Selecting", self.number or 0)
        try:
            async with aclosing(requests_of(self._services.captures, self._of, before)) as batches:
                async for batch in batches:
                    gathered.add(batch)
                    self._bulk.come_to(len(gathered))
        finally:
            self._bulk.end()
            if self._gathered is gathered:
                self._running = None
        self._chosen = gathered.chosen(self._of.query)
        self._take_in_anew()
        self.changed.emit()

    def _listed(self) -> Listed:
        feed = self._feed
        return Listed(endpoint_id=feed.endpoint_id, query=feed.query, time_range=feed.pager.time_range)

    def _still(self, meant: Callable[[str], bool]) -> bool:
        """Whether of the same list all those that are meant and loaded are selected, and none else."""
        model = self._feed.model
        loaded = {name for row in range(model.rowCount()) if meant(name := model.summary(row).id)}
        return self._of == self._listed() and loaded == {one.id for one in self._list.selection.loaded()}

    @Slot()
    def _look(self) -> None:
        given_up = self._running is not None and (self._bulk.stopping or not self._still(self._begun_with.__contains__))
        if given_up or (self._chosen is not None and not self._still(self._chosen.has)):
            self.drop()

    @Slot(QModelIndex, int, int)
    def _take_in(self, parent: QModelIndex, first: int, last: int) -> None:
        """Rows that belong to it are selected as they are loaded."""
        if self._chosen is None:
            return
        has, model = self._chosen.has, self._feed.model
        self._list.selection.add([row for row in range(first, last + 1) if has(model.summary(row).id)])

    @Slot()
    def _take_in_anew(self) -> None:
        self._take_in(QModelIndex(), 0, self._feed.model.rowCount() - 1)

    def _captured(self, event: Captured) -> None:
        if self._running is not None:
            self._gathered.late.update(item.id for item in event.summaries)

    def _marked(self, event: RequestsChanged) -> None:
        chosen = self._chosen
        if chosen is None:
            return
        if event.ids is not None:
            some = sum(map(chosen.has, event.ids))
            self._chosen = replace(chosen, unread=max(0, chosen.unread + (-some if event.read else some)))
        elif chosen.endpoint_ids <= set(event.endpoint_ids):
            self._chosen = replace(chosen, unread=0 if event.read else chosen.count)
        else:
            self.drop()

    def _starred(self, event: RequestsStarred) -> None:
        if self._chosen is not None:
            some = sum(map(self._chosen.has, event.ids))
            starred = self._chosen.starred + (some if event.starred else -some)
            self._chosen = replace(self._chosen, starred=max(0, starred))

    def _removed(self, endpoint_ids: set[int]) -> None:
        if endpoint_ids and (self._feed.endpoint_id is None or self._feed.endpoint_id in endpoint_ids):
            self.drop()
