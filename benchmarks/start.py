"""From the start of the program's process to a window that is painted and a port that answers.

A bare window of Qt is started in turn with it: what a machine is busy with at the moment weighs on both, so their
ratio says more than the milliseconds.
"""

from __future__ import annotations

import compileall
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.lines import Line
from benchmarks.programs import ROOT, BenchError
from benchmarks.screen import with_screen

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
        took, worked = _run("benchmarks.started_window", str(folder))
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
