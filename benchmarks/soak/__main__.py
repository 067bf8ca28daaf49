"""`python -m benchmarks.soak`: is the program as well after half an hour of everything as it was at the beginning?

It runs with its window, which somebody uses, under captures, forwards, searches, deletes, retention and changes. Each
minute a row is printed. Ends with 1 when memory, descriptors, threads or the database grow in the second half, when
something acknowledged is missing or something deleted is there, and when an error was answered or logged.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.endpoints import add_endpoints
from benchmarks.process_stats import Growth, Stats, stats_of, trend, troubles_in
from benchmarks.programs import BenchError, Running, fresh_folder, running
from benchmarks.soak import purges
from benchmarks.soak.ledger import Ledger
from benchmarks.soak.target import Target
from benchmarks.soak.traffic import ENDPOINTS, Traffic

MINUTE_S = 60.0
JUDGED_S = 240.0
"""A shorter run says nothing about growth: the store is still filling."""
MEMORY = {"share": 0.05, "spare": 6.0}
DESCRIPTORS = {"share": 0.0, "spare": 3.0}
THREADS = {"share": 0.0, "spare": 1.0}
DATABASE = {"share": 0.1, "spare": 25.0}
"""As much as comes in between two times that an endpoint is cleared, which depends on the machine's pace."""
SHOWN = 20
FILES = ("hookline.db", "hookline.db-wal", "search.db", "search.db-wal")
HEADER = (
    f"{'minute':>6}{'captures/s':>11}{'p50 ms':>8}{'p99 ms':>8}{'MiB':>7}{'fds':>5}{'threads':>8}{'disk MiB':>9}"
    f"{'gap ms':>8}{'wrong':>6}"
)


@dataclass
class Samples:
    """One look a second."""

    stats: list[Stats] = field(default_factory=list)
    disk_mib: list[float] = field(default_factory=list)

    def growths(self) -> list[Growth]:
        """Of the second half, if the run was long enough."""
        if not self.stats or self.stats[-1].at - self.stats[0].at < JUDGED_S:
            return []
        return [
            trend("memory", [one.resident_mib for one in self.stats], "MiB", **MEMORY),
            trend("descriptors", [float(one.descriptors) for one in self.stats], "open", **DESCRIPTORS),
            trend("threads", [float(one.threads) for one in self.stats], "threads", **THREADS),
            trend("database", self.disk_mib, "MiB", **DATABASE),
        ]


class Meter:
    """Samples the program each second, and prints a row each minute."""

    def __init__(self, program: Running, traffic: Traffic, beats: Path) -> None:
        self._program, self._traffic, self._beats = program, traffic, beats
        self.samples = Samples()
        self._begun = self._last = time.monotonic()
        self._captures = 0
        self._read = 0

    async def run(self, seconds: float) -> None:
        """Until the time is over or the traffic stops."""
        print(HEADER, flush=True)
        end, minute = self._begun + seconds, 1
        while time.monotonic() < end and not self._traffic.stop.is_set():
            await asyncio.sleep(min(1.0, max(0.0, end - time.monotonic())))
            self._sample()
            if time.monotonic() >= min(end, self._begun + minute * MINUTE_S):
                self._row()
                minute += 1
        self._traffic.stop.set()

    def _sample(self) -> None:
        self.samples.stats.append(stats_of(self._program.process.pid))
        sizes = [(self._program.data / name).stat().st_size for name in FILES if (self._program.data / name).exists()]
        self.samples.disk_mib.append(sum(sizes) / 2**20)

    def _longest_gap(self) -> float:
        """Since the last row; 0 as long as the window has told none."""
        if not self._beats.exists():
            return 0.0
        with self._beats.open() as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind("\n") + 1]
        self._read += len(whole)
        return max((float(json.loads(line)["longest_ms"]) for line in whole.splitlines()), default=0.0)

    def _row(self) -> None:
        now, traffic = time.monotonic(), self._traffic
        latencies = sorted(traffic.latencies)
        traffic.latencies.clear()
        rate = (traffic.captures - self._captures) / (now - self._last)
        self._captures, self._last = traffic.captures, now
        p50, p99 = (latencies[int(len(latencies) * share)] * 1000 if latencies else 0.0 for share in (0.5, 0.99))
        stats = self.samples.stats[-1]
        print(
            f"{(now - self._begun) / MINUTE_S:>6.1f}{rate:>11.1f}{p50:>8.1f}{p99:>8.1f}{stats.resident_mib:>7.0f}"
            f"{stats.descriptors:>5}{stats.threads:>8}{self.samples.disk_mib[-1]:>9.1f}{self._longest_gap():>8.0f}"
            f"{len(traffic.problems):>6}",
            flush=True,
        )


async def _soak(program: Running, beats: Path, ledger: Ledger, options: argparse.Namespace) -> tuple[Meter, Traffic]:
    seconds = options.minutes * MINUTE_S
    target = Target(options.seed)
    url = await target.start()
    traffic = Traffic(program, target, ledger, options.seed, seconds)
    meter = Meter(program, traffic, beats)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, traffic.stop.set)
    running_traffic = asyncio.create_task(traffic.run(url), name="traffic")
    try:
        await meter.run(seconds)
    finally:
        traffic.stop.set()
        await asyncio.wait((running_traffic,))
        await target.stop()
    running_traffic.result()
    return meter, traffic


def run(options: argparse.Namespace) -> tuple[list[str], Samples]:
    """One run on a program of its own: what is wrong, and what was measured."""
    ledger = Ledger()
    with fresh_folder("hookline-soak-") as folder:
        data, log, beats = folder / "data", folder / "program.log", folder / "beats.jsonl"
        add_endpoints(data, ENDPOINTS)
        asyncio.run(purges.prepare(data))
        with running(data, log, "-m", "benchmarks.soak.window", "--beats", str(beats)) as program:
            meter, traffic = asyncio.run(_soak(program, beats, ledger, options))
        wrong = list(traffic.problems)
        if program.process.returncode:
            wrong.append(f"the program ended with {program.process.returncode}")
        wrong += [f"the program printed: {line}" for line in troubles_in(log)]
        wrong += ledger.disagreements(data)
    done = {"captures acknowledged": traffic.captures, **traffic.done}
    print(", ".join(f"{name} {count:,}" for name, count in done.items()))
    return wrong, meter.samples


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when all is flat and right, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (30)")
    parser.add_argument("--seed", type=int, default=1, help="decides the mix (1)")
    options = parser.parse_args(arguments)
    try:
        wrong, samples = run(options)
    except BenchError as error:
        print(f"soak broke: {error}", file=sys.stderr)
        return 1
    growths = samples.growths()
    for growth in growths:
        print(growth)
    for text in wrong[:SHOWN]:
        print(f"WRONG {text}")
    grown = [growth.name for growth in growths if not growth.accepted]
    if not growths:
        print(f"too short to judge growth: that takes {JUDGED_S / MINUTE_S:.0f} minutes")
    elif not grown:
        print("flat")
    else:
        print(f"not flat: {', '.join(grown)}")
    print("nothing is wrong" if not wrong else f"{len(wrong)} things are wrong")
    return 1 if wrong or grown else 0


if __name__ == "__main__":
    raise SystemExit(main())
