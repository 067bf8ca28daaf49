"""Form fields are shown decoded, in order and whole; what cannot be decoded stays as it was sent."""

from __future__ import annotations

import json
import time
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.escape import escape
from app.core.bodies.formats import form
from tests.core.bodies.format_lines import formatted, joined, read, texts

plain = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="{["), max_size=20)


@given(st.lists(st.tuples(plain, plain), min_size=1, max_size=8))
def test_each_field_is_there_in_order(fields: list[tuple[str, str]]) -> None:
    expected = [f"{escape(name)} = {escape(value)}" if value else f"{escape(name)} =" for name, value in fields]
    assert texts(form.write, urlencode(fields)) == expected


@given(st.text(max_size=80) | st.text("ab=&+%c3A9f0", max_size=60))
def test_any_text_is_shown(text: str) -> None:
    assert len(texts(form.write, text)) >= len(list(filter(None, text.split("&"))))


def test_what_is_odd_is_shown_as_it_is() -> None:
    assert texts(form.write, "a=1&&=x&c=&d&a=2&bad=%ff%e9x%zz%&b=two+words%21&n=l1%0D%0Al2&h=%E2%80%AE") == [
        "a = 1",
        " = x",
        "c =",
        "d",
        "a = 2",
        "bad = %ff%e9x%zz%",
        "b = two words!",
        "n =",
        "  l1",
        "  l2",
        "h = \\u202e",
    ]


def test_a_value_that_is_json_is_laid_out_and_one_that_only_looks_like_it_is_not() -> None:
    body = urlencode({"payload": '{"n": 1.10, "l": []}', "text": "[hello]", "number": "12"})
    assert texts(form.write, body) == [
        "payload =",
        "  {",
        '    "n": 1.10,',
        '    "l": []',
        "  }",
        "text = [hello]",
        "number = 12",
    ]


def test_the_declared_charset_is_what_the_escapes_stand_for() -> None:
    assert texts(form.write, "a=%e9", "application/x-www-form-urlencoded; charset=iso-8859-1") == ["a = é"]
    assert texts(form.write, "a=%C3%A9", "application/x-www-form-urlencoded; charset=utf-16") == ["a = é"]


@pytest.mark.slow
def test_a_field_of_any_length_is_shown() -> None:
    began = time.thread_time()
    value = [{"key": number} for number in range(10_000)]
    body = urlencode({"a": "1", "payload": json.dumps(value), "t": "é" * 50_000, "z": "2"})
    lines, _ = formatted(form.write, body)
    assert [lines[0].text, lines[1].text, lines[-1].text] == ["a = 1", "payload =", "z = 2"]
    end = next(at for at, line in enumerate(lines) if line.text == "  ]")
    assert json.loads(joined(lines[2 : end + 1])) == value
    assert joined(lines).count("é") == 50_000
    for text in ("&" * 300_000, "=" * 300_000, "a=" + "%80" * 100_000, "%" * 300_000, "a=" + "%5B" * 100_000):
        formatted(form.write, text)
    assert time.thread_time() - began < 60


@pytest.mark.parametrize(
    ("content_type", "body", "name"),
    [
        ("application/x-www-form-urlencoded", b"a=1", "form-table"),
        ("application/x-www-form-urlencoded; charset=utf-8", b"payload=%7B%7D", "form-table"),
        ("application/x-www-form-urlencoded", b"hello", "text"),
        ("application/x-www-form-urlencoded", b'{"a": "b=c"}', "json"),
        ("application/x-www-form-urlencoded", b"\x91=\x00\x01&q\x1b\xc0" * 40, "hex"),  # `curl --data-binary @file`
        ("", b"a=1&b=2", "form-table"),
        ("text/plain", b"a=1 and b=2", "text"),
    ],
)
def test_where_a_form_is_the_best_view(content_type: str, body: bytes, name: str) -> None:
    reader, _ = read(body, content_type)
    assert reader.view is not None
    assert reader.view.name == name
