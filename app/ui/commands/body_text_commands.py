"""Commands for the text of bodies in every window: its size and wrapping, and the keys that fold it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot

from app.ui.commands.command import IN_WINDOW, CommandGroup, Commands
from app.ui.theme.fonts import BASE
from app.ui.theme.theme import LARGEST, SMALLEST, Theme

FOLD, UNFOLD = "Ctrl+Shift+[", "Ctrl+Shift+]"
FOLD_ALL, UNFOLD_ALL = "Ctrl+Alt+[", "Ctrl+Alt+]"


class BodyTextCommands(Commands):
    group = CommandGroup.REQUEST
    context = IN_WINDOW

    def __init__(self, theme: Theme, say: Callable[[str], object] | None, parent: QObject) -> None:
        super().__init__(theme, say, parent)
        self._text = text = theme.body_text
        self.command("Zoom in", "zoom-in", text.zoom_in, self._largest, "Ctrl++", "Ctrl+=")
        self.command("Zoom out", "zoom-out", text.zoom_out, self._smallest, "Ctrl+-")
        self.command("Reset zoom", "search", text.reset_zoom, self._usual, "Ctrl+0")
        self.wrap = self.command("Wrap long lines", "wrap", text.toggle_wrap, None, "Alt+Z")
        self.wrap.setCheckable(True)
        text.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        self.wrap.setChecked(self._text.wrap)
        super().refresh()

    def _largest(self) -> str | None:
        return "The text is already at its largest size." if self._text.size >= LARGEST else None

    def _smallest(self) -> str | None:
        return "The text is already at its smallest size." if self._text.size <= SMALLEST else None

    def _usual(self) -> str | None:
        return "The text is already at its normal size." if self._text.size == BASE else None
