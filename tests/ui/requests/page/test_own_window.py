"""A request in its own window: its keys, its star and note, and its closing."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.ui.requests.page.own_window import SIZE, OwnWindow
from app.ui.widgets import fit_screen
from tests.ui.desk import shown as shown_window
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import activate, settle, until

pytestmark = [pytest.mark.qt_log_ignore("This plugin does not support"), pytest.mark.slow]
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


async def own(shown: PageDesk, row: int = 1) -> OwnWindow:
    """The window of a row's request, once it shows it."""
    await activate(shown.page)
    shown.list.setFocus()
    shown.list.select_row(row)
    await until(lambda: shown.page.detail.summary is not None)
    QTest.keyClick(shown.list, Qt.Key.Key_Return, SHIFT)
    window = shown.page.windows.open_now[shown.ids()[row]]
    await until(lambda: window.detail.summary is not None and window.detail.summary.read)
    await until(lambda: QApplication.activeWindow() is window and window.focusWidget() is window.detail.body.code)
    return window


async def test_it_shows_its_request_with_its_keys_whatever_the_list_shows(tmp_path: Path) -> None:
    async with open_page(tmp_path, name="Stripe test") as shown:
        await shown.fill(3)
        await shown.reload()
        ids, clipboard = shown.ids(), QGuiApplication.clipboard()
        window = await own(shown)
        assert window.windowTitle() == "POST /1 · Stripe test"
        assert window.detail.geometry() == window.rect()
        shown.list.select_row(0)
        await until(lambda: shown.detail.capture_id == ids[0])
        assert window.detail.capture_id == ids[1]
        QTest.keyClick(window, Qt.Key.Key_L)
        assert clipboard.text() == f"hookline://request/{ids[1]}"
        QTest.keyClick(window, Qt.Key.Key_C)
        await until(lambda: clipboard.text().startswith("curl "))
        QTest.keyClick(window, Qt.Key.Key_S)
        await until(lambda: shown.model.summary(1).starred)
        QTest.keyClick(window, Qt.Key.Key_U)
        await until(lambda: not shown.model.summary(1).read)
        QTest.keyClick(window, Qt.Key.Key_N)
        note = window.detail.header.note
        await until(note.text.hasFocus)
        QTest.keyClicks(note.text, "cls")
        QTest.keyClick(note.text, Qt.Key.Key_Return, CTRL)
        await until(lambda: shown.model.summary(1).note == "cls")
        await shown.desk.store.endpoints.update(shown.endpoint.id, replace(shown.endpoint.draft(), name="Stripe"))
        assert window.windowTitle() == "POST /1 · Stripe"


async def test_opening_it_twice_raises_the_first_and_a_double_click_opens_it_too(shown: PageDesk) -> None:
    await shown.fill(3)
    await shown.reload()
    window = await own(shown)
    place = shown.list.visualRect(shown.model.index(1)).center()
    QTest.mouseDClick(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert list(shown.page.windows.open_now.values()) == [window]
    place = shown.list.visualRect(shown.model.index(2)).center()
    QTest.mouseClick(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    QTest.mouseDClick(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert len(shown.page.windows.open_now) == 2


async def test_a_small_screen_does_not_make_it_smaller_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SmallScreen:
        def availableGeometry(self) -> QRect:
            return QRect(0, 0, 640, 480)

    async with open_page(tmp_path) as shown:
        await shown.fill(2)
        await shown.reload()
        with monkeypatch.context() as small:
            small.setattr(fit_screen, "_screen", lambda _: SmallScreen())
            window = await own(shown)
            assert window.height() < 480
            window.close()
            await until(lambda: not shown.page.windows.open_now)
        window = await own(shown)
        assert window.size() == QSize(*SIZE)
        window.resize(700, 500)
        window.close()
        await until(lambda: not shown.page.windows.open_now)
        assert (await own(shown)).size() == QSize(700, 500)


async def test_esc_closes_what_is_open_inside_first(shown: PageDesk) -> None:
    await shown.fill(2)
    await shown.reload()
    window = await own(shown)
    QTest.keyClick(window, Qt.Key.Key_F, CTRL)
    bar = window.detail.body.find_bar
    await until(bar.field.hasFocus)
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    assert not bar.isVisible()
    window.detail.header.note.start()
    QTest.keyClick(window.detail.header.note.text, Qt.Key.Key_Escape)
    assert window.isVisible()
    QTest.keyClick(window, Qt.Key.Key_Escape)
    await until(lambda: not shown.page.windows.open_now)
    window = await own(shown)
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_W, CTRL)
    await until(lambda: not shown.page.windows.open_now)


async def test_it_says_that_its_request_was_deleted(shown: PageDesk) -> None:
    await shown.fill(4)
    await shown.reload()
    store, ids = shown.desk.store, shown.ids()
    window = await own(shown)
    await store.captures.delete([ids[0]])
    await settle()
    assert window.detail.capture is not None
    QTest.keyClick(window, Qt.Key.Key_Delete)
    await until(window.detail.placeholder.isVisible)
    assert window.detail.placeholder.text.text() == "You deleted it."
    await until(lambda: shown.model.rowCount() == 2)
    assert window.detail.placeholder.title.text() == "This request is no longer stored"
    assert not window.commands.delete.isEnabled()
    other = await own(shown, 0)
    deletion = await store.trash.delete_endpoint(shown.endpoint.id)
    await until(other.detail.view.deleted_bar.isVisible)
    assert other.detail.view.deleted_bar.text.text().startswith("This request was deleted with its endpoint.")
    assert other.detail.capture is not None
    await store.trash.undo(deletion)
    await until(other.detail.view.deleted_bar.isHidden, 5)


async def test_a_request_that_is_not_stored_any_more_is_not_said_to_be_unchosen(shown: PageDesk) -> None:
    lost = await shown.add()
    await shown.desk.store.captures.delete([lost.id])
    shown.detail.clear()
    shown.page.windows.open(lost.summary())
    for detail in (shown.page.windows.open_now[lost.id].detail, shown.detail):
        detail.show_request(lost.id)
        await until(lambda detail=detail: "no longer stored" in detail.placeholder.title.text())
        assert detail.placeholder.isVisible()
    shown.detail.clear()
    assert shown.detail.placeholder.title.text() == "No request selected"


async def test_it_comes_back_where_it_was_left_and_goes_with_the_program(tmp_path: Path) -> None:
    async with shown_window(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        first, second = await desk.capture(endpoint), await desk.capture(endpoint)
        windows = window.requests.windows
        windows.open(first.summary())
        windows.open_now[first.id].resize(555, 444)
        windows.open_now[first.id].close()
        windows.open(second.summary())
        assert windows.open_now[second.id].size().toTuple() == (555, 444)
        windows.open(first.summary())
        above, below = windows.open_now[first.id], windows.open_now[second.id]
        assert above.size() == below.size()
        assert above.x() > below.x()
        assert above.y() > below.y(), "the title of the one below is seen"
        window.close()
        await until(lambda: not windows.open_now)
        await settle()
        assert not [one for one in QApplication.topLevelWidgets() if isinstance(one, OwnWindow)]


async def test_windows_that_were_closed_leave_nothing_behind(shown: PageDesk) -> None:
    made = await shown.add()
    await until(lambda: shown.detail.capture is not None)  # the first one opens by itself
    followed = shown.desk.followed()
    for _ in range(3):
        shown.page.windows.open(made.summary())
        window = shown.page.windows.open_now[made.id]
        await until(lambda window=window: window.detail.capture is not None)  # type: ignore[misc]
        window.close()
        await settle()
    del window
    gc.collect()
    await settle()
    assert shown.desk.followed() == followed
    assert not [one for one in QApplication.allWidgets() if isinstance(one, OwnWindow)]
