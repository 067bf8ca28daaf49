"""The first request of an empty list opens by itself, unless the user is busy elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.shell.main_window import MainWindow
from tests.ui.desk import Desk
from tests.ui.desk import shown as shown_window
from tests.ui.waiting import settle, until

Run = Callable[[Coroutine[Any, Any, Any]], Any]


async def empty_endpoint(desk: Desk, window: MainWindow) -> None:
    """The window shows an endpoint that has caught nothing yet."""
    window.enter_endpoint(desk.store.endpoints.all()[0].id)
    await until(window.requests.empty.isVisible)


def test_the_first_request_opens_and_is_read_and_the_next_ones_are_not(run: Run, tmp_path: Path) -> None:
    async def check() -> None:
        async with shown_window(tmp_path, endpoints=2) as (desk, window):
            one, other = desk.store.endpoints.all()
            page = window.requests
            await empty_endpoint(desk, window)
            place = window.focusWidget()
            came = await asyncio.gather(*(desk.capture(one) for _ in range(30)))
            first = min(capture.id for capture in came)
            await until(lambda: page.detail.capture is not None and page.feed.model.rowCount() == 30)
            assert page.detail.wanted == first
            assert [row.id for row in page.list.selected()] == [first]
            assert page.list.verticalScrollBar().value() == 0
            assert window.focusWidget() in (place, page.list)
            await until(lambda: desk.store.captures.counts(one.id).unread == 29)
            await desk.capture(other)
            window.show_endpoint(other.id)
            await until(lambda: page.feed.model.rowCount() == 1)
            await settle()
            assert page.detail.wanted is None
            assert desk.store.captures.counts(other.id).unread == 1

    run(check())


@pytest.mark.parametrize("busy", ["typing", "dialog", "palette", "other page"])
def test_nothing_opens_while_the_user_is_busy(run: Run, tmp_path: Path, busy: str) -> None:
    async def check() -> None:
        async with shown_window(tmp_path, endpoints=1) as (desk, window):
            endpoint = desk.store.endpoints.all()[0]
            await empty_endpoint(desk, window)
            page = window.requests
            if busy == "typing":
                page.filter.bar.show()
                page.filter.bar.line.setFocus()
            elif busy == "dialog":
                window.open_settings()
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
            assert page.detail.wanted is None
            assert desk.store.captures.counts(endpoint.id).unread == 1
            for dialog in (QApplication.activeModalWidget(),):
                if dialog is not None:
                    dialog.close()

    run(check())


def test_behind_another_program_it_stays_unread_until_it_is_seen(run: Run, tmp_path: Path) -> None:
    async def check() -> None:
        async with shown_window(tmp_path, endpoints=1) as (desk, window):
            endpoint = desk.store.endpoints.all()[0]
            await empty_endpoint(desk, window)
            other = QWidget()
            other.show()
            other.activateWindow()
            await until(other.isActiveWindow)
            capture = await desk.capture(endpoint)
            await until(lambda: window.requests.detail.capture is not None)
            await settle()
            assert window.requests.detail.wanted == capture.id
            assert desk.store.captures.counts(endpoint.id).unread == 1
            window.activateWindow()
            await until(lambda: desk.store.captures.counts(endpoint.id).unread == 0)
            other.close()
            other.deleteLater()

    run(check())
