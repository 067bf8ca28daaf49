"""While the pointer moves over the list, new requests do not move the rows under it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.ui.requests.page.list_area import REST_MS
from tests.ui.requests.page_desk import PageDesk
from tests.ui.waiting import settle, until


def point(shown: PageDesk, row: int, shift: int = 0) -> QPoint:
    place = shown.list.visualRect(shown.model.index(row)).center() + QPoint(shift, 0)
    QTest.mouseMove(shown.list.viewport(), place)
    return place


async def arrive(shown: PageDesk, count: int) -> None:
    """And be counted."""
    before = shown.desk.store.captures.counts(shown.endpoint.id).total
    for _ in range(count):
        await shown.add()
    await until(lambda: f"{before + count} requests" in shown.page.footer.text())
    await settle(10)


async def test_rows_hold_until_the_pointer_rests(shown: PageDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown.page.pill._rest, "start", lambda: None)  # it would rest too soon on a slow machine
    await shown.fill(5)
    await shown.reload()
    before = shown.ids()
    place = point(shown, 2)
    await settle()
    await arrive(shown, 3)
    assert shown.ids() == before
    assert shown.list.indexAt(place).row() == 2
    assert not shown.page.pill.isVisible()
    shown.page.pill._rest.timeout.emit()
    await until(lambda: len(shown.ids()) == 8)
    assert shown.ids()[3:] == before
    await arrive(shown, 1)
    await until(lambda: len(shown.ids()) == 9)


async def test_they_hold_until_the_pointer_leaves(shown: PageDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown.page.pill._rest, "start", lambda: None)
    await shown.fill(5)
    await shown.reload()
    point(shown, 1)
    await settle()
    await arrive(shown, 1)
    assert len(shown.ids()) == 5
    QApplication.sendEvent(shown.list.viewport(), QEvent(QEvent.Type.Leave))
    await until(lambda: len(shown.ids()) == 6)


async def test_a_paused_list_stays_paused(shown: PageDesk) -> None:
    await shown.fill(5)
    await shown.reload()
    point(shown, 1)
    await settle()
    shown.pause.toggle()
    await arrive(shown, 1)
    QApplication.sendEvent(shown.list.viewport(), QEvent(QEvent.Type.Leave))
    await settle(10)
    assert len(shown.ids()) == 5
    assert shown.page.pill.text() == "1 new"
    assert shown.page.pill.isVisible()


async def test_it_rests_after_a_moment(shown: PageDesk) -> None:
    assert QApplication.doubleClickInterval() < REST_MS
    await shown.fill(5)
    await shown.reload()
    point(shown, 1)
    await settle()
    await arrive(shown, 1)
    await until(lambda: len(shown.ids()) == 6)
