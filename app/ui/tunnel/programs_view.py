"""The programs of the catalogue: the list, and the selected one beside it. What is typed for one is kept meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QRect, Qt, Signal, Slot
from PySide6.QtGui import QFont, QPainter, QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.errors import HooklineError
from app.core.tunnel.program import FoundProgram
from app.core.tunnel.tunnel import Tunnel
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.tunnel.area import TunnelActions
from app.ui.tunnel.program_pane import ProgramPane
from app.ui.tunnel.words import RUNNING, is_usable, mark_of, shown
from app.ui.widgets.card import line
from app.ui.widgets.layout import hbox, vbox
from app.ui.widgets.rows import Column, Index, Rows, RowsList, paint_line

LIST_WIDTHS = (240, 330)
WIDE = 900
"""Pixels from which the list is wider."""
HEIGHT, HEADING_HEIGHT = 52, 32
READY, NOT_INSTALLED = "READY TO USE", "NOT INSTALLED"


@dataclass(frozen=True)
class ProgramRow:
    """A program; without one, a heading."""

    title: str
    found: FoundProgram | None = None


def _height(row: ProgramRow) -> int:
    return HEADING_HEIGHT if row.found is None else HEIGHT


class ProgramRows(Rows[ProgramRow]):
    """`running` are the ID of the program that is the tunnel, and the icon and colour of the tunnel's state."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__([Column("", self._sentence, _tooltip, self._paint)], parent)
        self._theme = theme
        self._heading_font = ui_font(11, QFont.Weight.DemiBold)
        self._heading_font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.5)
        self.running: tuple[str | None, tuple[str, str] | None] = (None, None)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Headings are neither selected nor enabled."""
        is_heading = not index.isValid() or self.record(index.row()).found is None
        return Qt.ItemFlag.NoItemFlags if is_heading else super().flags(index)

    def row_of(self, program_id: str) -> int | None:
        ids = (row.found.program.id if row.found is not None else None for row in self._rows)
        return next((at for at, known in enumerate(ids) if known == program_id), None)

    def _mark(self, found: FoundProgram) -> tuple[str, str] | None:
        return self.running[1] if found.program.id == self.running[0] else None

    def _sentence(self, row: ProgramRow) -> str:
        """For screen readers."""
        if row.found is None:
            return row.title.capitalize()
        usable = "ready to use" if is_usable(row.found) else "not installed"
        return f"{row.title}, {'running' if self._mark(row.found) else usable}. {row.found.program.summary}"

    def _paint(self, painter: QPainter, place: QRect, row: ProgramRow) -> None:
        tokens, found = self._theme.tokens, row.found
        if found is None:
            words, bottom = place.adjusted(metrics.SPACE_3, 0, 0, -4), Qt.AlignmentFlag.AlignBottom
            paint_line(painter, words, row.title, self._heading_font, tokens.text_faint, align=bottom)
            return
        words, mark = place.adjusted(metrics.SPACE_3, 7, -metrics.SPACE_3, -7), self._mark(found)
        if mark is not None:
            self._theme.icon(*mark).paint(painter, QRect(words.right() - 17, words.top() + 1, 18, 18))
        upper = QRect(words.left(), words.top(), words.width() - (26 if mark else 0), words.height() // 2)
        colour = tokens.text if is_usable(found) else tokens.text_muted
        paint_line(painter, upper, row.title, ui_font(BASE, QFont.Weight.DemiBold), colour)
        lower = QRect(words.left(), upper.bottom() + 1, words.width(), upper.height())
        paint_line(painter, lower, shown(found.program.summary), ui_font(SMALL), tokens.text_muted)


def _tooltip(row: ProgramRow) -> str:
    return shown(row.found.program.summary) if row.found is not None else ""


class ProgramList(RowsList[ProgramRow]):
    """`chosen` carries the ID of the selected program. One is selected as soon as there are any."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self.rows = ProgramRows(theme, parent)
        super().__init__("Tunnel programs", self.rows, _height, theme, parent, rounded=True)
        self.selectionModel().currentChanged.connect(self._current_changed)

    def show_programs(self, found: Sequence[FoundProgram]) -> None:
        """Show these; the selected one stays selected."""
        current = self.current_id()
        rows: list[ProgramRow] = []
        for heading, installed in ((READY, True), (NOT_INSTALLED, False)):
            of_kind = [one for one in found if is_usable(one) is installed]
            of_kind.sort(key=lambda one: not one.program.executables)  # the user's own command last
            if of_kind:
                rows += [ProgramRow(heading), *(ProgramRow(one.program.name, one) for one in of_kind)]
        self.rows.set_records(rows)
        if (current is None or not self.select(current)) and found:
            # The first that can be started as it is, or else the first.
            ready = (one for one in found if is_usable(one) and not any(o.required for o in one.program.options))
            first = next(ready, None)
            if first is None or not self.select(first.program.id):
                self.select_row(1)

    def show_tunnel(self, tunnel: Tunnel) -> None:
        """Mark the program that it runs."""
        running = (tunnel.program, mark_of(tunnel)) if tunnel.state in RUNNING else (None, None)
        if running != self.rows.running:
            self.rows.running = running
            self.rows.refresh_cells()

    def current_id(self) -> str | None:
        """The selected program."""
        row = self.current_record()
        return row.found.program.id if row is not None and row.found is not None else None

    def select(self, program_id: str) -> bool:
        """Select a program; False if it is not in the list."""
        row = self.rows.row_of(program_id)
        if row is not None:
            self.select_row(row)
            self.scrollTo(self.currentIndex())
        return row is not None

    @Slot()
    def _current_changed(self) -> None:
        program_id = self.current_id()
        if program_id is not None:
            self.chosen.emit(program_id)


class ProgramsView(QWidget):
    """`search_requested`: look for the programs again."""

    search_requested = Signal()

    def __init__(self, actions: TunnelActions, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions, self._theme = actions, theme
        self._tunnel = Tunnel()
        self._refused: tuple[str, HooklineError] | None = None
        """Waits until the programs are known."""
        self.list = ProgramList(theme, self)
        self.list.setFixedWidth(LIST_WIDTHS[0])
        self.panes: dict[str, ProgramPane] = {}
        self._stack = QStackedWidget(self)
        left = vbox(self.list, margins=(metrics.SPACE_2, 0, metrics.SPACE_1, 0))
        hbox(left, line(self, vertical=True), (self._stack, 1), inside=self, spacing=0)
        self.list.chosen.connect(self._choose)
        actions.refused.connect(self.show_error)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.list.setFixedWidth(LIST_WIDTHS[self.width() >= WIDE])

    def show_programs(self, found: Sequence[FoundProgram], saved: str | None = None) -> None:
        """Show these; the options of the program `saved` have just been saved."""
        for one in found:
            pane = self.panes.get(one.program.id)
            if pane is not None:
                pane.show_found(one, reload=one.program.id == saved)
            else:
                self.panes[one.program.id] = self._new_pane(one)
        first = not self.list.rows.rowCount()
        self.list.show_programs(found)
        preferred = self._actions.program_id()
        if first and preferred is not None:
            self.list.select(preferred)
        if self._refused is not None:
            self.show_error(*self._refused)
        self._follow()

    def show_tunnel(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel
        self.list.show_tunnel(tunnel)
        self._follow()

    @property
    def first(self) -> QWidget:
        """What the user does first: fill in what the selected program needs, or start it; without it choose another."""
        pane = self.panes.get(self.list.current_id() or "")
        if pane is None or not is_usable(pane.found):
            return self.list
        missing = pane.form.missing()
        return pane.form.fields[missing[0].field].control if missing else pane.start

    @Slot(str, object)
    def show_error(self, program_id: str, error: HooklineError) -> None:
        """Select a program and say why it was not saved or started."""
        pane = self.panes.get(program_id)
        self._refused = (program_id, error) if pane is None else None
        if pane is not None:
            self.list.select(program_id)
            pane.show_error(error)

    def _new_pane(self, found: FoundProgram) -> ProgramPane:
        pane = ProgramPane(found, self._actions, self._theme, self._stack)
        pane.search.clicked.connect(self.search_requested)
        self._stack.addWidget(pane)
        return pane

    @Slot(str)
    def _choose(self, program_id: str) -> None:
        if program_id in self.panes:
            self._stack.setCurrentWidget(self.panes[program_id])

    @Slot()
    def _follow(self) -> None:
        for pane in self.panes.values():
            pane.show_tunnel(self._tunnel)
