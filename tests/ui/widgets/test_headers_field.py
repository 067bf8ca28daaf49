"""Headers in a grid or as text: typed, pasted, removed, and what is wrong with them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.core.record import Headers
from app.core.rules import OWN_HEADERS
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.headers_field import (
    GRID,
    NAME,
    NEW,
    REMOVE,
    TEXT,
    VALUE,
    HeaderGrid,
    HeadersField,
    header_lines,
    parse_headers,
)
from tests.ui.header_typing import choose_view

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
TWO: Headers = (("X-One", "1"), ("x-one", "2"))


class Shown:
    """The field in a dialog, between a line to type into and another."""

    def __init__(self, qtbot: QtBot, *, fits_rows: bool = False) -> None:
        self.dialog = Dialog("Headers", Theme(), None)
        self.dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
        qtbot.addWidget(self.dialog)
        self.before, self.after = QLineEdit(self.dialog), QLineEdit(self.dialog)
        self.field = HeadersField("Headers", OWN_HEADERS, self.dialog.theme, self.dialog, fits_rows=fits_rows)
        column = QVBoxLayout()
        for widget in (self.before, self.field.views, self.field, self.after):
            column.addWidget(widget)
        self.dialog.body.addLayout(column)
        order_tabs(self.dialog)
        self.dialog.resize(700, 500)
        self.dialog.open()
        self.dialog.activateWindow()
        qtbot.waitUntil(self.dialog.isActiveWindow)

    @property
    def grid(self) -> HeaderGrid:
        return self.field.grid

    def at(self, row: int, column: int) -> None:
        self.grid.setFocus()
        self.grid.setCurrentIndex(self.grid.rows.index(row, column))

    def press(self, *keys: str) -> None:
        for key in keys:
            focus = QApplication.focusWidget()
            assert focus is not None
            if key == "Shift+Tab":  # as systems send it
                QTest.keyClick(focus, Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier)
            else:
                QTest.keySequence(focus, QKeySequence(key))

    def type(self, text: str) -> None:
        """One key after the other, each where the focus is by then."""
        for char in text:
            focus = QApplication.focusWidget()
            assert focus is not None
            QTest.keyClicks(focus, char)

    def click(self, row: int, column: int) -> None:
        place = self.grid.visualRect(self.grid.rows.index(row, column)).center()
        QTest.mouseClick(self.grid.viewport(), Qt.MouseButton.LeftButton, pos=place)

    def choose(self, view: str) -> None:
        choose_view(self.field, view)

    def faults(self) -> list[tuple[int, int]]:
        rows = self.grid.rows
        cells = [(row, column) for row in range(rows.rowCount()) for column in (NAME, VALUE, REMOVE)]
        return [cell for cell in cells if rows.fault(rows.index(*cell))]


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    return Shown(qtbot)


class TestTyping:
    def test_the_empty_row_becomes_a_header_and_another_follows_at_once(self, shown: Shown) -> None:
        edits: list[Headers] = []
        shown.field.changed.connect(lambda: edits.append(shown.field.value()))
        shown.at(0, NAME)
        shown.type("X")
        assert edits[-1] == (("X", ""),)
        assert shown.grid.rows.rowCount() == 2
        shown.type("-A")
        shown.press("Tab")
        shown.type("a b ")
        assert edits[-1] == (("X-A", "a b"),), "while the cell is still edited"
        shown.press("Tab")
        shown.type("X-B")
        assert shown.field.value() == (("X-A", "a b"), ("X-B", ""))
        assert shown.grid.rows.rowCount() == 3

    def test_a_row_that_is_emptied_again_leaves_one_empty_row(self, shown: Shown) -> None:
        shown.at(0, NAME)
        shown.type("X")
        shown.press("Backspace")
        assert shown.grid.rows.rowCount() == 1

    def test_a_click_edits_a_cell_and_below_the_rows_the_empty_one(self, shown: Shown) -> None:
        shown.field.set_value(TWO)
        shown.click(1, VALUE)
        shown.type("3")
        assert shown.field.value() == (("X-One", "1"), ("x-one", "3"))
        below = QPoint(20, shown.grid.viewport().height() - 5)
        QTest.mouseClick(shown.grid.viewport(), Qt.MouseButton.LeftButton, pos=below)
        shown.type("Via")
        assert shown.field.value()[2:] == (("Via", ""),)

    def test_another_button_below_the_rows_edits_nothing(self, shown: Shown) -> None:
        below = QPoint(20, shown.grid.viewport().height() - 5)
        QTest.mouseClick(shown.grid.viewport(), Qt.MouseButton.RightButton, pos=below)
        assert not shown.grid.is_editing()

    def test_escape_restores_the_cell_and_enter_ends_the_editing_alone(self, shown: Shown, qtbot: QtBot) -> None:
        shown.field.set_value(TWO)
        shown.at(0, VALUE)
        shown.type("changed")
        shown.press("Escape")
        assert shown.field.value() == TWO
        assert shown.dialog.isVisible()
        shown.press("Return")
        assert shown.grid.is_editing()
        shown.type("new")
        shown.press("Return")
        qtbot.waitUntil(lambda: not shown.grid.is_editing())
        assert shown.field.value() == (("X-One", "new"), ("x-one", "2"))
        assert shown.grid.hasFocus()
        assert shown.dialog.isVisible()

    def test_escape_in_a_new_row_leaves_one_empty_row(self, shown: Shown) -> None:
        shown.at(0, NAME)
        shown.type("X-A")
        shown.press("Escape")
        if shown.grid.is_editing():  # the first one closed the list of names
            shown.press("Escape")
        assert shown.field.value() == ()
        assert shown.grid.rows.rowCount() == 1

    def test_del_and_the_icon_remove_a_row_but_never_the_empty_one(self, shown: Shown) -> None:
        shown.field.set_value((*TWO, ("Via", "3")))
        shown.at(1, VALUE)
        shown.press("Del")
        assert shown.field.value() == (("X-One", "1"), ("Via", "3"))
        shown.click(0, REMOVE)
        assert shown.field.value() == (("Via", "3"),)
        shown.at(1, NAME)
        shown.press("Del")
        assert shown.grid.rows.rowCount() == 2

    def test_known_names_are_offered_and_tab_takes_one_and_goes_on(self, shown: Shown) -> None:
        shown.at(0, NAME)
        shown.type("content-t")
        names = QApplication.activePopupWidget()
        assert names is not None
        for key in (Qt.Key.Key_Down, Qt.Key.Key_Tab):
            QTest.keyClick(names, key)
        shown.type("text/plain")
        assert shown.field.value() == (("Content-Type", "text/plain"),)

    def test_enter_takes_an_offered_name_and_stays(self, shown: Shown) -> None:
        shown.at(0, NAME)
        shown.type("content-t")
        names = QApplication.activePopupWidget()
        assert names is not None
        for key in (Qt.Key.Key_Down, Qt.Key.Key_Return):
            QTest.keyClick(names, key)
        assert shown.field.value() == (("Content-Type", ""),)
        assert not names.isVisible()
        assert shown.grid.is_editing()

    def test_what_is_typed_stays_without_choosing_a_name(self, shown: Shown) -> None:
        shown.at(0, NAME)
        shown.type("content-t")
        names = QApplication.activePopupWidget()
        assert names is not None
        QTest.keyClick(names, Qt.Key.Key_Tab)
        assert shown.field.value() == (("content-t", ""),)
        assert shown.grid.currentIndex().column() == VALUE


class TestColumns:
    def test_the_values_have_the_room_that_names_and_icons_leave(self, shown: Shown) -> None:
        grid = shown.grid
        for width in (700, 500):
            shown.dialog.resize(width, 500)
            widths = [grid.columnWidth(column) for column in (NAME, VALUE, REMOVE)]
            assert sum(widths) == grid.viewport().width()
            assert widths[REMOVE] < widths[NAME] < widths[VALUE]


class TestTab:
    def test_it_goes_from_cell_to_cell_and_out_at_the_end(self, shown: Shown) -> None:
        shown.field.set_value(TWO[:1])
        shown.before.setFocus()
        shown.press("Tab", "Tab")
        for cell in ((0, NAME), (0, VALUE), (1, NAME), (1, VALUE)):
            assert shown.grid.hasFocus()
            assert (shown.grid.currentIndex().row(), shown.grid.currentIndex().column()) == cell
            shown.press("Tab")
        assert shown.after.hasFocus()
        for cell in ((1, VALUE), (1, NAME), (0, VALUE), (0, NAME)):
            shown.press("Shift+Tab")
            assert (shown.grid.currentIndex().row(), shown.grid.currentIndex().column()) == cell
        shown.press("Shift+Tab", "Shift+Tab")
        assert shown.before.hasFocus()

    def test_it_begins_at_the_first_cell_where_none_is_current(self, shown: Shown) -> None:
        shown.grid.setFocus()
        shown.field.set_value(TWO)
        shown.press("Tab")
        assert (shown.grid.currentIndex().row(), shown.grid.currentIndex().column()) == (0, NAME)

    def test_so_it_does_from_a_cell_that_is_edited(self, shown: Shown) -> None:
        shown.field.set_value(TWO[:1])
        shown.at(0, NAME)
        shown.press("F2")
        for cell in ((0, NAME), (0, VALUE), (1, NAME), (1, VALUE)):
            assert shown.grid.is_editing()
            assert (shown.grid.currentIndex().row(), shown.grid.currentIndex().column()) == cell
            shown.press("Tab")
        assert shown.after.hasFocus()
        assert not shown.grid.is_editing()

    def test_and_back_out_at_the_beginning(self, shown: Shown) -> None:
        shown.at(0, VALUE)
        shown.press("F2", "Shift+Tab", "Shift+Tab", "Shift+Tab")
        assert shown.before.hasFocus()

    def test_it_leaves_the_text(self, shown: Shown) -> None:
        shown.choose(TEXT)
        shown.field.setFocus()
        assert shown.field.text.hasFocus()
        shown.press("Tab")
        assert shown.after.hasFocus()


class TestPaste:
    @pytest.mark.parametrize("editing", [False, True])
    def test_lines_become_rows(self, shown: Shown, editing: bool) -> None:
        shown.field.set_value(TWO[:1])
        QApplication.clipboard().setText("Via: 1.1 a\r\nX-URL: http://localhost:1/\r\n\r\nvia:  b\r\n")
        shown.at(1, NAME)
        shown.press(*(["F2"] if editing else []), "Ctrl+V")
        assert shown.field.value() == (TWO[0], ("Via", "1.1 a"), ("X-URL", "http://localhost:1/"), ("via", "b"))

    def test_they_go_below_a_row_that_is_filled(self, shown: Shown) -> None:
        shown.field.set_value(TWO)
        QApplication.clipboard().setText("A: 1\nB: 2")
        shown.at(0, VALUE)
        shown.press("F2", "Ctrl+V")
        assert shown.field.value() == (TWO[0], ("A", "1"), ("B", "2"), TWO[1])

    @pytest.mark.parametrize("editing", [False, True])
    def test_they_take_the_place_of_an_empty_row_between_others(self, shown: Shown, editing: bool) -> None:
        shown.field.set_value(TWO)
        rows = shown.grid.rows
        for column in (NAME, VALUE):
            rows.setData(rows.index(0, column), "")
        QApplication.clipboard().setText("A: 1\nB: 2")
        shown.at(0, NAME)
        shown.press(*(["F2"] if editing else []), "Ctrl+V")
        assert shown.field.value() == (("A", "1"), ("B", "2"), TWO[1])
        assert rows.rowCount() == 4

    def test_one_line_is_a_header_where_a_name_is_missing_and_a_value_elsewhere(self, shown: Shown) -> None:
        QApplication.clipboard().setText("Link: <http://localhost:1/>")
        shown.at(0, NAME)
        shown.press("F2", "Ctrl+V")
        assert shown.field.value() == (("Link", "<http://localhost:1/>"),)
        shown.at(0, VALUE)
        shown.press("Ctrl+V")
        assert shown.field.value() == (("Link", "Link: <http://localhost:1/>"),)

    def test_a_line_break_elsewhere_is_kept_and_named(self, shown: Shown) -> None:
        QApplication.clipboard().setText("no header\nand no other")
        shown.field.set_value((("A", ""),))
        shown.at(0, VALUE)
        shown.press("F2", "Ctrl+V")
        assert shown.field.problem() == "Headers: the value of A has a line break."
        assert shown.faults() == [(0, VALUE)]


class TestFaults:
    @pytest.mark.parametrize(
        ("name", "value", "column", "message"),
        [
            ("X One", "", NAME, "Headers: 'X One' is not a header name."),
            ("", "alone", NAME, "Headers: 'alone' has no name."),
            ("content-length", "1", NAME, "Headers: content-length is set by Hookline itself."),
            ("A", "5 €", VALUE, "Headers: the value of A has '€', which is not Latin-1."),
            ("A", "\x07", VALUE, "Headers: the value of A has a control character."),
            ("A", "x" * 8_192, VALUE, "Headers: A can have at most 8,192 bytes, not 8,193."),
        ],
    )
    def test_the_cell_is_marked_and_says_why(
        self, shown: Shown, name: str, value: str, column: int, message: str
    ) -> None:
        shown.field.set_value(TWO)
        rows = shown.grid.rows
        rows.setData(rows.index(2, NAME), name)
        rows.setData(rows.index(2, VALUE), value)
        assert shown.field.problem() == message
        assert shown.faults() == [(2, column)]
        cell = rows.index(2, column)
        assert cell.data(Qt.ItemDataRole.AccessibleDescriptionRole) == message
        assert cell.data(Qt.ItemDataRole.ToolTipRole).replace("\n", " ").startswith(message[:80])

    def test_a_warning_is_at_the_right_end_of_the_cell(self, shown: Shown) -> None:
        shown.field.set_value(TWO)
        grid, danger = shown.grid, QColor(shown.dialog.theme.tokens.danger).rgb()
        grid.rows.setData(grid.rows.index(2, VALUE), "alone")
        image = grid.viewport().grab().toImage()

        def in_red(column: int) -> set[int]:
            """Which columns of pixels have that colour within the cell's frame, counted from its right end."""
            cell = grid.visualRect(grid.rows.index(2, column)).adjusted(2, 2, -3, -3)
            rows = range(cell.top(), cell.bottom())
            columns = range(cell.left(), cell.right())
            return {cell.right() - x for x in columns if any(image.pixel(x, y) == danger for y in rows)}

        assert in_red(VALUE) == set()
        assert 0 < min(in_red(NAME)) < max(in_red(NAME)) < grid.columnWidth(REMOVE)

    def test_what_was_given_is_no_fault_until_something_is_edited(self, shown: Shown) -> None:
        shown.field.set_value((("A", "x" * 9_000),))
        assert shown.field.problem() is None
        assert shown.faults() == []
        shown.at(1, NAME)
        shown.type("B")
        assert shown.field.problem() is not None
        assert shown.faults() == [(0, VALUE)]

    def test_the_field_of_a_cell_that_is_edited_follows(self, shown: Shown) -> None:
        shown.at(0, NAME)
        shown.type("X")
        cell = QApplication.focusWidget()
        assert cell is not None
        assert cell.property("invalid") is False
        shown.type(" ")
        assert cell.property("invalid") is False, "a blank at the end does not count"
        shown.type("Y")
        assert cell.property("invalid") is True


class TestText:
    def test_both_views_show_the_same_headers(self, shown: Shown) -> None:
        shown.field.set_value(TWO)
        shown.choose(TEXT)
        assert shown.field.text.toPlainText() == "X-One: 1\nx-one: 2"
        shown.field.text.appendPlainText("Via:x")
        assert shown.field.value() == (*TWO, ("Via", "x"))
        shown.choose(GRID)
        assert shown.field.value() == (*TWO, ("Via", "x"))
        assert shown.grid.isVisible()
        shown.grid.rows.setData(shown.grid.rows.index(0, 1), "9")
        shown.choose(TEXT)
        assert shown.field.text.toPlainText() == "X-One: 9\nx-one: 2\nVia: x"

    def test_malformed_text_stays_in_view(self, shown: Shown) -> None:
        shown.choose(TEXT)
        shown.field.text.setPlainText("A: 1\nnonsense")
        assert shown.field.problem() == "Headers: line 2 must read “Name: value”."
        shown.choose(GRID)
        assert shown.field.text.isVisible()
        assert shown.field.views.current() == TEXT

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
    @given(
        st.lists(
            st.tuples(
                st.from_regex(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}", fullmatch=True),
                st.text(st.characters(min_codepoint=33, max_codepoint=255), max_size=20),
            ),
            max_size=6,
        )
    )
    def test_order_duplicates_and_each_byte_stay_in_both(self, shown: Shown, given: list[tuple[str, str]]) -> None:
        """UTF-8 read as Latin-1 has bytes that Unicode calls blanks, such as the second one of à."""
        for view in (GRID, TEXT, GRID):
            shown.field.set_value(tuple(given))
            shown.choose(view)
            assert shown.field.value() == tuple(given)


class TestHeight:
    def test_it_fits_its_rows_up_to_five_and_changes_only_between_cells(self, qtbot: QtBot) -> None:
        shown = Shown(qtbot, fits_rows=True)
        heights = [shown.grid.height()]
        for number in range(6):
            shown.at(number, NAME)
            shown.type("X")
            QTest.qWait(1)  # for what is laid out later
            assert shown.grid.height() == heights[-1], "while typing"
            shown.press("Tab")
            qtbot.wait(1)
            heights.append(shown.grid.height())
        assert heights == sorted(heights)
        steps = [after - before for before, after in pairwise(heights)]
        assert steps[0] == steps[1] == steps[2] > 0
        assert steps[3:] == [0, 0, 0]


class TestNames:
    def test_what_screen_readers_say(self, shown: Shown) -> None:
        shown.field.set_value(TWO)
        assert shown.grid.accessibleName() == "Headers"
        assert shown.field.text.accessibleName() == "Headers as text"
        assert shown.field.views.accessibleName() == "Edit headers as"
        rows = shown.grid.rows
        said = [rows.index(2, column).data(Qt.ItemDataRole.AccessibleTextRole) for column in (NAME, VALUE)]
        assert said == [f"{NEW}: name", f"{NEW}: value"]
        assert rows.index(0, REMOVE).data(Qt.ItemDataRole.AccessibleTextRole) == "Remove X-One"
        shown.at(1, VALUE)
        shown.press("F2")
        cell = QApplication.focusWidget()
        assert isinstance(cell, QWidget)
        assert cell.accessibleName() == "Value of header 2"


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,12}", fullmatch=True),
            st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20),
        )
    )
)
def test_what_is_written_is_read_back(pairs: list[tuple[str, str]]) -> None:
    assert parse_headers(header_lines(tuple(pairs))) == (tuple(pairs), None)


def test_the_first_bad_line_is_named() -> None:
    headers, problem = parse_headers("A: 1\n\nbroken\n: x", "Response headers")
    assert headers == (("A", "1"),)
    assert problem is not None
    assert "line 3" in problem


def test_order_case_and_repeats_stay() -> None:
    assert parse_headers("x-a: 1\nX-A:2\nx-a: 3")[0] == (("x-a", "1"), ("X-A", "2"), ("x-a", "3"))
