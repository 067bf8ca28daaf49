"""Tables of records: what their columns say is what cells show, and the view has what all such tables share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme.fonts import ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.rows import (
    LEFT,
    NONE,
    RIGHT,
    TOOLTIP_MAX,
    Column,
    Rows,
    RowsList,
    RowsView,
    badge_place,
    paint_line,
)

painted: list[str] = []
Made = Callable[..., RowsList[str]]


def paint(painter: QPainter, place: QRect, path: Path) -> None:
    painted.append(path.name)


COLUMNS = (
    Column[Path]("Name", lambda path: path.name, tooltip=str, paint=paint, title_tip="Without its folder."),
    Column[Path]("Length", lambda path: str(len(path.name)), align=RIGHT),
)


class Paths(Rows[Path]):
    def __init__(self, *paths: str) -> None:
        super().__init__(COLUMNS)
        self._rows = [Path(path) for path in paths]


@pytest.fixture
def over(qtbot: QtBot) -> QWidget:
    over = QWidget()
    qtbot.addWidget(over)
    over.resize(400, 200)
    return over


@pytest.fixture
def view(over: QWidget) -> RowsView:
    rows, view = Paths("/a/b", f"/c/{NONE}", "/e/f"), RowsView("Files", over)
    rows.setParent(over)
    view.show_rows(rows, 30)
    view.resize(over.size())
    over.show()
    return view


def test_cells_and_titles(qapp: object) -> None:
    rows = Paths("/a/b\nc")
    assert (rows.rowCount(), rows.columnCount()) == (1, 2)
    assert rows.index(0, 0).data() == "b c"
    assert rows.record(0) == Path("/a/b\nc")
    assert rows.index(0, 1).data(Qt.ItemDataRole.TextAlignmentRole) == RIGHT
    titles = [rows.headerData(column, Qt.Orientation.Horizontal) for column in range(2)]
    assert titles == ["Name", "Length"]
    tips = [rows.headerData(at, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole) for at in range(2)]
    assert tips == ["Without its folder.", None]
    sides = [rows.headerData(at, Qt.Orientation.Horizontal, Qt.ItemDataRole.TextAlignmentRole) for at in range(2)]
    assert sides == [LEFT, RIGHT], "as the cells below"
    assert rows.headerData(0, Qt.Orientation.Vertical) is None
    assert rows.index(0, 0).data(Qt.ItemDataRole.EditRole) is None


def test_a_tooltip_says_more_or_the_same_and_has_an_end(qapp: object) -> None:
    rows = Paths("/a/b", "/" + "x" * 3_000)
    tip = Qt.ItemDataRole.ToolTipRole
    assert "/a/b" in rows.index(0, 0).data(tip)
    assert "1" in rows.index(0, 1).data(tip)
    assert len(rows.index(1, 0).data(tip)) < TOOLTIP_MAX


def test_cells_are_painted_by_their_column_unless_they_have_no_value(view: RowsView) -> None:
    painted.clear()
    view.viewport().grab()
    assert painted == ["b", "f"]


def test_selected_rows_come_from_top_to_bottom(view: RowsView) -> None:
    view.setSelectionMode(RowsView.SelectionMode.MultiSelection)
    for row in (2, 0):
        view.selectRow(row)
    assert view.selected_rows() == [0, 2]


def test_home_and_end_go_to_the_first_and_the_last_row(view: RowsView) -> None:
    view.selectRow(1)
    QTest.keyClick(view, Qt.Key.Key_End)
    assert view.selected_rows() == [2]
    QTest.keyClick(view, Qt.Key.Key_Home, Qt.KeyboardModifier.ShiftModifier)
    assert view.selected_rows() == [0, 1, 2]
    QTest.keyClick(view, Qt.Key.Key_End)
    assert view.selected_rows() == [2]


def test_end_goes_to_the_last_row_though_no_row_is_current(view: RowsView) -> None:
    view.setCurrentIndex(view.model().index(-1, 0))
    QTest.keyClick(view, Qt.Key.Key_End)
    assert view.selected_rows() == [2]


def test_home_and_end_stay_in_the_row_of_an_edited_cell(view: RowsView) -> None:
    view.setSelectionMode(RowsView.SelectionMode.NoSelection)
    view.setCurrentIndex(view.model().index(1, 0))
    QTest.keyClick(view, Qt.Key.Key_End)
    assert (view.currentIndex().row(), view.currentIndex().column()) == (1, 1)


def test_a_menu_opens_at_the_pointer_or_below_the_current_row(view: RowsView) -> None:
    viewport = view.viewport()
    at = QPoint(20, 40)
    assert view.menu_place(at) == viewport.mapToGlobal(at)
    view.setCurrentIndex(view.model().index(2, 0))
    for elsewhere in (QPoint(-5, 10), QPoint(20, 150)):
        place = viewport.mapFromGlobal(view.menu_place(elsewhere))
        assert place.y() == view.visualRect(view.currentIndex()).bottom()


def test_screen_readers_are_told_its_name(view: RowsView) -> None:
    assert view.accessibleName() == "Files"


def test_a_badge_is_in_the_middle_of_its_row(qapp: object) -> None:
    assert badge_place(QRect(10, 100, 80, 35), 40, 18) == QRect(10, 108, 40, 18)


def by_name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("shown", ["ab", "xaby", "b", "cab", "a", ""])
def test_other_rows_are_shown_and_those_that_stay_keep_their_selection(view: RowsView, shown: str) -> None:
    rows = view.model()
    assert isinstance(rows, Paths)
    rows.set_records([Path("/1/a"), Path("/1/b"), Path("/1/c")])
    view.selectRow(1)
    rows.show_records([Path(f"/2/{name}") for name in shown], by_name)
    assert [rows.record(row) for row in range(rows.rowCount())] == [Path(f"/2/{name}") for name in shown]
    selected = [rows.record(row).name for row in view.selected_rows()]
    assert selected == (["b"] if "b" in shown else [])


def test_a_row_that_moved_is_not_selected(view: RowsView) -> None:
    rows = view.model()
    assert isinstance(rows, Paths)
    rows.set_records([Path("/a"), Path("/b")])
    view.selectRow(1)
    rows.show_records([Path("/b"), Path("/a")], by_name)
    assert ([rows.record(row).name for row in range(rows.rowCount())], view.selected_rows()) == (["b", "a"], [])


def test_all_rows_are_replaced(view: RowsView) -> None:
    rows = view.model()
    assert isinstance(rows, Paths)
    view.selectRow(1)
    rows.set_records([Path("/1/a")])
    assert (rows.rowCount(), view.selected_rows()) == (1, [])


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme()


@pytest.fixture
def made(qtbot: QtBot, theme: Theme) -> Made:
    over = QWidget()
    qtbot.addWidget(over)

    def make(painted: list[tuple[int, str]] | None, *, rounded: bool = False) -> RowsList[str]:
        def paint(painter: QPainter, place: QRect, word: str) -> None:
            assert painted is not None
            painted.append((place.height(), word))

        rows = Rows[str]([Column("", str.upper, paint=paint if painted is not None else None)], over)
        rows.set_records(["one", "four"])
        rows_list = RowsList("Words", rows, lambda word: 10 * len(word), theme, over, rounded=rounded)
        rows_list.resize(200, 100)
        over.show()
        return rows_list

    return make


@pytest.mark.parametrize("rounded", [False, True])
def test_each_row_is_painted_in_its_height_on_what_shows_the_selection(made: Made, theme: Theme, rounded: bool) -> None:
    painted: list[tuple[int, str]] = []
    rows_list = made(painted, rounded=rounded)
    assert rows_list.accessibleName() == "Words"
    assert (rows_list.current_row(), rows_list.current_record()) == (-1, None)
    rows_list.select_row(1)
    painted.clear()
    picture = rows_list.viewport().grab().toImage()
    assert painted == [(30, "one"), (40, "four")]
    assert (rows_list.current_row(), rows_list.current_record()) == (1, "four")
    selection = QColor(theme.tokens.selection)
    assert [picture.pixelColor(100, y) == selection for y in (15, 50)] == [False, True]


def test_rows_that_are_not_painted_have_their_text(made: Made) -> None:
    rows_list = made(None)
    assert [rows_list.model().index(row, 0).data() for row in range(2)] == ["ONE", "FOUR"]
    assert not rows_list.viewport().grab().isNull()


def test_a_line_is_shortened_to_fit(qapp: QApplication) -> None:
    picture = QPixmap(100, 20)
    painter = QPainter(picture)
    whole = paint_line(painter, QRect(0, 0, 100, 20), "word", ui_font(), "#000000")
    cut = paint_line(painter, QRect(0, 0, 50, 20), "word " * 20, ui_font(), "#000000")
    painter.end()
    assert 0 < whole < 100
    assert whole < cut <= 50
