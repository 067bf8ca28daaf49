"""Each command behind a key, button and menu entry: its name, when it is available, what it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app.ui.commands.command import ActionButton, CommandGroup
from app.ui.widgets.dialog import Question
from tests.support import while_read
from tests.ui.desk import shown as shown_window
from tests.ui.keyboard import Keyboard
from tests.ui.requests.page_desk import PageDesk, click_row, filled
from tests.ui.waiting import settle, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


async def menu_of(shown: PageDesk, row: int) -> QMenu:
    place = shown.list.visualRect(shown.model.index(row)).center()
    QTest.mouseClick(shown.list.viewport(), Qt.MouseButton.RightButton, pos=place)
    glob = shown.list.viewport().mapToGlobal(place)
    asked = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, glob)
    QApplication.sendEvent(shown.list.viewport(), asked)
    await until(lambda: any(menu.isVisible() for menu in shown.list.findChildren(QMenu)))
    return next(menu for menu in shown.list.findChildren(QMenu) if menu.isVisible())


def texts(menu: QMenu) -> list[str]:
    return [action.text() for action in menu.actions() if not action.isSeparator()]


async def test_the_menu_of_a_row_holds_the_commands_themselves(shown: PageDesk) -> None:
    ids = await filled(shown, 3)
    commands = shown.page.commands
    menu = await menu_of(shown, 1)
    assert [one.id for one in shown.list.selected()] == [ids[1]]
    assert set(commands.selected.with_keys()) <= set(menu.actions())
    assert commands.open in menu.actions()
    await until(lambda: all(action.isEnabled() for action in menu.actions()))
    commands.selected.link.trigger()
    assert QGuiApplication.clipboard().text() == f"hookline://request/{ids[1]}"
    menu.close()
    await settle()
    assert not shown.list.findChildren(QMenu)


async def test_enter_while_a_request_is_read_leads_into_it_once_it_is_shown(shown: PageDesk) -> None:
    await filled(shown, 2)
    focused: list[QWidget | None] = []

    async def enter() -> None:
        QTest.keyClick(shown.list, Qt.Key.Key_Return)
        focused.append(QApplication.focusWidget())

    while_read(shown.desk.store.captures, "get", enter)
    shown.list.select_row(1)
    await until(lambda: shown.detail.capture is not None)
    assert focused == [shown.list]
    focus = Keyboard(shown.page).focus
    assert shown.detail.isAncestorOf(focus)


async def test_the_menu_of_many_names_how_many_and_keeps_them_selected(shown: PageDesk) -> None:
    ids = await filled(shown, 5)
    click_row(shown, 0)
    click_row(shown, 2, SHIFT)
    await until(shown.page.list_footer.bar.isVisible)
    menu = await menu_of(shown, 1)
    assert "Delete 3 requests…" in texts(menu)
    assert "Mark 3 requests as read" in texts(menu)
    assert "Copy link" not in texts(menu)
    shown.page.commands.selected.mark_read.trigger()
    await until(lambda: all(shown.model.summary(row).read for row in range(3)))
    assert not shown.model.summary(3).read
    assert [one.id for one in shown.list.selected()] == ids[:3]
    menu.close()


async def test_f4_and_the_menu_key_open_it_at_the_cursor(shown: PageDesk) -> None:
    await filled(shown, 3)
    QTest.keyClick(shown.list, Qt.Key.Key_J)
    QTest.keyClick(shown.list, Qt.Key.Key_F4)
    await until(lambda: shown.list.findChildren(QMenu))
    shown.list.findChildren(QMenu)[0].close()
    await until(lambda: not shown.list.findChildren(QMenu))
    row = shown.list.visualRect(shown.list.currentIndex()).center()
    by_key = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, row, shown.list.mapToGlobal(row))
    QApplication.sendEvent(shown.list.viewport(), by_key)
    await until(lambda: shown.list.findChildren(QMenu))
    shown.list.findChildren(QMenu)[0].close()
    below = QPoint(10, shown.list.viewport().height() - 4)
    nowhere = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, below, shown.list.mapToGlobal(below))
    await until(lambda: not shown.list.findChildren(QMenu))
    QApplication.sendEvent(shown.list.viewport(), nowhere)
    await settle()
    assert not shown.list.findChildren(QMenu)


async def test_commands_are_there_only_when_they_would_do_something(shown: PageDesk) -> None:
    commands = shown.page.commands
    offered = {command.text(): command.group for command in commands.all()}
    assert offered["Copy as curl"] is CommandGroup.REQUEST
    assert offered["Go to newest"] is CommandGroup.LIST
    assert len(commands.all()) == len(set(commands.all()))
    assert not any(one.isEnabled() for one in commands.all() if one.group is CommandGroup.REQUEST)
    await filled(shown, 2)
    assert not commands.selected.delete.isEnabled()
    assert commands.select_loaded.isEnabled()
    shown.list.select_row(0)
    await until(lambda: shown.detail.capture is not None)
    of_request = [one for one in commands.all() if one.group is CommandGroup.REQUEST]
    assert [one for one in of_request if not one.isEnabled()] == [commands.compare], "it takes two"
    shown.list.selectAll()
    await until(lambda: not commands.selected.curl.isEnabled())
    assert commands.compare.isEnabled()
    assert commands.selected.delete.text() == "Delete 2 requests…"
    assert commands.opened.curl.isEnabled()
    shown.page.hide()
    assert not any(one.isEnabled() for one in commands.all())
    shown.page.show()
    assert commands.selected.delete.isEnabled()


async def test_the_heads_buttons_are_the_commands_with_their_keys(shown: PageDesk) -> None:
    ids = await filled(shown, 2)
    shown.list.select_row(0)
    await until(lambda: shown.detail.capture is not None and shown.model.summary(0).read)
    buttons = {button.command.text(): button for button in shown.detail.header.findChildren(ActionButton)}
    assert buttons["Copy link"].accessibleName() == "Copy link"
    QTest.mouseClick(buttons["Copy link"], Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == f"hookline://request/{ids[0]}"
    QTest.mouseClick(buttons["Mark as unread"], Qt.MouseButton.LeftButton)
    await until(lambda: not shown.model.summary(0).read)
    assert buttons["Mark as unread"].accessibleName() == "Mark as read"
    shown.list.selectAll()
    await settle()
    QTest.mouseClick(buttons["Delete"], Qt.MouseButton.LeftButton)
    await until(lambda: shown.ids() == ids[1:])


async def test_typing_stays_typing_in_the_filter_and_the_search(shown: PageDesk) -> None:
    await filled(shown, 3)
    shown.list.select_row(0)
    await until(lambda: shown.detail.capture is not None)
    QGuiApplication.clipboard().clear()
    line = shown.page.filter.bar.line
    QTest.keyClick(shown.list, "/")
    await until(line.hasFocus)
    line.suggestions.hide()
    QTest.keyClicks(line, "clusp")
    QTest.keyClick(line, Qt.Key.Key_A, CTRL)
    assert line.selectedText() == "clusp"
    QTest.keyClick(line, Qt.Key.Key_Delete)
    assert line.text() == ""
    shown.detail.open_find()
    field = shown.detail.body.find_bar.field
    await until(field.hasFocus)
    QTest.keyClicks(field, "clusp")
    QTest.keyClick(field, Qt.Key.Key_Return, SHIFT)
    await settle()
    assert field.text() == "clusp"
    assert not shown.page.findChildren(Question)
    assert not shown.page.windows.open_now
    assert shown.page.list_footer.button.text() == "Pause"
    assert QGuiApplication.clipboard().text() == ""
    assert shown.list.selected_count() <= 1


async def test_the_windows_other_pages_are_offered_none_of_it(tmp_path: Path) -> None:
    async with shown_window(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        await desk.capture(endpoint)
        window.show_endpoint(endpoint.id)
        await until(lambda: window.requests.feed.model.rowCount() == 1)
        pause = window.requests.commands.pause
        assert pause.isEnabled()
        window.show_page("dashboard")
        assert not any(one.isEnabled() for one in window.requests.commands.all())
        window.show_page("all")
        await until(pause.isEnabled)


@pytest.mark.parametrize("end", ["page hidden", "request gone"])
async def test_a_menu_closes_when_what_it_is_about_goes(end: str, shown: PageDesk) -> None:
    ids = await filled(shown, 3)
    menu = await menu_of(shown, 1)
    await shown.desk.store.captures.delete([ids[2]])
    await until(lambda: shown.model.rowCount() == 2)
    await settle()
    assert menu.isVisible()
    if end == "page hidden":
        shown.page.hide()
    else:
        await shown.desk.store.captures.delete([ids[1]])
    await until(lambda: not any(one.isVisible() for one in shown.list.findChildren(QMenu)))
