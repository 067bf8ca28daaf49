"""Rows of the hex view are as long as its pane is wide."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.core.bodies.formats.hex_dump import hex_rows, row_text
from app.ui.inspector.body.body_source import of_bytes
from app.ui.inspector.body.hex_widget import COLUMNS, HexWidget
from app.ui.messages import Messages
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from tests.ui.waiting import until

BODY = bytes(n % 251 for n in range(4_000))


@pytest.fixture
def view(qtbot: QtBot) -> HexWidget:
    view = HexWidget(Theme(), Tasks(Messages()), None)  # type: ignore[arg-type]
    qtbot.addWidget(view)
    view.resize(400, 300)
    view.show()
    view.show_source(of_bytes(BODY, "body"))
    return view


def width_of(view: HexWidget, columns: int) -> int:
    """The least width at which so many bytes are in a row."""
    for width in range(100, 3_000):
        view.resize(width, 300)
        if view.columns == columns:
            return width
    raise AssertionError(columns)


async def test_a_row_is_never_cut_where_a_shorter_one_fits(view: HexWidget) -> None:
    found = []
    for width in range(100, 1_900, 10):
        view.resize(width, 300)
        found.append(view.columns)
        assert view.columns == COLUMNS[-1] or not view.horizontalScrollBar().maximum()
    assert list(dict.fromkeys(found)) == sorted(COLUMNS)


async def test_the_bytes_in_view_stay_there(view: HexWidget) -> None:
    widths = [width_of(view, columns) for columns in sorted(COLUMNS)]
    view.resize(widths[0], 300)
    view.verticalScrollBar().setValue(40)
    for width in widths[1:]:
        view.resize(width, 300)
        assert view.verticalScrollBar().value() * view.columns == 320


@pytest.mark.parametrize("columns", COLUMNS)
async def test_selected_rows_are_copied_in_rows_of_sixteen(view: HexWidget, columns: int) -> None:
    """Also after the pane has become narrower."""
    view.resize(width_of(view, columns), 300)
    for row, shift in ((0, Qt.KeyboardModifier.NoModifier), (3, Qt.KeyboardModifier.ShiftModifier)):
        place = QPoint(40, round((row + 0.5) * view._row) + 8)
        QTest.mousePress(view.viewport(), Qt.MouseButton.LeftButton, shift, place)
    view.resize(width_of(view, COLUMNS[-1]), 300)
    QGuiApplication.clipboard().clear()
    view.copy()
    await until(lambda: QGuiApplication.clipboard().text() != "")
    rows = hex_rows(BODY[: 4 * columns], 0, len(BODY))
    assert QGuiApplication.clipboard().text().splitlines() == [row_text(row) for row in rows]
