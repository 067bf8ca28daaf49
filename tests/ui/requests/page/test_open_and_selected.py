"""What is open stays open and selected, whatever is received, deleted or filtered out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.core.clock import DAY_US, now_us
from app.core.model import Endpoint
from app.ui.requests.list import feed as feed_module
from app.ui.shell.main_window import MainWindow
from app.ui.widgets.dialog import Question
from app.ui.widgets.notices import Toast
from tests import factories
from tests.ui.desk import Desk
from tests.ui.desk import shown as shown_window
from tests.ui.requests.page_desk import PageDesk, click_row, filled, open_page
from tests.ui.waiting import notice, settle, until

Key = Qt.Key
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


async def flood(desk: Desk, endpoint: Endpoint, count: int, together: int) -> None:
    """So many requests are stored, in bursts."""
    for _ in range(count // together):
        await asyncio.gather(*(desk.capture(endpoint) for _ in range(together)))


def opened(shown: PageDesk, name: str) -> bool:
    return shown.detail.capture is not None and shown.detail.capture.id == name


def selected(shown: PageDesk) -> list[str]:
    return [one.id for one in shown.list.selected()]


def unread(shown: PageDesk) -> int:
    return shown.desk.store.captures.counts(shown.endpoint.id).unread


async def open_row(shown: PageDesk, row: int) -> str:
    """Click a row, and wait until it is read; its id."""
    name = shown.ids()[row]
    click_row(shown, row)
    await until(lambda: opened(shown, name) and shown.list.selected() and shown.list.selected()[0].read)
    return name


async def away(shown: PageDesk, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The pointer leaves the list, and so many come in that these are not loaded any more."""
    QApplication.sendEvent(shown.list.viewport(), QEvent(QEvent.Type.Leave))
    monkeypatch.setattr(feed_module, "FOLLOWED_ROWS", 40)
    for _ in range(40):
        if all(shown.model.row_of(name) is None for name in names):
            break
        await asyncio.gather(*(shown.add() for _ in range(80)))
        await settle(5)
    else:
        raise AssertionError(f"{shown.model.rowCount()} rows, scrolled by {shown.list.verticalScrollBar().value()}")
    await until(lambda: not shown.feed.pager.jumping and not shown.feed._waiting)


async def write_note(window: MainWindow, text: str, at: int) -> None:
    """Begin a note of the request shown, the text cursor at this place."""
    QTest.keyClick(window.requests.list, Key.Key_N)
    note = window.requests.detail.header.note
    await until(note.text.hasFocus)
    QTest.keyClicks(note.text, text)
    cursor = note.text.textCursor()
    cursor.setPosition(at, QTextCursor.MoveMode.MoveAnchor)
    note.text.setTextCursor(cursor)


@pytest.mark.slow
async def test_two_thousand_requests_change_nothing_of_what_is_open(tmp_path: Path) -> None:
    async with shown_window(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        made = [await desk.capture(endpoint) for _ in range(3)]
        window.enter_endpoint(endpoint.id)
        page = window.requests
        await until(lambda: page.feed.model.rowCount() == 3)
        mine = made[1].id
        for name in (made[2].id, mine):
            QTest.keyClick(page.list, Key.Key_J)
            await until(lambda name=name: page.detail.capture is not None and page.detail.capture.id == name)
        await until(lambda: desk.store.captures.counts(endpoint.id).unread == 1)
        await write_note(window, "wrong signature", 5)
        note = page.detail.header.note
        await flood(desk, endpoint, 1_000, 40)
        await flood(desk, endpoint, 1_000, 500)
        newest = (await desk.store.captures.page(endpoint.id, limit=1))[0].id
        await until(lambda: page.feed.model.row_of(newest) == 0)
        await settle()
        assert page.feed.model.row_of(mine) is None
        assert page.detail.capture_id == mine
        assert (note.writing, note.text.toPlainText(), note.text.textCursor().position()) == (
            True,
            "wrong signature",
            5,
        )
        assert window.focusWidget() is note.text
        assert [one.id for one in page.list.selected()] == [mine]
        QTest.keyClick(note.text, Key.Key_Return, CTRL)
        capture = await desk.store.captures.get(mine)
        await until(lambda: page.list.selected()[0].note == "wrong signature")
        counts = desk.store.captures.counts(endpoint.id)
        assert counts.unread == counts.total - 2
        page.list.setFocus()
        QTest.keyClick(page.list, Key.Key_L)
        assert QGuiApplication.clipboard().text() == f"hookline://request/{mine}"
        QTest.keyClick(page.list, Key.Key_C)
        await until(lambda: QGuiApplication.clipboard().text().startswith("curl "))
        QTest.keyClick(page.list, Key.Key_S)
        await until(lambda: page.list.selected()[0].starred)
        QTest.keyClick(page.list, Key.Key_U)
        await until(lambda: not page.list.selected()[0].read)
        capture = await desk.store.captures.get(mine)
        assert capture is not None
        assert (capture.starred, capture.read, capture.note) == (True, False, "wrong signature")
        QTest.keyClick(page.list, Key.Key_Down)
        await until(lambda: page.detail.capture_id == made[0].id)
        assert page.list.selection.loaded()[0].id == made[0].id


@pytest.mark.parametrize(("key", "by"), [(Key.Key_J, 1), (Key.Key_Up, -1), (Key.Key_PageDown, 5)])
async def test_keys_move_on_from_a_request_that_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch, key: Key, by: int, shown: PageDesk
) -> None:
    ids = await filled(shown, 30)
    mine = await open_row(shown, 7)
    await away(shown, ids, monkeypatch)
    assert opened(shown, mine)
    page = shown.list.viewport().height() // 32
    wanted = ids[7 + by] if by < 5 else ids[min(29, 7 + page)]
    QTest.keyClick(shown.list, key)
    await until(lambda: opened(shown, wanted))
    assert selected(shown) == [wanted]
    assert shown.list.viewport().rect().contains(shown.list.visualRect(shown.list.currentIndex()))


async def test_many_that_are_not_loaded_stay_selected_and_only_they_are_deleted(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    ids = await filled(shown, 12)
    click_row(shown, 2)
    click_row(shown, 4, SHIFT)
    click_row(shown, 8, CTRL)
    mine = [*ids[2:5], ids[8]]
    await until(lambda: selected(shown) == mine)
    await away(shown, ids, monkeypatch)
    assert selected(shown) == mine
    await until(lambda: shown.page.list_footer.bar.text.whole_text() == "4 selected")
    click_row(shown, 0, CTRL)
    newest = shown.ids()[0]
    await until(lambda: selected(shown) == [newest, *mine])
    click_row(shown, 0, CTRL)
    await shown.desk.store.captures.delete([ids[8]])  # by a script
    await until(lambda: selected(shown) == mine[:3])
    delete = shown.page.commands.selected.delete
    await until(lambda: delete.text() == "Delete 3 requests…")
    QTest.keyClick(shown.list, Key.Key_S)
    await until(lambda: all(one.starred for one in shown.list.selected()))
    QTest.keyClick(shown.list, Key.Key_S)
    await until(lambda: not any(one.starred for one in shown.list.selected()))
    before = shown.desk.store.captures.counts(shown.endpoint.id).total
    await until(delete.isEnabled)
    QTest.keyClick(shown.list, Key.Key_Delete)
    await until(lambda: shown.page.findChildren(Question))
    assert shown.page.findChildren(Question)[0].windowTitle() == "Delete 3 requests?"
    QTest.mouseClick(shown.page.findChildren(Question)[0].confirm, Qt.MouseButton.LeftButton)
    await until(lambda: shown.desk.store.captures.counts(shown.endpoint.id).total == before - 3)
    left = {one.id for one in await shown.desk.store.captures.page(shown.endpoint.id, limit=1_000)}
    assert set(ids) - left == set(mine)


async def test_rows_that_come_back_are_selected_again(monkeypatch: pytest.MonkeyPatch, shown: PageDesk) -> None:
    ids = await filled(shown, 12)
    mine = await open_row(shown, 3)
    await away(shown, ids, monkeypatch)
    bar = shown.list.verticalScrollBar()
    while shown.model.row_of(mine) is None:
        bar.setValue(bar.maximum())
        await settle()
    assert [one.id for one in shown.list.selection.loaded()] == [mine]
    current = shown.list.current()
    assert current is not None
    assert current.id == mine
    assert not shown.model.kept


async def expire(shown: PageDesk) -> str:
    """The request that is open passes its days."""
    shown.desk.store.retention._clock = lambda: now_us() + DAY_US // 2
    await shown.desk.store.retention.purge()
    return "This request was deleted by retention: it was kept for 1 day."


async def delete_by_a_script(shown: PageDesk) -> str:
    await shown.desk.store.captures.delete([shown.detail.capture_id or ""])
    return "This request was deleted."


async def clear_by_a_script(shown: PageDesk) -> str:
    await shown.desk.store.captures.clear(shown.endpoint.id)
    return "This request was deleted."


async def fill_up(shown: PageDesk) -> str:
    """Others come, and the storage limit is reached."""
    draft = factories.draft(name="Small", storage_limit=1 << 20, when_full="delete_oldest", retention_days=1)
    await shown.desk.store.endpoints.update(shown.endpoint.id, draft)
    for _ in range(6):
        await shown.add(b"x" * 300_000)
    return "This request was deleted to stay within a storage limit."


@pytest.mark.parametrize("ends", [expire, delete_by_a_script, clear_by_a_script, fill_up])
async def test_what_is_open_and_deleted_is_still_shown_and_says_so(
    tmp_path: Path, ends: Callable[[PageDesk], Coroutine[Any, Any, str]]
) -> None:
    async with open_page(tmp_path, retention_days=1) as shown:
        day_ago = now_us() - DAY_US * 3 // 4
        await asyncio.gather(*(shown.add(b'{"n":1}', received_at=day_ago + n) for n in range(3)))
        await shown.add()
        await filled(shown, 0)
        mine = await open_row(shown, 3)
        assert unread(shown) == 3
        detail = shown.detail
        await until(lambda: '"n": 1' in detail.body.code.toPlainText())
        reason = await ends(shown)
        await until(detail.view.deleted_bar.isVisible)
        assert detail.view.deleted_bar.text.text() == f"{reason} You can still read and copy it here."
        await settle()
        assert opened(shown, mine)
        assert '"n": 1' in detail.body.code.toPlainText()
        assert selected(shown) == []
        rest = shown.desk.store.captures.counts(shown.endpoint.id)
        assert rest.unread == rest.total
        detail.tabs.setFocus()
        for key in (Key.Key_S, Key.Key_U, Key.Key_C, Key.Key_L, Key.Key_N, Key.Key_Delete):
            for toast in shown.page.findChildren(Toast):
                toast.hide()
            QTest.keyClick(detail.tabs, key)
            await settle()
            assert reason in notice(shown.page), key
        assert not detail.header.note.writing
        assert not shown.page.findChildren(Question)
        detail.body.views.activated.emit("hex")
        await until(detail.body.hex.isVisible)
        newest = await shown.add()
        await until(lambda: shown.model.row_of(newest.id) == 0)
        assert opened(shown, mine)
        click_row(shown, 0)
        await until(lambda: opened(shown, newest.id))
        assert not detail.view.deleted_bar.isVisible()


async def test_a_note_on_a_request_that_is_deleted_meanwhile_can_be_copied(shown: PageDesk) -> None:
    await filled(shown, 3)
    mine = await open_row(shown, 1)
    QTest.keyClick(shown.list, Key.Key_N)
    note = shown.detail.header.note
    await until(note.text.hasFocus)
    QTest.keyClicks(note.text, "half")
    await shown.desk.store.captures.delete([mine])
    await until(lambda: not note.save_button.isEnabled())
    assert note.text.hasFocus()
    assert "Copy the text" in note.hint.text()
    QTest.keyClicks(note.text, " done")
    QTest.keyClick(note.text, Key.Key_Return, CTRL)
    assert (note.writing, note.text.toPlainText()) == (True, "half done")
    QTest.keyClick(note.text, Key.Key_Escape)
    assert not note.writing
    await settle()


async def test_from_the_place_of_a_deleted_request_keys_go_on_to_its_neighbours(shown: PageDesk) -> None:
    ids = await filled(shown, 6)
    for key, row in ((Key.Key_J, 3), (Key.Key_K, 1)):
        mine = await open_row(shown, shown.ids().index(ids[2]) if key == Key.Key_J else 2)
        await shown.desk.store.captures.delete([mine])
        await until(lambda: not shown.list.selected())
        before = shown.ids()
        QTest.keyClick(shown.list, key)
        wanted = ids[row] if key == Key.Key_J else before[1]
        await until(lambda wanted=wanted: opened(shown, wanted))


async def test_a_filter_without_it_leaves_it_open_and_selects_nothing(shown: PageDesk) -> None:
    await shown.fill(4, method="PUT")
    await filled(shown, 4)
    mine = await open_row(shown, 1)
    count = unread(shown)
    line = shown.page.filter.bar.line
    line.setFocus()
    QTest.keyClicks(line, "method:PUT ")
    await until(lambda: shown.feed.query is not None and shown.model.rowCount() == 4)
    await until(lambda: not shown.feed.pager.jumping)
    await settle()
    assert opened(shown, mine)
    assert (selected(shown), shown.list.current()) == ([], None)
    shown.list.setFocus()
    QTest.keyClick(shown.list, Key.Key_L)
    assert QGuiApplication.clipboard().text() == f"hookline://request/{mine}"
    assert unread(shown) == count
    line.setFocus()
    line.clear()
    await until(lambda: selected(shown) == [mine])
    assert opened(shown, mine)
    QTest.keyClicks(line, "method:PUT")
    await until(lambda: shown.model.rowCount() == 4 and not shown.feed.pager.jumping)
    shown.list.setFocus()
    QTest.keyClick(shown.list, Key.Key_J)
    await until(lambda: opened(shown, shown.ids()[0]))


async def test_of_several_selected_the_open_one_stays_so_without_the_filter(shown: PageDesk) -> None:
    await filled(shown, 4)
    shown.page.filter.bar.set_text("method:POST")
    await until(lambda: shown.feed.query is not None and shown.model.rowCount() == 4)
    mine = await open_row(shown, 2)
    shown.list.setFocus()
    QTest.keyClick(shown.list, Key.Key_Up, SHIFT)
    assert len(selected(shown)) == 2
    shown.page.filter.bar.clear()
    await until(lambda: shown.feed.query is None and not shown.feed.pager.jumping)
    await settle()
    assert (selected(shown), opened(shown, mine)) == ([mine], True)


async def test_deleting_all_empties_the_detail(shown: PageDesk) -> None:
    await filled(shown, 3)
    await open_row(shown, 1)
    shown.page.endpoint_commands.clear.trigger()
    await until(lambda: shown.page.findChildren(Question))
    QTest.mouseClick(shown.page.findChildren(Question)[0].confirm, Qt.MouseButton.LeftButton)
    await until(shown.page.list_area.empty.isVisible)
    assert shown.detail.is_empty
    assert not shown.detail.isVisible()


@pytest.mark.parametrize(("rows", "follows"), [((1, 3), 4), ((4, 5), 3), ((0, 0), 1)])
async def test_after_a_delete_the_next_is_open(rows: tuple[int, int], follows: int, shown: PageDesk) -> None:
    ids = await filled(shown, 6)
    await open_row(shown, rows[0])
    if rows[1] > rows[0]:
        click_row(shown, rows[1], SHIFT)
    await until(lambda: len(selected(shown)) == rows[1] - rows[0] + 1)
    await until(shown.page.commands.selected.delete.isEnabled)
    count = unread(shown) - (rows[1] - rows[0]) - 1
    QTest.keyClick(shown.list, Key.Key_Delete)
    if rows[1] > rows[0]:
        await until(lambda: shown.page.findChildren(Question))
        QTest.mouseClick(shown.page.findChildren(Question)[0].confirm, Qt.MouseButton.LeftButton)
    await until(lambda: shown.model.rowCount() == 6 - (rows[1] - rows[0] + 1))
    await until(lambda: opened(shown, ids[follows]))
    await settle(10)
    assert selected(shown) == [ids[follows]]
    await until(lambda: unread(shown) == count)


async def test_a_delete_elsewhere_in_the_list_leaves_what_is_open_chosen(shown: PageDesk) -> None:
    ids = await filled(shown, 6)
    mine = await open_row(shown, 0)
    click_row(shown, 2, CTRL)
    click_row(shown, 3, CTRL)
    click_row(shown, 0, CTRL)
    await until(lambda: selected(shown) == ids[2:4])
    QTest.keyClick(shown.list, Key.Key_Delete)
    await until(lambda: shown.page.findChildren(Question))
    QTest.mouseClick(shown.page.findChildren(Question)[0].confirm, Qt.MouseButton.LeftButton)
    await until(lambda: shown.model.rowCount() == 4)
    await settle()
    assert opened(shown, mine)
    assert selected(shown) == [mine]


async def test_a_move_that_was_not_told_yet_does_not_open_what_is_deleted(shown: PageDesk) -> None:
    ids = await filled(shown, 6)
    await open_row(shown, 1)
    click_row(shown, 3, SHIFT)
    shown.page.opener.select_next(lambda _, name: name in ids[1:4])  # in the same turn of the loop
    await settle(5)
    assert selected(shown) == [ids[4]]
    assert shown.detail.capture_id == ids[4]
