"""What the chapters of the picture book stand on: requests sent through the real server, and pictures of the window."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec.structs import replace
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QWidget

from app.core.activity import EMPTY_BAR
from app.core.clock import now_us
from app.core.model import Endpoint
from app.gui import Ready
from app.server.capture import reader
from app.server.capture.head import Head
from app.server.capture.reader import AnyBody, Incoming
from app.ui.desktop.notifications import NotifyMenu
from app.ui.inspector.body.body_source import LOADING
from app.ui.inspector.body.parts_view import PartsView
from app.ui.inspector.request_view import BODY, DELIVERIES
from app.ui.theme.theme import Choice
from docs import picture_data

SIZES = ((1280, 800), (1920, 1080))
SMALL = SIZES[:1]
SCHEMES: tuple[Choice, Choice] = ("light", "dark")
MINUTE = 60_000_000

D = TypeVar("D", bound=QDialog)
_Body = TypeVar("_Body", bound=AnyBody)


class Book:
    """`ready` is the running program; `save` makes the pictures of what its window shows, all of them in `only` if
    that is a size.
    """

    def __init__(self, ready: Ready, out: Path, only: tuple[int, int] | None = None) -> None:
        self._out, self._only = out, only
        self.ready, self.window = ready, ready.window
        self.page, self.detail = ready.window.requests, ready.window.requests.detail
        self.store = ready.application.store
        self.rng = random.Random(7)
        self._began = 0
        self._scheme: Choice = "light"
        self.detail.body.loader.begun.connect(self._begun)
        self.detail.body.tree.shown.connect(self._begun)

    # -- filling --------------------------------------------------------------------------------------------------

    async def fill(self, endpoint: Endpoint, requests: Sequence[picture_data.Request], minutes: int = 0) -> None:
        """Send `requests` as a provider would; an endpoint that is off is switched on for as long.

        Spread over `minutes` they arrive as if it had been at that time: only when the server read them is made up.
        """
        if not endpoint.active:
            await self.store.endpoints.update(endpoint.id, replace(endpoint.draft(), active=True))
        now = now_us()
        times = sorted(now - self._minutes_ago(minutes) for _ in requests) if minutes else []
        try:
            for number, request in enumerate(requests):
                if times:
                    reader.Incoming = _received_at(times[number])  # type: ignore[misc]
                await self.send(endpoint, request)
        finally:
            reader.Incoming = Incoming  # type: ignore[misc]
        if not endpoint.active:
            await self.store.endpoints.update(endpoint.id, endpoint.draft())
        await asyncio.sleep(0.3)

    def _minutes_ago(self, minutes: int) -> int:
        """Two waves and some now and then between them, in microseconds."""
        wave = self.rng.choice((0.15, 0.55))
        share = self.rng.random() if self.rng.random() < 0.4 else abs(self.rng.gauss(wave, 0.06))
        return int(min(share, 0.98) * minutes * MINUTE)

    async def send(self, endpoint: Endpoint, request: picture_data.Request) -> None:
        """Send one request over a connection of its own, and wait for the answer."""
        url = urlsplit(self.ready.application.addresses.local_url(endpoint.slug))
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(request.wire(url.netloc, url.path))
        await reader.read()
        writer.close()

    # -- walking --------------------------------------------------------------------------------------------------

    async def until(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait until it is so; LookupError after a minute, naming what never was."""
        for _ in range(1200):
            if condition():
                return
            await asyncio.sleep(0.05)
        raise LookupError(f"the picture book waited in vain for {what}")

    async def show(self, endpoint: Endpoint | None) -> None:
        """Show an endpoint's requests, or all, once they are listed and the chart has counted them."""
        if endpoint is None:
            self.window.show_page("all")
        else:
            self.window.show_endpoint(endpoint.id)
        await self.counted()

    async def counted(self) -> None:
        """Until the list has its rows, and the chart its bars."""
        feed, source = self.page.feed, self.page.activity.source
        await self.until("the list", lambda: not feed.pager.jumping and feed.model.rowCount() > 0)
        await self.until("the chart", lambda: not self.page.activity.chart.isVisible() or source.total != EMPTY_BAR)

    async def open(self, part: str) -> None:
        """Open the newest listed request whose method or target holds `part`, and wait until its body is shown."""
        await self.counted()
        rows = [self.page.feed.model.summary(row) for row in range(self.page.feed.model.rowCount())]
        wanted = next((row for row in rows if part in f"{row.method} {row.target}"), None)
        if wanted is None:
            raise LookupError(f"no request with {part!r} is listed")
        self.detail.clear()  # The page opens again what was open there before.
        self._began = 0
        self.page.take_focus()
        self.page.open_request(wanted.id)
        await self.until(f"the request {part!r}", lambda: getattr(self.detail.capture, "id", None) == wanted.id)
        if wanted.size and self.detail.tabs.currentIndex() == BODY:
            await self.until(f"the body of {part!r}", self._body_shown)
        endpoint = self.store.endpoints.by_id(wanted.endpoint_id)
        if endpoint is not None and endpoint.forward_url:
            await self.until(f"the delivery of {part!r}", self._deliveries_counted)
        await self.until(f"{part!r} to be read", partial(self._is_read, wanted.id))

    def _deliveries_counted(self) -> bool:
        return self.detail.tabs.tabText(DELIVERIES)[-1:] in set("123456789")

    def _is_read(self, wanted: str) -> bool:
        model = self.page.feed.model
        return any(one.id == wanted and one.read for one in map(model.summary, range(model.rowCount())))

    async def view(self, group: str) -> None:
        """Take a view of the body, and wait until it is there."""
        self._began = 0
        self.detail.body.views.activated.emit(group)
        await self.until(f"the view {group}", self._body_shown)

    def _begun(self, *_: object) -> None:
        self._began += 1

    def _body_shown(self) -> bool:
        body = self.detail.body
        page = body.stack.currentWidget()
        if page is body.image and body.image.caption.text() == LOADING:
            return False
        if isinstance(page, PartsView) and any(card.part is None for card in page.cards.cards.values()):
            return False
        return self._began >= (2 if page is body.tree else 1)

    def dialog(self, kind: type[D]) -> D:
        """The open dialog of this kind."""
        return next(dialog for dialog in self.window.findChildren(kind) if dialog.isVisible())

    # -- saving ---------------------------------------------------------------------------------------------------

    async def save(
        self, name: str, sizes: Sequence[tuple[int, int]] = SMALL, before: Callable[[], None] | None = None
    ) -> None:
        """Pictures of the window with the dialogs and menus open on it, light and dark; `before` comes before each."""
        for scheme in sorted(SCHEMES, key=lambda one: one != self._scheme):  # changing the theme takes the longest
            self._scheme = scheme
            self.ready.theme.set_choice(scheme)
            for width, height in [self._only] if self._only else sizes:
                self.window.resize(width, height)
                await asyncio.sleep(0.12)
                if before is not None:
                    before()
                    await asyncio.sleep(0.05)
                picture = self.window.grab()
                for dialog in self.window.findChildren(QDialog):
                    if dialog.isVisible():
                        _place(dialog, self.window, picture)
                self._popups(picture)
                self.write(picture, f"{name}-{scheme}-{width}")
        self.window.resize(*(self._only or SIZES[0]))

    def write(self, picture: QPixmap, name: str) -> None:
        """Into the folder of the book."""
        path = self._out / f"{name}.png"
        if not picture.save(str(path), "PNG"):
            raise OSError(f"{path} could not be written")

    def close_menus(self) -> None:
        """Close the menus that are open."""
        for widget in QApplication.topLevelWidgets():
            if isinstance(widget, QMenu):
                widget.close()

    def _popups(self, picture: QPixmap) -> None:
        painter = QPainter(picture)
        # A menu lies above what it was opened from, and comes after it.
        for widget in sorted(QApplication.topLevelWidgets(), key=lambda one: isinstance(one, NotifyMenu)):
            if widget.isVisible() and (isinstance(widget, QMenu) or widget.metaObject().className() == "QTipLabel"):
                place = widget.pos() - self.window.mapToGlobal(QPoint(0, 0))
                painter.drawPixmap(place, widget.grab())
        painter.end()


def _received_at(at: int) -> type[Incoming[Any]]:
    """Requests that arrive then."""

    class Earlier(Incoming[_Body]):
        def __init__(self, head: Head, head_size: int, body: _Body) -> None:
            super().__init__(head, head_size, body, received_at=at)

    return Earlier


def _place(dialog: QDialog, window: QWidget, picture: QPixmap) -> None:
    """Draw `dialog` over the window's picture, centred as a window manager would place it."""
    left = (window.width() - dialog.width()) // 2
    top = (window.height() - dialog.height()) // 2
    painter = QPainter(picture)
    painter.fillRect(picture.rect(), QColor(0, 0, 0, 90))
    painter.drawPixmap(left, top, dialog.grab())
    painter.end()
