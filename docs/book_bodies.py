"""The chapter of bodies: each kind in the view that Hookline takes for it, and the ways to look into one."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest

from app.core.model import Endpoint
from app.ui.inspector.body.parts_view import PartsView
from app.ui.inspector.request_view import BODY, HEADERS, QUERY, TOKENS
from docs.book import SIZES, Book
from docs.book_samples import bodies
from docs.picture_data import odd

AT_BOTH = {"json-tree", "xml", "multipart", "jpeg", "hostile", "hex"}


async def draw(book: Book, partner: Endpoint) -> None:
    """All bodies, sent to `partner`."""
    kinds = bodies()
    await book.fill(partner, odd(book.rng), minutes=50)
    await book.fill(partner, [request for _, _, request in kinds])
    await book.show(partner)
    for name, view, request in kinds:
        await book.open(f"{request.path}")
        if view:
            await book.view(view)
        if name == "json-tree":
            _fold_some(book)
        if name == "tokens":
            await book.until("the tokens", lambda: book.detail.tabs.isTabVisible(TOKENS))
            book.detail.tabs.setCurrentIndex(TOKENS)
        await book.save(f"body-{name}", SIZES if name in AT_BOTH else SIZES[:1])
        book.detail.tabs.setCurrentIndex(BODY)
    await book.open("HEAD")
    await book.save("body-empty")
    await _multipart_parts(book)
    await _found(book)
    await _marked_pairs(book)


def _fold_some(book: Book) -> None:
    tree = book.detail.body.tree.view
    tree.expandAll()
    root = tree.model().index(0, 0, QModelIndex())
    for row in range(tree.model().rowCount(root)):
        index = tree.model().index(row, 0, root)
        if index.data() in ("lines", "history"):
            tree.collapse(index)
    tree.setCurrentIndex(tree.model().index(3, 0, root))
    tree.setFocus()


async def _multipart_parts(book: Book) -> None:
    await book.open("/upload")
    parts = book.detail.body.stack.currentWidget()
    assert isinstance(parts, PartsView)
    await book.until("the parts", lambda: parts.count.text() == "4 parts")
    for name, number in (("parts", 1), ("parts-json", 2)):
        parts.cards.go_to(number)
        card = parts.cards.cards[number]
        await book.until("the part", lambda: card.part is not None)  # noqa: B023 - awaited in the loop
        card.toggle()
        await book.until("its view", lambda: "auto" in card.pane.facts.whole_text())  # noqa: B023
        await book.save(name, SIZES)
        card.toggle()


async def _found(book: Book) -> None:
    await book.open("/deliver.js")
    book.detail.body.open_find()
    QTest.keyClicks(book.detail.body.find_bar.field, "order")
    await book.until("what was found", lambda: " of " in book.detail.body.find_bar.count.text())
    await book.save("body-find")
    QTest.keyClick(book.detail.body.find_bar.field, Qt.Key.Key_Escape)


async def _marked_pairs(book: Book) -> None:
    """Headers and the query with marks of what was filtered for."""
    bar = book.page.filter.bar
    for name, text, part, tab in (
        ("headers-marked", "header:user-agent~partner", "/orders/8", HEADERS),
        ("query-marked", "challenge", "hub.mode", QUERY),
        ("body-marked", "path:deliver order", "/deliver.js", BODY),
    ):
        bar.set_text(text)
        await book.until(text, lambda: not book.page.feed.search.busy)
        await book.open(part)
        book.detail.tabs.setCurrentIndex(tab)
        await book.save(name)
    bar.clear()
    book.detail.tabs.setCurrentIndex(BODY)
