"""A button for a command: it shows the command's label, icon, shortcut and state."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.ui.commands.command import Command
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import IconButton


class ActionButton(IconButton):
    """Follows `command`, which must have an icon."""

    def __init__(self, command: Command, theme: Theme, parent: QWidget) -> None:
        super().__init__(command.icon_name or "more", command.told(), theme, parent)
        self.command = command
        self.clicked.connect(command.trigger)
        command.changed.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        command = self.command
        self.setEnabled(command.isEnabled())
        self.set_name(command.told())
        if command.icon_name is not None and (command.icon_name, command.colour) != (self._icon_name, self._colour):
            self.set_icon_name(command.icon_name, command.colour)
