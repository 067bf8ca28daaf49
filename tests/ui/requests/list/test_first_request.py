"""The first request of an empty list opens by itself, unless the user is busy elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from app.core.model import Capture
from app.ui.requests.list.pager import PAGE
from app.ui.shell.main_window import MainWindow
from tests.ui.desk import Desk
from tests.ui.desk import shown as shown_window
from tests.ui.waiting import activate, settle, until


async def empty_endpoint(desk: Desk, window: MainWindow) -> None:
    """The window shows an endpoint that has caught nothing yet."""
    window.enter_endpoint(desk.store.endpoints.all()[0].id)
    await until(window.requests.list_area.empty.isVisible)


async def test_the_first_request_opens_and_is_read_and_the_next_ones_are_not(tmp_path: Path) -> None:
    async with shown_window(tmp_path, endpoints=2) as (desk, window):
        one, other = desk.store.endpoints.all()
        page = window.requests
        await empty_endpoint(desk, window)
        place = window.focusWidget()
        came = await asyncio.gather(*(desk.capture(one) for _ in range(30)))
        first = min(capture.id for capture in came)
        await until(lambda: page.detail.capture is not None and page.feed.model.rowCount() == 30)
        assert page.detail.capture_id == first
        assert [row.id for row in page.list.selected()] == [first]
        assert page.list.verticalScrollBar().value() == 0
        assert window.focusWidget() in (place, page.list)
        await until(lambda: desk.store.captures.counts(one.id).unread == 29)
        await desk.capture(other)
        window.show_endpoint(other.id)
        await until(lambda: page.feed.model.rowCount() == 1)
        await settle()
        assert page.detail.capture_id is None
        assert desk.store.captures.counts(other.id).unread == 1


@pytest.mark.parametrize("busy", ["typing", "dialog", "palette", "other page"])
async def test_nothing_opens_while_the_user_is_busy(tmp_path: Path, busy: str) -> None:
    async with shown_window(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        await empty_endpoint(desk, window)
        page = window.requests
        if busy == "typing":
            page.filter.bar.show()
            page.filter.bar.line.setFocus()
        elif busy == "dialog":
            window.dialogs.open_settings()
            await until(lambda: QApplication.activeModalWidget() is QApplication.activeWindow() is not None)
        elif busy == "palette":
            window.commands.palette.open()
        else:
            window.show_page("dashboard")
        place = QApplication.focusWidget()
        await desk.capture(endpoint)
        await until(lambda: page.feed.model.rowCount() == 1)
        await settle()
        assert QApplication.focusWidget() is place
        assert page.detail.capture_id is None
        assert desk.store.captures.counts(endpoint.id).unread == 1
        for dialog in (QApplication.activeModalWidget(),):
            if dialog is not None:
                dialog.close()


@asynccontextmanager
async def another_program() -> AsyncIterator[None]:
    """Its window is in front."""
    other = QWidget()
    other.show()
    await activate(other)
    yield
    other.close()
    other.deleteLater()


@pytest.mark.parametrize("count", [1, 3, PAGE + 60])
@pytest.mark.parametrize("behind", [False, True], ids=["in front", "behind another program"])
async def test_the_first_of_any_number_is_read_once_the_window_is_in_front(
    tmp_path: Path, count: int, behind: bool
) -> None:
    async with shown_window(tmp_path, endpoints=1) as (desk, window), AsyncExitStack() as programs:
        endpoint = desk.store.endpoints.all()[0]
        await empty_endpoint(desk, window)
        if behind:
            await programs.enter_async_context(another_program())
        came = await asyncio.gather(*(desk.capture(endpoint) for _ in range(count)))
        detail, counts = window.requests.detail, desk.store.captures.counts
        await until(lambda: detail.capture is not None and counts(endpoint.id).total == count)
        await settle()
        first = min(capture.id for capture in came)
        assert detail.capture_id == first
        if behind:
            assert counts(endpoint.id).unread == count
            await activate(window)
        await until(lambda: counts(endpoint.id).unread == count - 1)
        stored = await desk.store.captures.get(first)
        assert stored is not None
        assert stored.read


async def test_it_is_read_too_if_the_window_comes_to_the_front_while_it_is_being_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown_window(tmp_path, endpoints=1) as (desk, window), another_program():
        endpoint, captures = desk.store.endpoints.all()[0], desk.store.captures
        await empty_endpoint(desk, window)
        get, go_on = captures.get, asyncio.Event()

        async def slow(capture_id: str) -> Capture | None:
            await go_on.wait()
            return await get(capture_id)

        monkeypatch.setattr(captures, "get", slow)
        await desk.capture(endpoint)
        await until(lambda: window.requests.detail.capture_id is not None)
        await activate(window)
        await settle()
        go_on.set()
        await until(lambda: captures.counts(endpoint.id).unread == 0)
