"""`python -m benchmarks.large`: is one request among a million found at once?

A store is filled with varied requests and kept in a folder between runs. Searches are measured until their first
results, through the store as the program uses it; then the program itself is started on it with its window; at last it
is measured what the index takes from captures.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import large_captures, large_search, large_window
from benchmarks.large_store import made
from benchmarks.lines import Line, exit_status
from benchmarks.programs import BenchError

ROWS = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when a bar is missed, or something broke."""
    parser = argparse.ArgumentParser(prog="benchmarks.large", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="requests in the store")
    parser.add_argument(
        "--folder", type=Path, help="where stores are kept between runs (the system's temporary folder)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="of captures with and without the index; 0: none")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of such a round")
    parser.add_argument("--searches", action="store_true", help="measure searches alone")
    options = parser.parse_args(arguments)
    base = options.folder or Path(tempfile.gettempdir()) / "hookline-bench-large"
    folder = base / f"{options.rows}"
    try:
        begin = time.perf_counter()
        if made(folder, options.rows):
            print(f"{options.rows:,} requests made in {time.perf_counter() - begin:.0f} s, in {folder}")
        lines = asyncio.run(_print_searches(folder, 60 + options.rows / 500))
        if not options.searches:
            lines += _print("the program with its window", large_window.measure(folder))
        if options.rounds and not options.searches:
            with tempfile.TemporaryDirectory(prefix="hookline-bench-") as fresh:
                lines += _print("captures", large_captures.measure(Path(fresh), options.rounds, options.seconds))
    except BenchError as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    return exit_status(lines)


async def _print_searches(folder: Path, index_limit_s: float) -> list[Line]:
    lines = []
    async for line in large_search.measure(folder, index_limit_s):
        print(line, flush=True)
        lines.append(line)
    return lines


def _print(title: str, lines: Sequence[Line]) -> Sequence[Line]:
    print(f"\n{title}")
    for line in lines:
        print(line, flush=True)
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
