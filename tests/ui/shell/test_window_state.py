"""What a window is like at the next start: its dividers, its page, its windows."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, QSettings, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QSplitter

from app.core.model import Refusal
from app.ui.commands.palette import Palette
from app.ui.dashboard import DashboardPage
from app.ui.deliveries.page import DeliveriesPage
from app.ui.refused_page import RefusedPage
from app.ui.replay.replays_page import ReplaysPage
from app.ui.shell import main_window
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, MINIMUM_WIDTH, REFUSED, REPLAYS, TUNNEL
from app.ui.shell.window_state import FIRST_SIZE
from app.ui.theme.metrics import SIDEBAR_WIDTH
from app.ui.tunnel.page import TunnelPage
from app.ui.widgets import fit_screen
from tests.ui.desk import Desk, open_desk, shown, shown_over
from tests.ui.waiting import settle, until


def frame(window: MainWindow) -> QSplitter:
    """What parts the sidebar from the page."""
    splitter = window.sidebar.parentWidget()
    assert isinstance(splitter, QSplitter)
    return splitter


def refuse(desk: Desk) -> None:
    desk.refused.add(Refusal(at=1, source_address="::1", source_port=1, status=404, reason="No endpoint", target="/x"))


@pytest.mark.slow
async def test_the_divider_between_list_and_detail_stays_where_it_was_put(tmp_path: Path) -> None:
    async with open_desk(tmp_path, endpoints=2) as desk:
        endpoint, without_requests = desk.store.endpoints.all()
        await desk.capture(endpoint)
        async with shown_over(desk) as window:
            window.resize(1200, 700)
            window.show_endpoint(endpoint.id)
            await until(window.requests.list.isVisible)
            await settle()
            window.requests.splitter.setSizes([452, sum(window.requests.splitter.sizes()) - 452])
            put = window.requests.splitter.sizes()
            assert put[0] == 452
            window.show_page(DASHBOARD)
        async with shown_over(desk) as window:
            assert window.pages.currentWidget() is window.dashboard  # the page with the divider is never seen
            window.show_endpoint(without_requests.id)
            await until(window.requests.list_area.empty.isVisible)
        async with shown_over(desk) as window:
            window.show_page(ALL_REQUESTS)
            await until(window.requests.list.isVisible)
            await settle()
            assert window.requests.splitter.sizes() == put


@pytest.mark.slow
async def test_a_start_makes_the_page_it_shows_and_no_other_and_keeps_the_dividers_of_all(tmp_path: Path) -> None:
    late = DashboardPage, DeliveriesPage, RefusedPage, ReplaysPage, TunnelPage
    async with open_desk(tmp_path, endpoints=1) as desk:
        refuse(desk)
        async with shown_over(desk) as window:
            window.show_page(REFUSED)
            await until(window.refused.table.isVisible)
            window.refused.table.selectRow(0)
            await until(window.refused.raw.isVisible)
            await settle()
            (divider,) = window.refused.findChildren(QSplitter, "refused")
            divider.setSizes([171, sum(divider.sizes()) - 171])
            put = divider.sizes()
            window.show_endpoint(desk.store.endpoints.all()[0].id)
        async with shown_over(desk) as window:
            assert [made for kind in (*late, Palette) for made in window.findChildren(kind)] == []
            assert not {"empty_time_range", "no_matches"} & vars(window.requests.list_area).keys()
            for page in (DASHBOARD, ALL_DELIVERIES, REPLAYS, TUNNEL):
                window.show_page(page)
            assert [len(window.findChildren(kind)) for kind in late] == [1, 1, 0, 1, 1]
        async with shown_over(desk) as window:
            window.show_page(REFUSED)
            window.refused.table.selectRow(0)
            await until(window.refused.raw.isVisible)
            await settle()
            (divider,) = window.refused.findChildren(QSplitter, "refused")
            assert divider.sizes() == put


class SmallScreen:
    """1366 by 768 at 150 %."""

    def availableGeometry(self) -> QRect:
        return QRect(0, 0, 911, 512)


@pytest.mark.parametrize("first", [True, False], ids=["the first start", "a later one"])
async def test_a_start_on_a_small_screen_squeezes_nothing_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    async with open_desk(tmp_path, endpoints=1) as desk:
        sidebar, size = SIDEBAR_WIDTH, QSize(*FIRST_SIZE)
        if not first:
            async with shown_over(desk) as window:
                window.resize(1400, 900)
                frame(window).setSizes([300, 1100])
            sidebar, size = 300, QSize(1400, 900)
        with monkeypatch.context() as small:
            small.setattr(fit_screen, "_screen", lambda _: SmallScreen())
            for _ in range(2):
                async with shown_over(desk) as window:
                    assert window.width() < 911
                    assert window.sidebar.width() == MINIMUM_WIDTH
        async with shown_over(desk) as window:
            assert (window.size(), window.sidebar.width()) == (size, sidebar)


async def test_the_sidebar_is_widened_again_with_its_window_unless_the_user_narrowed_it(tmp_path: Path) -> None:
    async with open_desk(tmp_path, endpoints=1) as desk:
        async with shown_over(desk) as window:
            window.resize(900, 600)
        async with shown_over(desk) as window:
            assert (window.width(), window.sidebar.width()) == (900, MINIMUM_WIDTH)
            window.resize(1300, 800)
            assert window.sidebar.width() == SIDEBAR_WIDTH
        async with shown_over(desk) as window:
            drag(frame(window), -18)
            put = window.sidebar.width()
            assert put < SIDEBAR_WIDTH
        async with shown_over(desk) as window:
            assert window.sidebar.width() == put


@pytest.mark.parametrize("page", [ALL_REQUESTS, REFUSED])
async def test_the_last_page_is_shown_again(tmp_path: Path, page: str) -> None:
    async with open_desk(tmp_path, endpoints=1) as desk:
        async with shown_over(desk) as window:
            window.show_endpoint(desk.store.endpoints.all()[0].id)
            window.show_page(page)
        async with shown_over(desk) as window:
            shown = {ALL_REQUESTS: window.requests, REFUSED: window.refused}[page]
            assert window.pages.currentWidget() is shown
            assert window.sidebar._pages[page].isChecked()


async def test_the_last_endpoint_is_shown_again_and_nothing_of_it_is_marked_read(tmp_path: Path) -> None:
    async with open_desk(tmp_path, endpoints=3) as desk:
        endpoint = desk.store.endpoints.all()[1]
        await desk.capture(endpoint)
        async with shown_over(desk) as window:
            window.show_endpoint(endpoint.id)
        async with shown_over(desk) as window:
            assert window.pages.currentWidget() is window.requests
            assert window.requests.endpoint_id == endpoint.id
            assert window.sidebar.list.rows[endpoint.id].isChecked()
            await until(lambda: window.requests.feed.model.rowCount() == 1)
            await settle()
            assert window.requests.detail.capture_id is None
            assert desk.store.captures.counts(endpoint.id).unread == 1


@pytest.mark.slow
@pytest.mark.parametrize("of_all", [False, True], ids=["of an endpoint", "of all"])
async def test_the_last_request_is_open_again_and_as_unread_as_it_was(tmp_path: Path, of_all: bool) -> None:
    async with open_desk(tmp_path, endpoints=2) as desk:
        endpoint = desk.store.endpoints.all()[1]
        captures = [await desk.capture(endpoint) for _ in range(3)]
        async with shown_over(desk) as window:
            show_list(window, None if of_all else endpoint.id)
            window.requests.open_request(captures[1].id)
            await until(lambda: desk.store.captures.counts(endpoint.id).unread == 2)
            await desk.store.captures.mark_read([captures[1].id], read=False)
            window.close()
            window.stop()  # as the program does when its window was closed
        async with shown_over(desk) as window:
            detail = window.requests.detail
            await until(lambda: detail.capture is not None)
            assert detail.capture_id == captures[1].id
            await until(lambda: [one.id for one in window.requests.list.selected()] == [captures[1].id])
            assert window.requests.list.hasFocus()
            assert desk.store.captures.counts(endpoint.id).unread == 3
        await desk.store.captures.delete([captures[1].id])
        async with shown_over(desk) as window:
            await until(lambda: window.requests.detail.capture_id is None)
            assert not desk.messages.waiting()


async def test_a_program_that_is_killed_starts_where_the_user_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_window, "PLACE_MS", 20)

    def stored() -> str:
        return on_disk(tmp_path)

    async with open_desk(tmp_path, endpoints=1) as desk:
        endpoint = desk.store.endpoints.all()[0]
        capture = await desk.capture(endpoint)
        async with shown_over(desk) as window:
            window.show_endpoint(endpoint.id)
            await until(lambda: f"page=endpoint/{endpoint.slug}" in stored())
            window.requests.filter.bar.set_text("is:unread")
            await until(lambda: "filter=is:unread" in stored())
            window.requests.open_request(capture.id)
            await until(lambda: f"request={capture.id}" in stored())
            window.requests.detail.clear()
            await until(lambda: f"request={capture.id}" not in stored())
            window.requests.open_request(capture.id)
            await until(lambda: f"request={capture.id}" in stored())
            window.show_page(REFUSED)
            await until(lambda: "page=refused" in stored() and capture.id not in stored())


def on_disk(folder: Path) -> str:
    """What the disk has, and not what this process still has to write."""
    file = folder / "window.ini"
    return file.read_text("utf-8") if file.exists() else ""


async def test_a_program_that_is_killed_has_stored_its_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_window, "PLACE_MS", 20)

    def stored(key: str) -> str | None:
        return next((line for line in on_disk(tmp_path).splitlines() if line.startswith(f"{key}=")), None)

    async with open_desk(tmp_path, endpoints=1) as desk:
        await desk.capture(desk.store.endpoints.all()[0])
        async with shown_over(desk) as window:
            window.show_page(ALL_REQUESTS)
            await until(window.requests.list.isVisible)
            window.resize(1313, 777)
            await until(lambda: stored("size") == "size=@Size(1313 777)")
            for name, splitter in (("frame", frame(window)), ("requests", window.requests.splitter)):
                before = stored(name)
                drag(splitter, -18)
                await until(lambda name=name, before=before: stored(name) not in (None, before))
            window.requests.activity.fold.click()
            await until(lambda: stored("open") == "open=false")
            width = stored("frame")
            window.resize(900, 600)
            await until(lambda: stored("size") == "size=@Size(900 600)")
            assert window.sidebar.width() == MINIMUM_WIDTH
            assert stored("frame") == width
            place = stored("geometry")
            window.move(40, 30)
            await until(lambda: stored("geometry") != place)


async def test_the_sidebar_is_dragged_within_bounds(tmp_path: Path) -> None:
    async with shown(tmp_path) as (_, window):
        window.resize(1313, 777)
        await settle()
        for by, width in ((-1000, MINIMUM_WIDTH), (1000, 400)):
            drag(frame(window), by)
            assert window.sidebar.width() == width


@pytest.mark.slow
@pytest.mark.parametrize("of_all", [False, True], ids=["of an endpoint", "of all"])
async def test_the_filter_of_the_last_page_is_in_force_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_all: bool
) -> None:
    monkeypatch.setattr(main_window, "PLACE_MS", 20)
    async with open_desk(tmp_path, endpoints=1) as desk:
        endpoint = desk.store.endpoints.all()[0]
        captures = [await desk.capture(endpoint, method=method) for method in ("POST", "PUT")]
        async with shown_over(desk) as window:
            show_list(window, None if of_all else endpoint.id)
            window.requests.filter.bar.set_text("method:PUT")
            await until(lambda: "filter=method:PUT" in on_disk(tmp_path))
        async with shown_over(desk) as window:
            page = window.requests
            assert page.filter.bar.line.text() == "method:PUT"
            model = page.feed.model
            await until(lambda: model.rowCount() == 1 and model.summary(0).id == captures[1].id)
            window.show_page(REFUSED)
        async with shown_over(desk) as window:
            show_list(window, None if of_all else endpoint.id)
            await until(lambda: window.requests.feed.model.rowCount() == 2)


def drag(splitter: QSplitter, by: int) -> None:
    """As the user moves a divider."""
    handle = splitter.handle(1)
    QTest.mousePress(handle, Qt.MouseButton.LeftButton, pos=QPoint(0, 100))
    QTest.mouseMove(handle, QPoint(by, 100))
    QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=QPoint(0, 100))


def show_list(window: MainWindow, endpoint_id: int | None) -> None:
    if endpoint_id is None:
        window.show_page(ALL_REQUESTS)
    else:
        window.show_endpoint(endpoint_id)


async def test_the_chart_is_as_it_was_left(tmp_path: Path) -> None:
    async with open_desk(tmp_path, endpoints=1) as desk:
        await desk.capture(desk.store.endpoints.all()[0])
        for is_open in (True, False):
            async with shown_over(desk) as window:
                window.show_page(ALL_REQUESTS)
                strip = window.requests.activity
                await until(strip.isVisible)
                assert strip.chart.isVisible() is is_open
                strip.fold.click()
                assert strip.chart.isVisible() is not is_open


async def test_an_endpoint_that_is_gone_gives_way_to_the_dashboard(tmp_path: Path) -> None:
    async with open_desk(tmp_path, endpoints=2) as desk:
        gone = desk.store.endpoints.all()[0]
        async with shown_over(desk) as window:
            window.show_endpoint(gone.id)
        await desk.store.endpoints.delete(gone.id)
        async with shown_over(desk) as window:
            assert window.pages.currentWidget() is window.dashboard
        for spoilt in ("nonsense", "all/x"):
            QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat).setValue("window/page", spoilt)
            async with shown_over(desk) as window:
                assert window.pages.currentWidget() is window.dashboard, spoilt


@pytest.mark.parametrize("of_all", [False, True], ids=["of an endpoint", "of all"])
async def test_the_keyboard_is_in_the_list_that_is_shown_again(tmp_path: Path, of_all: bool) -> None:
    async with open_desk(tmp_path, endpoints=2) as desk:
        endpoint = desk.store.endpoints.all()[1]
        for _ in range(3):
            await desk.capture(endpoint)
        async with shown_over(desk) as window:
            if of_all:
                window.show_page(ALL_REQUESTS)
            else:
                window.show_endpoint(endpoint.id)
        async with shown_over(desk) as window:
            rows = window.requests.list
            await until(lambda: rows.model().rowCount() == 3)
            assert QApplication.focusWidget() is rows
            QTest.keyClick(rows, Qt.Key.Key_J)
            QTest.keyClick(rows, Qt.Key.Key_Down)
            assert rows.currentIndex().row() == 1


@pytest.mark.slow
async def test_the_keyboard_is_in_the_first_control_of_what_has_no_list(desk: Desk) -> None:
    async with shown_over(desk) as window:
        assert QApplication.focusWidget() is window.dashboard.empty.button
    endpoint = await desk.endpoint()
    async with shown_over(desk) as window:
        assert QApplication.focusWidget() is window.dashboard.rows.row(endpoint.id)
        window.show_page(ALL_DELIVERIES)
    async with shown_over(desk) as window:
        focus = QApplication.focusWidget()
        assert focus is window.deliveries.table or window.deliveries.empty.isAncestorOf(focus)
        window.show_page(TUNNEL)
    async with shown_over(desk) as window:
        assert QApplication.focusWidget() is window.tunnel_page.programs.list
        window.show_page(REPLAYS)
    async with shown_over(desk) as window:
        assert QApplication.focusWidget() is window.replays_page
        window.show_endpoint(endpoint.id)
    async with shown_over(desk) as window:
        focus = QApplication.focusWidget()
        assert focus is not None
        assert window.requests.list_area.empty.isAncestorOf(focus)
