"""The program with its window and somebody who uses it: looks at lists, opens requests, scrolls, filters, sets.

Appends a JSON line a second to `--beats`: the longest stretch without a turn of the window's loop, in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from itertools import cycle
from pathlib import Path

from PySide6.QtCore import QEvent, QObject

from app.cli.options import WindowOptions
from app.gui import Ready, run_window
from app.ui.shell.sidebar import ALL_REQUESTS, DASHBOARD, REFUSED
from benchmarks.window import Heartbeat

PAUSE_S, KEY_S, BEAT_S = 0.7, 0.08, 1.0
FILTERS = ("method:POST", "soak 17", "size:>1k -is:read", "json:number>100", "nowhere-to-be-found", "is:starred")


class User(QObject):
    """Does one thing after the other, until the window is hidden, as it is before it is deleted."""

    def __init__(self, beats: Path) -> None:
        super().__init__()
        self._beats = beats
        self._ready: Ready
        self._tasks: list[asyncio.Task[None]] = []
        self._heartbeat: Heartbeat

    def begin(self, ready: Ready) -> None:
        """From now on."""
        self._ready = ready
        self._heartbeat = Heartbeat()
        ready.window.installEventFilter(self)
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._use(), name="user"), loop.create_task(self._beat(), name="beats")]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let all through."""
        if event.type() == QEvent.Type.Hide and watched is self._ready.window:
            for task in self._tasks:
                task.cancel()
        return False

    async def _use(self) -> None:
        actions: Sequence[Callable[[], Awaitable[None]]] = (
            self._look_at_list,
            self._open_requests,
            self._filter,
            self._look_at_pages,
            self._scroll,
            self._set,
        )
        for action in cycle(actions):
            await action()

    async def _beat(self) -> None:
        with self._beats.open("a", buffering=1) as file:
            while True:
                await asyncio.sleep(BEAT_S)
                longest = max((length for _, length in self._heartbeat.gaps), default=0.0)
                self._heartbeat.gaps.clear()
                file.write(json.dumps({"longest_ms": round(longest * 1000, 1)}) + "\n")

    async def _look_at_list(self) -> None:
        for endpoint in self._ready.application.store.endpoints.all():
            self._ready.window.show_endpoint(endpoint.id)
            await asyncio.sleep(PAUSE_S)
        self._ready.window.show_page(ALL_REQUESTS)
        await asyncio.sleep(PAUSE_S)

    async def _open_requests(self) -> None:
        rows = self._ready.window.requests.list
        for row in (0, 3, 1, 20, 7):
            rows.select_row(row)
            await asyncio.sleep(PAUSE_S / 2)

    async def _filter(self) -> None:
        """Typed key by key, and cleared."""
        bar = self._ready.window.requests.filter.bar
        for text in FILTERS:
            for length in range(1, len(text) + 1):
                bar.line.setText(text[:length])
                await asyncio.sleep(KEY_S)
            bar.apply()
            await asyncio.sleep(PAUSE_S)
        bar.clear()
        await asyncio.sleep(PAUSE_S)

    async def _look_at_pages(self) -> None:
        for page in (DASHBOARD, REFUSED, ALL_REQUESTS):
            self._ready.window.show_page(page)
            await asyncio.sleep(PAUSE_S)

    async def _scroll(self) -> None:
        feed, bar = self._ready.window.requests.feed, self._ready.window.requests.list.verticalScrollBar()
        for _ in range(20):
            bar.setValue(bar.value() + 600)
            await asyncio.sleep(KEY_S)
        feed.tail()
        await asyncio.sleep(PAUSE_S)
        feed.head()
        await asyncio.sleep(PAUSE_S)

    async def _set(self) -> None:
        """Another theme, and another limit of bodies."""
        application = self._ready.application
        settings = application.settings
        theme = "dark" if settings.theme == "light" else "light"
        limit = settings.body_limit - 1 if settings.body_limit % 2 == 0 else settings.body_limit + 1
        await application.change_settings({"theme": theme, "body_limit": limit})
        await asyncio.sleep(PAUSE_S)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM."""
    parser = argparse.ArgumentParser(prog="benchmarks.soak.window")
    parser.add_argument("--beats", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-port", type=int, default=0)
    options = parser.parse_args(arguments)
    window = WindowOptions(data_dir=options.data_dir, port=options.port, api_port=options.api_port)
    users: list[User] = []

    def begin(ready: Ready) -> None:
        users.append(User(options.beats))
        users[0].begin(ready)

    return run_window(window, begin)


if __name__ == "__main__":
    sys.exit(main())
