"""Values are decoded below the body, one within the other, and are never part of what is copied or searched."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QHelpEvent, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QToolTip

from app.core.bodies.formats.jwt import NOT_VERIFIED
from app.core.bodies.values import Value
from app.ui.inspector.body.code_view import CodeView
from app.ui.inspector.body.value_decoder import ValuePanel
from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import activate, notice, settle, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # said as menu and tooltip open


def b64(value: object) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


INNER = b64({"deep": b64({"who": "ann"})})
BODY = json.dumps({"data": INNER, "words": "plain words", "emoji": "😀😀", "at": 1_700_000_000}, ensure_ascii=False)


def put_cursor(code: CodeView, at: str, columns: int = 2) -> QTextCursor:
    cursor = code.document().find(at)
    assert not cursor.isNull(), code.toPlainText()
    cursor.setPosition(cursor.selectionStart() + columns)
    code.setTextCursor(cursor)
    return cursor


def open_menu(code: CodeView, place: QPoint) -> QMenu:
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, code.viewport().mapToGlobal(place))
    QApplication.sendEvent(code.viewport(), event)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    return menu


async def decoded(shown: PageDesk, code: CodeView, at: str) -> ValuePanel:
    put_cursor(code, at)
    code.setFocus()
    QTest.keyClick(code, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    values = shown.detail.body.values
    await until(lambda: values.panel is not None and values.panel.level)
    assert values.panel is not None
    return values.panel


def tooltip_at(code: CodeView, place: QPoint) -> str:
    QApplication.sendEvent(code.viewport(), QHelpEvent(QEvent.Type.ToolTip, place, code.viewport().mapToGlobal(place)))
    text = QToolTip.text()
    QToolTip.hideText()
    return text


async def test_a_value_is_decoded_below_the_body_by_keyboard(shown: PageDesk) -> None:
    await open_body(shown, BODY.encode(), "application/json")
    body = shown.detail.body
    await activate(shown.page)
    before = body.code.toPlainText()
    assert body.values.panel is None  # nothing is made before it is needed
    panel = await decoded(shown, body.code, INNER[:20])
    assert panel.isVisible()
    assert panel.title.text() == "data, decoded from Base64"
    assert '"deep"' in panel.code.toPlainText()
    panel.copy.click()
    assert QGuiApplication.clipboard().text() == json.dumps({"deep": b64({"who": "ann"})})
    # What is shown is what was sent: the body's lines are the same, and are copied without the panel's.
    assert body.code.toPlainText() == before
    body.code.selectAll()
    assert "deep" not in body.code.createMimeDataFromSelection().text()
    put_cursor(panel.code, b64({"who": "ann"})[:12])
    panel.code.setFocus()
    QTest.keyClick(panel.code, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: panel.level == 2)
    assert '"ann"' in panel.code.toPlainText()
    assert not panel.grab().isNull()
    panel.back.click()
    assert (panel.level, panel.back.isVisible()) == (1, False)
    panel.code.setFocus()
    QTest.keyClick(panel.code, Qt.Key.Key_Escape)
    await until(lambda: not panel.isVisible())
    await until(body.code.hasFocus)
    # Another request takes the value of this one away.
    await decoded(shown, body.code, INNER[:20])
    await open_body(shown, b'{"other":1}', "application/json")
    assert not panel.isVisible()


async def test_back_and_copy_are_about_what_is_shown_until_another_value_is(shown: PageDesk) -> None:
    await open_body(shown, BODY.encode(), "application/json")
    values, code = shown.detail.body.values, shown.detail.body.code
    await activate(shown.page)
    panel = await decoded(shown, code, INNER[:20])
    first = panel.title.text()
    put_cursor(panel.code, b64({"who": "ann"})[:12])
    panel.code.setFocus()
    QTest.keyClick(panel.code, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    await until(panel.back.isVisible)
    values.show_value(Value("another", "name", True), code, False)
    panel.back.click()
    assert panel.title.text() == first
    panel.copy.click()
    assert QGuiApplication.clipboard().text() == json.dumps({"deep": b64({"who": "ann"})})
    await until(lambda: panel.title.text() == "name")
    assert not panel.back.isVisible()


async def test_what_is_decoded_when_another_request_is_open_is_not_shown(shown: PageDesk) -> None:
    await open_body(shown, BODY.encode(), "application/json")
    values = shown.detail.body.values
    panel = await decoded(shown, shown.detail.body.code, INNER[:20])
    values.show_value(Value(INNER, "late", True), shown.detail.body.code, True)
    shown.detail.clear()
    await until(lambda: not shown.desk.tasks.running())
    await settle()
    assert (panel.level, panel.isHidden()) == (0, True)


async def test_a_note_on_what_was_decoded_is_not_cut_off(tmp_path: Path) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"

    async with open_page(tmp_path) as shown:
        await open_body(shown, json.dumps({"id_token": token, "data": b64({"deep": 1})}).encode(), "application/json")
        await activate(shown.page)
        panel = await decoded(shown, shown.detail.body.code, token[:20])
        await settle()
        note = panel.remark
        assert note.text() == NOT_VERIFIED
        room = note.contentsRect()
        words = note.fontMetrics().boundingRect(room, int(Qt.TextFlag.TextWordWrap), note.text())
        assert note.wordWrap()
        assert room.contains(words)
        await decoded(shown, shown.detail.body.code, b64({"deep": 1})[:20])
        await until(lambda: not note.isVisible())


async def test_what_is_decoded_takes_back_that_there_was_nothing(shown: PageDesk) -> None:
    await open_body(shown, BODY.encode(), "application/json")
    body = shown.detail.body
    await activate(shown.page)
    body.code.setFocus()
    put_cursor(body.code, "plain words")
    QTest.keyClick(body.code, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: notice(body))
    await decoded(shown, body.code, INNER[:20])
    assert not notice(body)


async def test_the_menu_offers_to_decode_what_is_under_it(shown: PageDesk) -> None:
    await open_body(shown, BODY.encode(), "application/json")
    body, code = shown.detail.body, shown.detail.body.code
    await settle()
    for at, offered in (("plain words", False), (INNER[:20], True)):
        menu = open_menu(code, code.cursorRect(put_cursor(code, at)).center())
        action = menu.actions()[0]
        assert (action.text(), action.isEnabled()) == ("Decode value", offered)
        if offered:
            action.trigger()
        menu.close()
        await settle()
    await until(lambda: body.values.panel is not None and body.values.panel.isVisible())


async def test_what_is_selected_is_decoded(shown: PageDesk) -> None:
    await open_body(shown, f"see {INNER}, which is long".encode(), "text/plain")
    code = shown.detail.body.code
    cursor = code.document().find(INNER)
    code.setTextCursor(cursor)
    code.setFocus()
    await activate(shown.page)
    QTest.keyClick(code, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: shown.detail.body.values.panel)
    panel = shown.detail.body.values.panel
    assert panel is not None
    await until(lambda: "deep" in panel.code.toPlainText())


async def test_a_time_has_a_tooltip(shown: PageDesk) -> None:
    await open_body(shown, BODY.encode(), "application/json")
    code = shown.detail.body.code
    await settle()
    words, number = (code.cursorRect(put_cursor(code, at)).center() for at in ("plain words", "1700000000"))
    assert tooltip_at(code, words) == ""  # first: a tooltip is hidden only after a while
    assert "2023-11-14 22:13:20 UTC" in tooltip_at(code, number)


async def test_values_below_what_is_folded_are_those_that_are_seen(tmp_path: Path) -> None:
    before = {str(number): number for number in range(5)}
    body = json.dumps({"before": before, "data": INNER, "at": 1_700_000_000, "end": {"x": "plain words"}})

    async with open_page(tmp_path) as shown:
        await open_body(shown, body.encode(), "application/json")
        code = shown.detail.body.code
        await activate(shown.page)
        await settle()
        code.folds.fold_all()
        assert "{ 5 keys }" in code.toPlainText()
        place = code.cursorRect(put_cursor(code, "1700000000")).center()
        assert "2023-11-14 22:13:20 UTC" in tooltip_at(code, place)
        panel = await decoded(shown, code, INNER[:20])
        assert panel.title.text() == "data, decoded from Base64"
        panel.close_button.click()
        # The words that stand for what is folded are no value, nor is what they stand for.
        for at in ("5 keys", "1 key"):
            menu = open_menu(code, code.cursorRect(put_cursor(code, at)).center())
            assert not menu.actions()[0].isEnabled()
            assert tooltip_at(code, code.cursorRect(code.textCursor()).center()) == ""
            menu.close()
            await settle()
        code.folds.unfold_all()
        place = code.cursorRect(put_cursor(code, "1700000000")).center()
        assert "2023-11-14 22:13:20 UTC" in tooltip_at(code, place)
