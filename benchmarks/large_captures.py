"""How much the index slows captures: the server with its index behind, and without one, in turn, each time anew.

`python -m benchmarks.large_captures serve …` is `hookline serve` without an index.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from app.__main__ import main as program
from app.core.events import Event
from app.db.sqlite import store
from app.db.sqlite.search import Index
from benchmarks.lines import Line
from benchmarks.programs import hookline, run_load

CONNECTIONS, WARM_UP_S = 32, 1.0
RATIO = 0.9
"""What the index must leave of the captures a second."""


class NoIndex(Index):
    """Never begins; searches then look at every request."""

    def start(self, instance: str, newest: int) -> None:
        """Leave the index as it is: none."""

    def handle_event(self, event: Event) -> None:
        """Nothing is to be indexed."""


def measure(folder: Path, rounds: int, seconds: float) -> list[Line]:
    """Captures a second with and without, and the median of their ratios."""
    with_index, without = [], []
    for number in range(rounds):
        with_index.append(_rate(folder / f"with-{number}", seconds, "-m", "hookline", "serve"))
        without.append(_rate(folder / f"without-{number}", seconds, "-m", "benchmarks.large_captures", "serve"))
    ratio = median(one / other for one, other in zip(with_index, without, strict=True))
    return [
        Line("captures a second, index switched off", median(without), "/s"),
        Line("captures a second, index following", median(with_index), "/s"),
        Line("ratio", ratio, " ", RATIO, least=True),
    ]


def _rate(folder: Path, seconds: float, *command: str) -> float:
    folder.mkdir(parents=True)
    with hookline(folder, *command) as url:
        run_load(url, connections=CONNECTIONS, seconds=min(WARM_UP_S, seconds))  # after it the index has begun
        return run_load(url, connections=CONNECTIONS, seconds=seconds)["rate"]


if __name__ == "__main__":
    store.Index = NoIndex  # type: ignore[attr-defined]
    sys.exit(program())
