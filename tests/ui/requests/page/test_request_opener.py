"""Each page remembers which request was open in it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.search.query import Query
from app.ui.requests.list.delegate import ROW
from app.ui.requests.list.pager import PAGE, TimeRange
from tests.ui.requests.page_desk import PageDesk, filled
from tests.ui.waiting import settle, until


async def open_row(shown: PageDesk, row: int) -> str:
    """Open the request of a row, and wait until it is read; its id."""
    capture_id = shown.ids()[row]
    shown.list.select_row(row)
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == capture_id)
    await until(lambda: shown.model.summary(row).read)
    return capture_id


async def go_to_page(shown: PageDesk, endpoint_id: int | None) -> None:
    shown.page.show_endpoint(endpoint_id)
    await until(lambda: not shown.feed.pager.jumping)
    await settle()


async def test_it_is_shown_and_selected_again_on_the_way_back(shown: PageDesk) -> None:
    other = await shown.desk.endpoint()
    for _ in range(3):
        await shown.add(endpoint_id=other.id)
    await filled(shown, 3)
    mine = await open_row(shown, 1)
    QTest.keyClick(shown.list, Qt.Key.Key_U)
    await until(lambda: not shown.model.summary(1).read)
    await go_to_page(shown, other.id)
    assert shown.detail.capture_id is None
    theirs = await open_row(shown, 2)
    await go_to_page(shown, None)
    assert shown.detail.capture_id is None
    for endpoint_id, was_open in ((shown.endpoint.id, mine), (other.id, theirs)):
        await go_to_page(shown, endpoint_id)
        await until(lambda: shown.detail.capture is not None)
        assert shown.detail.capture_id == was_open
        assert [one.id for one in shown.list.selected()] == [was_open]
    assert shown.desk.store.captures.counts(shown.endpoint.id).unread == 3
    shown.page.show_endpoint(shown.endpoint.id)
    shown.page.open_request(mine)
    await until(lambda: shown.desk.store.captures.counts(shown.endpoint.id).unread == 2)


async def test_one_that_was_deleted_meanwhile_is_not_missed(shown: PageDesk) -> None:
    other = await shown.desk.endpoint()
    await shown.desk.capture(other)
    await filled(shown, 3)
    mine = await open_row(shown, 1)
    await go_to_page(shown, other.id)
    nothing_open = shown.detail.placeholder.grab().toImage()
    await shown.desk.store.captures.delete([mine])
    await go_to_page(shown, shown.endpoint.id)
    await until(lambda: shown.detail.capture_id is None)
    assert shown.detail.placeholder.isVisible()
    assert shown.detail.placeholder.grab().toImage() == nothing_open
    assert not shown.list.selected()


async def test_one_far_down_is_selected_though_it_is_not_loaded(shown: PageDesk) -> None:
    captures = await shown.fill(PAGE + 20)
    await shown.reload()
    shown.page.go_to(captures[0])
    await until(lambda: shown.detail.capture is not None)
    shown.list.go_to_newest()
    await until(lambda: shown.model.at_head and not shown.list.verticalScrollBar().value())
    await go_to_page(shown, None)
    await go_to_page(shown, shown.endpoint.id)
    await until(lambda: [one.id for one in shown.list.selected()] == [captures[0].id])
    assert shown.detail.capture_id == captures[0].id
    assert shown.model.row_of(captures[0].id) is None


async def test_each_list_is_where_it_was_on_the_way_back(shown: PageDesk) -> None:
    """Further down than what a list reads first, and although requests came in meanwhile."""
    await filled(shown, 2 * PAGE)
    bar = shown.list.verticalScrollBar()
    bar.setValue(bar.maximum())
    row = PAGE + 20
    await until(lambda: bar.maximum() > (row + 1) * ROW)
    bar.setValue(row * ROW + 7)
    top = shown.model.summary(row).id
    await go_to_page(shown, None)
    assert bar.value() == 0
    await shown.add()
    await go_to_page(shown, shown.endpoint.id)
    await until(lambda: bar.value() % ROW == 7)
    assert shown.model.summary(bar.value() // ROW).id == top
    assert shown.detail.capture_id is None


async def test_a_time_range_belongs_to_its_list_as_a_filter_does(shown: PageDesk) -> None:
    ids = await filled(shown, 3)
    await open_row(shown, 2)
    activity, bar = shown.page.activity, shown.page.filter.bar
    middle = shown.model.summary(1).received_at
    activity._select_range(TimeRange(start=middle, end=middle + 1))
    await until(lambda: shown.ids() == [ids[1]])
    await go_to_page(shown, None)
    assert activity.times is None
    assert activity.chip.isHidden()
    assert len(shown.ids()) == 3
    bar.set_text("method:POST")
    await go_to_page(shown, shown.endpoint.id)
    assert activity.times == TimeRange(start=middle, end=middle + 1)
    assert activity.chip.isVisible()
    assert shown.ids() == [ids[1]]
    assert shown.detail.capture_id == ids[2]
    assert not shown.list.selected(), "what the time range leaves out is not selected"
    await go_to_page(shown, None)
    assert isinstance(shown.feed.query, Query)
    assert activity.times is None
