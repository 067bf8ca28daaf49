"""The list of compared requests: a model that is handed them, and a delegate that paints two lines for each."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
)
from PySide6.QtGui import QColor, QFontMetrics, QHideEvent, QPainter, QShowEvent
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.comparison.compared_request import ComparedRequest, ComparisonResult
from app.core.text import ago_text, exact_time
from app.ui.request.title import title_of
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import METHOD_SIZE, Tone, paint_method, paint_pill
from app.ui.widgets.labels import plain_tooltip

ROW = 52
TICK_MS = 1_000
MARGIN, MARK_WIDTH, TIME_WIDTH = 12, 24, 44
COMPARED, TITLE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()

MARKS: dict[ComparisonResult, tuple[str, Tone, str]] = {
    ComparisonResult.DIFFERENT: ("≠", "danger", "Different"),
    ComparisonResult.SAME: ("=", "success", "Same"),
    ComparisonResult.NO_RESPONSE: ("?", "neutral", "Not comparable"),
}
"""The mark of a result, its tone, and it in words."""


def what_differs(compared: ComparedRequest) -> str:
    """The first difference in words, and how many more there are."""
    if compared.result is ComparisonResult.NO_RESPONSE:
        return "Neither target responded"
    differences = compared.comparison.differences
    if not differences:
        return "Same response" if not compared.comparison.notes else f"Same, but: {compared.comparison.notes[0]}"
    more = len(differences) - 1
    rest = f" · {more:,}{'+' if compared.comparison.more else ''} more" if more else ""
    return differences[0].text + rest


class ComparedModel(QAbstractListModel):
    """Newest first. `only_different` hides the others; one that stops to differ while it is listed stays."""

    def __init__(self, providers: Mapping[str, str], parent: QObject) -> None:
        super().__init__(parent)
        self._providers = providers
        self._all: dict[str, ComparedRequest] = {}
        self._rows: list[ComparedRequest] = []
        self._counts: Counter[ComparisonResult] = Counter()
        self.only_different = True

    def counts(self) -> Counter[ComparisonResult]:
        return self._counts

    def clear(self) -> None:
        self.beginResetModel()
        self._all, self._rows, self._counts = {}, [], Counter()
        self.endResetModel()

    def show_only_different(self, only: bool) -> None:
        self.beginResetModel()
        self.only_different = only
        self._rows = sorted((one for one in self._all.values() if self._listed(one)), key=_key)
        self.endResetModel()

    def add(self, found: Sequence[ComparedRequest]) -> None:
        """Add these, or replace those that are known."""
        for one in found:
            known = self._all.get(one.request.id)
            if known is not None:
                self._counts[known.result] -= 1
            self._counts[one.result] += 1
            self._all[one.request.id] = one
            row = bisect_left(self._rows, _key(one), key=_key)
            if row < len(self._rows) and self._rows[row].request.id == one.request.id:
                self._rows[row] = one
                self.dataChanged.emit(self.index(row), self.index(row))
            elif self._listed(one):
                self.beginInsertRows(_NO_INDEX, row, row)
                self._rows.insert(row, one)
                self.endInsertRows()

    def compared(self, row: int) -> ComparedRequest:
        return self._rows[row]

    def row_of(self, capture_id: str) -> int | None:
        return next((row for row, one in enumerate(self._rows) if one.request.id == capture_id), None)

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The row in words, `ComparedRequest` or the tooltip."""
        if not index.isValid():
            return None
        one = self._rows[index.row()]
        if role == COMPARED:
            return one
        if role == TITLE:
            return title_of(one.request, self._providers).main
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            request = one.request
            title = title_of(request, self._providers).main
            return f"{MARKS[one.result][2]}: {request.method} {title}. {what_differs(one)}"
        if role == Qt.ItemDataRole.ToolTipRole:
            texts = [each.text for each in one.comparison.differences[:12]] or [what_differs(one)]
            lines = [escape(one.request.target[:600]), exact_time(one.request.received_at), *texts]
            return plain_tooltip("\n".join(lines))
        return None

    def _listed(self, one: ComparedRequest) -> bool:
        return not self.only_different or one.result is ComparisonResult.DIFFERENT


def _key(one: ComparedRequest) -> tuple[int, str]:
    """Ascending from the newest on: ids of the same time in reverse."""
    inverted = "".join(chr(0x10FFFF - ord(char)) for char in one.request.id)
    return -one.request.received_at, inverted


class ComparedDelegate(QStyledItemDelegate):
    """Mark, method, target and age; below them what differs."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """The same height for all rows."""
        return QSize(200, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one: ComparedRequest = index.data(COMPARED)
        tokens, rect = self._theme.tokens, option.rect
        painter.save()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        ground = tokens.selection if selected else tokens.hover if hovered else tokens.surface
        painter.fillRect(rect, QColor(ground))
        if selected and option.state & QStyle.StateFlag.State_HasFocus:
            painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height()), QColor(tokens.accent))
        painter.setPen(QColor(tokens.border))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        mark, tone, _ = MARKS[one.result]
        top = QRect(rect.left(), rect.top() + 5, rect.width(), 22)
        paint_pill(painter, QRectF(top.left() + MARGIN, top.top() + 2, MARK_WIDTH, 18), mark, tokens, tone)
        left = top.left() + MARGIN + MARK_WIDTH + 8
        badge = QRectF(left, top.top() + (top.height() - METHOD_SIZE.height()) / 2, *METHOD_SIZE.toTuple())
        paint_method(painter, badge, escape(one.request.method[:20]), tokens, ground)
        age = QRect(top.right() - MARGIN - TIME_WIDTH, top.top(), TIME_WIDTH, top.height())
        self._text(painter, age, ago_text(one.request.received_at, now_us()), tokens.text_muted, SMALL, right=True)
        title = QRect(top)
        title.setLeft(round(badge.right()) + 8)
        title.setRight(age.left() - 4)
        self._text(painter, title, index.data(TITLE), tokens.text, None)
        below = QRect(left, top.bottom() + 1, rect.right() - MARGIN - left, 18)
        colour = tokens.text if one.result is ComparisonResult.DIFFERENT else tokens.text_muted
        self._text(painter, below, what_differs(one), colour, SMALL)
        painter.restore()

    def _text(
        self, painter: QPainter, rect: QRect, text: str, colour: str, size: int | None, *, right: bool = False
    ) -> None:
        font = ui_font(size) if size is not None else ui_font()
        mode = Qt.TextElideMode.ElideRight if size is not None else Qt.TextElideMode.ElideMiddle
        painter.setFont(font)
        painter.setPen(QColor(colour))
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        flags = side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        painter.drawText(rect, flags, QFontMetrics(font).elidedText(text, mode, rect.width()))


class ComparedList(QListView):
    """The list itself."""

    def __init__(self, model: ComparedModel, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setModel(model)
        self.setItemDelegate(ComparedDelegate(theme, self))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Compared requests")
        self.setFrameShape(QListView.Shape.NoFrame)
        self._clock = QTimer(self)
        self._clock.setInterval(TICK_MS)
        self._clock.timeout.connect(self.viewport().update)

    def showEvent(self, event: QShowEvent) -> None:
        """The ages go on while it is shown."""
        super().showEvent(event)
        self._clock.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._clock.stop()
