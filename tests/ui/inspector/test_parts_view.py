"""A multipart body is shown as cards: each part with its facts, its beginning, and its own views, copy and save."""

from __future__ import annotations

import asyncio
import gzip
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.core.bodies.formats.multipart import SHOWN_MAX, PartFinder
from app.ui.inspector.body.body_export import file_name, write_body
from app.ui.inspector.body.body_pane import BodyPane
from app.ui.inspector.body.body_source import BodySource, of_bytes
from app.ui.inspector.body.part_card import ROWS_MAX, LoadedPart, PartCard, read_part, read_thumbnail
from app.ui.inspector.body.parts_view import PartsView
from tests import factories
from tests.ui.desk import shown
from tests.ui.inspector.test_image_view import picture
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import activate, settle, until

TYPE = "multipart/form-data; boundary=b"


def part(content: bytes, disposition: str = "", *headers: str) -> bytes:
    lines = [f"Content-Disposition: form-data{disposition}", *headers]
    return b"--b\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n"


PNG = picture("png")
BODY = (
    part(b"hello", '; name="note"')
    + part(PNG, '; name="f"; filename="../../.p\\NUL.png"')
    + part(b"let a\r\n", '; name="f"; filename="app.js"', "Content-Type: application/octet-stream")
    + part(b"eyJhIjogMX0=", '; name="j"', "Content-Type: application/json", "Content-Transfer-Encoding: base64")
    + part(b"")
    + b"--b--\r\n"
)


async def open_cards(shown: PageDesk, body: bytes, content_type: str = TYPE, **fields: object) -> PartsView:
    """Once the parts in view are read."""
    await open_body(shown, body, content_type, **fields)
    view = shown.detail.body.stack.currentWidget()
    assert isinstance(view, PartsView)
    await until(lambda: "part" in view.count.text())
    await until(lambda: all(card.part is not None for card in view.cards.cards.values()))
    return view


def titles(view: PartsView) -> list[str]:
    return [view.cards.cards[number].title.text() for number in sorted(view.cards.cards)]


def seen(card: PartCard) -> list[str]:
    """What of its content can be seen."""
    return [line.text for line in card.part.lines] if card.part is not None and card.text.isVisible() else []


async def opened(view: PartsView, number: int) -> BodyPane:
    view.cards.go_to(number)
    card = view.cards.cards[number]
    await until(lambda: card.part is not None)
    card.toggle_button.click()
    pane = card.pane
    assert isinstance(pane, BodyPane)
    await until(lambda: pane.loader.reader is not None or pane.stack.currentWidget() is pane.nothing)
    return pane


async def parts_of(body: bytes, content_type: str = TYPE) -> list[LoadedPart]:
    finder = PartFinder(content_type)
    finder.feed(body)
    finder.finish()
    source = of_bytes(body, "body")
    return [await read_part(source, span, f"part-{number}") for number, span in enumerate(finder.spans, 1)]


async def content(one: LoadedPart) -> bytes:
    return await one.source.read(0, one.source.size)


@pytest.mark.parametrize("width", [1280, 960])
async def test_hex_in_a_part_is_not_wrapped_in_a_narrow_window(tmp_path: Path, width: int) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        window.resize(width, 540)
        body = part(bytes(range(256)), '; name="f"') + b"--b--\r\n"
        capture = factories.capture(body, endpoint_id=desk.store.endpoints.all()[0].id, content_type=TYPE)
        await desk.store.captures.add(capture, body)
        window.show_endpoint(capture.endpoint_id)
        window.requests.go_to(capture)
        pane = window.requests.detail.body
        await until(lambda: pane.views.current() == "parts")
        pane.views.activated.emit("pretty")
        code = pane.code
        await until(lambda: " 30 31 32 33 34 35 36 37" in code.toPlainText())
        await until(code.isVisible)
        await settle()
        assert not code.grab().isNull()
        blocks = [code.document().findBlockByNumber(row) for row in range(code.blockCount())]
        rows = [block for block in blocks if re.match("  [0-9a-f]+  ([0-9a-f]{2} ){7}", block.text())]
        assert rows
        assert {block.layout().lineCount() for block in rows} == {1}


@pytest.mark.slow
@given(st.lists(st.binary(max_size=60).filter(lambda data: b"--b" not in data), min_size=1, max_size=5))
def test_a_part_has_the_bytes_that_were_sent(contents: list[bytes]) -> None:
    async def read() -> list[bytes]:
        return [await content(one) for one in await parts_of(b"".join(map(part, contents)) + b"--b--")]

    assert asyncio.run(read()) == contents


async def test_each_part_is_a_card_with_its_facts_and_its_beginning(shown: PageDesk) -> None:
    for body, headers in ((BODY, ()), (gzip.compress(BODY), (("Content-Encoding", "gzip"),))):
        view = await open_cards(shown, body, headers=headers)
        cards = view.cards.cards
        assert shown.detail.body.views.current() == "parts"
        assert view.count.text() == "5 parts"
        assert titles(view) == ["note", "f", "f", "j", "Part 5"]
        assert [cards[number].facts.text() for number in range(5)] == [
            "Part 1 · 5 B",
            f"Part 2 · {len(PNG)} B · ../../.p\\NUL.png",
            "Part 3 · application/octet-stream · 7 B · app.js",
            "Part 4 · application/json · 12 B",
            "0 B",
        ]
        await until(cards[1].picture.isVisible)
        assert [seen(cards[number]) for number in range(5)] == [["hello"], [], ["let a"], ["{", '  "a": 1', "}"], []]
        assert cards[0].toggle_button.accessibleDescription() == "note · 5 B"
        assert cards[3].text.accessibleDescription() == '{\n  "a": 1\n}'
        assert cards[1].remarks.text() == cards[1].picture.accessibleDescription() == "PNG · 30×20 pixels"
        assert cards[3].remarks.text() == "Sent as base64, decoded here and when it is saved."
        assert not any(cards[number].more.isVisible() for number in range(5))


async def test_each_part_has_its_own_views_and_is_copied_and_saved(shown: PageDesk, tmp_path: Path) -> None:
    view = await open_cards(shown, BODY)
    cards = view.cards.cards
    note, image, script, *_ = [one.part.source for _, one in sorted(cards.items()) if one.part is not None]
    cards[0].copy.click()
    await until(lambda: QGuiApplication.clipboard().text() == "hello")
    await until(lambda: view.cards._toast._text.text() == "Copied the part.")
    await until(cards[1].picture.isVisible)
    cards[1].copy.click()
    await until(lambda: not QGuiApplication.clipboard().image().isNull())
    for number, text in ((2, "let a"), (3, '{\n  "a": 1\n}')):
        pane = await opened(view, number)
        await until(lambda: pane.code.toPlainText().strip() == text)  # noqa: B023 - awaited in the loop
        assert not cards[number].text.isVisible()
        assert not cards[number].copy.isVisible()
        assert pane.copy.accessibleName() == f"Copy part {number + 1}"
    pane = await opened(view, 4)
    assert pane.stack.currentWidget() is pane.nothing
    cards[4].toggle_button.click()
    assert cards[4].pane is None
    assert cards[4].copy.isVisible()
    assert [file_name(one) for one in (note, image, script)] == ["part-1.bin", "_NUL.png", "app.js"]
    await write_body(image, tmp_path / file_name(image))
    assert (tmp_path / "_NUL.png").read_bytes() == PNG


async def test_the_text_stays_a_click_away_and_find_opens_it(shown: PageDesk) -> None:
    await open_cards(shown, BODY)
    body = shown.detail.body
    shown.detail.open_find()
    await until(lambda: body.stack.currentWidget() is body.code)
    assert body.views.current() == "pretty"
    body.find_bar.field.setText("hello")
    await until(lambda: body.find_bar.count.text() == "1 of 1")
    assert isinstance(await open_cards(shown, BODY), PartsView)  # Looking for something once is no choice.


async def test_find_stays_in_the_part_that_the_keyboard_is_in(shown: PageDesk) -> None:
    view = await open_cards(shown, BODY)
    await activate(shown.page)
    pane = await opened(view, 0)
    pane.take_focus()
    shown.detail.open_find()
    assert not pane.find_bar.isHidden()
    assert shown.detail.body.find_bar.isHidden()
    assert shown.detail.body.stack.currentWidget() is view


@pytest.mark.slow
async def test_the_keyboard_stays_in_the_parts_of_the_next_request(shown: PageDesk) -> None:
    view = await open_cards(shown, BODY)
    await activate(shown.page)
    view.cards.go_to(2)
    await open_cards(shown, BODY)
    assert view.cards.cards[0].toggle_button.hasFocus()
    (await opened(view, 0)).take_focus()
    await open_cards(shown, BODY)
    assert view.cards.cards[0].toggle_button.hasFocus()
    await open_body(shown, b"{}", "application/json")
    assert shown.detail.body.code.hasFocus()


async def test_a_long_part_is_folded_and_opened_by_click_and_key(shown: PageDesk) -> None:
    text = b"".join(b"line %d\r\n" % number for number in range(100))
    view = await open_cards(shown, part(text, '; name="a"') + part(b"x" * 5_000, '; name="b"') + b"--b--")
    await activate(shown.page)
    first, second = view.cards.cards[0], view.cards.cards[1]
    assert (first.more.text(), first.more.isVisible(), second.more.isVisible()) == ("Show all 890 B", True, True)
    assert first.text.height() == second.text.height() == ROWS_MAX * shown.desk.theme.body_text.line_height
    view.setFocus()
    assert first.toggle_button.hasFocus()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Space):
        QTest.keyClick(first.toggle_button, key)
        assert first.pane is not None
        assert first.toggle_button.accessibleName() == "Close part 1"
        QTest.keyClick(first.toggle_button, key)
        assert first.pane is None
        assert first.toggle_button.accessibleName() == "Open part 1"
    for place in (first.title, first.text, first.more):
        QTest.mouseClick(place, Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
        assert first.pane is not None
        QTest.mouseClick(first.title, Qt.MouseButton.LeftButton)
        assert first.pane is None
    QTest.mouseClick(second.more, Qt.MouseButton.LeftButton)
    assert view.cards.current == 1
    assert second.y() >= 0, "its head is seen"
    QTest.mouseClick(second.title, Qt.MouseButton.LeftButton)
    QTest.mousePress(first.title, Qt.MouseButton.LeftButton)
    QTest.mouseRelease(first.title, Qt.MouseButton.LeftButton, pos=QPoint(3, first.height()))
    QTest.mouseClick(first.title, Qt.MouseButton.RightButton)
    assert first.pane is None


async def test_of_many_parts_only_those_in_view_are_made_and_all_are_reached(shown: PageDesk) -> None:
    view = await open_cards(shown, b"".join(part(b"x", f'; name="n{n}"') for n in range(1_000)) + b"--b--")
    await activate(shown.page)
    assert view.count.text() == "1,000 parts"
    assert len(view.cards.cards) < 50
    view.setFocus()
    QTest.keyClick(view.cards.cards[0].toggle_button, Qt.Key.Key_End)
    await until(lambda: view.cards.cards[999].title.text() == "n999")
    assert view.cards.cards[999].toggle_button.hasFocus()
    assert not view.cards.cards[999].copy.visibleRegion().isEmpty()
    for key, number in ((Qt.Key.Key_Up, 998), (Qt.Key.Key_Down, 999), (Qt.Key.Key_Down, 999), (Qt.Key.Key_Home, 0)):
        QTest.keyClick(view.cards.cards[view.cards.current].toggle_button, key)
        assert view.cards.cards[number].toggle_button.hasFocus()
    bar = view.cards.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    assert len(view.cards.cards) < 50
    await until(lambda: any(400 < number < 600 and card.part for number, card in view.cards.cards.items()))
    assert 0 in view.cards.cards  # The keyboard is still on it.
    tops = [view.cards.cards[number].geometry() for number in sorted(view.cards.cards)]
    assert all(one.bottom() < other.top() for one, other in pairwise(tops))


async def test_the_lines_of_a_part_are_below_each_other(shown: PageDesk) -> None:
    view = await open_cards(shown, part(b"first\r\nsecond\r\nthird") + b"--b--")
    text, height = view.cards.cards[0].text, shown.desk.theme.body_text.line_height
    assert text.height() == 3 * height
    picture = text.grab().toImage()
    for row in range(3):
        band = range(row * height + 2, (row + 1) * height - 2)
        assert len({picture.pixel(x, y) for x in range(picture.width()) for y in band}) > 1


async def test_a_part_that_is_opened_at_the_bottom_is_scrolled_into_view(shown: PageDesk) -> None:
    view = await open_cards(shown, b"".join(part(b"x", f'; name="n{n}"') for n in range(60)) + b"--b--")
    height = view.cards.viewport().height()
    card = view.cards.cards[max(n for n, one in view.cards.cards.items() if one.geometry().bottom() < height)]
    assert card.y() > height // 2
    card.toggle_button.click()
    await settle()
    assert card.pane is not None
    assert card.y() >= 0
    assert card.y() <= 8 or card.geometry().bottom() <= height


async def test_tab_goes_through_the_buttons_of_one_card_and_on(shown: PageDesk) -> None:
    view = await open_cards(shown, BODY)
    await activate(shown.page)
    cards = view.cards.cards
    view.cards.go_to(2)
    met: list[QWidget | None] = []
    for _ in range(3):
        met.append(QApplication.focusWidget())
        QTest.keyClick(met[-1], Qt.Key.Key_Tab)
    assert met == [cards[2].toggle_button, cards[2].copy, cards[2].save]
    after = QApplication.focusWidget()
    assert after is not None
    assert not view.isAncestorOf(after)
    QTest.keyClick(after, Qt.Key.Key_Backtab)
    assert cards[2].save.hasFocus()
    pane = await opened(view, 3)
    QTest.keyClick(cards[3].toggle_button, Qt.Key.Key_Tab)
    assert pane.isAncestorOf(QApplication.focusWidget())  # type: ignore[arg-type]


async def test_the_menu_of_a_card_opens_copies_and_saves(shown: PageDesk) -> None:
    view = await open_cards(shown, BODY)
    card = view.cards.cards[0]
    assert [action.text() for action in card.actions()] == ["Open", "Copy", "Save as…"]
    assert card.contextMenuPolicy() is Qt.ContextMenuPolicy.ActionsContextMenu
    actions: dict[str, QAction] = {action.text(): action for action in card.actions()}
    actions["Copy"].trigger()
    await until(lambda: QGuiApplication.clipboard().text() == "hello")
    closed = card.toggle_button.grab().toImage()
    actions["Open"].trigger()
    assert card.pane is not None
    assert actions["Open"].text() == "Close"
    assert card.toggle_button.grab().toImage() != closed


async def test_every_button_has_a_name_of_its_own(shown: PageDesk) -> None:
    inner = part(b"inner", '; name="i"').replace(b"--b", b"--c") + b"--c--"
    view = await open_cards(shown, part(b"a") + part(inner, "", "Content-Type: multipart/mixed; boundary=c") + b"--b--")
    pane = await opened(view, 1)
    inside = pane.stack.currentWidget()
    assert isinstance(inside, PartsView)
    await until(lambda: inside.cards.cards and inside.cards.cards[0].part is not None)
    assert inside.cards.cards[0].facts.text() == "Part 2.1 · 5 B"
    cards = [view.cards.cards[0], view.cards.cards[1], inside.cards.cards[0]]
    names = [button.accessibleName() for card in cards for button in (card.toggle_button, card.copy, card.save)]
    assert len(set(names)) == len(names)
    assert all(names)
    assert names[-3:] == ["Open part 2.1", "Copy part 2.1", "Save part 2.1 as…"]


@pytest.mark.slow
async def test_what_is_broken_is_told_and_shown(shown: PageDesk) -> None:
    for body, content_type, notice, remark in (
        (part(b"whole") + part(b"half")[:-3], TYPE, "The closing boundary is missing.", "The body ends before"),
        (part(b"a") + b"--b--", "multipart/form-data", "No boundary is declared", ""),
        (part(b"a") + b"--b--", "multipart/mixed; boundary=c", "boundary c does not occur", ""),
        (b"--b\r\nnonsense\r\n\r\na\r\n--b--", TYPE, "", "header lines are malformed"),
        (part(b"?!", "", "Content-Transfer-Encoding: base64") + b"--b--", TYPE, "", "but it is not; shown as sent"),
        (part(PNG[:40], "", "Content-Type: image/png") + b"--b--", TYPE, "", "This PNG image is damaged"),
        (part(b"hm", "", "Content-Type: image/heic") + b"--b--", TYPE, "", "cannot preview this image format"),
        (b"--x\r\n\r\n", TYPE, "", ""),
        (b"text\r\n--x", TYPE, "No parts found", ""),
    ):
        view = await open_cards(shown, body, content_type)
        assert notice in view.notices.text.text()
        last = max(view.cards.cards, default=None)
        if last is not None:
            await until(lambda last=last, remark=remark, view=view: remark in view.cards.cards[last].remarks.text())
            if remark:
                assert seen(view.cards.cards[last])


async def test_a_multipart_body_without_any_boundary_is_text(shown: PageDesk) -> None:
    await open_body(shown, b"no boundary", TYPE)
    assert shown.detail.body.views.current() == "text"
    assert "No parts found" in shown.detail.body.notices.text.text()


async def test_names_do_not_act_and_do_not_widen(shown: PageDesk) -> None:
    wide, right_to_left = "漢" * 100, "\u202e\u05e9\u05dc"
    disposition = f'; name="{wide}"; filename="{right_to_left}.txt"'
    view = await open_cards(shown, part(b"a\x1b[31m", disposition) + part(b"b", "", "Content-ID: <b\x07>") + b"--b--")
    card, other = view.cards.cards[0], view.cards.cards[1]
    assert card.title.text() == wide
    assert card.facts.text() == "Part 1 · 6 B · \\u202e\u05e9\u05dc.txt"
    assert seen(card) == ["a\\x1b[31m"]
    assert other.title.text() == "<b\\x07>"
    assert card.width() < view.width()
    assert not card.save.visibleRegion().isEmpty()


async def test_of_a_large_part_only_the_beginning_is_read(shown: PageDesk) -> None:
    size, sent = 50 * 1024 * 1024, part(b"", '; name="large"')[:-2]
    tail = b"\r\n" + part(b"last", '; name="after"') + b"--b--"
    held: list[int] = []

    async def read(offset: int, length: int) -> bytes:
        held.append(length)
        data = sent[offset : offset + length]
        zeros = max(0, min(length - len(data), len(sent) + size - offset - len(data)))
        at = max(0, offset + len(data) + zeros - len(sent) - size)
        return data + bytes(zeros) + tail[at : at + length - len(data) - zeros]

    (first,) = (await parts_of(sent + b"x\r\n--b--"))[:1]
    assert first.title == "large"
    await open_body(shown, b"1", "text/plain")
    pane = shown.detail.body
    pane.show_source(BodySource(len(sent) + size + len(tail), (), TYPE, "body", read))
    await until(lambda: pane.views.current() == "parts")
    view = pane.stack.currentWidget()
    assert isinstance(view, PartsView)
    await until(lambda: len(view.cards.cards) == 2 and view.cards.cards[0].part is not None)
    await until(lambda: view.cards.cards[1].part is not None)
    assert [card.facts.text() for card in view.cards.cards.values()] == ["Part 1 · 50 MiB", "Part 2 · 4 B"]
    assert max(held) <= 1024 * 1024
    card = view.cards.cards[0]
    assert card.part is not None
    assert len(card.part.lines) < 20
    assert (card.more.text(), card.more.isVisible()) == ("Show all 50 MiB", True)
    assert await card.part.source.read(size - 2, SHOWN_MAX) == b"\0\0"


@pytest.mark.parametrize(
    ("size", "ratio", "thumbnail"),
    [
        ((30, 20), 1.0, (30, 20)),
        ((480, 480), 1.0, (120, 120)),
        ((480, 480), 2.0, (240, 240)),
        ((2_000, 1), 1.0, (240, 1)),
    ],
)
async def test_a_thumbnail_has_its_size_on_every_screen(
    size: tuple[int, int], ratio: float, thumbnail: tuple[int, int]
) -> None:
    found = await read_thumbnail(of_bytes(picture("png", *size), "picture"), ratio)
    assert found.image is not None
    assert found.image.size().toTuple() == thumbnail


async def test_what_is_too_large_to_decode_is_shown_as_sent(shown: PageDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.ui.inspector.body.part_card.ENCODED_MAX", 10)
    monkeypatch.setattr("app.ui.inspector.body.part_card.THUMBNAIL_OF_MAX", 10)
    monkeypatch.setattr("app.ui.inspector.body.parts_view.PACKED_MAX", 900)
    body = part(b"eyJhIjogMX0=", "", "Content-Transfer-Encoding: base64") + part(PNG) + part(b"a" * 1_000) + b"--b--"
    view = await open_cards(shown, gzip.compress(body), headers=(("Content-Encoding", "gzip"),))
    encoded, image = view.cards.cards[0], view.cards.cards[1]
    assert seen(encoded) == ["eyJhIjogMX0="]
    assert encoded.remarks.text() == "Sent as base64, and not decoded: it is larger than 10 B."
    await until(lambda: image.remarks.text() == "Pictures over 10 B get no thumbnail.")
    assert seen(image), "the bytes in place of the picture"
    assert view.count.text() == "2 parts"
    assert view.notices.text.text() == "Only parts within the first 900 B are shown."


async def test_what_is_in_view_stays_there_when_the_cards_above_get_their_heights(shown: PageDesk) -> None:
    body = b"".join(part(b"a\r\n" * 12, f'; name="n{n}"') for n in range(60)) + b"--b--"
    view = await open_cards(shown, body)
    bar = view.cards.verticalScrollBar()
    view.cards.go_to(30)
    await until(lambda: all(card.part is not None for card in view.cards.cards.values()))
    place = view.cards.cards[30].y()
    assert 0 < place < view.cards.viewport().height()
    shown.desk.theme.body_text.zoom_in()
    assert view.cards.cards[view.cards._at(bar.value() + 8)].y() <= 8
    shown.desk.theme.set_choice("dark")
    assert not view.grab().isNull()


async def test_the_words_of_a_filter_are_marked(shown: PageDesk) -> None:
    view = await open_cards(shown, part(b"hello world", '; name="a"') + b"--b--")
    text = view.cards.cards[0].text
    before = text.grab().toImage()
    shown.page.filter.bar.set_text("world")
    await until(lambda: text.grab().toImage() != before)
