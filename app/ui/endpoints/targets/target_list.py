"""The list of an endpoint's targets: each with its state by shape, colour and words. One is always selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.core.bodies.escape import escape
from app.core.text import count_of
from app.ui.endpoints.targets.target_text import StateWords
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.row_background import paint_row_background

HEIGHT = 56
_ROW = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class TargetRow:
    """What a row shows. `wrong` says what prevents it from being saved."""

    url: str
    state: StateWords
    waiting: int | None = None
    changed: bool = False
    wrong: str = ""
    last_error: str = ""

    @property
    def title(self) -> str:
        return escape(self.url.removeprefix("http://").removeprefix("https://")) or "New target"

    @property
    def facts(self) -> str:
        """`On · 3 queued · not saved · Nothing is listening at localhost:3000 (connection refused).`"""
        waiting = f"{self.waiting:,} queued" if self.waiting else ""
        return " · ".join(filter(None, (self.state.text, waiting, "not saved" if self.changed else "", self._error)))

    @property
    def _error(self) -> str:
        return escape(self.last_error)

    def sentence(self, place: int, count: int) -> str:
        """For screen readers."""
        parts = (escape(self.url) or "New target", self.facts, self.wrong, f"{place} of {count_of(count, 'target')}")
        return ", ".join(filter(None, parts))


class TargetRowDelegate(QStyledItemDelegate):
    """Paints a `TargetRow`."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(120, HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        row: TargetRow = index.data(_ROW)
        tokens = self._theme.tokens
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = paint_row_background(painter, option, tokens)
        icon = StateWords("warning", "danger", "") if row.wrong else row.state
        place = QRect(room.left() + metrics.SPACE_3, room.center().y() - 9, 18, 18)
        self._theme.icon(icon.icon, icon.colour).paint(painter, place)
        words = room.adjusted(metrics.SPACE_3 + 18 + metrics.SPACE_3, 8, -metrics.SPACE_3, -8)
        upper = QRect(words.left(), words.top(), words.width(), words.height() // 2)
        title = tokens.text if row.state.icon != "off" else tokens.text_muted
        middle, right = Qt.TextElideMode.ElideMiddle, Qt.TextElideMode.ElideRight
        painter.setFont(ui_font(BASE, QFont.Weight.DemiBold))
        _draw(painter, upper, row.title, title, middle)
        colour = icon.colour if icon.colour != "success" else "text_muted"
        lower = upper.translated(0, upper.height())
        painter.setFont(ui_font(SMALL))
        _draw(painter, lower, row.wrong or row.facts, str(getattr(tokens, colour)), right)
        painter.restore()


def _draw(painter: QPainter, room: QRect, text: str, colour: str, elide: Qt.TextElideMode) -> None:
    painter.setPen(QColor(colour))
    text = painter.fontMetrics().elidedText(text, elide, room.width())
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, text)


class TargetList(QListWidget):
    """`chosen` carries the selected row. Rows are moved by dragging or with Alt+Up and Alt+Down: `move_requested`
    carries the row and its new place. Del emits `remove_requested`.
    """

    chosen = Signal(int)
    move_requested = Signal(int, int)
    remove_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setItemDelegate(TargetRowDelegate(theme, self))
        self.setAccessibleName("Targets")
        self.setAccessibleDescription("Alt+Up and Alt+Down move a target, Del removes it.")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setMouseTracking(True)
        self.currentRowChanged.connect(self._chosen)
        self.model().rowsMoved.connect(self._moved)
        theme.changed.connect(self.viewport().update)

    def show_rows(self, rows: Sequence[TargetRow], selected: int) -> None:
        """Show these; the same number of rows keeps the items."""
        blocked = self.blockSignals(True)
        while self.count() > len(rows):
            self.takeItem(self.count() - 1)
        while self.count() < len(rows):
            self.addItem(QListWidgetItem())
        for place, row in enumerate(rows):
            item = self.item(place)
            item.setData(_ROW, row)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, row.sentence(place + 1, len(rows)))
            item.setToolTip(plain_tooltip(row.wrong or "\n".join(filter(None, (row.url, row.last_error)))))
        self.setCurrentRow(selected)
        self.blockSignals(blocked)
        self.viewport().update()

    def row_at(self, place: int) -> TargetRow:
        row: TargetRow = self.item(place).data(_ROW)
        return row

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, place = event.key(), self.currentRow()
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        if event.modifiers() == Qt.KeyboardModifier.AltModifier and key in steps:
            to = place + steps[Qt.Key(key)]
            if place >= 0 and 0 <= to < self.count():
                self.move_requested.emit(place, to)
        elif key == Qt.Key.Key_Delete and place >= 0:
            self.remove_requested.emit()
        else:
            super().keyPressEvent(event)

    @Slot(int)
    def _chosen(self, place: int) -> None:
        if place >= 0:
            self.chosen.emit(place)

    @Slot(QModelIndex, int, int, QModelIndex, int)
    def _moved(self, _: QModelIndex, start: int, end: int, __: QModelIndex, before: int) -> None:
        self.move_requested.emit(start, before - 1 if before > start else before)


class TargetColumn(QWidget):
    """The list with its buttons; moves are requested as by the list."""

    move_requested = Signal(int, int)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.list = TargetList(theme, self)
        self.add = Button("Add target", theme, self, icon="add")
        self.duplicate = IconButton("copy", "Duplicate target", theme, self)
        self.up = IconButton("up", "Move target up (Alt+Up)", theme, self)
        self.down = IconButton("down", "Move target down (Alt+Down)", theme, self)
        self.remove = IconButton("delete", "Remove target (Del)", theme, self)
        tools = QHBoxLayout()
        tools.setSpacing(metrics.SPACE_1)
        tools.addWidget(self.add)
        tools.addStretch(1)
        for button in (self.duplicate, self.up, self.down, self.remove):
            tools.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(metrics.SPACE_3, metrics.SPACE_3, metrics.SPACE_3, metrics.SPACE_3)
        column.setSpacing(metrics.SPACE_2)
        column.addWidget(self.list, 1)
        column.addLayout(tools)
        self.list.move_requested.connect(self.move_requested)
        self.up.clicked.connect(self._move_up)
        self.down.clicked.connect(self._move_down)

    def show_rows(self, rows: Sequence[TargetRow], selected: int) -> None:
        """Show these, and which buttons can be pressed; `selected` is -1 for none."""
        self.list.show_rows(rows, selected)
        for button in (self.duplicate, self.remove):
            button.setEnabled(selected >= 0)
        self.up.setEnabled(selected > 0)
        self.down.setEnabled(0 <= selected < len(rows) - 1)

    @Slot()
    def _move_up(self) -> None:
        place = self.list.currentRow()
        self.move_requested.emit(place, place - 1)

    @Slot()
    def _move_down(self) -> None:
        place = self.list.currentRow()
        self.move_requested.emit(place, place + 1)
