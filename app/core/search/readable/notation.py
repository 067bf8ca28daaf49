"""A notation that encodes characters as others, such as JSON's escapes, and the decoding of text that uses it."""

from __future__ import annotations

import re
from collections.abc import Callable

AROUND = 24
"""Characters kept on either side of decoded text: usually the rest of the word."""


class Notation:
    """`pattern` matches text that `decode` decodes. Every match contains one of `hints`.

    `unfinished` finds where, at the end of an incomplete text, the beginning of a match can be.
    """

    def __init__(
        self,
        hints: tuple[str, ...],
        pattern: re.Pattern[str],
        decode: Callable[[re.Match[str]], str],
        unfinished: Callable[[str], int],
    ) -> None:
        self._hints, self._pattern, self._decode = hints, pattern, decode
        self.unfinished = unfinished

    def may_occur(self, text: str) -> bool:
        """Whether `text` contains a hint: faster than searching for a match."""
        for hint in self._hints:  # noqa: SIM110 - a generator takes twice as long, and this is asked of every request
            if hint in text:
                return True
        return False

    def read(self, text: str) -> str:
        return self._pattern.sub(self._decode, text) if self.may_occur(text) else text

    def changed(self, text: str) -> list[str]:
        """The parts of the decoded text that differ from `text`, each with `AROUND` characters on either side."""
        found: list[str] = []
        parts: list[str] = []
        at = 0
        for match in self._pattern.finditer(text) if self.may_occur(text) else ():
            begin = match.start()
            if parts and begin - at > 2 * AROUND:
                found.append("".join([*parts, text[at : at + AROUND]]))
                parts = []
            parts += [text[at:begin] if parts else text[max(at, begin - AROUND) : begin], self._decode(match)]
            at = match.end()
        return [*found, "".join([*parts, text[at : at + AROUND]])] if parts else found


class Incremental:
    """Decodes a text that arrives in arbitrary pieces, and returns the texts to search from its first difference on.

    Each begins with the `overlap` characters before it. With `only_changed`, the whole text must be fed at once.
    """

    def __init__(self, notation: Notation, overlap: int, only_changed: bool = False) -> None:
        self._notation, self._only_changed = notation, only_changed
        self._kept, self._overlap = "", Overlap(overlap)
        self.differs = False

    def feed(self, text: str, final: bool) -> tuple[str, list[str]]:
        """The text decoded so far, and the texts to search."""
        text = self._kept + text
        stop = len(text) if final else self._notation.unfinished(text)
        self._kept = text[stop:]
        read = self._notation.read(text[:stop])
        self.differs = self.differs or read != text[:stop]
        shown = self._overlap.follow(read)
        if not self.differs:
            return read, []
        return read, self._notation.changed(text) if self._only_changed else [shown]


class Overlap:
    """Prepends the last `length` characters of a text to its next piece."""

    def __init__(self, length: int) -> None:
        self._length, self._last = length, ""

    def follow(self, text: str) -> str:
        """The piece with the characters before it."""
        if not self._length:
            return text
        shown = self._last + text
        self._last = shown[-self._length :]
        return shown
