"""Looks for a text in the bytes of a body of any size, piece by piece: nothing is laid out, nothing is kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.core.bodies.decoding import Unpacker
from app.core.search.spellings import Written, spellings

STEP = 256 * 1024
"""Bytes that are unpacked and looked through at once."""


class FarSearch:
    """Finds `wanted`, letter case aside and however it is `written`, from the byte `begin` on. While `hungry`,
    `feed` the next bytes; then `look`.

    A body without `codings` is fed from `begin`, a packed one from its beginning: places count in what was unpacked.
    """

    def __init__(
        self, codings: tuple[str, ...], charset: str, wanted: str, begin: int, written: Sequence[Written] = ()
    ) -> None:
        self._unpacker = Unpacker(codings)
        self._begin, self._at = begin, 0 if codings else begin
        self._kept = b""
        encoded = [_spellings(character, charset, written) for character in wanted]
        self._pattern = re.compile(b"".join(b"(?:%s)" % b"|".join(map(re.escape, ways)) for ways in encoded))
        self._longest = sum(max(map(len, ways), default=0) for ways in encoded)
        # A character that the charset lacks stands nowhere.
        self.possible = all(encoded) and bool(wanted)

    @property
    def hungry(self) -> bool:
        """Whether all that was fed was looked through."""
        return self._unpacker.hungry

    def feed(self, data: bytes) -> None:
        """The next bytes as sent."""
        self._unpacker.feed(data)

    def look(self) -> int | None:
        """Look through one more piece; where the text begins if it is there."""
        data = self._kept + self._unpacker.take(STEP)
        match = self._pattern.search(data, max(0, self._begin - self._at)) if self.possible else None
        if match is not None:
            return self._at + match.start()
        self._kept = data[max(0, len(data) - self._longest) :]
        self._at += len(data) - len(self._kept)
        return None


def _spellings(character: str, charset: str, written: Sequence[Written]) -> list[bytes]:
    found = []
    for way in dict.fromkeys([*spellings(character, written), character.lower(), character.upper()]):
        try:
            found.append(way.encode(charset))
        except UnicodeError:
            continue
    return found
