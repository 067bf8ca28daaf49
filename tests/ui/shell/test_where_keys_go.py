"""Where the keyboard is after a click, and which keys work from anywhere in the window."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.commands.command import ActionButton
from app.ui.requests.page.requests_page import RequestsPage
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_REQUESTS, DASHBOARD, REFUSED
from tests.ui.desk import Desk, shown
from tests.ui.waiting import activate, settle, until


async def filled(desk: Desk, window: MainWindow) -> list[int]:
    """Two requests for each endpoint; their ids. The keyboard is in the sidebar."""
    ids = [endpoint.id for endpoint in desk.store.endpoints.all()]
    for endpoint in desk.store.endpoints.all():
        await desk.capture(endpoint)
        await desk.capture(endpoint)
    await activate(window)
    window.sidebar.row(ids[0]).setFocus(Qt.FocusReason.TabFocusReason)
    return ids


def click(row: QWidget) -> None:
    """On its words."""
    QTest.mouseClick(row, Qt.MouseButton.LeftButton, pos=QPoint(row.width() // 2, row.height() // 2))


def all_there(page: RequestsPage, count: int) -> bool:
    """Whether so many rows are in the list."""
    return page.feed.model.rowCount() == count


def row_of(window: MainWindow, name: str) -> QWidget:
    """The sidebar's row of a page."""
    row = window.sidebar.findChild(QWidget, name)
    assert isinstance(row, QWidget)
    return row


def press(window: MainWindow, key: str) -> None:
    """Wherever the keyboard is."""
    QTest.keySequence(window.focusWidget() or window, QKeySequence(key))


class TestAClick:
    async def test_on_an_endpoint_or_all_requests_leads_into_the_list(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            ids, page = await filled(desk, window), window.requests
            rows: tuple[tuple[QWidget, int], ...] = ((window.sidebar.row(ids[1]), 2), (row_of(window, ALL_REQUESTS), 4))
            for row, count in rows:
                click(row)
                await until(partial(all_there, page, count))
                assert window.focusWidget() is page.list
                press(window, "J")
                press(window, "J")
                assert page.list.currentIndex().row() == 1
                press(window, "K")
                assert page.list.currentIndex().row() == 0
            for row in (row_of(window, REFUSED), row_of(window, DASHBOARD)):
                click(row)
                assert window.focusWidget() is row

    async def test_a_key_that_chooses_in_the_sidebar_stays_there(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            ids = await filled(desk, window)
            for key in ("Space", "Return"):
                press(window, "Down")
                row = window.focusWidget()
                press(window, key)
                assert window.requests.endpoint_id == ids[1]
                assert window.focusWidget() is row


class TestFromAnywhere:
    async def test_filter_and_find_work_while_the_sidebar_has_the_keyboard(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            ids, page = await filled(desk, window), window.requests
            window.show_endpoint(ids[0])
            await until(lambda: page.feed.model.rowCount() == 2)
            page.list.select_row(0)
            await until(lambda: page.detail.capture is not None)
            row = window.sidebar.row(ids[0])
            for key, place in (("/", page.filter.bar.line), ("Ctrl+F", page.detail.body.find_bar.field)):
                row.setFocus()
                press(window, key)
                assert window.focusWidget() is place, key
            page.filter.bar.line.setFocus()
            press(window, "/")
            assert page.filter.bar.line.text() == "/"

    async def test_not_on_other_pages(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            await filled(desk, window)
            window.enter_page(REFUSED)
            row = row_of(window, REFUSED)
            row.setFocus()
            press(window, "/")
            assert window.focusWidget() is row


class TestEmptyPlaces:
    async def test_nothing_found_leaves_the_keys_alone(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            ids, page = await filled(desk, window), window.requests
            window.enter_endpoint(ids[0])
            await until(lambda: page.feed.model.rowCount() == 2)
            page.filter.bar.set_text("method:PUT")
            await until(page.list_area.no_matches.isVisible)
            press(window, "/")
            assert window.focusWidget() is page.filter.bar.line
            assert page.list_area.no_matches.button is not None
            page.list_area.no_matches.button.setFocus()
            press(window, "/")
            assert window.focusWidget() is page.filter.bar.line
            page.list_area.no_matches.button.setFocus()
            press(window, "P")
            assert window.pause.on
            press(window, "P")
            press(window, "Esc")
            await until(lambda: page.feed.model.rowCount() == 2)
            await settle()
            assert window.focusWidget() is page.list

    async def test_a_detail_that_is_emptied_gives_the_keyboard_to_the_list(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            ids, page = await filled(desk, window), window.requests
            window.enter_endpoint(ids[0])
            await until(lambda: page.feed.model.rowCount() == 2)
            page.list.select_row(0)
            await until(lambda: page.detail.capture is not None)
            page.detail.tabs.setFocus()
            page.detail.clear()
            assert window.focusWidget() is page.list
            page.list.select_row(1)
            await until(lambda: page.detail.capture is not None)
            row = window.sidebar.row(ids[0])
            row.setFocus()
            page.detail.clear()
            assert window.focusWidget() is row


class TestTab:
    async def test_goes_through_the_window_as_one_reads_it(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            ids, page = await filled(desk, window), window.requests
            await desk.endpoint()
            window.resize(1600, 900)
            window.enter_endpoint(ids[0])
            await until(lambda: page.feed.model.rowCount() == 2 and len(window.sidebar.list.rows) == 3)
            page.list.select_row(0)
            await until(page.detail.body.views.isVisible)
            page.detail.body.views.set_current("text")
            page.filter.bar.set_text("method:post is:unread OR is:read")
            await until(lambda: page.filter.bar.chips.chips)
            page.list.setFocus()
            visited: list[QWidget] = []
            while len(visited) < 80 and (not visited or visited[-1] is not page.list):
                press(window, "Tab")
                visited.append(window.focusWidget())
            begin = visited.index(window.sidebar.head.palette_button)
            visited = visited[begin:] + visited[:begin]
            sidebar, detail, strip = window.sidebar, page.detail, page.activity
            chosen = next(one for one in detail.body.views.findChildren(QAbstractButton) if one.isChecked())
            hour = next(one for one in strip.spans.findChildren(QAbstractButton) if one.isChecked())
            wanted = [
                sidebar.head.palette_button,
                sidebar.add_button,
                sidebar.row(ids[0]),  # the one shown; the arrows lead to the others
                sidebar.settings_button,
                page.header.edit,
                page.header.more,
                strip.fold,
                hour,
                strip.chart,
                page.filter.bar.line,
                *page.filter.bar.chips.chips,
                page.list,
                page.list_footer.button,
                detail.header.findChildren(ActionButton)[0],
                detail.tabs,
                chosen,
                detail.body.search,
                detail.body.code,
            ]
            assert [widget for widget in visited if widget in wanted] == wanted
            others = set(detail.body.views.findChildren(QAbstractButton)) - {chosen}
            assert not others & set(visited)


async def test_the_key_of_what_is_shown_changes_nothing(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        (endpoint,) = desk.store.endpoints.all()
        captures = [await desk.capture(endpoint) for _ in range(3)]
        await activate(window)
        window.enter_endpoint(endpoint.id)
        page, relisted = window.requests, []
        await until(lambda: page.feed.model.rowCount() == 3)
        page.list.select(captures[1].id)
        await until(lambda: page.detail.capture and page.detail.capture.id == captures[1].id)
        page.feed.relisted.connect(lambda: relisted.append(1))
        page.detail.tabs.setFocus()
        QTest.keyClick(window.focusWidget(), Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
        await settle()
        assert page.detail.capture_id == captures[1].id
        assert [one.id for one in page.list.selected()] == [captures[1].id]
        assert page.detail.tabs.hasFocus()
        assert not relisted
        window.show_page(ALL_REQUESTS)
        relisted.clear()
        window.show_page(ALL_REQUESTS)
        assert not relisted
