"""The chart and the filter above one list: what is listed meets both."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import settle, until

Key = Qt.Key
MINUTE = 60_000_000
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise")  # said when a tooltip appears


async def an_hour(shown: PageDesk, each: int = 4) -> tuple[int, list[str]]:
    """So many requests in each of ten past minutes, every second one paid; the first bar, and the paths by time."""
    source = shown.page.activity.source
    start = source.axis.edges[20]
    names = [(n, k, "paid" if k % 2 else "open") for n in range(10) for k in range(each)]
    adds = (
        shown.add(
            f'{{"state":"{state}"}}'.encode(),
            target=f"/catch/x/{n}-{k}-{state}",
            received_at=start + n * MINUTE + k * MINUTE // each,
        )
        for n, k, state in names
    )
    await asyncio.gather(*adds)
    await shown.reload()
    await until(lambda: source.total.total == len(names))
    bar = source.axis.bar_of(start)
    assert bar is not None
    return bar, [f"{n}-{k}-{state}" for n, k, state in names]


def choose(shown: PageDesk, first: int, last: int) -> None:
    chart = shown.page.activity.chart
    at = [QPoint(int((bar + 0.5) * chart.width() / 60), 20) for bar in (first, last)]
    QTest.mousePress(chart, Qt.MouseButton.LeftButton, pos=at[0])
    QTest.mouseMove(chart, at[1])
    QTest.mouseRelease(chart, Qt.MouseButton.LeftButton, pos=at[1])


def listed(shown: PageDesk) -> list[str]:
    """The ends of the paths listed, oldest first."""
    rows = (shown.model.summary(row).target for row in range(shown.model.rowCount()))
    return [target.rpartition("/")[2] for target in rows][::-1]


@pytest.mark.parametrize(
    ("text", "time_first"),
    [
        ("paid", True),
        ("json:state=paid", False),
        ("path:paid since:2h", True),
        ("paid since:2h before:2999-01-01", False),
        pytest.param("paid", False, marks=pytest.mark.long),
        pytest.param("json:state=paid", True, marks=pytest.mark.long),
        pytest.param("path:paid since:2h", False, marks=pytest.mark.long),
        pytest.param("paid since:2h before:2999-01-01", True, marks=pytest.mark.long),
    ],
)
async def test_a_filter_and_a_chosen_time_leave_what_meets_both(text: str, time_first: bool, shown: PageDesk) -> None:
    bar, names = await an_hour(shown)
    line = shown.page.filter.bar
    paid = [name for name in names if name.endswith("paid")]
    if time_first:
        choose(shown, bar + 2, bar + 4)
        await until(lambda: listed(shown) == names[8:20])
        line.set_text(text)
    else:
        line.set_text(text)
        await until(lambda: listed(shown) == paid)
        choose(shown, bar + 2, bar + 4)
    await until(lambda: listed(shown) == paid[4:10] and shown.feed.search.done)
    assert shown.page.footer.text() == "6 of 40 match in this range"
    # New ones: only what matches and came then is listed.
    edge = shown.page.activity.source.axis.edges[bar + 5]
    await shown.add(b'{"state":"paid"}', target="/catch/x/later-paid", received_at=edge)
    await shown.add(b'{"state":"open"}', target="/catch/x/then-open", received_at=edge - 2)
    await shown.add(b'{"state":"paid"}', target="/catch/x/then-paid", received_at=edge - 1)
    await until(lambda: listed(shown) == [*paid[4:10], "then-paid"])
    shown.page.activity.clear()
    await until(lambda: len(listed(shown)) == 22)
    choose(shown, bar, bar)
    await until(lambda: listed(shown) == paid[:2])
    line.clear()
    await until(lambda: listed(shown) == names[:4])


async def test_many_pages_of_a_time_are_searched_to_its_start(shown: PageDesk) -> None:
    bar, names = await an_hour(shown, each=100)
    shown.page.filter.bar.set_text("paid")
    choose(shown, bar + 1, bar + 8)
    for _ in range(3):
        await until(lambda: not shown.feed.search.busy and shown.model.rowCount() > 0)
        shown.feed.pager.older()
        await settle()
    await until(lambda: shown.feed.search.done)
    assert listed(shown) == [name for name in names[100:900] if name.endswith("paid")]


async def test_what_is_empty_says_why(shown: PageDesk) -> None:
    bar, names = await an_hour(shown)
    page, nothing = shown.page, shown.page.list_area.no_matches
    choose(shown, bar - 5, bar - 3)
    await until(page.list_area.empty_time_range.isVisible)
    page.activity.clear()
    await until(page.list.isVisible)
    page.filter.bar.set_text("nowhere")
    await until(nothing.isVisible)
    assert "None of the 40 requests here match" in nothing.text.text()
    choose(shown, bar, bar)
    await until(lambda: nothing.isVisible() and "selected" in nothing.text.text())
    assert nothing.button is not None
    QTest.mouseClick(nothing.button, Qt.MouseButton.LeftButton)
    await until(lambda: page.list.isVisible() and listed(shown) == names[:4])


async def test_esc_gives_up_the_suggestions_then_the_filter_then_the_time(shown: PageDesk) -> None:
    bar, names = await an_hour(shown)
    page, line = shown.page, shown.page.filter.bar.line
    choose(shown, bar, bar + 1)
    await until(lambda: listed(shown) == names[:8])
    shown.list.setFocus()
    QTest.keyClick(shown.list, Key.Key_Slash)
    QTest.keyClicks(line, "paid ")
    await until(lambda: len(listed(shown)) == 4)
    QTest.keyClick(line, Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    assert line.suggestions.isVisible()
    # The empty line is left for the rows, and those for all times.
    for left in (4, 8, 8, 40):
        focus = page.focusWidget()
        assert focus is not None
        QTest.keyClick(focus, Key.Key_Escape)
        await until(lambda left=left: len(listed(shown)) == left and not shown.feed.pager.jumping)
        assert not line.suggestions.isVisible()
    # From the rows: the filter first, then the time.
    page.filter.bar.set_text("paid")
    choose(shown, bar, bar)
    await until(lambda: len(listed(shown)) == 2)
    shown.list.setFocus()
    for left in (4, 40):
        QTest.keyClick(shown.list, Key.Key_Escape)
        await until(lambda left=left: len(listed(shown)) == left)
    assert page.activity.times is None
    # From the chart: the time first, then the filter.
    page.filter.bar.set_text("paid")
    choose(shown, bar, bar)
    await until(lambda: len(listed(shown)) == 2)
    page.activity.chart.setFocus()
    for left in (20, 40):
        QTest.keyClick(page.activity.chart, Key.Key_Escape)
        await until(lambda left=left: len(listed(shown)) == left)


@pytest.mark.parametrize(("minute", "kept"), [(0, (True, True)), (1, (False, True)), (19, (False, False))])
async def test_a_link_gives_up_what_hides_its_request(tmp_path: Path, minute: int, kept: tuple[bool, bool]) -> None:
    """`minute` is the place of the request among all; kept are the filter and the time."""

    async with open_page(tmp_path) as shown:
        bar, names = await an_hour(shown)
        everything = shown.ids()[::-1]
        shown.page.filter.bar.set_text("open")
        choose(shown, bar, bar + 1)
        await until(lambda: listed(shown) == [name for name in names[:8] if name.endswith("open")])
        capture = await shown.desk.store.captures.get(everything[minute])
        assert capture is not None
        shown.page.go_to(capture)
        await until(lambda: (row := shown.list.current()) is not None and row.id == capture.id)
        assert (shown.page.filter.active, shown.page.activity.times is not None) == kept
        assert bool(shown.page.filter.bar.line.text()) is kept[0]


async def test_a_narrow_page_shows_the_chosen_time_in_place_of_the_sum(shown: PageDesk) -> None:
    bar, _ = await an_hour(shown)
    page, strip = shown.page, shown.page.activity
    for width, sum_fits in ((1300, True), (732, False)):
        page.resize(width, 600)
        page.splitter.setSizes([width * 2 // 5, width * 3 // 5])
        choose(shown, bar, bar)
        await settle()
        assert (strip.chip.isVisible(), strip.summary.isVisible()) == (True, sum_fits)
        strip.clear()
        await settle()
        assert strip.summary.isVisible()


async def test_the_footer_counts_what_is_in_the_chosen_time(shown: PageDesk) -> None:
    bar, _ = await an_hour(shown)
    footer = shown.page.footer

    def everything() -> str:
        # The first request of an empty endpoint may be open, and so be read.
        unread = shown.desk.store.captures.counts(shown.endpoint.id).unread
        return f"40 requests · {unread} unread · newest first"

    await until(lambda: footer.text() == everything())
    choose(shown, bar + 2, bar + 4)
    await until(lambda: footer.text() == "12 of 40 requests in this range · newest first")
    shown.page.activity.clear()
    await until(lambda: footer.text() == everything())


async def test_the_footer_counts_what_is_not_loaded_too(shown: PageDesk) -> None:
    bar, _ = await an_hour(shown, each=70)
    choose(shown, bar, bar + 4)
    await until(lambda: shown.page.footer.text() == "350 of 700 requests in this range · newest first")
    assert shown.model.rowCount() < 350
