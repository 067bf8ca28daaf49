"""How soon the window is there: from the start of the process to the end of the window's first paint.

`python packaging/trial/first_paint.py [--runs N] [--on-screen] COMMAND…` prints each run and the median, in seconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NANOSECONDS = 1e-9


class NotPaintedError(Exception):
    """The program ended without having painted its window; the text says how it ended."""


def first_paint(command: Sequence[str], runs: int, on_screen: bool = False) -> list[float]:
    """Seconds of each of `runs` starts of `command`, by its selftest; off screen, or on the display there is.

    Each run is a process and a data folder of its own. The command runs in the checkout, so it may be
    `python -m hookline`.
    """
    trial = [*command, "selftest", "--json", *(["--on-screen"] if on_screen else [])]
    return [_first_paint(trial) for _ in range(runs)]


def _first_paint(command: list[str]) -> float:
    started = time.monotonic_ns()  # the same clock in all processes
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        painted = json.loads(done.stdout)["first_paint_ns"]
    except (ValueError, KeyError):
        painted = None
    if painted is None:
        raise NotPaintedError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return (int(painted) - started) * NANOSECONDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="how often it is started (5)")
    parser.add_argument("--on-screen", action="store_true", help="on the display, not off screen")
    parser.add_argument("command", nargs="+", help="what starts Hookline")
    options = parser.parse_args()
    seconds = first_paint(options.command, options.runs, options.on_screen)
    print(*(f"{value:.3f}" for value in seconds), f"median {statistics.median(seconds):.3f}")


if __name__ == "__main__":
    main()
