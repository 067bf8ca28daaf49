"""Matches of a filter are highlighted: in its field, in the list, and in the body."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QFontMetricsF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.core.search.body_search import pattern_of
from app.ui.inspector.request_view import BODY, HEADERS, QUERY
from app.ui.requests.filter_line import FilterLine
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.marked_text import elide_around, marked_places, wrapped
from tests.ui.desk import Desk
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import settle, until


def marked(shown: PageDesk) -> list[str]:
    return [one.cursor.selectedText() for one in shown.detail.body.code.extraSelections()]


def test_longer_words_are_marked_before_shorter_ones_and_signs_are_no_pattern() -> None:
    pattern = pattern_of(["a.b", "", "a", "a.bc"])
    assert pattern is not None
    assert pattern.findall("A.BC axb a.b") == ["A.BC", "a", "a.b"]
    assert pattern_of([""]) is None


def test_a_match_is_not_lost_where_a_long_line_is_cut(qapp: QApplication) -> None:
    fm = QFontMetrics(mono_font())
    text = "/" + "a" * 40 + "/needle/" + "b" * 40
    width = fm.horizontalAdvance("x" * 30)
    for wanted, end in (("needle", "…"), ("bbbb", "b"), ("/a", "b"), ("nothing", "b")):
        shown = elide_around(text, pattern_of([wanted]), fm, width)
        assert (wanted in shown) is (wanted in text)
        assert fm.horizontalAdvance(shown) <= width
        assert shown.endswith(end), wanted
    assert elide_around("/short", pattern_of(["s"]), fm, width) == "/short"
    assert elide_around(text, None, fm, width).count("…") == 1


async def test_words_are_marked_in_the_body_and_f3_moves(shown: PageDesk) -> None:
    page = shown.page
    body = b'{"type":"invoice.paid","other":"INVOICE","\xf0\x9f\x98\x80":"paid"}'
    await open_body(shown, body, "application/json")
    assert marked(shown) == []
    page.filter.bar.set_text("invoice paid -refund method:POST")
    await until(lambda: shown.model.rowCount() == 1)
    assert marked(shown) == ["invoice", "paid", "INVOICE", "paid"]
    code = shown.detail.body.code
    places = []
    shown.detail.tabs.setCurrentIndex(HEADERS)
    for _ in range(5):
        QTest.keyClick(shown.list, Qt.Key.Key_F3)
        places.append(code.textCursor().position())
    assert shown.detail.tabs.currentIndex() == BODY
    assert places[0] < places[1] < places[2]
    assert places[3] < places[4] == places[0]
    QTest.keyClick(shown.list, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    assert code.textCursor().position() == places[3]
    await open_body(shown, b"another invoice", "text/plain")
    assert marked(shown) == ["invoice"]
    shown.detail.open_find()
    shown.detail.body.find_bar.field.setText("another")
    assert marked(shown) == ["another"]
    shown.detail.body.find_bar.leave()
    assert marked(shown) == ["invoice"]
    page.filter.bar.clear()
    assert marked(shown) == []


async def test_words_are_marked_in_what_is_loaded_later(shown: PageDesk) -> None:
    await shown.add(b"needle")
    await shown.reload()
    shown.page.filter.bar.set_text("needle")
    await open_body(shown, b"hay\n" * 5_000 + b"a needle\n" * 40, "text/plain")
    await until(lambda: marked(shown) == ["needle"] * 40)


async def test_words_and_paths_are_marked_in_the_list(shown: PageDesk) -> None:
    await shown.add(target="/catch/x/orders/17")
    await shown.reload()
    plain = shown.list.grab().toImage()
    for text in ("ORDERS", "path:/orders", "nothing OR (orders 17)"):
        shown.page.filter.bar.set_text(text)
        await until(lambda: not shown.feed.pager.jumping)
        assert shown.model.rowCount() == 1
        assert shown.list.grab().toImage() != plain
    shown.page.filter.bar.clear()
    await until(lambda: not shown.feed.pager.jumping)
    assert shown.list.request_delegate.marked is None


async def test_the_line_counts_characters_whatever_they_are(desk: Desk) -> None:
    line = FilterLine(desk.theme or Theme(), None)  # type: ignore[arg-type]
    line.setText("😀 mehtod:x")
    line.setCursorPosition(3)
    assert line.place() == 2
    line.mark([(0, 1)], (2, 9))
    assert line.text() == "😀 mehtod:x"
    line.replace(2, 9, "method:")
    assert line.text() == "😀 method:x"
    assert line.place() == 9
    line.undo()
    assert line.text().startswith("😀")
    line.deleteLater()
    await settle()


async def test_words_are_marked_among_headers_and_query_fields(shown: PageDesk) -> None:
    detail, headers = shown.detail, (("X-Topic", "orders/paid"), ("X-Kind", "orders"))
    await open_body(shown, b"{}", headers=headers, target="/catch/x?a=orders&b=2")
    for tab, view in ((QUERY, detail.view.query), (HEADERS, detail.view.headers)):
        detail.tabs.setCurrentIndex(tab)
        assert view.marked is None
    shown.page.filter.bar.set_text("orders header:x-topic~paid -b")
    await until(lambda: detail.view.headers.marked is not None)
    assert found(detail.view.headers.marked, "X-Topic: orders/paid") == ["orders", "paid"]
    assert found(detail.view.query.marked, "orders paid b") == ["orders"]
    view = detail.view.headers
    name, value = (view.visualRect(view.pairs.index(1, column)) for column in (0, 1))
    before = [view.viewport().grab(cell).toImage() for cell in (name, value)]
    shown.page.filter.bar.clear()
    assert detail.view.headers.marked is None
    after = [view.viewport().grab(cell).toImage() for cell in (name, value)]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False]


FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"
IN_QP = (
    b"--b\r\nContent-Disposition: form-data; name=a\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Transfer-Encoding: quoted-printable\r\n\r\nthis is zo=\r\n=C3=AB\r\n--b--\r\n"
)


IN_BASE64 = b"Subject: x\r\nContent-Transfer-Encoding: base64\r\nX: y\r\n\r\nYSAgem\r\n/Dqw==\r\n"
SENT = {
    "json": (b'{"a":"zo\\u00eb","b":"zo\xc3\xab"}', "application/json", "zo\u00eb"),
    "slashes": (b'{"a":"https:\\/\\/x.io"}', "application/json", "https://x.io"),
    "json in json": (b'{"a":"{\\"b\\":\\"zo\\\\u00eb\\"}"}', "text/plain", "zo\u00eb"),
    "form": (b"a=two+words%21", FORM, '"two words!"'),
    "part": (IN_QP, MULTIPART, "zo\u00eb"),
    "base64": (IN_BASE64, "message/rfc822", "zo\u00eb"),
}


@pytest.mark.parametrize(
    ("name", "pretty", "plain"),
    [
        ("json", ["zo\\u00eb", "zo\u00eb"], ["zo\\u00eb", "zo\u00eb"]),
        ("slashes", ["https:\\/\\/x.io"], ["https:\\/\\/x.io"]),
        ("json in json", ["zo\\\\u00eb"], ["zo\\\\u00eb"]),
        ("form", ["two words!"], ["two+words%21"]),
        ("part", ["zo\u00eb"], ["zo=\u2029=C3=AB"]),
        ("base64", ["em\u2029/Dqw"], ["em\u2029/Dqw"]),
    ],
)
async def test_what_is_marked_is_what_is_seen(name: str, pretty: list[str], plain: list[str], shown: PageDesk) -> None:
    body, content_type, text = SENT[name]
    await shown.add(b"another")
    shown.page.filter.bar.set_text(text)
    await open_body(shown, body, content_type)
    if name in ("form", "part"):  # which are a table and cards at first
        await until(lambda: shown.detail.body.views.current() in ("table", "parts"))
        shown.detail.body.views.activated.emit("pretty")
    await until(lambda: marked(shown) == pretty)
    shown.detail.open_find()
    shown.detail.body.find_bar.field.setText(text.strip('"'))
    assert marked(shown) == pretty
    shown.detail.body.find_bar.leave()
    shown.detail.body.views.activated.emit("text")
    await until(lambda: marked(shown) == plain)
    await until(lambda: shown.model.rowCount() == 1)


async def test_encoded_targets_and_headers_are_marked(shown: PageDesk) -> None:
    headers = (("X-Name", "=?utf-8?q?caf=C3=A9?="),)
    await open_body(shown, b"", headers=headers, target="/catch/x/caf%C3%A9?q=a%20b+c")
    shown.page.filter.bar.set_text('caf\u00e9 "a b c"')
    for tab in (HEADERS, QUERY):
        shown.detail.tabs.setCurrentIndex(tab)
    await until(lambda: shown.detail.view.headers.marked is not None)
    assert found(shown.detail.view.headers.marked, headers[0][1]) == ["caf=C3=A9"]
    assert found(shown.detail.view.query.marked, "a b c q=a%20b+c") == ["a b c", "a%20b+c"]
    assert found(shown.list.request_delegate.marked, "/caf%C3%A9?q=a%20b+c") == ["caf%C3%A9", "a%20b+c"]
    await until(lambda: shown.model.rowCount() == 1)


def test_a_match_is_marked_on_each_line_it_is_on(qapp: QApplication) -> None:
    font = mono_font()
    room = QSize(round(QFontMetricsF(font).horizontalAdvance("0" * 10)) + 1, 1_000)
    pattern = pattern_of(["needle"])
    assert pattern is not None
    first, second = marked_places(wrapped("\U0001f600" + "a" * 6 + "needle", font, room), pattern)
    assert first.top() < second.top()
    assert first.left() > second.left()
    assert list(marked_places(wrapped("a" * 30, font, room), pattern)) == []


def found(pattern: re.Pattern[str] | None, text: str) -> list[str]:
    return pattern.findall(text) if pattern is not None else []
