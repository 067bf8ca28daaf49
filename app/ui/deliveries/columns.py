"""How wide the columns of the deliveries are, and which of them a narrow page hides."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QHeaderView

from app.ui.deliveries.table import (
    ATTEMPTS,
    DETAIL,
    DURATION,
    ENDPOINT,
    METHOD,
    QUEUED,
    REQUEST,
    STATE,
    STATUS,
    TARGET,
    DeliveryModel,
    DeliveryTable,
)
from app.ui.theme import metrics

_WIDTHS = {
    STATE: 108,
    QUEUED: 96,
    ENDPOINT: 128,
    METHOD: 70,
    ATTEMPTS: 84,
    STATUS: 62,
    DURATION: 82,
}
_NEEDED = {ATTEMPTS: 1180, DURATION: 1040, TARGET: 920, METHOD: 780, ENDPOINT: 720, STATUS: 640}
"""Narrower pages hide a column: the request has it."""
_BESIDE_TABLE = 2 * metrics.SPACE_5 + 16
"""Pixels of the page beside the cells: margins, border and scroll bar, even while there is none."""
_FITTED = (REQUEST, TARGET)
_LEAST = 120
_MEASURED = 200
"""Rows, from the newest, that are measured."""
_BESIDE_TEXT = 26
"""Pixels beside a cell's text."""


class DeliveryColumns(QObject):
    """Requests and targets are as wide as their texts, if the details leave them the room. Those have what they need of
    it, from a third, because failures may come later, to a half.

    Call `measure` when a list is loaded, and `fit` when the page has another width: rows that arrive move no column.
    """

    def __init__(self, model: DeliveryModel, table: DeliveryTable) -> None:
        super().__init__(table)
        self._model, self._table = model, table
        self._texts = dict.fromkeys((*_FITTED, DETAIL), _LEAST)
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setMinimumSectionSize(48)
        for column in _FITTED:
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(DETAIL, QHeaderView.ResizeMode.Stretch)
        for column, width in _WIDTHS.items():
            table.setColumnWidth(column, width)
        self._room = 0

    def measure(self) -> None:
        """Fit the rows that are listed now."""
        model, fm = self._model, self._table.fontMetrics()
        rows = [model.record(row) for row in range(min(model.rowCount(), _MEASURED))]
        for column in self._texts:
            texts = {model.cell(one, column) for one in rows}
            widest = max((fm.horizontalAdvance(text[:200]) for text in texts), default=0)
            self._texts[column] = max(_LEAST, widest + _BESIDE_TEXT)
        self._share()

    def fit(self, page_width: int) -> None:
        """Hide columns that a page of this width has no room for, and share the room among the others."""
        self._room = page_width - _BESIDE_TABLE
        for column, width in _NEEDED.items():
            self._table.setColumnHidden(column, page_width < width)
        self._share()

    def _share(self) -> None:
        table = self._table
        fixed = sum(table.columnWidth(column) for column in _WIDTHS if not table.isColumnHidden(column))
        room = self._room - fixed
        left = room - min(max(self._texts[DETAIL], room // 3), room // 2)
        shown = sorted((one for one in _FITTED if not table.isColumnHidden(one)), key=self._texts.__getitem__)
        for place, column in enumerate(shown):  # What the narrower does not need, the other may have.
            width = min(self._texts[column], max(_LEAST, left // (len(shown) - place)))
            table.setColumnWidth(column, width)
            left -= width
