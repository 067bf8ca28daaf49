"""Lines so long that Qt would hold the window up for seconds are wrapped anywhere, and not coloured."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QWidget

from app.ui.replay.text_edit import TextEdit
from app.ui.theme.theme import Theme
from app.ui.widgets.text_fields import LINE_MAX, TextArea

Mode = QTextOption.WrapMode
LONG = "x" * (LINE_MAX + 1)


def paste(edit: TextArea | TextEdit, text: str) -> None:
    data = QMimeData()
    data.setText(text)
    edit.insertFromMimeData(data)


@pytest.mark.parametrize("put", [TextArea.set_value, paste])
def test_a_field_wraps_long_lines_anywhere_and_others_at_words(qtbot, put) -> None:
    area = TextArea(80)
    qtbot.addWidget(area)
    put(area, f"a b\n{LONG[1:]}")
    assert area.wordWrapMode() == Mode.WrapAtWordBoundaryOrAnywhere
    put(area, f"a b\n{LONG}\nc")
    assert area.wordWrapMode() == Mode.WrapAnywhere
    area.set_value("a b")
    assert area.wordWrapMode() == Mode.WrapAtWordBoundaryOrAnywhere


def test_the_editor_of_a_body_wraps_them_only_while_bodies_are_wrapped(qtbot) -> None:
    theme, parent = Theme(), QWidget()
    qtbot.addWidget(parent)
    edit = TextEdit("Body", theme, parent)
    edit.show_text(LONG)
    theme.body_text.toggle_wrap()
    assert edit.wordWrapMode() == Mode.NoWrap
    edit.show_text("short")
    assert edit.wordWrapMode() == Mode.NoWrap
    edit.show_text(LONG)
    theme.body_text.toggle_wrap()
    assert edit.wordWrapMode() == Mode.WrapAnywhere


def test_json_is_coloured_at_its_places_but_for_long_lines(qtbot) -> None:
    theme, parent = Theme(), QWidget()
    qtbot.addWidget(parent)
    edit = TextEdit("Body", theme, parent)
    edit.show_text(f'["\U0001f600", 7,\n"{LONG}"]', json_from=0)
    first, second = (edit.document().findBlockByNumber(row).layout().formats() for row in range(2))
    assert [(one.start, one.length) for one in first] == [(0, 1), (1, 4), (5, 1), (7, 1), (8, 1)]
    assert second == []
