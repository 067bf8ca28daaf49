"""A paused list while capturing continues, and the ways back to the newest request."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.clock import DAY_US, now_us
from app.ui.requests.list import model
from app.ui.requests.list.delegate import ROW
from app.ui.requests.list.pager import PAGE
from tests.support import while_read
from tests.ui.desk import shown as shown_window
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import activate, settle, until


async def test_while_paused_new_requests_are_only_counted(shown: PageDesk) -> None:
    await shown.fill(5)
    await shown.reload()
    ids, page = shown.ids(), shown.page
    await activate(page)
    shown.list.setFocus()
    QTest.keyClick(shown.list, Qt.Key.Key_P)
    assert page.list_footer.button.text() == "Paused · Resume"
    assert page.list_footer.button.accessibleName() == "Paused. Resume list"
    assert page.list_footer.button.toolTip() == "Show new requests again (P)"
    assert page.footer.parentWidget().property("tone") == "warning"
    for _ in range(4):
        await shown.add()
    await until(lambda: shown.feed.new_count == 4)

    def counted() -> str:
        unread = shown.desk.store.captures.counts(shown.endpoint.id).unread
        return f"9 requests · {unread} unread · keeps capturing"

    await until(lambda: page.footer.text() == counted())  # the one opened by itself is read at some time
    assert shown.ids() == ids
    assert page.pill.isVisible()
    assert page.pill.text() == "4 new"
    assert "stays paused" in page.pill.toolTip()
    QTest.mouseClick(page.pill, Qt.MouseButton.LeftButton)
    await until(lambda: shown.model.rowCount() == 9)
    assert not page.pill.isVisible()
    await shown.add()
    await until(lambda: page.pill.text() == "1 new")
    assert page.pill.isVisible()
    assert shown.model.rowCount() == 9
    QTest.mouseClick(page.list_footer.button, Qt.MouseButton.LeftButton)
    await until(lambda: shown.model.rowCount() == 10)
    assert not page.pill.isVisible()
    assert page.list_footer.button.text() == "Pause"
    await shown.add()
    await until(lambda: shown.model.rowCount() == 11)


async def test_scrolling_to_the_top_of_a_paused_list_brings_nothing_in(shown: PageDesk) -> None:
    await shown.fill(100)
    await shown.reload()
    bar, pause = shown.list.verticalScrollBar(), shown.pause
    pause.set(True)
    bar.setValue(40 * ROW)
    await shown.add()
    await until(lambda: shown.feed.new_count == 1)
    place = shown.page.pill.pos()
    bar.setValue(0)
    await settle()
    assert shown.model.rowCount() == 100
    assert shown.page.pill.isVisible()
    assert shown.page.pill.pos() == place
    bar.setValue(40 * ROW)
    pause.set(False)
    await settle()
    # The reader is elsewhere: the pill goes on counting, as for anybody who has scrolled away.
    assert shown.model.rowCount() == 100
    assert shown.page.pill.text() == "1 new"
    bar.setValue(0)
    await until(lambda: shown.model.rowCount() == 101)


async def test_a_filtered_list_is_held_too(shown: PageDesk) -> None:
    await shown.fill(3)
    await shown.reload()
    shown.page.filter.bar.set_text("method:PUT")
    await until(lambda: shown.page.filter.found_nothing)
    shown.pause.set(True)
    await shown.add(method="PUT")
    await until(lambda: shown.feed.new_count == 1)
    assert not shown.model.rowCount()
    shown.pause.set(False)
    await until(lambda: shown.model.rowCount() == 1)


async def test_what_a_filter_finds_again_is_counted_once(shown: PageDesk) -> None:
    made = await shown.fill(4)
    await shown.reload()
    page, star = shown.page, shown.desk.store.captures.star
    page.filter.bar.line.setText("is:starred")
    await until(lambda: page.filter.found_nothing)
    shown.pause.set(True)
    # The oldest last: with each of them all that are newer are found again.
    for number, capture in enumerate(reversed(made), 1):
        await star([capture.id])
        await until(lambda number=number: shown.feed.new_count >= number)
    for starred in (False, True):
        await star([made[0].id], starred)
        await until(lambda: not shown.feed.search._searching_queued and shown.feed.search._oldest_queued is None)
    assert shown.feed.new_count == 4
    shown.pause.set(False)
    await until(lambda: shown.model.rowCount() == 4)
    assert shown.feed.new_count == 0


async def test_what_is_held_and_deleted_is_held_no_more(shown: PageDesk) -> None:
    old = await shown.fill(3)
    await shown.reload()
    shown.pause.set(True)
    held = [await shown.add() for _ in range(4)]
    await until(lambda: shown.feed.new_count == 4)
    await shown.desk.store.captures.delete([held[1].id, old[0].id])
    await until(lambda: shown.feed.new_count == 3)
    assert shown.page.pill.text() == "3 new"
    await shown.desk.store.captures.delete([one.id for one in held])
    await until(lambda: shown.feed.new_count == 0)
    assert not shown.page.pill.isVisible()
    assert shown.ids() == [one.id for one in reversed(old[1:])]


@pytest.mark.parametrize("text", ["", "method:POST"])
async def test_what_is_held_and_expires_is_held_no_more(tmp_path: Path, text: str) -> None:
    async with open_page(tmp_path, retention_days=1) as shown:
        now, day = now_us(), DAY_US
        await shown.add(received_at=now - 9 * day // 10)
        await shown.reload()
        shown.page.filter.bar.set_text(text)
        await until(lambda: shown.model.rowCount() == 1 and not shown.feed.pager.jumping)
        shown.pause.set(True)
        for ago in (8, 7, 1):
            await shown.add(received_at=now - ago * day // 10)
        await until(lambda: shown.feed.new_count == 3)
        shown.desk.store.retention._clock = lambda: now + day // 4
        await shown.desk.store.retention.purge()
        await until(lambda: shown.feed.new_count == 2)


async def test_what_is_held_and_older_than_the_first_row_is_not_taken_for_expired(tmp_path: Path) -> None:
    """It was stored late."""
    async with open_page(tmp_path, retention_days=1) as shown:
        now = now_us()
        await shown.add(received_at=now - 9 * DAY_US // 10)
        await shown.add(received_at=now)
        await shown.reload()
        shown.pause.set(True)
        late = await shown.add(received_at=now - DAY_US // 10)
        await until(lambda: shown.feed.new_count == 1)
        shown.desk.store.retention._clock = lambda: now + DAY_US // 4
        await shown.desk.store.retention.purge()
        await until(lambda: shown.model.rowCount() == 1 and not shown.desk.tasks.running())
        assert shown.feed.new_count == 1
        shown.pause.set(False)
        await until(lambda: late.id in shown.ids())


@pytest.mark.parametrize("twice", [False, True])
async def test_what_is_held_and_older_than_a_page_is_listed_with_the_newest(shown: PageDesk, twice: bool) -> None:
    """It was stored late, and belongs among rows that are not read anew. The newest may be asked for `twice`."""
    sent = await shown.fill(PAGE + 50)
    await shown.reload()
    shown.feed.pager.older()
    await until(lambda: shown.model.at_tail)
    shown.pause.set(True)
    late = await shown.add(received_at=sent[20].received_at)
    await until(lambda: shown.feed.new_count == 1)
    if twice:
        read = while_read(shown.desk.store.captures, "page", asyncio.Event().wait)
    QTest.mouseClick(shown.page.pill, Qt.MouseButton.LeftButton)
    if twice:
        await until(read)
        shown.feed.head()
    await until(lambda: shown.feed.new_count == 0 and not shown.feed.pager.jumping)
    shown.feed.pager.older()
    await until(lambda: shown.model.at_tail)
    assert shown.ids() == sorted((late.id, *(one.id for one in sent)), reverse=True)


async def test_what_is_held_between_the_rows_still_counts_when_the_newest_are_read(shown: PageDesk) -> None:
    sent = await shown.fill(2 * PAGE)
    await shown.reload()
    shown.page.go_to(sent[20])
    await until(lambda: not shown.feed.pager.jumping and not shown.model.at_head)
    shown.pause.set(True)
    late = await shown.add(received_at=sent[40].received_at)
    await until(lambda: shown.feed.new_count == 1)
    while not shown.model.at_head:
        shown.feed.pager.newer()
        await until(lambda: not shown.feed.pager.busy)
    assert shown.feed.new_count == 1
    shown.pause.set(False)
    shown.list.scrollToTop()
    await until(lambda: not (shown.feed.new_count or shown.feed.pager.jumping))
    while not shown.model.at_tail:
        shown.feed.pager.older()
        await until(lambda: not shown.feed.pager.busy)
    assert shown.ids() == sorted((late.id, *(one.id for one in sent)), reverse=True)


async def test_what_was_scrolled_past_is_not_held(shown: PageDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be more than the list keeps in memory."""
    most = 3 * PAGE
    monkeypatch.setattr(model, "MAX_ROWS", most)
    sent = await shown.fill(PAGE + 50)
    await shown.reload()
    shown.page.go_to(sent[20])
    await until(lambda: not shown.feed.pager.jumping and not shown.model.at_head)
    shown.pause.set(True)
    await shown.fill(most + 50)
    await until(lambda: shown.feed.new_count == most + 50)
    while not shown.model.at_head:
        shown.feed.pager.newer()
        await until(lambda: not shown.feed.pager.busy)
        shown.list.scrollToTop()
    assert shown.model.rowCount() == most
    assert shown.feed.new_count == 0


async def test_far_from_the_newest_there_is_a_way_back(shown: PageDesk) -> None:
    await shown.fill(150)
    await shown.reload()
    pill, bar = shown.page.pill, shown.list.verticalScrollBar()
    shown.list.select_row(3)
    assert not pill.isVisible()
    bar.setValue(100 * ROW)
    assert pill.isVisible()
    assert pill.text() == "Newest"
    await shown.add()
    await until(lambda: pill.text() == "1 new")
    QTest.mouseClick(pill, Qt.MouseButton.LeftButton)
    await until(lambda: shown.model.rowCount() == 151)
    assert bar.value() == 0
    await until(lambda: not pill.isVisible())
    # The way back does not choose another request.
    assert [summary.id for summary in shown.list.selected()] == [shown.ids()[4]]


async def test_the_way_to_new_requests_says_whether_the_list_stays_paused(shown: PageDesk) -> None:
    await shown.fill(20)
    await shown.reload()
    pill = shown.page.pill
    shown.list.verticalScrollBar().setValue(5 * ROW)
    await shown.add()
    await until(lambda: pill.text() == "1 new")
    for paused in (True, False):
        shown.pause.set(paused)
        for said in (pill.toolTip(), pill.accessibleName()):
            assert ("The list stays paused." in said) == paused
    assert pill.text() == "1 new"


async def test_home_of_a_paused_list_shows_the_newest_and_chooses_it(shown: PageDesk) -> None:
    await shown.fill(20)
    await shown.reload()
    shown.pause.set(True)
    newest = await shown.add()
    await until(lambda: shown.feed.new_count == 1)
    QTest.keyClick(shown.list, Qt.Key.Key_Home)
    await until(lambda: shown.list.selected() and shown.list.selected()[0].id == newest.id)
    assert shown.feed.new_count == 0
    assert shown.pause.on


async def test_the_windows_switch_and_the_lists_are_the_same(tmp_path: Path) -> None:
    async with shown_window(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        await desk.capture(endpoint)
        window.show_endpoint(endpoint.id)
        window.pause.set(True)
        assert window.requests.list_footer.button.text() == "Paused · Resume"
        window.requests.commands.pause.trigger()
        assert not window.pause.on


async def test_the_bar_of_what_is_selected_tells_of_the_pause(shown: PageDesk) -> None:
    await shown.fill(3)
    await shown.reload()
    footer = shown.page.list_footer
    shown.list.selectAll()
    await until(footer.bar.isVisible)
    assert not footer.resume.isVisible()
    shown.pause.set(True)
    assert footer.resume.isVisible()
    assert footer.resume.accessibleName() == "Paused. Resume"
    QTest.mouseClick(footer.resume, Qt.MouseButton.LeftButton)
    assert not shown.pause.on
    assert not footer.resume.isVisible()
