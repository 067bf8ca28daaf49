"""The list of an endpoint's targets: each with its state by shape, colour and words. One is always selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QObject, QRect, Qt, Signal, Slot
from PySide6.QtGui import QFont, QKeyEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QWidget

from app.core.bodies.escape import escape
from app.core.text import count_of
from app.ui.state_look import Look
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.layout import Stretch, hbox, vbox
from app.ui.widgets.rows import Column, Index, Rows, RowsList, paint_line

HEIGHT = 56
Numbered = tuple[int, "TargetRow"]


@dataclass(frozen=True)
class TargetRow:
    """What a row shows. `wrong` says what prevents it from being saved."""

    url: str
    state: Look
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
        return " · ".join(filter(None, (self.state.words, waiting, "not saved" if self.changed else "", self._error)))

    @property
    def _error(self) -> str:
        return escape(self.last_error)

    def sentence(self, place: int, count: int) -> str:
        """For screen readers."""
        parts = (escape(self.url) or "New target", self.facts, self.wrong, f"{place} of {count_of(count, 'target')}")
        return ", ".join(filter(None, parts))


class TargetRows(Rows[Numbered]):
    """Rows with their places, from 0. `move_requested` carries a row that was dropped and its new place."""

    move_requested = Signal(int, int)

    def __init__(self, theme: Theme, parent: QObject) -> None:
        column = Column[Numbered]("", lambda one: one[1].sentence(one[0] + 1, len(self._rows)), _tooltip, self._paint)
        super().__init__([column], parent)
        self._theme = theme

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Dropped between rows, not on them."""
        drag, drop = Qt.ItemFlag.ItemIsDragEnabled, Qt.ItemFlag.ItemIsDropEnabled
        return super().flags(index) | drag if index.isValid() else drop

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def moveRows(self, _: Index, row: int, count: int, __: Index, before: int) -> bool:
        """Called by the view after a drop."""
        self.move_requested.emit(row, before - 1 if before > row else before)
        return True

    def _paint(self, painter: QPainter, place: QRect, record: Numbered) -> None:
        row, tokens = record[1], self._theme.tokens
        icon = Look("", "warning", "danger") if row.wrong else row.state
        at = QRect(place.left() + metrics.SPACE_3, place.center().y() - 9, 18, 18)
        self._theme.icon(icon.icon, icon.colour).paint(painter, at)
        words = place.adjusted(metrics.SPACE_3 + 18 + metrics.SPACE_3, 9, -metrics.SPACE_3, -9)
        upper = QRect(words.left(), words.top(), words.width(), words.height() // 2)
        title = tokens.text if row.state.icon != "off" else tokens.text_muted
        strong = ui_font(BASE, QFont.Weight.DemiBold)
        paint_line(painter, upper, row.title, strong, title, elide=Qt.TextElideMode.ElideMiddle)
        colour = getattr(tokens, icon.colour if icon.colour != "success" else "text_muted")
        lower = upper.translated(0, upper.height())
        paint_line(painter, lower, row.wrong or row.facts, ui_font(SMALL), colour)


def _tooltip(record: Numbered) -> str:
    row = record[1]
    return row.wrong or "\n".join(filter(None, (row.url, row.last_error)))


class TargetList(RowsList[Numbered]):
    """`chosen` carries the selected row. Rows are moved by dragging or with Alt+Up and Alt+Down: `move_requested`
    carries the row and its new place. Del emits `remove_requested`.
    """

    chosen = Signal(int)
    move_requested = Signal(int, int)
    remove_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self.rows = TargetRows(theme, parent)
        super().__init__("Targets", self.rows, HEIGHT, theme, parent, rounded=True)
        self.setAccessibleDescription("Alt+Up and Alt+Down move a target, Del removes it.")
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.selectionModel().currentChanged.connect(self._chosen)
        self.rows.move_requested.connect(self.move_requested)

    def show_rows(self, rows: Sequence[TargetRow], selected: int) -> None:
        blocked = self.blockSignals(True)
        self.rows.show_records(list(enumerate(rows)), lambda one: one[0])
        self.select_row(selected)
        self.blockSignals(blocked)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, place = event.key(), self.current_row()
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        if event.modifiers() == Qt.KeyboardModifier.AltModifier and key in steps:
            to = place + steps[Qt.Key(key)]
            if place >= 0 and 0 <= to < self.rows.rowCount():
                self.move_requested.emit(place, to)
        elif key == Qt.Key.Key_Delete and place >= 0:
            self.remove_requested.emit()
        else:
            super().keyPressEvent(event)

    @Slot(QModelIndex)
    def _chosen(self, current: QModelIndex) -> None:
        if current.isValid():
            self.chosen.emit(current.row())


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
        tools = hbox(self.add, Stretch(), self.duplicate, self.up, self.down, self.remove, spacing=metrics.SPACE_1)
        vbox((self.list, 1), tools, inside=self, spacing=metrics.SPACE_2, margins=metrics.SPACE_3)
        self.list.move_requested.connect(self.move_requested)
        self.up.clicked.connect(self._move_up)
        self.down.clicked.connect(self._move_down)

    def only_list(self) -> None:
        """Offer no changes."""
        for button in (self.add, self.duplicate, self.up, self.down, self.remove):
            button.hide()

    def show_rows(self, rows: Sequence[TargetRow], selected: int) -> None:
        """Show these, and which buttons can be pressed; `selected` is -1 for none."""
        self.list.show_rows(rows, selected)
        for button in (self.duplicate, self.remove):
            button.setEnabled(selected >= 0)
        self.up.setEnabled(selected > 0)
        self.down.setEnabled(0 <= selected < len(rows) - 1)

    @Slot()
    def _move_up(self) -> None:
        place = self.list.current_row()
        self.move_requested.emit(place, place - 1)

    @Slot()
    def _move_down(self) -> None:
        place = self.list.current_row()
        self.move_requested.emit(place, place + 1)
