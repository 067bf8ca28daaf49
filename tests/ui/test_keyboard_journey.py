"""A user's whole way through the real window by keys alone, with real requests and a real target."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.model import DeliveryState
from app.ui.comparison.dialog import ComparisonDialog
from app.ui.endpoints.endpoint_actions import FIRST_NAME
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.inspector.request_view import BODY, DELIVERIES, HEADERS, INFO, RAW
from app.ui.settings.dialog import SettingsDialog
from tests.server.forward.targets import Received, Target, target
from tests.ui.keyboard import Keyboard, name_of, no_mouse
from tests.ui.program import Program, program_on
from tests.ui.waiting import until

pytestmark = [pytest.mark.qt_log_ignore("This plugin does not support"), pytest.mark.slow]

FIRST_OF_WINDOW = "Find anything"


async def test_from_the_first_endpoint_to_a_comparison_and_the_settings_by_keys_alone(tmp_path: Path) -> None:
    async with target(its_path) as place, program_on(tmp_path) as program:
        keyboard = Keyboard(program.window)
        with no_mouse():
            await create_first(program, keyboard)
            await capture_two(program, keyboard)
            await walk_through_the_tabs(program, keyboard)
            await add_targets(program, keyboard, place)
            await replay(program, keyboard, place)
            await read_deliveries(program, keyboard, place)
            await compare(program, keyboard)
            await change_a_setting(program, keyboard)
            assert_in_list(program, keyboard)


async def its_path(received: Received, writer: object) -> None:
    """Each target of the endpoint answers otherwise."""
    body = received.line.encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)  # type: ignore[attr-defined]


def assert_in_list(program: Program, keyboard: Keyboard) -> None:
    """The focus is in the list, and what is open there is still open."""
    page = program.window.requests
    assert keyboard.focus is page.list, name_of(keyboard.focus)
    assert page.detail.capture_id == page.list.selected()[0].id == page.feed.model.summary(0).id


async def create_first(program: Program, keyboard: Keyboard) -> None:
    assert FIRST_NAME in name_of(keyboard.focus)
    assert FIRST_OF_WINDOW in await keyboard.tab_around()
    await keyboard.press("Space")
    await until(program.application.store.endpoints.all)
    await until(program.window.requests.list_area.empty.isVisible)


async def capture_two(program: Program, keyboard: Keyboard) -> None:
    page = program.window.requests
    await keyboard.tab_to("Send a test request")
    await keyboard.press("Return")
    await until(lambda: page.feed.model.rowCount() == 1 and page.detail.capture is not None)
    assert keyboard.focus is page.list, name_of(keyboard.focus)
    assert (await program.send(b'{"order": 7}', "Content-Type: application/json")).status == 200
    await until(lambda: page.feed.model.rowCount() == 2)
    await keyboard.press("K")
    await until(lambda: page.detail.capture_id == page.feed.model.summary(0).id)
    assert_in_list(program, keyboard)


async def walk_through_the_tabs(program: Program, keyboard: Keyboard) -> None:
    """Enter leads into each tab, Tab through it and out of it, Esc back to the list."""
    detail = program.window.requests.detail
    await until(lambda: '"order"' in detail.body.code.toPlainText())
    for tab in (BODY, HEADERS, DELIVERIES, RAW, INFO):
        assert detail.tabs.currentIndex() == tab
        await keyboard.press("Enter")
        assert detail.isAncestorOf(keyboard.focus)
        await keyboard.tab_to(FIRST_OF_WINDOW)
        await keyboard.tab_to(detail.tabs, "Shift+Tab")
        await keyboard.press("Esc")
        assert_in_list(program, keyboard)
        await keyboard.tab_to(detail.tabs)
        await keyboard.press("Right")
    await keyboard.press("Esc")
    assert_in_list(program, keyboard)


async def add_targets(program: Program, keyboard: Keyboard, place: Target) -> None:
    await keyboard.press("Ctrl+T")
    await program.dialog(TargetsDialog)
    await keyboard.tab_to("Add target")
    await keyboard.press("Space")
    await keyboard.type(f"{place.url}/one")
    assert {"Targets", "URL", "Client key", "CA certificate", "Save"} <= set(await keyboard.tab_around())
    await keyboard.tab_to("Save")
    await keyboard.close("Space")
    assert [one.url for one in program.endpoint.targets] == [f"{place.url}/one"]
    assert_in_list(program, keyboard)
    await keyboard.run("Edit targets")
    await program.dialog(TargetsDialog)
    await keyboard.tab_to("Add target")
    await keyboard.press("Space")
    await keyboard.type(f"{place.url}/two")
    await keyboard.close("Return")
    assert [one.url for one in program.endpoint.targets] == [f"{place.url}/one", f"{place.url}/two"]
    assert_in_list(program, keyboard)


async def replay(program: Program, keyboard: Keyboard, place: Target) -> None:
    """Both requests, the newest last."""
    page = program.window.requests
    for count, key in ((2, "J"), (4, "K")):
        await keyboard.press(key, "R")
        await place.arrival(count)
        await until(lambda: all(one.delivery is DeliveryState.DELIVERED for one in page.list.selected()))
    assert_in_list(program, keyboard)


async def read_deliveries(program: Program, keyboard: Keyboard, place: Target) -> None:
    detail = program.window.requests.detail
    await keyboard.tab_to(detail.tabs)
    await keyboard.press("Left", "Left")
    assert detail.tabs.currentIndex() == DELIVERIES
    await until(lambda: name_of(detail.tabs) == "Deliveries 2")
    await keyboard.press("Tab")
    assert name_of(keyboard.focus) == "Attempts"
    pane = detail.view.deliveries.pane
    await keyboard.press("Home")
    await until(lambda: pane.body.code.toPlainText() == "POST /two HTTP/1.1")
    await keyboard.press("End")
    await until(lambda: pane.body.code.toPlainText() == "POST /one HTTP/1.1")
    await keyboard.tab_to("Response received")
    await keyboard.press("Tab", "Right", "Tab")
    assert keyboard.focus is pane.headers
    await keyboard.tab_to(FIRST_OF_WINDOW)
    await keyboard.tab_to("Attempts", "Shift+Tab")
    await keyboard.press("Esc")
    assert_in_list(program, keyboard)


async def compare(program: Program, keyboard: Keyboard) -> None:
    await keyboard.run("Compare targets")
    dialog = await program.dialog(ComparisonDialog)
    await until(lambda: dialog.model.rowCount() == 2 and keyboard.focus is dialog.list)
    await until(dialog.responses.isVisible)
    await keyboard.press("Down")
    assert dialog.list.current_row() == 1
    assert "Close" in await keyboard.tab_around()
    assert keyboard.focus is dialog.list
    await keyboard.close("Esc")
    assert_in_list(program, keyboard)


async def change_a_setting(program: Program, keyboard: Keyboard) -> None:
    """A theme that is seen before it is saved and left by Esc, then one of two sections at once, saved from a field."""
    await keyboard.press("Ctrl+,")
    dialog = await program.dialog(SettingsDialog)
    await keyboard.tab_around()
    theme = dialog.theme
    await keyboard.tab_to("Match system")
    await keyboard.press("Down", "Down")
    assert theme.is_dark
    await keyboard.press("Esc")
    await keyboard.tab_to("Discard")
    await keyboard.close("Space")
    assert not theme.is_dark
    assert_in_list(program, keyboard)
    await keyboard.press("Ctrl+,")
    dialog = await program.dialog(SettingsDialog)
    await keyboard.tab_to("Match system")
    await keyboard.press("Down", "Down")
    assert theme.is_dark
    await keyboard.tab_to("Sections")
    await keyboard.press("Down")
    await keyboard.tab_around()
    await keyboard.tab_to("Public base URL")
    await keyboard.type("https://hooks.example.com")
    await keyboard.press("Return")
    await until(lambda: program.application.settings.base_url == "https://hooks.example.com")
    assert program.application.settings.theme == "dark"
    await until(lambda: dialog.status.text().startswith("Saved."))
    assert name_of(keyboard.focus) == "Public base URL"
    await keyboard.close("Esc")
    assert_in_list(program, keyboard)
