"""Finds words in the base64 text of a mail or part, so that they can be marked in the view of it as sent."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

TEXT_MAX = 256 * 1024
"""Maximum characters of base64 that are decoded."""
_HINT = "ransfer-"
_PART = re.compile(
    r"^content-transfer-encoding[ \t]*:[ \t]*\"?base64\b[^\n]{0,200}\n(?:[^\n]{1,2000}\n){0,50}?\n([A-Za-z0-9+/=\n]+)",
    re.IGNORECASE | re.MULTILINE,
)


def base64_places(text: str, words: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Start and end of the base64 characters that encode a match of `words`."""
    left = TEXT_MAX if _HINT in text.lower() else 0
    for part in _PART.finditer(text) if left else ():
        begin, stop = part.span(1)
        left -= stop - begin
        if left < 0:
            return
        digits = [at for at in range(begin, stop) if text[at] != "\n"]
        plain, codec = _decoded("".join(text[at] for at in digits))
        for match in words.finditer(plain):
            first = len(plain[: match.start()].encode(codec)) * 4 // 3
            last = -(-len(plain[: match.end()].encode(codec)) * 4 // 3)
            if first < last:
                yield digits[first], digits[min(last, len(digits)) - 1] + 1


def _decoded(digits: str) -> tuple[str, str]:
    """UTF-8, or else Latin-1."""
    try:
        data = binascii.a2b_base64(digits[: len(digits) // 4 * 4])
    except binascii.Error:
        return "", "utf-8"
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"
