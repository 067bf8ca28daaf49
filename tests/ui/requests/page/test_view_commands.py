"""The keys to find and filter: where they work, and why they do not."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.ui.inspector.request_view import BODY, HEADERS
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import notice

Key = Qt.Key
CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.mark.parametrize(
    ("key", "modifier", "reason"),
    [
        (Key.Key_F, CTRL, "No request is open."),
        (Key.Key_F3, Qt.KeyboardModifier.NoModifier, "No request is open."),
        (Key.Key_Slash, Qt.KeyboardModifier.NoModifier, "There is nothing to filter."),
    ],
)
async def test_in_an_empty_list_they_say_why_they_do_nothing(
    key: Key, modifier: Qt.KeyboardModifier, reason: str, shown: PageDesk
) -> None:
    await shown.reload()
    shown.page.setFocus()
    QTest.keyClick(shown.page, key, modifier)
    assert notice(shown.page) == reason


async def test_the_next_match_of_a_find_bar_behind_another_tab_is_shown(shown: PageDesk) -> None:
    await open_body(shown, b"one invoice, another invoice", "text/plain")
    shown.list.setFocus()
    QTest.keyClick(shown.list, Key.Key_F3)
    assert notice(shown.page) == "Filter the list or find in the body first."
    QTest.keyClick(shown.list, Key.Key_F, CTRL)
    shown.detail.body.find_bar.field.setText("invoice")
    place = shown.detail.body.code.textCursor().position()
    shown.detail.tabs.setCurrentIndex(HEADERS)
    shown.list.setFocus()
    QTest.keyClick(shown.list, Key.Key_F3)
    assert shown.detail.tabs.currentIndex() == BODY
    assert shown.detail.body.code.textCursor().position() > place
