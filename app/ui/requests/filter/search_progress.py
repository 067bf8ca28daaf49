"""How far a search has come, in numbers and in words."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.core.text import count_of


class Reach(QObject):
    """`searched` of the newest requests have been looked at, as far as is known (0: the search is young)."""

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.searched = 0
        self.stopped = False
        """Whether the reader ended it."""

    def begin(self) -> None:
        """Another search."""
        self.searched, self.stopped = 0, False

    def come_to(self, searched: int) -> None:
        """So many have been looked at."""
        self.searched = searched
        self.changed.emit()

    def share(self, total: int) -> float | None:
        """Of `total` requests, 0 to 1; None when it is not known."""
        return min(1.0, self.searched / total) if self.searched and total else None

    def going(self, total: int | None) -> str:
        """While it goes on among so many requests; None: it is not known among how many."""
        of = "" if total is None else f" of {total:,}"
        return f"{self._at_most(total):,}{of} searched · Esc stops"

    def where(self, total: int | None) -> str:
        """What was searched before it was stopped: "the newest 300,000 requests"."""
        if not self.searched:
            return "the newest requests"
        return f"the newest {count_of(self._at_most(total), 'request')}"

    def _at_most(self, total: int | None) -> int:
        """Requests of endpoints that are being deleted are looked at too."""
        return self.searched if total is None else min(self.searched, total)
