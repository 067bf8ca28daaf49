"""Rows and detail say who sent a request and which event it is, or what came, as plain text and as soon as known."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QFont, QFontMetrics, QImage, QPainter, QPixmap

from app.core.bodies.gist import gist
from app.core.model import Capture
from app.core.text import Title, title_of
from app.ui.inspector.request_view import INFO
from app.ui.requests.list.delegate import GAP, TitlePainter, tooltip
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.tokens import LIGHT
from tests.core.gist.samples import KINDS, Kind
from tests.factories import capture, updated
from tests.ui.requests.page_desk import PageDesk
from tests.ui.waiting import until

NAMES = {"stripe": "Stripe"}


def test_a_row_is_called_by_its_event_or_by_what_came() -> None:
    def title(target: str, **fields: object) -> Title:
        return title_of(capture(target=target, gist="JSON · a", **fields).summary(), NAMES)

    assert title("/catch/x") == Title(main="JSON · a", sender="", path="")
    assert title("/catch/x/") == Title(main="JSON · a", sender="", path="")
    assert title("/catch/x/a") == Title(main="JSON · a", sender="", path="/a")
    assert title("/catch/x?q=1") == Title(main="JSON · a", sender="", path="?q=1")
    assert title("/catch/x", provider="stripe") == Title(main="JSON · a", sender="Stripe", path="")
    assert title("/catch/x/a", provider="stripe") == Title(main="JSON · a", sender="Stripe", path="/a")
    known = {"provider": "stripe", "event": "invoice.paid"}
    assert title("/catch/x", **known) == Title(main="invoice.paid", sender="Stripe", path="", is_event=True)
    assert title("/catch/x/a", **known) == Title(main="invoice.paid", sender="Stripe", path="/a", is_event=True)
    assert title("/catch/x", provider="gone-from-the-catalogue").sender == "gone-from-the-catalogue"
    only_path = capture(target="/catch/x/orders/7", gist="/orders/7").summary()
    assert title_of(only_path, NAMES) == Title(main="/orders/7", sender="", path="")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.gist)
def test_no_row_is_called_a_slash(kind: Kind) -> None:
    fields = {"method": kind.method, "target": kind.target, "content_type": kind.type}
    told = gist(kind.method, kind.target, kind.all_headers, kind.type, kind.body, size=len(kind.body))
    title = title_of(capture(kind.body, gist=told, **fields).summary(), {})
    assert title.main not in ("", "/")
    assert title.path != "/"


def test_what_senders_call_their_events_is_plain_text() -> None:
    summary = capture(provider="stripe", event="<b>\x1b[31m\u202egpj").summary()
    assert title_of(summary, NAMES).main == "<b>\\x1b[31m\\u202egpj"
    hostile = capture(gist="a\u202eb").summary()
    assert title_of(hostile, NAMES).main == "a\\u202eb"
    assert tooltip(summary, NAMES).split("\n")[0] == "<b>\\x1b[31m\\u202egpj · Stripe"


@pytest.mark.usefixtures("each_font")
def test_an_event_is_whole_rather_than_cut_for_a_scrap_of_its_path() -> None:
    """As in a narrow list: it has room for the event and four characters."""
    painter = TitlePainter()
    event = QFontMetrics(ui_font(BASE, QFont.Weight.DemiBold)).horizontalAdvance("invoice.paid")
    width = event + GAP + QFontMetrics(mono_font(SMALL)).horizontalAdvance("/eu") + 4

    def drawn(path: str) -> QImage:
        picture = QImage(width, 32, QImage.Format.Format_RGB32)
        picture.fill(QColor("white"))
        pen = QPainter(picture)
        painter.paint(pen, picture.rect(), Title("invoice.paid", "", path, is_event=True), bold=True, tokens=LIGHT)
        pen.end()
        return picture

    assert drawn("/catch/billing") == drawn("")
    assert drawn("/eu") != drawn("/us") != drawn(""), "whole paths stay"


async def test_a_title_stays_in_its_room() -> None:
    painted = TitlePainter()
    titles = (
        Title(main="invoice.paid" * 20, sender="Standard Webhooks" * 9, path="/a" * 99),
        Title(main="a", sender="Zoom", path="/b"),
    )
    for width in (0, 1, 39, 60, 200, 900):
        for title in titles:
            picture = QPixmap(1000, 32)
            picture.fill(QColor("white"))
            painter = QPainter(picture)
            painted.paint(painter, QRect(0, 0, width, 32), title, bold=True, tokens=LIGHT)
            painter.end()
            right = picture.copy(width + 12, 0, 1000 - width - 12, 32).toImage()
            assert all(
                right.pixelColor(x, y) == QColor("white") for x in range(0, right.width(), 3) for y in (12, 16, 20)
            )


async def test_detail_and_info_tell_the_sender(shown: PageDesk) -> None:
    known = await shown.add(provider="stripe", event="invoice.paid", delivery_id="evt_1")
    await shown.add(gist="JSON · 2 B")
    await until(lambda: shown.model.rowCount() == 2)
    shown.page.open_request(known.id)
    await until(lambda: shown.detail.capture is not None and shown.detail.capture.id == known.id)
    assert shown.detail.header.title.text() == "invoice.paid · Stripe"
    shown.detail.tabs.setCurrentIndex(INFO)
    rows = dict(cells for cells in shown.detail.view.info.pairs.records())
    assert (rows["Provider"], rows["Event"], rows["Delivery ID"]) == ("Stripe", "invoice.paid", "evt_1")
    shown.page.open_request(shown.model.summary(0).id)
    await until(lambda: shown.detail.header.title.text() == "JSON · 2 B")
    assert not shown.page.grab().isNull()


@pytest.mark.usefixtures("each_font")
async def test_the_title_of_a_long_summary_still_tells_the_sender(shown: PageDesk) -> None:
    title = shown.detail.header.title
    known = await shown.add(provider="stripe", gist="JSON · " + "a_long_key, " * 20)
    await until(lambda: shown.model.rowCount() == 1)
    shown.page.open_request(known.id)
    await until(lambda: shown.detail.capture is not None)
    title.resize(300, title.height())
    assert re.fullmatch(r"JSON · a_long.*… · Stripe", title.shown_text())
    assert not title.grab().isNull()
    assert title.toolTip().endswith(" · Stripe")
    title.resize(60, title.height())
    assert title.shown_text().startswith("J")


async def identify(shown: PageDesk, request: Capture) -> None:
    """As a paid invoice of Stripe."""

    def note(database: object) -> None:
        execute = database.connection().execute  # type: ignore[attr-defined]
        execute("UPDATE capture SET provider = 'stripe', event = 'invoice.paid' WHERE id = ?", (request.id,))

    await shown.desk.store._writer.run(note)
    shown.desk.bus.publish(updated(request.id, provider="stripe", event="invoice.paid"))


async def test_what_is_found_out_later_appears_in_list_and_detail(shown: PageDesk) -> None:
    later = await shown.add(gist="JSON · 2 B", identified=False)
    await until(lambda: shown.model.rowCount() == 1)
    shown.page.open_request(later.id)
    await until(lambda: shown.detail.capture is not None)
    assert shown.detail.header.title.text() == "JSON · 2 B"
    await identify(shown, later)
    assert shown.model.summary(0).event == "invoice.paid"
    assert "invoice.paid from Stripe" in shown.model.data(shown.model.index(0))
    await until(lambda: shown.detail.header.title.text() == "invoice.paid · Stripe")


@pytest.mark.parametrize("text", ["provider:stripe", "event:invoice.paid"])
async def test_a_search_finds_what_is_identified_later(text: str, shown: PageDesk) -> None:
    await shown.add(identified=False)
    later = await shown.add(identified=False)
    shown.page.filter.bar.set_text(text)
    await until(lambda: not shown.feed.search.busy and not shown.model.rowCount())
    await identify(shown, later)
    await until(lambda: shown.ids() == [later.id])
