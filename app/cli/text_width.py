"""How much of a terminal's line a text takes, in cells: a wide character takes two, a combining mark none."""

from __future__ import annotations

from unicodedata import category, east_asian_width

_EMOJI_STYLE = "\ufe0f"
"""Makes the character before it an emoji, which is wide."""
_JOINING_HANGUL = range(0x1160, 0x1200)
"""Vowels and finals, drawn into the syllable before them."""


def cell_count(text: str) -> int:
    """The cells that a printable text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def cut_to_cells(text: str, cells: int) -> str:
    """`text`, or as much of its beginning as leaves a cell for the sign that says that there is more."""
    if cell_count(text) <= cells:
        return text
    room, end = cells - 1, 0
    for char in text:
        room -= _cells(char)
        if room < 0:
            break
        end += 1
    return text[:end] + "…"


def _cells(char: str) -> int:
    if char == _EMOJI_STYLE:
        return 1
    if char.isascii():
        return 1
    if category(char) in ("Mn", "Me", "Cf") or ord(char) in _JOINING_HANGUL:
        return 0
    return 2 if east_asian_width(char) in "WF" else 1
