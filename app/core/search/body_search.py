"""Finds a text in the unpacked bytes of a body of any size, piece by piece: nothing is laid out, nothing is kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.core.search.spellings import Written, spellings

SPACES_MAX = 64
"""White space of the body that one space in a search for formatted JSON may stand for, as far as pieces are joined."""
_BESIDE = frozenset(':,{}[]"')


class BodySearch:
    """Finds `wanted`, letter case aside and however it is `written`, in the pieces given to `look` in their order, the
    first of which begins at the byte `begin`.

    In an `indented` view a space beside punctuation may be more or less white space in the bytes.
    """

    def __init__(
        self, charset: str, text: str, begin: int = 0, written: Sequence[Written] = (), *, indented: bool = False
    ) -> None:
        self._at = begin
        self._kept = b""
        self._unit = 4 if charset.startswith("utf-32") else 2 if charset.startswith("utf-16") else 1
        parts, self._longest = [], 0
        # A character that the charset lacks stands nowhere.
        self.possible = bool(text)
        for number, character in enumerate(text):
            if indented and character == " " and _BESIDE & {*text[max(0, number - 1) : number + 2]}:
                parts.append(rb"[ \t\r\n\x00]*")
                self._longest += SPACES_MAX
                continue
            ways = _spellings(character, charset, written)
            self.possible = self.possible and bool(ways)
            parts.append(b"(?:%s)" % b"|".join(map(re.escape, ways)))
            self._longest += max(map(len, ways), default=0)
        self._pattern = re.compile(b"".join(parts) if self.possible else b"(?!)")

    def search(self, piece: bytes) -> list[int]:
        """At which bytes of the body the text begins, as far as it ends within this piece."""
        data = self._kept + piece
        found, done = [], 0
        for match in self._pattern.finditer(data):
            if match.end() > match.start() and (self._at + match.start()) % self._unit == 0:
                found.append(self._at + match.start())
                done = match.end()
        keep = max(done, len(data) - max(0, self._longest - 1))
        self._kept = data[keep:]
        self._at += keep
        return found


def _spellings(character: str, charset: str, written: Sequence[Written]) -> list[bytes]:
    found = []
    for way in dict.fromkeys([*spellings(character, written), character.lower(), character.upper()]):
        try:
            found.append(way.encode(charset))
        except UnicodeError:
            continue
    return found
