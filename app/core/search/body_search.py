"""Finds a text in the decompressed bytes of a body of any size, piece by piece."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.core.search.spellings import Encoding, spellings

SPACES_MAX = 64
"""White space that one space of the text matches in formatted JSON, as far as it can cross pieces."""
_BESIDE = frozenset(':,{}[]"')


class BodySearch:
    """Finds `text` in pieces given to `search` in order, ignoring case and in all `encodings`. The first
    piece begins at the byte `begin`.

    With `indented`, a space beside punctuation matches any amount of white space.
    """

    def __init__(
        self, charset: str, text: str, begin: int = 0, encodings: Sequence[Encoding] = (), *, indented: bool = False
    ) -> None:
        self._offset = begin
        self._overlap = b""
        self._unit = 4 if charset.startswith("utf-32") else 2 if charset.startswith("utf-16") else 1
        parts, self._longest = [], 0
        # A character that the charset lacks cannot occur.
        self.possible = bool(text)
        for number, character in enumerate(text):
            if indented and character == " " and _BESIDE & {*text[max(0, number - 1) : number + 2]}:
                parts.append(rb"[ \t\r\n\x00]*")
                self._longest += SPACES_MAX
                continue
            encoded = _encoded_spellings(character, charset, encodings)
            self.possible = self.possible and bool(encoded)
            parts.append(b"(?:%s)" % b"|".join(map(re.escape, encoded)))
            self._longest += max(map(len, encoded), default=0)
        self._pattern = re.compile(b"".join(parts) if self.possible else b"(?!)")

    def search(self, piece: bytes) -> list[int]:
        """The offsets in the body where the text begins, if it ends within this piece."""
        data = self._overlap + piece
        found, done = [], 0
        for match in self._pattern.finditer(data):
            if match.end() > match.start() and (self._offset + match.start()) % self._unit == 0:
                found.append(self._offset + match.start())
                done = match.end()
        keep = max(done, len(data) - max(0, self._longest - 1))
        self._overlap = data[keep:]
        self._offset += keep
        return found


def _encoded_spellings(character: str, charset: str, encodings: Sequence[Encoding]) -> list[bytes]:
    found = []
    for spelling in dict.fromkeys([*spellings(character, encodings), character.lower(), character.upper()]):
        try:
            found.append(spelling.encode(charset))
        except UnicodeError:
            continue
    return found
