"""Every command the window offers, in groups: palette and cheat sheet are made of it, so neither names one too many."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence


class CommandGroup(StrEnum):
    """The headings commands stand under, in the order they are shown."""

    REQUEST = "Request"
    LIST = "List"
    ENDPOINT = "Endpoint"
    GO_TO = "Go to"
    PROGRAM = "Program"


class CommandRegistry:
    """Actions as they were added. An action's text names it, its shortcuts are its keys; disabled it is not offered."""

    def __init__(self) -> None:
        self._held: dict[CommandGroup, list[QAction]] = {group: [] for group in CommandGroup}

    def add(self, group: CommandGroup, *actions: QAction) -> None:
        """Offer these; those of a group stay in the order they came."""
        self._held[group].extend(actions)

    def all(self) -> Iterable[tuple[CommandGroup, QAction]]:
        """Each action with its group, groups in their order."""
        return ((group, action) for group, actions in self._held.items() for action in actions)


def command(text: str, icon: str, slot: Callable[[], object], parent: QObject, *keys: str) -> QAction:
    """A command for the book. Its keys work once it is added to a widget; `icon` is a name of `theme.icons.NAMES`."""
    action = QAction(text, parent)
    action.setProperty("glyph", icon)
    action.setShortcuts([QKeySequence(key) for key in keys])
    action.triggered.connect(slot)
    return action


def name_of(action: QAction) -> str:
    """Its text without the marks that menus take for their own keys."""
    return action.text().replace("&&", "\0").replace("&", "").replace("\0", "&")
