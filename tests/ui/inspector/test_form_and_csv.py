"""Forms and comma-separated values as tables: grouped, copied, shown in full and decoded; large ones load in steps."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QItemSelectionModel, QModelIndex, QRect, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QTableView, QTreeView

from app.core.errors import StorageUnavailableError
from app.ui.inspector.body.body_source import BodySource
from app.ui.inspector.body.csv_table import CsvTable
from app.ui.inspector.body.form_table import FormTable
from app.ui.inspector.body.value_decoder import ValuePanel
from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import activate, notice, settle, until

FORM = "application/x-www-form-urlencoded"
CTRL = Qt.KeyboardModifier.ControlModifier


def clipboard() -> str:
    return QGuiApplication.clipboard().text()


async def open_form(shown: PageDesk, body: bytes, content_type: str = FORM) -> FormTable:
    await open_body(shown, body, content_type)
    table = shown.detail.body.lazy_views.view("form-table")
    assert isinstance(table, FormTable)
    await until(lambda: shown.detail.body.stack.currentWidget() is table)
    await until(lambda: table.view.fields.tree is not None or table.reason.text())
    return table


async def open_csv(shown: PageDesk, body: bytes, content_type: str = "text/csv", **fields: Any) -> CsvTable:
    await open_body(shown, body, content_type, **fields)
    table = shown.detail.body.lazy_views.view("csv-table")
    assert isinstance(table, CsvTable)
    await until(lambda: shown.detail.body.stack.currentWidget() is table)
    await until(lambda: "column" in table.summary.text() and "loading" not in table.summary.text())
    return table


async def panel_of(shown: PageDesk) -> ValuePanel:
    await until(lambda: shown.detail.body.values.panel is not None and shown.detail.body.values.panel.isVisible())
    panel = shown.detail.body.values.panel
    assert panel is not None
    return panel


async def test_a_form_is_a_table_with_groups(tmp_path: Path) -> None:
    nested = base64.b64encode(json.dumps({"who": "ann"}).encode()).decode()
    sent = f"user[name]=Ann+Lee&id=7&user[tags][]=a&user[tags][]=b&data={nested}&created_at=1700000000&id=%ff%zz"

    async with open_page(tmp_path) as shown:
        table = await open_form(shown, sent.encode())
        assert shown.detail.body.views.current() == "table"
        assert shown.detail.body.facts.text().startswith("Form ·")
        view, model = table.view, table.view.fields
        QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning, view)
        top = [model.index(row, 0).data() for row in range(model.rowCount())]
        assert top == ["user", "id", "data", "created_at", "id"]
        user = model.index(0, 0)
        assert user.siblingAtColumn(1).data() == "2 fields"
        assert view.isExpanded(user)
        assert (view.currentIndex().row(), view.selectedIndexes()) == (0, [])  # the keys begin at the first
        name = model.index(0, 1, user)
        assert (name.data(), name.siblingAtColumn(2).data()) == ("Ann Lee", "user[name]=Ann+Lee")
        assert model.index(4, 1).data() == "%ff%zz"
        assert "2023-11-14 22:13:20 UTC" in model.index(3, 1).data(Qt.ItemDataRole.ToolTipRole)
        await activate(shown.page)
        view.setFocus()
        view.setCurrentIndex(user)
        QTest.keyClick(view, Qt.Key.Key_C, CTRL)
        await until(lambda: clipboard() == "user[name]: Ann Lee\nuser[tags][]: a\nuser[tags][]: b")
        view.copy_sent()
        assert clipboard() == "user[name]=Ann+Lee&user[tags][]=a&user[tags][]=b"
        QTest.keyClick(view, Qt.Key.Key_Return)
        assert not view.isExpanded(user)
        view.setCurrentIndex(model.index(2, 0))
        view.copy_values()
        assert clipboard() == nested
        QTest.keyClick(view, Qt.Key.Key_Return)
        panel = await panel_of(shown)
        assert (panel.title.text(), panel.code.toPlainText()) == ("data", nested)
        QTest.keyClick(view, Qt.Key.Key_E, CTRL)
        await until(lambda: '"ann"' in panel.code.toPlainText())
        panel.close_button.click()
        await until(view.hasFocus)
        double_click(view, user)
        assert view.isExpanded(user)
        double_click(view, user)
        assert not view.isExpanded(user)
        double_click(view, model.index(1, 1))
        assert (await panel_of(shown)).title.text() == "id"
        panel.close_button.click()
        for row, keys in ((1, Qt.KeyboardModifier.NoModifier), (3, CTRL)):
            place = view.visualRect(model.index(row, 0)).center()
            QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, keys, place)
        view.copy_rows()
        assert clipboard() == "id: 7\ncreated_at: 1700000000"
        actions = {action.text(): action for action in view.actions()}
        assert list(actions) == ["Show value", "Decode value", "Copy value", "Copy name and value", "Copy as sent"]
        actions["Show value"].trigger()
        assert (await panel_of(shown)).title.text() == "created_at"
        assert not table.grab().isNull()


def double_click(view: QTreeView, row: QModelIndex) -> None:
    """As the system tells of it: press and release, then the second press."""
    place = view.visualRect(row).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)


def first_ink(image: QImage, rect: QRect) -> int:
    """The leftmost column of pixels in `rect` that is not empty."""
    empty = image.pixel(rect.topLeft())
    return next(
        x
        for x in range(rect.left(), rect.right() + 1)
        if any(image.pixel(x, y) != empty for y in range(rect.top(), rect.bottom() + 1))
    )


@pytest.mark.parametrize("kind", ["form", "csv"])
async def test_the_titles_stand_above_the_text_of_their_columns(kind: str, shown: PageDesk) -> None:
    if kind == "form":
        view: QTreeView | QTableView = (await open_form(shown, b"N=V&M=W")).view
        header = view.header()
    else:
        view = (await open_csv(shown, b"N,V\nN,V\nN,V\n")).view
        header = view.horizontalHeader()
    view.clearFocus()
    await settle()
    names, cells = header.viewport().grab().toImage(), view.viewport().grab().toImage()
    for column in (0, 1):
        left, width = header.sectionViewportPosition(column), header.sectionSize(column)
        title = first_ink(names, QRect(left + 2, 4, width - 4, header.height() - 8))
        cell = view.visualRect(view.model().index(0, column)).adjusted(2, 2, -2, -2)
        assert abs(title - first_ink(cells, cell)) <= 1


@pytest.mark.parametrize("kind", ["form", "csv"])
async def test_a_value_shown_below_does_not_hide_its_row_and_what_was_scrolled_away_stays_away(
    kind: str, shown: PageDesk
) -> None:
    if kind == "form":
        view: QTreeView | QTableView = (await open_form(shown, b"a=1&" * 200)).view
    else:
        view = (await open_csv(shown, b"a,b\n" * 200)).view
    await activate(shown.page)
    view.setFocus()
    view.setCurrentIndex(view.indexAt(view.viewport().rect().bottomLeft()))
    QTest.keyClick(view, Qt.Key.Key_Return)
    await panel_of(shown)
    await settle()
    assert view.viewport().rect().contains(view.visualRect(view.currentIndex()).center())
    view.scrollToBottom()
    before = view.verticalScrollBar().value()
    shown.page.resize(shown.page.width(), shown.page.height() - 20)
    await settle()
    assert view.verticalScrollBar().value() == before


async def test_the_columns_of_a_form_fill_the_width_until_the_user_resizes_them(shown: PageDesk) -> None:
    view = (await open_form(shown, b"a_long_name_of_a_field=1&b=2")).view
    header = view.header()

    async def fit(width: int) -> bool:
        """Whether no column is cut, as it would be with a scroll bar, and each has its share."""
        shown.page.resize(width, 700)
        await settle()
        name, value, sent = map(header.sectionSize, range(3))
        return name + value + sent == view.viewport().width() and name >= view.sizeHintForColumn(0) and value > sent

    assert await fit(1300)
    assert await fit(1100)
    header.resizeSection(1, 100)
    assert not await fit(1300)
    assert header.sectionSize(1) == 100
    await open_form(shown, b"a=1&b=2")
    assert await fit(1200)
    await open_form(shown, b"n" * 300 + b"=1")
    assert header.sectionSize(0) < view.viewport().width() / 2


@pytest.mark.slow
async def test_a_form_of_many_fields_and_one_with_too_many(monkeypatch: pytest.MonkeyPatch, shown: PageDesk) -> None:
    many = "&".join(f"field{number}={number}" for number in range(10_000))
    table = await open_form(shown, many.encode())
    assert table.view.fields.rowCount() == 10_000
    table.view.scrollToBottom()
    assert not table.grab().isNull()
    monkeypatch.setattr("app.ui.inspector.body.form_table.FIELDS_MAX", 100)
    table = await open_form(shown, b"a=&" * 101)
    assert "too many for a table" in table.reason.text()
    # Find is for lines; what was chosen for this type stays.
    shown.detail.open_find()
    await until(lambda: shown.detail.body.stack.currentWidget() is shown.detail.body.code)
    assert shown.detail.body.views.current() == "pretty"
    await open_form(shown, b"a=1&b=2")


async def test_csv_is_a_table(tmp_path: Path) -> None:
    sent = 'id;name;at\r\n1;"Lee; ""Ann""";1700000000\r\n2;"two\nlines"\r\n3;Größe;x;more\r\n'

    async with open_page(tmp_path) as shown:
        table = await open_csv(shown, sent.encode("latin-1"), "text/csv; charset=latin-1")
        view, model = table.view, table.view.rows
        assert shown.detail.body.facts.text().startswith("CSV ·")
        assert table.summary.text() == "3 rows · 4 columns · separated by semicolon"
        titles = [model.headerData(at, Qt.Orientation.Horizontal) for at in range(4)]
        assert titles == ["id", "name", "at", "4"]
        assert model.index(0, 1).data() == 'Lee; "Ann"'
        assert model.index(1, 1).data() == "two\\nlines"
        assert model.index(1, 2).data() is None  # a row that is shorter has no cell there
        assert model.index(2, 1).data() == "Größe"
        assert "UTC" in model.index(0, 2).data(Qt.ItemDataRole.ToolTipRole)
        await activate(shown.page)
        view.setFocus()
        view.setCurrentIndex(model.index(1, 1))
        QTest.keyClick(view, Qt.Key.Key_C, CTRL)
        await until(lambda: clipboard() == "two\nlines")
        view.selectionModel().select(model.index(0, 1), QItemSelectionModel.SelectionFlag.Select)
        view.copy_cells()
        assert clipboard() == '"Lee; ""Ann"""\n"two\nlines"'
        view.copy_rows()
        assert clipboard() == '1;"Lee; ""Ann""";1700000000\n2;"two\nlines"'
        QTest.keyClick(view, Qt.Key.Key_Return)
        panel = await panel_of(shown)
        assert (panel.title.text(), panel.code.toPlainText()) == ("name", "two\nlines")
        view.header_action.trigger()
        assert (model.rowCount(), model.index(0, 0).data()) == (4, "id")
        QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning, view)
        assert not table.grab().isNull()
        # Another view is one click away, and the choice holds for the next body of this type.
        shown.detail.body.views.activated.emit("text")
        await until(lambda: shown.detail.body.stack.currentWidget() is shown.detail.body.code)
        await open_body(shown, b"a,b\n1,2\n", "text/csv; charset=latin-1")
        assert shown.detail.body.views.current() == "text"


async def test_the_same_cell_is_current_when_the_first_row_becomes_a_header_or_none(shown: PageDesk) -> None:
    table = await open_csv(shown, b"name,size\nann,1\nbob,2\n" + b"eve,3\n" * 100)
    view = table.view
    view.setCurrentIndex(view.rows.index(60, 1))
    top = view.verticalScrollBar().value()
    for row in (61, 60):
        view.header_action.trigger()
        assert (view.currentIndex().row(), view.currentIndex().column()) == (row, 1)
        assert abs(view.verticalScrollBar().value() - top) <= view.rowHeight(0)
    view.setCurrentIndex(view.rows.index(0, 0))
    view.header_action.trigger()
    view.setCurrentIndex(view.rows.index(0, 1))
    view.header_action.trigger()
    view.copy_cells()
    assert clipboard() == "1"


@pytest.mark.slow
async def test_large_csv_shows_the_first_rows_and_loads_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"id,name,amount\n" + b"".join(b"%d,Name %d,%d.50\n" % (at, at, at) for at in range(30_000))

    async with open_page(tmp_path) as shown:
        table = shown.detail.body.lazy_views.view("csv-table")
        first: list[int] = []
        table.view.rows.modelReset.connect(lambda: first.append(table.view.rows.rowCount()))
        await open_csv(shown, body)
        assert 1_000 < max(first) < 20_000
        assert table.view.rows.rowCount() == 30_000
        assert table.view.rows.index(29_999, 1).data() == "Name 29999"
        table.view.selectAll()
        monkeypatch.setattr("app.ui.inspector.body.csv_table.COPY_MAX", 29_999)
        for copy, what in ((table.view.copy_cells, "cells"), (table.view.copy_rows, "rows")):
            copy()
            assert notice(table) == f"More than 29,999 {what} cannot be copied at once. Save the body instead."
        assert table.summary.text() == "30,000 rows · 3 columns · separated by comma"
        # Rows that are wider than all before them bring their columns along.
        await open_csv(shown, body + b"1,2,3,4,5\n")
        assert table.view.rows.columnCount() == 5
        shown.detail.clear()
        assert table.view.rows.rowCount() == 0


async def test_a_table_that_breaks_off_shows_what_came(shown: PageDesk) -> None:
    packed = gzip.compress(b"a,b\n1,2\n" * 999)[:-12]
    table = await open_csv(shown, packed, headers=(("Content-Encoding", "gzip"),))
    assert table.view.rows.rowCount() > 100
    assert table.summary.text().endswith("The compressed body is incomplete.")


async def test_rows_that_are_read_again_after_an_error_are_shown_once(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.ui.tasks.AGAIN_S", 0.0)
    monkeypatch.setattr("app.ui.inspector.body.body_source.READ", 1_000)
    table = await open_csv(shown, b"a,b\n")
    body, failed = b"1,2\n" * 2_000, False

    async def read(offset: int, length: int) -> bytes:
        nonlocal failed
        if offset > 6_000 and not failed:
            failed = True
            raise StorageUnavailableError("The stored requests cannot be read.")
        return body[offset : offset + length]

    shown.detail.body.show_source(BodySource(len(body), (), "text/csv", "body", read))
    await until(lambda: failed and table.summary.text() == "2,000 rows · 2 columns · separated by comma")
    await until(lambda: not shown.desk.messages.waiting())


async def test_a_filters_words_are_marked_in_tables(shown: PageDesk) -> None:
    shown.page.filter.bar.set_text('"two words"')
    table = await open_form(shown, b"a=two+words&b=x")
    await settle()
    cell = table.view.visualRect(table.view.fields.index(0, 1))
    marked = table.view.viewport().grab(cell).toImage()
    shown.page.filter.bar.clear()
    await settle()
    assert table.view.viewport().grab(cell).toImage() != marked
