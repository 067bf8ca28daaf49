"""Every command the window offers, in groups: palette and cheat sheet are made of it, so neither names one too many."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from PySide6.QtGui import QAction


class Group(StrEnum):
    """The headings commands stand under, in the order they are shown."""

    REQUEST = "Request"
    LIST = "List"
    ENDPOINT = "Endpoint"
    GO_TO = "Go to"
    PROGRAM = "Program"


class CommandBook:
    """Actions as they were added. An action's text names it, its shortcuts are its keys; disabled it is not offered."""

    def __init__(self) -> None:
        self._held: dict[Group, list[QAction]] = {group: [] for group in Group}

    def add(self, group: Group, *actions: QAction) -> None:
        """Offer these; those of a group stay in the order they came."""
        self._held[group].extend(actions)

    def all(self) -> Iterable[tuple[Group, QAction]]:
        """Each action with its group, groups in their order."""
        return ((group, action) for group, actions in self._held.items() for action in actions)
