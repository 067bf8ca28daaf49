"""Foldable regions of an indented text, and which of them are folded."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from app.core.bodies.formatter import Line
from app.core.text import count_of

_CLOSERS = ("}", "]", ")", "</")
_ITEMS = {"{": "key", "[": "item"}


class Region(NamedTuple):
    """The lines up to `end`, folded under the one before them. It has `items` items; `closed`: its last line is the
    closing bracket or tag."""

    end: int
    items: int
    closed: bool


class Folds:
    """Lines are added in order and numbered from 0. Rows are the visible lines. A region begins at a line when the
    next one is indented deeper, and is known once its end was added."""

    def __init__(self) -> None:
        self.regions: dict[int, Region] = {}
        self.folded: set[int] = set()
        self._open: list[list[int]] = []  # line, indent, indent of its items, number of items
        self._count = 0
        self._visible: list[int] | None = None
        """The visible lines, unless all are."""

    def add(self, lines: Sequence[Line]) -> None:
        if self._visible is not None:
            self._visible.extend(range(self._count, self._count + len(lines)))
        for number, line in enumerate(lines, self._count):
            self._count = number + 1
            text = line.text.lstrip(" \t")
            if line.folded or not text:
                continue
            indent, closes = len(line.text) - len(text), text.startswith(_CLOSERS)
            while self._open and self._open[-1][1] >= indent:
                self._close(self._open.pop(), number, indent if closes else -1)
            if self._open:
                above = self._open[-1]
                above[2] = above[2] if above[3] else indent
                above[3] += indent == above[2] and not closes
            self._open.append([number, indent, 0, 0])

    def finish(self) -> None:
        while self._open:
            self._close(self._open.pop(), self._count, -1)

    def fold(self, starts: Iterable[int]) -> None:
        self.folded.update(start for start in starts if start in self.regions)
        self._settle()

    def unfold(self, starts: Iterable[int]) -> None:
        self.folded.difference_update(starts)
        self._settle()

    def row_of(self, line: int) -> int:
        """The row of the line, or of the one it is folded under."""
        return line if self._visible is None else bisect_right(self._visible, line) - 1

    def line_of(self, row: int) -> int:
        return row if self._visible is None else self._visible[row]

    def hidden_by(self, line: int) -> int | None:
        """The outermost line it is folded under; None if it is visible."""
        shown = self.line_of(self.row_of(line))
        return shown if shown != line else None

    def foldable_at(self, line: int) -> int | None:
        """The innermost region that begins at the line or contains it, and is not folded."""
        around = (start for start, region in self.regions.items() if start <= line <= region.end)
        return max((start for start in around if start not in self.folded), default=None)

    def visible_lines(self, first: int, last: int) -> Sequence[int]:
        """Of the lines from `first` to `last`."""
        lines = range(self._count) if self._visible is None else self._visible
        return lines[bisect_left(lines, first) : bisect_right(lines, last)]

    def inner_regions(self) -> list[int]:
        """All regions but the outermost."""
        found, end = [], -1
        for start in sorted(self.regions):
            if start <= end:
                found.append(start)
            else:
                end = self.regions[start].end
        return found

    def label(self, start: int, lines: Sequence[Line]) -> tuple[str, str]:
        """The label shown for the lines folded under this one, and their end: ` 12 keys ` and `},`."""
        region, opener = self.regions[start], lines[start].text[-1]
        items = count_of(region.items, _ITEMS[opener]) if opener in _ITEMS else "…"
        return f" {items} ", lines[region.end].text.strip()[:40] if region.closed else ""

    def _close(self, opened: list[int], line: int, closing_indent: int) -> None:
        start, indent, _, items = opened
        closed = closing_indent == indent
        end = line if closed else line - 1
        if items and end > start:
            self.regions[start] = Region(end, items, closed)

    def _settle(self) -> None:
        visible, line = list[int](), 0
        for start in sorted(self.folded):
            if start >= line:
                visible += range(line, start + 1)
                line = self.regions[start].end + 1
        self._visible = [*visible, *range(line, self._count)] if self.folded else None
