"""The chapter of finding: the filter above the list, the chart, the palette."""

from __future__ import annotations

import asyncio
from functools import partial

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from app.core.activity import Span
from app.core.model import Endpoint
from app.db.search import search
from app.ui.commands.shortcuts_dialog import ShortcutsDialog
from app.ui.requests.list.pager import TimeRange
from app.ui.requests.saved_filters import NameDialog
from docs import picture_data
from docs.book import SIZES, SMALL, Book


async def draw(book: Book, stripe: Endpoint, shopify: Endpoint) -> None:
    """All of it, on the requests of `stripe`; those of `shopify` have failed deliveries."""
    book.page.filter.bar.saved.filters.save("Failed payments", "provider:stripe event:charge.failed since:7d")
    book.page.filter.bar.saved.filters.save("Slow responses", "time:>1s")
    await book.show(stripe)
    await book.open("POST")
    await _filter(book)
    await _slow(book, stripe)
    await _select_all(book)
    await _chart(book, stripe, shopify)
    await _palette(book, stripe)


async def _filter(book: Book) -> None:
    bar = book.page.filter.bar
    bar.set_text('event:charge.failed since:2h -is:starred "customer"')
    await book.until("what was found", lambda: not book.page.feed.search.busy)
    await book.counted()
    await book.open("POST")
    book.page.show_list()
    await book.save("filter", SIZES)
    bar.saved.open_menu()
    await book.save("filter-saved", before=partial(_open_saved, book))
    book.close_menus()
    bar.saved.save_requested.emit()
    await asyncio.sleep(0.1)
    await book.save("filter-save")
    book.dialog(NameDialog).reject()
    for name, text in (("names", "s"), ("values", "method:")):
        bar.line.setFocus()
        bar.line.clear()
        QTest.keyClicks(bar.line, text)
        await asyncio.sleep(0.3)
        bar.line.suggestions.move_by(1)
        await book.save(f"filter-{name}", before=partial(_offer, book))
    bar.line.suggestions.hide()
    for name, text in (("wrong", 'event:charge.failed metod:POST "customer"'), ("nothing", "event:dispute.created")):
        bar.set_text(text)
        await asyncio.sleep(0.7)
        await book.save(f"filter-{name}", SIZES)
    bar.clear()
    await book.counted()


def _open_saved(book: Book) -> None:
    book.close_menus()
    book.page.filter.bar.saved.open_menu()


def _offer(book: Book) -> None:
    """A window that changes its size leaves the list where it was."""
    line = book.page.filter.bar.line
    line.suggestions.hide()
    line.suggestions_requested.emit()
    line.suggestions.move_by(1)


async def _slow(book: Book, stripe: Endpoint) -> None:
    """A search that takes long: one request at a time is looked at, as if there were a million."""
    steps = {name: getattr(search, name) for name in ("FIRST_ROWS", "LEAST_ROWS", "MOST_ROWS")}
    await book.fill(stripe, [picture_data.stripe(book.rng) for _ in range(500)], minutes=50)
    for name in steps:
        setattr(search, name, 1)
    every, search.PROGRESS_S = search.PROGRESS_S, 0.0
    try:
        await book.show(stripe)
        book.page.filter.bar.set_text("/customer9[0-9]7@never/")
        await book.until("a long search", lambda: book.page.feed.search.searched > 60)
        await asyncio.sleep(0.3)
        await book.save("filter-searching")
        QTest.keyClick(book.page.filter.bar.line, Qt.Key.Key_Escape)
        await book.save("filter-stopped")
    finally:
        search.PROGRESS_S = every
        for name, rows in steps.items():
            setattr(search, name, rows)
    book.page.filter.bar.clear()
    await book.counted()


async def _select_all(book: Book) -> None:
    """More than is loaded: the rest is offered, and taken."""
    page = book.page
    page.list.selectAll()
    await book.until("the offer", page.list_footer.bar.select_all.isVisible)
    await book.save("select-all-offered")
    page.select_all.select()
    await book.until("all to be selected", lambda: page.select_all.requests is not None)
    await book.save("select-all")
    page.commands.clear_selection()


async def _chart(book: Book, stripe: Endpoint, shopify: Endpoint) -> None:
    strip = book.page.activity
    await book.save("chart-hover", before=partial(_hover, book))
    QToolTip.hideText()
    QApplication.sendEvent(book.page.activity.chart, QEvent(QEvent.Type.Leave))
    edges = strip.source.axis.edges
    strip.chart.range_selected.emit(TimeRange(start=edges[len(edges) * 3 // 8], end=edges[len(edges) * 5 // 8]))
    await asyncio.sleep(0.5)
    await book.open("POST")
    book.page.show_list()
    await book.save("chart-chosen", SIZES)
    strip.clear()
    strip.set_span(Span.DAY)
    await book.counted()
    await book.save("chart-day")
    strip.set_span(Span.HOUR)
    strip.set_open(False)
    await book.save("chart-folded")
    strip.set_open(True)
    await book.show(shopify)
    await book.open("POST")
    book.page.show_list()
    await book.save("chart-failures")


def _hover(book: Book) -> None:
    chart = book.page.activity.chart
    QTest.mouseMove(chart, QPoint(chart.width() * 4 // 9 + 3, chart.height() // 2))
    QTest.mouseMove(chart, QPoint(chart.width() * 4 // 9, chart.height() // 2))


async def _palette(book: Book, stripe: Endpoint) -> None:
    palette = book.window.commands.palette
    await book.show(stripe)
    await book.open("POST")
    palette.open()
    for name, text in (("", ""), ("-matches", "copy"), ("-endpoints", "st"), ("-filter", "method:POST since:2h")):
        palette.field.setText(text)
        await book.save(f"palette{name}", SIZES if not name else SMALL)
    palette.field.setText("card declined")
    await book.save("palette-words")
    palette.dismiss()
    book.window.commands.open_shortcuts()
    await book.save("shortcuts", SIZES)
    book.dialog(ShortcutsDialog).reject()
