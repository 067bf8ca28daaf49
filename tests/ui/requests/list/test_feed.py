"""The list stays correct, small and in place while requests are received and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.clock import DAY_US, now_us
from app.core.delivery import Delivery
from app.core.errors import StorageUnavailableError
from app.core.events import DeliveriesQueued, DeliveryChanged
from app.core.model import DeliveryState, PageKey, Summary
from app.core.search.parse import parse
from app.core.target import TargetDraft
from app.ui import tasks as tasks_module
from app.ui.requests.list import feed as feed_module
from app.ui.requests.list import model as model_module
from app.ui.requests.list.delegate import ROW
from app.ui.requests.list.pager import PAGE, TimeRange
from tests.support import while_read
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import Heart, settle, until


def ordered(shown: PageDesk) -> bool:
    return shown.ids() == sorted(shown.ids(), reverse=True)


async def test_live_batches_keep_selection_and_order(shown: PageDesk) -> None:
    first = await shown.add()
    await until(lambda: shown.model.rowCount() == 1)
    assert shown.list.select(first.id)
    for _ in range(5):
        await asyncio.gather(*(shown.add() for _ in range(20)))
    await until(lambda: shown.model.rowCount() == 101)
    assert ordered(shown)
    current = shown.list.current()
    assert current is not None
    assert current.id == first.id
    assert [summary.id for summary in shown.list.selected()] == [first.id]
    assert shown.list.verticalScrollBar().value() == 0
    assert not shown.page.pill.isVisible()


async def test_after_a_failed_read_a_list_shows_new_requests_and_loads_the_older_ones(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    old = [(await shown.add()).id for _ in range(3)]
    await until(lambda: shown.model.rowCount() == 3)
    with monkeypatch.context() as broken:
        broken.setattr(shown.desk.store.captures, "page", unreadable)
        shown.page.show_endpoint(None)
        await until(shown.desk.messages.waiting)
    assert shown.ids() == []
    with monkeypatch.context() as broken:
        broken.setattr(shown.desk.store.captures, "page", unreadable)
        shown.feed.narrow(TimeRange(start=now_us() - DAY_US, end=now_us() + DAY_US))
        await until(lambda: shown.feed.pager.failed)
    await settle()
    assert not shown.page.list_area.empty_time_range.isVisible()  # nobody knows whether there are none
    shown.page.show_endpoint(None)
    await until(lambda: shown.ids() == list(reversed(old)))
    fail_once(shown, "search")
    shown.feed.filter_by(parse("method:PUT"))
    await until(lambda: shown.feed.pager.failed)
    assert shown.ids() == []  # none of these is known to match
    shown.feed.filter_by(None)
    await until(lambda: shown.ids() == list(reversed(old)))
    with monkeypatch.context() as broken:
        broken.setattr(shown.desk.store.captures, "page", unreadable)
        shown.feed.head()
        await until(lambda: shown.feed.pager.failed)
    new = (await shown.add()).id
    await until(lambda: shown.ids() == [new])
    shown.feed.pager.older()
    await until(lambda: shown.ids() == [new, *reversed(old)])
    for message in shown.desk.messages.waiting():
        assert message.text == "The stored requests cannot be read."
        shown.desk.messages.withdraw(message.key)


async def unreadable(*_: object, **__: object) -> list[Summary]:
    raise StorageUnavailableError("The stored requests cannot be read.")


@pytest.mark.slow
async def test_bursts_become_few_insertions(shown: PageDesk) -> None:
    inserted: list[int] = []
    shown.model.rowsInserted.connect(lambda parent, first, last: inserted.append(last - first + 1))
    await asyncio.gather(*(shown.add() for _ in range(2_000)))
    await until(lambda: shown.model.rowCount() >= PAGE and not shown.feed.pager.jumping)
    newest = await shown.desk.store.captures.page(shown.endpoint.id, limit=PAGE)
    await until(lambda: shown.ids()[:PAGE] == [summary.id for summary in newest])
    assert len(inserted) < 40
    assert ordered(shown)


async def test_a_reader_who_scrolled_away_is_not_disturbed(shown: PageDesk) -> None:
    await shown.fill(150)
    await shown.reload()
    bar = shown.list.verticalScrollBar()
    bar.setValue(20 * ROW + 7)
    seen = shown.list.indexAt(shown.list.viewport().rect().center()).data(model_module.SUMMARY_ROLE).id
    for _ in range(12):
        await shown.add()
    await until(lambda: shown.feed.new_count == 12)
    assert shown.page.pill.isVisible()
    assert shown.page.pill.text() == "12 new"
    assert bar.value() == 20 * ROW + 7
    now = shown.list.indexAt(shown.list.viewport().rect().center()).data(model_module.SUMMARY_ROLE).id
    assert now == seen
    QTest.mouseClick(shown.page.pill, Qt.MouseButton.LeftButton)
    await until(lambda: shown.model.rowCount() == 162)
    assert bar.value() == 0
    assert not shown.page.pill.isVisible()
    assert ordered(shown)
    await shown.add()
    await until(lambda: shown.model.rowCount() == 163)


@pytest.mark.slow
async def test_going_to_the_top_keeps_the_rows_and_those_in_view_if_the_user_scrolls_on_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    await shown.fill(PAGE + 100)
    await shown.reload()
    shown.feed.pager.older()
    await until(lambda: shown.model.rowCount() == PAGE + 100)
    bar, page, go = shown.list.verticalScrollBar(), shown.desk.store.captures.page, asyncio.Event()
    bar.setValue(20 * ROW)
    for _ in range(3):
        await shown.add()
    await until(lambda: shown.feed.new_count == 3)

    async def late(*args: Any, **options: Any) -> list[Summary]:
        await go.wait()
        return await page(*args, **options)

    monkeypatch.setattr(shown.desk.store.captures, "page", late)
    bar.setValue(0)
    await until(lambda: shown.feed.pager.jumping)
    bar.setValue(10 * ROW + 7)
    seen = shown.list.scroll_place()
    go.set()
    await until(lambda: not shown.feed.pager.jumping)
    await settle()
    assert shown.model.rowCount() == PAGE + 103
    assert shown.list.scroll_place() == seen
    assert ordered(shown)


async def test_scrolling_pages_through_all_and_holds_only_a_stretch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_module, "MAX_ROWS", 1_000)

    async with open_page(tmp_path) as shown:
        captures = await shown.fill(3_000)
        await shown.reload()
        assert shown.model.rowCount() == PAGE
        bar = shown.list.verticalScrollBar()
        seen: set[str] = set()
        for _ in range(40):
            if shown.model.at_tail:
                break
            bar.setValue(bar.maximum())
            await until(lambda: not shown.feed.pager.busy)
            await settle()
            seen.update(shown.ids())
            assert shown.model.rowCount() <= 1_000
            assert ordered(shown)
        assert seen == {capture.id for capture in captures}
        assert not shown.model.at_head
        for _ in range(40):
            if shown.model.at_head:
                break
            bar.setValue(0)
            await until(lambda: not shown.feed.pager.busy)
            await settle()
            assert shown.model.rowCount() <= 1_000
            assert ordered(shown)
        assert shown.model.at_head
        assert shown.ids()[0] == captures[-1].id


@pytest.mark.slow
async def test_a_reader_at_the_top_holds_few_rows_however_many_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "FOLLOWED_ROWS", 250)

    async with open_page(tmp_path) as shown:
        await shown.reload()
        for _ in range(12):
            newest = (await shown.fill(100))[-1].id
            await until(lambda newest=newest: shown.model.row_of(newest) == 0)
            assert shown.model.rowCount() <= 250 + PAGE + 100
            assert ordered(shown)
        assert not shown.model.at_tail


async def test_rows_trimmed_above_do_not_move_what_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "MAX_ROWS", 400)

    async with open_page(tmp_path) as shown:
        await shown.fill(1_000)
        await shown.reload()
        bar = shown.list.verticalScrollBar()
        bar.setValue(bar.maximum())
        await until(lambda: shown.model.rowCount() == 400)
        await settle()
        bar.setValue(380 * ROW)
        seen = shown.list.indexAt(shown.list.viewport().rect().topLeft()).data(model_module.SUMMARY_ROLE).id
        await until(lambda: not shown.model.at_head)
        now = shown.list.indexAt(shown.list.viewport().rect().topLeft()).data(model_module.SUMMARY_ROLE).id
        assert now == seen


async def test_home_and_end_reach_the_newest_and_the_oldest_stored(shown: PageDesk) -> None:
    captures = await shown.fill(900)
    await shown.reload()
    QTest.keyClick(shown.list, Qt.Key.Key_End)
    await until(lambda: shown.model.at_tail)
    assert shown.ids()[-1] == captures[0].id
    assert [one.id for one in shown.list.selected()] == [captures[0].id]
    assert shown.list.viewport().rect().contains(shown.list.visualRect(shown.list.currentIndex()))
    QTest.keyClick(shown.list, Qt.Key.Key_Home)
    await until(lambda: shown.model.at_head)
    assert shown.ids()[0] == captures[-1].id
    assert [one.id for one in shown.list.selected()] == [captures[-1].id]


@pytest.mark.slow
async def test_what_is_removed_marked_forwarded_and_purged_shows(tmp_path: Path) -> None:
    async with open_page(tmp_path, retention_days=1) as shown:
        old = await shown.add(received_at=1_000_000)
        new = [await shown.add() for _ in range(4)]
        await until(lambda: shown.model.rowCount() == 5)
        store = shown.desk.store
        await store.captures.mark_read([new[0].id])
        row = shown.model.row_of(new[0].id)
        assert row is not None
        assert shown.model.summary(row).read
        await store.captures.mark_all_read(shown.endpoint.id)
        assert all(shown.model.summary(row).read for row in range(5))
        await store.captures.delete([new[1].id, new[2].id])
        assert set(shown.ids()) == {old.id, new[0].id, new[3].id}
        await store.retention.purge()
        await until(lambda: set(shown.ids()) == {new[0].id, new[3].id})
        await store.captures.clear(shown.endpoint.id)
        await until(lambda: not shown.model.rowCount() and not shown.feed.pager.jumping)
        assert shown.page.list_area.empty.isVisible()


async def test_where_all_rows_are_purged_those_that_are_left_are_listed(tmp_path: Path) -> None:
    async with open_page(tmp_path, retention_days=1) as shown:
        old = (shown.add(received_at=now_us() - 2 * DAY_US + number) for number in range(2 * PAGE + 50))
        await asyncio.gather(*old)
        left = await shown.fill(20)
        await shown.reload()
        QTest.keyClick(shown.list, Qt.Key.Key_End)
        await until(lambda: shown.model.at_tail and not shown.feed.pager.busy)
        assert left[0].id not in shown.ids()
        await shown.desk.store.retention.purge()
        await until(lambda: shown.ids() == [one.id for one in reversed(left)])


async def test_what_is_marked_or_forwarded_before_its_row_is_inserted_shows(shown: PageDesk) -> None:
    captures = shown.desk.store.captures
    shown.feed._throttle.set_interval(60_000)
    await shown.add()  # shown at once; what comes right behind it waits
    made = [await shown.add() for _ in range(2)]
    assert shown.model.rowCount() == 1
    await captures.star([made[0].id])
    await captures.set_note(made[0].id, "look")
    await captures.mark_read([made[0].id])
    delivery = Delivery(
        id="d", capture_id=made[1].id, endpoint_id=1, url="http://x", state=DeliveryState.FAILED, queued_at=1
    )
    shown.desk.bus.publish(DeliveryChanged(delivery=delivery, state=DeliveryState.FAILED))
    shown.feed._throttle._due()
    assert shown.model.rowCount() == 3
    second, first = shown.model.summary(0), shown.model.summary(1)
    assert (first.starred, first.note, first.read) == (True, "look", True)
    assert (second.starred, second.note, second.read, second.delivery) == (False, None, False, DeliveryState.FAILED)


async def test_requests_whose_deliveries_are_queued_again_show_it(shown: PageDesk) -> None:
    made = [await shown.add(delivery=DeliveryState.FAILED) for _ in range(3)]
    await until(lambda: shown.model.rowCount() == 3)
    states = {made[0].id: DeliveryState.QUEUED, made[2].id: DeliveryState.NOT_SENT}
    shown.desk.bus.publish(DeliveriesQueued(target_ids=(1,), shown=states))
    listed = [shown.model.summary(row).delivery for row in range(3)]
    assert listed == [DeliveryState.NOT_SENT, DeliveryState.FAILED, DeliveryState.QUEUED]


async def test_all_requests_lists_every_endpoint_and_drops_a_deleted_one(shown: PageDesk) -> None:
    other = await shown.desk.endpoint(name="Other")
    mine = await shown.add()
    theirs = await shown.add(endpoint_id=other.id)
    await until(lambda: shown.ids() == [mine.id])
    shown.page.show_endpoint(None)
    await until(lambda: shown.ids() == [theirs.id, mine.id])
    later = await shown.add(endpoint_id=other.id)
    await until(lambda: shown.ids() == [later.id, theirs.id, mine.id])
    await shown.desk.store.endpoints.delete(other.id)
    await until(lambda: shown.ids() == [mine.id])
    assert shown.page.footer.text().startswith("1 request")


@pytest.mark.parametrize("gone", ["cleared", "deleted"])
async def test_a_reader_further_down_is_not_moved_when_another_endpoint_is(gone: str, shown: PageDesk) -> None:
    other = await shown.desk.endpoint()
    await shown.add(endpoint_id=other.id)
    await shown.fill(150)
    shown.page.show_endpoint(None)
    bar, store = shown.list.verticalScrollBar(), shown.desk.store
    await until(lambda: shown.model.rowCount() == 151 and bar.maximum() > 100 * ROW)
    bar.setValue(20 * ROW + 7)

    def seen() -> str:
        return str(shown.list.indexAt(shown.list.viewport().rect().topLeft()).data(model_module.SUMMARY_ROLE).id)

    before = seen()
    await (store.captures.clear(other.id) if gone == "cleared" else store.endpoints.delete(other.id))
    await until(lambda: shown.model.rowCount() == 150 and not shown.desk.tasks.running())
    came = await shown.add()
    await until(lambda: shown.feed.new_count or shown.ids()[0] == came.id)
    assert seen() == before
    assert shown.page.pill.text() == "1 new"


async def test_what_is_left_of_a_page_is_followed_by_the_next(shown: PageDesk) -> None:
    await shown.fill(2 * PAGE)
    await shown.reload()
    await shown.desk.store.captures.delete(shown.ids()[3:])
    await until(lambda: shown.model.rowCount() == PAGE + 3)


async def test_the_window_keeps_turning_under_a_stream(shown: PageDesk) -> None:
    await shown.fill(400)
    await shown.reload()
    async with Heart() as heart:
        for _ in range(40):
            await asyncio.gather(*(shown.add() for _ in range(12)))
            await asyncio.sleep(0.02)
        await until(lambda: shown.model.rowCount() == PAGE + 480)
    assert heart.longest < 0.3


def at_the_middle(shown: PageDesk) -> bool:
    """Whether the cursor's row is seen about half-way down."""
    place = shown.list.visualRect(shown.list.currentIndex()).center().y()
    return abs(place - shown.list.viewport().height() / 2) <= ROW


async def test_a_request_far_down_is_gone_to_and_the_list_goes_on_both_ways(shown: PageDesk) -> None:
    sent = await shown.fill(1_000)
    await shown.reload()
    sought = sent[300]
    shown.page.go_to(sought)
    await until(lambda: shown.list.current() is not None)
    assert [one.id for one in shown.list.selected()] == [sought.id]
    assert at_the_middle(shown)
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == sought.id)
    await until(lambda: shown.list.selected()[0].read)
    assert (shown.model.at_head, shown.feed.following) == (False, False)
    came = await shown.add()
    await until(shown.page.pill.isVisible)
    assert came.id not in shown.ids()
    shown.list.verticalScrollBar().setValue(ROW)
    await until(lambda: len(shown.ids()) > 2 * PAGE)
    QTest.keyClick(shown.list, Qt.Key.Key_End)
    await until(lambda: shown.model.at_tail)
    QTest.keyClick(shown.list, Qt.Key.Key_Home)
    await until(lambda: shown.model.at_head and came.id in shown.ids())
    assert shown.ids()[0] == came.id


@pytest.mark.parametrize("place", [-1, -150, 0])
async def test_a_request_near_an_end_is_gone_to_while_the_page_is_being_read(place: int, shown: PageDesk) -> None:
    sent = await shown.fill(300)
    shown.page.show_endpoint(shown.endpoint.id)
    shown.page.go_to(sent[place])
    await until(lambda: not shown.feed.pager.jumping)
    assert [one.id for one in shown.list.selected()] == [sent[place].id]
    if place == -1:
        came = await shown.add()
        await until(lambda: shown.ids()[0] == came.id)
        assert not shown.page.pill.isVisible()
        assert shown.list.selected()[0].id == sent[place].id
    assert ordered(shown)


async def test_what_arrives_while_the_pages_around_a_request_are_read_is_not_lost(shown: PageDesk) -> None:
    sent = await shown.fill(1_000)
    await shown.reload()
    for sought in (sent[100], sent[-1]):
        shown.page.go_to(sought)
        came = await asyncio.gather(*(shown.add() for _ in range(5)))
        await until(lambda: not shown.feed.pager.jumping)
        await settle()
        if sought is sent[100]:
            assert shown.feed.new_count == 5
            await shown.reload()
        else:
            await until(lambda: set(shown.ids()) >= {one.id for one in came})  # noqa: B023 - awaited here
    shown.feed.tail()
    await until(lambda: not shown.model.at_head)
    late = await shown.add()
    await until(lambda: shown.feed.new_count == 1)
    shown.page.go_to(sent[-1])
    await until(lambda: late.id in shown.ids())
    assert shown.feed.new_count == 0  # it is among the rows


async def test_after_a_jump_from_where_a_page_was_being_read_others_are_loaded(shown: PageDesk) -> None:
    sent = await shown.fill(3 * PAGE)
    await shown.reload()

    async def jump() -> None:
        shown.feed.tail()
        await settle()

    jumped = while_read(shown.desk.store.captures, "page", jump)
    shown.feed.pager.older()
    await until(lambda: jumped() and not shown.feed.pager.jumping)
    assert shown.ids()[-1] == sent[0].id
    shown.feed.pager.newer()
    await until(lambda: shown.model.rowCount() == 2 * PAGE)


async def test_what_arrives_while_the_newest_page_is_read_is_counted(shown: PageDesk) -> None:
    sent = await shown.fill(PAGE + 50)
    await shown.reload()
    shown.feed.tail()
    await until(lambda: not shown.model.at_head)
    newest = shown.model.newest_key()
    read = while_read(shown.desk.store.captures, "page", shown.add, after=newest)
    shown.feed.pager.newer()
    await until(lambda: read() and shown.ids()[0] == sent[-1].id)
    assert shown.page.pill.text() == "1 new"


async def test_another_endpoint_shown_meanwhile_is_not_disturbed(shown: PageDesk) -> None:
    sent = await shown.fill(500)
    shown.page.go_to(sent[0])
    shown.page.show_endpoint(None)
    await until(lambda: not shown.feed.pager.jumping and shown.ids())
    await settle()
    assert shown.list.current() is None
    assert shown.model.at_head


async def test_a_search_for_a_tag_follows_the_tags_of_its_endpoint(shown: PageDesk) -> None:
    requests = [(await shown.add()).id for _ in range(2)]
    (endpoint,), store = shown.desk.store.endpoints.all(), shown.desk.store
    shown.page.show_endpoint(None)
    shown.feed.filter_by(parse("tag:shop"))
    await until(lambda: not shown.ids())
    draft = endpoint.draft()
    tagged = msgspec.structs.replace(draft, tags=("Shop",))
    await store.endpoints.update(endpoint.id, tagged)
    await until(lambda: shown.ids() == requests[::-1])
    shown.list.selectAll()
    await store.endpoints.update(endpoint.id, msgspec.structs.replace(tagged, name="Another"))
    await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/one"))
    await settle()
    assert shown.list.selected_count() == 2
    await store.endpoints.update(endpoint.id, draft)
    await until(lambda: not shown.ids())


async def test_what_comes_in_while_a_list_is_read_again_after_it_failed_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    monkeypatch.setattr(tasks_module, "AGAIN_S", 0.01)
    first = await shown.add()
    await until(lambda: shown.ids() == [first.id])
    key = PageKey(received_at=first.received_at, id=first.id)
    came: list[str] = []
    refreshed: list[bool] = []
    shown.feed.counts_changed.connect(lambda: refreshed.append(True))

    async def another_comes() -> None:
        refreshed.clear()
        came.append((await shown.add()).id)
        await until(lambda: refreshed)

    happened = while_read(shown.desk.store.captures, "page", another_comes, after=key)
    fail_once(shown, "page")
    shown.feed.around(key)
    await until(lambda: happened() and shown.ids() == [*came, first.id])


async def test_a_search_that_failed_is_begun_again(monkeypatch: pytest.MonkeyPatch, shown: PageDesk) -> None:
    monkeypatch.setattr(tasks_module, "AGAIN_S", 0.01)
    for _ in range(2):
        await shown.add()
    await until(lambda: shown.model.rowCount() == 2)
    shown.list.select_row(1)
    await until(lambda: shown.page.detail.summary is not None)
    fail_once(shown, "search", lambda **given: given["unexamined"](3))
    shown.feed.filter_by(parse("method:POST"))
    await until(lambda: shown.model.rowCount() == 2 and not shown.desk.tasks.running())
    assert shown.feed.search.unexamined == 0
    assert [one.id for one in shown.list.selected()] == shown.ids()[1:]


async def test_a_search_that_failed_further_down_goes_on_below_what_it_found(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    monkeypatch.setattr(tasks_module, "AGAIN_S", 0.01)
    sent = await shown.fill(PAGE + 40)
    await shown.reload()
    shown.feed.filter_by(parse("method:POST"))
    await until(lambda: shown.model.rowCount() == PAGE and not shown.desk.tasks.running())
    captures = shown.desk.store.captures
    search, busy = captures.search, []

    async def breaks_off(*given: Any, **options: Any) -> AsyncGenerator[list[Summary], None]:
        async for rows in search(*given, **options):
            yield rows[:10]
            break
        monkeypatch.setattr(captures, "search", goes_on)
        raise StorageUnavailableError("The stored requests cannot be read.")

    async def goes_on(*given: Any, **options: Any) -> AsyncGenerator[list[Summary], None]:
        busy.append(shown.feed.search.busy)
        async for rows in search(*given, **options):
            yield rows

    monkeypatch.setattr(captures, "search", breaks_off)
    shown.feed.search.older()
    await until(lambda: busy and not shown.desk.tasks.running())
    assert shown.ids() == [one.id for one in reversed(sent)]
    assert busy == [True]


async def test_a_jump_that_could_not_be_read_at_first_still_selects_its_request(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    monkeypatch.setattr(tasks_module, "AGAIN_S", 0.01)
    sent = await shown.fill(PAGE + 20)
    await shown.reload()
    shown.list.select_row(0)
    await until(lambda: shown.page.detail.summary is not None)
    fail_once(shown, "page")
    shown.page.go_to(sent[0])
    await until(lambda: shown.model.row_of(sent[0].id) is not None and not shown.desk.tasks.running())
    assert [one.id for one in shown.list.selected()] == [sent[0].id]
    assert shown.detail.capture_id == sent[0].id


@pytest.mark.parametrize("jump", ["End", "Home", "a request", "the newest"])
async def test_what_comes_before_a_failed_jump_is_made_again_does_not_take_its_place(
    jump: str, monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    monkeypatch.setattr(tasks_module, "AGAIN_S", 0.01)
    sent = await shown.fill(PAGE + 20)
    await shown.reload()
    shown.list.verticalScrollBar().setValue(50 * ROW)
    if jump in ("Home", "the newest"):
        QTest.keyClick(shown.list, Qt.Key.Key_End)
        await until(lambda: shown.list.current() == shown.model.summary(shown.model.rowCount() - 1))
    await shown.add()
    await until(lambda: shown.feed.new_count == 1)
    with monkeypatch.context() as broken:
        broken.setattr(shown.desk.store.captures, "page", unreadable)
        if jump == "End":
            QTest.keyClick(shown.list, Qt.Key.Key_End)
        elif jump == "Home":
            shown.list.go_home()
        elif jump == "a request":
            shown.page.go_to(sent[1])
        else:
            shown.list.go_to_newest()
        await until(lambda: shown.feed.pager.failed)
        came = await shown.add()
        await until(lambda: shown.feed.new_count == 2 or shown.ids() == [came.id])
        await asyncio.sleep(0.05)  # failed again
        assert shown.feed.new_count == 2 or shown.ids() == [came.id]
    sought = {"Home": came.id, "a request": sent[1].id}.get(jump, sent[0].id)
    await until(lambda: shown.model.rowCount() >= PAGE and not shown.desk.tasks.running())
    assert [one.id for one in shown.list.selected()] == [shown.detail.capture_id] == [sought]
    assert (came.id if jump == "the newest" else sought) in shown.ids()


async def test_end_before_a_failed_search_is_begun_again_goes_to_the_oldest_found(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    monkeypatch.setattr(tasks_module, "AGAIN_S", 0.5)
    sent = await shown.fill(20)
    await shown.reload()
    fail_once(shown, "search")
    shown.feed.filter_by(parse("method:POST"))
    await until(lambda: shown.feed.pager.failed)
    came = await shown.add()
    await until(lambda: shown.ids() == [came.id])
    QTest.keyClick(shown.list, Qt.Key.Key_End)
    await until(lambda: shown.model.rowCount() == 21 and not shown.desk.tasks.running())
    assert [one.id for one in shown.list.selected()] == [sent[0].id]


async def test_older_rows_read_while_a_failed_jump_is_made_again_are_not_put_below_its_rows(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    monkeypatch.setattr(tasks_module, "AGAIN_S", 0.01)
    sent = await shown.fill(PAGE + 20)
    await shown.reload()
    with monkeypatch.context() as broken:
        broken.setattr(shown.desk.store.captures, "page", unreadable)
        shown.page.go_to(sent[0])
        await until(lambda: shown.feed.pager.failed)
        came = await shown.add()
        await until(lambda: shown.ids() == [came.id])

    async def jumped() -> None:
        await until(lambda: not shown.feed.pager.jumping)

    while_read(shown.desk.store.captures, "page", jumped, before=shown.model.oldest_key())
    shown.feed.pager.older()
    await until(lambda: not shown.desk.tasks.running())
    assert shown.ids()[-1] == sent[0].id
    assert ordered(shown)


async def test_a_jump_is_not_made_in_another_list(shown: PageDesk) -> None:
    await shown.fill(PAGE + 20)
    await shown.reload()
    QTest.keyClick(shown.list, Qt.Key.Key_End)
    shown.page.show_endpoint(None)
    await until(lambda: not shown.desk.tasks.running())
    assert shown.list.current() is None
    assert shown.detail.capture_id is None


async def test_home_before_the_oldest_are_read_goes_to_the_newest(shown: PageDesk) -> None:
    sent = await shown.fill(PAGE + 20)
    await shown.reload()
    QTest.keyClick(shown.list, Qt.Key.Key_End)
    shown.list.go_home()
    await until(lambda: not shown.desk.tasks.running())
    assert shown.ids()[0] == sent[-1].id == shown.detail.capture_id


async def test_end_goes_to_the_oldest_though_all_that_are_listed_are_deleted_meanwhile(shown: PageDesk) -> None:
    sent = await shown.fill(3 * PAGE)
    await shown.reload()
    captures = shown.desk.store.captures
    listed = shown.ids()
    while_read(captures, "page", lambda: captures.delete(listed))
    QTest.keyClick(shown.list, Qt.Key.Key_End)
    await until(lambda: not shown.desk.tasks.running())
    assert shown.ids()[-1] == sent[0].id == shown.detail.capture_id
    assert [one.id for one in shown.list.selected()] == [sent[0].id]


async def test_end_goes_to_the_oldest_though_all_that_were_listed_are_found_deleted(shown: PageDesk) -> None:
    sent = await shown.fill(3 * PAGE)
    await shown.reload()
    captures = shown.desk.store.captures
    shown.list.verticalScrollBar().setValue(50 * ROW)
    await until(lambda: not shown.desk.tasks.running())
    shown.feed.stop()  # another program deletes them, which nothing tells
    await captures.delete(shown.ids())

    async def press_end() -> None:
        QTest.keyClick(shown.list, Qt.Key.Key_End)

    while_read(captures, "stored", press_end)
    shown.feed.check()
    await until(lambda: not shown.desk.tasks.running())
    assert shown.ids()[-1] == sent[0].id == shown.detail.capture_id


def fail_once(shown: PageDesk, name: str, before: Callable[..., object] = lambda **_: None) -> None:
    """The next such read of stored requests fails."""
    captures = shown.desk.store.captures
    read = getattr(captures, name)

    def fail(*_: object, **given: object) -> None:
        setattr(captures, name, read)
        before(**given)
        raise StorageUnavailableError("The stored requests cannot be read.")

    setattr(captures, name, fail)


@pytest.mark.parametrize("filter_text", ["", "method:POST"])
async def test_no_row_is_missing_where_older_ones_are_read_while_new_ones_come(
    monkeypatch: pytest.MonkeyPatch, filter_text: str, shown: PageDesk
) -> None:
    monkeypatch.setattr(feed_module, "FOLLOWED_ROWS", PAGE // 2)
    sent = await shown.fill(3 * PAGE)
    shown.feed.show(shown.endpoint.id, parse(filter_text) if filter_text else None)
    await until(lambda: shown.model.rowCount() == PAGE and not shown.feed.pager.busy)
    shown.feed.pager.older()
    await until(lambda: shown.model.rowCount() == 2 * PAGE and not shown.feed.pager.busy)
    came: list[str] = []

    async def another_comes() -> None:
        await shown.desk.store.captures.star([sent[0].id])
        came.append((await shown.add()).id)
        await until(lambda: shown.ids()[0] == came[0])

    happened = (
        found_before(shown, another_comes)
        if filter_text
        else while_read(shown.desk.store.captures, "page", another_comes)
    )
    shown.feed.pager.older()
    await until(lambda: happened() and came and not shown.feed.pager.busy)
    stored = [*came, *(one.id for one in reversed(sent))]
    assert shown.ids() == stored
    assert shown.model.summary(len(stored) - 1).starred


@pytest.mark.parametrize("filter_text", ["", "method:POST"])
@pytest.mark.parametrize("what", ["deleted", "expired", "marked"])
async def test_what_happens_while_the_list_is_read_is_seen(tmp_path: Path, what: str, filter_text: str) -> None:
    async with open_page(tmp_path, retention_days=1) as shown:
        old = await shown.add(received_at=1_000_000)
        new = [await shown.add() for _ in range(2)]
        store, listed = shown.desk.store, [new[1].id, new[0].id, old.id]

        async def happens() -> None:
            if what == "deleted":
                await store.captures.delete([new[0].id])
            elif what == "expired":
                await store.retention.purge()
            else:
                await store.captures.mark_all_read(shown.endpoint.id)

        happened = found_before(shown, happens) if filter_text else while_read(store.captures, "page", happens)
        shown.feed.show(shown.endpoint.id, parse(filter_text) if filter_text else None)
        gone = {"deleted": new[0].id, "expired": old.id}.get(what)
        await until(lambda: happened() and shown.ids() == [name for name in listed if name != gone])
        await until(lambda: what != "marked" or all(shown.model.summary(row).read for row in range(3)))


def found_before(shown: PageDesk, happens: Callable[[], Awaitable[object]]) -> Callable[[], object]:
    """What the next search finds is from before this happens; returns what is true from then on."""
    captures, done = shown.desk.store.captures, asyncio.Event()
    search = captures.search

    async def late(*given: Any, **named: Any) -> AsyncIterator[list[Summary]]:
        batches = [batch async for batch in search(*given, **named)]
        if not done.is_set():
            done.set()
            await happens()
        for batch in batches:
            yield batch

    captures.search = late
    return done.is_set


async def test_what_is_stored_late_stays_although_retention_has_just_deleted_others(tmp_path: Path) -> None:
    async with open_page(tmp_path, retention_days=1) as shown:
        old = await shown.add(received_at=1_000_000)
        first, last = [await shown.add(received_at=now_us() - seconds * 1_000_000) for seconds in (3, 1)]
        await until(lambda: shown.model.rowCount() == 3)
        late: list[str] = []

        async def stored_late() -> None:
            late.append((await shown.add(received_at=now_us() - 2_000_000)).id)
            await until(lambda: shown.model.row_of(late[0]) == 1)

        happened = while_read(shown.desk.store.captures, "stored", stored_late)
        await shown.desk.store.retention.purge()
        await until(lambda: happened() and old.id not in shown.ids())
        assert shown.ids() == [last.id, *late, first.id]


async def test_what_is_stored_late_below_the_loaded_rows_is_listed_when_they_are_loaded(shown: PageDesk) -> None:
    sent = await shown.fill(PAGE + 50)
    await shown.reload()
    late = await shown.add(received_at=sent[0].received_at - 1_000_000)
    await until(lambda: shown.page.footer.text().startswith("251 requests"))
    await settle()
    shown.feed.pager.older()
    await until(lambda: shown.model.at_tail)
    assert shown.ids() == [*(one.id for one in reversed(sent)), late.id]


@pytest.mark.parametrize("direction", ["older", "newer"])
async def test_what_is_stored_late_while_its_page_is_read_is_listed(shown: PageDesk, direction: str) -> None:
    sent, pager = await shown.fill(3 * PAGE), shown.feed.pager
    await shown.reload()
    if direction == "newer":
        shown.feed.tail()
        await until(lambda: shown.ids()[-1:] == [sent[0].id] and not pager.jumping)
    listed = {*shown.ids(), *(one.id for one in sent[PAGE : 2 * PAGE])}

    async def stored_late() -> None:
        listed.add((await shown.add(received_at=sent[PAGE + 50].received_at)).id)
        await until(lambda: shown.page.footer.text().startswith("601 requests"))

    happened = while_read(shown.desk.store.captures, "page", stored_late)
    getattr(pager, direction)()
    await until(lambda: happened() and not pager.busy and shown.model.rowCount() > PAGE)
    assert shown.ids() == sorted(listed, reverse=True)


async def test_what_is_stored_late_while_the_oldest_are_read_is_listed(shown: PageDesk) -> None:
    sent, late = await shown.fill(2 * PAGE), list[str]()
    await shown.reload()

    async def stored_late() -> None:
        late.append((await shown.add(received_at=sent[50].received_at)).id)
        await until(lambda: shown.page.footer.text().startswith("401 requests"))

    happened = while_read(shown.desk.store.captures, "page", stored_late)
    shown.feed.tail()
    await until(lambda: happened() and not shown.feed.pager.jumping)
    assert shown.ids() == sorted([*late, *(one.id for one in sent[:PAGE])], reverse=True)


async def test_what_arrives_while_all_are_marked_read_stays_unread(shown: PageDesk) -> None:
    captures = shown.desk.store.captures
    await shown.fill(2)
    await shown.reload()
    _, came = await asyncio.gather(captures.mark_all_read(shown.endpoint.id), shown.add())
    await until(lambda: shown.ids()[0] == came.id)
    assert [shown.model.summary(row).read for row in range(3)] == [False, True, True]
    assert captures.counts(shown.endpoint.id).unread == 1


async def test_what_another_node_restores_is_back(shown: PageDesk) -> None:
    trash, added = shown.desk.store.trash, [await shown.add() for _ in range(4)]
    shown.page.open_request(added[1].id)
    opened = added[1].id  # the first that came was opened by itself
    await until(lambda: shown.model.rowCount() == 4)
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == opened)
    listed = shown.ids()
    deletion = await trash.delete([one.id for one in added[:3]])
    await until(lambda: shown.ids() == listed[:1] and shown.detail.deleted)
    await trash.undo(deletion)
    await until(lambda: shown.ids() == listed and not shown.detail.deleted)
