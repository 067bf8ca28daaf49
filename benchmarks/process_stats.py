"""What the system tells of another process: its memory, descriptors and threads; and whether they grow."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, linear_regression, median

from benchmarks.programs import BenchError

_TROUBLE = re.compile(
    r"Traceback|\bERROR\b|CRITICAL|Exception|Error:|was never (?:retrieved|awaited)|Task was destroyed"
)
_SHOWN = 20


@dataclass(frozen=True)
class Stats:
    """One look at a process; `at` is in monotonic seconds."""

    at: float
    resident_mib: float
    descriptors: int
    threads: int


def stats_of(pid: int) -> Stats:
    """BenchError when the process has ended, or the system tells nothing of it."""
    folder = Path("/proc") / str(pid)
    try:
        lines = (folder / "status").read_text().splitlines()
        descriptors = len(list((folder / "fd").iterdir()))
    except OSError as error:
        raise BenchError(f"the system tells nothing of process {pid}: {error}") from error
    told = {name: value for name, _, value in (line.partition(":") for line in lines)}
    if "VmRSS" not in told:
        raise BenchError(f"process {pid} has ended")
    return Stats(time.monotonic(), int(told["VmRSS"].split()[0]) / 1024, descriptors, int(told["Threads"]))


@dataclass(frozen=True)
class Growth:
    """How much a number grew, and how much it may: this share of its level, or `spare` whatever that share is."""

    name: str
    level: float
    grown: float
    unit: str
    share: float
    spare: float
    span: str

    @property
    def accepted(self) -> bool:
        """Whether it is flat."""
        return self.grown <= max(self.share * self.level, self.spare)

    def __str__(self) -> str:
        verdict = "flat" if self.accepted else "GROWS"
        bound = f"at most {self.share:.0%} or {self.spare:g} {self.unit}"
        return (
            f"{self.name:<12}{self.level:>10,.1f} {self.unit:<8}{self.grown:>+8,.1f} {self.span}: {verdict} ({bound})"
        )


def quarters(name: str, values: Sequence[float], unit: str, *, share: float, spare: float) -> Growth:
    """The median of the last quarter against that of the third, of numbers taken at an even pace."""
    quarter = max(1, len(values) // 4)
    third, last = values[-2 * quarter : -quarter] or values[-1:], values[-quarter:]
    level = median(third)
    return Growth(name, level, median(last) - level, unit, share, spare, "from the third quarter to the last")


def trend(name: str, values: Sequence[float], unit: str, *, share: float, spare: float) -> Growth:
    """What a line fitted to the second half rises by over that half."""
    half = values[len(values) // 2 :]
    slope = linear_regression(range(len(half)), half).slope if len(half) > 1 else 0.0
    return Growth(name, fmean(half), slope * len(half), unit, share, spare, "over the second half")


def troubles_in(log: Path) -> list[str]:
    """Lines of a program's output that tell of an exception or an error."""
    return [line for line in log.read_text(errors="replace").splitlines() if _TROUBLE.search(line)][:_SHOWN]
