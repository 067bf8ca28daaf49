"""`python -m benchmarks.processor_time`: the processor time that the program takes for a capture, headless, as a share
of what a bare aiohttp handler takes for a request.

Both run at once and are loaded in turn, in short rounds: what else the machine does changes the time itself, through
shared caches, and in rounds that lie close together both alike.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.lines import Line, exit_status
from benchmarks.load import BadAnswerError, load
from benchmarks.programs import BenchError, bare_process, fresh_folder, make_endpoint, running

CONNECTIONS = 32, 128
BAR_PERCENT = 125
ROUNDS, ROUND_S = 40, 0.2


def measure(folder: Path, rounds: int) -> list[Line]:
    """Medians of the rounds, and of the ratios of rounds that follow each other."""
    with ExitStack() as stack:
        data = folder / "data"
        slug = make_endpoint(data)
        bare_id, bare_url = stack.enter_context(bare_process(folder))
        program = stack.enter_context(running(data, folder / "program.log", "-m", "hookline", "serve"))
        capture_url = f"{program.capture_url}/catch/{slug}"
        lines = []
        for connections in CONNECTIONS:
            for warm_up in (bare_url, capture_url):
                load(warm_up, connections=connections, seconds=1.0)
            pairs = [
                (
                    microseconds(program.process.pid, capture_url, connections),
                    microseconds(bare_id, bare_url, connections),
                )
                for _ in range(rounds)
            ]
            name = f"processor time, {connections} connections: "
            lines += [
                Line(f"{name}a capture", median(own for own, _ in pairs), "us"),
                Line(f"{name}a request to bare aiohttp", median(yardstick for _, yardstick in pairs), "us"),
                Line(f"{name}share", 100 * median(own / yardstick for own, yardstick in pairs), "%", BAR_PERCENT),
            ]
        return lines


def microseconds(process_id: int, url: str, connections: int) -> float:
    """What all threads of the process worked for one request, while it was under load."""
    before = worked_ns(process_id)
    answered = load(url, connections=connections, seconds=ROUND_S).requests
    return (worked_ns(process_id) - before) / answered / 1_000


def worked_ns(process_id: int) -> int:
    """As Linux counts it, to the nanosecond; threads of either program do not end meanwhile."""
    threads = (Path("/proc") / str(process_id) / "task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when the bar is missed, or something broke."""
    parser = argparse.ArgumentParser(prog="benchmarks.processor_time", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    if sys.platform != "linux":
        print("processor time is measured on Linux only: it is read from /proc")
        return 0
    try:
        with fresh_folder("hookline-bench-") as folder:
            lines = measure(folder, options.rounds)
    except (BenchError, BadAnswerError, OSError) as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    print(f"400-byte JSON POST, {os.cpu_count()} cores")
    print(*lines, sep="\n")
    return exit_status(lines)


if __name__ == "__main__":
    raise SystemExit(main())
