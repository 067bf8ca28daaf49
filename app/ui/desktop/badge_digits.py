"""The badge's digits for small icons, drawn pixel by pixel: no font is sharp at five or seven pixels."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QPainter

Glyphs = dict[str, tuple[str, ...]]

SMALL: Glyphs = {
    "0": ("###", "#.#", "#.#", "#.#", "###"),
    "1": (".#", "##", ".#", ".#", ".#"),
    "2": ("###", "..#", "###", "#..", "###"),
    "3": ("###", "..#", ".##", "..#", "###"),
    "4": ("#.#", "#.#", "###", "..#", "..#"),
    "5": ("###", "#..", "###", "..#", "###"),
    "6": ("###", "#..", "###", "#.#", "###"),
    "7": ("###", "..#", "..#", ".#.", ".#."),
    "8": ("###", "#.#", "###", "#.#", "###"),
    "9": ("###", "#.#", "###", "..#", "###"),
    "+": ("...", ".#.", "###", ".#.", "..."),
}
LARGE: Glyphs = {
    "0": (".##.", "#..#", "#..#", "#..#", "#..#", "#..#", ".##."),
    "1": (".#", "##", ".#", ".#", ".#", ".#", ".#"),
    "2": (".##.", "#..#", "...#", "..#.", ".#..", "#...", "####"),
    "3": ("###.", "...#", "...#", ".##.", "...#", "...#", "###."),
    "4": ("#..#", "#..#", "#..#", "####", "...#", "...#", "...#"),
    "5": ("####", "#...", "###.", "...#", "...#", "#..#", ".##."),
    "6": (".##.", "#..#", "#...", "###.", "#..#", "#..#", ".##."),
    "7": ("####", "...#", "...#", "..#.", "..#.", ".#..", ".#.."),
    "8": (".##.", "#..#", "#..#", ".##.", "#..#", "#..#", ".##."),
    "9": (".##.", "#..#", "#..#", ".###", "...#", "#..#", ".##."),
    "+": ("...", "...", ".#.", "###", ".#.", "...", "..."),
}


def width(text: str, glyphs: Glyphs) -> int:
    """The width of `text` in pixels, with one pixel between two digits."""
    return sum(len(glyphs[one][0]) for one in text) + len(text) - 1


def height(glyphs: Glyphs) -> int:
    """The height of each digit in pixels."""
    return len(glyphs["0"])


def draw(painter: QPainter, place: QPoint, text: str, *, glyphs: Glyphs, scale: int, colour: QColor) -> None:
    """Draw `text` with its top left corner at `place`; each pixel of a digit is `scale` pixels wide and high."""
    left = place.x()
    for one in text:
        for line, row in enumerate(glyphs[one]):
            for column, mark in enumerate(row):
                if mark == "#":
                    painter.fillRect(left + column * scale, place.y() + line * scale, scale, scale, colour)
        left += (len(glyphs[one][0]) + 1) * scale
