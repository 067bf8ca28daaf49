"""The text of a view of lines, for searching and copying: without the breaks of long lines, positions as Qt counts."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice

from app.core.bodies.lines import Line
from app.core.search.spellings import Encoding, base64_matches, may_be_encoded, pattern_of

MATCHES_MAX = 10_000
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class SearchableText:
    """Display lines as one text. Qt counts UTF-16 units and treats a fold as a line break, which the text does not
    contain.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._folds: list[int] = []
        self._length = 0
        self._joined: str | None = ""
        self._astral: list[int] = []

    def add(self, lines: Iterable[Line]) -> None:
        """Append these lines."""
        for line in lines:
            if self._texts and not line.folded:
                self._texts.append("\n")
                self._length += 1
            elif self._texts:
                self._folds.append(self._length)
            self._texts.append(line.text)
            self._length += len(line.text)
        self._joined = None

    def text(self) -> str:
        """The full text."""
        if self._joined is None:
            self._joined = "".join(self._texts)
            self._texts = [self._joined]
            self._astral = [match.start() for match in _ASTRAL.finditer(self._joined)]
        return self._joined

    def find(self, words: Iterable[str], written: Sequence[Encoding] = (), begin: int = 0) -> list[tuple[int, int]]:
        """Qt's start and end positions of each match of a word from the character `begin` on, ignoring case, in the
        notation `written`; at most `MATCHES_MAX`.
        """
        text = self.text()
        pattern = pattern_of(words, written if may_be_encoded(text, written) else ())
        if pattern is None:
            return []
        found = [match.span() for match in islice(pattern.finditer(text, begin), MATCHES_MAX)]
        if "mail" in written:
            encoded = islice(base64_matches(text, pattern), MATCHES_MAX)
            found = sorted([*found, *(place for place in encoded if place[0] >= begin)])[:MATCHES_MAX]
        return [(self._position(start), self._position(end, end=True)) for start, end in found]

    def _position(self, at: int, *, end: bool = False) -> int:
        folds = bisect_left(self._folds, at) if end else bisect_right(self._folds, at)
        return at + folds + bisect_left(self._astral, at)


def utf16(text: str) -> int:
    """Its length for Qt."""
    return len(text) + len(_ASTRAL.findall(text))


def qt_spans(line: Line) -> list[tuple[int, int, str]]:
    """The line's spans as (start, length, kind) in UTF-16 units."""
    if not _ASTRAL.search(line.text):
        return [(start, end - start, kind) for start, end, kind in line.spans]
    at = [0, *accumulate(2 if character > "\uffff" else 1 for character in line.text)]
    return [(at[start], at[end] - at[start], kind) for start, end, kind in line.spans]


def characters(text: str, units: int) -> int:
    """The number of characters in the first UTF-16 units of `text`."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore"))
