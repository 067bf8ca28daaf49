"""What a window at rest shows that is not so, in words; none of it as soon as all that was announced is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator

from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from app.core.delivery import Delivery
from app.core.model import DeliveryState, Summary
from app.db.captures import Captures
from app.ui.requests.list.feed import RequestFeed
from app.ui.shell.main_window import MainWindow
from tests.ui.desk import Desk

UNTOLD = {"response_status", "response_ms"}
"""What changes and is not announced: lists do not show it."""


async def shown_wrong(desk: Desk, window: MainWindow) -> list[str]:
    """Of the sidebar, the focus and the page that is shown."""
    wrong = [*_in_sidebar(desk, window), *_focus()]
    pages = window.__dict__  # those that were made
    if (requests := window._requests) is not None and requests.isVisible():
        wrong += await _in_list(requests.feed, desk.store.captures, paused=window.pause.on)
        wrong += [what async for what in _in_detail(desk, window)]
    elif (dashboard := pages.get("dashboard")) is not None and dashboard.isVisible():
        wrong += _on_dashboard(desk, window)
    elif (deliveries := pages.get("deliveries")) is not None and deliveries.isVisible():
        wrong += [what async for what in _in_deliveries(desk, window)]
    elif (refused := pages.get("refused")) is not None and refused.isVisible():
        shown = [refused.model.record(row) for row in range(refused.model.rowCount())]
        if shown != desk.refused.newest():
            wrong.append(f"{len(shown)} refused are shown, not the newest of {desk.refused.total}")
    return wrong


def _in_sidebar(desk: Desk, window: MainWindow) -> Iterator[str]:
    endpoints = desk.store.endpoints.all()
    shown = [
        (number, row.count, row.text(), row._switch.isChecked()) for number, row in window.sidebar.list.rows.items()
    ]
    stored = [(one.id, desk.store.captures.counts(one.id).unread, one.name, one.active) for one in endpoints]
    if sorted(shown) != sorted(stored):
        yield f"the sidebar shows {shown}, the store has {stored}"
    if window.qt_events.storage_trouble is not None:
        yield "the store is there again"


def _focus() -> Iterator[str]:
    focus = QApplication.focusWidget()
    if focus is None or not focus.isVisible():
        yield f"the focus is on {focus!r}"


def _on_dashboard(desk: Desk, window: MainWindow) -> Iterator[str]:
    endpoints, rows = desk.store.endpoints.all(), window.dashboard.rows
    if rows.row_count() != len(endpoints):
        yield f"the dashboard has {rows.row_count()} of {len(endpoints)} endpoints"
    for endpoint in endpoints:
        row = rows.row(endpoint.id)
        if row is None:
            yield f"the dashboard lacks {endpoint.name}"
        elif (
            replace(row.contents.endpoint, version=endpoint.version) != endpoint
            or row.switch.isChecked() != endpoint.active
        ):
            yield f"the dashboard shows {row.contents.endpoint}, switched on: {row.switch.isChecked()}, not {endpoint}"
        elif row.contents.counts != desk.store.captures.counts(endpoint.id):
            yield f"the dashboard counts {row.contents.counts} for {endpoint.name}"


async def _in_list(feed: RequestFeed, captures: Captures, *, paused: bool) -> list[str]:
    """Its rows are consecutive requests of those that match. What is held back, while it is paused or scrolled, is
    counted."""
    rows = [feed.model.summary(row) for row in range(feed.model.rowCount())]
    shown = [one.id for one in rows]
    found = await _matching(feed, captures)
    top, bottom = (shown[0], shown[-1]) if shown else ("", "")
    above = [one for one in found if one > top]
    missing = [one for one in found if bottom <= one and one not in shown]
    held_back = len(missing) - (0 if feed.model.at_head else len(above))
    stored = {one.id: one for one in await captures.page(feed.endpoint_id, limit=100_000)}
    wrong = {
        "rows in another order": shown != sorted(set(shown), reverse=True),
        "rows that are not stored": await captures.stored(shown) != set(shown),
        "rows that do not match": feed.query is None and not set(shown) <= set(found),
        "new requests are not listed": feed.following and not paused and bool(above),
        "requests that are neither listed nor counted": held_back > feed.new_count,
    }
    changed = [what for one in rows for what in _differences(one, stored.get(one.id, one))]
    wrong[f"rows that say something else: {changed[:5]}"] = bool(changed)
    return [
        f"{what}: {len(shown)} shown, {len(found)} found, {len(missing)} missing, {len(above)} above, "
        f"{feed.new_count} new, {paused=} {feed.following=} {feed.query=}"
        for what, so in wrong.items()
        if so
    ]


def _differences(shown: Summary | Delivery, stored: Summary | Delivery) -> Iterator[str]:
    for name in set(type(shown).__struct_fields__) - UNTOLD:
        if getattr(shown, name) != getattr(stored, name):
            yield f"{shown.id} {name} {getattr(shown, name)!r}, stored is {getattr(stored, name)!r}"


async def _matching(feed: RequestFeed, captures: Captures) -> list[str]:
    """All that the list would show if it had no end."""
    times, found = feed.scope.time_range, await captures.page(feed.endpoint_id, limit=100_000)
    if feed.query is not None:
        found = [one async for batch in captures.search(feed.query, feed.endpoint_id, limit=100_000) for one in batch]
    return [one.id for one in found if times is None or times.holds(one.received_at)]


async def _in_detail(desk: Desk, window: MainWindow) -> AsyncIterator[str]:
    detail = window.requests.detail
    shown = detail.capture
    if shown is None:
        return
    stored = await desk.store.captures.get(shown.id)
    if stored is None:
        if not detail.deleted:
            yield "an open request is not stored, which is not said"
        return
    if detail.deleted:
        yield f"an open request is stored, but: {detail.deleted}"
    known = window.requests.detail.summary
    assert known is not None
    marks = ("read", "starred", "starred_by", "note", "noted_by")
    if different := [name for name in marks if getattr(known, name) != getattr(stored, name)]:
        yield f"the open request shows another {different}: {known}, stored is {stored}"
    if detail.capture.delivery is not stored.delivery:
        yield f"the open request is said to be {detail.capture.delivery}, not {stored.delivery}"
    deliveries = _told(await desk.store.deliveries.of_capture(shown.id))
    listed = _told(detail.view.deliveries._listed)
    if [one.id for one in listed] != [one.id for one in deliveries] or [one.state for one in listed] != [
        one.state for one in deliveries
    ]:
        yield f"the open request shows {listed}, stored are {deliveries}"


def _told(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """Without those of replays that are being sent, which is not announced."""
    return [one for one in deliveries if one.replay_id is None or one.state is not DeliveryState.QUEUED]


async def _in_deliveries(desk: Desk, window: MainWindow) -> AsyncIterator[str]:
    page, deliveries = window.deliveries, desk.store.deliveries
    rows = [page.model.record(row) for row in range(page.model.rowCount())]
    all_stored = await deliveries.page(page.filters.current(), limit=100_000)
    shown, stored = _told(rows), _told(all_stored)
    wanted = stored[: len(shown)]
    if [one.id for one in shown] != [one.id for one in wanted]:
        yield f"the page of deliveries lists {len(shown)}, not the newest of {len(stored)}"
    elif different := [what for pair in zip(shown, wanted, strict=True) for what in _differences(*pair)]:
        yield f"the page of deliveries says something else: {different[:5]}"
    if len(shown) < min(len(stored), 40):
        yield f"the page of deliveries lists {len(shown)} of {len(stored)}"
    if page._count is None or not len(stored) <= page._count <= len(all_stored):
        yield f"the page of deliveries counts {page._count} of {len(stored)}"
