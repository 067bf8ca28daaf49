"""Commands for the text size and wrapping of bodies, in every window."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.ui.commands.command import IN_WINDOW, Command, CommandGroup
from app.ui.theme.body_text import LARGEST, SMALLEST
from app.ui.theme.fonts import BASE
from app.ui.theme.theme import Theme


class BodyTextCommands(QObject):
    def __init__(self, theme: Theme, say: Callable[[str], object], parent: QObject) -> None:
        super().__init__(parent)
        self._theme, self._say, self._text = theme, say, theme.body_text
        text = self._text
        self.commands = (
            self._command("Zoom in", "zoom-in", text.zoom_in, "Ctrl++", "Ctrl+=", unavailable=self._largest),
            self._command("Zoom out", "zoom-out", text.zoom_out, "Ctrl+-", unavailable=self._smallest),
            self._command("Reset zoom", "search", text.reset_zoom, "Ctrl+0", unavailable=self._usual),
            self._command("Wrap long lines", "wrap", text.toggle_wrap, "Alt+Z"),
        )
        for command in self.commands:
            text.changed.connect(command.refresh)
            command.refresh()

    def add_to(self, window: QWidget) -> None:
        """Make their keys work in `window`."""
        for command in self.commands:
            command.add_to(window)

    def _command(
        self,
        text: str,
        icon: str,
        run: Callable[[], object],
        *keys: str,
        unavailable: Callable[[], str | None] | None = None,
    ) -> Command:
        return Command(
            text,
            self._theme,
            self,
            run=run,
            icon=icon,
            keys=keys,
            group=CommandGroup.REQUEST,
            context=IN_WINDOW,
            unavailable=unavailable,
            say=self._say,
        )

    def _largest(self) -> str | None:
        return "The text is already at its largest size." if self._text.size >= LARGEST else None

    def _smallest(self) -> str | None:
        return "The text is already at its smallest size." if self._text.size <= SMALLEST else None

    def _usual(self) -> str | None:
        return "The text is already at its normal size." if self._text.size == BASE else None
