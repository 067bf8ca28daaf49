"""Restores a list when a deletion is undone: its rows, selection and scroll position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject

from app.core.events import Bus
from app.core.model import PageKey, Summary
from app.core.search.query import Query
from app.ui.request.request_pane import DetailPane
from app.ui.requests.list.delegate import ROW
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.model import MAX_ROWS
from app.ui.requests.list.pager import TimeRange
from app.ui.requests.list.view import RequestList
from app.ui.undo.pending_delete import DeleteChanged


@dataclass(frozen=True)
class ListPosition:
    """A list before a deletion. `rows` are newest first; `shown` is the request that was open."""

    listed: tuple[int | None, Query | None, TimeRange | None]
    rows: list[Summary]
    at_head: bool
    at_tail: bool
    selected: list[Summary]
    current: Summary | None
    scrolled: int
    shown: str | None


class Restoring(QObject):
    """Remembers the state before each deletion that can be undone. If another list is shown by then, it is reloaded."""

    def __init__(self, rows: RequestList, feed: RequestFeed, detail: DetailPane, bus: Bus) -> None:
        super().__init__(rows)
        self._list, self._feed, self._detail = rows, feed, detail
        self._places: dict[int, ListPosition] = {}
        self.stop: Callable[[], None] = bus.subscribe(DeleteChanged, self._changed).end

    def _changed(self, event: DeleteChanged) -> None:
        if event.state == "begins":
            self._places[event.number] = self._here()
            return
        if event.state == "hides":
            return
        place = self._places.pop(event.number, None)
        if event.state == "undone":
            if place is not None and place.listed == self._listed():
                self._put_back(place)
            elif self._feed.endpoint_id is None or self._feed.endpoint_id in event.endpoint_ids:
                self._read_again()

    def _listed(self) -> tuple[int | None, Query | None, TimeRange | None]:
        return self._feed.endpoint_id, self._feed.query, self._feed.pager.time_range

    def _rows(self) -> list[Summary]:
        model = self._feed.model
        return [model.summary(row) for row in range(model.rowCount())]

    def _here(self) -> ListPosition:
        model = self._feed.model
        return ListPosition(
            listed=self._listed(),
            rows=self._rows(),
            at_head=model.at_head and not self._feed.pager.jumping,
            at_tail=model.at_tail,
            selected=self._list.selected(),
            current=self._list.selection.cursor,
            scrolled=self._list.verticalScrollBar().value(),
            shown=self._detail.wanted,
        )

    def _put_back(self, place: ListPosition) -> None:
        """Requests received since stay on top. Those deleted in the meantime by others are dropped once that is known.
        A request that the user has opened since stays open.
        """
        moved_on = self._detail.wanted not in (None, place.shown)
        selected, current = place.selected, place.current
        if moved_on:
            selected, current = self._list.selected(), self._list.selection.cursor
        if self._joins(place):
            self._put_rows_back(place)
        else:
            self._read_again()
        self._list.selection.restore(selected, current)
        if moved_on:
            self._list.scrollTo(self._list.currentIndex())
        self._feed.check_selected()
        if place.shown is not None and self._detail.wanted is None:
            self._detail.show_request(place.shown, seen=False)  # it may have been marked unread

    def _joins(self, place: ListPosition) -> bool:
        """Whether no rows are missing between those of then and now; after a flood there may be a gap."""
        model, now = self._feed.model, {one.id for one in self._rows()}
        if not now:
            return True
        if self._feed.pager.jumping:
            return False
        if any(one.id in now for one in place.rows):
            return True
        return bool(place.rows) and (model.at_tail if min(now) > place.rows[0].id else model.at_head)

    def _put_rows_back(self, place: ListPosition) -> None:
        model, known = self._feed.model, {one.id for one in place.rows}
        oldest = place.rows[-1].id if place.rows else ""
        came = [one for one in self._rows() if one.id not in known and (place.at_tail or one.id > oldest)]
        rows = sorted([*came, *place.rows], key=lambda one: one.id, reverse=True)
        above = sum(bool(place.rows) and one.id > place.rows[0].id for one in came)
        reading = self._feed.pager.jumping
        self._feed.pager.give_up()
        at_head = place.at_head and (model.at_head or not came)
        model.reset(rows[:MAX_ROWS], at_head=at_head, at_tail=place.at_tail and len(rows) <= MAX_ROWS)
        self._list.doItemsLayout()
        if place.scrolled:
            self._list.verticalScrollBar().setValue(place.scrolled + above * ROW)
        self._feed.loaded.emit()
        self._feed.pager.check()
        if reading and place.at_head:
            self._feed.pager.head()  # it may be about to find new requests

    def _read_again(self) -> None:
        """At the top from there; further down around what is seen."""
        scrolled = self._list.verticalScrollBar().value()
        row = scrolled // ROW
        if row and row < self._feed.model.rowCount():
            seen = self._feed.model.summary(row)
            self._feed.around(PageKey(received_at=seen.received_at, id=seen.id))
        else:
            self._feed.head()
