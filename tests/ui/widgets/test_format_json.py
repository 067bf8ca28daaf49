"""The button that indents JSON: what it changes, what it leaves, and where the caret is afterwards."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.messages import Messages
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.format_json import FormatJsonButton
from app.ui.widgets.layout import vbox
from app.ui.widgets.text_fields import TextArea, raw_text
from tests.ui.waiting import settle, until

TEXT = '{"a":1e400,"a":1.10,"n":[12345678901234567890,{ }],"s":"\\u00e9\\/ \xa0\u200b😀"}\n'
FORMATTED = """{
  "a": 1e400,
  "a": 1.10,
  "n": [
    12345678901234567890,
    {}
  ],
  "s": "\\u00e9\\/ \xa0\u200b😀"
}
"""


class Shown:
    def __init__(self, over: QWidget) -> None:
        theme = Theme()
        self.over = over
        self.edit = TextArea(200, over)
        self.button = FormatJsonButton(self.edit, theme, Tasks(Messages()), over)
        self.failures: list[str] = []
        self.button.failed.connect(self.failures.append)
        vbox(self.button, self.edit, inside=over)
        over.show()

    def put_caret(self, place: int) -> None:
        cursor = self.edit.textCursor()
        cursor.setPosition(place)
        self.edit.setTextCursor(cursor)


@pytest.fixture
def button(qtbot: QtBot) -> Shown:
    over = QWidget()
    qtbot.addWidget(over)
    return Shown(over)


async def test_no_value_changes_and_undo_takes_one_step(button: Shown) -> None:
    button.edit.setPlainText(TEXT)
    button.edit.setFocus()
    button.edit.moveCursor(button.edit.textCursor().MoveOperation.End)
    QTest.keyClicks(button.edit, "  ")
    button.button.click()
    await until(lambda: raw_text(button.edit) == FORMATTED + "  ")
    QTest.keySequence(button.edit, QKeySequence("Ctrl+Z"))
    assert raw_text(button.edit) == TEXT + "  "
    assert button.failures == []


async def test_the_caret_stays_behind_its_character(button: Shown) -> None:
    for before in ("", "{", '{"a":1e4', TEXT[: TEXT.index("}") + 1], TEXT.rstrip()[:-2], TEXT.rstrip()):
        button.edit.setPlainText(TEXT)
        button.put_caret(len(before.encode("utf-16-le")) // 2)
        button.button.click()
        await until(lambda: raw_text(button.edit) == FORMATTED)
        place = button.edit.textCursor().position()
        shown = FORMATTED.encode("utf-16-le")[: 2 * place].decode("utf-16-le")
        assert "".join(shown.split()) == "".join(before.split())
        assert shown == shown.rstrip()


async def test_broken_json_is_left_and_its_place_named(button: Shown) -> None:
    button.edit.setPlainText('{"a": 1,\n "b" 2}')
    button.put_caret(4)
    button.button.click()
    await until(lambda: button.failures)
    assert button.failures == ["Not valid JSON at line 2, column 6: a colon was expected."]
    assert button.edit.toPlainText() == '{"a": 1,\n "b" 2}'
    assert button.edit.textCursor().position() == 4
    assert not button.edit.document().isUndoAvailable()


async def test_what_is_formatted_stays_without_a_step_to_undo(button: Shown) -> None:
    button.edit.setPlainText(FORMATTED)
    button.button.click()
    await settle(50)
    assert raw_text(button.edit) == FORMATTED
    assert not button.edit.document().isUndoAvailable()


async def test_what_is_typed_meanwhile_stays(button: Shown) -> None:
    button.edit.setPlainText("[" + "1," * 30_000 + "1]")
    button.button.click()
    await settle(1)
    button.edit.setPlainText("[2]")
    await until(lambda: not button.button._tasks._running)
    assert button.edit.toPlainText() == "[2]"


def test_it_is_for_objects_and_lists(button: Shown) -> None:
    for text, shown in (("", False), (" \n{", True), ("[1", True), ("1", False), ("a=1", False), ("<a/>", False)):
        button.edit.setPlainText(text)
        assert button.button.is_json() is shown
