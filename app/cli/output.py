"""What commands print: lines, with colours on a terminal; tables, with a heading and cut to the width of a terminal,
elsewhere complete tab-separated lines, for `cut` and `awk`; JSON; a sender's bytes, as readable text on a terminal,
where everything unprintable is escaped. And what they ask before anything is deleted or replaced."""

from __future__ import annotations

import argparse
import codecs
import io
import json
import os
import select
import signal
import stat
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, TextIO, TypeVar

import msgspec

from app.cli.errors import CliError, Exit
from app.core.clock import microseconds, now_us
from app.core.text import time_text

KEPT = "\n\t"


def visible(text: str, keep: str = "") -> str:
    """`text` with control, direction and other unprintable characters as `\\x1b` or `\\u202e`, except those in
    `keep`."""
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() or ch in keep else _escaped(ord(ch)) for ch in text)


def _escaped(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def local_seconds(at_us: int) -> str:
    """`2026-11-20 09:00:00` in the local time zone."""
    return time_text(at_us, None)[:19]


def seconds_text(seconds: float) -> str:
    """`1 second`, `0.5 seconds`."""
    return "1 second" if seconds == 1 else f"{seconds:g} seconds"


def when_text(moment: datetime | None) -> str:
    """A time as local date and time, to the second; `-` for never."""
    return "-" if moment is None else local_seconds(microseconds(moment))


def brief_time(local: str) -> str:
    """A shorter `local_seconds`: `09:00:00` for today, `11-20 09:00` for other days."""
    date, _, time = local.partition(" ")
    return time if date == local_seconds(now_us())[:10] else f"{date[5:]} {time[:5]}"


def state_text(state: str) -> str:
    """A delivery's state in words: `failed`, `not sent`."""
    return state.replace("_", " ")


def terminal_cells() -> int:
    """The width of the terminal."""
    import shutil  # start-up time: it loads archives too

    return shutil.get_terminal_size().columns


def cell_count(text: str) -> int:
    """The width of a printable text on a terminal: a wide character takes two cells, a combining mark none."""
    if text.isascii():
        return len(text)
    import wcwidth  # start-up time: most tables are plain ASCII

    return wcwidth.width(text, control_codes="ignore")


def cut_to_cells(text: str, cells: int) -> str:
    """`text`, or as much of its beginning as fits with a `…` after it."""
    if cell_count(text) <= cells:
        return text
    import wcwidth  # as above

    kept = ""
    for grapheme in wcwidth.iter_graphemes(text):
        if cell_count(kept + grapheme) >= cells:
            break
        kept += grapheme
    return kept + "…"


BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"


class Output:
    """Standard output and standard error of one command."""

    def __init__(self, as_json: bool = False, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.as_json = as_json
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.terminal = self.out.isatty()
        # https://no-color.org: set and not empty means no colours.
        self.colours = self.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def line(self, text: str = "") -> None:
        """Print one line; unprintable characters in it are escaped."""
        print(visible(text), file=self.out)

    def marked(self, mark: str, code: str, text: str) -> None:
        """Print `mark` in a colour and `text` after it, one line."""
        print(f"{self.style(mark, code)}  {visible(text)}", file=self.out)

    def field(self, name: str, value: str | None) -> None:
        """Print `Name: value`, aligned with other fields on a terminal; nothing without a value."""
        if not value:
            return
        label = f"{name + ':':<13}" if self.terminal else f"{name}:"
        print(f"{self.style(label, DIM)} {visible(value)}", file=self.out)

    def message(self, text: str) -> None:
        """Print a message on standard error, one line."""
        print(f"hookline: {visible(text)}", file=self.err)

    def leave_line(self) -> None:
        """After Ctrl-C: go below the `^C`, or the question, that a terminal shows."""
        if self.err.isatty():
            print(file=self.err)

    def json(self, value: Any) -> None:
        """Print the API's value. ASCII only, so that no sender's character reaches the terminal."""
        print(json.dumps(value, indent=2), file=self.out)

    def json_line(self, value: Any) -> None:
        """Print the API's value on one line, at once. ASCII only, as above."""
        print(json.dumps(value), file=self.out, flush=True)

    def style(self, text: str, code: str) -> str:
        """`text` in a colour, if colours are enabled."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text

    @staticmethod
    def status_code(status: int) -> str:
        """A response's colour: green for 2xx, red for 4xx and 5xx."""
        if 200 <= status < 300:
            return GREEN
        return RED if status >= 400 else ""

    def data(self, data: bytes) -> None:
        """Write bytes unchanged, after everything printed before."""
        self.out.flush()
        self.out.buffer.write(data)

    def untrusted(self, text: str) -> None:
        """Print a sender's text on a terminal: line breaks and tabs are kept, everything else unprintable is
        escaped."""
        print(visible(text, KEPT), end="", file=self.out)


class ProgressLine:
    """A context manager: one line on standard error, removed at its end. Shows nothing unless that is a terminal."""

    def __init__(self, out: Output) -> None:
        self._err = out.err
        self._enabled = out.err.isatty() and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.show("")

    def show(self, text: str) -> None:
        if self._enabled:
            print(f"\r{cut_to_cells(text, terminal_cells() - 1)}\x1b[K", end="", file=self._err, flush=True)


class JsonList:
    """A JSON array, written item by item, because there may be a million."""

    def __init__(self, output: Output) -> None:
        self._out, self._begun = output.out, False

    def add(self, item: Any) -> None:
        print("," if self._begun else "[", json.dumps(item, indent=2), sep="\n", file=self._out)
        self._begun = True

    def end(self) -> None:
        """Print the end of the array."""
        print("]" if self._begun else "[]", file=self._out)


def write_bytes(out: Output, pieces: Iterator[bytes], before: bytes = b"", after: bytes = b"") -> None:
    """Write `before`, the pieces and `after`."""
    if out.terminal:
        _on_terminal(out, before, pieces, after)
        return
    out.data(before)
    for piece in pieces:
        out.data(piece)
    out.data(after)


def _on_terminal(out: Output, before: bytes, body: Iterator[bytes], after: bytes) -> None:
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("backslashreplace"), translate=True)
    text, escaped = decoder.decode(before), False
    for piece in body:
        out.untrusted(text)
        escaped = escaped or not is_text(text)
        text = decoder.decode(piece)
    text += decoder.decode(after, final=True)
    out.untrusted(text if text.endswith("\n") else text + "\n")
    if escaped or not is_text(text):
        out.message(
            "Bytes that are not text are shown as \\xNN. To get the exact bytes, redirect the output to a file."
        )


def is_text(text: str) -> bool:
    """Whether decoded text has neither escapes nor control characters except line ends and tabs."""
    return "\\x" not in text and all(ch.isprintable() or ch in "\n\t" for ch in text)


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", default=False, help="do not ask")


def confirm_delete(options: argparse.Namespace, question: str) -> None:
    """Ask on the terminal unless `--yes` was given; CliError when the user declines, or there is no terminal."""
    confirm(options, question, "Deleting", "Nothing was deleted.")


def confirm(options: argparse.Namespace, question: str, doing: str, declined: str) -> None:
    """The same before something else; `doing` names it, `declined` says what that leaves."""
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise CliError(f"{doing} asks first, and there is no terminal to ask on. Add --yes.", Exit.USAGE)
    print(f"{visible(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CliError(declined, Exit.FAILURE)


def when_closed(out: TextIO, end: Callable[[], object]) -> None:
    """Call `end`, on another thread, when the pipe that `out` writes to is closed at its other end: for commands that
    may print nothing for long. Never for anything else."""
    if sys.platform == "win32" or not _is_pipe(out):
        return
    poll = select.poll()
    poll.register(out.fileno(), 0)  # POLLERR and POLLHUP are always reported

    def watch() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))  # they are for the main thread
        poll.poll()
        end()

    threading.Thread(target=watch, name="watch the pipe", daemon=True).start()


def _is_pipe(out: TextIO) -> bool:
    try:
        mode = os.fstat(out.fileno()).st_mode
    except (OSError, ValueError):  # not a file
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


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
