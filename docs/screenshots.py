"""The picture book: `make screenshots` renders every screen, light and dark, into `docs/screenshots/`.

Fills a temporary data folder through the real server, with a real target, then walks the window through its screens
without a display. Names of chapters (`lists bodies filters hand deliveries replay dialogs comparison tunnel`) draw only
those. `--size 911x512@1.5` draws each picture as on a screen of that size and scale alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SCREENS = Path(tempfile.gettempdir()) / f"hookline-book-{os.getpid()}.json"
os.environ.setdefault("QT_QPA_PLATFORM", f"offscreen:configfile={SCREENS}")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# The platform has to be chosen before Qt is imported.
# ruff: noqa: E402
from msgspec.structs import replace
from PySide6.QtGui import QIcon

from app import window_session
from app.cli.options import WindowOptions
from app.core.model import Endpoint
from app.gui import Ready, run_window
from app.ui.dashboard import MEASURE_MS
from app.ui.desktop.tray import SystemTray
from app.ui.inspector.request_view import BODY, DELIVERIES, TABS, TOKENS
from app.ui.shell import main_window
from app.ui.shell.sidebar import ALL_REQUESTS, DASHBOARD, REFUSED
from docs import (
    book_bodies,
    book_comparison,
    book_deliveries,
    book_filters,
    book_hand,
    book_replay,
    book_tunnel,
    picture_data,
)
from docs.book import SIZES, Book

OUT = ROOT / "docs" / "screenshots"


class Target(BaseHTTPRequestHandler):
    """A forward target that says yes in JSON."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = b'{"received":true,"queued":"billing"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own name
        """Say nothing."""


class PictureTray(SystemTray):
    """A tray that is there, so that the settings are those of a desktop."""

    def available(self) -> bool:
        """It is."""
        return True

    def show(self, icon: QIcon, tooltip: str) -> None:
        """Nowhere."""

    def can_show_message(self) -> bool:
        """As most desktops."""
        return True


def free_port() -> int:
    """A port where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def arguments() -> argparse.Namespace:
    """What to draw, and where to."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the window.")
    parser.add_argument("chapters", nargs="*", help="only these")
    parser.add_argument("--size", metavar="WIDTHxHEIGHT[@SCALE]", help="of the screen, which the window fills")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder of the pictures")
    return parser.parse_args()


def set_screen(size: str | None) -> tuple[int, int] | None:
    """Menus, tooltips and dialogs keep to the screen; the size of the window, if it fills that."""
    logical, _, scale = (size or "2560x1440").partition("@")
    width, height = map(int, logical.split("x"))
    os.environ["QT_SCALE_FACTOR"] = scale = scale or "1"
    screen = {"width": round(width * float(scale)), "height": round(height * float(scale))}
    SCREENS.write_text(json.dumps({"screens": [{"name": "book", "x": 0, "y": 0, **screen}]}), encoding="utf-8")
    return (width, height) if size else None


def main() -> int:
    """Render the pictures; the exit code."""
    wanted = arguments()
    only = set_screen(wanted.size)
    wanted.out.mkdir(parents=True, exist_ok=True)
    main_window.SystemTray = PictureTray  # type: ignore[attr-defined]
    window_session.services_of = book_tunnel.services_of  # type: ignore[assignment]
    target = ThreadingHTTPServer(("127.0.0.1", 0), Target)
    threading.Thread(target=target.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        options = WindowOptions(
            data_dir=Path(folder), port=free_port(), api_port=free_port(), base_url="https://hooks.example.org"
        )
        walk = Walk(
            f"http://127.0.0.1:{target.server_port}/webhooks",
            f"http://127.0.0.1:{free_port()}/",
            wanted.chapters,
            partial(Book, out=wanted.out, only=only),
        )
        code = run_window(options, walk.start)
    target.shutdown()
    SCREENS.unlink()
    return code or int(not walk.done)


class Walk:
    """Leads through the chapters, and closes the window at the end."""

    def __init__(self, target_url: str, dead_url: str, chapters: list[str], make: Callable[[Ready], Book]) -> None:
        self._target_url, self._dead_url, self._chapters, self._make = target_url, dead_url, chapters, make
        self._book: Book
        self._task: asyncio.Task[None]
        self.done = False

    def start(self, ready: Ready) -> None:
        """Begin, once the window is there."""
        self._book = self._make(ready)
        self._task = asyncio.get_running_loop().create_task(self._walk(), name="picture-book")

    async def _walk(self) -> None:
        try:
            await self._pages()
            self.done = True
        except Exception:
            traceback.print_exc()
        finally:
            self._book.window.quit()

    def _wanted(self, chapter: str) -> bool:
        return not self._chapters or chapter in self._chapters

    async def _pages(self) -> None:
        book = self._book
        if self._wanted("lists"):
            await book.save("first-run", SIZES)
        drafts = picture_data.endpoints(self._target_url, self._dead_url)
        made = [await book.store.endpoints.create(draft) for draft in drafts]
        stripe, github, shopify, slack, deploy, partner = made
        if self._wanted("lists"):
            book.window.show_endpoint(slack.id)
            await book.save("waiting")
        await book.fill(stripe, [picture_data.stripe(book.rng) for _ in range(120)], minutes=52)
        await book.fill(github, [picture_data.github(book.rng) for _ in range(48)], minutes=55)
        await book.fill(shopify, [picture_data.shopify(book.rng) for _ in range(7)], minutes=25)
        await book.fill(deploy, [picture_data.github(book.rng) for _ in range(5)], minutes=50)
        await self._refuse(deploy)
        if self._wanted("bodies"):
            await book_bodies.draw(book, partner)
        else:
            await book.fill(partner, picture_data.odd(book.rng), minutes=50)
        chapters: dict[str, Callable[[], Awaitable[None]]] = {
            "lists": lambda: self._lists(stripe, shopify, deploy),
            "hand": lambda: book_hand.draw_hand(book, stripe),
            "filters": lambda: book_filters.draw(book, stripe, shopify),
            "deliveries": lambda: book_deliveries.draw(book),
            "replay": lambda: book_replay.draw(book, stripe, partner),
            "dialogs": lambda: book_hand.draw_dialogs(book, stripe),
            "comparison": lambda: book_comparison.draw(book),
            "tunnel": lambda: book_tunnel.draw(book, stripe, github),
        }
        for chapter, draw in chapters.items():
            if self._wanted(chapter):
                await draw()

    async def _lists(self, stripe: Endpoint, shopify: Endpoint, deploy: Endpoint) -> None:
        book, tabs = self._book, self._book.detail.tabs
        for page in (DASHBOARD, ALL_REQUESTS, REFUSED):
            if page == ALL_REQUESTS:
                await book.show(None)
            else:
                book.window.show_page(page)
            if page == DASHBOARD:
                await asyncio.sleep(MEASURE_MS / 1000)  # so seldom does it measure the store
            await book.save(page, SIZES)
        await book.show(stripe)
        await book.open("POST")
        await book.save("request", SIZES)
        for number, tab in enumerate(TABS[1:TOKENS], 1):
            tabs.setCurrentIndex(number)
            await book.save(f"request-{tab.lower()}")
        tabs.setCurrentIndex(BODY)
        await book.show(shopify)
        await book.open("POST")
        tabs.setCurrentIndex(DELIVERIES)
        await book.save("delivery-failed")
        tabs.setCurrentIndex(BODY)
        await book.show(deploy)
        await book.save("inactive")

    async def _refuse(self, inactive: Endpoint) -> None:
        """Requests that no endpoint takes."""
        send = self._book.send
        await send(inactive, picture_data.github(self._book.rng))
        unknown = replace(inactive, slug="no-such-slug")
        await send(unknown, picture_data.Request("GET"))
        await send(inactive, picture_data.Request("TRACE"))
        await send(unknown, picture_data.Request("GET", "/%3Cb%3Enot%20bold%3C/b%3E?" + "long=" * 60))
        await send(unknown, picture_data.Request("GET", " two words"))


if __name__ == "__main__":
    sys.exit(main())
