"""The list view: selection, keys and jumps, a stable position while rows are added and removed, and relative times."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QKeyCombination,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QAction, QFocusEvent, QKeyEvent, QKeySequence, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QListView, QWidget

from app.core.clock import now_us
from app.core.model import Capture, PageKey, Summary
from app.core.text import ago_text
from app.ui.requests.list.delegate import ROW, RequestDelegate
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.model import MAX_ROWS, SUMMARY_ROLE, Index, Selection
from app.ui.theme.theme import Theme
from app.ui.throttle import WhileShown
from app.ui.widgets.focus import current_in_view


class ScrollPlace(NamedTuple):
    """The request at the top of the list, and how many pixels of its row are scrolled out of view."""

    top: Summary
    hidden: int


STEPS = {Qt.Key.Key_J: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_K: -1, Qt.Key.Key_Up: -1}
PAGES = {Qt.Key.Key_PageDown: 1, Qt.Key.Key_PageUp: -1}


class Jumps(QObject):
    """Only the last requested jump is made; it is dropped if the user moves before its rows are loaded."""

    def __init__(self, rows: RequestList, feed: RequestFeed) -> None:
        super().__init__(rows)
        self._list, self._feed, self._model = rows, feed, feed.model
        self._when_loaded: Callable[[], object] | None = None
        feed.loaded.connect(self._run_pending)
        feed.relisted.connect(self.give_up)

    @Slot()
    def give_up(self) -> None:
        """The user moved the cursor, or lists other requests."""
        self._when_loaded = None

    def open(self, capture: Capture | Summary) -> None:
        """Open a request and centre it in the list."""
        self._around(capture, partial(self._list.select, capture.id, centre=True))

    def select(self, summary: Summary) -> None:
        """Select a request and centre it in the list, without opening it."""
        self._around(summary, partial(self._select, summary.id))

    def scroll_to(self, place: ScrollPlace) -> None:
        self._around(place.top, partial(self.put_at, place))

    def open_newest(self) -> None:
        self._when_loaded = partial(self._list.select_row, 0)
        self._feed.head()

    def open_oldest(self) -> None:
        self._when_loaded = partial(self._list.select_row, MAX_ROWS)
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

    def _around(self, place: Capture | Summary, action: Callable[[], object]) -> None:
        self._when_loaded = action
        self._feed.around(PageKey(received_at=place.received_at, id=place.id))

    @Slot()
    def _run_pending(self) -> None:
        if self._feed.pager.jumping:
            return  # They could not be read, and are read again.
        action, self._when_loaded = self._when_loaded, None
        if action is not None:
            action()

    def _select(self, capture_id: str) -> None:
        row = self._model.row_of(capture_id)
        if row is not None:
            self._list.selection.put(row)
            self._list.scrollTo(self._model.index(row), QAbstractItemView.ScrollHint.PositionAtCenter)

    def put_at(self, place: ScrollPlace) -> None:
        """Scroll there, among the rows that are loaded."""
        self._list.executeDelayedItemsLayout()
        self._list.verticalScrollBar().setValue(self._model.row_from(place.top.id) * ROW + place.hidden)

    def _move_from(self, capture_id: str, rows: int) -> None:
        """If the request was deleted, the next older one takes its place."""
        row, loaded = self._model.row_from(capture_id), self._model.row_of(capture_id) is not None
        self._list.select_row(row + (rows if loaded or rows < 0 else rows - 1))

    def _select_first(self) -> None:
        if self._list.hasFocus() and not self._list.selected_count():
            self._list.select_first()


class ClickScroll(QObject):
    """Waits until the click can no longer become a double-click, whose second half would land on another row. Does
    nothing if the row has moved meanwhile: the user scrolls, or new requests come in.
    """

    def __init__(self, view: QListView) -> None:
        super().__init__(view)
        self._view = view
        self._row = QPersistentModelIndex()
        self._place = QRect()
        self.timer = QTimer(self, singleShot=True)
        self.timer.timeout.connect(self._scroll)
        view.clicked.connect(self._wait)

    @Slot(QModelIndex)
    def _wait(self, row: QModelIndex) -> None:
        self._row, self._place = QPersistentModelIndex(row), self._view.visualRect(row)
        self.timer.start(QApplication.doubleClickInterval())

    @Slot()
    def _scroll(self) -> None:
        current = self._row.isValid() and self._row == self._view.currentIndex()
        if current and self._view.visualRect(self._row) == self._place:
            self._view.scrollTo(self._row)


NEAR_ROWS = 40
"""Pages are loaded when this few rows are left."""
_EXTENDING = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


class RequestList(QListView):
    """Shows a feed. Keys are those of the given actions, and those that move the cursor.

    `selection` knows what is selected, loaded or not.
    """

    request_selected = Signal(object)
    """The request that the user moved to, if it is the only one selected."""
    request_clicked = Signal(object)
    """The request that the user clicked, unless the click extends the selection."""
    selection_settled = Signal()
    """The selection changed; emitted once for all changes of one event."""
    drag_requested = Signal()
    """The selection is being dragged."""

    def __init__(self, feed: RequestFeed, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setViewport(QWidget())  # to find out what its own is, PySide would load all classes of widgets: 10 ms
        self._feed = feed
        self._extending = False
        self._moved_to: Summary | None = None
        """The cursor's request at the user's last change of the selection, until that is emitted."""
        self._settling = QTimer(self, singleShot=True)
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
        feed.model.in_words = self.request_delegate.in_words
        self.selection = Selection(self, feed.model)
        self.jumps = Jumps(self, feed)
        self.setModel(feed.model)
        self.selection.follow()
        feed.relisted.connect(self.selection.begin_list)
        feed.model.kept_changed.connect(self._settling.start)
        feed.model.rowsRemoved.connect(self._rows_gone)
        feed.model.modelReset.connect(self._settling.start)
        self.clicked.connect(self._click)
        self.click_scroll = ClickScroll(self)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        self.shown_times: dict[str, str] = {}
        """The relative times of the rows in view, by request ID."""
        WhileShown(self, self.tick)

    @Slot()
    def tick(self) -> None:
        """Time has passed: repaint the times that changed, in the rows in view."""
        model, viewport, now = self._feed.model, self.viewport(), now_us()
        times: dict[str, str] = {}
        for row in range(max(0, self.indexAt(viewport.rect().topLeft()).row()), model.rowCount()):
            rect = self.visualRect(model.index(row))
            if rect.top() > viewport.height():
                break
            summary = model.summary(row)
            times[summary.id] = ago_text(summary.received_at, now)
            if self.shown_times.get(summary.id) != times[summary.id]:
                viewport.update(self.request_delegate.time_rect(rect))
        self.shown_times = times

    def scroll_place(self) -> ScrollPlace | None:
        """None while the list is at its top, or empty."""
        row, hidden = divmod(self.verticalScrollBar().value(), ROW)
        scrolled = (row or hidden) and row < self._feed.model.rowCount()
        return ScrollPlace(self._feed.model.summary(row), hidden) if scrolled else None

    def current(self) -> Summary | None:
        """The request under the cursor, if it is loaded."""
        index = self.currentIndex()
        return index.data(SUMMARY_ROLE) if index.isValid() else None

    def selected(self) -> list[Summary]:
        """The selected requests, newest first."""
        return self.selection.all()

    def selected_count(self) -> int:
        return self.selection.count()

    def keep_one(self, summary: Summary | None) -> None:
        """Select this request alone, or none, without scrolling or opening."""
        self.selection.keep_one(summary)
        self._settle()

    def select(self, capture_id: str, *, centre: bool = False) -> bool:
        """Put the cursor on a request, if it is loaded, and open it; `centre` centres it."""
        row = self._feed.model.row_of(capture_id)
        if row is None:
            return False
        self.select_row(row)
        if centre:
            self.scrollTo(self.currentIndex(), QAbstractItemView.ScrollHint.PositionAtCenter)
        return True

    def go_to(self, capture: Capture | Summary) -> None:
        """Open a request and centre it, once it is loaded."""
        if self._feed.pager.jumping or not self.select(capture.id, centre=True):
            self.jumps.open(capture)

    def select_row(self, row: int) -> None:
        """Open the request of a row, or of the last one, and select it alone, even while Ctrl is held."""
        last = self._feed.model.rowCount() - 1
        if last >= 0:
            index = self._feed.model.index(max(0, min(row, last)))
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)
            self.scrollTo(index)  # Qt does so only if the cursor moves
            self._open_current(index)

    @Slot(QModelIndex)
    def _click(self, index: QModelIndex) -> None:
        self._open_current(index)
        if not self._extending:
            self.request_clicked.emit(index.data(SUMMARY_ROLE))

    def _open_current(self, index: Index) -> None:
        """Open the cursor's request if it is not open: after a delete the cursor is on a row without opening it."""
        if not self._extending and index == self.currentIndex() and self.selected_count() == 1:
            self.request_selected.emit(index.data(SUMMARY_ROLE))

    @Slot()
    def start(self) -> None:
        """Give the list keyboard focus. If none is selected, the first request is, once it is loaded."""
        if not self.isVisible():
            return
        self.setFocus()
        if self._feed.pager.jumping:
            self.jumps.select_first()
        elif not self.selected_count():
            self.select_first()

    def select_first(self) -> None:
        """Select the first request, and open it unless the user has one open that the list leaves out."""
        if self.selection.open_id() is None:
            self.select_row(0)
        elif self._feed.model.rowCount():
            self.keep_one(self._feed.model.summary(0))
            self.scrollTo(self.currentIndex())

    @Slot()
    def go_to_newest(self) -> None:
        """Scroll to the top, and show new requests that were only counted."""
        self.scrollToTop()
        if self._feed.new_count or not self._feed.model.at_head or self._feed.pager.jumping:
            self.jumps.give_up()
            self._feed.head()

    @Slot()
    def go_home(self) -> None:
        """Put the cursor on the newest request stored."""
        if self._feed.new_count or not self._feed.model.at_head or self._feed.pager.jumping:
            self.jumps.open_newest()
        else:
            self.select_row(0)

    def currentChanged(self, current: Index, previous: Index) -> None:
        """Emit the request the user moved to, unless several are selected."""
        super().currentChanged(current, previous)
        self._settling.start()
        if self.selection.quiet:
            return
        self.jumps.give_up()
        self._moved_to = self.selection.cursor = self.current()
        if current.isValid() and not self._extending and self.selected_count() <= 1:
            self.request_selected.emit(current.data(SUMMARY_ROLE))

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        """Emit after the event: the cursor moves before the selection does. A plain selection drops what is selected
        elsewhere.
        """
        super().selectionChanged(selected, deselected)
        self._settling.start()
        if not self.selection.quiet:
            self._moved_to = self.current()
            if not self._extending:
                self._feed.model.kept.clear()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Focus moves no cursor: Qt would put it on the first row if there is none."""
        with self.selection.quietly():
            there = self.currentIndex().isValid()
            super().focusInEvent(event)
            if not there:
                self.selectionModel().clearCurrentIndex()

    def keyboardSearch(self, search: str) -> None:
        """Letters are commands here, not a search for the beginning of a row's text."""

    def rowsInserted(self, parent: Index, start: int, end: int) -> None:
        """Rows inserted above the visible ones do not move them, unless the user follows at the top."""
        value = self.verticalScrollBar().value()
        super().rowsInserted(parent, start, end)
        if start * ROW <= value and not self._feed.following:
            self.executeDelayedItemsLayout()
            self.verticalScrollBar().setValue(value + (end - start + 1) * ROW)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """With Shift or Ctrl the click extends the selection, and nothing is opened."""
        self._extending = bool(event.modifiers() & _EXTENDING)
        # Qt would scroll to the row half a second later, even if new rows have moved it meanwhile.
        self.setAutoScroll(False)
        super().mousePressEvent(event)
        self.setAutoScroll(True)
        self._extending = False

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """For an item that was already selected, Qt handles the click only on release."""
        self._extending = bool(event.modifiers() & _EXTENDING)
        super().mouseReleaseEvent(event)
        self._extending = False

    def startDrag(self, actions: Qt.DropAction) -> None:
        """The files have to be written first."""
        self.drag_requested.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """j and k move as the arrow keys do; End goes to the oldest stored request."""
        key = Qt.Key(event.key())
        plain = not event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
        if (action := action_of(self.actions(), event)) is not None:
            # Without a window manager a window gets keys that it is not active for: no shortcut works there.
            if self.isActiveWindow():
                action.trigger()
            return
        if self.jumps.move_from_away(key, open_it=not event.modifiers() & _EXTENDING):
            return
        if plain and key in (Qt.Key.Key_J, Qt.Key.Key_K):
            self.select_row(self.currentIndex().row() + STEPS[key])
        elif plain and key == Qt.Key.Key_End and not self._feed.model.at_tail:
            self.jumps.open_oldest()
        else:
            self._extending = bool(event.modifiers() & _EXTENDING)
            super().keyPressEvent(event)
            self._extending = False
            if key in STEPS | PAGES or key == Qt.Key.Key_End:
                self.scrollTo(self.currentIndex())  # as in `select_row`

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The cursor stays in view, also when the bar with *Undo* takes room."""
        with current_in_view(self, event):
            super().resizeEvent(event)

    @Slot(QModelIndex, int, int)
    def _rows_gone(self, parent: QModelIndex, start: int, end: int) -> None:
        value = self.verticalScrollBar().value()
        if value > 0 and end * ROW < value:
            self.executeDelayedItemsLayout()
            self.verticalScrollBar().setValue(value - (end - start + 1) * ROW)
        self._load_near()

    @Slot(int)
    def _scrolled(self, value: int) -> None:
        self._feed.follow(value == 0)
        self._load_near()

    def _load_near(self) -> None:
        """Load what follows the rows that are seen. The range of the scroll bar may still be that of before."""
        above = self.verticalScrollBar().value()
        below = self._feed.model.rowCount() * ROW - self.viewport().height() - above
        if below < NEAR_ROWS * ROW:
            self._feed.pager.older()
        if above < NEAR_ROWS * ROW:
            self._feed.pager.newer()

    @Slot()
    def _settle(self) -> None:
        moved_to, self._moved_to = self._moved_to, None
        self.selection_settled.emit()
        current = self.current()
        if moved_to is None or current is None or current.id != moved_to.id:
            return
        if self.selected_count() == 1 and self.selectionModel().isSelected(self.currentIndex()):
            self.request_selected.emit(current)


def action_of(actions: Iterable[QAction], event: QKeyEvent) -> QAction | None:
    """The action that the key belongs to: it does nothing else, even while the action is disabled."""
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    keys = QKeySequence(QKeyCombination(modifiers, Qt.Key(event.key())))
    return next((action for action in actions if keys in action.shortcuts()), None)
