"""The request under the cursor is in view after a key, and while the list gets lower."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.ui.requests.page_desk import PageDesk, filled
from tests.ui.waiting import settle

MANY = 40


def in_view(shown: PageDesk) -> bool:
    row = shown.list.visualRect(shown.list.currentIndex())
    return shown.list.viewport().rect().contains(row)


async def test_a_key_that_leaves_the_cursor_at_the_last_row_scrolls_to_it(shown: PageDesk) -> None:
    await filled(shown, MANY)
    for key in (Qt.Key.Key_J, Qt.Key.Key_Down, Qt.Key.Key_PageDown, Qt.Key.Key_End):
        shown.list.select_row(MANY - 1)
        shown.list.scrollToTop()
        assert not in_view(shown), key
        QTest.keyClick(shown.list, key)
        assert in_view(shown), key


async def test_a_cursor_that_is_seen_stays_in_view_as_the_list_gets_lower(shown: PageDesk) -> None:
    await filled(shown, MANY)
    shown.list.select_row(MANY - 1)
    await settle()
    shown.page.resize(1000, 640)
    await settle()
    assert in_view(shown)


async def test_what_was_scrolled_out_of_view_stays_there(shown: PageDesk) -> None:
    await filled(shown, MANY)
    shown.list.select_row(MANY - 1)
    shown.list.scrollToTop()
    shown.page.resize(1000, 640)
    await settle()
    assert shown.list.verticalScrollBar().value() == 0
