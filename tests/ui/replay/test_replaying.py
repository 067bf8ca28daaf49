"""Keys R, Shift+R and Ctrl+Shift+R on a page of requests, with a real service and a real target."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from PySide6.QtCore import QDateTime, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit
from shiboken6 import isValid

from app.core.errors import HooklineError
from app.core.replay import OtherEndpoint
from app.core.target import TargetDraft
from app.ui.inspector.request_view import DELIVERIES
from app.ui.replay import request_editors
from app.ui.replay.replay_editor import BODY, HEADERS, ReplayEditor
from app.ui.replay.replay_form import ENDPOINT, RANGE, TARGETS
from app.ui.replay.replay_many_dialog import ReplayManyDialog
from app.ui.replay.replay_text import NO_URL
from app.ui.widgets.dialog import FileDialog, Question
from app.ui.widgets.fields import Segmented
from app.ui.widgets.headers_field import NAME, TEXT, VALUE
from app.ui.widgets.notices import Toast
from tests import factories
from tests.ui.desk import shown as shown_window
from tests.ui.header_typing import choose_view
from tests.ui.replay.replay_desk import page_with_target, target
from tests.ui.requests.page_desk import PageDesk, click_row, open_body
from tests.ui.waiting import activate, notice, settle, until, wait_for_widget

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def choose(field: Segmented, key: str) -> None:
    """Click on this choice."""
    next(one for one in field.findChildren(QAbstractButton) if one.property("key") == key).click()


async def focus_list(shown: PageDesk) -> None:
    await activate(shown.page)
    shown.list.setFocus()
    await until(shown.list.hasFocus)


async def test_r_replays_the_request_at_once_and_says_what_came_back(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        await open_body(shown, b'{"a": 1}', "application/json", target="/catch/x/orders?y=2")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R)
        await until(lambda: notice(shown.page).startswith("Replayed POST"))
        assert f"{received.url}/orders?y=2: 200 in" in notice(shown.page)
        assert received.requests[0].startswith(b"POST /hook/orders?y=2 ")
        assert received.requests[0].endswith(b'{"a": 1}')


async def test_a_replay_to_several_targets_counts_each_outcome_and_opens_them(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, _):
        await shown.desk.store.targets.create(shown.endpoint.id, TargetDraft(url="http://127.0.0.1:9/dead"))
        await open_body(shown, b"{}", "application/json")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R)
        await until(lambda: notice(shown.page) == "Replayed POST to 2 targets: 1 failed, 1 delivered.")
        (toast,) = (one for one in shown.page.findChildren(Toast) if one.isVisible())
        toast.buttons[0].click()
        await until(lambda: shown.detail.tabs.currentIndex() == DELIVERIES)
        assert len(shown.detail.view.deliveries.list.attempts.records()) >= 2


async def test_an_incomplete_request_is_replayed_only_after_a_question(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        await open_body(shown, b"{}", "application/json", complete=False)
        for confirmed in (False, True):
            await focus_list(shown)
            QTest.keyClick(shown.list, Qt.Key.Key_R)
            question = await wait_for_widget(Question, shown.page)
            assert question.title.text() == "Replay an incomplete request?"
            (question.confirm if confirmed else question.cancel).click()
            await until(lambda: not shown.page.findChildren(Question))
            await settle()
            assert notice(shown.page).startswith("Replay") == confirmed
        await until(lambda: received.requests)


async def test_a_failed_replay_is_a_notice_with_its_status(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        received.status = 500
        await open_body(shown, b"{}", "application/json")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R)
        await until(lambda: notice(shown.page).startswith("Replay of POST"))
        assert "failed: 500" in notice(shown.page)


async def test_without_a_target_r_opens_the_editor_for_another_url(shown: PageDesk) -> None:
    await open_body(shown, b"{}", "application/json")
    await focus_list(shown)
    QTest.keyClick(shown.list, Qt.Key.Key_R)
    editor = await wait_for_widget(ReplayEditor, shown.page)
    assert editor.url.text() == ""
    assert "no target" in editor.fields["edit.url"].help_text()
    assert not editor.send.isEnabled()
    for typed, is_wrong, is_sent in (
        ("nowhere", True, False),
        ("", False, False),
        ("http://127.0.0.1:9/", False, True),
    ):
        editor.url.selectAll()
        QTest.keyClick(editor.url, Qt.Key.Key_Delete)
        QTest.keyClicks(editor.url, typed)
        assert bool(editor.fields["edit.url"].error()) is is_wrong
        assert editor.send.isEnabled() is is_sent
    editor.done(0)
    await shown.fill(2)
    await shown.reload()
    await focus_list(shown)
    click_row(shown, 0)
    click_row(shown, 1, SHIFT)
    await until(lambda: shown.page.commands.selected.replay.text() == "Replay 2 requests…")
    QTest.keyClick(shown.list, Qt.Key.Key_R)
    dialog = await wait_for_widget(ReplayManyDialog, shown.page)
    assert dialog.form["destination.url"].isVisible()
    await until(lambda: dialog.start.text() == "Replay 2 requests")
    dialog.reject()


async def test_many_are_replayed_after_a_question_with_their_number(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        await shown.fill(3)
        await shown.reload()
        await focus_list(shown)
        click_row(shown, 0)
        click_row(shown, 2, SHIFT)
        await until(lambda: shown.page.commands.selected.replay.text() == "Replay 3 requests…")
        QTest.keyClick(shown.list, Qt.Key.Key_R)
        question = await wait_for_widget(Question, shown.page)
        assert question.confirm.text() == "Replay 3 requests"
        assert not received.requests
        question.confirm.click()
        await until(lambda: len(received.requests) == 3)
        paths = [one.split(b" ")[1] for one in received.requests]
        assert paths == [b"/hook/0", b"/hook/1", b"/hook/2"]


async def test_an_edited_request_is_sent_as_edited_and_its_response_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.ui.replay.replay_editor.BODY_MAX", 5)
    async with page_with_target(tmp_path) as (shown, received):
        await open_body(shown, b'{"a": 1}\r\n', "application/json", target="/catch/x")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        assert editor.url.text() == received.url
        assert editor.edited().edit is None
        editor.method.setCurrentText("PUT")
        editor.body_editor.edit.setPlainText('{"a": 2}\n')
        rows = editor.headers.field.grid.rows
        rows.setData(rows.index(0, VALUE), "text/plain")
        QTest.keyClick(editor, Qt.Key.Key_Return, CTRL)
        await until(lambda: editor.response.isVisible() and '{"rec' in editor.response.text.text())
        assert editor.response.text.text().endswith('\n\n{"rec\n… 12 bytes more: see the Deliveries tab.')
        assert received.requests[0].startswith(b"PUT /hook HTTP/1.1\r\n")
        assert b"Content-Type: text/plain\r\n" in received.requests[0]
        assert received.requests[0].endswith(b'\r\n\r\n{"a": 2}\r\n')
        assert editor.response.state.text() == "200"
        editor.reset_line.click()
        editor.headers.reset.click()
        editor.body_editor.reset.click()
        assert editor.edited().edit is None
        assert editor.send.toolTip() == "Send (Ctrl+Enter)"
        editor.send.setFocus()
        QTest.keyClick(editor.send, Qt.Key.Key_Return)
        assert editor.focusWidget() is None, "no key presses another button meanwhile"
        await until(lambda: len(received.requests) == 2)
        await until(editor.send.isEnabled)
        assert editor.focusWidget() is editor.send, "Return sends again"
        assert received.requests[1].endswith(b'\r\n\r\n{"a": 1}\r\n')
        editor.reject()


@pytest.mark.usefixtures("each_font")
async def test_a_low_editor_scrolls_to_the_response_and_squeezes_nothing(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, _):
        headers = [(f"X-Header-{number}", "value") for number in range(9)]
        await open_body(shown, b'{"a": 1}', "application/json", target="/catch/x", headers=headers)
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        editor.resize(880, 470)
        await settle()
        assert editor.body_editor.facts.shown_text().endswith("8 bytes")
        editor.body_editor.edit.setPlainText('{"ä": 12}')
        assert editor.body_editor.facts.shown_text().endswith("10 bytes")
        editor.tabs.setCurrentIndex(HEADERS)
        QTest.keyClick(editor, Qt.Key.Key_Return, CTRL)
        await until(lambda: editor.response.isVisible() and "received" in editor.response.text.text())
        await until(lambda: editor.response.visibleRegion().boundingRect() == editor.response.rect())
        grid = editor.headers.field.grid
        assert grid.viewport().height() > 2 * grid.rowHeight(0)
        assert editor.response.text.height() > 4 * editor.response.text.fontMetrics().height()
        editor.reject()


async def test_the_editor_shows_where_input_is_wrong_and_why_nothing_was_sent(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        number = await open_body(shown, "grüße".encode("latin-1"), "text/plain; charset=latin-1")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        await activate(editor)
        editor.send.setFocus()
        editor.method.setCurrentText("NO GOOD")
        QTest.keyClick(editor, Qt.Key.Key_Return, CTRL)
        assert editor.method.isAncestorOf(editor.focusWidget()) or editor.method.hasFocus()
        editor.method.setCurrentText("PUT")
        choose_view(editor.headers.field, TEXT)
        editor.headers.field.text.setPlainText("no colon")
        assert editor.tabs.currentIndex() == BODY
        QTest.keyClick(editor, Qt.Key.Key_Return, CTRL)
        assert editor.tabs.currentIndex() == HEADERS
        editor.headers.reset.click()
        editor.body_editor.edit.setPlainText("5 €")
        assert editor.body_editor.facts.text() == "text/plain"
        missing = "'€' does not exist in iso8859-1, the charset of this body."
        assert (editor.body_editor._error.text(), editor.send.toolTip()) == (missing, missing)
        assert editor.has_changes()
        QTest.keyClick(editor, Qt.Key.Key_Return, CTRL)
        assert editor.tabs.currentIndex() == BODY
        editor.body_editor.reset.click()
        assert received.requests == []
        await shown.desk.store.captures.delete([number])
        editor.submit()
        await until(editor.problem.isVisible)
        assert editor.problem.text().startswith("1 request could not be sent: no longer stored")
        assert editor.send.isEnabled()
        assert not editor.response.isVisible()
        editor.method.setCurrentText("POST")
        assert not editor.problem.isVisible()
        editor.reject()


@pytest.mark.slow
async def test_the_editor_leads_to_the_form_for_many_and_asks_before_edits_are_lost(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, _):
        await open_body(shown, b"{}", "application/json")
        for edited in (True, False):
            await focus_list(shown)
            QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
            editor = await wait_for_widget(ReplayEditor, shown.page)
            if edited:
                editor.method.setCurrentText("PUT")
            editor.many.click()
            if edited:
                question = await wait_for_widget(Question, editor)
                assert not shown.page.findChildren(ReplayManyDialog)
                question.confirm.click()
            dialog = await wait_for_widget(ReplayManyDialog, shown.page)
            await until(lambda editor=editor: not isValid(editor) or not editor.isVisible())
            dialog.reject()
            await until(lambda: not shown.page.findChildren(ReplayManyDialog))


async def test_a_body_that_was_compressed_is_sent_as_it_was_until_it_is_edited(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        packed, coding = gzip.compress(b'{"a": 1}'), b"Content-Encoding: gzip\r\n"
        await open_body(shown, packed, "application/json", headers=[("Content-Encoding", "gzip")])
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        body = editor.body_editor
        assert body.edit.text() == '{"a": 1}'
        assert not body.note.isVisible()
        editor.submit()
        await until(lambda: received.requests and editor.response.isVisible())
        assert received.requests[0].endswith(b"\r\n\r\n" + packed)
        assert coding in received.requests[0]
        body.edit.setPlainText('{"a": 2}')
        assert body.note.text() == "The edited body is sent without Content-Encoding: gzip."
        received.status = 500
        editor.submit()
        response = editor.response
        await until(lambda: response.state.text() == "500")
        assert received.requests[1].endswith(b'\r\n\r\n{"a": 2}')
        assert coding not in received.requests[1]
        editor.destination.setCurrentIndex(editor.destination.findText("Another URL"))
        editor.url.setText("http://127.0.0.1:9/")
        editor.url.textEdited.emit("")
        editor.submit()
        await until(lambda: response.sends.count() == 3)
        assert [response.sends.itemText(at).partition(" at ")[0] for at in range(3)] == [
            "3: failed",
            "2: 500",
            "1: 200",
        ]
        assert "Nothing is listening" in response.text.text()
        for place, state in ((2, "200"), (1, "500")):
            response.sends.setCurrentIndex(place)
            await until(lambda state=state: response.text.text().startswith(f"HTTP/1.1 {state}"))
            assert response.state.text() == state
            assert received.url in response.facts.text()
        editor.done(0)


async def test_one_of_several_targets_can_be_chosen_in_the_editor(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received), target() as second:
        store = shown.desk.store
        draft = TargetDraft(url=second.url, append_path=False, set_headers=(("X-Env", "second"),))
        await store.targets.create(shown.endpoint.id, draft)
        await open_body(shown, b"{}", target="/catch/x/orders")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        names = [editor.destination.itemText(at) for at in range(4)]
        both = [one.removeprefix("http://") for one in (received.url, second.url)]
        assert names == ["Its 2 targets", f"Only {both[0]}", f"Only {both[1]}", "Another URL"]
        assert editor.url.text() == f"{received.url}/orders, {second.url}"
        assert not editor.url.isEnabled()
        editor.destination.setCurrentIndex(2)
        assert (editor.url.text(), editor.url.isEnabled()) == (second.url, True)
        editor.submit()
        await until(editor.response.isVisible)
        assert b"X-Env: second" in second.requests[0]
        assert received.requests == []
        editor.reject()


async def test_destinations_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, _):
        others = [await shown.desk.store.endpoints.create(factories.draft(name="Same")) for _ in range(2)]
        await open_body(shown, b"{}")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        found = []
        for at in range(editor.destination.count()):
            editor.destination.setCurrentIndex(at)
            found.append((editor.destination.itemText(at), editor.edited().destination))
        assert found[1][0] == "Another URL"
        assert found[2:4] == [("Endpoint “Same”", OtherEndpoint(slug=one.slug)) for one in others]
        editor.reject()


async def test_bad_input_of_the_editor_is_said_beside_its_field(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, _):
        await open_body(shown, b"{}", "application/json")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        editor.url.setText("ftp://x")
        editor.url.textEdited.emit("ftp://x")
        editor.method.setCurrentText("NO GOOD")
        assert "http://" in editor.fields["edit.url"].error()
        assert "method" in editor.fields["edit.method"].error()
        editor.tabs.setCurrentIndex(HEADERS)
        height = editor.headers.field.height()
        choose_view(editor.headers.field, TEXT)
        editor.headers.field.text.setPlainText("no colon")
        assert editor.headers.error.text() == "Headers: line 1 must read “Name: value”."
        await settle()
        assert editor.headers.field.height() == height
        assert not editor.send.isEnabled()
        editor.reject()


async def test_a_header_is_sent_as_typed_while_its_cell_is_edited(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        await open_body(shown, b"{}", "application/json")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        await activate(editor)
        editor.tabs.setCurrentIndex(HEADERS)
        grid = editor.headers.field.grid
        grid.setFocus()
        grid.setCurrentIndex(grid.rows.index(grid.rows.rowCount() - 1, NAME))
        QTest.keyClicks(grid, "X")
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        QTest.keyClicks(QApplication.focusWidget(), "new")
        assert editor.tabs.tabText(HEADERS) == f"Headers {grid.rows.rowCount() - 1}"
        QTest.keyClick(editor, Qt.Key.Key_Return, CTRL)
        await until(lambda: received.requests)
        assert b"\r\nX: new\r\n" in received.requests[0]
        await until(editor.response.isVisible)
        editor.headers.reset.click()
        assert not editor.headers.reset.isEnabled()
        editor.reject()


async def test_the_body_is_formatted_and_what_is_wrong_with_it_is_said(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        await open_body(shown, b'{"n":1.10,\r\n"n":1e400}', "application/json")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        body = editor.body_editor
        assert body.format.isVisible()
        body.edit.setPlainText('{"n" 1}')
        body.format.click()
        await until(lambda: body._error.text() == "Not valid JSON at line 1, column 6: a colon was expected.")
        assert editor.send.isEnabled(), "it can be sent as it is"
        body.reset.click()
        assert body._error.text() == ""
        body.format.click()
        await until(lambda: "\n" in body.edit.toPlainText()[:3])
        editor.submit()
        await until(lambda: received.requests)
        assert received.requests[0].endswith(b'{\r\n  "n": 1.10,\r\n  "n": 1e400\r\n}')
        await until(editor.response.isVisible)
        body.edit.setPlainText("plain")
        assert body.format.isHidden()
        editor.reject()


async def test_a_binary_body_is_replaced_by_a_file(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        await open_body(shown, b"\x00\x01\x02", "application/octet-stream", target="/catch/x")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        assert editor.tabs.currentIndex() == BODY
        assert editor.body_editor._pages.currentWidget() is editor.body_editor.hex
        file = tmp_path / "other.bin"
        file.write_bytes(b"\xff\xfe")
        await choose_file(editor, file)
        await until(lambda: "2 bytes" in editor.body_editor.facts.text())
        editor.submit()
        await until(lambda: received.requests)
        assert received.requests[0].endswith(b"\r\n\r\n\xff\xfe")
        await until(editor.response.isVisible)
        editor.reject()


async def choose_file(editor: ReplayEditor, file: Path) -> None:
    editor.body_editor.choose.click()
    asked = await wait_for_widget(FileDialog, editor)
    asked.findChildren(QLineEdit)[0].setText(str(file))  # to select it, its folder would have to be read first
    asked.accept()
    await until(lambda: not editor.findChildren(FileDialog))


async def test_a_file_that_cannot_be_a_body_is_refused_in_the_dialog_and_the_body_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with page_with_target(tmp_path) as (shown, _):
        await open_body(shown, b"typed", "text/plain", target="/catch/x")
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, SHIFT)
        editor = await wait_for_widget(ReplayEditor, shown.page)
        body = editor.body_editor
        large, gone = tmp_path / "large.bin", tmp_path / "gone.bin"
        large.write_bytes(b"123")
        gone.write_bytes(b"1")
        monkeypatch.setattr(request_editors, "FILE_MAX", 2)
        await choose_file(editor, large)
        await until(body._error.isVisible)
        assert body._error.text() == "large.bin is too large: a replaced body can have at most 2 B."
        assert (body.edit.toPlainText(), body.value()) == ("typed", None)
        gone.unlink()
        monkeypatch.setattr(Path, "home", lambda: tmp_path)
        with pytest.raises(HooklineError, match=r"^gone.bin cannot be read: No such file or directory\.$"):
            await body.use_file(gone)
        large.write_bytes(b"12")
        await choose_file(editor, large)
        await until(lambda: "2 bytes" in body.facts.text())
        assert not body._error.isVisible()
        assert not shown.desk.messages.waiting()
        editor.done(0)


async def test_the_form_for_many_counts_what_it_will_send_and_starts_it(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        await shown.fill(5)
        await shown.reload()
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, CTRL | SHIFT)
        dialog = await wait_for_widget(ReplayManyDialog, shown.page)
        await until(lambda: dialog.start.text() == "Replay 5 requests")
        dialog.form["times"].set_value(2)
        assert "Each is sent 2 times: 10 in all." in dialog.plan.text()
        dialog.form["faults.drop"].setText("200")
        assert dialog.form.fields["faults.drop"].error()
        assert not dialog.start.isEnabled()
        dialog.form["faults.drop"].setText("0")
        choose(dialog.form.requests, RANGE)
        dialog.form["source.received_after"].setDateTime(QDateTime.currentDateTime().addDays(-3))
        dialog.form["source.received_before"].setDateTime(QDateTime.currentDateTime().addDays(-2))
        await until(lambda: dialog.start.toolTip() == "There are no such requests.")
        assert not dialog.start.isEnabled()
        dialog.form["source.received_before"].setDateTime(QDateTime.currentDateTime().addDays(1))
        await until(lambda: dialog.start.text() == "Replay 5 requests")
        dialog.start.click()
        await until(lambda: len(received.requests) == 10)


async def test_a_refusal_ends_with_the_next_edit_also_of_another_field(tmp_path: Path) -> None:
    async with page_with_target(tmp_path) as (shown, received):
        other = await shown.desk.store.endpoints.create(factories.draft())
        await shown.fill(2)
        await shown.reload()
        await focus_list(shown)
        QTest.keyClick(shown.list, Qt.Key.Key_R, CTRL | SHIFT)
        dialog = await wait_for_widget(ReplayManyDialog, shown.page)
        await until(lambda: dialog.start.text() == "Replay 2 requests")
        choose(dialog.form.destination, ENDPOINT)
        dialog.form["destination.slug"].set_value(other.slug)
        await shown.desk.store.endpoints.delete(other.id)
        dialog.start.click()
        await until(dialog.form.fields["destination.slug"].error)
        choose(dialog.form.destination, TARGETS)
        await until(dialog.start.isEnabled)
        dialog.start.click()
        await until(lambda: len(received.requests) == 2)


async def test_the_form_for_many_asks_for_a_url_where_there_is_no_target(shown: PageDesk) -> None:
    await shown.fill(3)
    await shown.reload()
    await focus_list(shown)
    QTest.keyClick(shown.list, Qt.Key.Key_R, CTRL | SHIFT)
    dialog = await wait_for_widget(ReplayManyDialog, shown.page)
    await until(dialog.form["destination.url"].hasFocus)
    await until(lambda: dialog.start.text() == "Replay 3 requests")
    assert dialog.plan.text() == dialog.start.toolTip() == NO_URL
    assert dialog.form.fields["destination.url"].error() == ""
    assert not dialog.start.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Return, CTRL)
    assert dialog.form.fields["destination.url"].error() == NO_URL
    QTest.keyClicks(dialog.form["destination.url"], "http://127.0.0.1:9/")
    assert dialog.plan.text().startswith("Sends 3 requests")
    assert dialog.start.isEnabled()
    dialog.reject()


async def test_the_bar_tells_of_a_replay_in_one_line_pauses_and_is_dismissed(
    tmp_path: Path, announced: list[str]
) -> None:
    async with target() as received, shown_window(tmp_path) as (desk, window):
        endpoint = await desk.endpoint(forward_url=received.url)
        for _ in range(3):
            await desk.capture(endpoint)
        bar = window.replays.bar
        assert not bar.isVisible()
        received.hold.clear()
        window.show_endpoint(endpoint.id)
        await until(lambda: window.requests.list.model().rowCount() == 3)
        window.requests.list.selectAll()
        options = window.requests.commands.selected.edit_replay
        await until(lambda: options.text() == "Replay 3 requests with options…")
        options.trigger()
        dialog = await wait_for_widget(ReplayManyDialog, window)
        await until(lambda: dialog.start.text() == "Replay 3 requests")
        dialog.start.click()
        await until(lambda: bar.isVisible() and "of 3" in bar.title.text())
        edge = bar.grab().toImage().pixelColor(1, 0)
        assert edge == QColor(desk.theme.tokens.border_strong), "a line is between it and the page"
        bar.pause.click()
        await until(lambda: bar.title.text().startswith("Replay paused"))
        assert bar.pause.text() == "Resume"
        received.hold.set()
        bar.pause.click()
        await until(lambda: bar.title.text() == "Replay finished: 3 requests sent")
        *before, last = announced
        assert [text.partition(":")[0] for text in before] == ["Replaying", "Replay paused", "Replaying"]
        assert last == "Replay finished: 3 requests sent. 3 delivered · 0 failed"
        bar.dismiss.click()
        await settle()
        assert not bar.isVisible()
