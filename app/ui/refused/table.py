"""The table of refused requests: a model that is handed rows, and a delegate that paints badges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from app.core.model import Endpoint, Refusal
from app.core.text import clock_time, exact_time
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import METHOD_SIZE, Tone, paint_method, paint_pill
from app.ui.widgets.labels import plain_tooltip

TIME, STATUS, METHOD, TARGET, ENDPOINT, REASON, SOURCE = range(7)
TITLES = ("Time", "Status", "Method", "Target", "Endpoint", "Reason", "Source")
NONE = "—"
RowIndex = QModelIndex | QPersistentModelIndex
_STATUS_SIZE = QSize(40, 18)
_REASON_MIN, _REASON_USUAL, _REASON_MAX = 202, 232, 400
"""Widths of the column. Most reasons fit the second."""
_TARGET_MIN = 180
_TEXT_MARGIN = 3
"""Pixels that Qt leaves beside a cell's text."""


class RefusedModel(QAbstractTableModel):
    """Newest first. `endpoint_of` finds the endpoint a request was for, as it is now."""

    def __init__(self, endpoint_of: Callable[[Refusal], Endpoint | None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._endpoint_of = endpoint_of
        self._rows: list[Refusal] = []

    def refusal(self, row: int) -> Refusal:
        """The refusal in a row."""
        return self._rows[row]

    def show_newest(self, rows: Sequence[Refusal]) -> None:
        """Show `rows`, newest first; those already shown keep their place, selection and scroll position."""
        fresh = _fresh(rows, self._rows)
        if fresh:
            self.beginInsertRows(QModelIndex(), 0, fresh - 1)
            self._rows[:0] = rows[:fresh]
            self.endInsertRows()
        if len(self._rows) > len(rows):
            self.beginRemoveRows(QModelIndex(), len(rows), len(self._rows) - 1)
            del self._rows[len(rows) :]
            self.endRemoveRows()

    def rowCount(self, parent: RowIndex = QModelIndex()) -> int:  # noqa: B008  Qt's own signature
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: RowIndex = QModelIndex()) -> int:  # noqa: B008  Qt's own signature
        return 0 if parent.isValid() else len(TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return TITLES[section]
        return None

    def data(self, index: RowIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The cell's text, or its tooltip."""
        refusal = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self.cell(refusal, index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            column = index.column()
            return plain_tooltip(exact_time(refusal.at) if column == TIME else self.cell(refusal, column)[:2000])
        return None

    def cell(self, refusal: Refusal, column: int) -> str:
        """A cell's text, on one line."""
        if column == ENDPOINT:
            endpoint = self._endpoint_of(refusal)
            return endpoint.name if endpoint is not None else ""
        texts = {
            TIME: clock_time(refusal.at),
            STATUS: str(refusal.status),
            METHOD: refusal.method or NONE,
            TARGET: refusal.target or NONE,
            REASON: refusal.reason,
            SOURCE: refusal.source_address,
        }
        return texts[column].replace("\n", " ")

    @Slot()
    def endpoints_changed(self) -> None:
        """Endpoints were renamed, created or deleted."""
        if self._rows:
            self.dataChanged.emit(self.index(0, ENDPOINT), self.index(len(self._rows) - 1, ENDPOINT))


class RefusedTable(QTableView):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._reason_width: int | None = None
        """As set here; the column has another width once the user dragged it."""

    def share_room(self) -> None:
        """Give target and reason half each of what the other columns leave; in a narrow table the target, which says
        enough with its middle left out, makes room for the reason.
        """
        if self._reason_width not in (None, self.columnWidth(REASON)):
            return
        others = sum(self.columnWidth(column) for column in range(len(TITLES)) if column not in (TARGET, REASON))
        rest = self.viewport().width() - others
        self._reason_width = max(_REASON_MIN, min(rest - _TARGET_MIN, _REASON_USUAL), min(rest // 2, _REASON_MAX))
        self.setColumnWidth(REASON, self._reason_width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A selected row in view stays there: the pane below takes room when it opens."""
        current = self.currentIndex()
        seen = current.isValid() and 0 <= self.visualRect(current).top() < event.oldSize().height()
        super().resizeEvent(event)
        self.share_room()
        if seen:
            self.scrollTo(current)


class RefusedDelegate(QStyledItemDelegate):
    """Paints status and method as badges; the style paints the other cells."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def initStyleOption(self, option: QStyleOptionViewItem, index: RowIndex) -> None:
        """Elide a long target in the middle."""
        super().initStyleOption(option, index)
        if index.column() == TARGET:
            option.textElideMode = Qt.TextElideMode.ElideMiddle

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: RowIndex) -> None:
        text = str(index.data() or "")
        if index.column() not in (STATUS, METHOD) or text == NONE:
            super().paint(painter, option, index)
            return
        cell_option = QStyleOptionViewItem(option)
        self.initStyleOption(cell_option, index)
        style = QApplication.style()
        place = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, cell_option, cell_option.widget)
        cell_option.text = ""
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, cell_option, painter, cell_option.widget)
        tokens = self._theme.tokens
        size = METHOD_SIZE if index.column() == METHOD else _STATUS_SIZE
        # The style's text rectangle leaves out the line below the row.
        top = place.top() + (place.height() - size.height()) // 2
        badge = QRectF(place.left() + _TEXT_MARGIN, top, size.width(), size.height())
        if index.column() == METHOD:
            paint_method(painter, badge, text, tokens)
        else:
            tone: Tone = "danger" if text.startswith("5") else "warning"
            paint_pill(painter, badge, text, tokens, tone)


def _fresh(rows: Sequence[Refusal], known: Sequence[Refusal]) -> int:
    """How many of `rows` come before the newest known one."""
    if not known:
        return len(rows)
    return next((place for place, row in enumerate(rows) if row is known[0]), len(rows))
