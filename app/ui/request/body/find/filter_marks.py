"""Highlights the words of the list's filter in the body shown, unless the body is being searched."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.search.spellings import Encoding
from app.ui.request.body.code.code_view import CodeView
from app.ui.request.body.find.found_text import MATCHES_MAX


class WordMarks:
    """`shown` is false while a search of the body marks its matches. `written`: the notation of the body."""

    def __init__(self, view: CodeView) -> None:
        self._view = view
        self._words: Sequence[str] = ()
        self._matches: list[tuple[int, int]] = []
        self._current = self._searched = 0
        self.written: Sequence[Encoding] = ()
        self.shown = True

    def set_words(self, words: Sequence[str]) -> None:
        """Highlight these words in every body from now on."""
        self._words = words
        self.mark(move=False)

    def mark(self, *, move: bool = True) -> None:
        """Highlight the words in what is shown, and scroll to the first if `move`."""
        if not self.shown:
            return
        self._matches, self._searched, self._current = [], 0, 0
        if self._words:
            self._matches, self._searched = self._view.find_words(self._words, self.written)
        self._view.show_match(self._matches, 0, move=move)

    def mark_more(self) -> None:
        """More lines are shown; the view does not scroll."""
        if self.shown and self._words:
            more, self._searched = self._view.find_words(self._words, self.written, self._searched)
            self._matches = (self._matches + more)[:MATCHES_MAX]
            self._view.show_match(self._matches, self._current, move=False)

    def move(self, step: int) -> None:
        """Go to the next or previous match, wrapping around."""
        if self.shown and self._matches:
            self._current = (self._current + step) % len(self._matches)
            self._view.show_match(self._matches, self._current)
