"""The window on the smallest screens, such as 1920 by 1080 at 200 %: nothing is cut that has no other place."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QLabel, QScrollArea

from app.core.clock import now_us
from app.core.model import DeliveryState, Plan, StorageUse
from app.core.target import TargetDraft
from app.ui.dashboard_row import DashboardRow
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.messages import Message
from app.ui.requests.list.delegate import ROW
from app.ui.requests.list.pager import TimeRange
from app.ui.requests.page.header import TEXT_FROM
from app.ui.shell.main_window import MINIMUM, MainWindow
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, REFUSED, REPLAYS, TUNNEL
from app.ui.shell.sidebar_rows import NavRow
from app.ui.widgets.card import Card
from app.ui.widgets.fit_screen import Scrolling
from tests import factories
from tests.deliveries import fail, queued
from tests.ui.desk import Desk, shown
from tests.ui.keyboard import Keyboard
from tests.ui.waiting import settle, until, wait_for_widget

SIZE = (960, 540)
BODIES = ((b"{}", "application/json"), (b"--b\r\n\r\nhi\r\n--b--", "multipart/form-data; boundary=b"))
pytestmark = pytest.mark.usefixtures("each_font")


async def test_all_figures_are_in_one_line_with_no_endpoint_left(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=10) as (_, window):
        window.resize(911, 512)
        window.show_page(DASHBOARD)
        stats = window.dashboard.stats
        use = StorageUse(used=5 << 20, limit=20 << 30, when_full="delete_oldest", reached=False)
        stats.show_kept(774, use)
        await settle(10)
        assert len({card.y() for card in stats.findChildren(Card)}) == 1


@pytest.mark.parametrize("plan", Plan)
async def test_captions_of_the_figures_are_whole(tmp_path: Path, plan: Plan) -> None:
    async with shown(tmp_path, endpoints=8, plan=plan) as (_, window):
        window.resize(*SIZE)
        window.show_page(DASHBOARD)
        await settle(10)
        labels = [one for one in window.dashboard.stats.findChildren(QLabel) if one.isVisible() and one.text()]
        assert labels
        cut = [one.text() for one in labels if one.fontMetrics().horizontalAdvance(one.text()) > one.width()]
        assert cut == []
        assert [area for area in window.findChildren(QScrollArea) if area.horizontalScrollBar().isVisible()] == []


async def test_tab_leads_to_nothing_that_is_scrolled_out_of_view(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=8) as (_, window):
        window.resize(*MINIMUM)
        await settle(10)
        keyboard = Keyboard(window)
        row = window.dashboard.rows.findChildren(DashboardRow)[0]
        window.sidebar.settings_button.setFocus()
        for area in (one for one in window.findChildren(QScrollArea) if one.isAncestorOf(row)):
            area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
        assert row.visibleRegion().isEmpty()
        await keyboard.tab_to(row)
        assert not row.visibleRegion().isEmpty()


@pytest.mark.slow
async def test_the_facts_of_a_body_lose_words_and_not_letters(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        capture = factories.capture(b"{}", endpoint_id=desk.store.endpoints.all()[0].id)
        await desk.store.captures.add(capture, b"{}")
        window.resize(1400, 800)
        window.show_endpoint(capture.endpoint_id)
        window.requests.go_to(capture)
        kind = window.requests.detail.body.facts
        await until(lambda: kind.text() == "JSON · 2 B · auto")
        for width in range(1400, 900, -20):
            window.resize(width, 800)
            await settle()
            assert kind.shown_text() in ("JSON · 2 B · auto", "JSON · 2 B", "JSON", "")


@pytest.mark.parametrize(("height", "chart"), [(560, True), (490, False)])
async def test_a_paused_target_leaves_the_header_whole(tmp_path: Path, height: int, chart: bool) -> None:
    """In a low window the chart gives way to it meanwhile."""

    async with shown(tmp_path) as (desk, window):
        endpoint = await desk.endpoint()
        url = "http://127.0.0.1:3000/webhooks/stripe/payments"
        target = await desk.store.targets.create(endpoint.id, TargetDraft(url=url))
        await desk.capture(endpoint)
        window.hide()
        window.resize(894, height)
        window.show()
        window.show_endpoint(endpoint.id)
        page, header = window.requests, window.requests.header
        parts = (header.edit, header.test, header.more, header.url, header.qr, header.facts)
        await until(page.activity.isVisible)
        await settle(10)
        heights, least = [part.height() for part in parts], page.minimumSizeHint().height()
        await desk.store.targets.pause(target.id)
        await until(page.header.paused_notice.isVisible)
        await settle(10)
        assert header.height() >= header.heightForWidth(header.width())
        assert [part.height() for part in parts] == heights
        assert page.minimumSizeHint().height() > least
        assert url in page.header.paused_notice.accessibleName()
        await until(lambda: page.activity.isVisible() is chart)
        await desk.store.targets.resume(target.id)
        await until(lambda: page.header.paused_notice.isHidden() and page.activity.isVisible())


async def test_a_note_is_written_without_scrolling_the_window(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        window.resize(*SIZE)
        capture = factories.capture(b"{}", endpoint_id=desk.store.endpoints.all()[0].id)
        await desk.store.captures.add(capture, b"{}")
        window.show_endpoint(capture.endpoint_id)
        window.requests.go_to(capture)
        note = window.requests.detail.header.note
        await until(lambda: window.requests.detail.capture is not None)
        note.start()
        note.text.setPlainText("Arrived twice")
        around = next(area for area in window.findChildren(Scrolling) if area.isAncestorOf(note))
        for size in (SIZE, (960, 494), (895, 466)):
            window.resize(*size)
            await settle(10)
            assert not around.horizontalScrollBar().isVisible(), size
            assert not around.verticalScrollBar().isVisible(), size
            assert note.hint.shown_text().startswith("13 of 2,000"), size
            assert "…" not in note.hint.shown_text(), size
        note.cancel()


@pytest.mark.parametrize(("body", "kind"), BODIES)
async def test_the_button_that_wraps_stays_and_titles_have_more_room_than_sizes(
    tmp_path: Path, body: bytes, kind: str
) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        window.resize(*SIZE)
        capture = factories.capture(body, endpoint_id=desk.store.endpoints.all()[0].id, content_type=kind)
        await desk.store.captures.add(capture, body)
        window.show_endpoint(capture.endpoint_id)
        window.requests.go_to(capture)
        wrap = window.requests.detail.body.wrap
        await until(lambda: window.requests.detail.body.loader.ended)
        window.requests.detail.body.views.activated.emit("pretty")  # Parts are cards at first.
        await until(wrap.isVisible)
        await settle(10)
        assert wrap.visibleRegion().boundingRect() == wrap.rect()
        assert wrap.isEnabled()
        assert wrap.width() >= wrap.sizeHint().width()
        assert [area for area in window.findChildren(QScrollArea) if area.horizontalScrollBar().isVisible()] == []
        row = window.requests.list.visualRect(window.requests.list.model().index(0, 0))
        delegate = window.requests.list.request_delegate
        assert delegate.star_rect(row).right() - row.left() > row.width() * 0.7


@pytest.mark.parametrize("size", [(911, 512), (1280, 800)])
async def test_the_filter_is_in_line_with_the_url_above_it(
    desk: Desk, window: MainWindow, size: tuple[int, int]
) -> None:
    window.resize(*size)
    endpoint = await desk.endpoint()
    await desk.capture(endpoint)
    window.show_endpoint(endpoint.id)
    page = window.requests
    await until(page.list.isVisible)
    await settle(10)
    field, url = (one.mapTo(page, QPoint()).x() for one in (page.filter.bar.line, page.header.url))
    assert field == url
    saved, qr = (one.mapTo(page, one.rect().center()).x() for one in (page.filter.bar.saved, page.header.qr))
    assert saved == qr


async def test_the_name_of_an_endpoint_goes_before_the_words_of_its_buttons(desk: Desk, window: MainWindow) -> None:
    window.resize(1280, 800)
    endpoint = await desk.endpoint(name="Shop")
    await desk.capture(endpoint)
    window.show_endpoint(endpoint.id)
    await settle(10)
    header = window.requests.header
    assert header.width() > TEXT_FROM
    assert header.edit.text() == "Edit"
    name, room = "My", header.name.width()
    while header.name.fontMetrics().horizontalAdvance(name) <= room:
        name += "."
    await desk.store.endpoints.update(endpoint.id, factories.draft(name=name))
    await until(lambda: header.edit.text() == "")
    await until(lambda: header.name.shown_text() == name)
    assert header.edit.accessibleName() == "Edit"
    await desk.store.endpoints.update(endpoint.id, factories.draft(name="Shop"))
    await until(lambda: header.name.text() == "Shop")
    assert header.edit.text() == "Edit"


@pytest.mark.slow
async def test_no_page_of_the_smallest_window_scrolls_sideways(tmp_path: Path) -> None:
    """With a request open and with figures of some length. A page that is not shown widens the others too."""

    async with shown(tmp_path, endpoints=1) as (desk, window):
        window.resize(*MINIMUM)
        endpoint = await desk.endpoint(forward_url="http://127.0.0.1:9/hook")
        (delivery,) = await queued(desk.store, endpoint)
        await fail(desk.store, delivery)
        use = StorageUse(used=1_200_000, limit=11 << 30, when_full="delete_oldest", reached=False)
        pane = window.requests.detail
        for body, kind in BODIES:
            capture = factories.capture(body, endpoint_id=endpoint.id, content_type=kind)
            await desk.store.captures.add(capture, body)
            window.show_endpoint(endpoint.id)
            window.requests.go_to(capture)
            await until(lambda capture=capture: pane.capture_id == capture.id and pane.body.wrap.isVisible())
            for page in (None, DASHBOARD, ALL_REQUESTS, ALL_DELIVERIES, REPLAYS, REFUSED, TUNNEL):
                if page is not None:
                    window.show_page(page)
                window.dashboard.stats.show_kept(12_345, use)
                window.deliveries.filters.set_state(DeliveryState.FAILED)
                await settle(10)
                scrolled = [area for area in window.findChildren(QScrollArea) if area.horizontalScrollBar().isVisible()]
                assert scrolled == [], (kind, page)


@pytest.mark.parametrize("size", [(911, 512), (1366, 768)])
async def test_without_requests_the_whole_width_says_how_to_send_the_first(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with shown(tmp_path, endpoints=2) as (desk, window):
        endpoint, other = desk.store.endpoints.all()
        window.resize(*size)
        window.show_endpoint(endpoint.id)
        page = window.requests
        empty = page.list_area.empty
        await until(empty.isVisible)
        await settle(10)
        assert not page.detail.isVisible()
        assert not page.activity.isVisible()
        assert page.header.url._label.shown_text() == desk.capture_url(endpoint)
        assert [line.strip()[:3] for line in empty.command.text().splitlines()] == ["cur", "-H ", "-d "]
        (area,) = empty.findChildren(Scrolling)
        assert area.verticalScrollBar().maximum() == 0
        for widget in (empty.command, empty.copy, empty.test, empty.tunnel, empty.target):
            assert page.rect().contains(QRect(widget.mapTo(page, QPoint()), widget.size()))
        assert empty.command.height() < 4 * empty.command.fontMetrics().lineSpacing()
        empty.target.click()
        (await wait_for_widget(TargetsDialog, window)).done(0)
        empty.tunnel.click()
        assert window.tunnel_page.isVisible()
        window.show_endpoint(endpoint.id)
        await desk.capture(endpoint)
        await until(page.detail.isVisible)
        single = size[0] < 950
        await until(lambda: page.panes.single is single and page.list.isVisible() is not single)
        window.show_page(ALL_REQUESTS)
        assert page.detail.isVisible() is not single
        window.show_endpoint(other.id)
        await until(empty.isVisible)
        assert not page.detail.isVisible()


@pytest.mark.slow
async def test_what_is_above_the_list_gives_way_to_it_in_a_fixed_order(desk: Desk, window: MainWindow) -> None:
    """The chart, the description, the facts; with a notice of the window and one of the endpoint. In a higher window
    all comes back.
    """
    endpoint = await desk.endpoint(name="Shop", description="Payments of the test shop")
    target = await desk.store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:3000/payments"))
    await desk.store.targets.pause(target.id)
    for _ in range(20):
        await desk.capture(endpoint)
    message = Message(text="The disk is full, and nothing is captured.")
    desk.messages.post(message)
    page = window.requests
    large = ((1280, 900), (True, True, True), 8)
    for size, shows, rows in (
        large,
        ((1280, 800), (True, True, True), 8),
        large,
        ((911, 512), (False, True, True), 5),
        large,
        ((911, 470), (False, False, True), 5),
        large,
        ((911, 440), (False, False, False), 5),
        large,
        (MINIMUM, (False, False, False), 3),
        large,
    ):
        window.resize(*size)
        window.show_endpoint(endpoint.id)
        await until(page.list.isVisible)
        await settle(10)
        seen = page.activity.isVisible(), page.header.description.isVisible(), page.header.facts.isVisible()
        assert seen == shows, size
        assert page.list.height() >= rows * ROW, size
        assert page.header.paused_notice.isVisible(), size
        assert page.header.height() >= page.header.sizeHint().height(), size
    page.activity.chart.range_selected.emit(TimeRange(start=0, end=now_us()))
    window.resize(911, 470)
    await settle(10)
    assert page.activity.isVisible(), "it filters the list"
    desk.messages.withdraw(message.key)


async def test_pages_and_endpoints_share_the_height_of_the_smallest_window(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=40, plan=Plan.PRO) as (_, window):
        window.resize(*MINIMUM)
        await settle(10)
        sidebar = window.sidebar
        pages = sidebar.findChildren(NavRow)
        assert all(page.height() >= page.fontMetrics().height() for page in pages)
        assert sidebar.list.viewport().height() >= 2 * ROW
        assert sidebar.filter.isHidden()
        window.resize(1280, 800)
        await settle(10)
        assert {page.height() for page in pages} == {ROW}
        assert sidebar.filter.isVisible()
        sidebar.filter.setText("1")
        window.resize(*MINIMUM)
        await settle(10)
        assert sidebar.filter.text() == "1"
        assert sidebar.filter.isVisible()
