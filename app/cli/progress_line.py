"""A line on the terminal that is updated while something takes its time."""

from __future__ import annotations

import os
import shutil
from types import TracebackType
from typing import Self

from app.cli.output import Output
from app.cli.table import cut_to_cells


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
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{cut_to_cells(text, width)}\x1b[K", end="", file=self._err, flush=True)
