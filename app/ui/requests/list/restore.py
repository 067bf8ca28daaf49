"""Restores a list when a deletion is undone: its rows, selection and scroll position."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QObject

from app.core.events import Subscriptions
from app.core.ids import first_id
from app.core.model import Summary
from app.ui.deleting import DeleteChanged
from app.ui.inspector.request_pane import RequestPane
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.model import MAX_ROWS
from app.ui.requests.list.pager import ListScope
from app.ui.requests.list.view import RequestList, ScrollPlace


@dataclass(frozen=True)
class ListPosition:
    """A list before a deletion. `rows` are newest first; `open_id` is the request that was open, `next_id` the one that
    the deletion opened in its place."""

    scope: ListScope
    rows: list[Summary]
    at_head: bool
    at_tail: bool
    selected: list[Summary]
    current: Summary | None
    place: ScrollPlace | None
    open_id: str | None
    next_id: str | None = None


class ListRestorer(QObject):
    """Remembers the state before each deletion that can be undone. If another list is shown by then, it is reloaded."""

    def __init__(self, rows: RequestList, feed: RequestFeed, detail: RequestPane, subscriptions: Subscriptions) -> None:
        super().__init__(rows)
        self._list, self._feed, self._detail = rows, feed, detail
        self._positions: dict[int, ListPosition] = {}
        subscriptions.add(DeleteChanged, self._changed)

    def next_opened(self, number: int) -> None:
        """What is open now was opened by this deletion, not by the user."""
        self._positions[number] = replace(self._positions[number], next_id=self._detail.capture_id)

    def _changed(self, event: DeleteChanged) -> None:
        if event.state == "begins":
            self._positions[event.number] = self._position()
            return
        position = self._positions.pop(event.number, None)
        if event.state == "undone":
            if position is not None and position.scope == self._feed.scope:
                self._restore(position)
            elif self._feed.scope.touches(event.endpoint_ids):
                self._reload()

    def _rows(self) -> list[Summary]:
        model = self._feed.model
        return [model.summary(row) for row in range(model.rowCount())]

    def _position(self) -> ListPosition:
        model = self._feed.model
        return ListPosition(
            scope=self._feed.scope,
            rows=self._rows(),
            at_head=model.at_head and not self._feed.pager.jumping,
            at_tail=model.at_tail,
            selected=self._list.selected(),
            current=self._list.selection.cursor,
            place=self._list.scroll_place(),
            open_id=self._detail.capture_id,
        )

    def _restore(self, position: ListPosition) -> None:
        """Requests received since stay on top. Those deleted in the meantime by others are dropped once that is known.
        A request that the user has opened since stays open.
        """
        moved_on = self._detail.capture_id not in (None, position.next_id)
        selected, current = position.selected, position.current
        if moved_on:
            selected, current = self._list.selected(), self._list.selection.cursor
        if self._is_contiguous(position):
            self._restore_rows(position)
        else:
            self._reload()
        self._list.selection.restore(selected, current)
        if moved_on:
            self._list.scrollTo(self._list.currentIndex())
        self._feed.check()
        if not moved_on and position.open_id not in (None, self._detail.capture_id):
            self._detail.show_request(position.open_id, mark_read=False)  # it may have been marked unread

    def _is_contiguous(self, position: ListPosition) -> bool:
        """Whether no rows can be missing between those of then and now; after a flood there may be a gap."""
        now, reading = {one.id for one in self._rows()}, self._feed.pager.jumping
        if not now:
            return bool(position.rows) or not reading
        return not reading and any(one.id in now for one in position.rows)

    def _restore_rows(self, position: ListPosition) -> None:
        model, oldest = self._feed.model, position.rows[-1].id if position.rows else ""
        of_both = [one for one in (*position.rows, *self._rows()) if position.at_tail or one.id >= oldest]
        latest = {one.id: one for one in of_both}
        rows = sorted(latest.values(), key=lambda one: one.id, reverse=True)
        reading = self._feed.pager.jumping
        self._feed.pager.give_up()
        at_head = position.at_head and (model.at_head or len(rows) == len(position.rows))
        model.reset(rows[:MAX_ROWS], at_head=at_head, at_tail=position.at_tail and len(rows) <= MAX_ROWS)
        if position.place is not None:
            self._list.jumps.put_at(position.place)
        self._feed.loaded.emit()
        if reading and position.at_head:
            self._feed.pager.head()  # it may be about to find new requests

    def _reload(self) -> None:
        """Where it is, with what is back anywhere among the rows."""
        if self._feed.pager.failed:
            return  # it is read again anyway
        place = self._list.scroll_place()
        if place is not None:
            self._list.jumps.scroll_to(place)
        else:
            self._feed.head(first_id(0))
