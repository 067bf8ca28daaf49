"""A click on a row that is partly hidden scrolls it into view."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.ui.requests.list.delegate import ROW
from tests.ui.requests.page_desk import PageDesk, filled
from tests.ui.waiting import until

VISIBLE = 10
"""Pixels of the row that can be clicked."""


async def cut_at_the_bottom(shown: PageDesk) -> int:
    """Scroll until the last visible row is cut off; its number."""
    await filled(shown, 60)
    bar, height = shown.list.verticalScrollBar(), shown.list.viewport().height()
    bar.setValue((VISIBLE - height) % ROW + ROW)
    return (bar.value() + height) // ROW


def click_at_the_bottom(shown: PageDesk) -> None:
    viewport = shown.list.viewport()
    place = QPoint(viewport.width() // 3, viewport.height() - VISIBLE // 2)
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)


async def test_a_clicked_row_that_is_cut_off_scrolls_into_view(shown: PageDesk) -> None:
    row = await cut_at_the_bottom(shown)
    index = shown.model.index(row)
    rect = shown.list.visualRect(index)
    assert rect.bottom() > shown.list.viewport().height() > rect.top()
    click_at_the_bottom(shown)
    assert shown.list.currentIndex() == index
    assert shown.list.visualRect(index) == rect  # a second click must be able to open it
    await until(lambda: shown.list.viewport().rect().contains(shown.list.visualRect(index)))


async def test_a_list_that_was_scrolled_meanwhile_stays_there(shown: PageDesk) -> None:
    await cut_at_the_bottom(shown)
    click_at_the_bottom(shown)
    bar, timer = shown.list.verticalScrollBar(), shown.list.click_scroll.timer
    bar.setValue(0)
    assert timer.isActive()
    await until(lambda: not timer.isActive())
    assert bar.value() == 0
