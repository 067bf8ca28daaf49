"""Tables: with a heading, cut to the width of a terminal; elsewhere tab-separated lines, whole, for `cut` and `awk`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import msgspec

from app.cli.output import BOLD, Output
from app.cli.text import visible
from app.cli.text_width import cell_count, cut_to_cells

GAP = "  "
ROWS_MEASURED = 500
"""Rows that decide how wide the columns are; those after them are printed as they come."""


class Column(msgspec.Struct, frozen=True):
    """A table's column. It is as wide as its cells, but where the terminal has not the room, cut down to `least` cells.

    Without `least` it is never cut. When even that is too much, columns are left out: those with the highest `left_out`
    first, never one with 0.
    """

    title: str
    least: int | None = None
    left_out: int = 0


class Table:
    """A context manager: rows may be held back until its end."""

    def __init__(self, output: Output, columns: Sequence[Column]) -> None:
        self._output, self._columns = output, columns
        self._held: list[tuple[list[str], Sequence[str]]] = []
        self._widths: list[int] | None = None

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
            self._print(shown, codes)
        else:
            self._held.append((shown, codes))
            if len(self._held) == ROWS_MEASURED:
                self._print_held()

    def _print_held(self) -> None:
        if not self._held:
            return
        titles = [column.title for column in self._columns]
        widest = [max(map(cell_count, cells)) for cells in zip(titles, *(row for row, _ in self._held), strict=True)]
        self._widths = fit(self._columns, widest, shutil.get_terminal_size().columns)
        self._print(titles, [BOLD] * len(titles))
        for cells, codes in self._held:
            self._print(cells, codes)
        self._held.clear()

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


def fit(columns: Sequence[Column], widest: Sequence[int], room: int) -> list[int]:
    """The columns' widths in cells, so that a line takes no more than `room`; 0 for one that is left out."""
    least = [
        width if column.least is None else min(width, max(column.least, len(column.title)))
        for column, width in zip(columns, widest, strict=True)
    ]
    order = sorted((column.left_out, number) for number, column in enumerate(columns))
    shown = [number for rank, number in order if not rank]
    for rank, number in order:
        if rank and _line([least[one] for one in (*shown, number)]) <= room:
            shown.append(number)
    widths = [min(width, max(room, least[number])) * (number in shown) for number, width in enumerate(widest)]
    while _line(widths) > room:
        spare = [width - least[number] if width else 0 for number, width in enumerate(widths)]
        longest = max(range(len(columns)), key=lambda number: (spare[number] > 0, widths[number]))
        if spare[longest] <= 0:
            break  # a terminal as narrow as this wraps the line
        widths[longest] -= 1
    return widths


def _line(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + len(GAP) * (len(shown) - 1)
