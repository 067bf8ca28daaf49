"""The program with its window on a large store: how soon it is there (`start.py`), how it moves, what memory it takes.

Started as a module it is the program that is measured; it walks through its own window and writes the lines down.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from app.cli.options import WindowOptions
from app.core.model import PageKey
from app.db.search.scan import place_before
from app.gui import Ready, run_window
from app.ui.requests.list.feed import RequestFeed
from app.ui.shell.sidebar import ALL_REQUESTS
from benchmarks import start, started_window
from benchmarks.large_search import FIRST_MS, FIRST_ON_SERVER_MS
from benchmarks.lines import Line
from benchmarks.painted import Painted
from benchmarks.programs import ROOT, BenchError
from benchmarks.screen import with_screen

PAGE_MS, MEMORY_MIB = 50.0, 250.0
SCREENS = 60
SETTLE_S = 1.0
LIMIT_S = 60.0


def measure(folder: Path, rounds: int = start.ROUNDS) -> list[Line]:
    """Start the program on this data folder, `rounds` times only to look at the start, and read what it wrote."""
    (folder / "window.ini").unlink(missing_ok=True)  # the walk before has left its filter there
    starts = start.measure(folder, rounds)
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as place:
        lines = Path(place) / "lines.json"
        command = [sys.executable, "-m", "benchmarks.large_window", str(folder), str(lines)]
        environment = with_screen()
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=4 * LIMIT_S, check=False
        )
        if done.returncode or not lines.exists():
            raise BenchError(f"the window ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return [*starts, *(Line(**line) for line in json.loads(lines.read_text()))]


class Walk:
    """Through the window of the program."""

    def __init__(self) -> None:
        self._ready: Ready
        self._task: asyncio.Task[None]
        self.lines: list[Line] = []

    def start(self, ready: Ready) -> None:
        """Begin, once the window is there."""
        self._ready = ready
        self._task = asyncio.get_running_loop().create_task(self._walk(), name="walk")

    def require_end(self) -> None:
        """What went wrong on the way, if anything did."""
        self._task.result()

    async def _walk(self) -> None:
        window = self._ready.window
        try:
            await Painted(window).wait()
            await started_window.answered(self._ready.application)
            self._remember("memory once painted and answering")
            # Until then each module holds the window up for a moment, as in none of the hours after.
            await _until(lambda: all(task.get_name() != "load the rest" for task in asyncio.all_tasks()))
            await self._lists()
            await self._scroll()
            await self._search("needle-halfway")
            self._remember("memory after lists, scrolling and a search")
        finally:
            window.close()

    async def _lists(self) -> None:
        window = self._ready.window
        begin = time.monotonic()
        window.show_page(ALL_REQUESTS)
        await self._loaded("All requests, first page in the list", begin)
        for endpoint in self._ready.application.store.endpoints.all():
            begin = time.monotonic()
            window.show_endpoint(endpoint.id)
            await self._loaded(f"{endpoint.name}, first page in the list", begin)
        window.show_page(ALL_REQUESTS)
        await _until(lambda: not self._feed.pager.jumping)

    async def _loaded(self, name: str, begin: float) -> None:
        await _until(lambda: not self._feed.pager.jumping and self._feed.model.rowCount() > 0)
        self._add(name, begin, PAGE_MS)

    async def _scroll(self) -> None:
        """To the end and back, to the middle, and screen by screen."""
        if self._feed.model.rowCount() == 1:
            raise BenchError("the list is filtered: there is nothing to scroll")
        rows, bar = self._ready.window.requests.list, self._ready.window.requests.list.verticalScrollBar()
        for name, jump in (("jump to the oldest", self._feed.tail), ("jump to the newest", self._feed.head)):
            begin = time.monotonic()
            jump()
            await self._loaded(name, begin)
        longest = 0.0
        for _ in range(SCREENS):
            begin = time.monotonic()
            bar.setValue(bar.value() + rows.viewport().height())
            await asyncio.sleep(0)
            rows.viewport().repaint()
            longest = max(longest, time.monotonic() - begin)
            await asyncio.sleep(0.01)
        self.lines.append(Line(f"longest of {SCREENS} screens scrolled", longest * 1000, "ms", PAGE_MS))
        captures = self._ready.application.store.captures
        (oldest,) = await captures.page(None, after=PageKey(received_at=-1, id=""), limit=1)
        newest = self._feed.model.summary(0)
        middle = place_before((oldest.received_at + newest.received_at) // 2)
        (halfway,) = await captures.page(None, before=middle, limit=1)
        begin = time.monotonic()
        rows.go_to(halfway)
        await self._loaded("jump to a request halfway", begin)

    async def _search(self, text: str) -> None:
        """What is typed waits for more to be typed; that is not counted, nor is the detail of the jump before."""
        await asyncio.sleep(SETTLE_S)
        page = self._ready.window.requests
        begin = time.monotonic()
        page.filter.bar.set_text(text)
        await _until(lambda: self._feed.model.rowCount() == 1 or not self._feed.search.busy)
        bar = FIRST_MS if self._ready.application.store.file is not None else FIRST_ON_SERVER_MS
        self._add(f"the filter {text}, found {self._feed.model.rowCount()}", begin, bar)

    @property
    def _feed(self) -> RequestFeed:
        return self._ready.window.requests.feed

    def _add(self, name: str, begin: float, bar: float) -> None:
        self.lines.append(Line(name, (time.monotonic() - begin) * 1000, "ms", bar))

    def _remember(self, name: str) -> None:
        self.lines.append(Line(name, resident_mib(), "MiB", MEMORY_MIB))


async def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            raise BenchError(f"something did not come within {LIMIT_S:.0f} s")
        await asyncio.sleep(0.001)


def resident_mib() -> float:
    """What the system counts as this process's memory now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise BenchError("this system does not tell the memory of a process")


def main() -> int:
    """Run until the walk is over."""
    parser = argparse.ArgumentParser(prog="benchmarks.large_window")
    parser.add_argument("folder", type=Path)
    parser.add_argument("lines", type=Path)
    options = parser.parse_args()
    walk = Walk()
    code = run_window(WindowOptions(data_dir=options.folder, port=0, api_port=0), walk.start)
    walk.require_end()
    options.lines.write_text(json.dumps([asdict(line) for line in walk.lines]))
    return code


if __name__ == "__main__":
    sys.exit(main())
