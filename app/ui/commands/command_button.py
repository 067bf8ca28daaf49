"""Buttons that run a command and follow its state."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.ui.commands.command import Command
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton, Kind
from app.ui.widgets.labels import plain_tooltip


class ActionButton(IconButton):
    """Shows the icon of `command`, which must have one; text and key are in the tooltip."""

    def __init__(self, command: Command, theme: Theme, parent: QWidget) -> None:
        super().__init__(command.icon_name or "more", command.hint, theme, parent)
        self.command = command
        self.clicked.connect(command.trigger)
        command.changed.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        command = self.command
        self.setEnabled(command.isEnabled())
        self.set_name(command.hint)
        self.setAccessibleDescription(command.reason)
        if command.reason:
            self.setToolTip(plain_tooltip(f"{command.hint}\n{command.reason}"))
        if command.icon_name is not None and (command.icon_name, command.colour) != (self._icon_name, self._colour):
            self.set_icon_name(command.icon_name, command.colour)


class CommandButton(Button):
    """Has a text of its own; `tooltip` also names it to screen readers."""

    def __init__(
        self,
        text: str,
        command: Command,
        theme: Theme,
        parent: QWidget,
        *,
        kind: Kind = "secondary",
        icon: str | None = None,
        tooltip: str = "",
    ) -> None:
        super().__init__(text, theme, parent, kind=kind, icon=icon)
        self.command, self._tooltip = command, tooltip
        self.setAccessibleName(tooltip)
        self.clicked.connect(command.trigger)
        command.changed.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        self.setEnabled(self.command.isEnabled())
        self.setToolTip(plain_tooltip(self.command.reason or self._tooltip))
        self.setAccessibleDescription(self.command.reason)
