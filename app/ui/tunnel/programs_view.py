"""The programs of the catalogue: the list, and the selected one beside it. What is typed for one is kept meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.core.errors import HooklineError
from app.core.tunnel.program import FoundProgram
from app.core.tunnel.tunnel import Tunnel
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.tunnel.actions import TunnelActions
from app.ui.tunnel.program_list import ProgramList
from app.ui.tunnel.program_pane import ProgramPane
from app.ui.widgets.card import line

LIST_WIDTHS = (240, 330)
WIDE = 900
"""Pixels from which the list is wider."""


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
        left = QVBoxLayout()
        left.setContentsMargins(metrics.SPACE_2, 0, metrics.SPACE_1, 0)
        left.addWidget(self.list)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addLayout(left)
        row.addWidget(line(self, vertical=True))
        row.addWidget(self._stack, 1)
        self.list.chosen.connect(self._choose)
        actions.changed.connect(self._follow)
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

    @Slot(str, object)
    def show_error(self, program_id: str, error: HooklineError) -> None:
        """Select a program and say why it was not saved or started."""
        pane = self.panes.get(program_id)
        self._refused = (program_id, error) if pane is None else None
        if pane is not None:
            self.list.select(program_id)
            pane.show_error(error)

    def _new_pane(self, found: FoundProgram) -> ProgramPane:
        pane = ProgramPane(found, self._theme, self._stack)
        pane.start_requested.connect(self._start)
        pane.save_requested.connect(self._save)
        pane.search_requested.connect(self.search_requested)
        self._stack.addWidget(pane)
        return pane

    @Slot(str)
    def _choose(self, program_id: str) -> None:
        if program_id in self.panes:
            self._stack.setCurrentWidget(self.panes[program_id])

    @Slot(object)
    def _start(self, pane: ProgramPane) -> None:
        self._actions.start_program(pane.found.program.id, pane.form.values())

    @Slot(object)
    def _save(self, pane: ProgramPane) -> None:
        self._actions.save(pane.found.program.id, pane.form.values())

    @Slot()
    def _follow(self) -> None:
        for pane in self.panes.values():
            pane.show_tunnel(self._tunnel)
