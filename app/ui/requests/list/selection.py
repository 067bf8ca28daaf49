"""The selection of the list, by request id: rows are loaded and unloaded, the selection stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QObject, Slot
from PySide6.QtWidgets import QAbstractItemView

from app.core.model import Summary
from app.ui.requests.list.model import MAX_ROWS, SUMMARY_ROLE, RequestModel

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
        self.open_id: Callable[[], str | None] = _none
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


def _none() -> str | None:
    return None


def _id(summary: Summary) -> str:
    return summary.id
