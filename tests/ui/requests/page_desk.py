"""An endpoint's page over a real store, filled at will."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.core.clock import now_us
from app.core.model import Capture, Endpoint
from app.ui import deleting
from app.ui.endpoints.endpoint_actions import EndpointActions
from app.ui.requests.page.requests_page import RequestsPage
from app.ui.services import Services
from app.ui.throttle import Pause
from tests import factories
from tests.stored import store_request
from tests.ui.desk import Desk, open_desk
from tests.ui.waiting import activate, settle, until


class PageDesk:
    """`endpoint` is shown in `page`, which is handed `doors`."""

    def __init__(self, desk: Desk, services: Services, page: RequestsPage, endpoint: Endpoint, pause: Pause) -> None:
        self.desk, self.services, self.page, self.endpoint = desk, services, page, endpoint
        self.pause = pause
        self.model, self.list, self.feed, self.detail = page.feed.model, page.list, page.feed, page.detail

    async def add(self, body: bytes = b"{}", **fields: Any) -> Capture:
        """Store one request, as the capture server does."""
        fields = {"endpoint_id": self.endpoint.id, **fields}
        return await store_request(self.desk.store.captures, factories.capture(body, **fields), body)

    async def fill(self, count: int, **fields: Any) -> list[Capture]:
        """Store many, each a microsecond after the one before, all in the past."""
        began = now_us() - count - 1_000_000
        adds = (self.add(received_at=began + n, target=f"/catch/x/{n}", **fields) for n in range(count))
        return list(await asyncio.gather(*adds))

    async def reload(self) -> None:
        """Show the endpoint anew, with nothing open and from the top, and wait for its first page."""
        self.detail.clear()
        self.list.scrollToTop()
        self.page.show_endpoint(self.endpoint.id)
        await until(lambda: not self.feed.pager.jumping)
        await settle()

    def ids(self) -> list[str]:
        """What the model holds, top to bottom."""
        return [self.model.summary(row).id for row in range(self.model.rowCount())]


@asynccontextmanager
async def open_page(folder: Path, **endpoint: Any) -> AsyncIterator[PageDesk]:
    """A shown page of 1000 by 700 pixels. Deletes wait for their undo as in the window, but not for ten seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deleting, "DELAY_MS", 0.0)
        async with _page(folder, **endpoint) as shown:
            yield shown


@asynccontextmanager
async def _page(folder: Path, **endpoint: Any) -> AsyncIterator[PageDesk]:
    async with open_desk(folder) as desk:
        made = await desk.endpoint(**endpoint)
        with desk.theme.deferred_styling():
            pending = deleting.PendingDelete(desk.services, desk.tasks, desk.messages)
            services = desk.with_services(deletes=pending)
            without_page, pause = QWidget(), Pause()
            actions = EndpointActions(services, desk.theme, desk.tasks, without_page)
            page = RequestsPage(services, desk.theme, desk.tasks, pause, endpoint_actions=actions)
            actions.setParent(page)
            actions._window = page  # where tests look for its questions
            actions.announced.connect(page._toast.say)
        page.resize(1000, 700)
        page.show()
        shown = PageDesk(desk, services, page, made, pause)
        await shown.reload()
        try:
            yield shown
            assert not desk.messages.waiting()
        finally:
            page.stop()
            await pending.close()
            await desk.tasks.cancel_all()
            page.close()
            page.deleteLater()


async def open_body(shown: PageDesk, body: bytes, content_type: str = "", **fields: Any) -> str:
    """Capture a request with this body and show it; its id."""
    headers = (("Content-Type", content_type), *fields.pop("headers", ()))
    capture = await shown.add(body, content_type=content_type, headers=headers, **fields)
    begun = asyncio.Event()

    def is_shown() -> bool:
        return shown.detail.capture is not None and shown.detail.capture.id == capture.id

    def begin() -> None:
        if is_shown():  # the body of the request before may begin only now
            begun.set()

    shown.detail.body.loader.begun.connect(begin)
    shown.page.open_request(capture.id)
    if body:
        await asyncio.wait_for(begun.wait(), 20)
    else:
        await until(is_shown)
    shown.detail.body.loader.begun.disconnect(begin)
    return capture.id


async def filled(shown: PageDesk, count: int) -> list[str]:
    """So many requests, all unread, the keyboard in their list; their ids, top to bottom."""
    await shown.fill(count)
    await shown.reload()
    # The first request of an empty list opens by itself, and is marked as read now or later.
    await shown.desk.store.captures.mark_read(shown.ids(), read=False)
    await activate(shown.page)
    shown.list.setFocus()
    return shown.ids()


def click_row(shown: PageDesk, row: int, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Click the row that stands there."""
    place = shown.list.visualRect(shown.model.index(row)).center()
    QTest.mouseClick(shown.list.viewport(), Qt.MouseButton.LeftButton, modifier, place)
