"""Tab leads from one visible, named widget to the next, whatever is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.core.replay import ChosenRequests, OneUrl, ReplaySpec
from app.ui.inspector.request_view import BODY, DELIVERIES, HEADERS, INFO, QUERY, RAW
from app.ui.requests.list.pager import TimeRange
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, REFUSED, REPLAYS, TUNNEL, TunnelRow
from app.ui.widgets.focus import focus_first
from tests.ui.desk import shown
from tests.ui.waiting import settle, until

MOST = 120


def stops(window: MainWindow) -> list[QWidget]:
    """What has the focus, one after the other, until it is where it began."""
    page = window.pages.currentWidget()
    assert page is not None
    focus_first(page)
    found: list[QWidget] = []
    while len(found) < MOST:
        focused = QApplication.focusWidget()
        assert focused is not None, f"after {found[-1:]} nothing has the focus"
        if focused in found:
            return found
        found.append(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab, Qt.KeyboardModifier.NoModifier)
    raise AssertionError(f"Tab does not come back: {found[-3:]}")


def check(window: MainWindow) -> None:
    for stop in stops(window):
        assert stop.isVisible(), stop
        interface = QAccessible.queryAccessibleInterface(stop)
        assert interface.text(QAccessible.Text.Name), stop


@pytest.mark.slow
async def test_of_each_page(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=2) as (desk, window):
        await desk.capture(desk.store.endpoints.all()[0])
        for page in (DASHBOARD, ALL_REQUESTS, ALL_DELIVERIES, REFUSED, TUNNEL):
            window.show_page(page)
            await settle()
            check(window)


async def test_a_state_that_is_made_late_has_its_place(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        await desk.capture(endpoint)
        window.show_endpoint(endpoint.id)
        page = window.requests
        await until(lambda: page.feed.model.rowCount() == 1)
        check(window)
        page.filter.bar.set_text("nothing has this")
        await until(page.list_area.no_matches.isVisible)
        found = stops(window)
        assert found.index(page.list_area.no_matches.button) == found.index(page.list_footer.button) - 1
        page.filter.bar.clear()
        page.activity.range_selected.emit(TimeRange(start=1, end=2))
        await until(page.list_area.empty_time_range.isVisible)
        found = stops(window)
        assert found.index(page.list_area.empty_time_range.button) == found.index(page.list_footer.button) - 1


async def test_an_endpoint_made_later_comes_after_the_one_above_it(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=2) as (desk, window):
        before = stops(window)
        late = await desk.endpoint()
        await until(lambda: late.id in window.sidebar.list.rows)
        window.sidebar.list.rows[late.id].setFocus()
        QTest.keyClick(window.sidebar.list.rows[late.id], Qt.Key.Key_Tab)
        focused = QApplication.focusWidget()
        assert focused in before
        assert isinstance(focused, TunnelRow)


async def test_of_a_replay(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        capture = await desk.capture(desk.store.endpoints.all()[0])
        spec = ReplaySpec(source=ChosenRequests(ids=(capture.id,)), destination=OneUrl(url="http://127.0.0.1:9/"))
        await desk.replays.wait((await desk.replays.start(spec)).id)
        window.show_page(REPLAYS)
        page = window.replays_page
        await until(lambda: page.details.failures.rows.rowCount() == 1)
        await settle()
        met = stops(window)
        assert {page.list, page.repeat, page.change, page.details.targets, page.details.failures} <= set(met)
        check(window)


@pytest.mark.slow
async def test_of_each_tab_of_a_request(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        window.show_endpoint(endpoint.id)
        page = window.requests
        for tab in (BODY, HEADERS, QUERY, DELIVERIES, RAW, INFO):
            capture = await desk.capture(endpoint)
            page.open_request(capture.id)
            await until(lambda capture=capture: page.detail.summary and page.detail.summary.id == capture.id)
            page.detail.tabs.setCurrentIndex(tab)
            await settle(5)
            assert page.detail.tabs.currentIndex() == tab
            check(window)
