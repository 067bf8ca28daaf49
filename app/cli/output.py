"""Where commands print: tables and colours on a terminal, tab-separated lines elsewhere, JSON when asked for."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import msgspec

from app.cli.text import KEPT, visible

BOLD, DIM, RED, GREEN = "1", "2", "31", "32"
GAP = "  "


class Column(msgspec.Struct, frozen=True):
    """A table's column. Cells are padded to `width`, and cut when longer; the last column takes what is left of the
    line, and is cut there unless it is `whole`."""

    title: str
    width: int = 0
    whole: bool = False


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
        """Print `mark` in a colour and `text` behind it, one line."""
        print(f"{self.style(mark, code)}  {visible(text)}", file=self.out)

    def field(self, name: str, value: str) -> None:
        """Print `Name: value`, aligned with other fields on a terminal."""
        label = f"{name + ':':<13}" if self.terminal else f"{name}:"
        print(f"{self.style(label, DIM)} {visible(value)}", file=self.out)

    def note(self, text: str) -> None:
        """Say something about the outcome on standard error, one line."""
        print(f"hookline: {visible(text)}", file=self.err)

    def json(self, value: Any) -> None:
        """Print the API's value. ASCII only, so that no sender's character reaches the terminal."""
        print(json.dumps(value, indent=2), file=self.out)

    def style(self, text: str, code: str) -> str:
        """`text` in a colour, where there are colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text

    @staticmethod
    def status_code(status: int) -> str:
        """A reply's colour: green for 2xx, red for 4xx and 5xx."""
        if 200 <= status < 300:
            return GREEN
        return RED if status >= 400 else ""

    def data(self, data: bytes) -> None:
        """Bytes as they are, after all that was printed before."""
        self.out.flush()
        self.out.buffer.write(data)

    def foreign(self, text: str) -> None:
        """A piece of a sender's text for a terminal: line breaks and tabs kept, all else unprintable escaped."""
        print(visible(text, KEPT), end="", file=self.out)


class Table:
    """Rows under a heading on a terminal; elsewhere bare tab-separated lines, for `cut` and `awk`."""

    def __init__(self, output: Output, columns: Sequence[Column]) -> None:
        self._output = output
        self._columns = columns
        self._widths = self._fit(columns)
        self._started = False

    def row(self, *cells: str, codes: Sequence[str] = ()) -> None:
        """Print one row. `codes` are the cells' colours, "" for none."""
        if not self._output.terminal:
            print("\t".join(map(visible, cells)), file=self._output.out)
            return
        if not self._started:
            self._started = True
            self._print([column.title for column in self._columns], [BOLD] * len(self._columns))
        self._print(cells, codes)

    def _print(self, cells: Sequence[str], codes: Sequence[str]) -> None:
        shown = []
        for number, (cell, width) in enumerate(zip(map(visible, cells), self._widths, strict=True)):
            fits = len(cell) <= width or self._columns[number].whole
            text = cell if fits else cell[: width - 1] + "…"
            if number < len(cells) - 1:
                text = text.ljust(width)
            code = codes[number] if number < len(codes) else ""
            shown.append(self._output.style(text, code) if code else text)
        print(GAP.join(shown).rstrip(), file=self._output.out)

    @staticmethod
    def _fit(columns: Sequence[Column]) -> list[int]:
        widths = [max(column.width, len(column.title)) for column in columns]
        room = shutil.get_terminal_size().columns - sum(widths[:-1]) - len(GAP) * (len(widths) - 1)
        return [*widths[:-1], max(room, len(columns[-1].title), 10)]
