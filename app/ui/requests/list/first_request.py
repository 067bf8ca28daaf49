"""Opens the first request of a list that was empty, because the user is waiting for it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from app.core.model import Summary
from app.ui.request.request_pane import RequestPane
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList


class FirstRequest(QObject):
    """However many arrive at once, the oldest is opened. The focus does not move, and nothing is opened while the user
    types or a dialog or menu is open.

    The request is marked read as soon as the window is active: at once, or later if it is not.
    """

    def __init__(self, page: QWidget, feed: RequestFeed, rows: RequestList, detail: RequestPane) -> None:
        super().__init__(page)
        self._page, self._feed, self._list, self._detail = page, feed, rows, detail
        self.waiting = False
        """Whether the page shows the empty state."""
        self._oldest: Summary | None = None
        """The oldest request received since; in a flood it may not be loaded."""
        self._to_mark_read: str | None = None
        feed.arrived.connect(self._remember_oldest)
        feed.loaded.connect(self._open_first)
        feed.relisted.connect(self.forget)
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        app.focusWindowChanged.connect(self._front_changed)

    @Slot()
    def forget(self) -> None:
        """Wait for no request until the page is empty again."""
        self.waiting, self._oldest = False, None

    @Slot(object)
    def _remember_oldest(self, arrived: Sequence[Summary]) -> None:
        if self.waiting:
            known = (self._oldest,) if self._oldest is not None else ()
            self._oldest = min((*known, *arrived), key=attrgetter("id"))

    @Slot()
    def _open_first(self) -> None:
        count = self._feed.model.rowCount()
        if not (self.waiting and count) or self._feed.query is not None or self._feed.pager.time_range is not None:
            return
        first = self._oldest or self._feed.model.summary(count - 1)
        self.forget()
        if not self._page.isVisible() or self._page.window().isMinimized() or self._detail.capture_id or _busy():
            return
        self._list.keep_one(first)
        active = self._page.isActiveWindow()
        self._to_mark_read = None if active else first.id
        self._detail.show_request(first.id, mark_read=active)

    @Slot(QObject)
    def _front_changed(self, window: QObject | None) -> None:
        """The window is active again, and the request is still open."""
        if self._to_mark_read is None or not self._page.isActiveWindow():
            return
        if self._page.isVisible() and self._detail.capture_id == self._to_mark_read:
            self._detail.mark_read()
        self._to_mark_read = None


def _busy() -> bool:
    """Whether the user is typing, or a dialog or menu is open."""
    if QApplication.activeModalWidget() is not None or QApplication.activePopupWidget() is not None:
        return True
    focus = QApplication.focusWidget()
    if isinstance(focus, QPlainTextEdit | QTextEdit | QLineEdit):
        return not focus.isReadOnly()
    return isinstance(focus, QAbstractSpinBox)
