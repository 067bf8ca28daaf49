"""The list of tunnel programs: those that are ready to use first, each with what it is good for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListWidget,
    QListWidgetItem,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.core.tunnel.program import FoundProgram
from app.core.tunnel.tunnel import Tunnel
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import RUNNING, is_usable, mark_of, shown
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.row_background import paint_row_background

HEIGHT, HEADING_HEIGHT = 52, 32
_ROW = Qt.ItemDataRole.UserRole
READY, NOT_INSTALLED = "READY TO USE", "NOT INSTALLED"


@dataclass(frozen=True)
class ProgramRow:
    """A program; without one, a heading. `mark` is the tunnel's icon and colour if it runs this program."""

    title: str
    found: FoundProgram | None = None
    mark: tuple[str, str] | None = None

    def sentence(self) -> str:
        """For screen readers."""
        if self.found is None:
            return self.title.capitalize()
        state = "running" if self.mark else "ready to use" if is_usable(self.found) else "not installed"
        return f"{self.title}, {state}. {self.found.program.summary}"


class ProgramDelegate(QStyledItemDelegate):
    """Paints a `ProgramRow`."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        row: ProgramRow = index.data(_ROW)
        return QSize(120, HEADING_HEIGHT if row.found is None else HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        row: ProgramRow = index.data(_ROW)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if row.found is None:
            self._paint_heading(painter, QRect(option.rect), row.title)
        else:
            paint_row_background(painter, option, self._theme.tokens)
            self._paint_program(painter, QRect(option.rect), row, row.found)
        painter.restore()

    def _paint_heading(self, painter: QPainter, room: QRect, text: str) -> None:
        font = ui_font(11, QFont.Weight.DemiBold)
        font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.5)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.tokens.text_faint))
        left = metrics.SPACE_3
        painter.drawText(room.adjusted(left, 0, 0, -4), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, text)

    def _paint_program(self, painter: QPainter, room: QRect, row: ProgramRow, found: FoundProgram) -> None:
        tokens = self._theme.tokens
        words = room.adjusted(metrics.SPACE_3, 7, -metrics.SPACE_3, -7)
        if row.mark is not None:
            place = QRect(words.right() - 17, words.top() + 1, 18, 18)
            self._theme.icon(*row.mark).paint(painter, place)
        upper = QRect(words.left(), words.top(), words.width() - (26 if row.mark else 0), words.height() // 2)
        colour = tokens.text if is_usable(found) else tokens.text_muted
        _draw(painter, upper, row.title, colour, ui_font(BASE, QFont.Weight.DemiBold))
        lower = QRect(words.left(), upper.bottom() + 1, words.width(), upper.height())
        _draw(painter, lower, shown(found.program.summary), tokens.text_muted, ui_font(SMALL))


def _draw(painter: QPainter, room: QRect, text: str, colour: str, font: QFont) -> None:
    painter.setFont(font)
    painter.setPen(QColor(colour))
    text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, text)


class ProgramList(QListWidget):
    """`chosen` carries the ID of the selected program. One is selected as soon as there are any."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._found: Sequence[FoundProgram] = ()
        self._running: tuple[str | None, tuple[str, str] | None] = (None, None)
        self.setItemDelegate(ProgramDelegate(theme, self))
        self.setAccessibleName("Tunnel programs")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setMouseTracking(True)
        self.currentItemChanged.connect(self._current_changed)
        theme.changed.connect(self.viewport().update)

    def show_programs(self, found: Sequence[FoundProgram]) -> None:
        """Show these; the selected one stays selected."""
        self._found = found
        current = self.current_id()
        rows: list[ProgramRow] = []
        for heading, installed in ((READY, True), (NOT_INSTALLED, False)):
            of_kind = [one for one in found if is_usable(one) is installed]
            of_kind.sort(key=lambda one: not one.program.executables)  # the user's own command last
            if of_kind:
                rows += [ProgramRow(heading), *(ProgramRow(one.program.name, one) for one in of_kind)]
        blocked = self.blockSignals(True)
        self.clear()
        for row in rows:
            item = QListWidgetItem()
            if row.found is None:
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            self._show(item, row)
            self.addItem(item)
        self.blockSignals(blocked)
        self._mark_running()
        if current is None or not self.select(current):
            self._select_first()

    def show_tunnel(self, tunnel: Tunnel) -> None:
        """Mark the program that it runs."""
        running = (tunnel.program, mark_of(tunnel)) if tunnel.state in RUNNING else (None, None)
        if running != self._running:
            self._running = running
            self._mark_running()

    def current_id(self) -> str | None:
        """The selected program."""
        item = self.currentItem()
        row: ProgramRow | None = item.data(_ROW) if item is not None else None
        return row.found.program.id if row is not None and row.found is not None else None

    def select(self, program_id: str) -> bool:
        """Select a program; False if it is not in the list."""
        for place in range(self.count()):
            row: ProgramRow = self.item(place).data(_ROW)
            if row.found is not None and row.found.program.id == program_id:
                self.setCurrentRow(place)
                self.scrollToItem(self.item(place))
                return True
        return False

    def _select_first(self) -> None:
        """The first that can be started as it is, or else the first."""
        ready = (one for one in self._found if is_usable(one) and not any(o.required for o in one.program.options))
        first = next(ready, None)
        if first is not None:
            self.select(first.program.id)
        elif self._found:
            self.setCurrentRow(1)

    def _mark_running(self) -> None:
        program_id, mark = self._running
        for place in range(self.count()):
            item = self.item(place)
            row: ProgramRow = item.data(_ROW)
            if row.found is not None:
                own = mark if row.found.program.id == program_id else None
                self._show(item, ProgramRow(row.title, row.found, own))

    def _show(self, item: QListWidgetItem, row: ProgramRow) -> None:
        item.setData(_ROW, row)
        item.setData(Qt.ItemDataRole.AccessibleTextRole, row.sentence())
        item.setToolTip(plain_tooltip(shown(row.found.program.summary) if row.found is not None else ""))

    @Slot()
    def _current_changed(self) -> None:
        program_id = self.current_id()
        if program_id is not None:
            self.chosen.emit(program_id)
