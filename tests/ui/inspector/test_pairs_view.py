"""Long names and values in tables: highlighted where they are cut, shown in full in place, copied in full."""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from app.ui.inspector.pairs_view import COPY_HEADER, SHOW_ALL, PairsView, ValueField, sent_part
from app.ui.inspector.request_view import HEADERS, INFO, QUERY
from app.ui.inspector.table_tabs import TRAILERS_HEIGHT
from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import activate, settle

COOKIE = "; ".join(f"session_{number}={number:064x}" for number in range(800))[:60_000]


def copied() -> str:
    return QGuiApplication.clipboard().text()


async def open_headers(shown: PageDesk, *headers: tuple[str, str], **fields: Any) -> PairsView:
    """The table of a request with these headers, shown with the keyboard in it."""
    await open_body(shown, b"{}", "application/json", headers=headers, **fields)
    shown.detail.tabs.setCurrentIndex(HEADERS)
    await activate(shown.page)
    await settle()
    table = shown.detail.view.headers
    table.setFocus()
    return table


def link_of(table: PairsView, row: int, column: int = 1) -> QPoint:
    index = table.pairs.index(row, column)
    return table._delegate.link_rect(table.visualRect(index), index).center()


def field_of(table: PairsView, row: int, column: int = 1) -> ValueField:
    field = table.indexWidget(table.pairs.index(row, column))
    assert isinstance(field, ValueField)
    return field


async def test_the_menu_offers_all_of_a_value_where_it_is_cut(shown: PageDesk) -> None:
    shown.page.resize(1800, 700)
    table = await open_headers(shown, ("X-Short", "1"), ("X-Long", "word " * 110))

    def offered() -> bool:
        return any(action.isVisible() for action in table.actions() if action.text() == SHOW_ALL)

    row = next(at for at in range(table.pairs.rowCount()) if table.pairs.record(at)[0] == "X-Long")
    table.selectRow(row)
    for width, cut in ((1800, False), (1000, True), (1800, False), (1000, True)):
        shown.page.resize(width, 700)
        await settle()
        assert (row in table.pairs.cut, offered()) == (cut, cut)
    table.set_rows([("X-Short", "1")])
    assert not offered()


async def test_a_long_value_is_marked_and_opens_in_place(shown: PageDesk) -> None:
    table = await open_headers(shown, ("Cookie", COOKIE), ("X-Short", "v" * 200))
    assert table.pairs.cut == {1: frozenset({1})}
    low = table.rowHeight(1)
    assert low < 220
    described = table.pairs.index(1, 1).data(Qt.ItemDataRole.AccessibleDescriptionRole)
    assert described == "60,000 characters. Press Enter to show all."
    assert not table.grab().isNull()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=link_of(table, 1))
    field = field_of(table, 1)
    await settle()
    assert field.text.toPlainText() == COOKIE
    assert low < table.rowHeight(1) < 400
    assert field.text.verticalScrollBar().maximum() > 0
    field.text.selectAll()
    field.text.copy()
    assert copied() == COOKIE
    QTest.mouseClick(field.less, Qt.MouseButton.LeftButton)
    assert table.indexWidget(table.pairs.index(1, 1)) is None
    assert table.rowHeight(1) == low
    menu = {action.text(): action for action in table.actions()}
    for command, text in (("Copy value", COOKIE), (COPY_HEADER, f"Cookie: {COOKIE}")):
        menu[command].trigger()
        assert copied() == text
    # Another request has nothing open.
    table.toggle(1)
    await open_headers(shown, ("Cookie", "a=1"))
    assert [one for one in table.findChildren(ValueField) if one.isVisible()] == []


async def test_only_a_value_that_is_cut_says_that_there_is_more(shown: PageDesk) -> None:
    table = await open_headers(shown, ("X-Long", "v" * 9_000), ("X-Short", "v"))
    picture, accent = table.viewport().grab().toImage(), QColor(shown.desk.theme.tokens.accent_text)

    def has_link(row: int, column: int) -> bool:
        cell = table.visualRect(table.pairs.index(row, column))
        places = product(range(cell.left(), cell.right()), range(cell.top(), cell.bottom()))
        return any(picture.pixelColor(*place) == accent for place in places)

    assert [[has_link(row, column) for column in (0, 1)] for row in (1, 2)] == [[False, True], [False, False]]


async def test_the_keyboard_opens_and_closes_it(shown: PageDesk) -> None:
    table = await open_headers(shown, ("X-Long", "a b" * 5_000), ("X-Short", "v"))
    table.selectRow(2)
    assert not table._show_all.isVisible()
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert not table.findChildren(ValueField)
    table.selectRow(1)
    assert (table._show_all.isVisible(), table._show_all.text()) == (True, SHOW_ALL)
    QTest.keyClick(table, Qt.Key.Key_Return)
    field = field_of(table, 1)
    assert field.text.hasFocus()
    QTest.keyClick(field.text, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(field.text, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert copied() == "a b" * 5_000
    QTest.keyClick(field.text, Qt.Key.Key_Escape)
    assert table.hasFocus()
    assert table.indexWidget(table.pairs.index(1, 1)) is None
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert copied() == "X-Long: " + "a b" * 5_000


async def test_a_value_with_one_line_more_is_shown_whole(shown: PageDesk) -> None:
    table = await open_headers(shown, ("X-A", "v"))
    delegate, width = table._delegate, table.columnWidth(1) - 24
    fits = (many for many in range(10, 200) if delegate._lines("v" * many, delegate._metrics, width, 8) > 1)
    per_line = next(fits) - 1
    table = await open_headers(shown, ("X-9", "v" * per_line * 9), ("X-10", "v" * (per_line * 9 + 20)))
    assert 1 not in table.pairs.cut
    assert 2 in table.pairs.cut


async def test_what_is_hidden_in_a_value_is_copied_as_it_was_sent(tmp_path: Path) -> None:
    assert sent_part("a\x1b\n\U0001f600z", 0, 99) == "a\x1b\n\U0001f600z"
    assert sent_part("a\x1b\n\U0001f600z", 5, 9) == "\n\U0001f600"

    async with open_page(tmp_path) as shown:
        value = "<b>\x1b\u202e" + "x" * 9_000
        table = await open_headers(shown, ("X-Long", value), target="/catch/x?long=%3Cb%3E%0A" + "y" * 20_000)
        table.toggle(1)
        field = field_of(table, 1)
        assert field.text.toPlainText().startswith("<b>\\x1b\\u202exx")
        field.text.selectAll()
        field.text.copy()
        assert copied() == value
        shown.detail.tabs.setCurrentIndex(QUERY)
        await settle()
        query = shown.detail.view.query
        assert query.pairs.cut == {0: frozenset({1, 2})}
        query.toggle(0)
        assert field_of(query, 0, 1).text.toPlainText() == "<b>\\n" + "y" * 20_000
        assert field_of(query, 0, 2).text.toPlainText() == "long=%3Cb%3E%0A" + "y" * 20_000
        shown.detail.tabs.setCurrentIndex(INFO)
        await settle()
        info = shown.detail.view.info
        (row,) = info.pairs.cut
        assert info.pairs.record(row)[0] == "Target"


async def test_a_field_of_one_line_holds_more_than_qt_puts_into_one(shown: PageDesk) -> None:
    table = await open_headers(shown, ("X-A", "short"), ("X-B", "v" * 40_000))
    place = table.visualRect(table.pairs.index(1, 1)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    QTest.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    (field,) = table.findChildren(QLineEdit)
    assert field.text() == "short"
    table.closeEditor(field, table.itemDelegate().EndEditHint.NoHint)
    editor = table._delegate.createEditor(table.viewport(), None, table.pairs.index(2, 1))
    assert isinstance(editor, QLineEdit)
    assert editor.text() == "v" * 40_000
    editor.deleteLater()
    index = table.pairs.index(2, 1)
    QTest.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=table.visualRect(index).center())
    assert field_of(table, 2).text.toPlainText() == "v" * 40_000


async def test_a_column_keeps_the_width_it_was_dragged_to_while_another_tab_is_shown(shown: PageDesk) -> None:
    table = await open_headers(shown, ("X-A", "short"), ("X-B", "v" * 400))
    low = table.rowHeight(2)
    table.horizontalHeader().resizeSection(0, table.width() - 120)
    await settle()
    assert table.columnWidth(1) == table.viewport().width() - table.columnWidth(0)
    assert table.rowHeight(2) > low  # its value wraps in the room that is left
    dragged, high = table.columnWidth(0), table.rowHeight(2)
    shown.detail.tabs.setCurrentIndex(INFO)
    await settle()
    shown.detail.tabs.setCurrentIndex(HEADERS)
    await settle()
    assert (table.columnWidth(0), table.rowHeight(2)) == (dragged, high)


@pytest.mark.slow
async def test_a_huge_cookie_and_thousands_of_fields_hold_nothing_up(shown: PageDesk) -> None:
    table = await open_headers(shown, ("Cookie", COOKIE.replace(" ", "").replace(";", "")))
    began = time.thread_time()
    shown.page.resize(1_100, 700)
    await settle()
    table.grab()
    table.toggle(1)
    await settle()
    table.grab()
    assert time.thread_time() - began < 1.5
    long = "v" * 3_000
    target = "/catch/x?" + "&".join(["a=1"] * 8_000) + f"&b={long}"
    fits: list[None] = []
    shown.detail.view.query.fitted.connect(lambda: fits.append(None))
    began = time.thread_time()
    await open_body(shown, b"{}", "application/json", target=target)
    shown.detail.tabs.setCurrentIndex(QUERY)
    await settle()
    took, query = time.thread_time() - began, shown.detail.view.query
    assert 1 <= len(fits) <= 4  # not for each column: only while the scroll bar appears and the last one is stretched
    assert took < 1.5
    assert query.pairs.cut == {8_000: frozenset({1, 2})}
    assert query.rowHeight(8_000) > query.rowHeight(0)
    query.toggle(8_000)
    assert field_of(query, 8_000).text.toPlainText() == long


async def test_the_menu_copies_a_value_a_line_or_all(shown: PageDesk) -> None:
    table = await open_headers(shown, ("X-A", "1"), ("X-B", "2"))
    table.selectRow(1)
    assert table.contextMenuPolicy() is Qt.ContextMenuPolicy.ActionsContextMenu
    assert [action.text() for action in table.actions() if action.isVisible()] == [
        "Copy value",
        COPY_HEADER,
        "Copy all",
    ]
    for action, text in zip(
        table.actions()[1:], ("1", "X-A: 1", "Content-Type: application/json\nX-A: 1\nX-B: 2"), strict=True
    ):
        action.trigger()
        assert copied() == text


async def test_trailers_have_a_table_as_high_as_its_rows_below_the_headers(shown: PageDesk) -> None:
    table = await open_headers(shown, ("X-A", "1"), trailers=(("X-Sum", "9f"), ("x-done", "yes")))

    def seen() -> list[PairsView]:
        return [one for one in shown.detail.findChildren(PairsView) if one.isVisible() and one is not table]

    (trailers,) = seen()
    assert [trailers.pairs.record(row) for row in range(2)] == [("X-Sum", "9f"), ("x-done", "yes")]
    assert trailers.mapTo(shown.detail, QPoint()).y() > table.mapTo(shown.detail, QPoint()).y()
    assert 0 <= trailers.viewport().height() - sum(map(trailers.rowHeight, range(2))) < trailers.rowHeight(0)
    await open_headers(shown, ("X-A", "1"), trailers=tuple((f"X-{n}", "1") for n in range(60)))
    assert trailers.height() == TRAILERS_HEIGHT < table.height()
    await open_headers(shown, ("X-A", "2"))
    assert seen() == []


async def test_the_link_has_a_hand(shown: PageDesk) -> None:
    table = await open_headers(shown, ("X-Long", "v" * 9_000))

    def move(place: QPoint) -> Qt.CursorShape:
        none = Qt.MouseButton.NoButton
        at = table.viewport().mapToGlobal(place)
        event = QMouseEvent(QEvent.Type.MouseMove, place, at, none, none, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(table.viewport(), event)
        return table.viewport().cursor().shape()

    assert move(link_of(table, 1)) is Qt.CursorShape.PointingHandCursor
    assert move(table.visualRect(table.pairs.index(1, 1)).topLeft()) is Qt.CursorShape.ArrowCursor


async def test_a_tab_made_in_a_shown_window_looks_as_one_styled_with_it(shown: PageDesk) -> None:
    header = (await open_headers(shown, ("X-A", "v"))).horizontalHeader()
    made = header.grab().toImage()
    with shown.desk.theme.deferred_styling():
        pass  # styles all anew
    await settle()
    assert header.grab().toImage() == made
