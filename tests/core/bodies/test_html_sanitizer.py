"""Pages keep text, headings, lists, tables and colours; nothing in them names anything outside."""

from __future__ import annotations

import re
import time
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.format_registry import ranked
from app.core.bodies.formats.html_sanitizer import DEEPEST_TABLE, ELEMENTS_MAX, TEXT_MAX, PageError, sanitize

TAGS = re.compile(r"<(/?)([a-z0-9]+)((?: [a-z]+=\"[^\"<>]*\")*)>")


def tags(text: str) -> list[str]:
    return [name for _, name, _ in TAGS.findall(text)]


@pytest.mark.parametrize(
    "text",
    [
        '<img src="/secret.png">',
        "<IMG SRC=/secret.png",
        "<img/src=/secret.png>",
        '<p style="background-image:url(/secret.png)">x',
        '<p style="background:url(/secret.png)">x',
        '<body background="/secret.png">x',
        '<table background="/secret.png"><tr><td background=/secret.png>x',
        '<ul style="list-style-image:url(/secret.png)"><li>x',
        '<link rel=stylesheet href="/secret.png">',
        "<style>@import '/secret.png'; p{background:url(/secret.png)}</style>",
        '<iframe src="/secret.png"></iframe><object data="/secret.png"></object><embed src="/secret.png">',
        '<a href="/secret.png">x</a><form action="/secret.png"><input formaction="/secret.png"></form>',
        '<svg><image href="/secret.png"/></svg><video src="/secret.png"></video>',
        '<meta http-equiv=refresh content="0;url=/secret.png"><base href="/secret.png">',
        "<p onclick=\"load('/secret.png')\">x",
        "<script>load('/secret.png')</script><script src=/secret.png>",
        '<p a="<img src=/secret.png>">x',
        '<!-- --><!--><img src="/secret.png">-->',
        "<font color=\"red;background:url('/secret.png')\">x",
    ],
)
def test_nothing_outside_is_named(text: str) -> None:
    assert "secret" not in sanitize(text).text


def test_what_is_harmless_stays() -> None:
    page = sanitize(
        "<!doctype html><title>No</title><body style='background:#eee'><h1 align=center>A &amp; B</h1>"
        "<p style='color:#f00;font-size:14px;position:fixed'>x<br>&lt;img src=/y&gt;<ul><li>1<li>2</ul>"
        "<table border=1 cellpadding=4><tr><td colspan=2 bgcolor=red>c</table><a href=x>link</a><img alt='A <b>'>"
    )
    for kept in (
        '<h1 align="center">A &amp; B</h1>',
        '<p style="color:#f00;font-size:14px">x<br>&lt;img src=/y&gt;',
        '<table border="1" cellpadding="4"><tr><td colspan="2" bgcolor="red">c',
        "<u>link</u>",
        "<i>[A &lt;b&gt;]</i>",
    ):
        assert kept in page.text
    assert "No" not in page.text
    assert page.removed == ("img",)


@given(st.text("<>/=\"'! -imgsrcpstyle&;:#", max_size=80))
def test_what_comes_of_any_text_is_made_of_allowed_elements(text: str) -> None:
    page = sanitize(text).text
    rest = TAGS.sub("", page)
    assert "<" not in rest
    assert ">" not in rest
    assert not {"img", "script", "style", "link", "iframe", "a"} & set(tags(page))


def test_elements_are_closed_and_tables_bounded() -> None:
    page = sanitize("<table><tr><td>" * 50 + "<b>x</p>" + "<div>" * 500)
    assert page.text.count("<table>") == DEEPEST_TABLE
    opened = [name for closing, name, _ in TAGS.findall(page.text) if not closing and name not in ("br", "hr")]
    closed = [name for closing, name, _ in TAGS.findall(page.text) if closing]
    assert sorted(opened) == sorted(closed)


@pytest.mark.parametrize("text", ["x" * (TEXT_MAX + 1), "<b></b>" * (ELEMENTS_MAX + 1)])
def test_what_is_too_much_says_why(text: str) -> None:
    with pytest.raises(PageError, match="too many"):
        sanitize(text)


def test_no_text_takes_long() -> None:
    unclosed = ('<a b="', "<!--", "<script>", "</p>", "<p " + " " * 99_999, "<p '\"", "<p a=", "<p/", "<a ")
    began = time.thread_time()
    for part in unclosed:
        assert sanitize(part * (100_000 // len(part))).text == ""
    for part in ("<", "&", "&#"):
        text = part * (100_000 // len(part))
        assert unescape(sanitize(text).text) == text
    assert time.thread_time() - began < 5


def test_a_preview_is_offered_beside_the_markup() -> None:
    views = [view.name for view in ranked("text/html", b"<p>a")]
    assert views[0] == "html"
    assert "page" in views
    assert "page" not in [view.name for view in ranked("application/json", b'{"a":"<p>"}')]
