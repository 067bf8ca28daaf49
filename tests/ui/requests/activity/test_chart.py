"""The chart over a real store: it counts, follows, and narrows the list to a time."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from app.core.activity import Bar, Span
from app.core.clock import DAY_US, now_us
from app.core.delivery import DeliveryFilter
from app.core.errors import StorageUnavailableError
from app.core.model import DeliveryState
from app.ui import tasks as tasks_module
from app.ui.requests import activity_source as source_module
from app.ui.requests.activity_chart import ActivityChart, heights
from tests import factories
from tests.support import while_read
from tests.ui.desk import shown as shown_window
from tests.ui.drawn import drawn
from tests.ui.on_screen import on_screen
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import activate, settle, until

MINUTE = 60_000_000
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise")  # said when a tooltip appears
LEFT = Qt.MouseButton.LeftButton


def middle(chart: ActivityChart, bar: int) -> QPoint:
    bars = chart._source.axis.bars
    return QPoint(int((bar + 0.5) * chart.width() / bars), 20)


def drag(chart: ActivityChart, first: int, last: int) -> None:
    QTest.mousePress(chart, LEFT, pos=middle(chart, first))
    QTest.mouseMove(chart, middle(chart, last))
    QTest.mouseRelease(chart, LEFT, pos=middle(chart, last))


def point_at(chart: ActivityChart, place: QPoint) -> None:
    """As the system tells of a mouse that moves over it, wherever it was before."""
    none, no_keys, at = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, QPointF(place)
    move = QMouseEvent(QEvent.Type.MouseMove, at, chart.mapToGlobal(at), none, none, no_keys)
    QApplication.sendEvent(chart, move)


async def an_hour(shown: PageDesk) -> tuple[int, list[str]]:
    """Three requests in each of ten minutes that are past; the first of these bars, and all ids, newest first."""
    source = shown.page.activity.source
    start = source.axis.edges[20]
    made = [await shown.add(received_at=start + n * MINUTE + k * 7_000_000) for n in range(10) for k in range(3)]
    await shown.reload()
    await until(lambda: source.total.total == 30)
    bar = source.axis.bar_of(start)
    assert bar is not None
    return bar, [one.id for one in reversed(made)]


async def test_bars_are_counted_in_the_store(shown: PageDesk) -> None:
    source, strip = shown.page.activity.source, shown.page.activity
    assert source.total == Bar()
    assert strip.summary.text() == "No requests"
    bar, _ = await an_hour(shown)
    assert [one.total for one in source.bars[bar : bar + 10]] == [3] * 10
    await shown.add(received_at=now_us() - 3 * DAY_US)
    other = await shown.desk.endpoint()
    await shown.add(endpoint_id=other.id, received_at=now_us() - 3 * DAY_US)
    for span, total in ((Span.DAY, 30), (Span.WEEK, 31), (Span.ALL, 31)):
        strip.set_span(span)
        await until(lambda total=total: source.total.total == total)
    shown.page.show_endpoint(None)
    await until(lambda: source.total.total == 32)
    assert "32 requests" in strip.summary.text()
    await shown.desk.store.endpoints.delete(other.id)
    await until(lambda: source.total.total == 31)


async def test_new_requests_and_outcomes_are_followed_without_counting_all_anew(tmp_path: Path) -> None:
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/") as shown:
        source, store = shown.page.activity.source, shown.desk.store
        await shown.desk.capture(shown.endpoint)
        await until(lambda: source.total == Bar(plain=1) and not source._counting)
        asked: list[int] = []
        bars = store.activity.bars

        async def watched(endpoint_id: int | None, edges: tuple[int, ...], **hidden: Any) -> list[Bar]:
            asked.append(len(edges) - 1)
            return await bars(endpoint_id, edges, **hidden)

        store.activity.bars = watched  # type: ignore[method-assign]
        captures = [await shown.desk.capture(shown.endpoint) for _ in range(5)]
        await shown.add(complete=False)
        await until(lambda: source.total == Bar(plain=6, incomplete=1))
        assert not asked
        for capture, state in zip(captures, [DeliveryState.DELIVERED] * 3 + [DeliveryState.FAILED], strict=False):
            (delivery,) = await store.deliveries.of_capture(capture.id)
            await store.deliveries.finish(msgspec.structs.replace(delivery, state=state), [])
        (waiting,) = await store.deliveries.of_capture(captures[4].id)
        await store.deliveries.finish(msgspec.structs.replace(waiting, attempts=1), [])
        await until(lambda: source.total == Bar(plain=2, delivered=3, failed=1, incomplete=1))
        assert await store.deliveries.retry(DeliveryFilter()) == 1
        await until(lambda: source.total == Bar(plain=3, delivered=3, incomplete=1))
        assert asked
        assert max(asked) <= 2
        await store.captures.delete([captures[0].id])
        await until(lambda: source.total.total == 6)
        await store.captures.clear(shown.endpoint.id)
        await until(shown.page.activity.isHidden)


async def test_a_burst_while_counting_is_not_lost(shown: PageDesk) -> None:
    source = shown.page.activity.source
    adds = [asyncio.ensure_future(shown.add()) for _ in range(300)]
    for _ in range(6):
        source.show(shown.endpoint.id, Span.HOUR)
        await settle()
    await asyncio.gather(*adds)
    await until(lambda: source.total.total == 300)
    await asyncio.sleep(0.05)
    await until(lambda: not source._counting and not source._doubtful)
    assert source.total.total == 300


async def test_what_comes_in_while_it_is_counted_again_after_that_failed_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    monkeypatch.setattr(tasks_module, "AGAIN_S", 0.01)
    monkeypatch.setattr(source_module, "RECOUNT_MS", 10)
    source, activity = shown.page.activity.source, shown.desk.store.activity
    await shown.add()
    await until(lambda: source.total.total == 1 and not source._counting)
    oldest = activity.oldest

    async def fail(_: int | None) -> int | None:
        monkeypatch.setattr(activity, "oldest", oldest)
        raise StorageUnavailableError("The stored requests cannot be read.")

    monkeypatch.setattr(activity, "oldest", fail)
    counted = while_read(activity, "bars", shown.add)
    source.show(shown.endpoint.id, Span.HOUR)
    await until(lambda: counted() and not source._counting and not source._doubtful)
    assert source.total.total == 2


async def test_time_goes_on_below_the_bars(monkeypatch: pytest.MonkeyPatch, shown: PageDesk) -> None:
    source = shown.page.activity.source
    bar, _ = await an_hour(shown)
    end = source.axis.edges[-1]
    monkeypatch.setattr(source_module, "now_us", lambda: end + 2 * MINUTE)
    source._advance()
    assert [one.total for one in source.bars[bar - 3 : bar + 7]] == [3] * 10
    assert source.axis.edges[-1] == end + 3 * MINUTE
    await shown.add(received_at=end + 2 * MINUTE + 1)
    await until(lambda: source.bars[-1].total == 1)
    shown.page.activity.set_span(Span.ALL)
    await until(lambda: source.total.total == 31 and not source._counting)
    later = end + 30 * DAY_US
    monkeypatch.setattr(source_module, "now_us", lambda: later)
    source._advance()  # all kept are on the chart, with wider bars
    await until(lambda: source.axis.edges[-1] > later and not source._counting)
    assert source.total.total == 31


async def test_a_drag_narrows_the_list_and_the_chip_widens_it(shown: PageDesk) -> None:
    shown.page.resize(1_600, 900)  # just after midnight the chip has a date
    strip = shown.page.activity
    bar, ids = await an_hour(shown)
    drag(strip.chart, bar + 4, bar + 2)
    await until(lambda: shown.ids() == ids[15:24])
    assert strip.chip.isVisible()
    assert strip.summary.text() == "9 requests"
    assert shown.model.at_head
    assert shown.model.at_tail
    await shown.add()
    await until(lambda: strip.source.total.total == 31)
    assert shown.ids() == ids[15:24]
    QTest.mouseClick(strip.chip, LEFT)
    await until(lambda: len(shown.ids()) == 31)
    assert not strip.chip.isVisible()
    QTest.mouseClick(strip.chart, LEFT, pos=middle(strip.chart, bar + 9))
    await until(lambda: shown.ids() == ids[:3])


async def test_a_time_of_many_pages_is_paged_within_it(shown: PageDesk) -> None:
    source, strip = shown.page.activity.source, shown.page.activity
    start = source.axis.edges[30]
    adds = (shown.add(received_at=start + n * MINUTE // 300) for n in range(900))
    ids = [one.id for one in reversed(await asyncio.gather(*adds))]
    for endpoint_id in (shown.endpoint.id, None):
        shown.page.show_endpoint(endpoint_id)
        await until(lambda: source.total.total == 900)
        bar = source.axis.bar_of(start)
        assert bar is not None
        drag(strip.chart, bar + 1, bar + 1)
        await until(lambda: not shown.feed.pager.jumping and shown.model.rowCount() > 0)
        assert shown.ids()[0] == ids[300]
        shown.list.setFocus()
        QTest.keyClick(shown.list, Qt.Key.Key_End)
        await until(lambda: shown.ids()[-1] == ids[599])
        for _ in range(5):
            shown.feed.pager.newer()
            shown.feed.pager.older()
            await settle(20)
        await until(lambda: shown.ids() == ids[300:600])
        assert (shown.model.at_head, shown.model.at_tail) == (True, True)
        assert not shown.feed.new_count


async def test_a_drag_ends_when_the_chart_is_hidden(shown: PageDesk) -> None:
    await shown.fill(3)
    await shown.reload()
    activity = shown.page.activity
    chart, fold = activity.chart, activity.fold
    QTest.mousePress(chart, Qt.MouseButton.LeftButton, pos=QPoint(chart.width() // 4, 20))
    assert chart.marked() is not None
    fold.click()
    fold.click()
    assert chart.isVisible()
    assert chart.marked() is None
    QTest.mouseMove(chart, QPoint(chart.width() // 2, 20))
    await settle()
    assert chart.marked() is None
    QTest.mouseRelease(chart, Qt.MouseButton.LeftButton, pos=QPoint(chart.width() // 2, 20))
    assert activity.times is None


async def test_the_keyboard_chooses_and_lets_go(shown: PageDesk) -> None:
    strip, chart = shown.page.activity, shown.page.activity.chart
    bar, ids = await an_hour(shown)
    assert "30 requests" in chart.accessibleDescription()
    chart.setFocus()
    QTest.keyClick(chart, Qt.Key.Key_Home)
    for _ in range(bar):
        QTest.keyClick(chart, Qt.Key.Key_Right)
    assert chart.marked() == (bar, bar)
    assert chart.accessibleDescription().endswith("3 requests")
    QTest.keyClick(chart, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert "6 requests" in chart.accessibleDescription()
    QTest.keyClick(chart, Qt.Key.Key_Escape)
    assert (chart.marked(), strip.times) == (None, None)
    QTest.keyClick(chart, Qt.Key.Key_End)
    assert chart.marked() == (59, 59)
    for _ in range(59 - bar):
        QTest.keyClick(chart, Qt.Key.Key_Left)
    QTest.keyClick(chart, Qt.Key.Key_Return)
    await until(lambda: shown.ids() == ids[-3:])
    assert strip.times is not None
    QTest.keyClick(chart, Qt.Key.Key_Escape)
    await until(lambda: len(shown.ids()) == 30)
    drag(chart, bar, bar)
    await until(lambda: len(shown.ids()) == 3)
    shown.list.setFocus()
    QTest.keyClick(shown.list, Qt.Key.Key_Escape)
    await until(lambda: len(shown.ids()) == 30)


async def test_an_empty_time_says_so_and_a_link_leads_out_of_it(shown: PageDesk) -> None:
    page, chart = shown.page, shown.page.activity.chart
    bar, ids = await an_hour(shown)
    drag(chart, bar - 3, bar - 2)
    await until(page.list_area.empty_time_range.isVisible)
    assert page.list_area.empty_time_range.button is not None
    QTest.mouseClick(page.list_area.empty_time_range.button, LEFT)
    await until(lambda: len(shown.ids()) == 30 and page.list.isVisible())
    drag(chart, bar, bar)
    await until(lambda: len(shown.ids()) == 3)
    capture = await shown.desk.store.captures.get(ids[0])
    assert capture is not None
    page.go_to(capture)
    await until(lambda: shown.list.current() is not None and shown.list.current().id == ids[0])
    assert page.activity.times is None


async def test_hover_tells_in_plain_text(shown: PageDesk) -> None:
    chart = shown.page.activity.chart
    bar, _ = await an_hour(shown)
    text = chart.text_of(bar, bar)
    assert text.endswith(" · 3 requests")
    assert "\u2013" in text
    point_at(chart, middle(chart, bar))
    assert "3 requests" in QToolTip.text()
    shown.page.grab()
    shown.desk.theme.set_choice("dark")
    shown.page.grab()


async def test_bars_stand_on_a_line_with_their_times_below_and_the_highest_count_above(shown: PageDesk) -> None:
    chart, tokens = shown.page.activity.chart, shown.desk.theme.tokens
    bar, _ = await an_hour(shown)
    await shown.add(received_at=chart._source.axis.edges[bar + 10], complete=False)
    await until(lambda: shown.page.activity.source.total.total == 31)
    seen = drawn(chart)
    bars = seen.grounds_of(tokens.chart_plain)
    top, middle_line = seen.grounds_of(tokens.border)
    base = next(one for one in seen.grounds_of(tokens.border_strong) if one.width() == chart.width())
    assert [one.width() for one in (top, middle_line)] == [chart.width()] * 2
    assert len(bars) == 10
    assert {(one.top(), one.bottom()) for one in bars} == {(base.top() - 30, base.top())}, "3 of 4, of 40 pixels"
    assert all(one.right() < other.left() for one, other in pairwise(bars))
    assert all(one.left() <= middle(chart, bar + at).x() <= one.right() for at, one in enumerate(bars))
    (cut_off,) = seen.grounds_of(tokens.chart_incomplete)
    assert cut_off.left() > bars[-1].right()
    *times, highest = seen.texts
    assert (highest.text, highest.at.x()) == ("4", 0)
    assert len(times) >= 3
    assert [one.at.x() for one in times] == sorted(one.at.x() for one in times)
    assert all(one.at.y() > base.top() and one.colour == tokens.text_faint for one in times)
    (below_count,) = seen.grounds_of(tokens.surface)
    assert below_count.contains(highest.at), "lines and bars do not cross it"
    await shown.fill(5)
    await until(lambda: "5" in drawn(chart).words)


async def test_what_is_pointed_at_or_selected_has_a_ground_of_its_own(shown: PageDesk) -> None:
    chart, tokens = shown.page.activity.chart, shown.desk.theme.tokens
    bar, ids = await an_hour(shown)
    first, last = middle(chart, bar), middle(chart, bar + 3)

    def grounds() -> tuple[list[QRectF], list[QRectF]]:
        seen = drawn(chart)
        return seen.grounds_of(tokens.pressed), seen.grounds_of(tokens.accent_soft)

    nothing = await on_screen(chart)
    point_at(chart, first)
    assert await on_screen(chart) != nothing
    (pointed_at,), selected = grounds()
    assert pointed_at.contains(first)
    assert not pointed_at.contains(middle(chart, bar + 1))
    assert not selected
    QTest.mousePress(chart, LEFT, pos=first)
    QTest.mouseMove(chart, last)
    pointed_at_none, (selected_one,) = grounds()
    assert not pointed_at_none
    assert selected_one.contains(first)
    assert selected_one.contains(last)
    assert not selected_one.contains(middle(chart, bar + 4))
    begin, end = sorted(one.left() for one in drawn(chart).lines_of(tokens.accent))
    assert abs(begin - selected_one.left()) <= 1
    assert abs(end - selected_one.right()) <= 1
    QTest.mouseRelease(chart, LEFT, pos=last)
    await until(lambda: shown.ids() == ids[-12:])
    chosen = await on_screen(chart)
    point_at(chart, middle(chart, bar - 3))
    assert await on_screen(chart) != chosen
    QApplication.sendEvent(chart, QEvent(QEvent.Type.Leave))
    assert grounds() == ([], [selected_one])
    assert await on_screen(chart) == chosen


async def test_the_chart_has_a_ring_where_a_key_gave_it_the_keyboard(shown: PageDesk) -> None:
    chart = shown.page.activity.chart
    await an_hour(shown)
    await activate(shown.page)

    def ringed() -> bool:
        return any(one.width() > chart.width() - 2 for one in drawn(chart).lines_of(shown.desk.theme.tokens.accent))

    chart.setFocus(Qt.FocusReason.MouseFocusReason)
    assert not ringed()
    QTest.keyClick(chart, Qt.Key.Key_Left)
    assert ringed()
    shown.list.setFocus()
    assert not ringed()
    chart.setFocus(Qt.FocusReason.TabFocusReason)
    assert ringed()


async def test_the_fold_and_the_span_are_remembered(tmp_path: Path) -> None:
    for first in (True, False):
        async with shown_window(tmp_path, endpoints=1 if first else 0) as (desk, window):
            strip = window.requests.activity
            window.show_endpoint(desk.store.endpoints.all()[0].id)
            await settle()
            assert strip.open is first
            assert strip.source.span is (Span.HOUR if first else Span.WEEK)
            if first:
                strip.set_span(Span.WEEK)
                QTest.mouseClick(strip.fold, LEFT)
                assert not strip.chart.isVisible()


async def test_the_dashboard_knows_the_last_hour_from_before_the_start(tmp_path: Path) -> None:
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/") as shown:
        forwarded = await shown.desk.capture(shown.endpoint, received_at=now_us() - 30 * MINUTE)
        (delivery,) = await shown.desk.store.deliveries.of_capture(forwarded.id)
        made = factories.attempt(delivery)
        await shown.desk.store.deliveries.finish(factories.after(delivery, made, DeliveryState.FAILED), [(made, b"")])
        await shown.add(received_at=now_us() - 3 * 60 * MINUTE)
    async with shown_window(tmp_path) as (desk, window):
        ledger, number = window.qt_events.session_stats, desk.store.endpoints.all()[0].id
        await until(lambda: sum(ledger.activity(number)) == 1)
        assert ledger.last_outcome(number) is DeliveryState.FAILED
        await desk.capture(desk.store.endpoints.all()[0])
        await until(lambda: sum(ledger.activity(number)) == 2)
        assert ledger.stored == 1
        await desk.store.captures.clear(number)
        await until(lambda: sum(ledger.activity(number)) == 0)


NUMBER = st.integers(0, 3_000)


@given(NUMBER, NUMBER, NUMBER, NUMBER, st.integers(4, 20_000))
def test_what_failed_is_seen_and_a_bar_is_as_high_as_it_is(p: int, d: int, f: int, i: int, peak: int) -> None:
    bar = Bar(plain=p, delivered=d, failed=f, incomplete=i)
    if not 0 < bar.total <= peak:
        return
    parts = heights(bar, 40 / peak)
    assert min(parts) >= 0
    assert (parts[2] > 0) is (f > 0)
    assert abs(sum(parts) - bar.total * 40 / peak) <= 3
    if p + d > bar.total / 2:
        assert parts[0] + parts[1] >= 1
