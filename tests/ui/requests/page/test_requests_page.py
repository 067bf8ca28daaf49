"""What the page shows, and what its keys, buttons and menu do."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from unittest.mock import AsyncMock

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from app.core.curl import body_file
from app.core.errors import NotFoundError
from app.core.model import DeliveryState
from app.core.target import TargetDraft
from app.core.text import title_of
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.inspector.request_view import TABS
from app.ui.requests.list.delegate import tooltip
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_REQUESTS
from app.ui.widgets.dialog import Question
from tests.factories import capture
from tests.support import while_read
from tests.ui.desk import Desk
from tests.ui.drawn import drawn
from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import activate, notice, until, wait_for_widget

pytestmark = pytest.mark.smoke


async def question(shown: PageDesk) -> Question:
    await until(lambda: shown.page.findChildren(Question))
    return shown.page.findChildren(Question)[0]


def press(button: QPushButton) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


async def test_the_empty_page_tells_how_to_begin_and_changes_by_itself(shown: PageDesk) -> None:
    page = shown.page
    url = shown.desk.capture_url(shown.endpoint)
    assert page.list_area.empty.isVisible()
    assert page.header.url.text() == url
    assert page.list_area.empty.command.accessibleName().startswith(f"curl {url} "), "without what lets it wrap"
    empty = page.list_area.empty
    for above, below in pairwise((empty.title, empty.text, empty.command, empty.test, empty.target)):
        gap = below.mapTo(empty, QPoint()).y() - above.mapTo(empty, QPoint(0, above.height())).y()
        assert 0 <= gap < 40, "below each other, close together"
    page.list_area.empty.copy.copy()
    assert QGuiApplication.clipboard().text().startswith(f"curl {url} ")
    press(page.list_area.empty.test)
    await until(lambda: shown.desk.tests_sent == [shown.endpoint.id])
    await shown.add()
    await until(page.list.isVisible)
    assert "1 request" in page.footer.text()


async def test_without_endpoints_all_requests_offers_a_new_one(desk: Desk, window: MainWindow) -> None:
    window.enter_page(ALL_REQUESTS)
    empty = window.requests.list_area.empty
    await until(lambda: window.focusWidget() is empty.new)
    press(empty.new)
    form = await wait_for_widget(EndpointDialog, window)
    form.reject()
    endpoint = await desk.endpoint()
    await until(empty.new.isHidden)
    await desk.store.endpoints.delete(endpoint.id)
    await until(empty.new.isVisible)


async def test_keys_move_and_open_and_opening_marks_read(shown: PageDesk) -> None:
    await shown.fill(3)
    await shown.reload()
    ids = shown.ids()
    for key, row in ((Qt.Key.Key_J, 0), (Qt.Key.Key_J, 1), (Qt.Key.Key_Down, 2), (Qt.Key.Key_K, 1)):
        QTest.keyClick(shown.list, key)
        assert shown.list.currentIndex().row() == row
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == ids[1])
    await until(lambda: shown.model.summary(1).read)
    QTest.keyClick(shown.list, Qt.Key.Key_U)
    await until(lambda: not shown.model.summary(1).read)
    QTest.keyClick(shown.list, Qt.Key.Key_U)
    await until(lambda: shown.model.summary(1).read)


async def test_one_is_deleted_unasked_and_the_next_opens_and_many_are_asked_about(shown: PageDesk) -> None:
    await shown.fill(4)
    await shown.reload()
    ids = shown.ids()
    shown.list.select(ids[1])
    await until(lambda: shown.detail.capture is not None)
    await activate(shown.page.window())
    shown.list.setFocus()
    QTest.keyClick(shown.list, Qt.Key.Key_Delete)
    await until(lambda: shown.ids() == [ids[0], ids[2], ids[3]])
    assert not shown.page.findChildren(Question)
    current = shown.list.current()
    assert current is not None
    assert current.id == ids[2]
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == ids[2])
    await until(lambda: shown.list.selected()[0].read)
    assert shown.list.hasFocus()
    shown.list.selectAll()
    QTest.keyClick(shown.list, Qt.Key.Key_Delete)
    await until(lambda: shown.page.findChildren(Question))
    asked = shown.page.findChildren(Question)[-1]
    assert asked.windowTitle() == "Delete 3 requests?", "not all: the list may have others by now"
    assert "since you selected them" not in asked.text.text()
    press(asked.confirm)
    await until(shown.page.list_area.empty.isVisible)
    assert shown.detail.capture is None


async def test_copy_as_curl_from_list_and_detail(shown: PageDesk) -> None:
    sent = await shown.add(b'{"it":"works"}')
    await until(lambda: shown.model.rowCount() == 1)
    shown.list.select(sent.id)
    QTest.keyClick(shown.list, Qt.Key.Key_C)
    await until(lambda: '--data-raw \'{"it":"works"}\'' in QGuiApplication.clipboard().text())
    assert QGuiApplication.clipboard().text().startswith("curl 'http://127.0.0.1:8787/catch/sample/orders?x=1'")
    QGuiApplication.clipboard().clear()
    await until(lambda: shown.detail.capture is not None)
    shown.page.commands.opened.curl.trigger()
    await until(lambda: "curl" in QGuiApplication.clipboard().text())
    assert notice(shown.page) == "Copied as curl."


async def test_a_body_too_large_for_a_command_is_named_as_a_file(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    monkeypatch.setattr("app.ui.requests.request_actions.PASTE_MAX", 3)
    sent = await shown.add(b"1234")
    await until(lambda: shown.model.rowCount() == 1)
    shown.list.select(sent.id)
    QTest.keyClick(shown.list, Qt.Key.Key_C)
    await until(lambda: body_file(sent) in QGuiApplication.clipboard().text())
    assert "1234" not in QGuiApplication.clipboard().text()
    assert notice(shown.page) == f"Copied. Save the body as {body_file(sent)} first: it is too large for a command."


async def test_what_is_not_stored_any_more_is_neither_copied_nor_replayed(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    clipboard, target = QGuiApplication.clipboard(), TargetDraft(url="http://127.0.0.1:9/")
    sent = await shown.add()
    await until(lambda: shown.model.rowCount() == 1)
    shown.list.select(sent.id)
    clipboard.setText("before")
    monkeypatch.setattr(shown.desk.store.captures, "get", AsyncMock(return_value=None))
    QTest.keyClick(shown.list, Qt.Key.Key_C)
    await until(lambda: notice(shown.page) == "This request is no longer stored.")
    assert clipboard.text() == "before"
    await shown.desk.store.targets.create(shown.endpoint.id, target)
    monkeypatch.setattr(shown.desk.replays, "start", AsyncMock(side_effect=NotFoundError("There is no such request.")))
    QTest.keyClick(shown.list, Qt.Key.Key_R)
    await until(lambda: notice(shown.page) == "Not replayed: There is no such request.")


@pytest.mark.parametrize("key", [Qt.Key.Key_C, Qt.Key.Key_L])
async def test_what_was_copied_last_stays_on_the_clipboard(key: Qt.Key, shown: PageDesk) -> None:
    clipboard, captures = QGuiApplication.clipboard(), shown.desk.store.captures
    await shown.add(b"", target="/catch/sample/last")
    first = await shown.add(b"first")
    await until(lambda: shown.model.rowCount() == 2)
    last: list[str] = []

    async def copy_another() -> None:
        shown.list.select_row(1)
        QTest.keyClick(shown.list, key)
        await until(lambda: "/last" in clipboard.text() or clipboard.text().startswith("hookline:"))
        last.append(clipboard.text())

    copied = while_read(captures, "body", copy_another)
    shown.detail.clear()
    shown.list.keep_one(first.summary())
    QTest.keyClick(shown.list, Qt.Key.Key_C)
    await until(lambda: copied() and last and not shown.desk.tasks.running())
    assert clipboard.text() == last[0]


async def test_copy_a_link_from_list_detail_and_header(shown: PageDesk) -> None:
    clipboard = QGuiApplication.clipboard()
    sent = await shown.add()
    await until(lambda: shown.model.rowCount() == 1)
    shown.list.select(sent.id)
    QTest.keyClick(shown.list, Qt.Key.Key_L)
    assert clipboard.text() == f"hookline://request/{sent.id}"
    clipboard.clear()
    await until(lambda: shown.detail.capture is not None)
    shown.page.commands.opened.link.trigger()
    assert clipboard.text() == f"hookline://request/{sent.id}"
    shown.page.endpoint_commands.copy_link.trigger()
    assert clipboard.text() == f"hookline://endpoint/{shown.endpoint.slug}"


async def test_the_keys_of_a_request_work_in_its_detail_but_not_while_one_types(shown: PageDesk) -> None:
    clipboard = QGuiApplication.clipboard()
    sent = await shown.add()
    await until(lambda: shown.model.rowCount() == 1)
    shown.list.select(sent.id)
    await until(lambda: shown.detail.capture is not None)
    detail = shown.detail
    detail.tabs.setCurrentIndex(TABS.index("Headers"))
    for place in (detail.tabs, detail.view.headers):
        clipboard.clear()
        place.setFocus()
        QTest.keyClick(place, Qt.Key.Key_L)
        assert clipboard.text() == f"hookline://request/{sent.id}"
    clipboard.clear()
    detail.open_find()
    field = detail.body.find_bar.field
    await until(field.hasFocus)
    QTest.keyClicks(field, "clue")
    QTest.keyClick(field, Qt.Key.Key_Home)
    QTest.keyClick(field, Qt.Key.Key_Delete)
    assert field.text() == "lue"
    assert clipboard.text() == ""
    assert not shown.page.findChildren(Question)


async def test_the_header_follows_the_endpoint_and_switches_it(tmp_path: Path) -> None:
    async with open_page(tmp_path, name="First", description="What for") as shown:
        header, store = shown.page.header, shown.desk.store
        assert (header.name.text(), header.description.text()) == ("First", "What for")
        assert not header.banner.isVisible()
        await store.endpoints.update(
            shown.endpoint.id, msgspec.structs.replace(shown.endpoint.draft(), name="Second", active=False)
        )
        assert header.name.text() == "Second"
        assert header.banner.isVisible()
        press(header.banner.button)
        await until(lambda: not header.banner.isVisible())
        current = store.endpoints.by_id(shown.endpoint.id)
        assert current is not None
        assert current.active
        press(header.edit)
        (form,) = shown.page.findChildren(EndpointDialog)
        assert form._endpoint == current


async def test_menu_marks_all_read_clears_and_deletes(shown: PageDesk) -> None:
    await shown.fill(3)
    await shown.reload()
    shown.page.endpoint_commands.mark_read.trigger()
    await until(lambda: all(shown.model.summary(row).read for row in range(3)))
    shown.page.endpoint_commands.clear.trigger()
    press((await question(shown)).confirm)
    await until(shown.page.list_area.empty.isVisible)
    shown.page.endpoint_commands.delete.trigger()
    await until(lambda: any("Delete “" in q.windowTitle() for q in shown.page.findChildren(Question)))
    press(shown.page.findChildren(Question)[-1].confirm)
    await until(lambda: shown.desk.store.endpoints.by_id(shown.endpoint.id) is None)


async def test_rows_and_tooltips_show_hostile_text_as_plain_text(tmp_path: Path) -> None:
    hostile = "/catch/x/<img src=x>\x1b[31m\u202egpj"
    summary = capture(target=hostile, complete=False, delivery=DeliveryState.FAILED).summary()
    assert title_of(summary, {}).path == "/<img src=x>\\x1b[31m\\u202egpj"
    assert "\x1b" not in tooltip(summary, {})
    assert "disconnected" in tooltip(summary, {})
    assert "Failed for one" in tooltip(summary, {}, "failed for one")

    async with open_page(tmp_path) as shown:
        await shown.add(target="/catch/x/" + "a" * 60_000)
        await shown.add(target=hostile.replace("\u202e", ""), method="POST")
        await until(lambda: shown.model.rowCount() == 2)
        words = " ".join(drawn(shown.list.viewport()).words)
        assert "/<img src=x>\\x1b[31mgpj" in words
        assert "\x1b" not in words


async def test_ages_tick_for_what_is_seen_only(shown: PageDesk) -> None:
    await shown.fill(150)
    await shown.reload()
    shown.list.tick()
    assert 0 < len(shown.list.shown_times) < 40


async def test_enter_leads_into_the_body_and_esc_back_to_the_list(shown: PageDesk) -> None:
    await open_body(shown, b'{"a": 1}', "application/json")
    page, body = shown.page, shown.detail.body
    await activate(page)
    for view in (body.code, body.hex):
        shown.list.setFocus()
        QTest.keyClick(shown.list, Qt.Key.Key_Return)
        assert page.focusWidget() is view
        QTest.keyClick(view, Qt.Key.Key_Escape)
        assert page.focusWidget() is shown.list
        body.views.activated.emit("hex")
        await until(lambda: body.stack.currentWidget() is body.hex)
    shown.detail.open_find()
    QTest.keyClick(body.find_bar.field, Qt.Key.Key_Escape)
    assert not body.find_bar.isVisible()
    assert shown.detail.isAncestorOf(page.focusWidget())
