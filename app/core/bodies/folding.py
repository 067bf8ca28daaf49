"""Foldable regions of an indented text, and which of them are folded."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
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
        # Of each outermost folded region the first line and its row, the last line, and how many lines are hidden up to
        # there; these begin with 0.
        self._starts: list[int] = []
        self._rows: list[int] = []
        self._ends: list[int] = []
        self._hidden = [0]

    def add(self, lines: Iterable[Line]) -> None:
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
        count = bisect_right(self._starts, line)
        if count and line <= self._ends[count - 1]:
            return self._rows[count - 1]
        return line - self._hidden[count]

    def line_of(self, row: int) -> int:
        return row + self._hidden[bisect_left(self._rows, row)]

    def hidden_by(self, line: int) -> int | None:
        """The outermost line it is folded under; None if it is visible."""
        at = bisect_left(self._starts, line) - 1
        return self._starts[at] if at >= 0 and line <= self._ends[at] else None

    def region_at(self, line: int) -> int | None:
        """The innermost region that begins at the line or contains it."""
        return max((start for start, region in self.regions.items() if start <= line <= region.end), default=None)

    def parent_region(self, start: int) -> int | None:
        """The innermost region that contains the one beginning at this line."""
        return max((one for one, region in self.regions.items() if one < start <= region.end), default=None)

    def visible_lines(self, first: int, last: int) -> Iterator[int]:
        """The lines from `first` to `last` that are not folded under one of them."""
        line = first
        while line <= last:
            yield line
            line = self.regions[line].end + 1 if line in self.folded else line + 1

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
        self._starts, self._rows, self._ends, self._hidden = [], [], [], [0]
        for start in sorted(self.folded):
            if not self._ends or start > self._ends[-1]:
                end = self.regions[start].end
                self._starts.append(start)
                self._rows.append(start - self._hidden[-1])
                self._ends.append(end)
                self._hidden.append(self._hidden[-1] + end - start)
