"""The list itself: its selection and keys, a place kept while rows come and go, and ages that tick."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QKeyCombination,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from app.core.model import Capture, PageKey, Summary
from app.ui.requests.ages import Ages
from app.ui.requests.delegate import ROW, RequestDelegate
from app.ui.requests.feed import RequestFeed
from app.ui.requests.model import SUMMARY_ROLE
from app.ui.theme.theme import Theme

NEAR_ROWS = 40
"""Pages are read when the end of what is loaded is this near."""

Index = QModelIndex | QPersistentModelIndex


_EXTENDING = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


class RequestList(QListView):
    """Shows a feed. Keys are those of the actions it is given, and those that move."""

    chosen = Signal(object)
    """The request under the cursor, when it is the only one selected."""
    settled = Signal()
    """What is selected changed; told once for all that happens in one go."""
    drag_asked = Signal()
    """What is selected is being dragged."""

    def __init__(self, feed: RequestFeed, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._feed = feed
        self._jumped_by: Qt.Key | None = None
        self._sought: str | None = None
        self._extending = False
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.timeout.connect(self._settle)
        self.setAccessibleName("Requests")
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setDragEnabled(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().setSingleStep(ROW)
        self.request_delegate = RequestDelegate(theme, self)
        self.setItemDelegate(self.request_delegate)
        self.setModel(feed.model)
        feed.model.rowsRemoved.connect(self._rows_gone)
        feed.model.modelReset.connect(self._settling.start)
        feed.loaded.connect(self._arrive)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        self.ages = Ages(self, feed.model)

    def current(self) -> Summary | None:
        """The request under the cursor."""
        index = self.currentIndex()
        return index.data(SUMMARY_ROLE) if index.isValid() else None

    def selected(self) -> list[Summary]:
        """The selected requests, newest first."""
        stretches = self.selectionModel().selection()
        ends = [(stretches.at(number).top(), stretches.at(number).bottom()) for number in range(stretches.count())]
        rows = sorted({row for first, last in ends for row in range(first, last + 1)})
        return [self._feed.model.summary(row) for row in rows]

    def selected_count(self) -> int:
        """How many requests are selected."""
        stretches = self.selectionModel().selection()
        return sum(stretches.at(number).height() for number in range(stretches.count()))

    def keep_one(self, capture_id: str | None = None) -> None:
        """Select this request alone, if it is loaded, or none; the list does not move for it."""
        self.setAutoScroll(False)
        if capture_id is None or not self.select(capture_id):
            self.clearSelection()
        self.setAutoScroll(True)

    def select(self, capture_id: str, *, midway: bool = False) -> bool:
        """Put the cursor on a request, if it is loaded; `midway` brings it to the middle."""
        row = self._feed.model.row_of(capture_id)
        if row is None:
            return False
        self.select_row(row)
        if midway:
            self.scrollTo(self.currentIndex(), QAbstractItemView.ScrollHint.PositionAtCenter)
        return True

    def go_to(self, capture: Capture | Summary) -> None:
        """Put the cursor on a request and bring it to the middle, once it is loaded if it is not."""
        if self._feed.pager.jumping or not self.select(capture.id, midway=True):
            self._jumped_by, self._sought = None, capture.id
            self._feed.around(PageKey(received_at=capture.received_at, id=capture.id))

    def select_row(self, row: int) -> None:
        """Put the cursor on a row, or on the last one, and select it alone, even while Ctrl is held."""
        last = self._feed.model.rowCount() - 1
        if last >= 0:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.selectionModel().setCurrentIndex(self._feed.model.index(max(0, min(row, last))), flags)

    @Slot()
    def go_to_newest(self) -> None:
        """Scroll to the top, and show what is held back."""
        self.scrollToTop()
        if self._feed.held or not self._feed.model.at_head:
            self._feed.head()

    @Slot()
    def go_home(self) -> None:
        """Put the cursor on the newest request stored."""
        if self._feed.held or not self._feed.model.at_head:
            self._jumped_by = Qt.Key.Key_Home
            self._feed.head()
        else:
            self.select_row(0)

    def currentChanged(self, current: Index, previous: Index) -> None:
        """Tell which request is under the cursor now, unless more are being selected."""
        super().currentChanged(current, previous)
        self._settling.start()
        if current.isValid() and not self._extending and self.selected_count() <= 1:
            self.chosen.emit(current.data(SUMMARY_ROLE))

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        """Tell it once the event is over: the cursor moves before the selection does."""
        super().selectionChanged(selected, deselected)
        self._settling.start()

    def rowsInserted(self, parent: Index, start: int, end: int) -> None:
        """Rows that come in above what is seen move nothing of it, unless the reader follows at the top."""
        value = self.verticalScrollBar().value()
        super().rowsInserted(parent, start, end)
        if start * ROW <= value and not self._feed.following:
            self.executeDelayedItemsLayout()
            self.verticalScrollBar().setValue(value + (end - start + 1) * ROW)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """With Shift or Ctrl more are selected, and nothing is opened."""
        self._extending = bool(event.modifiers() & _EXTENDING)
        super().mousePressEvent(event)
        self._extending = False

    def startDrag(self, actions: Qt.DropAction) -> None:
        """Its files have to be written first."""
        self.drag_asked.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """j and k move as the arrows do; End goes to the oldest stored request."""
        key = Qt.Key(event.key())
        plain = not event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
        if act(self.actions(), event):
            return
        if plain and key in (Qt.Key.Key_J, Qt.Key.Key_K):
            self.select_row(self.currentIndex().row() + (1 if key == Qt.Key.Key_J else -1))
        elif plain and key == Qt.Key.Key_End and not self._feed.model.at_tail:
            self._jumped_by = key
            self._feed.tail()
        else:
            self._extending = bool(event.modifiers() & _EXTENDING)
            super().keyPressEvent(event)
            self._extending = False

    @Slot()
    def _arrive(self) -> None:
        """What was jumped to is there: the cursor goes to the request, or to the end that Home or End asked for."""
        sought, self._sought = self._sought, None
        if sought is not None:
            self.select(sought, midway=True)
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
    def _settle(self) -> None:
        self.settled.emit()
        current = self.currentIndex()
        if self.selected_count() == 1 and self.selectionModel().isSelected(current):
            self.chosen.emit(current.data(SUMMARY_ROLE))


def act(actions: Iterable[QAction], event: QKeyEvent) -> bool:
    """Whether the key is an action's: then it does nothing else, even while the action would do nothing."""
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    keys = QKeySequence(QKeyCombination(modifiers, Qt.Key(event.key())))
    action = next((action for action in actions if keys in action.shortcuts()), None)
    if action is not None:
        action.trigger()
    return action is not None
