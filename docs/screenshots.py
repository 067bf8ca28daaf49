"""The picture book: `make screenshots` renders every screen, light and dark, into `docs/screenshots/`.

Fills a temporary data folder through the real server, with a real mirror target, then walks the real window through its
screens without a display.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# The platform has to be chosen before Qt is imported.
# ruff: noqa: E402
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QWidget

from app.cli.options import WindowOptions
from app.core.model import Endpoint
from app.ui.about.dialog import AboutDialog
from app.ui.about.licences import LicencesDialog
from app.ui.commands.sheet import ShortcutSheet
from app.ui.dashboard.page import MEASURE_MS
from app.ui.detail.detail_pane import BODY, MIRROR, TABS
from app.ui.forms.endpoint_dialog import EndpointDialog
from app.ui.frame.sidebar import ALL_REQUESTS, DASHBOARD, REFUSED
from app.ui.messages import Message
from app.ui.settings.dialog import SettingsDialog
from app.ui.widgets.question import Question
from app.windowed import Ready, run_window
from docs import picture_data

OUT = ROOT / "docs" / "screenshots"
SIZES = ((1280, 800), (1920, 1080))
STORAGE_ADVICE = "Senders are answered 503 and can try again; capturing goes on by itself as soon as it can."

D = TypeVar("D", bound=QDialog)


class Target(BaseHTTPRequestHandler):
    """A mirror's target that says yes in JSON."""

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


def free_port() -> int:
    """A port where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def main() -> int:
    """Render all pictures; the exit code."""
    OUT.mkdir(parents=True, exist_ok=True)
    target = ThreadingHTTPServer(("127.0.0.1", 0), Target)
    threading.Thread(target=target.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        options = WindowOptions(
            data_dir=Path(folder), port=free_port(), api_port=free_port(), base_url="https://hooks.example.org"
        )
        book = PictureBook(f"http://127.0.0.1:{target.server_port}/webhooks", f"http://127.0.0.1:{free_port()}/")
        code = run_window(options, book.start)
    target.shutdown()
    return code or int(not book.done)


class PictureBook:
    """Walks the window through its screens and saves each in both themes and sizes."""

    def __init__(self, mirror_url: str, dead_url: str) -> None:
        self._mirror_url, self._dead_url = mirror_url, dead_url
        self._rng = random.Random(7)
        self._ready: Ready
        self._task: asyncio.Task[None]
        self.done = False

    def start(self, ready: Ready) -> None:
        """Begin, once the window is there."""
        self._ready = ready
        self._task = asyncio.get_running_loop().create_task(self._walk(), name="picture-book")

    async def _walk(self) -> None:
        try:
            await self._pages()
            self.done = True
        finally:
            self._ready.window.close()

    async def _pages(self) -> None:
        window = self._ready.window
        await self._save("first-run")
        stripe, github, shopify, slack, deploy, partner = await self._make_endpoints()
        window.show_endpoint(slack.id)
        await self._save("waiting")
        await self._fill(stripe, [picture_data.stripe(self._rng) for _ in range(120)])
        await self._fill(github, [picture_data.github(self._rng) for _ in range(48)])
        await self._fill(shopify, [picture_data.shopify(self._rng) for _ in range(7)])
        await self._fill(deploy, [picture_data.github(self._rng) for _ in range(5)])
        await self._fill(partner, picture_data.odd(self._rng))
        await self._refuse(deploy)
        await self._lists(stripe, shopify, deploy)
        await self._bodies(partner)
        await self._commands(stripe)
        await self._hand(stripe)
        await self._dialogs(stripe)

    async def _commands(self, stripe: Endpoint) -> None:
        window, palette = self._ready.window, self._ready.window.commands.palette
        window.requests.filter.bar.saved.filters.save("Failed payments", "provider:stripe event:charge.failed since:7d")
        window.show_endpoint(stripe.id)
        await self._open("POST")
        palette.open()
        for name, text in (("", ""), ("-matches", "copy"), ("-endpoints", "st"), ("-filter", "method:POST since:2h")):
            palette.field.setText(text)
            await self._save(f"palette{name}")
        palette.field.setText("no such thing")
        await self._save("palette-nothing")
        palette.leave()
        window.commands.sheet.open()
        await self._save("shortcuts")
        self._dialog(ShortcutSheet).reject()

    async def _lists(self, stripe: Endpoint, shopify: Endpoint, deploy: Endpoint) -> None:
        window = self._ready.window
        for page in (DASHBOARD, ALL_REQUESTS, REFUSED):
            window.show_page(page)
            if page == DASHBOARD:
                await asyncio.sleep(MEASURE_MS / 1000)  # so seldom does it measure the store
            await self._save(page)
        window.show_endpoint(stripe.id)
        await self._open("POST")
        await self._save("request")
        for number, tab in enumerate(TABS[1:], 1):
            window.requests.detail.tabs.setCurrentIndex(number)
            await self._save(f"request-{tab.lower()}")
        window.show_endpoint(shopify.id)
        await self._open("POST")
        window.requests.detail.tabs.setCurrentIndex(MIRROR)
        await self._save("mirror-failed")
        window.show_endpoint(deploy.id)
        await self._save("inactive")

    async def _bodies(self, partner: Endpoint) -> None:
        window = self._ready.window
        window.show_endpoint(partner.id)
        for name, path in (("hostile", "/comments"), ("binary", "/avatars"), ("gzip", "/logs"), ("xml", "/soap")):
            await self._open(path)
            window.requests.detail.tabs.setCurrentIndex(BODY)
            await self._save(f"body-{name}")

    async def _hand(self, stripe: Endpoint) -> None:
        """What one does with requests: a note, the menu, many at once, the list held still, one in its own window."""
        window, page, captures = self._ready.window, self._ready.window.requests, self._ready.application.store.captures
        window.show_endpoint(stripe.id)
        await self._open("POST")
        rows = [page.feed.model.summary(row) for row in range(12)]
        await captures.star([rows[0].id, rows[4].id, rows[5].id])
        await captures.set_note(
            rows[0].id, "Arrived twice: see the ticket about retries.\nAsk billing before replaying it."
        )
        await captures.set_note(rows[7].id, "A good example for the tests.")
        page.detail.tabs.setCurrentIndex(BODY)
        await self._save("note")
        page.detail.head.note.start()
        await self._save("note-writing")
        page.detail.head.note.cancel()
        await self._save("request-menu", self._draw_menu)
        page.list.select_row(1)
        for _ in range(6):
            QTest.keyClick(page.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
        await self._save("selected")
        page.commands.clear_selection()
        window.pause.set(True)
        await self._fill(stripe, [picture_data.stripe(self._rng) for _ in range(7)])
        await self._save("paused")
        window.pause.set(False)
        page.windows.open(rows[0])
        own = page.windows.open_now[rows[0].id]
        await asyncio.sleep(0.5)
        for scheme in ("light", "dark"):
            self._ready.theme.set_choice(scheme)
            await asyncio.sleep(0.35)
            _write(own.grab(), OUT / f"own-window-{scheme}.png")
        own.close()

    def _draw_menu(self, picture: QPixmap) -> None:
        page = self._ready.window.requests
        menu = page.commands.list.menu_of_selected()
        place = page.list.visualRect(page.list.currentIndex()).bottomLeft() + QPoint(84, 0)
        painter = QPainter(picture)
        painter.drawPixmap(page.list.viewport().mapTo(self._ready.window, place), menu.grab())
        painter.end()
        menu.deleteLater()

    async def _dialogs(self, stripe: Endpoint) -> None:
        window, actions = self._ready.window, self._ready.window.actions_on_endpoints
        window.show_page(DASHBOARD)
        actions.create()
        await self._save("new-endpoint")
        self._dialog(EndpointDialog).form.more_button.click()
        self._dialog(EndpointDialog).form.forward_url.insert("ftp://example.org")
        await self._save("new-endpoint-more")
        self._dialog(EndpointDialog).reject()
        actions.delete(stripe)
        await self._save("delete")
        self._dialog(Question).reject()
        window.open_settings()
        await self._save("settings")
        self._dialog(SettingsDialog).reject()
        window.about.open()
        await self._save("about")
        self._dialog(AboutDialog).show_licences()
        await self._save("licences")
        self._dialog(LicencesDialog).reject()
        self._dialog(AboutDialog).reject()
        self._ready.messages.post(Message(text="The disk is full. Free some space.", advice=STORAGE_ADVICE))
        await self._save("banner")

    def _dialog(self, kind: type[D]) -> D:
        return next(dialog for dialog in self._ready.window.findChildren(kind) if dialog.isVisible())

    # -- filling --------------------------------------------------------------------------------------------------

    async def _make_endpoints(self) -> list[Endpoint]:
        make = self._ready.application.store.endpoints.create
        drafts = picture_data.endpoints(self._mirror_url, self._dead_url)
        return [await make(draft) for draft in drafts]

    async def _fill(self, endpoint: Endpoint, requests: Sequence[picture_data.Request]) -> None:
        """Send `requests` as a provider would; an endpoint that is off is switched on for as long."""
        endpoints = self._ready.application.store.endpoints
        if not endpoint.active:
            await endpoints.update(endpoint.id, replace(endpoint.draft(), active=True))
        for request in requests:
            await self._send(endpoint, request)
            await asyncio.sleep(0.005)
        if not endpoint.active:
            await endpoints.update(endpoint.id, endpoint.draft())
        await asyncio.sleep(1.0)

    async def _refuse(self, inactive: Endpoint) -> None:
        await self._send(inactive, picture_data.github(self._rng))
        unknown = replace(inactive, slug="no-such-slug")
        await self._send(unknown, picture_data.Request("GET"))
        await self._send(inactive, picture_data.Request("TRACE"))
        await self._send(unknown, picture_data.Request("GET", "/%3Cb%3Enot%20bold%3C/b%3E?" + "long=" * 60))
        await self._send(unknown, picture_data.Request("GET", " two words"))

    async def _send(self, endpoint: Endpoint, request: picture_data.Request) -> None:
        url = urlsplit(self._ready.application.local_url(endpoint))
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(request.wire(url.netloc, url.path))
        await reader.read()
        writer.close()

    async def _open(self, part: str) -> None:
        """Open the newest listed request whose method or target holds `part`."""
        page = self._ready.window.requests
        for _ in range(200):
            await asyncio.sleep(0.05)
            rows = [page.feed.model.summary(row) for row in range(page.feed.model.rowCount())]
            wanted = next((row.id for row in rows if part in f"{row.method} {row.target}"), None)
            if wanted and page.detail.capture is not None and page.detail.capture.id == wanted:
                return
            if wanted:
                page.open_request(wanted)
        raise LookupError(f"no request with {part!r} could be opened")

    # -- saving ---------------------------------------------------------------------------------------------------

    async def _save(self, name: str, over: Callable[[QPixmap], None] | None = None) -> None:
        window, theme = self._ready.window, self._ready.theme
        for scheme in ("light", "dark"):
            theme.set_choice(scheme)
            for width, height in SIZES:
                window.resize(width, height)
                await asyncio.sleep(0.35)
                path = OUT / f"{name}-{scheme}-{width}.png"
                picture = QPixmap(window.size())
                window.render(picture)
                for dialog in window.findChildren(QDialog):
                    if dialog.isVisible():
                        _place(dialog, window, picture)
                if over is not None:
                    over(picture)
                _write(picture, path)
        window.resize(*SIZES[0])


def _write(picture: QPixmap, path: Path) -> None:
    if not picture.save(str(path), "PNG"):
        raise OSError(f"{path} could not be written")


def _place(dialog: QDialog, window: QWidget, picture: QPixmap) -> None:
    """Draw `dialog` over the window's picture, centred as a window manager would place it."""
    left = (window.width() - dialog.width()) // 2
    top = (window.height() - dialog.height()) // 2
    painter = QPainter(picture)
    painter.fillRect(picture.rect(), QColor(0, 0, 0, 90))
    painter.drawPixmap(left, top, dialog.grab())
    painter.end()


if __name__ == "__main__":
    sys.exit(main())
