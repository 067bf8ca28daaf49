"""Stars and notes in the list: updates them as they change, and toggles a star on a click."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QMouseEvent

from app.core.events import Bus, RequestNoted, RequestsStarred, Subscriptions
from app.core.model import Summary
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.model import SUMMARY_ROLE
from app.ui.requests.list.pager import mark_adds_matches
from app.ui.requests.list.view import RequestList


class MarkUpdates:
    """Shows stars and notes as they change. Requests that a filter by `is:` matches now are added; those that it no
    longer matches stay until the list is reloaded, so that nothing disappears under the pointer.
    """

    def __init__(self, feed: RequestFeed, bus: Bus) -> None:
        self._feed = feed
        self._subscriptions = Subscriptions(bus)
        self._subscriptions.add(RequestsStarred, self._starred)
        self._subscriptions.add(RequestNoted, self._noted)

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self._subscriptions.end()

    def _starred(self, event: RequestsStarred) -> None:
        for capture_id in event.ids:
            self._feed.model.change(capture_id, starred=event.starred, starred_by=event.by)
        if mark_adds_matches(self._feed.query, "starred", event.starred):
            self._search_again(event.ids, event.endpoint_ids)

    def _noted(self, event: RequestNoted) -> None:
        self._feed.model.change(event.id, note=event.note, noted_by=event.by)
        if mark_adds_matches(self._feed.query, "noted", event.note is not None):
            self._search_again((event.id,), (event.endpoint_id,))

    def _search_again(self, ids: Sequence[str], endpoint_ids: Sequence[int]) -> None:
        feed = self._feed
        if feed.endpoint_id is None or feed.endpoint_id in endpoint_ids:
            feed.search.queue(ids)
            feed.search.search_queued()


class StarClicks(QObject):
    """`toggled` carries the request whose star was clicked; that click selects nothing.

    A row shows a star if it is starred, and while it is selected or under the mouse. Elsewhere there is none to click:
    touching that place selects the row.
    """

    toggled = Signal(object)

    def __init__(self, rows: RequestList) -> None:
        super().__init__(rows)
        self._list = rows
        self._pressed = False
        self._mouse: QPoint | None = None
        rows.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle mouse events on a star."""
        kind = event.type()
        if kind in (QEvent.Type.Leave, QEvent.Type.HoverLeave):
            self._mouse = None
        if not isinstance(event, QMouseEvent):
            return super().eventFilter(watched, event)
        if kind == QEvent.Type.MouseMove:
            self._mouse = event.position().toPoint()
        if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
            summary = self._starred_at(event)
            self._pressed = summary is not None
            if summary is not None:
                self.toggled.emit(summary)
            return self._pressed
        if self._pressed:
            self._pressed = kind != QEvent.Type.MouseButtonRelease
            return True
        return super().eventFilter(watched, event)

    def _starred_at(self, event: QMouseEvent) -> Summary | None:
        place = event.position().toPoint()
        index = self._list.indexAt(place)
        plain = event.button() == Qt.MouseButton.LeftButton and not event.modifiers()
        if not plain or not index.isValid():
            return None
        star = self._list.request_delegate.star_rect(self._list.visualRect(index))
        summary: Summary = index.data(SUMMARY_ROLE)
        return summary if star.contains(place) and (summary.starred or self._is_offered(index)) else None

    def _is_offered(self, index: QModelIndex) -> bool:
        """Whether a row shows a star although it is not starred."""
        under_mouse = self._mouse is not None and self._list.indexAt(self._mouse) == index
        return under_mouse or self._list.selectionModel().isSelected(index)
