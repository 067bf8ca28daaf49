"""The view of lines: folded and unfolded, wrapped where lines are indented, in the size chosen for all bodies."""

from __future__ import annotations

import base64
import json
import operator
from collections.abc import Callable, Iterator
from functools import partial
from itertools import dropwhile, pairwise, takewhile
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QFontMetricsF,
    QGuiApplication,
    QImage,
    QMouseEvent,
    QTextCursor,
    QTextFormat,
    QWheelEvent,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from shiboken6 import isValid

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.formatter import Line
from app.ui.commands.body_text_commands import BodyTextCommands
from app.ui.inspector.body.code_view import CodeView
from app.ui.theme.fonts import BASE
from app.ui.theme.theme import LARGEST, SMALLEST, Theme
from tests.ui.desk import shown as shown_window
from tests.ui.on_screen import on_screen
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import settle, until

BODY = {"a": {"x": 1, "é😀": [1, 2]}, "long": "word " * 60, "b": [{"needle": n} for n in range(3)], "end": "needle"}


def pretty(value: object) -> list[Line]:
    reader = BodyReader((), "application/json", "pretty")
    reader.feed(json.dumps(value, ensure_ascii=False).encode(), True)
    lines: list[Line] = []
    while not reader.done:
        lines += reader.lines(10_000)
    return lines


@pytest.fixture
def code(qapp: QApplication) -> Iterator[CodeView]:
    parent = QWidget()
    parent.resize(420, 500)
    view = CodeView(Theme(parent), parent)
    view.resize(420, 500)
    view.set_lines(pretty(BODY), folding=True)
    view.end_lines()
    parent.show()
    view.grab()
    yield view
    parent.deleteLater()


def line_of(code: CodeView, text: str) -> int:
    return next(number for number, line in enumerate(code.rows.lines) if line.text.strip().startswith(text))


def rows(code: CodeView) -> list[str]:
    return [line.strip() for line in code.toPlainText().split("\n")]


def test_blocks_fold_by_gutter_and_key_and_say_what_they_hold(code: CodeView) -> None:
    whole = code.toPlainText()
    QTest.mouseClick(code.gutter, Qt.MouseButton.LeftButton, pos=gutter_place(code, '"a"'))
    assert rows(code)[1] == '"a": { 2 keys },'
    code.setTextCursor(QTextCursor(code.rows.block_of(line_of(code, '"b"') + 2)))
    QTest.keyClick(
        code, Qt.Key.Key_BracketLeft, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    assert rows(code)[4] == "{ 1 key },"
    QTest.keyClick(
        code, Qt.Key.Key_BracketLeft, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    assert rows(code)[3:5] == ['"b": [ 3 items ],', '"end": "needle"']
    assert code.rows.number_text(code.rows.line_of(4)) == str(line_of(code, '"end"') + 1)
    QTest.keyClick(
        code, Qt.Key.Key_BracketRight, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    assert rows(code)[3:5] == ['"b": [', "{ 1 key },"]
    code.folds.fold_all()
    assert rows(code) == ["{", '"a": { 2 keys },', rows(code)[2], '"b": [ 3 items ],', '"end": "needle"', "}"]
    code.folds.unfold_all()
    assert code.toPlainText() == whole
    assert not code.grab().isNull()


def gutter_place(code: CodeView, text: str) -> QPoint:
    """The place of the arrow beside this line."""
    numbers = dict(code.rows.visible_rows(500))
    return QPoint(code.gutter.width() - 8, round(numbers[code.rows.row_of(line_of(code, text))]) + 9)


def hover(widget: QWidget, place: QPoint) -> None:
    """As the system tells of a mouse that moves over it."""
    none, no_keys, at = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, QPointF(place)
    move = QMouseEvent(QEvent.Type.MouseMove, at, widget.mapToGlobal(at), none, none, no_keys)
    QApplication.sendEvent(widget, move)


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)  # said when a tooltip appears
async def test_an_arrow_that_is_pointed_at_says_what_a_click_does(code: CodeView) -> None:
    gutter, hand = code.gutter, Qt.CursorShape.PointingHandCursor
    fold, other = gutter_place(code, '"b"'), gutter_place(code, '"long"')
    plain = await on_screen(gutter)
    hover(gutter, fold)
    assert (QToolTip.text(), gutter.cursor().shape()) == ("Fold", hand)
    pointed = await on_screen(gutter)
    assert pointed != plain
    hover(gutter, other)
    assert gutter.cursor().shape() == Qt.CursorShape.ArrowCursor
    await until(lambda: not QToolTip.text())
    assert await on_screen(gutter) == plain
    hover(gutter, fold)
    assert await on_screen(gutter) == pointed
    QApplication.sendEvent(gutter, QEvent(QEvent.Type.Leave))
    assert await on_screen(gutter) == plain
    QTest.mouseClick(gutter, Qt.MouseButton.RightButton, pos=fold)
    assert not code.folds.is_folded(line_of(code, '"b"'))
    QTest.mouseClick(gutter, Qt.MouseButton.LeftButton, pos=fold)
    await settle()
    hover(gutter, gutter_place(code, '"long"'))
    hover(gutter, gutter_place(code, '"b"'))
    assert (QToolTip.text(), gutter.cursor().shape()) == ("Unfold", hand)
    QToolTip.hideText()


async def test_numbers_and_arrows_stay_beside_their_lines(code: CodeView) -> None:
    def in_view(gutter: QImage) -> QImage:
        return gutter.copy(0, 0, gutter.width(), code.viewport().height())  # below it is the horizontal scroll bar

    async def changes(change: Callable[[], object]) -> None:
        before = await on_screen(code.gutter)
        change()
        await settle()
        after = await on_screen(code.gutter)
        assert before != after
        assert in_view(after) == in_view(code.gutter.grab().toImage())

    await changes(code._theme.body_text.toggle_wrap)
    await changes(code.folds.fold_all)
    code.set_lines([Line("a"), Line("  b")], folding=True)
    await changes(code.end_lines)
    code.set_lines([Line(f"{n}") for n in range(500)])
    for by in (7, -3, 200, 1):
        await changes(partial(code.verticalScrollBar().setValue, code.verticalScrollBar().value() + by))


class Paints(QObject):
    """Counts how often a widget is painted."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


@pytest.mark.parametrize("height", [400, 500, 540])
async def test_lines_that_just_fit_come_to_rest(code: CodeView, height: int) -> None:
    paints, bar = Paints(code.viewport()), code.verticalScrollBar()
    code.resize(420, height)
    for _ in range(4):
        code._theme.body_text.toggle_wrap()
        await settle(10)
        paints.count = 0
        await settle(10)
        assert paints.count == 0
        assert bar.isVisible() == (bar.maximum() > 0)
        assert bar.isVisible() or height > 19 * len(rows(code))
    needed = bar.isVisible()
    for now, bars in ((1_000, False), (height, needed)):
        code.resize(420, now)
        await settle()
        assert bar.isVisible() == (bar.maximum() > 0) == bars


def test_the_place_in_a_text_is_kept_when_its_lines_are_wrapped_anew(code: CodeView) -> None:
    code.set_lines([Line(" " * 14 + "word " * 40) for n in range(90)])
    code.grab()
    text, bar = code._theme.body_text, code.verticalScrollBar()
    changes: list[Callable[[], object]] = [
        partial(code.resize, 200, 500),
        partial(code.resize, 420, 500),
        *[text.zoom_in] * 3,
        text.toggle_wrap,
        text.toggle_wrap,
        text.reset_zoom,
    ]
    code.setTextCursor(QTextCursor(code.document().findBlockByNumber(5)))
    for change in changes:
        change()
        code.grab()
        assert code.viewport().rect().contains(code.cursorRect())
    changes[0]()
    code.grab()
    bar.setValue(bar.maximum() // 3)
    for change in changes[1:]:
        top = code.cursorForPosition(QPoint(0, 8))
        change()
        code.grab()
        assert 0 <= code.cursorRect(top).top() < 8
        assert not code.viewport().rect().contains(code.cursorRect())


def line_in_ink(image: QImage) -> int:
    """How many rows of pixels the uppermost line of text has."""
    empty = image.pixel(1, 1)
    rows = (any(image.pixel(x, y) != empty for x in range(image.width())) for y in range(image.height()))
    inked = dropwhile(operator.not_, rows)
    return sum(1 for _ in takewhile(bool, inked))


async def test_all_that_is_painted_of_a_body_follows_the_size_of_its_text(shown: PageDesk) -> None:
    body, text = shown.detail.body, shown.desk.theme.body_text
    await open_body(shown, b"1111\n" * 3, "text/plain")
    for view in ("text", "hex"):
        body.views.activated.emit(view)
        await until(lambda view=view: body.views.current() == view)
        painted = body.code.gutter if view == "text" else body.hex.viewport()
        await settle()
        small = line_in_ink(painted.grab().toImage())
        for _ in range(13):
            text.zoom_in()
        assert line_in_ink(painted.grab().toImage()) > 1.5 * small > 0
        text.reset_zoom()


def turn_wheel(view: QWidget, notches: int, keys: Qt.KeyboardModifier) -> None:
    where = QPointF(view.rect().center())
    wheel = QWheelEvent(
        where,
        view.mapToGlobal(where),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view, wheel)


def test_the_wheel_scrolls_and_with_ctrl_zooms(code: CodeView) -> None:
    code.set_lines([Line(f"{n}") for n in range(500)])
    code.grab()
    text, bar = code._theme.body_text, code.verticalScrollBar()
    turn_wheel(code.viewport(), -1, Qt.KeyboardModifier.NoModifier)
    assert (bar.value() > 0, text.size) == (True, BASE)
    bar.setValue(0)
    for notches, size in ((1, BASE + 1), (-1, BASE)):
        turn_wheel(code.viewport(), notches, Qt.KeyboardModifier.ControlModifier)
        assert (bar.value(), text.size, code.font().pixelSize()) == (0, size, size)


def colours(code: CodeView, text: str) -> list[tuple[str, str]]:
    """The coloured words of a line with their colours, as they are painted."""
    code.grab()
    block = code.rows.block_of(line_of(code, text))
    ranges = block.layout().formats()
    words = [(block.text()[one.start : one.start + one.length], one.format) for one in ranges]
    return [(word.strip(), style.foreground().color().name()) for word, style in words if word.strip()]


def test_each_kind_of_text_has_its_colour_in_each_theme(code: CodeView) -> None:
    code.set_lines(pretty({"key": "text", "number": 1.5, "no": None, "list": [1], "end": "a\u202eb"}), folding=True)
    code.end_lines()
    seen = []
    for choice in ("light", "dark"):
        code._theme.set_choice(choice)
        tokens = code._theme.tokens
        key, mark, literal = tokens.code_key, tokens.code_punctuation, tokens.code_literal
        assert colours(code, '"key"') == [('"key"', key), (":", mark), ('"text"', tokens.code_string), (",", mark)]
        assert colours(code, '"number"')[2] == ("1.5", tokens.code_number)
        assert colours(code, '"no"')[2] == ("null", literal)
        assert ("\\u202e", tokens.warning) in colours(code, '"end"')
        seen.append((key, mark, literal, tokens.code_string, tokens.code_number))
    assert all(light != dark for light, dark in zip(*seen, strict=True))
    code.folds.fold_all()
    for words in (['"list"', ": ["], ['"list"', ": [", "1 item", "],"]):
        code.folds.toggle(line_of(code, '"list"'))
        assert [word for word, _ in colours(code, '"list"')] == words
    assert ("1 item", tokens.text_muted) in colours(code, '"list"')


def test_a_selection_over_a_fold_is_copied_with_all_it_hides(code: CodeView) -> None:
    whole = code.toPlainText()
    code.folds.fold_all()
    code.selectAll()
    code.copy()
    assert QGuiApplication.clipboard().text() == whole
    cursor = code.textCursor()
    block = code.rows.block_of(line_of(code, '"a"'))
    cursor.setPosition(block.position() + 2)
    cursor.setPosition(block.position() + 6, QTextCursor.MoveMode.KeepAnchor)
    code.setTextCursor(cursor)
    code.copy()
    assert QGuiApplication.clipboard().text() == '"a":'
    cursor.setPosition(block.position() + 2)
    cursor.setPosition(block.position() + len('  "a": {'), QTextCursor.MoveMode.KeepAnchor)
    code.setTextCursor(cursor)
    code.copy()
    assert QGuiApplication.clipboard().text() == '"a": {', "without what stands for the rest"
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    code.setTextCursor(cursor)
    code.copy()
    assert json.loads("{" + QGuiApplication.clipboard().text().removesuffix(",") + "}") == {"a": BODY["a"]}


def test_finding_unfolds_what_it_goes_to(code: CodeView) -> None:
    code.folds.fold_all()
    matches = code.searchable.find(["needle"])[0]
    code.marks.show(matches, 3)
    assert code.textCursor().block().text() == '  "end": "needle"'
    assert len(code.extraSelections()) == 1
    code.marks.show(matches, 1)
    assert code.textCursor().block().text() == '      "needle": 1'
    assert [mark.cursor.selectedText() for mark in code.extraSelections()] == ["needle"] * 2
    code.marks.show_wrong(3, 5, move=True)
    assert code.textCursor().block().text().strip() == '"x": 1,'


def test_matches_are_marked_again_once_they_are_unfolded(code: CodeView) -> None:
    code.marks.show(code.searchable.find(["needle"])[0], 3)
    for fold, seen in ((code.folds.fold_all, 1), (code.folds.unfold_all, 4)):
        fold()
        assert [mark.cursor.selectedText() for mark in code.extraSelections()] == ["needle"] * seen


def test_a_match_or_an_error_out_of_view_is_centred_and_one_in_view_moves_nothing(code: CodeView) -> None:
    code.set_lines([Line("a needle" if n in (5, 100, 102) else "  " * (n % 9) + "word " * 20) for n in range(200)])
    code.grab()
    matches, bar = code.searchable.find(["needle"])[0], code.verticalScrollBar()

    def is_centred() -> bool:
        return abs(code.cursorRect().center().y() - code.viewport().height() // 2) < 2 * 19

    code.marks.show(matches, 0)
    assert bar.value() == 0
    code.marks.show(matches, 1)
    code.grab()
    assert is_centred()
    top = bar.value()
    code.marks.show(matches, 2)
    code.grab()
    assert bar.value() == top
    code.clearFocus()
    code.marks.show_wrong(151, 3, move=True)
    code.grab()
    assert is_centred()
    assert code.textCursor().blockNumber() == 150
    assert code.window().focusWidget() is code


def test_matches_and_an_error_have_their_colours_in_each_theme(code: CodeView) -> None:
    code.set_lines([Line("a needle, a needle")])
    code.marks.show_wrong(1, 3, move=False)
    code.marks.show(code.searchable.find(["needle"])[0], 1)
    for choice in ("light", "dark"):
        code._theme.set_choice(choice)
        tokens, marks = code._theme.tokens, code.extraSelections()
        seen = [(one.cursor.selectedText(), one.format.background().color().name()) for one in marks]
        assert seen == [
            ("", tokens.danger_soft),
            ("n", tokens.danger),
            ("needle", tokens.warning_soft),
            ("needle", tokens.accent),
        ]
        text = [one.format.foreground().color().name() for one in marks[1:]]
        assert text == [tokens.on_danger, tokens.warning, tokens.on_accent]
        assert marks[0].format.property(QTextFormat.Property.FullWidthSelection)


def test_a_match_at_the_end_of_what_is_loaded_is_found_once(code: CodeView) -> None:
    encoded = base64.b64encode(b"well, needle").decode()
    code.set_lines([Line("Content-Transfer-Encoding: base64"), Line(""), Line(encoded)])
    found, searched = code.searchable.find(["needle"], ("mail",))
    assert len(found) == 1
    code.add_lines([Line(""), Line("a needle")])
    more, _ = code.searchable.find(["needle"], ("mail",), searched)
    assert len(more) == 1
    assert found[0] < more[0]


def test_lines_loaded_later_are_added_below_what_is_folded(code: CodeView) -> None:
    code.folds.fold_all()
    code.add_lines([Line("more"), Line("  inner"), Line("done")])
    assert rows(code)[-4:] == ["}", "more", "inner", "done"]
    code.folds.toggle(line_of(code, "more"))
    assert rows(code)[-2:] == ["more …", "done"]
    code.set_lines([Line("{"), Line("  1"), Line("}")])
    assert not code.folds.can_fold(0)


def test_wrapped_lines_go_on_where_they_are_indented_and_are_19_pixels_high(code: CodeView) -> None:
    assert code.font().pixelSize() == 13
    block = code.rows.block_of(line_of(code, '"long"'))
    layout = block.layout()
    assert layout.lineCount() > 3
    step = QFontMetricsF(code.font()).horizontalAdvance(" ")
    margin = code.document().documentMargin()
    assert [layout.lineAt(n).x() - margin for n in range(3)] == pytest.approx([0, 2 * step, 2 * step], abs=0.1)
    assert code.blockBoundingGeometry(block).height() == 19 * layout.lineCount()
    tops = [top for _, top in code.rows.visible_rows(60)]
    assert {round(below - above) for above, below in pairwise(tops)} == {19}
    # What was cut into display lines goes on as deep as its beginning.
    code.set_lines([Line("    " + "x" * 90), Line("y" * 90, folded=True)])
    code.grab()
    second = code.document().findBlockByNumber(1).layout()
    assert second.lineAt(0).x() - margin == pytest.approx(4 * step, abs=0.1)
    bar = code.verticalScrollBar()
    code.set_lines([Line(f"{n}") for n in range(500)])
    code.grab()
    bar.setValue(bar.maximum())
    code.grab()
    last, top = list(code.rows.visible_rows(500))[-1]
    assert (last, top + 19 <= code.viewport().height()) == (499, True)


async def test_size_and_wrapping_are_one_choice_for_all_bodies_and_remembered(tmp_path: Path, shown: PageDesk) -> None:
    text, body = shown.desk.theme.body_text, shown.detail.body
    text.load_from(tmp_path)
    await open_body(shown, json.dumps(BODY).encode(), "application/json")
    assert body.code.horizontalScrollBar().maximum() == 0
    body.wrap.click()
    body.code.grab()
    assert body.code.horizontalScrollBar().maximum() > 500
    assert body.wrap.isVisible()
    body.views.activated.emit("hex")
    await until(lambda: body.stack.currentWidget() is body.hex)
    assert not body.wrap.isVisible()
    for notches in (1, 1, -1, 1):
        turn_wheel(body.hex.viewport(), notches, Qt.KeyboardModifier.ControlModifier)
    sizes = {view.font().pixelSize() for view in (body.code, body.hex, body.tree.view, shown.detail.view.tokens.code)}
    assert sizes == {text.size} == {15}
    theme = Theme()
    again = theme.body_text
    again.load_from(tmp_path)
    assert (again.size, again.wrap) == (15, False)
    for _ in range(50):
        again.zoom_in()
    assert again.size == LARGEST == 28
    for _ in range(50):
        again.zoom_out()
    assert again.size == SMALLEST == 9
    again.reset_zoom()
    assert again.size == 13


async def test_keys_of_the_window_zoom_and_wrap(tmp_path: Path) -> None:
    async with shown_window(tmp_path) as (desk, window):
        text = desk.theme.body_text
        control = Qt.KeyboardModifier.ControlModifier
        for key, modifier, size in (
            (Qt.Key.Key_Plus, control, 14),
            (Qt.Key.Key_Equal, control, 15),
            (Qt.Key.Key_Minus, control, 14),
            (Qt.Key.Key_0, control, 13),
        ):
            QTest.keyClick(window, key, modifier)
            assert text.size == size
        QTest.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.AltModifier)
        assert not text.wrap
        offered = {command.text() for command in window.commands.registry.all()}
        assert offered >= {"Zoom in", "Zoom out", "Reset zoom", "Wrap long lines", "Fold all in body", "Fold in body"}


def test_the_menu_of_a_body_wraps_and_zooms_as_far_as_possible(code: CodeView) -> None:
    text = code._theme.body_text
    while text.size < LARGEST:
        text.zoom_in()
    place = code.viewport().mapToGlobal(code.viewport().rect().center())
    menu = code.menu(QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, place))
    actions = {action.text(): action for action in menu.actions()}
    assert not actions["Zoom in"].isEnabled()
    actions["Reset zoom"].trigger()
    assert text.size == BASE
    assert actions["Zoom in"].isEnabled()
    assert not actions["Reset zoom"].isEnabled()
    actions["Wrap long lines"].trigger()
    assert not text.wrap
    assert not actions["Wrap long lines"].isChecked()
    menu.deleteLater()


def test_a_menu_that_was_closed_follows_no_change(code: CodeView) -> None:
    """Its commands are gone, even where Python has not yet collected them: the test fails on what is raised then."""
    place = code.viewport().mapToGlobal(code.viewport().rect().center())
    menu = code.menu(QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, place))
    (commands,) = menu.findChildren(BodyTextCommands)
    menu.deleteLater()
    QApplication.sendPostedEvents(menu, QEvent.Type.DeferredDelete)
    assert not isValid(commands)
    code._theme.body_text.toggle_wrap()


def test_the_menu_of_a_body_folds_what_was_clicked(code: CodeView) -> None:
    place = code.cursorRect(QTextCursor(code.rows.block_of(line_of(code, '"x"')))).center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, code.viewport().mapToGlobal(place))
    menu = code.menu(event)
    actions: dict[str, QAction] = {action.text(): action for action in menu.actions() if action.text()}
    assert {"Fold", "Unfold", "Fold all", "Unfold all", "Wrap long lines", "Zoom in"} <= actions.keys()
    assert actions["Wrap long lines"].isChecked()
    actions["Fold"].trigger()
    menu.deleteLater()
    assert rows(code)[1] == '"a": { 2 keys },'
