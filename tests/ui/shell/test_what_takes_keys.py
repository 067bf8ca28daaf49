"""The keyboard stays where the user put it, and nothing is opened or marked by a dialog's end or by typing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app.ui.requests.page.requests_page import RequestsPage
from app.ui.shell.main_window import MainWindow
from tests.ui.desk import Desk, shown
from tests.ui.waiting import activate, settle, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")
Key = Qt.Key


async def listed(desk: Desk, window: MainWindow, count: int = 4) -> RequestsPage:
    """An endpoint with so many unread requests, none chosen, the keyboard in their list."""
    endpoint = desk.store.endpoints.all()[0]
    for _ in range(count):
        await desk.capture(endpoint, target="/catch/x/stars")
    window.enter_endpoint(endpoint.id)
    await until(lambda: window.requests.feed.model.rowCount() == count)
    await settle()
    return window.requests


def unread(desk: Desk) -> int:
    return desk.store.captures.counts(desk.store.endpoints.all()[0].id).unread


def palette(window: MainWindow) -> None:
    window.commands.palette.open()
    QTest.keyClick(window.focusWidget(), Key.Key_Escape)


def sheet(window: MainWindow) -> None:
    window.commands.open_shortcuts()
    QApplication.activeModalWidget().close()


def settings(window: MainWindow) -> None:
    window.dialogs.open_settings()
    QApplication.activeModalWidget().close()


def about(window: MainWindow) -> None:
    window.dialogs.open_about()
    QApplication.activeModalWidget().close()


def question(window: MainWindow) -> None:
    """What a menu's Delete asks."""
    window.requests.endpoint_commands.clear.trigger()


def menu(window: MainWindow) -> None:
    window.requests.header.more.click()
    window.requests.header._menu.close()


@pytest.mark.parametrize("opens", [palette, sheet, settings, about, question, menu])
async def test_what_closes_opens_no_request(tmp_path: Path, opens: Callable[[MainWindow], None]) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        page = await listed(desk, window)
        opens(window)
        if opens is question:
            await until(lambda: QApplication.activeModalWidget() is not None)
            QApplication.activeModalWidget().close()
            await activate(window)
        await until(lambda: QApplication.activeModalWidget() is None and window.isActiveWindow())
        page.list.clearFocus()
        page.list.setFocus(Qt.FocusReason.PopupFocusReason)
        await settle(5)
        assert window.focusWidget() is page.list
        assert page.detail.capture_id is None
        assert (page.list.current(), page.list.selected()) == (None, [])
        assert unread(desk) == 4
        QTest.keyClick(page.list, Key.Key_J)
        await until(lambda: unread(desk) == 3)
        assert page.list.currentIndex().row() == 0


async def test_enter_in_the_filter_searches_and_what_is_typed_next_stays_typing(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        page = await listed(desk, window)
        QTest.keyClick(page.list, Key.Key_Slash)
        line = page.filter.bar.line
        line.suggestions.hide()
        QTest.keyClicks(line, "star")
        QTest.keyClick(line, Key.Key_Return)
        assert page.feed.query is not None
        await until(lambda: not page.feed.pager.jumping)
        await settle()
        QTest.keyClicks(window.focusWidget(), "s")
        await settle()
        assert line.text() == "stars"
        assert not any(page.feed.model.summary(row).starred for row in range(page.feed.model.rowCount()))
        assert page.detail.capture_id is None
        assert unread(desk) == 4
        QTest.keyClick(line, Key.Key_Down)
        assert page.list.hasFocus()
        await until(lambda: page.detail.capture_id == page.feed.model.summary(0).id)


async def test_the_filter_keeps_the_keyboard_when_the_last_request_goes(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        page = await listed(desk, window, 1)
        page.filter.bar.line.setFocus()
        await desk.store.captures.clear(desk.store.endpoints.all()[0].id)
        await until(page.list_area.empty.isVisible)
        assert window.focusWidget() is page.filter.bar.line


async def test_who_enters_an_empty_list_leaves_the_field_at_once(tmp_path: Path) -> None:
    """Not when the first request comes: what is typed by then would be commands."""

    async with shown(tmp_path, endpoints=1) as (desk, window):
        page = await listed(desk, window, 1)
        line = page.filter.bar.line
        line.setFocus()
        (endpoint,) = desk.store.endpoints.all()
        await desk.store.captures.clear(endpoint.id)
        await until(page.list_area.empty.isVisible)
        QTest.keyClick(line, Key.Key_1, Qt.KeyboardModifier.ControlModifier)
        assert page.list_area.empty.isAncestorOf(window.focusWidget())
        page.filter.bar.line.setFocus()
        QTest.keyClick(line, Key.Key_Escape)
        assert page.list_area.empty.isAncestorOf(window.focusWidget())
        await desk.capture(endpoint)
        await until(page.list.isVisible)
        assert window.focusWidget() is page.list


def menus(page: QWidget) -> list[QMenu]:
    return [menu for menu in page.findChildren(QMenu) if menu.isVisible()]


@pytest.mark.parametrize("opens", ["the row's", "the endpoint's", "saved filters"])
async def test_letters_typed_into_a_menu_do_nothing_behind_it(tmp_path: Path, opens: str) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        page = await listed(desk, window)
        QTest.keyClick(page.list, Key.Key_J)
        await until(lambda: unread(desk) == 3)
        if opens == "the row's":
            QTest.keyClick(page.list, Key.Key_F4)
        elif opens == "the endpoint's":
            page.header._open_menu()
        else:
            page.filter.bar.saved.open_menu()
        await until(lambda: menus(page))
        (menu,) = menus(page)
        for key in (Key.Key_S, Key.Key_U, Key.Key_P, Key.Key_N, Key.Key_Delete):
            QTest.keyClick(menu, key)
        await settle(5)
        assert QApplication.activeModalWidget() is None
        assert not page.list.selected()[0].starred
        assert unread(desk) == 3
        assert not window.pause.on
        assert not page.detail.header.note.writing
        QTest.keyClick(menu, Key.Key_Escape)
        await until(lambda: not menus(page))
        QTest.keyClick(page.list, Key.Key_S)
        await until(lambda: page.list.selected()[0].starred)


async def test_keys_run_no_command_while_another_window_is_active(tmp_path: Path) -> None:
    """Without a window manager the list still gets them."""

    async with shown(tmp_path, endpoints=1) as (desk, window):
        page = await listed(desk, window)
        page.list.setFocus()
        page.list.select_row(0)
        other = QWidget()
        other.show()
        await activate(other)
        ran: list[str] = []

        def note() -> None:
            ran.append("a command")

        for action in page.list.actions():
            action.triggered.connect(note)
        for key in (Key.Key_R, Key.Key_S, Key.Key_U, Key.Key_Delete):
            QTest.keyClick(page.list, key)
        assert ran == []
        other.close()
        other.deleteLater()
        await activate(window)
        QTest.keyClick(page.list, Key.Key_S)
        assert len(ran) == 1
        await settle()
