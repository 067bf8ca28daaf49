"""Lists of painted rows: every row is painted by its record, on a ground that shows what is selected."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme.fonts import ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.rows import Column, Rows
from app.ui.widgets.rows_list import RowsList, paint_line

Made = Callable[..., RowsList[str]]


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
