"""Tables: with a heading, cut to the width of a terminal; elsewhere tab-separated lines, whole, for `cut` and `awk`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from types import TracebackType
from typing import Self

import msgspec

from app.cli.output import BOLD, Output
from app.cli.text import visible

GAP = "  "
ROWS_MEASURED = 500
"""Rows that decide how wide the columns are; those after them are printed as they come."""


class Column(msgspec.Struct, frozen=True):
    """A table's column. It is as wide as its cells, but where the terminal has not the room, cut down to `least` cells.

    Without `least` it is never cut. When even that is too much, columns are left out: first those whose cells are all
    `empty`, then those with the highest `left_out`, never one with 0. In the same order, at `shortened`, cells are
    written as `short` gives them.
    """

    title: str
    least: int | None = None
    left_out: int = 0
    empty: str | None = None
    short: Callable[[str], str] | None = None
    shortened: int = 0

    def least_of(self, width: int) -> int:
        """The cells that are left of `width` at least."""
        return width if self.least is None else min(width, max(self.least, len(self.title)))


class Measured(msgspec.Struct, frozen=True):
    """What a column holds: the cells of its widest text, whole and shortened; `empty` if that tells nothing."""

    whole: int
    short: int
    empty: bool


class Table:
    """A context manager: rows may be held back until its end."""

    def __init__(self, output: Output, columns: Sequence[Column]) -> None:
        self._output, self._columns = output, columns
        self._held: list[tuple[list[str], Sequence[str]]] = []
        self._widths: list[int] | None = None
        self._shortened: Collection[int] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._print_held()

    def row(self, *cells: str, codes: Sequence[str] = ()) -> None:
        """Add one row. `codes` are the cells' colours, "" for none."""
        shown = list(map(visible, cells))
        if not self._output.terminal:
            print("\t".join(shown), file=self._output.out)
        elif self._widths is not None:
            self._print(self._written(shown), codes)
        else:
            self._held.append((shown, codes))
            if len(self._held) == ROWS_MEASURED:
                self._print_held()

    def _print_held(self) -> None:
        if not self._held:
            return
        titles = [column.title for column in self._columns]
        texts = zip(*(row for row, _ in self._held), strict=True)
        measured = [_measure(column, cells) for column, cells in zip(self._columns, texts, strict=True)]
        self._widths, self._shortened = fit(self._columns, measured, shutil.get_terminal_size().columns)
        self._print(titles, [BOLD] * len(titles))
        for cells, codes in self._held:
            self._print(self._written(cells), codes)
        self._held.clear()

    def _written(self, cells: Sequence[str]) -> list[str]:
        """The cells, shortened where there is no room for whole ones."""
        return [
            column.short(cell) if column.short and number in self._shortened else cell
            for number, (cell, column) in enumerate(zip(cells, self._columns, strict=True))
        ]

    def _print(self, cells: Sequence[str], codes: Sequence[str]) -> None:
        assert self._widths is not None
        parts = []
        for number, (cell, width, column) in enumerate(zip(cells, self._widths, self._columns, strict=True)):
            if not width:
                continue
            text = cell if column.least is None else cut_to_cells(cell, width)
            padding = " " * (width - cell_count(text))
            code = codes[number] if number < len(codes) else ""
            parts.append(self._output.style(text + padding, code) if code else text + padding)
        print(GAP.join(parts).rstrip(), file=self._output.out)


def fit(columns: Sequence[Column], measured: Sequence[Measured], room: int) -> tuple[list[int], set[int]]:
    """The columns' widths in cells, so that a line takes no more than `room`, 0 for one that is left out; and which of
    them are shortened."""
    given: dict[int, int] = {}
    for rank, number, width in _by_importance(columns, measured):
        more = {**given, number: width}
        # Nothing is cut for a column that tells nothing.
        needed = [wide if measured[number].empty else columns[one].least_of(wide) for one, wide in more.items()]
        if not rank or _line(needed) <= room:
            given = more
    least = [column.least_of(given.get(number, 0)) for number, column in enumerate(columns)]
    widths = [min(given.get(number, 0), max(room, least[number])) for number in range(len(columns))]
    while _line(widths) > room:
        spare = [width - least[number] if width else 0 for number, width in enumerate(widths)]
        longest = max(range(len(columns)), key=lambda number: (spare[number] > 0, widths[number]))
        if spare[longest] <= 0:
            break  # a terminal as narrow as this wraps the line
        widths[longest] -= 1
    return widths, {number for number, width in given.items() if width < measured[number].whole}


def _by_importance(columns: Sequence[Column], measured: Sequence[Measured]) -> list[tuple[int, int, int]]:
    """What can be shown: a rank, 0 for what always is, the column's number and the cells it takes then."""
    last = max(max(column.left_out, column.shortened) for column in columns)
    steps = []
    for number, (column, size) in enumerate(zip(columns, measured, strict=True)):
        rank = column.left_out + last * size.empty
        steps.append((rank, number, size.short))
        if size.short < size.whole:
            steps.append((max(rank, column.shortened), number, size.whole))
    return sorted(steps)


def _measure(column: Column, cells: Sequence[str]) -> Measured:
    def widest(texts: Iterable[str]) -> int:
        return max(map(cell_count, (column.title, *texts)))

    whole = widest(cells)
    short = widest(map(column.short, cells)) if column.short else whole
    return Measured(whole=whole, short=short, empty=set(cells) == {column.empty})


def _line(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + len(GAP) * (len(shown) - 1)


def cell_count(text: str) -> int:
    """The cells that a printable text takes on a terminal: a wide character takes two, a combining mark none."""
    if text.isascii():
        return len(text)
    import wcwidth  # start-up time: most tables are plain ASCII

    return wcwidth.width(text, control_codes="ignore")


def cut_to_cells(text: str, cells: int) -> str:
    """`text`, or as much of its beginning as leaves a cell for the `…` that follows it then."""
    if cell_count(text) <= cells:
        return text
    import wcwidth  # as above

    kept = ""
    for grapheme in wcwidth.iter_graphemes(text):
        if cell_count(kept + grapheme) >= cells:
            break
        kept += grapheme
    return kept + "…"
