"""Text formats in the body pane: each is offered as pretty under its name, with what is wrong with it above."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.inspector.body.body_source import of_bytes
from app.ui.inspector.body.csv_table import CsvTable
from app.ui.inspector.body.form_table import FormTable
from app.ui.inspector.body.image_view import ImageView, PageView
from app.ui.inspector.body.tree_view import TreeView
from app.ui.messages import Messages
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import until

WHOLE_VIEWS: dict[type[ImageView | PageView | TreeView | FormTable | CsvTable], bytes] = {
    ImageView: b"no picture",
    PageView: b"<p>a page</p>",
    TreeView: b"no JSON",
    FormTable: b"a=1",
    CsvTable: b"a,b",
}
"""The views that read a whole body, with one that each shows something of."""


@pytest.mark.parametrize("kind", WHOLE_VIEWS)
async def test_what_is_still_read_of_a_body_that_is_closed_is_not_shown(
    kind: type[ImageView | PageView | TreeView | FormTable | CsvTable], qtbot: QtBot
) -> None:
    parent, body, go_on = QWidget(), of_bytes(WHOLE_VIEWS[kind], "body"), asyncio.Event()
    qtbot.addWidget(parent)
    tasks = Tasks(Messages())
    view = kind(Theme(), tasks, parent)
    view.resize(300, 200)
    asked: list[int] = []

    async def read(offset: int, length: int) -> bytes:
        asked.append(offset)
        await go_on.wait()
        return await body.read(offset, length)

    def picture() -> QImage:
        return view.grab().toImage()

    view.clear()
    empty = picture()
    view.show_source(replace(body, read=read))
    await until(lambda: asked)
    view.clear()
    go_on.set()
    await until(lambda: not tasks.running())
    assert picture() == empty


async def test_each_format_is_shown_pretty_under_its_name(shown: PageDesk) -> None:
    body = shown.detail.body
    for content_type, sent, title, text in (
        ("application/xml", b"<a><b>1</b></a>", "XML · 15 B · auto", "<a>\n  <b>1</b>\n</a>"),
        ("text/html", b"<p>a<p>b", "HTML · 8 B · auto", "<p>a\n<p>b"),
        ("application/x-www-form-urlencoded", b"a=%7B%7D&b=2", "Form · 12 B · auto", "a =\n  {}\nb = 2"),
        ("application/x-ndjson", b"{}\n[]\n", "NDJSON · 6 B · auto", "{}\n[]"),
        (
            "multipart/form-data; boundary=x",
            b"--x\r\n\r\nhi\r\n--x--",
            "Multipart · 16 B · auto",
            "Part 1 · 2 B\n\n  hi",
        ),
    ):
        await open_body(shown, sent, content_type)
        if title.startswith(("Form", "Multipart")):  # which are a table and cards at first
            body.loader.start(body.loader.source, "pretty")
            await until(lambda: body.stack.currentWidget() is body.code and body.views.current() == "pretty")
        assert (body.facts.text(), body.code.toPlainText()) == (title, text)
        assert body.views.current() == "pretty"
        assert body.notices.isHidden()
    await open_body(shown, b"<a>\n<b></a>", "application/xml")
    assert "line 2, column 4" in body.notices.text.text()
