"""Finds text in a request as it was received: in the lines shown, then in more lines loaded for the search."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.core.text import size_text
from app.ui.request.body.code.code_view import SHOWN_MAX, CodeView
from app.ui.request.body.find.finder import Finder
from app.ui.request.body.find.found_text import MATCHES_MAX
from app.ui.request.tabs.raw_loader import RawLoader

SEEK_STEP = 512 * 1024
"""Characters loaded before each search, because every search rebuilds the text."""


class RawFinder(Finder):
    """Call `extended` once more lines are shown. Without a match in them, more are loaded until there is one."""

    def __init__(self, code: CodeView, loader: RawLoader, parent: QObject) -> None:
        super().__init__(parent)
        self._code, self._loader = code, loader
        self._matches: list[tuple[int, int]] = []
        self._searched = 0
        """Characters searched so far."""

    def status_text(self) -> str:
        """“No matches” is only said once everything was searched."""
        if self.needle and not (self.total or self.busy or self._loader.done):
            return f"No matches in the first {size_text(self._loader.read_bytes)}"
        return super().status_text()

    def search(self, needle: str) -> None:
        self.clear()
        self.needle, self.progress = needle, "Searching…"
        if needle:
            self._look()
            self._code.show_match(self._matches, 0)
            if not self._matches:
                self._seek()
        self.changed.emit()

    def step(self, by: int) -> None:
        """After the last known match, continues in what is not loaded yet."""
        if by > 0 and self.current + by >= self.total and self._goes_on():
            self._seek()
        elif self._matches:
            self.current = (self.current + by) % self.total
            self._code.show_match(self._matches, self.current)
        self.changed.emit()

    def stop(self) -> None:
        """Stop searching."""
        self.busy = False
        self.changed.emit()

    def clear(self) -> None:
        """Clear the search."""
        self.needle, self._matches, self._searched = "", [], 0
        self.total, self.current, self.more, self.busy = 0, 0, False, False
        self._code.show_match((), 0)

    def extended(self) -> None:
        """More lines are shown; the view scrolls only if they were loaded for the search."""
        if not self.needle:
            return
        if self.busy and self._goes_on() and self._code.length() - self._searched < SEEK_STEP:
            self._loader.more()
            return
        known = self.total
        self._look()
        if self.busy and self.total > known:
            self.busy, self.current = False, known
            self._code.show_match(self._matches, known)
        else:
            self._code.show_match(self._matches, self.current, move=False)
            if self.busy:
                self._seek()
        self.changed.emit()

    def _goes_on(self) -> bool:
        """Whether more can be loaded and counted."""
        return not self._loader.done and self._code.length() < SHOWN_MAX and self.total < MATCHES_MAX

    def _seek(self) -> None:
        self.busy = self._goes_on()
        if self.busy:
            self._loader.more()

    def _look(self) -> None:
        """Search the new text, and the end of the previous text: a match may span both."""
        begin = max(0, self._searched - len(self.needle) + 1)
        found, self._searched = self._code.find_words([self.needle], (), begin)
        last = self._matches[-1][1] if self._matches else 0
        self._matches = (self._matches + [place for place in found if place[0] >= last])[:MATCHES_MAX]
        self.total = len(self._matches)
        self.more = not self._loader.done or self.total == MATCHES_MAX
