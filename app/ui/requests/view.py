"""The list itself: keys, a place kept while rows come and go, ages that tick, and the pill that counts the new."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from app.core.clock import now_us
from app.core.model import Capture, PageKey, Summary
from app.core.wording import ago_text
from app.ui.requests.delegate import ROW, RequestDelegate
from app.ui.requests.feed import RequestFeed
from app.ui.requests.model import SUMMARY_ROLE
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button

TICK_MS = 1_000
NEAR_ROWS = 40
"""Pages are read when the end of what is loaded is this near."""

Index = QModelIndex | QPersistentModelIndex


class RequestList(QListView):
    """Shows a feed. `chosen` carries the summary under the cursor; keys become the other signals."""

    chosen = Signal(object)
    open_asked = Signal()
    delete_asked = Signal()
    unread_asked = Signal()
    curl_asked = Signal()
    link_asked = Signal()

    def __init__(self, feed: RequestFeed, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._feed = feed
        self._ages: dict[str, str] = {}
        self._jumped_by: Qt.Key | None = None
        self._sought: str | None = None
        self._keys = {
            Qt.Key.Key_Return: self.open_asked,
            Qt.Key.Key_Enter: self.open_asked,
            Qt.Key.Key_Delete: self.delete_asked,
            Qt.Key.Key_U: self.unread_asked,
            Qt.Key.Key_C: self.curl_asked,
            Qt.Key.Key_L: self.link_asked,
        }
        self.setAccessibleName("Requests")
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().setSingleStep(ROW)
        self.request_delegate = RequestDelegate(theme, self)
        self.setItemDelegate(self.request_delegate)
        self.setModel(feed.model)
        feed.model.rowsRemoved.connect(self._rows_gone)
        self.pill = Button("", theme, self.viewport(), kind="primary", icon="up")
        self.pill.setStyleSheet("QPushButton { border-radius: 14px; min-height: 26px; padding: 0 14px 0 10px; }")
        self.pill.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.pill.hide()
        self.pill.clicked.connect(self.go_to_newest)
        feed.held_changed.connect(self._show_held)
        feed.loaded.connect(self._arrive)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        self._clock = QTimer(self)
        self._clock.setInterval(TICK_MS)
        self._clock.timeout.connect(self._tick)
        self._clock.start()

    def current(self) -> Summary | None:
        """The request under the cursor."""
        index = self.currentIndex()
        return index.data(SUMMARY_ROLE) if index.isValid() else None

    def selected(self) -> list[Summary]:
        """The selected requests, newest first."""
        rows = sorted(index.row() for index in self.selectedIndexes())
        return [self._feed.model.summary(row) for row in rows]

    def select(self, capture_id: str) -> bool:
        """Put the cursor on a request, if it is loaded."""
        row = self._feed.model.row_of(capture_id)
        if row is None:
            return False
        self.setCurrentIndex(self._feed.model.index(row))
        return True

    def go_to(self, capture: Capture | Summary) -> None:
        """Put the cursor on a request and bring it to the middle, once it is loaded if it is not."""
        if self._feed.pager.jumping or not self._select_midway(capture.id):
            self._jumped_by, self._sought = None, capture.id
            self._feed.around(PageKey(received_at=capture.received_at, id=capture.id))

    def select_row(self, row: int) -> None:
        """Put the cursor on a row, or on the last one."""
        last = self._feed.model.rowCount() - 1
        if last >= 0:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.selectionModel().setCurrentIndex(self._feed.model.index(max(0, min(row, last))), flags)

    @Slot()
    def go_to_newest(self) -> None:
        """Scroll to the top, and follow what comes."""
        self.scrollToTop()
        if self._feed.held or not self._feed.model.at_head:
            self._feed.head()

    def currentChanged(self, current: Index, previous: Index) -> None:
        """Tell which request is under the cursor now."""
        super().currentChanged(current, previous)
        self.chosen.emit(current.data(SUMMARY_ROLE) if current.isValid() else None)

    def rowsInserted(self, parent: Index, start: int, end: int) -> None:
        """Rows that come in above what is seen move nothing of it, unless the reader follows at the top."""
        value = self.verticalScrollBar().value()
        super().rowsInserted(parent, start, end)
        if start * ROW <= value and not self._feed.following:
            self.executeDelayedItemsLayout()
            self.verticalScrollBar().setValue(value + (end - start + 1) * ROW)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """j and k move as the arrows do; Home and End go to the newest and the oldest stored request."""
        key = Qt.Key(event.key())
        if event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier):
            super().keyPressEvent(event)
        elif key in (Qt.Key.Key_J, Qt.Key.Key_K):
            self.select_row(self.currentIndex().row() + (1 if key == Qt.Key.Key_J else -1))
        elif key in self._keys:
            self._keys[key].emit()
        elif key == Qt.Key.Key_Home and not self._feed.model.at_head:
            self._jumped_by = key
            self._feed.head()
        elif key == Qt.Key.Key_End and not self._feed.model.at_tail:
            self._jumped_by = key
            self._feed.tail()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the pill in the middle."""
        super().resizeEvent(event)
        self._place_pill()

    def _select_midway(self, capture_id: str) -> bool:
        if not self.select(capture_id):
            return False
        self.scrollTo(self.currentIndex(), QAbstractItemView.ScrollHint.PositionAtCenter)
        return True

    @Slot()
    def _arrive(self) -> None:
        """What was jumped to is there: the cursor goes to the request, or to the end that Home or End asked for."""
        sought, self._sought = self._sought, None
        if sought is not None:
            self._select_midway(sought)
        key, self._jumped_by = self._jumped_by, None
        if key is not None:
            self.select_row(0 if key == Qt.Key.Key_Home else self._feed.model.rowCount() - 1)

    @Slot(QModelIndex, int, int)
    def _rows_gone(self, parent: QModelIndex, start: int, end: int) -> None:
        value = self.verticalScrollBar().value()
        if value > 0 and end * ROW < value:
            self.executeDelayedItemsLayout()
            self.verticalScrollBar().setValue(value - (end - start + 1) * ROW)

    @Slot(int)
    def _scrolled(self, value: int) -> None:
        bar = self.verticalScrollBar()
        self._feed.follow(value == 0)
        if bar.maximum() - value < NEAR_ROWS * ROW:
            self._feed.pager.older()
        if value < NEAR_ROWS * ROW:
            self._feed.pager.newer()

    @Slot()
    def _tick(self) -> None:
        """Repaint only the ages that changed, and only of rows that are seen."""
        if not self.isVisible():
            return
        first = self.indexAt(self.viewport().rect().topLeft())
        ages: dict[str, str] = {}
        now = now_us()
        for row in range(max(0, first.row()), self._feed.model.rowCount()):
            rect = self.visualRect(self._feed.model.index(row))
            if rect.top() > self.viewport().height():
                break
            summary = self._feed.model.summary(row)
            ages[summary.id] = ago_text(summary.received_at, now)
            if self._ages.get(summary.id) != ages[summary.id]:
                self.viewport().update(self.request_delegate.time_rect(rect))
        self._ages = ages

    @Slot(int)
    def _show_held(self, held: int) -> None:
        self.pill.setText(f"{held:,} new")
        self.pill.setVisible(held > 0)
        self._place_pill()

    def _place_pill(self) -> None:
        self.pill.adjustSize()
        self.pill.move((self.viewport().width() - self.pill.width()) // 2, 8)
