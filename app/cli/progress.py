"""Follows what takes its time to its end, with a line on the terminal that is updated meanwhile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from app.cli.output import Output
from app.cli.table import cut_to_cells

if TYPE_CHECKING:
    from app.cli.client import Answer

T = TypeVar("T")
FIRST_POLL_S, POLL_S = 0.02, 0.25


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


async def until_ended(
    out: Output, begun: Answer[T], again: Callable[[], Awaitable[Answer[T]]], text: Callable[[T], str | None]
) -> Answer[T]:
    """Ask for it `again` until it has ended; `text` is what to show meanwhile, None at the end."""
    import asyncio  # start-up time: the shells' completions load what imports this

    answer, pause_s = begun, FIRST_POLL_S
    with ProgressLine(out) as line:
        while (shown := text(answer.value)) is not None:
            line.show(shown)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, POLL_S)
            answer = await again()
    return answer


def uncancel() -> None:
    """Go on after Ctrl-C, which has cancelled this task."""
    import asyncio  # as above

    if (task := asyncio.current_task()) is not None:
        task.uncancel()
