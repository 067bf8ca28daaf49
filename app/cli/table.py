"""Tables: with a heading and cut to the width of a terminal; elsewhere complete tab-separated lines, for `cut` and
`awk`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import msgspec

from app.cli.output import BOLD, Output, cell_count, cut_to_cells, terminal_cells, visible

T = TypeVar("T")

GAP = "  "
ROWS_MEASURED = 500
"""Rows that determine the widths of the columns; those after them are printed as they come."""


class Column(msgspec.Struct, Generic[T], frozen=True):
    """A table's column: `cell` is what a record has in it (itself, if that is a text), in the colour `code` ("" for
    none); `on_terminal` is what a terminal shows instead.

    It is as wide as its cells, but is cut down to `least` terminal cells where there is not enough room. Without
    `least` it is never cut. If that is not enough, columns are left out: first those whose cells are all `empty`, then
    those with the highest `left_out`, never one with 0. In the same order, at `shortened`, cells are written as `short`
    returns them.
    """

    title: str
    cell: Callable[[T], str] = str
    on_terminal: Callable[[T], str] | None = None
    code: Callable[[T], str] | None = None
    least: int | None = None
    left_out: int = 0
    empty: str | None = None
    short: Callable[[str], str] | None = None
    shortened: int = 0

    def least_of(self, width: int) -> int:
        """The least width in cells of a column that is `width` wide."""
        return width if self.least is None else min(width, max(self.least, len(self.title)))


class Measured(msgspec.Struct, frozen=True):
    """The width of a column's widest text, full and shortened; `empty` if all its cells are."""

    full: int
    short: int
    empty: bool


class Table(Generic[T]):
    """A context manager: rows may be buffered until its end."""

    def __init__(self, output: Output, columns: Sequence[Column[T]]) -> None:
        self._output, self._columns = output, columns
        self._pending: list[tuple[list[str], Sequence[str]]] = []
        self._widths: list[int] | None = None
        self._shortened: Collection[int] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._print_pending()

    def add(self, record: T, first: str | None = None) -> None:
        """Add the row of a record; `first` stands in place of its first cell."""
        terminal = self._output.terminal
        cells = [(one.on_terminal if terminal and one.on_terminal else one.cell)(record) for one in self._columns]
        codes = [one.code(record) if one.code else "" for one in self._columns]
        self.row(*(cells if first is None else [first, *cells[1:]]), codes=codes)

    def row(self, *cells: str, codes: Sequence[str] = ()) -> None:
        """Add one row. `codes` are the cells' colours, "" for none."""
        printed = list(map(visible, cells))
        if not self._output.terminal:
            print("\t".join(printed), file=self._output.out)
        elif self._widths is not None:
            self._print(self._shortened_cells(printed), codes)
        else:
            self._pending.append((printed, codes))
            if len(self._pending) == ROWS_MEASURED:
                self._print_pending()

    def _print_pending(self) -> None:
        if not self._pending:
            return
        titles = [column.title for column in self._columns]
        texts = zip(*(row for row, _ in self._pending), strict=True)
        measured = [_measure(column, cells) for column, cells in zip(self._columns, texts, strict=True)]
        self._widths, self._shortened = fit(self._columns, measured, terminal_cells())
        self._print(titles, [BOLD] * len(titles))
        for cells, codes in self._pending:
            self._print(self._shortened_cells(cells), codes)
        self._pending.clear()

    def _shortened_cells(self, cells: Sequence[str]) -> list[str]:
        """The cells, shortened where there is no room for full ones."""
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


def print_table(output: Output, columns: Sequence[Column[T]], records: Iterable[T]) -> None:
    with Table(output, columns) as table:
        for record in records:
            table.add(record)


def fit(columns: Sequence[Column[Any]], measured: Sequence[Measured], room: int) -> tuple[list[int], set[int]]:
    """The columns' widths in cells, so that a line takes at most `room`, 0 for one that is left out; and which are
    shortened."""
    given: dict[int, int] = {}
    for rank, number, width in _by_importance(columns, measured):
        more = {**given, number: width}
        # Nothing is cut for an empty column.
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
    return widths, {number for number, width in given.items() if width < measured[number].full}


def _by_importance(columns: Sequence[Column[Any]], measured: Sequence[Measured]) -> list[tuple[int, int, int]]:
    """What can be shown: a rank (0: always), the column's number and its width."""
    last = max(max(column.left_out, column.shortened) for column in columns)
    steps = []
    for number, (column, size) in enumerate(zip(columns, measured, strict=True)):
        rank = column.left_out + last * size.empty
        steps.append((rank, number, size.short))
        if size.short < size.full:
            steps.append((max(rank, column.shortened), number, size.full))
    return sorted(steps)


def _measure(column: Column[Any], cells: Sequence[str]) -> Measured:
    def widest(texts: Iterable[str]) -> int:
        return max(map(cell_count, (column.title, *texts)))

    full = widest(cells)
    short = widest(map(column.short, cells)) if column.short else full
    return Measured(full=full, short=short, empty=set(cells) == {column.empty})


def _line(widths: Sequence[int]) -> int:
    printed = [width for width in widths if width]
    return sum(printed) + len(GAP) * (len(printed) - 1)
