"""Opens the first request of a list that was empty, because the user is waiting for it."""

from __future__ import annotations

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

from app.ui.request.request_pane import DetailPane
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList


class FirstRequest(QObject):
    """If several arrive at once, the oldest is opened. The focus does not move, and nothing is opened while the user
    types or a dialog or menu is open.

    It is marked read once the window is active: until then it stays unread.
    """

    def __init__(self, page: QWidget, feed: RequestFeed, rows: RequestList, detail: DetailPane) -> None:
        super().__init__(page)
        self._page, self._feed, self._list, self._detail = page, feed, rows, detail
        self.waiting = False
        """Whether the page shows the empty state."""
        self._unseen: str | None = None
        feed.loaded.connect(self._look)
        feed.relisted.connect(self._forget)
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        app.focusWindowChanged.connect(self._front_changed)

    @Slot()
    def _look(self) -> None:
        count = self._feed.model.rowCount()
        if not (self.waiting and count) or self._feed.query is not None or self._feed.pager.within is not None:
            return
        self.waiting = False
        if not self._page.isVisible() or self._page.window().isMinimized() or self._detail.wanted or _busy():
            return
        first = self._feed.model.summary(count - 1)
        self._list.keep_one(first)
        seen = self._page.isActiveWindow()
        self._unseen = None if seen else first.id
        self._detail.show_request(first.id, seen=seen)

    @Slot()
    def _forget(self) -> None:
        self.waiting = False

    @Slot(QObject)
    def _front_changed(self, window: QObject | None) -> None:
        """The window is active again, and the request is still open."""
        if self._unseen is None or not self._page.isActiveWindow():
            return
        if self._page.isVisible() and self._detail.capture is not None and self._detail.capture.id == self._unseen:
            self._detail.mark_seen()
        self._unseen = None


def _busy() -> bool:
    """Whether the user is typing, or a dialog or menu is open."""
    if QApplication.activeModalWidget() is not None or QApplication.activePopupWidget() is not None:
        return True
    focus = QApplication.focusWidget()
    if isinstance(focus, QPlainTextEdit | QTextEdit | QLineEdit):
        return not focus.isReadOnly()
    return isinstance(focus, QAbstractSpinBox)
