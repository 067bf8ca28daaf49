"""Every command the window offers: palette and shortcuts dialog are made of it, so neither names one too many."""

from __future__ import annotations

from collections.abc import Iterable

from app.ui.commands.command import Command, CommandGroup


class CommandRegistry:
    def __init__(self) -> None:
        self._commands: list[Command] = []

    def add(self, *commands: Command) -> None:
        """Offer these; those of a group stay in the order they came."""
        self._commands.extend(commands)

    def all(self) -> Iterable[Command]:
        """In the order of their groups."""
        return (command for group in CommandGroup for command in self._commands if command.group is group)

    def refresh(self) -> None:
        """Ask every command whether it can be run now."""
        for command in self._commands:
            command.refresh()
