"""Text formats in the body pane: each is offered as pretty under its name, with what is wrong with it above."""

from __future__ import annotations

from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import until


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
