"""The loaded rows: consecutive stored requests around the user's position, newest at the top; and which requests are
selected, by id: rows are loaded and unloaded, the selection stays."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import (
    QAbstractListModel,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtWidgets import QAbstractItemView

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.model import PageKey, Summary
from app.core.text import count_of, size_text, span_text, title_of
from app.core.worst_state import State, delivery_state
from app.ui.deliveries.words import forwarding_words

MINUTE = 60_000_000


def without_targets(summary: Summary) -> State:
    """As long as its endpoint's targets are not known."""
    return delivery_state(summary.delivery, ())


def row_text(
    summary: Summary, providers: Mapping[str, str], names: Mapping[int, str] | None, forwarding: str | None = None
) -> str:
    """`Unread. invoice.paid from Stripe, POST, 1.2 kB, 2 minutes ago, forwarded`.

    `providers` names providers by ID, `names` endpoints if the list has several; `forwarding` says how it was forwarded
    in other words than those for the worst of its targets.
    """
    title = title_of(summary, providers)
    marks = (("Unread", not summary.read), ("Starred", summary.starred), ("Has a note", bool(summary.note)))
    parts = [
        f"{title.main} from {title.sender}" if title.sender else title.main,
        escape(summary.method[:20]),
        title.path,
        f"endpoint {names[summary.endpoint_id]}" if names and summary.endpoint_id in names else "",
        size_text(summary.size) if summary.size else "no body" if title.main != "no body" else "",
        "" if summary.complete else "cut off",
        _age(summary.received_at),
        forwarding_words(without_targets(summary)) if forwarding is None else forwarding,
    ]
    return "".join(f"{word}. " for word, true in marks if true) + ", ".join(part for part in parts if part)


def _age(received_at: int) -> str:
    passed = now_us() - received_at
    if passed < 2_000_000:
        return "just now"
    return f"{count_of(passed // 1_000_000, 'second') if passed < MINUTE else span_text(passed)} ago"


UPDATES_KEPT = 2_000
"""The number of requests whose changes are remembered; fewer than that change while one is being read."""


class PendingUpdates:
    """The last changes of recently changed requests, by ID: a summary read from the store meanwhile may be older. All
    changes are reported, so the last one applies.
    """

    def __init__(self) -> None:
        self._recent: dict[str, dict[str, Any]] = {}

    def change(self, capture_id: str, **fields: Any) -> None:
        """These fields of its `Summary` have changed to these values."""
        self._recent[capture_id] = {**self._recent.pop(capture_id, {}), **fields}
        if len(self._recent) > UPDATES_KEPT:
            del self._recent[next(iter(self._recent))]

    def forget(self, field: str) -> None:
        """The field changed for requests that were not listed."""
        for fields in self._recent.values():
            fields.pop(field, None)

    def updated(self, read: Summary) -> Summary:
        """The summary with the known changes applied."""
        fields = self._recent.get(read.id)
        return replace(read, **fields) if fields else read


MAX_ROWS = 5_000
"""Maximum rows in memory, however long the window stays open or however far the user scrolls."""

SUMMARY_ROLE = Qt.ItemDataRole.UserRole + 1

_id = attrgetter("id")
Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()


class RequestModel(QAbstractListModel):
    """Summaries by row. `at_head` and `at_tail` say whether the newest and the oldest stored request are loaded.

    IDs sort by time of arrival, so they alone define the order.
    """

    kept_changed = Signal()
    """A request of `kept` was marked, or deleted."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        # Oldest first, so that new requests are appended: row r is the item at len - 1 - r.
        self._items: list[Summary] = []
        self._updates = PendingUpdates()
        self.kept: dict[str, Summary] = {}
        """Selected requests that are not loaded, by ID, kept up to date as well."""
        self.at_head = self.at_tail = True
        self.in_words: Callable[[Summary], str] = partial(row_text, providers={}, names=None)
        """The text of a row for screen readers."""

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """The number of rows loaded."""
        return 0 if parent.isValid() else len(self._items)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The summary; as text for screen readers."""
        if not index.isValid():
            return None
        summary = self.summary(index.row())
        if role == SUMMARY_ROLE:
            return summary
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.in_words(summary)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Rows can be dragged out."""
        return super().flags(index) | Qt.ItemFlag.ItemIsDragEnabled

    def summary(self, row: int) -> Summary:
        """The request of a row."""
        return self._items[len(self._items) - 1 - row]

    def summaries(self) -> list[Summary]:
        """The loaded requests, newest first."""
        return self._items[::-1]

    def row_of(self, capture_id: str) -> int | None:
        """The row of a request, None if it is not loaded."""
        at = bisect_left(self._items, capture_id, key=_id)
        if at < len(self._items) and self._items[at].id == capture_id:
            return len(self._items) - 1 - at
        return None

    def lacks(self, capture_id: str) -> bool:
        """Whether it is missing among the rows: those below the last one are read when the user scrolls there."""
        return self.row_of(capture_id) is None and (self.at_tail or self.row_from(capture_id) < len(self._items))

    def row_from(self, capture_id: str) -> int:
        """The row of a request or, if it is not loaded, of the next older one; the row count if there is none."""
        return len(self._items) - bisect_right(self._items, capture_id, key=_id)

    def newest_key(self) -> PageKey | None:
        """The key of the first row."""
        return _key(self._items[-1]) if self._items else None

    def oldest_key(self) -> PageKey | None:
        """The key of the last row."""
        return _key(self._items[0]) if self._items else None

    def reset(self, newest_first: Sequence[Summary], *, at_head: bool, at_tail: bool) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self._items = [self._updates.updated(item) for item in reversed(newest_first)]
        self.at_head, self.at_tail = at_head, at_tail
        self.endResetModel()

    def add_newer(self, newest_first: Sequence[Summary], most: int | None = None) -> None:
        """Insert rows at the top, without those already loaded; the oldest beyond `most` (or MAX_ROWS) are dropped."""
        fresh = sorted((self._updates.updated(item) for item in newest_first if self.row_of(item.id) is None), key=_id)
        late = [item for item in fresh if self._items and item.id < self._items[-1].id]
        top = fresh[len(late) :]
        if top:
            self.beginInsertRows(QModelIndex(), 0, len(top) - 1)
            self._items.extend(top)
            self.endInsertRows()
        for item in late:
            self._insert_late(item)
        excess = len(self._items) - (MAX_ROWS if most is None else most)
        if excess > 0:
            count = len(self._items)
            self.beginRemoveRows(QModelIndex(), count - excess, count - 1)
            del self._items[:excess]
            self.at_tail = False
            self.endRemoveRows()

    def take_between(self, newest_first: Sequence[Summary]) -> list[Summary]:
        """Insert those that are older than the first row at their position; returns the others."""
        room = len(self._items) + len(newest_first) <= MAX_ROWS
        between = [item for item in newest_first if room and self._items and item.id < self._items[-1].id]
        self.add_newer(between)
        return [item for item in newest_first if item not in between]

    def add_older(self, newest_first: Sequence[Summary]) -> None:
        """Add rows at the bottom; the newest are dropped."""
        if newest_first:
            count = len(self._items)
            self.beginInsertRows(QModelIndex(), count, count + len(newest_first) - 1)
            self._items[:0] = [self._updates.updated(item) for item in reversed(newest_first)]
            self.endInsertRows()
        excess = len(self._items) - MAX_ROWS
        if excess > 0:
            self.beginRemoveRows(QModelIndex(), 0, excess - 1)
            del self._items[-excess:]
            self.at_head = False
            self.endRemoveRows()

    def remove(self, gone: Callable[[Summary], bool]) -> int:
        """Remove rows, adjacent ones together. Returns how many were removed."""
        doomed = [at for at, item in enumerate(self._items) if gone(item)]
        before = len(self._items)
        while doomed:
            last = first = doomed.pop()
            while doomed and doomed[-1] == first - 1:
                first = doomed.pop()
            count = len(self._items)
            self.beginRemoveRows(QModelIndex(), count - 1 - last, count - 1 - first)
            del self._items[first : last + 1]
            self.endRemoveRows()
        if lost := [name for name, item in self.kept.items() if gone(item)]:
            for name in lost:
                del self.kept[name]
            self.kept_changed.emit()
        return before - len(self._items)

    def set_all_read(self, marked: Callable[[Summary], bool]) -> None:
        """Show all that were `marked` as read."""
        self._updates.forget("read")
        self._items = [replace(item, read=True) if not item.read and marked(item) else item for item in self._items]
        for name, item in self.kept.items():
            if marked(item):
                self.kept[name] = replace(item, read=True)
        self.kept_changed.emit()
        if self._items:
            self.dataChanged.emit(self.index(0), self.index(len(self._items) - 1))

    def change(self, capture_id: str, **fields: Any) -> None:
        """Update these fields of a request's `Summary`, now or once it is inserted."""
        self._updates.change(capture_id, **fields)
        if capture_id in self.kept:
            self.kept[capture_id] = replace(self.kept[capture_id], **fields)
            self.kept_changed.emit()
        row = self.row_of(capture_id)
        if row is not None:
            at = len(self._items) - 1 - row
            self._items[at] = replace(self._items[at], **fields)
            self.dataChanged.emit(self.index(row), self.index(row))

    def _insert_late(self, item: Summary) -> None:
        """Insert a request that was stored after a newer one; below the last row it is read when the user scrolls
        there.
        """
        at = bisect_left(self._items, item.id, key=_id)
        if at == 0 and not self.at_tail:
            return
        row = len(self._items) - at
        self.beginInsertRows(QModelIndex(), row, row)
        self._items.insert(at, item)
        self.endInsertRows()


def _key(summary: Summary) -> PageKey:
    return PageKey(received_at=summary.received_at, id=summary.id)


KEPT_MAX = MAX_ROWS
"""Maximum selected requests that are not loaded; beyond that, rows that leave are deselected."""
_Flag = QItemSelectionModel.SelectionFlag


class Selection(QObject):
    """The model keeps a selected request whose row is unloaded; when loaded again, its row is selected again. A
    deleted request is deselected, and nothing is selected instead.

    Qt would move the cursor to a neighbour instead, so changes while `quiet` is true were not made by the user.
    Created before the view gets the model, to be notified of removed rows before Qt is.
    """

    def __init__(self, view: QAbstractItemView, model: RequestModel) -> None:
        super().__init__(view)
        self.cursor: Summary | None = None
        """The request under the cursor, loaded or not; if it was deleted, still the place to go on from."""
        self.open_id: Callable[[], str | None] = lambda: None
        """The open request: selected when its row is loaded if nothing else is."""
        self._view, self._model = view, model
        self._quiet = 0
        self._relisted = False
        self._takes_first = False
        """Whether everything loaded was deleted, so that the first row loaded next is selected."""
        model.rowsAboutToBeInserted.connect(self._before_insertion)
        model.rowsAboutToBeRemoved.connect(self._before_removal)
        model.modelAboutToBeReset.connect(self._before_reset)

    def follow(self) -> None:
        """The view has the model now."""
        self._model.rowsRemoved.connect(self._rows_removed)
        self._model.rowsInserted.connect(self._rows_inserted)
        self._model.modelReset.connect(self._model_reset)

    @property
    def quiet(self) -> bool:
        """Whether changes now are not made by the user."""
        return self._quiet > 0

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Changes within it open nothing and do not scroll."""
        self._quiet += 1
        scrolls = self._view.hasAutoScroll()
        self._view.setAutoScroll(False)
        try:
            yield
        finally:
            self._view.setAutoScroll(scrolls)
            self._quiet -= 1

    def loaded(self) -> list[Summary]:
        """The selected requests that are loaded, newest first."""
        return [self._model.summary(row) for first, last in self._ends() for row in range(first, last + 1)]

    def all(self) -> list[Summary]:
        """The selected requests, newest first."""
        if not self._model.kept:
            return self.loaded()
        return sorted([*self.loaded(), *self._model.kept.values()], key=_id, reverse=True)

    def count(self) -> int:
        """How many requests are selected."""
        return sum(last - first + 1 for first, last in self._ends()) + len(self._model.kept)

    def main(self) -> Summary | None:
        """The open request if it is selected, otherwise the one under the cursor; None if not loaded."""
        name = self.open_id()
        index = self._view.currentIndex()
        under_cursor = index.data(SUMMARY_ROLE) if index.isValid() else None
        return next((one for one in self.all() if one.id == name), under_cursor) if name else under_cursor

    def put(self, row: int) -> None:
        """Select only this row and move the cursor there, without opening it."""
        index = self._model.index(row)
        self._model.kept.clear()
        with self.quietly():
            self._view.selectionModel().setCurrentIndex(index, _Flag.ClearAndSelect)
        self.cursor = index.data(SUMMARY_ROLE)

    def keep_one(self, summary: Summary | None) -> None:
        """Select only this request, loaded or not, or none, without opening it."""
        row = self._model.row_of(summary.id) if summary is not None else None
        if row is not None:
            self.put(row)
            return
        self._model.kept.clear()
        with self.quietly():
            self._view.clearSelection()
            if summary is not None:
                self._view.selectionModel().clearCurrentIndex()
        if summary is not None:
            self.cursor = self._model.kept[summary.id] = summary

    def restore(self, requests: Sequence[Summary], cursor: Summary | None) -> None:
        """Select exactly these, loaded or not, without opening any."""
        model = self._model
        model.kept.clear()
        with self.quietly():
            self._view.clearSelection()
            self._view.selectionModel().clearCurrentIndex()
        model.kept.update({one.id: one for one in requests if model.row_of(one.id) is None})
        self.add([row for one in requests if (row := model.row_of(one.id)) is not None])
        self.cursor = cursor
        self._restore_cursor()

    def add(self, rows: Iterable[int]) -> None:
        """Add these rows to the selection without opening any."""
        selected = QItemSelection()
        for row in rows:
            selected.select(self._model.index(row), self._model.index(row))
            self._model.kept.pop(self._model.summary(row).id, None)
        if selected.count():
            with self.quietly():
                self._view.selectionModel().select(selected, _Flag.Select)

    def select_next(self, deleted: Callable[[Summary], bool]) -> None:
        """The user is deleting these: the row that follows is selected, not opened. Call before the rows are removed or
        hidden. Other selected rows stay selected.
        """
        selected, model = self.all(), self._model
        place = self.cursor or next(filter(deleted, selected), None)
        if place is None or not (deleted(place) or any(map(deleted, selected))):
            return
        row, count = model.row_from(place.id), model.rowCount()
        if model.row_of(place.id) is None and row == count and not model.at_tail:
            return  # further down than what is loaded: keys go on from there
        below = (at for at in range(row, count) if not deleted(model.summary(at)))
        above = (at for at in range(min(row, count) - 1, -1, -1) if not deleted(model.summary(at)))
        following = next(below, next(above, None))
        if following is None:
            self.keep_one(None)
            self.cursor, self._takes_first = None, not model.at_tail
        elif all(map(deleted, selected)):
            self.put(following)
            self._view.scrollTo(model.index(following))
        else:
            with self.quietly():
                self._view.selectionModel().setCurrentIndex(model.index(following), _Flag.NoUpdate)
            self.cursor = model.summary(following)

    @Slot()
    def begin_list(self) -> None:
        """Another list, filter or time: rows that leave are deselected."""
        self._relisted, self._takes_first = True, False
        self.cursor = None
        self._model.kept.clear()

    @Slot()
    def keep_open(self) -> None:
        """Select the open request if nothing is selected and the list contains it."""
        name = self.open_id()
        row = self._model.row_of(name) if name is not None else None
        if row is not None and not self.count():
            self.put(row)

    @Slot(QModelIndex, int, int)
    def _before_insertion(self, parent: QModelIndex, first: int, last: int) -> None:
        # Qt emits selectionChanged now, when it settles what the last Shift+arrow selected
        self._quiet += 1

    @Slot(QModelIndex, int, int)
    def _before_removal(self, parent: QModelIndex, first: int, last: int) -> None:
        self._quiet += 1
        self._keep(first, last)
        if first <= self._view.currentIndex().row() <= last:
            self._view.selectionModel().clearCurrentIndex()

    @Slot()
    def _rows_removed(self) -> None:
        self._quiet -= 1

    @Slot()
    def _before_reset(self) -> None:
        self._keep(0, self._model.rowCount() - 1)
        self._relisted = False

    @Slot(QModelIndex, int, int)
    def _rows_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        self._quiet -= 1
        kept, model = self._model.kept, self._model
        if kept:
            self.add([row for row in range(first, last + 1) if model.summary(row).id in kept])
        if self.cursor is None:
            self.keep_open()
        elif not self._view.currentIndex().isValid():
            self._restore_cursor()

    @Slot()
    def _model_reset(self) -> None:
        kept, model = self._model.kept, self._model
        if len(kept) < model.rowCount():
            self.add([row for name in tuple(kept) if (row := model.row_of(name)) is not None])
        elif kept:
            self.add([row for row in range(model.rowCount()) if model.summary(row).id in kept])
        self._restore_cursor()
        if self._takes_first and model.rowCount():
            self._takes_first = False
            if self.cursor is None and not self.count():
                self.put(0)

    def _restore_cursor(self) -> None:
        row = self._model.row_of(self.cursor.id) if self.cursor is not None else None
        if row is not None:
            with self.quietly():
                self._view.selectionModel().setCurrentIndex(self._model.index(row), _Flag.NoUpdate)

    def _keep(self, first: int, last: int) -> None:
        """Selected rows from `first` to `last` are about to be removed."""
        if self._relisted:
            return
        kept = self._model.kept
        for top, bottom in self._ends():
            for row in range(max(first, top), min(last, bottom) + 1):
                if len(kept) < KEPT_MAX:
                    summary = self._model.summary(row)
                    kept[summary.id] = summary

    def _ends(self) -> list[tuple[int, int]]:
        """First and last row of each selected range, from the top."""
        ranges = self._view.selectionModel().selection()
        return sorted((ranges.at(n).top(), ranges.at(n).bottom()) for n in range(ranges.count()))
