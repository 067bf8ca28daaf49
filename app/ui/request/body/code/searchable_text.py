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
        self._text, self._begun = "", False
        self._folds: list[int] = []
        self._astral: list[int] = []

    def add(self, lines: Iterable[Line]) -> None:
        """Append these lines."""
        begin = end = len(self._text)
        texts: list[str] = []
        for line in lines:
            if self._begun and line.folded:
                self._folds.append(end)
            text = "\n" + line.text if self._begun and not line.folded else line.text
            texts.append(text)
            end += len(text)
            self._begun = True
        added = "".join(texts)
        if not added.isascii():
            self._astral += [begin + match.start() for match in _ASTRAL.finditer(added)]
        self._text += added

    def find(
        self, words: Iterable[str], written: Sequence[Encoding] = (), begin: int = 0
    ) -> tuple[list[tuple[int, int]], int]:
        """Qt's start and end positions of each match of a word from the character `begin` on, ignoring case, in the
        notation `written`; at most `MATCHES_MAX`. And the number of characters searched so far.
        """
        text = self._text
        pattern = pattern_of(words, written if may_be_encoded(text, written) else ())
        if pattern is None:
            return [], len(text)
        found = [match.span() for match in islice(pattern.finditer(text, begin), MATCHES_MAX)]
        if "mail" in written:
            encoded = islice(base64_matches(text, pattern), MATCHES_MAX)
            found = sorted([*found, *(place for place in encoded if place[0] >= begin)])[:MATCHES_MAX]
        return [(self._position(start), self._position(end, end=True)) for start, end in found], len(text)

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
