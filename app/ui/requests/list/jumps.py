"""Jumps to rows of the list that are not loaded: they are read first, then the cursor moves there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QAbstractItemView

from app.core.model import Capture, PageKey, Summary
from app.ui.requests.list.delegate import ROW
from app.ui.requests.list.feed import RequestFeed

if TYPE_CHECKING:
    from app.ui.requests.list.view import RequestList

STEPS = {Qt.Key.Key_J: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_K: -1, Qt.Key.Key_Up: -1}
PAGES = {Qt.Key.Key_PageDown: 1, Qt.Key.Key_PageUp: -1}


class Jumps(QObject):
    """Only the last requested jump is made; it is dropped if the user moves before its rows are loaded."""

    def __init__(self, rows: RequestList, feed: RequestFeed) -> None:
        super().__init__(rows)
        self._list, self._feed, self._model = rows, feed, feed.model
        self._when_loaded: Callable[[], None] | None = None
        feed.loaded.connect(self._run_pending)

    def give_up(self) -> None:
        """The user moved the cursor."""
        self._when_loaded = None

    def open(self, capture: Capture | Summary) -> None:
        """Open a request and centre it in the list."""
        self._around(capture, partial(self._open, capture.id))

    def select(self, summary: Summary) -> None:
        """Select a request and centre it in the list, without opening it."""
        self._around(summary, partial(self._select, summary.id))

    def open_newest(self) -> None:
        self._when_loaded = partial(self._list.select_row, 0)
        self._feed.head()

    def open_oldest(self) -> None:
        self._when_loaded = self._open_last
        self._feed.tail()

    def select_first(self) -> None:
        """Go to the first row once the list is loaded, if the list still has the focus then."""
        self._when_loaded = self._select_first

    def move_from_away(self, key: Qt.Key, *, open_it: bool) -> bool:
        """Whether the cursor is on a request that is not loaded, or that was deleted: then move on from there. Without
        `open_it`, only scroll back to it.
        """
        place = self._list.selection.cursor
        if key not in STEPS | PAGES or place is None or self._list.currentIndex().isValid():
            return False
        rows = STEPS.get(key, 0) or PAGES[key] * (self._list.viewport().height() // ROW)
        newest, oldest = self._model.newest_key(), self._model.oldest_key()
        if newest is None or oldest is None:
            return True
        above = place.id > newest.id and not self._model.at_head
        below = place.id < oldest.id and not self._model.at_tail
        action = partial(self._move_from, place.id, rows) if open_it else partial(self._select, place.id)
        if above or below:
            self._around(place, action)
        else:
            action()
        return True

    def _around(self, place: Capture | Summary, action: Callable[[], None]) -> None:
        self._when_loaded = action
        self._feed.around(PageKey(received_at=place.received_at, id=place.id))

    @Slot()
    def _run_pending(self) -> None:
        action, self._when_loaded = self._when_loaded, None
        if action is not None:
            action()

    def _open(self, capture_id: str) -> None:
        self._list.select(capture_id, centre=True)

    def _select(self, capture_id: str) -> None:
        row = self._model.row_of(capture_id)
        if row is not None:
            self._list.selection.put(row)
            self._list.scrollTo(self._model.index(row), QAbstractItemView.ScrollHint.PositionAtCenter)

    def _move_from(self, capture_id: str, rows: int) -> None:
        """If the request was deleted, the next older one takes its place."""
        row, loaded = self._model.row_from(capture_id), self._model.row_of(capture_id) is not None
        self._list.select_row(row + (rows if loaded or rows < 0 else rows - 1))

    def _open_last(self) -> None:
        self._list.select_row(self._model.rowCount() - 1)

    def _select_first(self) -> None:
        if self._list.hasFocus() and not self._list.selected_count():
            self._list.select_first()
