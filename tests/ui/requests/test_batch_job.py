"""Several requests at once: selected, marked, starred and deleted, and a job that is stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.ui.requests import select_all as bulk_module
from app.ui.widgets.dialog import Question
from app.ui.widgets.notices import Toast
from tests.ui.requests.page_desk import PageDesk, click_row, filled, open_page
from tests.ui.waiting import settle, until

SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def chosen(shown: PageDesk) -> list[str]:
    return [summary.id for summary in shown.list.selected()]


def said(shown: PageDesk) -> list[str]:
    return [toast._text.text() for toast in shown.page.findChildren(Toast) if toast.isVisible()]


async def test_clicks_and_keys_choose_many_and_the_detail_keeps_what_it_shows(shown: PageDesk) -> None:
    ids = await filled(shown, 12)
    footer = shown.page.list_footer
    height = shown.list.height()
    click_row(shown, 1)
    await until(lambda: shown.detail.capture is not None)
    assert not footer.bar.isVisible()
    click_row(shown, 4, SHIFT)
    await until(footer.bar.isVisible)
    assert chosen(shown) == ids[1:5]
    assert footer.bar.text.whole_text() == "4 selected"
    assert shown.list.height() == height
    click_row(shown, 2, CTRL)
    await until(lambda: footer.bar.text.whole_text() == "3 selected")
    assert chosen(shown) == [ids[1], ids[3], ids[4]]
    QTest.keyClick(shown.list, Qt.Key.Key_A, CTRL)
    await until(lambda: footer.bar.text.whole_text() == "12 selected")
    await settle()
    assert shown.detail.capture_id == ids[1]
    assert not shown.model.summary(4).read
    QTest.keyClick(shown.list, Qt.Key.Key_Escape)
    await until(lambda: not footer.bar.isVisible())
    assert chosen(shown) == [ids[1]]
    assert shown.detail.capture_id == ids[1]


async def test_a_click_on_one_of_many_opens_that_one(shown: PageDesk) -> None:
    ids = await filled(shown, 6)
    click_row(shown, 0)
    click_row(shown, 3, SHIFT)
    await until(shown.page.list_footer.bar.isVisible)
    click_row(shown, 3)
    await until(lambda: shown.detail.capture_id == ids[3])
    await until(lambda: not shown.page.list_footer.bar.isVisible())


async def test_shift_and_an_arrow_choose_one_more(shown: PageDesk) -> None:
    ids = await filled(shown, 6)
    QTest.keyClick(shown.list, Qt.Key.Key_J)
    QTest.keyClick(shown.list, Qt.Key.Key_Down, SHIFT)
    await until(lambda: chosen(shown) == ids[:2] or chosen(shown) == ids[1:3])
    first = chosen(shown)[0]
    await until(shown.page.list_footer.bar.isVisible)
    await until(lambda: shown.detail.capture is not None)
    assert shown.detail.capture_id == first


async def test_the_bars_buttons_mark_star_and_clear_and_say_what_was_done_to_several(shown: PageDesk) -> None:
    ids = await filled(shown, 6)
    shown.list.select_row(0)
    await until(lambda: shown.model.summary(0).read)
    QTest.keyClick(shown.list, Qt.Key.Key_S)
    await until(lambda: shown.model.summary(0).starred)
    assert said(shown) == []
    click_row(shown, 2, SHIFT)
    await until(shown.page.list_footer.bar.isVisible)
    _, read, unread, star, delete, clear = shown.page.list_footer.bar.buttons
    await until(read.isEnabled)
    QTest.mouseClick(read, Qt.MouseButton.LeftButton)
    await until(lambda: all(shown.model.summary(row).read for row in range(3)))
    await until(lambda: unread.isEnabled() and not read.isEnabled())
    assert said(shown) == ["Marked 3 requests read."]
    QTest.mouseClick(unread, Qt.MouseButton.LeftButton)
    await until(lambda: not any(shown.model.summary(row).read for row in range(3)))
    QTest.mouseClick(star, Qt.MouseButton.LeftButton)
    await until(lambda: all(shown.model.summary(row).starred for row in range(3)))
    assert not shown.model.summary(3).starred
    await until(lambda: said(shown) == ["Starred 3 requests."])
    await until(lambda: "Remove 3 stars" in star.accessibleName())
    QTest.mouseClick(star, Qt.MouseButton.LeftButton)
    await until(lambda: not any(shown.model.summary(row).starred for row in range(3)))
    await until(lambda: said(shown) == ["3 stars removed."])
    assert delete.accessibleName() == "Delete 3 requests…"
    QTest.mouseClick(clear, Qt.MouseButton.LeftButton)
    await until(lambda: not shown.page.list_footer.bar.isVisible())
    assert chosen(shown) == [ids[0]]


async def test_much_work_tells_how_far_it_is_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_module, "STEP", 20)

    async with open_page(tmp_path) as shown:
        ids = await filled(shown, 190)
        bulk, bar = shown.page.batch, shown.page.list_footer.bar
        told: list[str] = []
        bulk.changed.connect(lambda: told.append(bar.progress_text.text()))
        shown.list.selectAll()
        await until(shown.page.commands.selected.delete.isEnabled)
        QTest.keyClick(shown.list, Qt.Key.Key_U)
        await until(lambda: bulk.busy and bulk.done)
        assert bar.stop.isVisible()
        assert (bar.progress.value(), bar.progress.maximum()) == (bulk.done, 190)
        assert not shown.page.commands.selected.delete.isEnabled()
        QTest.mouseClick(bar.stop, Qt.MouseButton.LeftButton)
        await until(lambda: not bulk.busy)
        done = bulk.done
        assert 0 < done < 190
        assert done % 20 == 0
        unread = shown.desk.store.captures.counts(shown.endpoint.id).unread
        assert 190 - done - unread in (0, 1)  # the one that came first may have been opened by itself
        assert shown.ids() == ids
        assert "Marking 20 of 190…" in told
        shown.list.clearSelection()
        await until(lambda: not bar.isVisible())
        with bulk.running("Selecting", 0):
            assert bar.isVisible()
            assert bar.progress_text.text() == "Selecting 0 so far…"


async def test_all_of_many_go_and_others_may_come_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_module, "STEP", 50)

    async with open_page(tmp_path) as shown:
        await filled(shown, 180)
        shown.list.selectAll()
        await until(shown.page.commands.selected.delete.isEnabled)
        QTest.keyClick(shown.list, Qt.Key.Key_Delete)
        await until(lambda: shown.page.findChildren(Question))
        late = await shown.add()
        await until(lambda: shown.model.row_of(late.id) == 0)
        QTest.mouseClick(shown.page.findChildren(Question)[0].confirm, Qt.MouseButton.LeftButton)
        await until(lambda: shown.ids() == [late.id])
        await until(lambda: shown.desk.store.captures.counts(shown.endpoint.id).total == 1)
