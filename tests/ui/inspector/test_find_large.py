"""Searching a body that is too large to be shown as a whole: every place is counted, and shown in the view in use."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.errors import StorageUnavailableError
from app.core.model import PART_SIZE
from app.core.search.body_search import BodySearch
from app.ui.inspector.body.body_pane import BodyPane
from app.ui.inspector.body.code_view import CodeView
from app.ui.inspector.body.finders import AT_ONCE_MAX
from app.ui.inspector.request_view import BODY, RAW
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import settle, until

pytestmark = pytest.mark.slow

LINE = b'{"name": "nothing to see", "number": 12345678},\n'
FAR = b"".join((LINE * 12_000, b'{"a": "Needle 1"},\n', LINE * 3_000, b'{"a": "NEEDLE 2"},\n', LINE * 9_000))
LAST = b'{"a": "needle 3"}'
ITEMS = b"[" + FAR + LAST + b"]"
"""1.2 MB with a word at 0.6, 0.7 and 1.2 MB."""


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies of more than 300 kB are shown in parts."""
    for module in ("app.core.bodies.body_reader", "app.ui.inspector.body.body_pane"):
        monkeypatch.setattr(f"{module}.FORMATTED_MAX", 300_000)


def find(shown: PageDesk, text: str) -> BodyPane:
    shown.detail.open_find()
    body = shown.detail.body
    body.find_bar.field.setText(text)
    return body


def enter(body: BodyPane, *, back: bool = False) -> None:
    modifier = Qt.KeyboardModifier.ShiftModifier if back else Qt.KeyboardModifier.NoModifier
    QTest.keyClick(body.find_bar.field, Qt.Key.Key_Return, modifier)


def current(code: CodeView) -> str:
    """The line of the current match, if it can be seen."""
    seen = code.viewport().rect().contains(code.cursorRect())
    return code.textCursor().block().text().strip() if seen else ""


async def shows(body: BodyPane, text: str) -> None:
    await until(lambda: not body.find_bar.searching and body.find_bar.count.text() == text)


async def each_place_is_shown(body: BodyPane) -> None:
    for count, line in (
        ("1 of 3", "Needle 1"),
        ("2 of 3", "NEEDLE 2"),
        ("3 of 3", "needle 3"),
        ("1 of 3", "Needle 1"),
    ):
        await until(lambda line=line: line in current(body.code))
        await shows(body, count)
        enter(body)
    await until(lambda: "NEEDLE 2" in current(body.code))
    for line in ("Needle 1", "needle 3"):
        enter(body, back=True)
        await until(lambda line=line: line in current(body.code))


@pytest.mark.parametrize("group", ["pretty", "text"])
async def test_each_place_in_a_body_that_is_shown_whole(shown: PageDesk, group: str) -> None:
    await open_body(shown, ITEMS, "application/json")
    body = shown.detail.body
    body.views.activated.emit(group)
    await until(lambda: body.views.current() == group and body.loader.ended)
    find(shown, "needle")
    await shows(body, "1 of 3")
    await each_place_is_shown(body)
    assert body.views.current() == group
    assert body.code.line_count() == (1 + 24_000 * 4 + 3 * 3 + 1 if group == "pretty" else 24_003)


@pytest.mark.usefixtures("small_parts")
async def test_each_place_in_a_body_that_is_shown_in_parts(shown: PageDesk) -> None:
    await open_body(shown, ITEMS, "application/json")
    body = find(shown, "needle")
    await shows(body, "1 of 3")
    await each_place_is_shown(body)
    assert body.views.current() == "text"
    assert body.code.line_count() == 24_003
    # The view for bodies of this type is still the one it was.
    await open_body(shown, ITEMS, "application/json")
    assert body.views.current() == "pretty"


async def test_hex_and_tree_stay_what_they_are(shown: PageDesk) -> None:
    await open_body(shown, ITEMS, "application/json")
    body = shown.detail.body
    body.views.activated.emit("hex")
    await until(lambda: body.stack.currentWidget() is body.hex)
    find(shown, "needle")
    await shows(body, "1 of 3")
    for place in (ITEMS.index(b"Needle"), ITEMS.index(b"NEEDLE"), ITEMS.index(b"needle")):
        first = body.hex.verticalScrollBar().value()
        assert first <= place // body.hex.columns < first + body.hex.height() // 10
        enter(body)
    await open_body(shown, json.dumps({"a": [{"needle": 1}, "x"], "b": {"c": "a Needle"}}).encode(), "application/json")
    body.views.activated.emit("tree")
    await until(lambda: body.tree.view.nodes.tree is not None)
    find(shown, "needle")
    await shows(body, "1 of 2")
    tree = body.tree.view
    assert tree.nodes.path(tree.currentIndex()) == "a[0].needle"
    enter(body)
    assert tree.nodes.path(tree.currentIndex()) == "b.c"
    assert body.stack.currentWidget() is body.tree


@pytest.mark.parametrize(
    ("group", "steps", "count"),
    [("text", (1, 1), "3 of 3"), ("pretty", (-1,), "3 of 3"), ("hex", (1,), "2 of 3"), ("hex", (1, 1, 1), "1 of 3")],
)
async def test_enter_during_a_search_counts(shown: PageDesk, group: str, steps: tuple[int, ...], count: str) -> None:
    await open_body(shown, ITEMS, "application/json")
    body = shown.detail.body
    body.views.activated.emit(group)
    await until(lambda: body.loader.reader is not None and body.loader.reader.view is not None)
    await until(lambda: body.views.current() == group and body.loader.ended)
    find(shown, "needle")
    for step in steps:
        assert body.find_bar.searching
        enter(body, back=step < 0)
    await shows(body, count)
    place = f"eedle {count[0]}"
    if group == "hex":
        row = ITEMS.lower().index(b"n" + place.encode()) // body.hex.columns
        first = body.hex.verticalScrollBar().value()
        assert first <= row < first + body.hex.height() // 10
    else:
        await until(lambda: place in current(body.code).lower())


async def test_enter_during_a_search_of_all_lines_a_tree_and_a_raw_request_counts(shown: PageDesk) -> None:
    await open_body(shown, LINE * 6_000 + b"needle 1\nneedle 2", "text/plain")
    body = shown.detail.body
    await until(lambda: body.loader.ended and len(body.code.searchable) > AT_ONCE_MAX)
    find(shown, "needle")
    enter(body)
    await shows(body, "2 of 2")
    assert current(body.code) == "needle 2"
    shown.detail.tabs.setCurrentIndex(RAW)
    raw = shown.detail.view.raw
    await until(lambda: raw.code.line_count() > 0)
    raw.open_find()
    raw.find_bar.field.setText("needle")
    assert raw.find_bar.searching
    QTest.keyClick(raw.find_bar.field, Qt.Key.Key_Return)
    await until(lambda: current(raw.code) == "needle 2")
    shown.detail.tabs.setCurrentIndex(BODY)
    await open_body(shown, b'{"a": "needle", "b": "needle"}', "application/json")
    body.views.activated.emit("tree")
    await until(lambda: body.tree.view.nodes.tree is not None)
    find(shown, "needle")
    enter(body)
    await shows(body, "2 of 2")
    assert body.tree.view.nodes.path(body.tree.view.currentIndex()) == "b"


@pytest.mark.usefixtures("small_parts")
async def test_a_search_from_the_middle_counts_what_is_before(shown: PageDesk) -> None:
    await open_body(shown, ITEMS, "application/json")
    body = find(shown, "needle")
    await shows(body, "1 of 3")
    enter(body, back=True)
    await until(lambda: "needle 3" in current(body.code))
    body.find_bar.leave()
    find(shown, "needle")
    await shows(body, "3 of 3")
    assert "needle 3" in current(body.code)
    enter(body)
    await shows(body, "1 of 3")
    await until(lambda: "Needle 1" in current(body.code))


PART = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n' + LINE * 14_000 + b"needle\r\n--b--\r\n"


@pytest.mark.usefixtures("small_parts")
async def test_a_place_that_the_view_leaves_out_is_shown_in_the_text(shown: PageDesk) -> None:
    await open_body(shown, PART, "multipart/form-data; boundary=b")
    body = shown.detail.body
    find(shown, "needle")
    await shows(body, "1 of 1")
    await until(lambda: "needle" in current(body.code))
    assert body.views.current() == "text"


@pytest.mark.usefixtures("small_parts")
async def test_a_packed_body_is_searched_and_shown_as_well(shown: PageDesk) -> None:
    packed = await asyncio.to_thread(gzip.compress, LINE * 60_000 + b"needle\n" + LINE * 10_000, 1)
    await open_body(shown, packed, "text/plain", headers=(("Content-Encoding", "gzip"),))
    body = find(shown, "needle")
    await shows(body, "1 of 1")
    await until(lambda: current(body.code) == "needle")
    assert int(body.code.rows.number_text(0)) in range(59_000, 60_001)


@pytest.mark.usefixtures("small_parts")
async def test_what_only_the_bytes_hold_can_be_seen_in_hex(shown: PageDesk) -> None:
    # Pretty has a line break between the two.
    await open_body(shown, b"[" + b'{"n": 1},' * 60_000 + b'{"x": 1}, {"y": 2}]', "application/json")
    body = find(shown, "}, {")
    await until(body.find_bar.hex.isVisible)
    body.find_bar.hex.click()
    await until(lambda: body.stack.currentWidget() is body.hex)
    await shows(body, "1 of 1")
    # The view for bodies of this type is still the one it was.
    await open_body(shown, b"[1]", "application/json")
    assert body.stack.currentWidget() is body.code


@pytest.mark.usefixtures("small_parts")
async def test_a_failed_read_is_reported_and_retried(shown: PageDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    await open_body(shown, FAR, "text/plain")
    body = shown.detail.body
    with monkeypatch.context() as broken:
        broken.setattr(shown.desk.store.captures, "body", unreadable)
        find(shown, "needle")
        await shows(body, "Could not read the rest")
        assert shown.desk.messages.waiting()
    enter(body)
    await shows(body, "1 of 2")
    await until(lambda: "Needle 1" in current(body.code))
    assert not shown.desk.messages.waiting()


@pytest.mark.usefixtures("small_parts")
async def test_a_search_goes_on_where_it_was_when_the_rest_can_be_read_again(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.ui.tasks.AGAIN_S", 0.01)
    captures, can_be_read = shown.desk.store.captures, True
    stored = captures.body

    async def read(capture_id: str, offset: int, length: int) -> bytes:
        if offset + length > PART_SIZE and not can_be_read:
            await unreadable()
        return await stored(capture_id, offset, length)

    await open_body(shown, ITEMS, "application/json")
    monkeypatch.setattr(captures, "body", read)
    body = find(shown, "needle")
    await shows(body, "1 of 3")
    can_be_read = False
    enter(body, back=True)
    await until(body.unread.isVisible)
    await shows(body, "Could not read the rest")
    can_be_read = True
    await until(lambda: "needle 3" in current(body.code))
    await shows(body, "3 of 3")
    can_be_read = False
    body.views.activated.emit("hex")
    await shows(body, "Could not read the rest")
    can_be_read = True
    await shows(body, "1 of 3")
    await until(lambda: not shown.desk.messages.waiting())


async def unreadable(*_: object) -> bytes:
    raise StorageUnavailableError("The stored requests cannot be read.")


async def test_esc_stops_and_another_body_ends_a_search(shown: PageDesk) -> None:
    await open_body(shown, FAR, "text/plain")
    for text in ("nowhere", "not there"):  # while the body is loaded, and after that
        body = find(shown, text)
        assert (body.find_bar.searching, body.find_bar.count.text()) == (True, "Searching…")
        QTest.keyClick(body.find_bar.field, Qt.Key.Key_Escape)
        assert (body.find_bar.isVisible(), body.find_bar.searching) == (True, False)
        await until(lambda: not shown.desk.tasks.running())
        assert body.find_bar.count.text() == "No matches so far"
    body.find_bar.field.setText("nowhere else")
    await shows(body, "No matches")
    body.find_bar.field.setText("needle")
    await open_body(shown, b"short", "text/plain")
    await settle()
    assert (body.find_bar.isVisible(), body.find_bar.searching) == (False, False)
    assert body.code.toPlainText() == "short"


@pytest.mark.usefixtures("small_parts")
async def test_more_places_than_are_counted_are_counted_on(shown: PageDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.ui.inspector.body.finders.PLACES_MAX", 5)
    await open_body(shown, LINE * 6_000 + (b"needle " * 3 + b"\n" + LINE * 4_000) * 3, "text/plain")
    body = find(shown, "needle")
    await shows(body, "1 of 5+")
    for _ in range(5):
        enter(body)
    await shows(body, "6 of 9")


@pytest.mark.parametrize("shift", [-9, -6, -3, -1, 0])
def test_a_word_across_two_pieces_is_found_once(shift: int) -> None:
    search = BodySearch("utf-8", "nÉedle", 10)
    data = b"." * (1_000 + shift) + "Néedle".encode() + b"." * 100
    assert [*search.search(data[:1_000]), *search.search(data[1_000:])] == [1_000 + shift + 10]
    assert not BodySearch("latin-1", "\u20ac").possible
    assert BodySearch("utf-16-le", "a").search("\u6100\u0061a".encode("utf-16-le")) == [2, 4]
    assert BodySearch("utf-8", '"a": 1', indented=True).search(b'{"a":1,"a" :1,"a":\r\n 1}') == [1, 14]
