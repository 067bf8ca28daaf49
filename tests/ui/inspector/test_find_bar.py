"""Searching in a body: matches are counted, moving between them scrolls, and loading more moves nothing."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton, QWidget

from app.core.bodies.formatter import Line
from app.core.errors import StorageUnavailableError
from app.ui.inspector.body.code_view import CodeView
from app.ui.inspector.body.finders import Finder, HexFinder, LinesFinder
from app.ui.inspector.body.parts_view import PartsView
from app.ui.theme.theme import Theme
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import settle, until


async def test_find_counts_moves_and_closes(shown: PageDesk) -> None:
    await open_body(shown, '{"é😀":"Name","b":"name","c":"NAME"}'.encode(), "application/json")
    shown.detail.open_find()
    bar, code = shown.detail.body.find_bar, shown.detail.body.code
    bar.field.setText("name")
    await until(lambda: bar.count.text() == "1 of 3")
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    assert bar.count.text() == "2 of 3"
    QTest.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert bar.count.text() == "3 of 3"
    start, end = code.searchable.find(["name"])[0][1]
    cursor = code.textCursor()
    cursor.setPosition(start)
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    assert cursor.selectedText() == "name"
    bar.field.setText("nothing like it")
    assert bar.count.text() == "No matches"
    (clear,) = bar.field.findChildren(QToolButton)
    assert clear.accessibleName() == "Clear"
    QTest.mouseClick(clear, Qt.MouseButton.LeftButton)
    assert bar.count.text() == ""
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    assert not bar.isVisible()


@pytest.mark.slow
async def test_find_stays_where_it_is_while_more_is_loaded(shown: PageDesk) -> None:
    await open_body(shown, b"a needle\n" * 40_000, "text/plain")
    shown.detail.open_find()
    bar, code = shown.detail.body.find_bar, shown.detail.body.code
    bar.field.setText("needle")
    await until(lambda: bar.count.text().startswith("1 of "))
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    code.verticalScrollBar().setValue(200)
    await until(lambda: shown.detail.body.loader.ended and bar.count.text() == "2 of 10,000+")
    assert code.verticalScrollBar().value() == 200
    QTest.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert bar.count.text() == "1 of 10,000+"


def hold_bodies(shown: PageDesk, *, fail: bool = False) -> asyncio.Event:
    """Until it is set, no body is read, whether to be shown or to look for tokens; then what waited may `fail`."""
    captures, go_on = shown.desk.store.captures, asyncio.Event()
    read = captures.body

    async def late(*arguments: int, **named: int) -> bytes:
        held = not go_on.is_set()
        await go_on.wait()
        if held and fail:
            raise StorageUnavailableError("It is away.")
        return await read(*arguments, **named)

    captures.body = late  # type: ignore[method-assign]
    return go_on


@pytest.mark.parametrize(("finder", "fails"), [(LinesFinder, False), (LinesFinder, True), (HexFinder, False)])
async def test_what_is_still_read_is_not_said_to_have_no_match(
    shown: PageDesk, finder: type[Finder], fails: bool
) -> None:
    before = b"" if finder is LinesFinder else bytes(range(256))
    await open_body(shown, before + b"another")
    sent, go_on = await shown.add(before + b"a needle\n" * 4), hold_bodies(shown, fail=fails)
    shown.page.open_request(sent.id)
    await until(lambda: shown.detail.capture_id == sent.id and shown.detail.body.loader.reader is None)
    shown.detail.open_find()
    bar = shown.detail.body.find_bar
    bar.field.setText("needle")
    assert isinstance(bar.finder, finder)
    assert bar.count.text() == "Loading…"
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)  # Nothing is searched yet that it could stop.
    assert (bar.isHidden(), bar.searching) == (True, False)
    shown.detail.open_find()
    assert bar.count.text() == "Loading…"
    go_on.set()
    await until(lambda: bar.count.text() == ("Could not read the rest" if fails else "1 of 4"))
    await until(lambda: bar.count.text() == "1 of 4")
    await until(lambda: not shown.desk.messages.waiting())


async def test_what_waited_for_a_body_waits_no_more_if_its_view_cannot_be_searched(shown: PageDesk) -> None:
    await open_body(shown, b"another")
    kind = "multipart/mixed; boundary=x"
    body = b"--x\r\n\r\na needle\r\n--x--"
    sent = await shown.add(body, content_type=kind, headers=(("Content-Type", kind),))
    go_on = hold_bodies(shown)
    shown.page.open_request(sent.id)
    await until(lambda: shown.detail.capture_id == sent.id and shown.detail.body.loader.reader is None)
    shown.detail.open_find()
    bar = shown.detail.body.find_bar
    bar.field.setText("needle")
    assert bar.searching
    go_on.set()
    await until(lambda: isinstance(shown.detail.body.stack.currentWidget(), PartsView))
    assert not bar.searching
    assert bar.count.text() == "Cannot be searched"


async def test_text_that_is_not_shown_is_not_searched(shown: PageDesk) -> None:
    await open_body(shown, b"<svg><!-- a needle --></svg>", "image/svg+xml")
    pane = shown.detail.body
    bar = pane.find_bar
    shown.detail.open_find()
    bar.field.setText("needle")
    await until(lambda: bar.count.text() == "1 of 1")
    pane.views.activated.emit("preview")
    await until(lambda: pane.stack.currentWidget() is pane.image)
    for text in ("needle", "nothing like it"):
        bar.field.setText(text)
        assert bar.count.text() == "Cannot be searched"
        assert not pane.code.extraSelections()
        assert not bar.next.isEnabled()
    bar.field.setText("needle")
    pane.views.activated.emit("text")
    await until(lambda: bar.count.text() == "1 of 1")


@pytest.mark.usefixtures("each_font")
async def test_the_field_has_room_and_the_bar_fits_a_narrow_pane(shown: PageDesk) -> None:
    await open_body(shown, b"<svg></svg>", "image/svg+xml")
    pane = shown.detail.body
    bar = pane.find_bar
    shown.detail.open_find()
    pane.views.activated.emit("preview")
    await until(lambda: pane.stack.currentWidget() is pane.image)
    bar.setMaximumWidth(421)  # as in a window of 960 pixels
    await settle()
    assert bar.field.width() >= 150
    bar.count.setText("Searching… 512 MiB of 999 MiB")
    bar.hex.show()
    assert bar.minimumSizeHint().width() <= 400


async def test_a_tree_that_cannot_be_shown_is_not_said_to_have_no_match(shown: PageDesk) -> None:
    await open_body(shown, b'{"needle": ' + b"[" * 3_000 + b"]" * 3_000 + b"}", "application/json")
    pane = shown.detail.body
    shown.detail.open_find()
    pane.find_bar.field.setText("needle")
    await until(lambda: pane.find_bar.count.text() == "1 of 1")
    pane.views.activated.emit("tree")
    await until(lambda: pane.stack.currentWidget() is pane.tree and bool(pane.tree.reason.text()))
    assert pane.find_bar.count.text() == "Cannot be searched"
    for text in ("other", ""):
        pane.find_bar.field.setText(text)
        assert not pane.find_bar.searching, "nothing is searched"


def test_long_lines_stay_wrapped_when_more_are_shown(qapp: QApplication) -> None:
    parent = QWidget()
    code = CodeView(Theme(), parent)
    code.resize(400, 300)
    parent.show()
    lines = [Line(text="word and more " * 140)] * 100
    code.set_lines(lines)
    for _ in range(3):
        code.add_lines(lines)
    assert len(code.searchable) > 512 * 1024
    qapp.processEvents()
    assert code.horizontalScrollBar().maximum() == 0
    first = code.document().firstBlock()
    assert code.blockBoundingGeometry(first).height() > 10 * code.fontMetrics().height()
    parent.deleteLater()


def test_marks_follow_the_theme(qapp: QApplication) -> None:
    theme, parent = Theme(), QWidget()
    theme.set_choice("light")
    code = CodeView(theme, parent)
    code.set_lines([Line(text="a needle, a needle")])
    code.marks.show(code.searchable.find(["needle"])[0], 1)
    before = [mark.format.background().color().name() for mark in code.extraSelections()]
    theme.set_choice("dark")
    after = [mark.format.background().color().name() for mark in code.extraSelections()]
    assert after == [theme.tokens.warning_soft, theme.tokens.accent] != before
    code.set_lines([Line(text="other")])
    theme.set_choice("light")
    assert code.extraSelections() == []
    parent.deleteLater()


async def test_the_next_match_of_a_filter_is_none_where_the_body_cannot_be_read(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown.detail.mark(["needle"], None, None)
    await open_body(shown, b"a needle, a needle", "text/plain")
    sent, body = await shown.add(b"a needle", content_type="text/plain"), shown.detail.body

    async def fail(*_: object) -> bytes:
        raise StorageUnavailableError("It is away.")

    with monkeypatch.context() as patch:
        patch.setattr(shown.desk.store.captures, "body", fail)
        shown.page.open_request(sent.id)
        await until(lambda: body.stack.currentWidget() is body.unread)
        body.find_bar.next_match()
        assert body.code.extraSelections() == []
    await until(lambda: body.stack.currentWidget() is body.code and not shown.desk.messages.waiting())
