"""The hex view: its rows are as long as its pane is wide, and are selected and copied by mouse and keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QColor, QGuiApplication, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.bodies.formats.binary import hex_rows, row_text
from app.ui.inspector.body.body_source import of_bytes
from app.ui.inspector.body.hex_widget import COLUMNS, HexWidget
from app.ui.messages import Messages
from app.ui.tasks import Tasks
from app.ui.theme.metrics import SPACE_2, SPACE_4
from app.ui.theme.theme import Theme
from tests.ui.on_screen import on_screen
from tests.ui.waiting import notice, until

BODY = bytes(n % 251 for n in range(4_000))
LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


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


def last_ink(view: HexWidget) -> int:
    """The rightmost column of pixels of the first rows that is not empty; -1 before anything is read."""
    image = view.viewport().grab(QRect(0, 0, view.viewport().width(), 2 * view._row)).toImage()
    empty = image.pixel(0, 0)
    columns = range(image.width() - 1, -1, -1)
    return next((x for x in columns if any(image.pixel(x, y) != empty for y in range(image.height()))), -1)


@pytest.mark.parametrize("columns", COLUMNS)
async def test_a_row_is_shown_to_its_end_in_the_least_width_that_has_room_for_it(view: HexWidget, columns: int) -> None:
    longer = COLUMNS[COLUMNS.index(columns) - 1]
    width, wide = (
        width_of(view, columns),
        width_of(view, longer) - 1 if longer > columns else width_of(view, columns) + 200,
    )
    view.resize(wide, 300)
    assert view.columns == columns
    await until(lambda: last_ink(view) >= 0)
    end = last_ink(view)
    view.resize(width, 300)
    bar = view.horizontalScrollBar()
    bar.setValue(bar.maximum())
    assert last_ink(view) == end - bar.maximum()


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
        QTest.mousePress(view.viewport(), LEFT, shift, place_of(view, row))
    view.resize(width_of(view, COLUMNS[-1]), 300)
    QGuiApplication.clipboard().clear()
    view.copy()
    await until(lambda: QGuiApplication.clipboard().text() != "")
    rows = hex_rows(BODY[: 4 * columns], 0, len(BODY))
    assert QGuiApplication.clipboard().text().splitlines() == [row_text(row) for row in rows]


def place_of(view: HexWidget, row: int) -> QPoint:
    """In the middle of the row that stands there."""
    return QPoint(40, round((row + 0.5) * view._row) + SPACE_2)


def drag(view: HexWidget, row: int, button: Qt.MouseButton = LEFT) -> None:
    """As the system tells of a mouse that moves with its button held."""
    place, no_keys = QPointF(place_of(view, row)), Qt.KeyboardModifier.NoModifier
    glob = view.viewport().mapToGlobal(place)
    move = QMouseEvent(QEvent.Type.MouseMove, place, glob, Qt.MouseButton.NoButton, button, no_keys)
    QApplication.sendEvent(view.viewport(), move)


async def selected(view: HexWidget) -> list[int]:
    """The rows in view on which the selection is painted."""
    image, colour = await on_screen(view.viewport()), view._theme.tokens.selection
    rows = range(view.viewport().height() // view._row)
    return [row for row in rows if image.pixelColor(SPACE_4 - 2, place_of(view, row).y()).name() == colour]


async def copied(view: HexWidget) -> list[str]:
    QGuiApplication.clipboard().clear()
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: QGuiApplication.clipboard().text() != "")
    return QGuiApplication.clipboard().text().splitlines()


async def test_rows_are_selected_by_dragging_and_all_of_them_by_a_key(view: HexWidget) -> None:
    view.resize(width_of(view, 16), 300)
    await until(lambda: last_ink(view) >= 0)
    whole = [row_text(row) for row in hex_rows(BODY, 0, len(BODY))]
    drag(view, 2)
    QTest.mousePress(view.viewport(), RIGHT, pos=place_of(view, 3))
    assert await selected(view) == [], "nothing is selected without the left button"
    QTest.mousePress(view.viewport(), LEFT, pos=place_of(view, 3))
    assert await selected(view) == [3]
    drag(view, 1)
    assert await selected(view) == [1, 2, 3]
    drag(view, 6, RIGHT)
    assert await copied(view) == whole[1:4]
    drag(view, 5)
    assert await selected(view) == [3, 4, 5]
    view.verticalScrollBar().setValue(len(whole))
    drag(view, 1_000)
    assert await copied(view) == whole[3:]
    view.verticalScrollBar().setValue(0)
    drag(view, -1_000)
    assert await copied(view) == whole[:4]
    QTest.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert await selected(view) == list(range(view.viewport().height() // view._row))
    assert await copied(view) == whole


async def test_offsets_bytes_and_characters_are_painted_and_zeros_stand_back(view: HexWidget) -> None:
    view.resize(width_of(view, 16), 300)
    await until(lambda: last_ink(view) >= 0)
    image, tokens = view.viewport().grab().toImage(), view._theme.tokens
    seen = {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}
    for colour in (tokens.text_faint, tokens.text, tokens.track, tokens.code_string):
        assert QColor(colour).rgb() in seen


async def test_what_is_right_of_the_view_is_scrolled_into_it(view: HexWidget) -> None:
    view.resize(120, 300)
    await until(lambda: last_ink(view) >= 0)
    before, bar = view.viewport().grab().toImage(), view.horizontalScrollBar()
    assert bar.maximum() > 30
    bar.setValue(30)
    after, width, height = view.viewport().grab().toImage(), view.viewport().width(), view.viewport().height()
    assert after.copy(0, 0, width - 30, height) == before.copy(30, 0, width - 30, height)


async def test_keys_scroll_to_the_ends(view: HexWidget) -> None:
    bar = view.verticalScrollBar()
    QTest.keyClick(view, Qt.Key.Key_End)
    assert bar.value() == bar.maximum() > 0
    QTest.keyClick(view, Qt.Key.Key_PageUp)
    in_view = (view.viewport().height() - 2 * SPACE_2) // view._row
    assert bar.maximum() - bar.value() == in_view > 2
    QTest.keyClick(view, Qt.Key.Key_Home)
    assert bar.value() == 0


async def test_the_end_of_a_body_that_is_cut_when_it_is_copied_is_told(
    view: HexWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.ui.inspector.body.hex_widget.COPY_MAX", 64)
    QTest.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert len(await copied(view)) == 4
    await until(lambda: notice(view) == "Copied the first 1 MiB of the selection.")


async def test_another_body_is_shown_from_its_beginning_and_nothing_of_the_one_before(view: HexWidget) -> None:
    other = of_bytes(bytes(reversed(BODY)), "other")
    await until(lambda: last_ink(view) >= 0)
    first = await on_screen(view.viewport())
    view.show_source(other)
    await until(lambda: last_ink(view) >= 0)
    plain = await on_screen(view.viewport())
    assert plain != first
    view.show_source(of_bytes(BODY, "body"))
    await until(lambda: last_ink(view) >= 0)
    QTest.mousePress(view.viewport(), LEFT, pos=place_of(view, 1))
    view.mark((20, 3))
    view.verticalScrollBar().setValue(30)
    view.show_source(other)
    await until(lambda: last_ink(view) >= 0)
    assert view.verticalScrollBar().value() == 0
    assert await on_screen(view.viewport()) == plain
    view.show_source(of_bytes(b"", "nothing"))
    assert await on_screen(view.viewport()) != plain


async def test_marked_bytes_are_brought_into_view_and_painted(view: HexWidget) -> None:
    await until(lambda: last_ink(view) >= 0)
    colour = QColor(view._theme.tokens.warning_soft).rgb()

    async def is_seen() -> bool:
        image = await on_screen(view.viewport())
        return any(image.pixel(x, y) == colour for x in range(image.width()) for y in range(0, image.height(), 4))

    assert not await is_seen()
    view.mark((3_000, 4))
    assert await is_seen()
    place = view.verticalScrollBar().value()
    view.mark((3_008, 4))
    assert view.verticalScrollBar().value() == place, "it was in view already"
    view._theme.set_choice("dark")
    assert not await is_seen(), "the colours are those of the other theme"
    view._theme.set_choice("light")
    assert await is_seen()
    view.mark(None)
    assert not await is_seen()
