"""What a row of the list shows, to those who see it and to those who hear it; and the head above the list."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QHelpEvent, QImage
from PySide6.QtWidgets import QApplication, QStyleOptionViewItem, QToolTip

from app.core.clock import now_us
from app.core.model import DeliveryState
from app.core.providers import ProviderMark
from app.core.target import TargetDraft
from app.core.text import name_of
from app.ui.requests.list.delegate import LETTERS, MARGIN, ProviderMarks, ground_of
from app.ui.requests.list.model import row_text
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.theme.tokens import DARK, LIGHT, Tokens, contrast
from tests.core.providers.examples import CATALOGUE
from tests.factories import capture, updated
from tests.ui.drawn import Drawn, drawn
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import activate, until

NAMES = {"stripe": "Stripe"}
MINUTE = 60_000_000


def said(**fields: Any) -> str:
    fields = {"target": "/catch/x", "read": True, "gist": "JSON · a", "received_at": now_us() - 2 * MINUTE, **fields}
    return row_text(capture(b"x" * 1_200, **fields).summary(), NAMES, None)


def test_a_row_is_said_in_plain_words() -> None:
    assert said() == "JSON · a, POST, 1.2 KiB, 2 minutes ago"
    known = {"provider": "stripe", "event": "invoice.paid", "delivery": DeliveryState.DELIVERED, "read": False}
    assert said(**known) == "Unread. invoice.paid from Stripe, POST, 1.2 KiB, 2 minutes ago, forwarded"
    marked = said(starred=True, note="look", target="/catch/x/orders", delivery=DeliveryState.FAILED, complete=False)
    assert marked == "Starred. Has a note. JSON · a, POST, /orders, 1.2 KiB, cut off, 2 minutes ago, forwarding failed"
    assert said(delivery=DeliveryState.QUEUED).endswith(", waiting to be forwarded")
    assert said(received_at=now_us()).endswith(", just now")
    assert said(received_at=now_us() - 9_500_000).endswith(", 9 seconds ago")
    empty = capture(b"", target="/catch/x", gist="no body", read=True, received_at=now_us()).summary()
    assert row_text(empty, NAMES, None) == "no body, POST, just now"
    assert row_text(empty, NAMES, {1: "Orders"}) == "no body, POST, endpoint Orders, just now"
    assert "\u202e" not in said(method="\u202ex", gist="\u202e")


def test_a_request_is_named_alike_where_there_is_no_list() -> None:
    known = capture(target="/catch/x", provider="stripe", event="invoice.paid").summary()
    assert name_of(known) == "POST invoice.paid"
    assert name_of(capture(target="/catch/x/a?b=1", gist="form · c").summary()) == "POST form · c /a?b=1"
    assert name_of(capture(target="/catch/x/a", gist="/a", method="GET").summary()) == "GET /a"


async def test_screen_readers_are_told_which_endpoint_only_where_all_are_listed(tmp_path: Path) -> None:
    async with open_page(tmp_path, name="Orders") as shown:

        def text() -> str:
            return str(shown.model.data(shown.model.index(0), Qt.ItemDataRole.AccessibleTextRole))

        # It is opened by itself, which marks it read soon.
        await shown.add(target="/catch/x", provider="stripe", event="invoice.paid", read=True)
        await until(lambda: shown.model.rowCount() == 1)
        assert text().startswith("invoice.paid from Stripe, POST, 2 B, ")
        shown.page.show_endpoint(None)
        await until(lambda: text().startswith("invoice.paid from Stripe, POST, endpoint Orders, 2 B, "))


async def test_what_came_appears_in_the_list_once_it_is_known(shown: PageDesk) -> None:
    later = await shown.add(target="/catch/x", gist="JSON · 2 B")
    await until(lambda: shown.model.rowCount() == 1)
    assert "JSON · 2 B" in shown.model.data(shown.model.index(0))
    shown.desk.bus.publish(updated(later.id, gist="JSON · {}"))
    assert "JSON · {}" in shown.model.data(shown.model.index(0))


def colours(picture: QImage, rect: QRect) -> set[int]:
    ratio = picture.devicePixelRatio()
    xs = range(int(rect.left() * ratio), int(rect.right() * ratio))
    ys = range(int((rect.top() + 2) * ratio), int((rect.bottom() - 2) * ratio))
    return {picture.pixel(x, y) for x in xs for y in ys}


def ink(shown: PageDesk, row: int, left: int, right: int) -> bool:
    """Whether anything but its ground is painted between these places of a row."""
    whole = shown.list.visualRect(shown.model.index(row))
    picture = shown.list.viewport().grab().toImage()
    return len(colours(picture, QRect(whole.left() + left, whole.top(), right - left, whole.height()))) > 1


def row(shown: PageDesk, number: int) -> Drawn:
    """Without the pointer, which another test may have left there."""
    QApplication.sendEvent(shown.list.viewport(), QEvent(QEvent.Type.Leave))
    return drawn(shown.list.viewport(), shown.list.visualRect(shown.model.index(number)))


async def test_a_row_draws_what_came_in_and_how_it_is_marked(shown: PageDesk) -> None:
    theme, at = shown.desk.theme, now_us() - 2 * MINUTE
    known = await shown.add(b"x" * 1_200, provider="stripe", event="invoice.paid", target="/catch/x", received_at=at)
    other = {"gist": "JSON · a", "complete": False, "method": "DELETE", "received_at": at + 1}
    await shown.add(target="/catch/x/orders", **other)
    await until(lambda: shown.model.rowCount() == 2)
    shown.model.change(known.id, starred=True, note="look", delivery=DeliveryState.FAILED, read=True)
    fresh, read, tokens = row(shown, 0), row(shown, 1), theme.tokens
    assert fresh.words == ["DEL", "2m", "cut off", "JSON · a", "/orders"]
    assert read.words == ["POST", "2m", "1.2 KiB", "invoice.paid", "Stripe"]
    assert (fresh.text("JSON · a").bold, read.text("invoice.paid").bold) == (True, False)
    assert (fresh.text("JSON · a").colour, read.text("invoice.paid").colour) == (tokens.text_muted, tokens.text)
    assert (fresh.text("cut off").colour, read.text("1.2 KiB").colour) == (tokens.warning, tokens.text_muted)
    (dot,) = fresh.grounds_of(tokens.accent)
    assert dot.right() < fresh.text("DEL").at.x() < fresh.text("JSON · a").at.x() < fresh.text("cut off").at.x()
    assert not read.grounds_of(tokens.accent)
    assert read.lines_of(tokens.border), "a line below it"
    assert fresh.pictures == []
    age_ends = read.text("2m").at.x() + QFontMetrics(ui_font(SMALL)).horizontalAdvance("2m")
    assert MARGIN / 2 < shown.list.viewport().width() - age_ends < 2 * MARGIN
    wanted = (("note", "text_muted"), ("starred", "warning_fill"), ("failed", "danger"))
    in_order = sorted(read.pictures, key=lambda one: one.rect.left())[1:]  # the provider's mark is the first
    for picture, name in zip(in_order, wanted, strict=True):
        assert picture.shows(theme.pixmap(*name, metrics.ICON, 1.0)), name
        assert read.text("invoice.paid").at.x() < picture.rect.left() < read.text("1.2 KiB").at.x(), name


async def test_a_chosen_row_offers_its_star_and_shows_where_the_keyboard_is(shown: PageDesk) -> None:
    await shown.add(target="/catch/x", gist="a", read=True)
    await shown.add(target="/catch/x", gist="b", read=True)
    await until(lambda: shown.model.rowCount() == 2)
    await activate(shown.page)
    shown.list.setFocus()
    shown.list.select_row(1)
    tokens = shown.desk.theme.tokens
    other, chosen = row(shown, 0), row(shown, 1)
    assert chosen.grounds_of(tokens.selection) == [QRectF(shown.list.visualRect(shown.model.index(1)))]
    assert [bar.left() for bar in chosen.grounds_of(tokens.accent)] == [0]
    assert not other.grounds_of(tokens.selection) + other.grounds_of(tokens.accent)
    (star,) = chosen.pictures
    assert star.shows(shown.desk.theme.pixmap("star", "text_faint", metrics.ICON, 1.0))
    assert other.pictures == []
    shown.page.filter.bar.line.setFocus()
    assert not row(shown, 1).grounds_of(tokens.accent), "the keyboard is elsewhere"


async def test_titles_stand_below_each_other_and_only_known_senders_have_a_mark(shown: PageDesk) -> None:
    await shown.add(target="/catch/x", provider="stripe", event="invoice.paid")
    await shown.add(target="/catch/x", gist="JSON · a")
    await until(lambda: shown.model.rowCount() == 2)
    assert ink(shown, 1, 80, 98)
    assert not ink(shown, 0, 76, 105)
    assert ink(shown, 0, 106, 112)
    assert ink(shown, 1, 106, 112)


async def test_nothing_is_drawn_where_nothing_is_forwarded(shown: PageDesk) -> None:
    await shown.add(target="/catch/x", gist="a", delivery=DeliveryState.FAILED)
    await shown.add(target="/catch/x", gist="a")
    await until(lambda: shown.model.rowCount() == 2)
    star = shown.list.request_delegate.star_rect(shown.list.visualRect(shown.model.index(0)))
    place = star.right() + 1, star.right() + 23
    assert ink(shown, 1, *place)
    assert not ink(shown, 0, *place)


@pytest.mark.qt_log_ignore("This plugin does not support raise")
async def test_the_star_says_what_it_does(shown: PageDesk) -> None:
    await shown.add(target="/catch/x", gist="JSON · a")
    await until(lambda: shown.model.rowCount() == 1)
    delegate, index = shown.list.request_delegate, shown.model.index(0)
    option = QStyleOptionViewItem()
    option.rect = shown.list.visualRect(index)

    def tip(place: QPoint) -> str:
        asked = QHelpEvent(QHelpEvent.Type.ToolTip, place, shown.list.mapToGlobal(place))
        assert delegate.helpEvent(asked, shown.list, option, index)
        text = QToolTip.text()
        QToolTip.hideText()
        return text

    assert "Star (S)" in tip(delegate.star_rect(option.rect).center())
    assert "POST /catch/x" in tip(option.rect.center() - QPoint(100, 0))
    shown.model.change(shown.model.summary(0).id, starred=True)
    assert "Remove star (S)" in tip(delegate.star_rect(option.rect).center())
    shown.model.change(shown.model.summary(0).id, starred_by="Ann")
    assert "Starred by Ann\nRemove star (S)" in tip(delegate.star_rect(option.rect).center())


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: str(tokens.name))
def test_marks_are_seen_and_read_on_every_ground(tokens: Tokens) -> None:
    for mark in CATALOGUE.marks.values():
        ground = ground_of(mark.colour, tokens)
        assert contrast(LETTERS, ground) >= 4.5
        for behind in (tokens.surface, tokens.hover, tokens.selection):
            assert contrast(ground, behind) >= 1.35, f"{mark} on {behind}"


async def test_a_mark_is_drawn_once_for_each_theme_and_scale() -> None:
    marks = ProviderMarks({"stripe": ProviderMark(monogram="St", colour="#635bff")})
    one = marks.pixmap("stripe", LIGHT, 1.0)
    assert marks.pixmap("stripe", LIGHT, 1.0) is one
    sharp = marks.pixmap("stripe", DARK, 1.5)
    assert (one.width(), sharp.width()) == (18, 27)
    assert len(colours(one.toImage(), QRect(0, 0, 18, 18))) > 3
    assert not marks.pixmap("gone-from-the-catalogue", LIGHT, 1.0).isNull()


@pytest.mark.usefixtures("each_font")
async def test_a_line_below_the_name_says_how_long_requests_are_kept_and_where_they_go(tmp_path: Path) -> None:
    target = "http://localhost:3000/" + "hooks/" * 40
    async with open_page(tmp_path) as shown:
        header, endpoints = shown.page.header, shown.desk.store.endpoints
        assert header.facts.text() == "Kept 7 days · not forwarded"
        assert not header.target.isVisible()
        made = await shown.desk.endpoint(forward_url=target, retention_days=1)
        shown.page.show_endpoint(made.id)
        assert (header.facts.text(), header.target.text()) == ("Kept 1 day · forwards to", target)
        shown.page.grab()
        assert header.target.shown_text() != target
        assert header.target.shown_text().startswith("http://local")
        assert target[:80] in header.target.toolTip()
        for number in range(2):
            await shown.desk.store.targets.create(made.id, TargetDraft(url=f"http://localhost:{number + 1}"))
        await until(lambda: header.target.text() == f"{target} and 2 more targets")
        assert header.target.shown_text().startswith("http://")
        assert header.target.shown_text().endswith("/ and 2 more targets")
        header.target.resize(150, header.target.height())
        assert re.fullmatch(r"http.*….* \+2", header.target.shown_text())
        await endpoints.update(made.id, replace(made.draft(), active=False))
        await until(lambda: header.facts.text() == "Switched off · kept 1 day · forwards to")
        shown.page.show_endpoint(None)
        assert not header.facts.isVisible()
        assert not header.target.isVisible()
