"""Commands for the text size and wrapping of bodies, in every window."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.ui.commands.command import IN_WINDOW, Command, CommandGroup
from app.ui.theme.body_text import LARGEST, SMALLEST
from app.ui.theme.fonts import BASE
from app.ui.theme.theme import Theme


class BodyTextCommands(QObject):
    def __init__(self, theme: Theme, say: Callable[[str], object] | None, parent: QObject) -> None:
        super().__init__(parent)
        self._text = text = theme.body_text
        command = partial(Command, theme=theme, parent=self, group=CommandGroup.REQUEST, context=IN_WINDOW, say=say)
        larger, smaller = ("Ctrl++", "Ctrl+="), ("Ctrl+-",)
        self.commands = (
            command("Zoom in", run=text.zoom_in, icon="zoom-in", keys=larger, unavailable=self._largest),
            command("Zoom out", run=text.zoom_out, icon="zoom-out", keys=smaller, unavailable=self._smallest),
            command("Reset zoom", run=text.reset_zoom, icon="search", keys=("Ctrl+0",), unavailable=self._usual),
            command("Wrap long lines", run=text.toggle_wrap, icon="wrap", keys=("Alt+Z",)),
        )
        self.commands[-1].setCheckable(True)
        text.changed.connect(self._refresh)
        self._refresh()

    def add_to(self, window: QWidget) -> None:
        """Make their keys work in `window`."""
        for command in self.commands:
            command.add_to(window)

    @Slot()
    def _refresh(self) -> None:
        self.commands[-1].setChecked(self._text.wrap)
        for command in self.commands:
            command.refresh()

    def _largest(self) -> str | None:
        return "The text is already at its largest size." if self._text.size >= LARGEST else None

    def _smallest(self) -> str | None:
        return "The text is already at its smallest size." if self._text.size <= SMALLEST else None

    def _usual(self) -> str | None:
        return "The text is already at its normal size." if self._text.size == BASE else None
