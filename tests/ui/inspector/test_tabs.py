"""The tabs of a request: which one opens, and that none moves from request to request."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.core.clock import now_us
from app.core.model import Capture, DeliveryState
from app.ui.inspector import header as head_module
from app.ui.inspector.request_view import (
    BODY,
    DELIVERIES,
    HEADERS,
    INFO,
    LEFT,
    NO_QUERY,
    QUERY,
    RAW,
    TABS,
    TOKENS,
    tab_for,
)
from app.ui.shell.sidebar import MINIMUM_WIDTH as SIDEBAR_LEAST
from app.ui.theme.tokens import contrast
from tests import factories
from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import settle, until


def capture(body: bytes, delivery: DeliveryState = DeliveryState.NONE) -> Capture:
    return factories.capture(body, delivery=delivery)


@pytest.mark.parametrize(
    ("chosen", "body", "query", "delivery", "opens"),
    [
        (None, b"x", True, DeliveryState.NONE, BODY),
        (None, b"", True, DeliveryState.NONE, QUERY),
        (None, b"", False, DeliveryState.NONE, BODY),
        (BODY, b"", True, DeliveryState.NONE, QUERY),
        (HEADERS, b"", True, DeliveryState.NONE, HEADERS),
        (QUERY, b"x", False, DeliveryState.NONE, BODY),
        (QUERY, b"", False, DeliveryState.NONE, BODY),
        (DELIVERIES, b"x", True, DeliveryState.NONE, BODY),
        (DELIVERIES, b"", True, DeliveryState.NONE, QUERY),
        (DELIVERIES, b"x", True, DeliveryState.QUEUED, DELIVERIES),
        (RAW, b"", False, DeliveryState.NONE, RAW),
        (INFO, b"", True, DeliveryState.NONE, INFO),
    ],
)
def test_the_tab_that_opens(chosen: int | None, body: bytes, query: bool, delivery: DeliveryState, opens: int) -> None:
    assert tab_for(chosen, capture(body, delivery), query=query) == opens


async def choose(shown: PageDesk, tab: int) -> None:
    """Click a tab."""
    tabs = shown.detail.tabs
    QTest.mouseClick(tabs, Qt.MouseButton.LeftButton, pos=tabs.tabRect(tab).center())
    await settle()
    assert tabs.currentIndex() == tab


async def test_a_remembered_tab_yields_where_it_would_be_empty_and_is_not_forgotten(shown: PageDesk) -> None:
    tabs = shown.detail.tabs
    await open_body(shown, b"", method="GET", target="/catch/x?hub.challenge=1")
    assert tabs.currentIndex() == QUERY
    await open_body(shown, b"{}", "application/json", target="/catch/x?a=1")
    assert tabs.currentIndex() == BODY
    await choose(shown, QUERY)
    seen: list[int] = []
    tabs.currentChanged.connect(seen.append)
    await open_body(shown, b"{}", "application/json", target="/catch/x")
    assert tabs.currentIndex() == BODY
    await open_body(shown, b"{}", "application/json", target="/catch/x?b=1")
    assert tabs.currentIndex() == QUERY
    assert seen == [BODY, QUERY]  # no other tab in between
    await choose(shown, DELIVERIES)
    await open_body(shown, b"{}", "application/json", target="/catch/x?b=1", method="PUT")
    assert tabs.currentIndex() == BODY
    sent = await shown.add(b"{}", delivery=DeliveryState.QUEUED)
    await shown.desk.store.captures.get(sent.id)
    shown.page.open_request(sent.id)
    await until(lambda: tabs.currentIndex() == DELIVERIES)


async def test_a_tab_is_chosen_with_the_keyboard_or_the_left_button(shown: PageDesk) -> None:
    tabs = shown.detail.tabs
    await open_body(shown, b"{}", "application/json", target="/catch/x")
    tabs.setFocus()
    QTest.keyClick(tabs, Qt.Key.Key_Right)
    assert tabs.currentIndex() == HEADERS
    await open_body(shown, b"hello", "text/plain")
    assert tabs.currentIndex() == BODY
    for button in (Qt.MouseButton.RightButton, Qt.MouseButton.MiddleButton):
        QTest.mouseClick(tabs, button, pos=tabs.tabRect(INFO).center())
        await open_body(shown, b"[]", "application/json")
        assert tabs.currentIndex() == HEADERS


@pytest.mark.parametrize("opened", ["with the focus", "by a link"])
@pytest.mark.parametrize("body", [b"", b"{}"])
async def test_the_focus_goes_from_the_query_to_the_text(shown: PageDesk, body: bytes, opened: str) -> None:
    await open_body(shown, body, "application/json", target="/catch/x?a=1")
    shown.detail.tabs.setCurrentIndex(QUERY)
    shown.detail.take_focus()
    assert shown.page.focusWidget() is shown.detail.view.query
    sent = await shown.add(b"hello", content_type="text/plain")
    shown.detail.show_request(sent.id, focus=opened == "with the focus")
    await until(lambda: shown.detail.body.code.toPlainText() == "hello")
    assert shown.page.focusWidget() is shown.detail.body.code


async def test_what_takes_the_keyboard_in_a_tab_has_a_name(shown: PageDesk) -> None:
    await open_body(shown, b"{}", "application/json", target="/catch/x?a=1")
    for tab in (BODY, HEADERS, QUERY, RAW, INFO):
        shown.detail.tabs.setCurrentIndex(tab)
        await settle()
        inside = [one for one in shown.detail.findChildren(QWidget) if one.isVisible()]
        tables = [one for one in inside if isinstance(one, QAbstractScrollArea) and one.focusPolicy()]
        assert tables
        assert [one for one in tables if not one.accessibleName()] == []
        # A screen reader's user would not know which of two is the tab.
        assert [one for one in tables if one.accessibleName() in TABS] == []


async def test_each_tab_has_its_title(shown: PageDesk) -> None:
    tabs = shown.detail.tabs
    await open_body(shown, b"{}", "application/json", target="/catch/x?a=1")
    await settle()
    picture = tabs.grab().toImage()
    for tab in (BODY, HEADERS, QUERY, DELIVERIES, RAW, INFO):
        place = tabs.tabRect(tab).adjusted(LEFT, 6, 0, -6)
        title = range(place.left(), place.left() + tabs.fontMetrics().horizontalAdvance(TABS[tab]) // 2)
        inked = [x for x in title if len({picture.pixel(x, y) for y in range(place.top(), place.bottom())}) > 1]
        assert len(inked) > len(title) // 2, TABS[tab]


OFFERED = {"Body as a tree": "Copy path", "Body as a table": "Copy rows", "Form fields": "Copy as sent"}
"""What the menu of a view has, among other things."""


async def test_each_view_of_a_body_has_a_name_and_its_menu(shown: PageDesk) -> None:
    form = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--'
    body = shown.detail.body
    for sent, content_type, view, name in (
        (b'{"a":1}', "application/json", "pretty", "Body as text"),
        (b'{"a":1}', "application/json", "tree", "Body as a tree"),
        (b'{"a":1}', "application/json", "hex", "Body as hexadecimal"),
        (b"a,b\n1,2\n", "text/csv", "table", "Body as a table"),
        (b"a=1&b=2", "application/x-www-form-urlencoded", "table", "Form fields"),
        (b"<p>hello</p>", "text/html", "preview", "Body as a page"),
        (form, "multipart/form-data; boundary=x", "parts", "Parts of the body"),
    ):
        await open_body(shown, sent, content_type, target="/catch/x")
        body.views.activated.emit(view)
        await until(lambda view=view: body.views.current() == view)
        await settle()
        page = body.stack.currentWidget()
        assert page is not None
        inside = [page, *page.findChildren(QAbstractScrollArea)]
        (named,) = (one for one in inside if one.accessibleName() == name)
        if name in OFFERED:
            assert named.contextMenuPolicy() is Qt.ContextMenuPolicy.ActionsContextMenu
            assert OFFERED[name] in [action.text() for action in named.actions()]


async def test_enter_leads_to_the_tabs_where_a_tab_has_nothing_to_move_in(shown: PageDesk) -> None:
    tabs = shown.detail.tabs
    await shown.add(b"")
    await until(lambda: shown.model.rowCount() == 1)
    shown.list.select_row(0)
    await until(lambda: shown.detail.capture is not None)
    for tab in (BODY, DELIVERIES):
        await choose(shown, tab)
        shown.list.setFocus()
        QTest.keyClick(shown.list, Qt.Key.Key_Return)
        assert shown.page.focusWidget() is tabs


async def test_tab_passes_the_deliveries_by_if_there_are_none(shown: PageDesk) -> None:
    await open_body(shown, b"{}", "application/json")
    await choose(shown, DELIVERIES)
    shown.detail.tabs.setFocus()
    QTest.keyClick(shown.detail.tabs, Qt.Key.Key_Tab)
    assert shown.page.focusWidget().isVisible()


async def test_no_tab_moves_from_request_to_request(tmp_path: Path) -> None:
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/") as shown:
        tabs = shown.detail.tabs

        def places() -> list[QRect]:
            return [tabs.tabRect(tab) for tab in range(TOKENS)]

        await open_body(shown, b"", target="/catch/x")
        shown.page.resize(944 - SIDEBAR_LEAST - 1, 600)  # of a screen 960 wide, less the frame of a window
        await settle()
        first = places()
        assert first[-1].right() <= tabs.width()  # none is behind the scroll buttons
        token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
        fields = tuple((f"X-{number}", token) for number in range(98))
        await open_body(shown, b"{}", "application/json", headers=fields, target="/catch/x?" + "a=1&" * 12)
        await until(lambda: tabs.isTabVisible(TOKENS))
        assert tabs.tabText(HEADERS) == "Headers 99"
        assert places() == first
        sent = await shown.desk.capture(shown.endpoint)
        shown.page.open_request(sent.id)
        await until(lambda: tabs.tabText(DELIVERIES) == "Deliveries 1")
        assert places() == first
        await open_body(shown, b"{}", headers=(*fields, *fields))
        assert tabs.tabText(HEADERS) == "Headers 197"
        assert places() == first
        assert not tabs.grab().isNull()
        await until(lambda: tabs.isTabVisible(TOKENS) and tabs.tabRect(TOKENS).left() > first[-1].right())


async def test_the_distances_between_the_tabs_are_equal(shown: PageDesk) -> None:
    tabs = shown.detail.tabs
    fields = tuple((f"X-{number}", "a") for number in range(19))  # 20 in all: 0 fills its width in all fonts
    await open_body(shown, b"{}", headers=fields, target="/catch/x")
    await settle()
    image, row = tabs.grab().toImage(), tabs.tabRect(BODY)
    empty = image.pixel(row.right(), 5)
    ink = [
        x
        for x in range(tabs.tabRect(RAW).right())
        if any(image.pixel(x, y) != empty for y in range(row.top() + 8, row.bottom() - 8))
    ]
    gaps = [after - before for before, after in pairwise(ink) if after - before > 10]
    assert len(gaps) == 4
    assert max(gaps) - min(gaps) <= 4
    accent = QColor(shown.desk.theme.tokens.accent)
    for tab in (BODY, HEADERS):
        tabs.setCurrentIndex(tab)
        image, row = tabs.grab().toImage(), tabs.tabRect(tab)
        marked = [x for x in range(tabs.width()) if image.pixelColor(x, row.bottom()) == accent]
        after = next(x for x in ink if x > row.right())
        assert ink[ink.index(after) - 1] <= marked[-1] <= after - min(gaps) // 2, "as wide as its title and count"


async def test_the_tabs_keep_their_height_whether_the_event_is_known_or_not(shown: PageDesk) -> None:
    tabs, title = shown.detail.tabs, shown.detail.header.title
    await open_body(shown, b"{}", "application/json", provider="stripe", event="invoice.paid")
    await settle()
    place = tabs.mapTo(shown.page, QPoint())
    assert title.text() == "invoice.paid · Stripe"
    await open_body(shown, b"1,2\n3,4\n", "text/csv", gist="CSV · 2 columns")
    await settle()
    assert tabs.mapTo(shown.page, QPoint()) == place
    assert title.isVisible()
    assert title.text() == "CSV · 2 columns"
    await open_body(shown, b"{}", "application/json", provider="stripe", gist="JSON · id")
    assert title.text() == "JSON · id · Stripe"
    await open_body(shown, b"", method="GET", target="/catch/x", gist="no body")
    await settle()
    assert tabs.mapTo(shown.page, QPoint()) == place
    assert title.text() == "no body"


async def test_a_request_with_tokens_after_another_stays_on_its_tab(shown: PageDesk) -> None:
    tabs = shown.detail.tabs
    bearer = (("Authorization", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"),)
    await open_body(shown, b"{}", "application/json", headers=bearer)
    await until(lambda: tabs.isTabVisible(TOKENS))
    await choose(shown, TOKENS)
    seen: list[int] = []
    tabs.currentChanged.connect(seen.append)
    found: list[int] = []
    shown.detail.view.tokens.found.connect(lambda _, count: found.append(count))
    await open_body(shown, b'{"b":1}', "application/json", headers=bearer)
    await until(lambda: found == [1])
    assert tabs.currentIndex() == TOKENS
    assert not seen
    await open_body(shown, b"", "application/json", target="/catch/x?a=1")
    await until(lambda: found == [1, 0])
    assert tabs.currentIndex() == QUERY
    assert seen == [QUERY]
    assert not tabs.isTabVisible(TOKENS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_tab_that_cannot_be_chosen_is_fainter_but_legible_and_says_why(scheme: Any, shown: PageDesk) -> None:
    shown.desk.theme.set_choice(scheme)
    tokens = shown.desk.theme.tokens
    tabs = shown.detail.tabs
    await open_body(shown, b"{}", "application/json", target="/catch/x")
    assert not tabs.isTabEnabled(QUERY)
    assert tabs.tabToolTip(QUERY) == NO_QUERY
    picture = shown.detail.grab().toImage()

    def ink(tab: int) -> float:
        """The strongest contrast within a tab's text."""
        room = tabs.tabRect(tab).adjusted(4, 6, -4, -6).translated(tabs.mapTo(shown.detail, QPoint()))
        pixels = (picture.pixelColor(x, y) for x in range(room.left(), room.right()) for y in _rows(room))
        return max(contrast(QColor(pixel).name(), tokens.surface) for pixel in pixels)

    assert 4.5 <= ink(QUERY) < ink(DELIVERIES)
    where = tabs.tabRect(QUERY).center()
    assert tabs.tabAt(where) == QUERY  # Qt shows the tooltip of the tab there
    QTest.mouseClick(tabs, Qt.MouseButton.LeftButton, pos=where)
    assert tabs.currentIndex() == BODY
    await open_body(shown, b"{}", "application/json", target="/catch/x?a=1")
    assert tabs.currentIndex() == BODY  # a click on what cannot be chosen is no choice
    assert tabs.tabToolTip(QUERY) == ""


def _rows(room: QRect) -> range:
    return range(room.top(), room.bottom())


async def test_the_head_says_today_and_after_midnight_yesterday(
    monkeypatch: pytest.MonkeyPatch, shown: PageDesk
) -> None:
    head, now = shown.detail.header, now_us()
    shown.page.resize(1600, 700)
    sent = await shown.add(received_at=now)
    monkeypatch.setattr(head_module, "now_us", lambda: now)
    shown.page.open_request(sent.id)
    await until(lambda: "Today" in head.facts.text())
    tomorrow = datetime.fromtimestamp(now / 1e6, UTC).astimezone().date() + timedelta(days=1)
    midnight = round(datetime.combine(tomorrow, time()).astimezone().timestamp() * 1e6)
    monkeypatch.setattr(head_module, "now_us", lambda: midnight - 20_000)
    head._clock.timeout.emit()
    assert "Today" in head.facts.text()
    monkeypatch.setattr(head_module, "now_us", lambda: midnight)
    await until(lambda: "Yesterday" in head.facts.text())


async def test_a_long_count_does_not_touch_the_next_title(shown: PageDesk) -> None:
    shown.page.resize(1366 - SIDEBAR_LEAST, 700)
    await open_body(shown, b"{}", target="/catch/x?" + "a=1&" * 119 + "a=1")
    tabs = shown.detail.tabs
    await until(lambda: tabs.tabText(QUERY) == "Query 120")
    await settle()
    image, place = tabs.grab().toImage(), tabs.tabRect(DELIVERIES)
    empty = image.pixel(place.left(), 5)
    title = place.left() + LEFT
    between = range(title - 6, title)
    assert all(image.pixel(x, y) == empty for x in between for y in range(place.top() + 8, place.bottom() - 8))
