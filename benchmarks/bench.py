"""`python -m benchmarks.bench`: captures a second against a bare aiohttp handler, how long the window stands still, and
what slow senders do to others and to memory.

All programs run at once and are loaded in turn, round after round; medians of rounds that lie close together in
time cancel out what else the machine is doing. Takes about two minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.lines import Line as Measured
from benchmarks.lines import exit_status
from benchmarks.programs import BenchError, bare, hookline, run_load, run_slow_senders

BARE, HEADLESS, WINDOW, LIST = "bare aiohttp", "hookline serve", "hookline, window", "hookline, list in view"
MISS = "MISSED"
PAUSE_S = 0.2
GAP_RATE, GAP_SECONDS, GAP_SETTLE_S = 500, 10.0, 0.5
BEATS_LEAST = 10
"""A second, of the thousand that an idle window has."""


@dataclass(frozen=True)
class Bar:
    """The least that is accepted, and what is aimed at."""

    least: float
    aim: float

    def verdict(self, ratio: float) -> str:
        """One word, and the aim when it was not reached."""
        if ratio >= self.aim:
            return "pass"
        return f"{'pass' if ratio >= self.least else MISS}, aim {self.aim:.2f}"


BARS = {HEADLESS: Bar(0.55, 0.60), WINDOW: Bar(0.45, 0.50), LIST: Bar(0.45, 0.50)}
GAP_BAR_MS = 50.0
SLOW_S, SLOW_BAR_MS, MEMORY_BAR_MIB = 8.0, 100.0, 64.0


@dataclass(frozen=True)
class Line:
    """Medians over the rounds of one program with so many connections; `ratio` is to the bare handler's rate."""

    name: str
    connections: int
    rate: float
    p50_ms: float
    p99_ms: float
    ratio: float
    verdict: str = ""


@dataclass(frozen=True)
class Gap:
    """The longest stretch without a turn of the window's loop while `rate` captures a second came in.

    `idle_ms` is what a process that only sleeps was kept waiting meanwhile: the machine's own share in it.
    """

    rate: float
    longest_ms: float
    idle_ms: float
    p50_ms: float
    p99_ms: float
    verdict: str


def throughput(folder: Path, rounds: int, seconds: float) -> list[Line]:
    """All programs side by side: with 32 connections against the bars, with 128 for information."""
    with ExitStack() as stack:
        urls = {
            BARE: stack.enter_context(bare(_made(folder / "bare"))),
            HEADLESS: stack.enter_context(hookline(_made(folder / "serve"), "-m", "hookline", "serve")),
            WINDOW: stack.enter_context(hookline(_made(folder / "window"), "-m", "hookline")),
            LIST: stack.enter_context(hookline(_made(folder / "list"), "-m", "benchmarks.window")),
        }
        _rounds(urls, 32, 1, 1.0)  # warm-up
        return [*_rounds(urls, 32, rounds, seconds), *_rounds(urls, 128, max(2, rounds // 2), seconds)]


def _rounds(urls: dict[str, str], connections: int, rounds: int, seconds: float) -> list[Line]:
    results: dict[str, list[dict[str, float]]] = {name: [] for name in urls}
    for _ in range(rounds):
        for name, url in urls.items():
            results[name].append(run_load(url, connections=connections, seconds=seconds))
            time.sleep(PAUSE_S)
    lines = []
    for name, of_name in results.items():
        pairs = zip(of_name, results[BARE], strict=True)
        ratio = median(own["rate"] / yardstick["rate"] for own, yardstick in pairs)
        bar = BARS.get(name) if connections == 32 else None
        lines.append(
            Line(
                name=name,
                connections=connections,
                rate=median(one["rate"] for one in of_name),
                p50_ms=median(one["p50_ms"] for one in of_name),
                p99_ms=median(one["p99_ms"] for one in of_name),
                ratio=round(ratio, 3),
                verdict=bar.verdict(ratio) if bar else "",
            )
        )
    return lines


def longest_gap(folder: Path) -> Gap:
    """Load the window at a steady 500 a second, and read its heartbeat."""
    gaps = _made(folder) / "gaps.json"
    with hookline(folder, "-m", "benchmarks.window", "--gaps", str(gaps)) as url:
        run_load(url, connections=8, seconds=1.0, rate=GAP_RATE)
        begin = time.monotonic() + GAP_SETTLE_S
        with ThreadPoolExecutor(1) as pool:
            load = pool.submit(run_load, url, connections=32, seconds=GAP_SECONDS, rate=GAP_RATE)
            idle = _longest_sleep(load)
        result = load.result()
        end = time.monotonic()
    if not gaps.exists():
        raise BenchError("the window did not write its heartbeat down")
    longest = longest_of(json.loads(gaps.read_text()), begin, end)
    verdict = "pass" if longest <= GAP_BAR_MS else MISS
    rate = result["requests"] / result["seconds"]
    return Gap(round(rate, 1), round(longest, 1), round(idle, 1), result["p50_ms"], result["p99_ms"], verdict)


def longest_of(heartbeat: dict[str, Any], begin: float, end: float) -> float:
    """Milliseconds of the longest gap between two moments. BenchError if the heartbeat did not beat."""
    if heartbeat["beats"] < (end - begin) * BEATS_LEAST:
        raise BenchError(f"the window's heartbeat beat {heartbeat['beats']} times in {end - begin:.0f} s")
    return max((length for at, length in heartbeat["gaps"] if begin <= at <= end), default=0.0) * 1000


def slow_senders(folder: Path) -> list[Measured]:
    """What new senders wait behind 1,000 slow ones, and the memory that 500 unfinished bodies take."""
    with hookline(_made(folder), "-m", "hookline", "serve") as url:
        found = run_slow_senders(url, folder / "data", seconds=SLOW_S)
    waiting, memory = found["waiting"], found["memory"]
    return [
        Measured("new senders behind 1,000 slow ones: p50", waiting["p50_ms"], "ms"),
        Measured("new senders behind 1,000 slow ones: p99", waiting["p99_ms"], "ms", SLOW_BAR_MS),
        Measured(f"  of {waiting['senders']}, refused", waiting["refused"], "", 0),
        Measured("500 bodies of 1 MB without their last byte: memory", memory["held_mib"], "MiB", MEMORY_BAR_MIB),
        Measured("  3 s after they are complete", memory["after_mib"], "MiB"),
        Measured("  not captured then", 500 - memory["captured"], "", 0),
    ]


def _longest_sleep(load: Future[dict[str, float]]) -> float:
    """Milliseconds that the longest of many short sleeps took while `load` went on."""
    longest, last = 0.0, time.monotonic()
    while not load.done():
        time.sleep(0.002)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    return longest * 1000


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def table(lines: Sequence[Line], gap: Gap, slow: Sequence[Measured]) -> str:
    """For people."""
    rows = [f"400-byte JSON POST, Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}", ""]
    for connections in sorted({line.connections for line in lines}):
        note = "" if connections == 32 else " (information)"
        head = f"{connections} connections{note}"
        rows.append(f"{head:<31}{'requests/s':>11}{'p50 ms':>9}{'p99 ms':>9}{'ratio':>8}{'bar':>7}")
        for line in lines:
            if line.connections == connections:
                bar = BARS.get(line.name) if connections == 32 else None
                least = f"{bar.least:.2f}" if bar else ""
                numbers = f"{line.rate:>11,.0f}{line.p50_ms:>9.2f}{line.p99_ms:>9.2f}{line.ratio:>8.3f}{least:>7}"
                rows.append(f"  {line.name:<29}{numbers}  {line.verdict}".rstrip())
        rows.append("")
    rows.append(f"window at {gap.rate:.0f} captures/s{'p50 ms':>17}{'p99 ms':>9}{'gap ms':>8}{'bar':>7}")
    numbers = f"{gap.p50_ms:>9.2f}{gap.p99_ms:>9.2f}{gap.longest_ms:>8.1f}{GAP_BAR_MS:>7.0f}"
    rows.append(f"  {'longest without a turn':<40}{numbers}  {gap.verdict}")
    rows.append(f"  {'an idle process meanwhile':<58}{gap.idle_ms:>8.1f}")
    rows += ["", *map(str, slow)]
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when a bar is missed, or something broke."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, choices=range(1, 10), help="rounds for each program")
    parser.add_argument("--seconds", type=float, default=1.2, help="length of one round")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
            lines = throughput(Path(folder), options.rounds, min(options.seconds, 3.0))
            gap = longest_gap(Path(folder) / "gap")
            slow = slow_senders(Path(folder) / "slow") if sys.platform == "linux" else []  # it reads /proc
    except BenchError as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    if options.json:
        throughput_lines, slow_lines = [asdict(line) for line in lines], [asdict(line) for line in slow]
        print(json.dumps({"throughput": throughput_lines, "window": asdict(gap), "slow_senders": slow_lines}, indent=2))
    else:
        print(table(lines, gap, slow))
    verdicts = [*(line.verdict for line in lines), gap.verdict]
    return int(any(verdict.startswith(MISS) for verdict in verdicts)) or exit_status(slow)


if __name__ == "__main__":
    raise SystemExit(main())
