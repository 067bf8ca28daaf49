"""`python -m benchmarks.large`: is one request among a million found at once?

A store is filled with varied requests and kept between runs, in a folder or in a PostgreSQL database. Pages of its
lists and searches are measured, these until their first results, through the store as the program uses it; then the
program itself is started on it with its window; at last it is measured what the index of a file takes from captures.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from app.core.settings import STORE_VARIABLE
from benchmarks import large_captures, large_search, large_window
from benchmarks.large_store import Place, made
from benchmarks.lines import Line, exit_status
from benchmarks.programs import BenchError, fresh_folder, running

ROWS = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when a bar is missed, or something broke."""
    parser = argparse.ArgumentParser(prog="benchmarks.large", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="requests in the store")
    parser.add_argument(
        "--folder", type=Path, help="where stores are kept between runs (the system's temporary folder)"
    )
    parser.add_argument("--store", metavar="URL", help="a PostgreSQL database, empty or filled by this")
    parser.add_argument("--rounds", type=int, default=5, help="of captures with and without the index; 0: none")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of such a round")
    parser.add_argument("--searches", action="store_true", help="measure searches alone")
    options = parser.parse_args(arguments)
    base = options.folder or Path(tempfile.gettempdir()) / "hookline-bench-large"
    place: Place = options.store or base / f"{options.rows}"
    try:
        begin = time.perf_counter()
        if made(place, options.rows):
            print(f"{options.rows:,} requests made in {time.perf_counter() - begin:.0f} s, in {place}")
        lines = asyncio.run(_print_searches(place, 60 + options.rows / 500))
        if not options.searches:
            lines += _print("the program with its window", _programs(place))
        if options.rounds and not options.searches and options.store is None:
            with tempfile.TemporaryDirectory(prefix="hookline-bench-") as fresh:
                lines += _print("captures", large_captures.measure(Path(fresh), options.rounds, options.seconds))
    except BenchError as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    return exit_status(lines)


def _programs(place: Place) -> list[Line]:
    if isinstance(place, Path):
        return large_window.measure(place)
    os.environ[STORE_VARIABLE] = place
    with fresh_folder("hookline-bench-") as folder:
        begin = time.monotonic()
        with running(folder, folder / "node.log", "-m", "hookline", "serve"):
            took = Line("from the start of a node's process to listening", (time.monotonic() - begin) * 1000, "ms")
        return [took, *large_window.measure(folder)]


async def _print_searches(place: Place, index_limit_s: float) -> list[Line]:
    lines = []
    async for line in large_search.measure(place, index_limit_s):
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
