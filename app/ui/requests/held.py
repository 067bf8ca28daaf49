"""How many requests are newer than those a list shows."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal, Slot

from app.core.model import Summary

REMEMBERED = 20_000
"""Of more that a filter found, those found again may be counted again."""


class Held(QObject):
    """`changed` carries the new `count`."""

    changed = Signal(int)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.count = 0
        self._found: set[str] = set()

    @Slot(int)
    def set(self, count: int) -> None:
        """So many; none are known by name any more."""
        self._found.clear()
        self._show(count)

    def add(self, items: Iterable[Summary], *, found: bool) -> None:
        """These more. A search finds the same ones again as others come or are marked: each counts once if `found`."""
        names = [item.id for item in items]
        if found:
            names = [name for name in dict.fromkeys(names) if name not in self._found]
            if len(self._found) > REMEMBERED:
                self._found.clear()
            self._found.update(names)
        self._show(self.count + len(names))

    def _show(self, count: int) -> None:
        if count != self.count:
            self.count = count
            self.changed.emit(count)
