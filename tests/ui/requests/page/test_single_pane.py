"""A narrow page shows one at a time: its list, or in its place the request that is opened."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton

from app.ui.deleting import PendingDelete
from app.ui.shell.main_window import MINIMUM, MainWindow
from app.ui.shell.sidebar import DASHBOARD
from app.ui.theme.metrics import SIDE_BY_SIDE_WIDTH
from tests.ui.desk import Desk, open_desk, shown_over
from tests.ui.drawn import drawn
from tests.ui.keyboard import Keyboard, name_of
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import activate, settle, until


@pytest_asyncio.fixture
async def narrow(tmp_path: Path) -> AsyncIterator[PageDesk]:
    """Three requests, of which none is open."""
    async with open_page(tmp_path) as shown:
        shown.page.resize(SIDE_BY_SIDE_WIDTH - 1, 480)
        await shown.fill(3)
        await shown.reload()
        await until(lambda: shown.model.rowCount() == 3)
        await activate(shown.page)
        shown.page.take_focus()
        await settle(10)
        yield shown


def shows(shown: PageDesk) -> str:
    """What has the whole page."""
    parts = {"list": shown.list, "request": shown.detail.header}
    visible = [name for name, part in parts.items() if part.isVisible()]
    assert len(visible) == 1, visible
    return visible[0]


async def click(shown: PageDesk, row: int, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    place = shown.list.visualRect(shown.model.index(row)).center()
    QTest.mouseClick(shown.list.viewport(), Qt.MouseButton.LeftButton, modifiers, place)
    await settle(10)


async def opens(shown: PageDesk, row: int) -> None:
    await until(shown.detail.header.isVisible)
    assert shows(shown) == "request"
    assert shown.detail.capture is not None
    assert shown.detail.capture.id == shown.ids()[row]


async def test_a_click_opens_and_back_leads_to_the_list_with_the_row_selected(narrow: PageDesk) -> None:
    assert shows(narrow) == "list"
    assert not narrow.page.panes.back.isEnabled()
    await click(narrow, 1)
    await opens(narrow, 1)
    assert narrow.page.panes.back.isEnabled()
    focus = QApplication.focusWidget()
    assert focus is not None
    assert narrow.detail.isAncestorOf(focus)
    (back,) = (one for one in narrow.page.findChildren(QToolButton) if one.accessibleName() == "Back to list")
    assert drawn(back).words == ["Back to list"]
    back.click()
    await until(narrow.list.isVisible)
    assert shows(narrow) == "list"
    assert narrow.list.hasFocus()
    assert [one.id for one in narrow.list.selected()] == [narrow.ids()[1]]
    assert not back.isVisible()


@pytest.mark.parametrize("back", ["Esc", "Alt+Left"])
async def test_keys_move_without_opening_and_enter_opens(narrow: PageDesk, back: str) -> None:
    keyboard = Keyboard(narrow.page)
    for key in ("Down", "J"):
        await keyboard.press(key)
        await settle(10)
        assert shows(narrow) == "list"
    counts = narrow.desk.store.captures.counts
    assert counts(narrow.endpoint.id).unread == 3, "nothing is read that was not opened"
    await keyboard.press("Return")
    await opens(narrow, narrow.list.currentIndex().row())
    await until(lambda: counts(narrow.endpoint.id).unread == 2)
    await keyboard.press(back)
    assert shows(narrow) == "list"
    assert narrow.list.hasFocus()


async def test_a_click_that_extends_the_selection_opens_nothing(narrow: PageDesk) -> None:
    await click(narrow, 0, Qt.KeyboardModifier.ControlModifier)
    await click(narrow, 2, Qt.KeyboardModifier.ControlModifier)
    assert shows(narrow) == "list"
    assert narrow.list.selected_count() == 2


async def test_the_second_half_of_a_double_click_presses_nothing_in_the_request(narrow: PageDesk) -> None:
    await click(narrow, 0)
    await opens(narrow, 0)
    transparent = Qt.WidgetAttribute.WA_TransparentForMouseEvents
    assert narrow.detail.testAttribute(transparent)
    await until(lambda: not narrow.detail.testAttribute(transparent))
    narrow.page.open_request(narrow.ids()[1])
    await until(lambda: narrow.detail.capture is not None and narrow.detail.capture.id == narrow.ids()[1])
    assert not narrow.detail.testAttribute(transparent)


async def test_after_a_delete_the_next_request_is_open(narrow: PageDesk) -> None:
    await click(narrow, 1)
    await opens(narrow, 1)
    following = narrow.ids()[2]
    await Keyboard(narrow.page).press("Del")
    await until(lambda: narrow.detail.capture is not None and narrow.detail.capture.id == following)
    assert shows(narrow) == "request"
    pending = narrow.services.deletes
    assert isinstance(pending, PendingDelete)
    await until(lambda: not pending.waiting and not narrow.desk.tasks.running())


async def test_a_note_opens_the_selected_request(narrow: PageDesk) -> None:
    keyboard = Keyboard(narrow.page)
    await keyboard.press("Down", "N")
    await until(lambda: narrow.detail.header.note.writing)
    assert shows(narrow) == "request"
    assert narrow.detail.capture_id == narrow.list.selected()[0].id
    await keyboard.type("Twice")
    await keyboard.press("Ctrl+Return")
    await until(lambda: narrow.list.selected()[0].note == "Twice")


async def test_filtering_shows_the_list(narrow: PageDesk) -> None:
    await click(narrow, 1)
    await opens(narrow, 1)
    await Keyboard(narrow.page).press("/")
    assert shows(narrow) == "list"
    assert narrow.page.filter.bar.line.hasFocus()


async def test_a_wider_page_shows_both_again(narrow: PageDesk) -> None:
    await click(narrow, 1)
    await opens(narrow, 1)
    narrow.page.resize(SIDE_BY_SIDE_WIDTH, 480)
    await until(narrow.list.isVisible)
    assert narrow.detail.header.isVisible()
    await until(lambda: all(narrow.page.splitter.sizes()))
    narrow.page.resize(SIDE_BY_SIDE_WIDTH - 1, 480)
    await settle(10)
    assert shows(narrow) == "request"


@pytest.mark.slow
async def test_the_window_comes_back_to_the_request_and_keeps_the_divider(tmp_path: Path) -> None:
    async with open_desk(tmp_path, endpoints=1) as desk:
        (endpoint,) = desk.store.endpoints.all()
        await desk.capture(endpoint)
        async with shown_over(desk) as window:
            window.resize(1200, 700)
            window.show_endpoint(endpoint.id)
            await until(window.requests.list.isVisible)
            await settle(10)
            splitter = window.requests.splitter
            splitter.setSizes([452, sum(splitter.sizes()) - 452])
            put = splitter.sizes()
            window.resize(*MINIMUM)
            await until(lambda: window.requests.panes.single)
            window.requests.list.select_row(0)
            window.requests.commands.open.run()
            await until(window.requests.detail.header.isVisible)
        async with shown_over(desk) as window:
            await until(window.requests.detail.header.isVisible)
            assert not window.requests.list.isVisible()
            window.resize(1200, 700)
            await until(window.requests.list.isVisible)
            await settle(10)
            assert window.requests.splitter.sizes() == put


async def test_what_names_a_request_opens_it(desk: Desk, window: MainWindow) -> None:
    """As a notification, the palette and a delivery do."""
    endpoint = await desk.endpoint()
    captured = await desk.capture(endpoint)
    window.resize(*MINIMUM)
    window.show_page(DASHBOARD)
    await until(lambda: window.requests.panes.single)
    window.commands.sources.open_request(captured.id)
    await until(window.requests.detail.header.isVisible)
    assert not window.requests.list.isVisible()
    window.enter_endpoint(endpoint.id)
    assert window.requests.detail.header.isVisible()


async def test_the_focus_stays_in_what_is_shown(narrow: PageDesk) -> None:
    """Whatever opens a request, and whatever closes it."""
    assert narrow.list.hasFocus()
    narrow.page.open_request(narrow.ids()[1])
    await opens(narrow, 1)
    focus = narrow.page.focusWidget()
    assert focus is not None
    assert narrow.detail.isAncestorOf(focus)
    assert not isinstance(focus, QToolButton)
    narrow.page.show_endpoint(None)
    await until(lambda: narrow.model.rowCount() == 3)
    assert shows(narrow) == "list"
    assert narrow.list.hasFocus()


@pytest.mark.parametrize("back", ["Esc", "Space"])
async def test_a_request_that_is_gone_leaves_the_keyboard_on_the_way_back(narrow: PageDesk, back: str) -> None:
    gone = await narrow.add()
    await narrow.desk.store.captures.delete([gone.id])
    await until(lambda: narrow.model.rowCount() == 3)
    narrow.page.open_request(gone.id)
    await until(narrow.detail.placeholder.isVisible)
    keyboard = Keyboard(narrow.page)
    assert name_of(keyboard.focus) == "Back to list"
    await keyboard.press(back)
    assert shows(narrow) == "list"
    assert narrow.list.hasFocus()
