"""Deletes in the real window: hidden at once, deleted after a while, undone before."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from app.core.errors import InvalidFieldsError, NotAllowedError, NotFoundError, StorageUnavailableError
from app.core.model import Capture, Deletion, Endpoint, MarkedIds, Plan
from app.core.replay import MatchingRequests, OneUrl, ReplaySpec
from app.db.deleting import delete_requests
from app.ui import deleting
from app.ui.deleting import UndoBar, marks_text
from app.ui.requests.list.delegate import ROW
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_REQUESTS, DASHBOARD, REFUSED
from app.ui.widgets.dialog import Question
from tests import factories
from tests.db.helpers import query
from tests.ui.desk import Desk, shown
from tests.ui.replay.replay_desk import target
from tests.ui.waiting import activate, settle, until, wait_for_widget

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

LEFT = Qt.MouseButton.LeftButton
CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.mark.parametrize(
    ("starred", "noted", "count", "text"),
    [
        ("", "a", 60, "1 of 60 requests has a note."),
        ("", "abc", 1204, "3 of 1,204 requests have notes."),
        ("a", "", 2, "1 of 2 requests is starred."),
        ("ab", "b", 9, "2 of 9 requests are starred and 1 has a note."),
        ("a", "ab", 9, "1 of 9 requests is starred and 2 have notes."),
        ("a", "", 1, "The request is starred."),
        ("a", "a", 1, "The request is starred and has a note."),
        ("", "", 5, ""),
    ],
)
def test_how_many_are_marked_is_said_in_a_sentence(starred: str, noted: str, count: int, text: str) -> None:
    assert marks_text(MarkedIds(starred=frozenset(starred), noted=frozenset(noted)), count) == text


async def fill(desk: Desk, window: MainWindow, count: int) -> tuple[Endpoint, list[Capture]]:
    """Requests of the first endpoint, whose list is shown; oldest first."""
    endpoint = desk.store.endpoints.all()[0]
    captures = [await desk.capture(endpoint) for _ in range(count)]
    window.enter_endpoint(endpoint.id)
    await until(lambda: len(rows(window)) == count)
    await settle()
    return endpoint, captures


def rows(window: MainWindow) -> list[str]:
    model = window.requests.feed.model
    return [model.summary(row).id for row in range(model.rowCount())]


def selected(window: MainWindow) -> list[str]:
    return [one.id for one in window.requests.list.selected()]


async def agree(window: QWidget) -> str:
    """Confirm the question that is open or about to be; what it asks."""
    asked = await wait_for_widget(Question, window)
    text = f"{asked.windowTitle()} {asked.text.text()}"
    QTest.mouseClick(asked.confirm, LEFT)
    await until(lambda: not window.findChildren(Question))
    await activate(window)  # a window manager does that itself
    return text


async def delete_selected(window: MainWindow) -> UndoBar:
    number = window.pending.newest.number if window.pending.newest else None
    await until(window.requests.commands.selected.delete.isEnabled)
    asks = window.requests.list.selected_count() > 1
    window.requests.commands.selected.delete.trigger()
    if asks:
        await agree(window)
    await until(lambda: window.pending.newest is not None and window.pending.newest.number != number)
    return window.undo_bar


async def delete_row(window: MainWindow, row: int) -> UndoBar:
    window.requests.list.select_row(row)
    return await delete_selected(window)


async def asked_to_clear(window: MainWindow) -> Question:
    """The question that comes before all requests of the endpoint shown are deleted."""
    window.requests.endpoint_commands.clear.trigger()
    question = await wait_for_widget(Question, window)
    assert question.option is not None
    return question


async def let_time_run_out(window: MainWindow) -> None:
    """The newest delete can no longer be undone; return when nothing waits to be deleted."""
    assert window.pending.newest is not None
    window.pending.newest.remaining_ms = 0
    await until(lambda: not window.pending.waiting)


async def undo(window: MainWindow) -> None:
    """Return once the newest deletion is undone; pages may still read what that brings back."""
    newest = window.pending.newest
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    if newest is not None:
        await until(lambda: newest not in window.pending.waiting)
    await settle(6)


def stored(desk: Desk, endpoint: Endpoint) -> int:
    """Deleted requests are stored until they are purged."""
    return int(query(desk.folder, "SELECT count(*) FROM capture WHERE endpoint_id = ?", endpoint.id)[0][0])


async def expire(desk: Desk, capture: Capture) -> None:
    """Delete it as retention does, which sees deleted requests too."""
    (found,) = query(desk.folder, "SELECT seq FROM capture WHERE id = ?", capture.id)
    await desk.store._writer.run(lambda database: delete_requests(database, found), desk.store.limits.deleted)


def in_window(window: MainWindow, endpoint: Endpoint) -> int:
    return window.services.store.captures.counts(endpoint.id).total


async def test_a_request_is_hidden_at_once_and_back_with_undo(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 30)
        before = rows(window)
        window.requests.list.select_row(20)
        gone = before[20]
        await until(lambda: window.requests.detail.capture is not None)
        scrolled = window.requests.list.verticalScrollBar().value()
        assert scrolled > 0
        bar = await delete_selected(window)
        assert rows(window) == [name for name in before if name != gone]
        assert (bar.isVisible(), bar.text.text(), bar.left.text()) == (True, "Request deleted.", "10 s")
        assert (stored(desk, endpoint), in_window(window, endpoint)) == (30, 29)
        assert await window.services.store.captures.get(gone) is None
        await until(lambda: window.requests.footer.text().startswith("29 requests"))
        await undo(window)
        await until(lambda: rows(window) == before)
        assert selected(window) == [gone]
        assert window.requests.list.verticalScrollBar().value() == scrolled
        await until(lambda: window.requests.detail.capture and window.requests.detail.capture.id == gone)
        await until(lambda: window.requests.footer.text().startswith("30 requests"))
        assert not bar.isVisible()
        assert (stored(desk, endpoint), in_window(window, endpoint)) == (30, 30)
        assert len(captures) == 30


async def test_a_replay_does_not_send_what_is_about_to_be_deleted(tmp_path: Path) -> None:
    async with target() as place, shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 3)
        await delete_row(window, 1)
        spec = ReplaySpec(source=MatchingRequests(endpoint_id=endpoint.id), destination=OneUrl(url=place.url))
        replay = await desk.replays.start(spec)
        await desk.replays.wait(replay.id)
        sent = [bool(await desk.store.deliveries.of_capture(one.id)) for one in captures]
        assert sent == [True, False, True]
        assert len(place.requests) == 2


async def test_several_that_were_selected_are_selected_again(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 8)
        before = rows(window)
        window.requests.list.setFocus()
        window.requests.list.select_row(2)
        for _ in range(3):
            QTest.keyClick(window.requests.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
        assert selected(window) == before[2:6]
        bar = await delete_selected(window)
        assert bar.text.text() == "4 requests deleted."
        late = await desk.capture(endpoint)
        await until(lambda: late.id in rows(window))
        await undo(window)
        await until(lambda: rows(window) == [late.id, *before])
        assert selected(window) == before[2:6]
        window.requests.list.selectAll()
        await delete_selected(window)
        assert (rows(window), window.requests.detail.capture_id) == ([], None)
        await undo(window)
        assert rows(window) == selected(window) == [late.id, *before]
        await delete_selected(window)
        newest = await desk.capture(endpoint)
        await until(lambda: rows(window) == [newest.id])
        await undo(window)
        await until(lambda: rows(window) == [newest.id, late.id, *before])


async def test_those_beside_the_open_one_are_selected_again(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 6)
        before, page = rows(window), window.requests
        page.list.select_row(1)
        await until(lambda: page.detail.capture is not None)
        others = [page.feed.model.summary(row) for row in (3, 4)]
        page.list.selection.restore(others, others[0])
        await settle()
        await delete_selected(window)
        assert (selected(window), page.detail.capture_id) == ([before[1]], before[1])
        await undo(window)
        await until(lambda: rows(window) == before)
        assert (selected(window), page.detail.capture_id) == (before[3:5], before[1])


async def test_what_is_deleted_among_all_requests_is_back_in_its_endpoints_list(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=2) as (desk, window):
        endpoint, _ = await fill(desk, window, 3)
        before = rows(window)
        other = await desk.capture(desk.store.endpoints.all()[1])
        window.show_page(ALL_REQUESTS)
        await until(lambda: rows(window) == [other.id, *before])
        await delete_row(window, 2)
        window.show_endpoint(endpoint.id)
        await until(lambda: rows(window) == [before[0], before[2]])
        await undo(window)
        await until(lambda: rows(window) == before)


async def test_what_comes_after_a_delete_of_several_changes_nothing_of_what_is_open(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 8)
        page = window.requests
        page.list.setFocus()
        page.list.select_row(2)
        await until(lambda: desk.store.captures.counts(endpoint.id).unread == 7)
        QTest.keyClick(page.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
        await delete_selected(window)
        (following,) = selected(window)
        late = await desk.capture(endpoint)
        await until(lambda: late.id in rows(window))
        await settle(20)
        assert (selected(window), page.detail.capture_id) == ([following], following)
        assert desk.store.captures.counts(endpoint.id).unread == 6


@pytest.mark.slow
async def test_a_filtered_list_is_put_back_and_another_list_is_read_again(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 6)
        await desk.store.captures.star([one.id for one in captures[::2]])
        await settle()
        every, page = rows(window), window.requests
        page.filter.bar.set_text("is:starred")
        await until(lambda: len(rows(window)) == 3 and page.feed.search.done)
        before = rows(window)
        await delete_row(window, 1)
        assert rows(window) == [before[0], before[2]]
        await undo(window)
        await until(lambda: (rows(window), selected(window)) == (before, [before[1]]))
        await until(lambda: page.footer.text() == "3 of 6 match")
        await delete_selected(window)
        window.show_page(ALL_REQUESTS)
        await until(lambda: rows(window) == [name for name in every if name != before[1]])
        await undo(window)
        await until(lambda: rows(window) == every)
        assert stored(desk, endpoint) == 6


@pytest.mark.parametrize("row", [0, 380])
async def test_another_list_stays_where_it_is_and_has_what_is_back_below_its_newest_page(
    tmp_path: Path, row: int
) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 4)
        await delete_row(window, 1)
        await asyncio.gather(*(desk.capture(endpoint) for _ in range(450)))
        window.show_page(ALL_REQUESTS)
        page = window.requests
        while page.feed.model.rowCount() < 453:  # a page is read at a time, however long that takes
            page.list.scrollToBottom()
            await settle(20)
        page.list.verticalScrollBar().setValue(row * ROW)
        await settle()
        place = page.list.scroll_place()
        assert (place is None) == (row == 0)
        await undo(window)
        await until(lambda: not page.feed.pager.jumping)
        await settle()
        assert page.list.scroll_place() == place
        while not page.feed.model.at_tail:
            page.list.scrollToBottom()
            await settle(20)
        assert captures[2].id in rows(window)


async def test_an_undo_scrolls_back_to_where_the_delete_was_though_more_came(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 60)
        page = window.requests
        page.list.verticalScrollBar().setValue(10 * ROW + 7)
        await settle()
        place = page.list.scroll_place()
        await delete_row(window, 12)
        page.list.go_to_newest()
        for _ in range(3):
            await desk.capture(endpoint)
        await until(lambda: page.feed.model.rowCount() == 62)
        assert page.list.scroll_place() is None
        await undo(window)
        await until(lambda: page.feed.model.rowCount() == 63)
        assert (page.list.scroll_place(), page.list.verticalScrollBar().value()) == (place, 13 * ROW + 7)


@pytest.mark.parametrize("settled", [True, False])
async def test_undone_in_a_flood_all_that_came_is_listed(tmp_path: Path, settled: bool) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 4)
        page = window.requests
        page.list.select_row(1)
        gone = captures[2].id
        await until(lambda: page.detail.capture is not None)
        await delete_selected(window)
        await asyncio.gather(*(desk.capture(endpoint) for _ in range(450)))
        if settled:
            await until(lambda: page.feed.model.rowCount() >= 200 and not page.feed.pager.jumping)
            await settle()
        await undo(window)
        await until(lambda: not page.feed.pager.jumping and not page.feed._waiting)
        await until(lambda: page.detail.capture_id == gone)
        assert selected(window) == [gone]
        stored_now = await desk.store.captures.page(endpoint.id, limit=500)
        while page.feed.model.rowCount() < 454:  # a page is read at a time, however long that takes
            page.list.scrollToBottom()
            await settle(20)
        assert rows(window) == [one.id for one in stored_now]
        assert selected(window) == [gone]


@pytest.mark.parametrize("before", [True, False])
async def test_undone_while_the_list_cannot_be_read_all_is_listed_once_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    monkeypatch.setattr("app.ui.tasks.AGAIN_S", 0.01)
    async with shown(tmp_path, endpoints=1) as (desk, window):
        _, captures = await fill(desk, window, 3)
        page = window.requests
        page.list.select_row(1)
        await until(lambda: page.detail.capture is not None)
        if before:
            await delete_selected(window)
        with monkeypatch.context() as broken:
            broken.setattr(desk.store.captures, "page", unreadable)
            page.feed.head()
            await until(lambda: page.feed.pager.failed)
            if not before:
                await delete_selected(window)
            await undo(window)
        await until(lambda: rows(window) == [one.id for one in reversed(captures)])
        await until(lambda: selected(window) == [captures[1].id] and not desk.messages.waiting())


async def unreadable(*_: object, **__: object) -> None:
    raise StorageUnavailableError("The stored requests cannot be read.")


async def test_undo_opens_again_what_was_open_in_place_of_what_the_delete_opened(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 4)
        before, detail = rows(window), window.requests.detail
        await delete_row(window, 1)
        await until(lambda: detail.capture is not None and detail.capture.id == before[2])
        await delete_selected(window)
        await until(lambda: detail.capture is not None and detail.capture.id == before[3])
        for row in (2, 1):
            await undo(window)
            await until(lambda row=row: detail.capture is not None and detail.capture.id == before[row])
            assert selected(window) == [before[row]]
        assert rows(window) == before


async def test_what_was_opened_since_stays_open(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 5)
        before, page = rows(window), window.requests
        await delete_row(window, 2)
        page.list.select_row(3)
        mine = before[4]
        await until(lambda: page.detail.capture is not None and page.detail.capture.id == mine)
        page.detail.header.note.start()
        QTest.keyClicks(page.detail.header.note.text, "look")
        QTest.mouseClick(window.undo_bar.button, LEFT)
        await until(lambda: rows(window) == before)
        await settle(6)
        assert (page.detail.capture_id, selected(window)) == (mine, [mine])
        assert page.detail.header.note.writing
        assert page.list.current() in page.list.selected()


@pytest.mark.slow
async def test_one_that_was_marked_unread_is_unread_when_it_is_back(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 2)
        page = window.requests
        window.requests.windows.open(page.feed.model.summary(0))
        (own,) = page.windows.open_now.values()
        await until(lambda: own.detail.capture is not None)
        await activate(window)
        page.list.select_row(0)
        await until(lambda: page.detail.capture is not None and page.detail.capture.id == own.detail.capture.id)
        await until(lambda: desk.store.captures.counts(endpoint.id).unread == 1)
        page.list.setFocus()
        QTest.keyClick(page.list, Qt.Key.Key_U)
        await until(lambda: desk.store.captures.counts(endpoint.id).unread == 2)
        await delete_selected(window)
        await undo(window)
        await until(lambda: page.detail.capture is not None and own.detail.capture is not None)
        await settle(10)
        assert not page.feed.model.summary(0).read
        assert desk.store.captures.counts(endpoint.id).unread == 1, "the one that the delete opened is read"


async def test_what_is_not_loaded_and_gone_is_not_selected_by_an_undo(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 3)
        page = window.requests
        page.list.select_row(2)
        await until(lambda: page.detail.capture is not None)
        for _ in range(3):
            await asyncio.gather(*(desk.capture(endpoint) for _ in range(250)))
            await until(lambda: not page.feed.pager.jumping and not page.feed._waiting)
        await until(lambda: captures[0].id in page.feed.model.kept)
        await delete_selected(window)
        await expire(desk, captures[0])
        await undo(window)
        await until(lambda: window.pending.newest is None)
        await until(lambda: not page.list.selected_count())
        await settle(20)
        assert page.list.selected_count() == 0
        assert captures[0].id not in page.feed.model.kept


async def test_after_its_time_it_is_deleted(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 3)
        await delete_row(window, 1)
        waiting = window.pending.newest
        assert waiting is not None
        waiting.remaining_ms = 50
        await until(lambda: stored(desk, endpoint) == 2)
        await until(lambda: not window.undo_bar.isVisible())
        await until(lambda: not window.pending.waiting)
        assert (len(rows(window)), in_window(window, endpoint)) == (2, 2)
        await undo(window)
        await until(lambda: len(rows(window)) == 2)


async def test_each_delete_keeps_its_own_time_and_the_newest_is_undone_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deleting, "time", SimpleNamespace(monotonic=lambda: 0.0))  # none passes

    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 4)
        before = rows(window)
        await delete_row(window, 0)
        first = window.pending.newest
        assert first is not None
        first.remaining_ms = 4_000
        await delete_row(window, 0)
        assert window.undo_bar.left.text() == "10 s"
        await undo(window)
        await until(lambda: rows(window) == before[1:])
        assert window.undo_bar.left.text() == "4 s"
        await undo(window)
        await until(lambda: rows(window) == before)
        assert stored(desk, endpoint) == 4


async def test_the_time_of_a_delete_begins_once_it_is_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another delete's time passes meanwhile."""
    clock = [0.0]
    monkeypatch.setattr(deleting, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    go, begun = asyncio.Event(), asyncio.Event()

    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 3)
        pending, trash = window.pending, desk.store.trash
        await delete_row(window, 0)
        delete = trash.delete

        async def held(ids: Any) -> Any:
            begun.set()
            await go.wait()
            return await delete(ids)

        monkeypatch.setattr(trash, "delete", held)
        desk.tasks.start(pending.delete([rows(window)[0]]), "delete")
        await begun.wait()
        first, second = pending.waiting
        assert second.remaining_ms is None
        for clock[0] in (1.0, 2.0):
            pending._timer.timeout.emit()
        assert (first.remaining_ms, second.remaining_ms) == (deleting.DELAY_MS - 2_000, None)
        go.set()
        await until(lambda: second.remaining_ms == deleting.DELAY_MS)
        assert stored(desk, endpoint) == 3


async def test_a_delete_that_is_prepared_only_after_the_end_is_left_to_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, begun = asyncio.Event(), asyncio.Event()

    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 3)
        pending, trash = window.pending, desk.store.trash
        delete = trash.delete

        async def held(ids: Any) -> Any:
            begun.set()
            await go.wait()
            return await delete(ids)

        monkeypatch.setattr(trash, "delete", held)
        deletion = desk.tasks.start(pending.delete([rows(window)[0]]), "delete")
        await begun.wait()
        await pending.close()
        go.set()
        await deletion
        assert [one.remaining_ms for one in pending.waiting] == [deleting.DELAY_MS]
        assert not pending._timer.isActive()


async def test_no_time_passes_while_the_pointer_or_the_keyboard_is_in_the_bar(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 2)
        bar = await delete_row(window, 0)
        waiting = window.pending.newest
        assert waiting is not None
        for arrive, leave in (
            (lambda: QApplication.sendEvent(bar, QEvent(QEvent.Type.Enter)), QEvent.Type.Leave),
            (bar.button.setFocus, None),
        ):
            arrive()
            window.pending._tick()
            left = waiting.remaining_ms
            await asyncio.sleep(0.03)
            window.pending._tick()
            assert waiting.remaining_ms == left
            if leave:
                QApplication.sendEvent(bar, QEvent(leave))
            else:
                window.requests.list.setFocus()
            await asyncio.sleep(0.03)
            window.pending._tick()
            assert waiting.remaining_ms < left


async def test_time_passes_in_a_window_that_is_hidden_below_the_pointer(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 3)
        bar = await delete_row(window, 0)
        QApplication.sendEvent(bar, QEnterEvent(QPointF(5, 5), QPointF(5, 5), QPointF(5, 5)))
        window.pending.newest.remaining_ms = 300
        await asyncio.sleep(0.5)
        assert stored(desk, endpoint) == 3
        window.hide()
        await until(lambda: stored(desk, endpoint) == 2)
        window.show()


async def test_the_bar_is_reached_by_keyboard_and_says_what_it_does(tmp_path: Path, announced: list[str]) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 2)
        bar = await delete_row(window, 0)
        window.pending._tick()
        assert announced == ["Request deleted. Press Ctrl+Z to undo."], "once"
        window.requests.list.setFocus()
        assert bar.button.focusPolicy() & Qt.FocusPolicy.TabFocus
        assert (bar.button.accessibleName(), bar.button.accessibleDescription()) == ("Undo", "Request deleted.")
        bar.button.setFocus()
        QTest.keyClick(bar.button, Qt.Key.Key_Space)
        await until(lambda: len(rows(window)) == 2)
        await until(window.requests.list.hasFocus)  # back to where it came from


async def test_the_focus_goes_back_although_another_window_was_in_front_meanwhile(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 2)
        bar = await delete_row(window, 0)
        window.requests.list.setFocus()
        bar.button.setFocus()
        other = QLineEdit()
        other.show()
        await activate(other)
        other.close()
        await activate(window)
        await until(bar.button.hasFocus)
        QTest.keyClick(bar.button, Qt.Key.Key_Space)
        await until(window.requests.list.hasFocus)


async def test_while_typing_the_keys_undo_what_is_typed(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 2)
        await delete_row(window, 0)
        line = window.requests.filter.bar.line
        line.setFocus()
        QTest.keyClicks(line, "x")
        QTest.keyClick(line, Qt.Key.Key_Z, CTRL)
        await settle()
        assert line.text() == ""
        assert window.pending.newest is not None


async def test_all_of_an_endpoint_but_what_comes_later_and_what_is_marked(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=2) as (desk, window):
        endpoint, captures = await fill(desk, window, 9)
        other = await desk.capture(desk.store.endpoints.all()[1])
        await desk.store.captures.star([captures[1].id, captures[2].id])
        await desk.store.captures.set_note(captures[2].id, "look again")
        await settle()
        before, held = rows(window), [captures[2].id, captures[1].id]
        asked = await asked_to_clear(window)
        assert asked.windowTitle() == asked.title.text() == "Delete 7 of 9 requests?"
        assert asked.text.text().startswith(f"This deletes 7 requests in “{endpoint.name}”")
        assert "2 of 9 requests are starred and 1 has a note." in asked.text.text()
        assert (asked.option.isChecked(), asked.confirm.text()) == (True, "Delete 7 requests")
        QTest.mouseClick(asked.confirm, LEFT)
        await until(window.undo_bar.isVisible)
        assert window.undo_bar.text.text() == "7 requests deleted. 2 kept."
        await until(lambda: rows(window) == held)
        late = await desk.capture(endpoint)
        await until(lambda: rows(window) == [late.id, *held])
        assert in_window(window, endpoint) == 3
        window.show_page(ALL_REQUESTS)
        await until(lambda: rows(window) == [late.id, other.id, *held])
        window.show_endpoint(endpoint.id)
        await until(lambda: rows(window) == [late.id, *held])
        await activate(window)
        await undo(window)
        await until(lambda: rows(window) == [late.id, *before])
        window.requests.endpoint_commands.clear.trigger()
        await agree(window)
        await until(lambda: window.pending.newest)
        window.pending.newest.remaining_ms = 0
        last = await desk.capture(endpoint)
        await until(lambda: not window.pending.waiting)
        assert [one.id for one in await desk.store.captures.page(endpoint.id)] == [last.id, *held]
        await until(lambda: rows(window) == [last.id, *held])


async def test_without_keeping_all_go(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 4)
        await desk.store.captures.star([captures[0].id])
        asked = await asked_to_clear(window)
        asked.option.setChecked(False)
        assert (asked.title.text(), asked.confirm.text()) == ("Delete all 4 requests?", "Delete 4 requests")
        await agree(window)
        await until(window.undo_bar.isVisible)
        assert window.undo_bar.text.text() == "4 requests deleted."
        assert rows(window) == []
        await window.pending.close()
        assert stored(desk, endpoint) == 0


async def test_of_many_selected_the_marked_can_be_kept(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 5)
        await desk.store.captures.star([captures[3].id])
        window.requests.list.selectAll()
        await until(window.requests.commands.selected.delete.isEnabled)
        QTest.keyClick(window.requests.list, Qt.Key.Key_Delete)
        await wait_for_widget(Question, window)
        await desk.store.captures.star([captures[1].id])
        asked = await agree(window)
        assert "1 of 5 requests is starred." in asked
        await until(lambda: rows(window) == [captures[3].id, captures[1].id])
        await until(lambda: window.undo_bar.text.text() == "3 requests deleted.")
        assert stored(desk, endpoint) == 5


async def test_where_all_are_marked_nothing_is_left_to_confirm(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        _, captures = await fill(desk, window, 2)
        await desk.store.captures.star([one.id for one in captures])
        asked = await asked_to_clear(window)
        assert (asked.confirm.isEnabled(), asked.confirm.text()) == (False, "Delete 0 requests")
        asked.option.setChecked(False)
        assert asked.confirm.isEnabled()
        asked.reject()
        await settle()
        assert window.pending.newest is None


async def delete_endpoint(window: MainWindow, endpoint: Endpoint) -> str:
    before = window.pending.newest
    window.endpoint_actions.delete(endpoint)
    asked = await agree(window)
    await until(lambda: window.pending.newest not in (None, before))
    return asked


async def test_an_endpoint_is_hidden_everywhere_captures_nothing_and_comes_back(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=2) as (desk, window):
        endpoint, captures = await fill(desk, window, 6)
        before = rows(window)
        window.requests.list.select_row(3)
        other = desk.store.endpoints.all()[1]
        asked = await delete_endpoint(window, endpoint)
        assert "6 requests?" in asked
        window.show_endpoint(endpoint.id)  # as a link or a notification may still ask for
        assert window.pages.currentWidget() is window.dashboard
        assert window.undo_bar.text.text() == f"“{endpoint.name}” deleted with 6 requests."
        assert [one.id for one in window.services.store.endpoints.all()] == [other.id]
        assert window.services.store.endpoints.by_slug(endpoint.slug) is None
        assert window.sidebar._plan.text().startswith("1 of 10")
        assert window.dashboard.rows.row(endpoint.id) is None
        assert not desk.store.endpoints.capturing(endpoint.slug).active, "it goes on capturing"
        window.show_page(ALL_REQUESTS)
        await until(lambda: not window.requests.feed.pager.jumping)
        assert rows(window) == []
        window.show_page(DASHBOARD)
        await undo(window)
        await until(lambda: [one.id for one in window.services.store.endpoints.all()] == [endpoint.id, other.id])
        assert desk.store.endpoints.capturing(endpoint.slug).active
        assert window.sidebar._plan.text().startswith("2 of 10")
        await until(lambda: (row := window.dashboard.rows.row(endpoint.id)) and sum(row.contents.activity) == 6)
        window.show_endpoint(endpoint.id)
        await until(lambda: rows(window) == before)
        assert len(captures) == 6


@pytest.mark.slow
async def test_undone_at_once_the_endpoints_page_is_shown_as_it_was(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 6)
        before = rows(window)
        window.requests.list.select_row(3)
        await delete_endpoint(window, endpoint)
        await undo(window)
        await until(lambda: window.pages.currentWidget() is window.requests)
        await until(lambda: rows(window) == before)
        assert selected(window) == [before[3]]


async def test_undone_later_what_is_shown_by_then_stays(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=2) as (desk, window):
        endpoint, _ = await fill(desk, window, 1)
        other = desk.store.endpoints.all()[1]
        for go_elsewhere in (partial(window.show_page, REFUSED), partial(window.show_endpoint, other.id)):
            window.show_endpoint(endpoint.id)
            await delete_endpoint(window, endpoint)
            go_elsewhere()
            await undo(window)
            await until(lambda: window.services.store.endpoints.by_id(endpoint.id) is not None)
            assert not window.commands.is_shown(None, endpoint.id)
        window.show_endpoint(other.id)
        await delete_endpoint(window, endpoint)
        assert window.commands.is_shown(None, other.id)
        await undo(window)
        await until(lambda: window.services.store.endpoints.by_id(endpoint.id) is not None)
        assert window.commands.is_shown(None, other.id)


async def test_an_endpoint_that_was_off_stays_off(desk: Desk, window: MainWindow) -> None:
    endpoint = await desk.endpoint(active=False)
    await delete_endpoint(window, endpoint)
    await undo(window)
    await until(lambda: window.services.store.endpoints.by_id(endpoint.id) is not None)
    assert not desk.store.endpoints.by_id(endpoint.id).active


async def test_an_eleventh_endpoint_has_room_where_one_waits_to_be_deleted(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=10) as (desk, window):
        doomed = desk.store.endpoints.all()[4]
        await delete_endpoint(window, doomed)
        assert window.services.no_endpoint() is None
        made = await window.services.store.endpoints.create(doomed.draft())
        assert made.slug == doomed.slug
        assert doomed.id not in {one.id for one in desk.store.endpoints.all()}
        assert window.pending.newest is None
        await window.services.store.account.set_plan(Plan.PRO)
        await desk.endpoint()
        await delete_endpoint(window, made)
        await window.services.store.account.set_plan(Plan.FREE)
        assert len(desk.store.endpoints.all()) == 10


async def test_one_that_is_in_nobodys_way_can_be_undone_after_another_was_made(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=10) as (desk, window):
        endpoints, account = window.services.store.endpoints, window.services.store.account
        first, second = desk.store.endpoints.all()[2:4]
        await delete_endpoint(window, first)
        await delete_endpoint(window, second)
        with pytest.raises(InvalidFieldsError):
            await endpoints.create(replace(second.draft(), name=""))
        await endpoints.create(replace(second.draft(), slug="another-one"))
        assert [one.deletion.endpoint for one in window.pending.waiting] == [second], "only one was in the way"
        await account.set_plan(Plan.PRO)
        await account.set_plan(Plan.FREE)
        await undo(window)
        await until(lambda: second.id in {one.id for one in endpoints.all()})


async def test_a_script_finds_no_deleted_endpoint_and_it_is_back_as_it_was(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=2) as (desk, window):
        endpoint, endpoints = desk.store.endpoints.all()[0], desk.store.endpoints
        captures = [await desk.capture(endpoint) for _ in range(2)]
        await delete_endpoint(window, endpoint)
        assert (endpoints.by_slug(endpoint.slug), await desk.store.captures.get(captures[0].id)) == (None, None)
        with pytest.raises(NotFoundError):
            await endpoints.update(endpoint.id, replace(endpoint.draft(), name="changed"))
        await undo(window)
        await until(lambda: endpoints.by_id(endpoint.id) == endpoint)
        assert desk.store.captures.counts(endpoint.id).total == 2
        assert await desk.store.captures.get(captures[0].id) is not None


async def test_what_is_back_is_as_unread_as_it_was(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 6)
        seen, deletes = window.services.store.captures, window.services.deletes
        await deletes.delete([factories.capture().id])  # another node deleted it before
        assert (window.undo_bar.isVisible(), window.pending.waiting) == (False, ())
        await deletes.delete([one.id for one in captures[:2]])
        await seen.mark_all_read(endpoint.id)
        await desk.capture(endpoint)
        assert (seen.counts(endpoint.id).total, seen.counts(endpoint.id).unread) == (5, 1)
        await undo(window)
        assert (seen.counts(endpoint.id).total, seen.counts(endpoint.id).unread) == (7, 3)
        await deletes.clear(endpoint.id)
        await desk.capture(endpoint)
        await seen.mark_all_read(endpoint.id)
        await undo(window)
        assert (seen.counts(endpoint.id).total, seen.counts(endpoint.id).unread) == (8, 3)


async def test_what_was_marked_read_meanwhile_is_still_read_after_an_undo(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 4)
        await desk.store.captures.mark_read([one.id for one in captures], read=False)
        await delete_row(window, 0)
        await desk.store.captures.mark_all_read(endpoint.id)
        await undo(window)
        await until(lambda: len(rows(window)) == 4)
        model = window.requests.feed.model
        stored = {one.id: one.read for one in await desk.store.captures.page(endpoint.id)}
        assert {model.summary(row).id: model.summary(row).read for row in range(4)} == stored
        assert sorted(stored.values()) == [False, True, True, True]


async def test_the_end_of_the_program_deletes_what_waits(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=2) as (desk, window):
        endpoint, _ = await fill(desk, window, 3)
        await delete_row(window, 0)
        await delete_endpoint(window, desk.store.endpoints.all()[1])
        await window.pending.close()
        assert stored(desk, endpoint) == 2
        assert [one.id for one in desk.store.endpoints.all()] == [endpoint.id]


async def test_the_end_of_the_program_deletes_nothing_that_is_being_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 3)
        await delete_row(window, 0)
        undo_in_store, go_on = desk.store.trash.undo, asyncio.Event()

        async def slow(deletion: Deletion) -> None:
            await go_on.wait()
            await undo_in_store(deletion)

        monkeypatch.setattr(desk.store.trash, "undo", slow)
        window.undo_bar.button.click()
        await until(lambda: not window.undo_bar.isVisible())
        await window.pending.close()
        go_on.set()
        await until(lambda: not window.pending.waiting)
        assert stored(desk, endpoint) == 3


async def test_what_the_store_cannot_delete_is_back_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 3)
        before = rows(window)
        await delete_row(window, 0)
        assert rows(window) == before[1:]
        monkeypatch.setattr(
            desk.store.trash, "_purge_requests", AsyncMock(side_effect=StorageUnavailableError("The disk is full."))
        )
        window.pending.newest.remaining_ms = 0
        await until(lambda: rows(window) == before)
        await until(desk.messages.waiting)
        assert not window.undo_bar.isVisible()


async def test_what_the_store_refuses_to_delete_is_shown_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 3)
        before, goes_on = rows(window), asyncio.Event()

        async def refuse(_: object) -> Deletion:
            await goes_on.wait()
            raise StorageUnavailableError("The disk is full.")

        monkeypatch.setattr(desk.store.trash, "delete", refuse)
        window.requests.list.select_row(0)
        await until(window.requests.commands.selected.delete.isEnabled)
        window.requests.commands.selected.delete.trigger()
        await until(lambda: selected(window) == before[1:2])
        assert not window.undo_bar.isVisible()
        goes_on.set()
        await until(desk.messages.waiting)
        await until(lambda: selected(window) == before[:1])
        assert [one.text for one in desk.messages.waiting()] == ["The disk is full."]
        assert (rows(window), in_window(window, endpoint)) == (before, 3)
        monkeypatch.setattr(desk.store._writer, "run", AsyncMock(side_effect=StorageUnavailableError("It is gone.")))
        window.endpoint_actions.delete(endpoint)
        await agree(window)
        await until(lambda: "It is gone." in [one.text for one in desk.messages.waiting()])
        await settle()
        assert window.pages.currentWidget() is window.requests
        assert (rows(window), in_window(window, endpoint)) == (before, 3)
        assert desk.store.endpoints.capturing(endpoint.slug).active
        assert not window.undo_bar.isVisible()
        assert not window.undo_bar.command.isEnabled()


async def test_what_a_role_may_not_delete_any_more_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 3)
        await delete_row(window, 0)
        refused = AsyncMock(side_effect=NotAllowedError("You may only read."))
        for name in ("_purge_requests", "_show_again"):
            monkeypatch.setattr(desk.store.trash, name, refused)
        await let_time_run_out(window)
        assert [one.text for one in desk.messages.waiting()] == ["You may only read."]
        assert not window.undo_bar.isVisible()


@pytest.mark.parametrize("purging", [False, True])
async def test_what_another_node_restores_is_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, purging: bool
) -> None:
    """It took this one for dead, which had no connection for a while."""
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 3)
        before = rows(window)
        await delete_row(window, 0)
        trash = desk.store.trash
        (waiting,) = window.pending.waiting
        if purging:
            monkeypatch.setattr(trash, "_purge_requests", lambda number: trash.undo(waiting.deletion))
            await let_time_run_out(window)
        else:
            await trash.undo(waiting.deletion)
        await until(lambda: rows(window) == before)
        assert not window.undo_bar.isVisible()
        assert window.pending.waiting == ()


async def test_what_is_back_is_counted_also_while_no_history_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, _ = await fill(desk, window, 3)
        row = window.sidebar.list.rows[endpoint.id]
        await window.services.deletes.delete([rows(window)[0]])
        await until(lambda: row.count == 2)
        failing = AsyncMock(side_effect=StorageUnavailableError("The disk is full."))
        monkeypatch.setattr(desk.store.activity, "last_outcomes", failing)
        await undo(window)
        await until(lambda: row.count == 3, 5)
        assert failing.await_count


async def test_what_expires_meanwhile_stays_deleted(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint, captures = await fill(desk, window, 4)
        before = rows(window)
        window.requests.list.selectAll()
        await until(window.requests.commands.selected.delete.isEnabled)
        await delete_selected(window)
        assert (rows(window), in_window(window, endpoint)) == ([], 0)
        await expire(desk, captures[0])
        assert in_window(window, endpoint) == 0
        await undo(window)
        await until(lambda: rows(window) == before[:-1])


async def test_what_expires_stays_deleted_where_the_list_is_being_read_as_it_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        _, captures = await fill(desk, window, 4)
        before = rows(window)
        window.requests.list.selectAll()
        await delete_selected(window)
        await expire(desk, captures[0])
        page, go_on = desk.store.captures.page, asyncio.Event()

        async def slow(*given: Any, **more: Any) -> list[Any]:
            await go_on.wait()
            return await page(*given, **more)

        monkeypatch.setattr(desk.store.captures, "page", slow)
        window.requests.feed.pager.head()
        await undo(window)
        await until(lambda: rows(window) == before)
        go_on.set()
        await until(lambda: rows(window) == before[:-1])


@pytest.mark.slow
async def test_a_request_in_its_own_window_is_back_in_it(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 2)
        model = window.requests.feed.model
        window.requests.windows.open(model.summary(0))
        (own,) = window.requests.windows.open_now.values()
        await until(lambda: own.detail.capture is not None)
        await activate(window)
        await delete_row(window, 0)
        await until(lambda: own.detail.capture is None)
        await undo(window)
        await until(lambda: own.detail.capture is not None)


async def test_what_the_store_refuses_to_undo_or_to_delete_for_good_waits_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        await fill(desk, window, 3)
        before = rows(window)
        await delete_row(window, 0)
        undo_in_store, go_on = desk.store.trash.undo, asyncio.Event()

        async def refuse(deletion: Deletion) -> None:
            await go_on.wait()
            raise StorageUnavailableError("The disk is full.")

        monkeypatch.setattr(desk.store.trash, "undo", refuse)
        window.undo_bar.button.click()
        await until(lambda: not window.undo_bar.isVisible())  # too late to click again
        await settle(6)
        go_on.set()
        await until(desk.messages.waiting)
        await until(window.undo_bar.isVisible)
        assert window.undo_bar.command.isEnabled()
        left = window.pending.newest.remaining_ms
        await until(lambda: window.pending.newest.remaining_ms < left)
        monkeypatch.setattr(desk.store.trash, "undo", undo_in_store)
        with monkeypatch.context() as refused:  # it can be neither deleted nor restored
            unreachable = AsyncMock(side_effect=StorageUnavailableError("The database is not reachable."))
            for name in ("_purge_requests", "_show_again"):
                refused.setattr(desk.store.trash, name, unreachable)
            window.pending.newest.remaining_ms = 0
            await until(lambda: unreachable.await_count == 2)
            await settle()
            await until(window.undo_bar.isVisible)
        assert rows(window) == before[1:]
        window.undo_bar.button.click()
        await until(lambda: rows(window) == before)
        assert not window.undo_bar.isVisible()
