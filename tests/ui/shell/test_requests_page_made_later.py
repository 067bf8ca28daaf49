"""The page of requests is made when it is first needed: by then much may have happened in the window."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.core.activity import Span
from app.core.links import link_to_request
from app.ui.requests.page.requests_page import RequestsPage
from app.ui.shell.deep_links import DeepLinks
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import DASHBOARD, REFUSED
from tests.support import while_read
from tests.ui.desk import open_desk, shown, shown_over
from tests.ui.waiting import settle, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


def made(window: MainWindow) -> int:
    return len(window.findChildren(RequestsPage))


async def test_a_window_that_never_shows_it_forgets_nothing_of_it(tmp_path: Path) -> None:
    async with open_desk(tmp_path, endpoints=1) as desk:
        (endpoint,) = desk.store.endpoints.all()
        await desk.capture(endpoint)
        async with shown_over(desk) as window:
            window.show_endpoint(endpoint.id)
            page = window.requests
            await until(page.list.isVisible)
            await settle()
            page.splitter.setSizes([301, sum(page.splitter.sizes()) - 301])
            put = page.splitter.sizes()
            page.activity.set_span(Span.WEEK)
            page.activity.fold.click()
            window.show_page(DASHBOARD)
        async with shown_over(desk) as window:
            window.show_page(REFUSED)
            assert not made(window)
        async with shown_over(desk) as window:
            window.show_endpoint(endpoint.id)
            page = window.requests
            await until(page.list.isVisible)
            await settle()
            assert page.splitter.sizes() == put
            assert not page.activity.open
            assert page.activity.source.span is Span.WEEK


async def test_made_ahead_it_changes_nothing_that_is_seen(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=2) as (desk, window):
        focus, page = QApplication.focusWidget(), window.pages.currentWidget()
        assert focus is not None
        window.prepare()
        await settle()
        assert made(window) == 1
        assert QApplication.focusWidget() is focus
        assert window.pages.currentWidget() is page
        assert page is window.dashboard
        await desk.capture(desk.store.endpoints.all()[0])
        await settle(10)
        assert window.pages.currentWidget() is page
        assert QApplication.focusWidget() is focus
        window.enter_endpoint(desk.store.endpoints.all()[1].id)
        await until(window.requests.list_area.empty.isVisible)
        assert made(window) == 1


async def test_a_closed_window_makes_none(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (_, window):
        window.close()
        window.prepare()
        assert not made(window)


@pytest.mark.parametrize("opened_by", ["a link", "the palette"])
async def test_a_request_read_when_the_window_was_closed_makes_none(tmp_path: Path, opened_by: str) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        capture = await desk.capture(desk.store.endpoints.all()[0])

        async def close() -> None:
            window.close()
            await settle()

        closed = while_read(desk.store.captures, "get", close)
        if opened_by == "a link":
            DeepLinks(desk.services, desk.tasks, window).open_text(link_to_request(capture.id))
        else:
            window.commands.sources.open_request(capture.id)
        await until(closed)
        await settle()
        assert not made(window)


async def test_a_window_that_is_paused_by_then_only_counts_there(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        (endpoint,) = desk.store.endpoints.all()
        await desk.capture(endpoint)
        window.pause.set(True)
        window.show_endpoint(endpoint.id)
        page = window.requests
        await until(lambda: page.feed.model.rowCount() == 1)
        assert page.list_footer.button.text() == "Paused · Resume"
        assert page.commands.pause.text() == "Resume list"
        await desk.capture(endpoint)
        await until(lambda: page.pill.isVisible() and page.pill.text() == "1 new")
        assert page.feed.model.rowCount() == 1


async def test_what_was_deleted_before_comes_back_there_when_that_is_undone(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        (endpoint,) = desk.store.endpoints.all()
        for _ in range(3):
            await desk.capture(endpoint)
        await window.pending.clear(endpoint.id)
        assert not made(window)
        window.show_endpoint(endpoint.id)
        page = window.requests
        await until(page.list_area.empty.isVisible)
        window.pending.undo()
        await until(lambda: page.feed.model.rowCount() == 3)
        assert page.detail.capture_id is None, "what is back did not just arrive"
