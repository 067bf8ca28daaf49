"""What a reader wants to know of a body: where it is broken, its charset, that it is no text to be copied."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from app.core.bodies.formatter import Formatted, Line, position_of_column
from app.ui.inspector.request_view import INFO
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import settle, until, wait_for_widget

LEFT = Qt.MouseButton.LeftButton


def marked(shown: PageDesk) -> list[str]:
    return [selection.cursor.selectedText() for selection in shown.detail.body.code.extraSelections()]


async def test_the_place_where_json_is_broken_is_marked(shown: PageDesk) -> None:
    body = shown.detail.body
    await open_body(shown, b'{\n  "a": "\xf0\x9f\x98\x80",\n  "b": oops\n}', "application/json")
    assert body.views.current() == "text"
    assert "line 3, column 8" in body.notices.text.text()
    assert marked(shown) == ["", "o"]
    assert body.notices.place.isVisible()
    QTest.mouseClick(body.notices.place, LEFT)
    assert body.code.textCursor().block().text() == '  "b": oops'
    assert body.code.textCursor().positionInBlock() == 7
    await open_body(shown, b"{}", "application/json")
    assert marked(shown) == []
    assert body.notices.isHidden()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content_type", "sent", "line"),
    [
        ("application/json", b"[" + b'{"a": 1},\n' * 8_000 + b'{"b" 2}]', '{"b" 2}]'),
        ("application/xml", b"<r>" + b"<a>1</a>\n" * 8_000 + b"<b>2</c></r>", "<b>2</c></r>"),
    ],
)
async def test_show_leads_far_down_in_the_text_as_sent(
    content_type: str, sent: bytes, line: str, shown: PageDesk
) -> None:
    body = shown.detail.body
    await open_body(shown, sent, content_type)
    assert body.views.current() == "pretty"
    await until(body.notices.place.isVisible)
    QTest.mouseClick(body.notices.place, LEFT)
    await until(lambda: body.code.textCursor().block().text() == line, 20)
    assert body.views.current() == "text"
    assert "line 8,001" in body.notices.text.text()
    assert marked(shown)[-1]
    other = await open_body(shown, b"{}", "application/json")
    assert shown.detail.capture_id == other
    assert body.views.current() == "pretty"


def test_a_place_is_counted_in_the_text_not_in_what_is_shown_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.core.bodies.formatter.WIDTH", 10)
    out = Formatted()
    out.add_line("text", "ab\x00\x01cd" + "e" * 10)
    lines = out.take()
    shown = "".join(line.text for line in lines)
    places = [position_of_column(lines, column) for column in range(1, 18)]
    at = [sum(len(line.text) for line in lines[:fold]) + place for fold, place in places]
    assert [shown[place] for place in at[:2]] == ["a", "b"]
    assert shown[at[2] :].startswith("\\x00\\x01")
    assert shown[at[4] : at[4] + 3] == "cde"
    assert at[16] == len(shown)
    assert position_of_column([Line("")], 1) == (0, 0)


@pytest.mark.slow
async def test_the_charset_of_a_text_is_told(shown: PageDesk) -> None:
    for content_type, sent, told in (
        (
            "text/plain; charset=windows-1251",
            "\u041f\u0440\u0438".encode("cp1251"),
            ("windows-1251 · auto", "windows-1251, declared"),
        ),
        ("text/plain", "Grüße".encode(), ("Text · 7 B · auto", "UTF-8, detected")),
        (
            "application/json",
            '{"a": "ü"}'.encode("utf-16"),
            ("UTF-16-LE · auto", "UTF-16-LE, from its byte order mark"),
        ),
        ("text/plain", b"Gr\xfc\xdfe", ("Latin-1 · auto", "Latin-1, guessed")),
        ("text/plain; charset=utf-8", b"a", ("Text · 1 B · auto", "UTF-8, declared")),
        (
            "application/xml",
            b'<?xml version="1.0" encoding="koi8-r"?><a/>',
            ("koi8-r · auto", "koi8-r, named in the text"),
        ),
    ):
        await open_body(shown, sent, content_type)
        assert shown.detail.body.facts.text().endswith(told[0])
        assert facts(shown)["Charset"] == told[1]
        await open_body(shown, b"\x00\x01\x02\xff" * 40, "application/octet-stream")
        assert "Charset" not in facts(shown)


def facts(shown: PageDesk) -> dict[str, str]:
    shown.detail.tabs.setCurrentIndex(INFO)
    pairs = shown.detail.view.info.pairs
    return {pairs.record(row)[0]: pairs.value(row) for row in range(pairs.rowCount())}


async def copy(shown: PageDesk) -> QMenu:
    QGuiApplication.clipboard().setText("before")
    QTest.mouseClick(shown.detail.body.copy, LEFT)
    return await wait_for_widget(QMenu, shown.detail.body.copy)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # said when a menu opens
@pytest.mark.parametrize(("name", "copied"), [("Copy as Base64", "AAEC/w=="), ("Copy as hex", "000102ff")])
async def test_a_binary_body_is_not_copied_as_text(name: str, copied: str, shown: PageDesk) -> None:
    await open_body(shown, b"\x00\x01\x02\xff", "application/octet-stream")
    menu = await copy(shown)
    texts = [action.text() for action in menu.actions() if action.text()]
    assert texts == ["This body is binary", "Copy as Base64", "Copy as hex", "Save body as…"]
    assert QGuiApplication.clipboard().text() == "before"
    next(action for action in menu.actions() if action.text() == name).trigger()
    await until(lambda: QGuiApplication.clipboard().text() == copied)
    menu.close()
    await settle()


async def test_text_in_any_charset_is_copied_as_text(shown: PageDesk) -> None:
    for content_type, text in (("text/plain; charset=utf-16", "Grüße"), ("text/plain; charset=cp1251", "Привет")):
        await open_body(shown, text.encode(content_type.partition("=")[2]), content_type)
        QTest.mouseClick(shown.detail.body.copy, LEFT)
        await until(lambda text=text: QGuiApplication.clipboard().text() == text)
