"""A list filtered by a mark adds requests that are marked later, wherever that happens, and does not move."""

from __future__ import annotations

from functools import partial

import pytest

from app.core.events import RequestsUpdated
from app.core.search.parse import parse
from app.db.captures import mark_ids
from app.ui.requests.list.delegate import ROW
from app.ui.requests.list.pager import adds_matches
from tests.ui.requests.page_desk import PageDesk
from tests.ui.stock_qasync import not_on_stock_qasync
from tests.ui.waiting import settle, until


async def mark(shown: PageDesk, text: str, ids: list[str]) -> None:
    """As the API does it, or the command line through it."""
    captures = shown.desk.store.captures
    if "read" in text:
        await captures.mark_read(ids, read=True)
    elif "starred" in text:
        await captures.star(ids)
    else:
        for name in ids:
            await captures.set_note(name, "Look at this.")


@pytest.mark.parametrize("text", ["is:read", "-is:unread", "method:PUT OR is:starred", "is:noted"])
async def test_what_is_marked_comes_in_at_its_place_and_nothing_moves(text: str, shown: PageDesk) -> None:
    ids = [capture.id for capture in await shown.fill(90)]
    await mark(shown, text, ids[::2])
    await shown.reload()
    shown.page.filter.bar.set_text(text)
    await until(lambda: shown.model.rowCount() == 45 and not shown.feed.search.busy)
    shown.list.select_row(22)
    chosen, bar = shown.model.summary(22).id, shown.list.verticalScrollBar()
    bar.setValue(15 * ROW)
    await settle()
    first = shown.list.indexAt(shown.list.viewport().rect().topLeft()).row()
    is_showing = shown.model.summary(first).id
    await mark(shown, text, [ids[3], ids[87]])
    await until(lambda: {ids[3], ids[87]} <= set(shown.ids()))
    assert shown.ids() == sorted(shown.ids(), reverse=True)
    assert shown.feed.new_count == 0
    assert [one.id for one in shown.list.selected()] == [chosen]
    await settle()
    first = shown.list.indexAt(shown.list.viewport().rect().topLeft()).row()
    assert shown.model.summary(first).id == is_showing


@not_on_stock_qasync("keeps the search waiting while the test looks every 5 ms; every 200 ms it ends")
async def test_all_of_an_endpoint_marked_read_come_in(shown: PageDesk) -> None:
    await shown.fill(30)
    await shown.reload()
    shown.page.filter.bar.set_text("is:read")
    await until(lambda: not shown.feed.search.busy and not shown.model.rowCount())
    await shown.desk.store.captures.mark_all_read(shown.endpoint.id)
    await until(lambda: shown.model.rowCount() == 30)


async def test_what_was_marked_before_marking_all_failed_comes_in(shown: PageDesk) -> None:
    ids = [capture.id for capture in await shown.fill(5)]
    await shown.reload()
    shown.page.filter.bar.set_text("is:read")
    await until(lambda: not shown.feed.search.busy and not shown.model.rowCount())
    await shown.desk.store._writer.run(partial(mark_ids, ids=ids[:2], read=True))  # of which nothing is told
    shown.desk.bus.publish(RequestsUpdated(endpoint_ids=(shown.endpoint.id,), changes={}))
    await until(lambda: sorted(shown.ids()) == sorted(ids[:2]))


async def test_what_is_unread_again_leaves_only_when_the_list_is_read_again(shown: PageDesk) -> None:
    ids = [capture.id for capture in await shown.fill(5)]
    await mark(shown, "is:read", ids)
    await shown.reload()
    shown.page.filter.bar.set_text("is:read")
    await until(lambda: shown.model.rowCount() == 5 and not shown.feed.search.busy)
    await shown.desk.store.captures.mark_read([ids[2]], read=False)
    await until(lambda: not shown.model.summary(2).read)
    assert shown.model.rowCount() == 5
    shown.feed.head()
    await until(lambda: shown.model.rowCount() == 4)


@pytest.mark.parametrize(
    ("text", "mark_name", "given", "found"),
    [
        ("is:read", "read", True, True),
        ("is:read", "read", False, False),
        ("is:unread", "read", True, False),
        ("is:unread", "read", False, True),
        ("-is:unread", "read", True, True),
        ("-(method:PUT is:read)", "read", False, True),
        ("method:PUT OR is:starred", "starred", True, True),
        ("-is:starred", "starred", True, False),
        ("-is:starred", "starred", False, True),
        ("is:noted", "starred", True, False),
        ("is", "read", True, False),
    ],
)
def test_only_what_may_bring_a_request_in_is_searched_for(text: str, mark_name: str, given: bool, found: bool) -> None:
    assert adds_matches(parse(text), {mark_name: given}) is found


def test_without_a_filter_nothing_is_searched_for() -> None:
    assert not adds_matches(None, {"read": True})
