"""From the start of the program's process to a window that is painted and a port that answers.

A bare window of Qt is started in turn with it: what a machine is busy with at the moment weighs on both, so their
ratio says more than the milliseconds. Started as a module it is the program that is measured, and ends at once.
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from app.cli.options import WindowOptions
from app.start import leave_out, show_window
from benchmarks.lines import Line
from benchmarks.programs import ROOT, BenchError
from benchmarks.screen import with_screen

if TYPE_CHECKING:  # what a start imports is a part of what is measured
    from app.application import Application
    from app.gui import Ready

NAME = "from the start of the process to painted and answering"
ROUNDS = 5
START_MS = 1500.0
LIMIT_S = 60.0


def measure(folder: Path, rounds: int = ROUNDS) -> list[Line]:
    """Medians of so many starts on this data folder, and of as many bare windows."""
    _compile()
    ratios, bare, ours, busy = [], [], [], []
    for number in range(-1, rounds):
        (floor,) = _run("benchmarks.bare_window")
        took, worked = _run("benchmarks.start", str(folder))
        if number >= 0:  # the first of each only reads the files into memory
            bare.append(floor)
            ours.append(took)
            busy.append(worked)
            ratios.append(took / floor)
    return [
        Line("a bare window of Qt, from the start of its process to painted", median(bare), "ms"),
        Line(NAME, median(ours), "ms", START_MS, busy_ms=median(busy)),
        Line("so many times as long as the bare window", median(ratios), "times"),
    ]


async def answered(application: Application) -> None:
    """Ask the capture port for an endpoint that is not there. On a team's store the window has none by itself."""
    if application.addresses.listening is None:
        return
    reader, writer = await asyncio.open_connection(*application.addresses.listening)
    writer.write(b"GET /catch/not-there HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    if b" 404 " not in await reader.readline():
        raise BenchError("the capture port did not answer")
    writer.close()


class Start:
    """A start of the program that began at `began` (monotonic seconds)."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._task: asyncio.Task[None]
        self.result: tuple[float, float] | None = None

    def begin(self, ready: Ready) -> None:
        """Look on, once the window is there."""
        self._task = asyncio.get_running_loop().create_task(self._look(ready), name="look on")

    async def _look(self, ready: Ready) -> None:
        from benchmarks.painted import Painted  # Qt: the program loads it first, and in its own way

        try:
            await Painted(ready.window).wait()
            await answered(ready.application)
            self.result = (time.monotonic() - self._began) * 1000, time.process_time() * 1000
        finally:
            ready.window.close()


def _compile() -> None:
    """As an installed program is: what its files compile to is not a part of each start."""
    for name in ("app", "benchmarks"):
        compileall.compile_dir(ROOT / name, quiet=2)


def _run(module: str, *arguments: str) -> list[float]:
    command = [sys.executable, "-m", module, *arguments, repr(time.monotonic())]
    environment = with_screen()
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    if done.returncode or not done.stdout:
        raise BenchError(f"{module} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return [float(number) for number in done.stdout.split()]


def main() -> int:
    """Print the milliseconds it took and those on the processor."""
    parser = argparse.ArgumentParser(prog="benchmarks.start")
    parser.add_argument("folder", type=Path)
    parser.add_argument("began", type=float)
    options = parser.parse_args()
    leave_out()
    start = Start(options.began)
    code = show_window(WindowOptions(data_dir=options.folder, port=0, api_port=0), start.begin)
    if start.result is not None:
        print(*start.result)
    return code


if __name__ == "__main__":
    sys.exit(main())
