"""The progress of a search, in numbers and in words."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.core.text import count_of


class SearchProgress(QObject):
    """`searched` of the newest requests have been searched, as far as is known (0 at the beginning of a search)."""

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.searched = 0
        self.stopped = False
        """Whether the user stopped it."""

    def begin(self) -> None:
        """Start another search."""
        self.searched, self.stopped = 0, False

    def advance(self, searched: int) -> None:
        """Record that this many have been searched."""
        self.searched = searched
        self.changed.emit()

    def share(self, total: int) -> float | None:
        """The share of `total` requests, 0 to 1; None if unknown."""
        return min(1.0, self.searched / total) if self.searched and total else None

    def running_text(self, total: int | None) -> str:
        """The text while the search runs among `total` requests; None if the total is unknown."""
        of = "" if total is None else f" of {total:,}"
        return f"{self._at_most(total):,}{of} searched · Esc stops"

    def where(self, total: int | None) -> str:
        """What was searched before it was stopped: "the newest 300,000 requests"."""
        if not self.searched:
            return "the newest requests"
        return f"the newest {count_of(self._at_most(total), 'request')}"

    def _at_most(self, total: int | None) -> int:
        """Requests of endpoints that are being deleted are searched, too."""
        return self.searched if total is None else min(self.searched, total)
