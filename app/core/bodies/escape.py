"""Shows control, bidirectional and invisible characters as escapes, so that they have no effect."""

from __future__ import annotations

import re
from collections.abc import Iterator

_INVISIBLE = (
    "\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e007f"
)
"""Without the joiners U+200C and U+200D, which scripts and emoji need and which affect nothing around them."""

HIDDEN = re.compile(f"[{_INVISIBLE}]+")
HIDDEN_BUT_TAB = re.compile(f"[{_INVISIBLE}]+".replace("\x00-\x1f", "\x00-\x08\x0a-\x1f"))


_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def escape(text: str) -> str:
    r"""On one line: `\x1b` for U+001B, `\u202e` for U+202E, `\n` for a line feed."""
    return HIDDEN.sub(_named, text) if HIDDEN.search(text) else text


def escape_beginning(text: str, most: int) -> str:
    """The same of at most so many of its characters, with `…` if there are more."""
    return escape(text[:most]) + ("…" if len(text) > most else "")


def pieces(text: str) -> Iterator[tuple[bool, str]]:
    """`text` in order as (escaped?, shown); tabs stay tabs."""
    at = 0
    for match in HIDDEN_BUT_TAB.finditer(text):
        if match.start() > at:
            yield False, text[at : match.start()]
        yield True, _named(match)
        at = match.end()
    if at < len(text):
        yield False, text[at:]


def _named(match: re.Match[str]) -> str:
    return "".join(map(_name, match.group()))


def _name(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return _SHORT.get(character) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
