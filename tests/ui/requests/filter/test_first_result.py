"""The Down key leads from the filter to its first result."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.ui.requests.page_desk import PageDesk
from tests.ui.waiting import activate, settle, until

Key = Qt.Key


@pytest.mark.parametrize("at_once", [False, True], ids=["results are there", "results are still to come"])
async def test_down_selects_the_first_result_where_the_open_request_is_none_of_them(
    at_once: bool, shown: PageDesk
) -> None:
    found = [await shown.add(b'{"type":"invoice.paid"}', target=f"/catch/x/{number}") for number in range(2)]
    other = await shown.add(b"{}", target="/catch/x/other")
    await shown.reload()
    await activate(shown.page)
    shown.list.select_row(0)
    await until(lambda: shown.page.detail.summary is not None)
    line = shown.page.filter.bar.line
    line.setFocus()
    QTest.keyClicks(line, "invoice ")
    if not at_once:
        await until(lambda: shown.model.rowCount() == 2)
    QTest.keyClick(line, Key.Key_Down)
    assert shown.list.hasFocus()
    await until(lambda: shown.model.rowCount() == 2 and shown.list.selected_count() == 1)
    first = shown.list.current()
    assert first is not None
    assert first.id == shown.list.selected()[0].id == found[1].id
    await settle()
    assert shown.detail.capture_id == other.id
    assert not shown.model.summary(0).read
    QTest.keyClick(shown.list, Key.Key_S)
    await until(lambda: shown.model.summary(0).starred)
    QTest.keyClick(shown.list, Key.Key_Return)
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == first.id)
    stored = await shown.desk.store.captures.get(other.id)
    assert stored is not None
    assert not stored.starred
