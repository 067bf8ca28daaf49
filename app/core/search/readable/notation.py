"""A way of writing characters as others, such as JSON's escapes, and how a text reads once it is undone in place."""

from __future__ import annotations

import re
from collections.abc import Callable

AROUND = 24
"""Characters kept on either side of what was decoded, where only that is asked for: the words it belongs to, mostly."""


class Notation:
    """`pattern` matches what `decode` turns into the text it stands for. Every match holds one of `hints`.

    `unfinished` tells where, at the end of a text that goes on, something begins that may yet be part of a match.
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
        """Whether `text` holds a hint: quicker to tell than that there is a match."""
        for hint in self._hints:  # noqa: SIM110 - a generator takes twice as long, and this is asked of every request
            if hint in text:
                return True
        return False

    def read(self, text: str) -> str:
        """The whole text decoded."""
        return self._pattern.sub(self._decode, text) if self.may_occur(text) else text

    def changed(self, text: str) -> list[str]:
        """The stretches of the decoded text that are not in `text`, each with `AROUND` characters on either side."""
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
    """Decodes a text that comes in pieces, however they are cut, and gives texts to look at from where it differs.

    Each begins with the `overlap` characters before it. With `only_changed`, the whole text is fed at once.
    """

    def __init__(self, notation: Notation, overlap: int, only_changed: bool = False) -> None:
        self._notation, self._only_changed = notation, only_changed
        self._kept, self._overlap = "", Overlap(overlap)
        self.differs = False

    def feed(self, text: str, final: bool) -> tuple[str, list[str]]:
        """The decoded text as far as it can be told, and what of it to look at."""
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
    """Puts the last `length` characters of a text before the next piece of it."""

    def __init__(self, length: int) -> None:
        self._length, self._last = length, ""

    def follow(self, text: str) -> str:
        """The piece with what was before it."""
        if not self._length:
            return text
        shown = self._last + text
        self._last = shown[-self._length :]
        return shown
