"""JSON is re-indented, never re-written: what the sender wrote is what is shown."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.escape import escape
from app.core.bodies.formats import json as json_format
from app.core.bodies.formatter import WIDTH, Formatted, Line
from tests.core.bodies.format_lines import formatted, joined

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


def format_text(text: str, *, many: bool = False, complete: bool = True) -> tuple[list[Line], Formatted]:
    return formatted(json_format.write_many if many else json_format.write, text, complete=complete)


def tokens(text: str) -> list[str]:
    return re.findall(r'"(?:[^"\\]|\\.)*"|[^\s",:{}\[\]]+|[{}\[\],:]', text)


@pytest.mark.slow
@given(values, st.sampled_from([None, 0, 3]), st.booleans())
def test_the_value_and_each_token_stay(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    lines, formatter = format_text(text)
    assert formatter.error is None
    shown = joined(lines)
    assert tokens(shown) == [escape(token) for token in tokens(text)]
    if ascii_only:
        assert json.loads(shown) == value


@pytest.mark.slow
@given(values, st.data())
def test_where_a_text_that_goes_on_is_cut_is_no_fault_of_it(value: object, data: st.DataObject) -> None:
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1])))
    cut = text[: data.draw(st.integers(0, len(text)))]
    lines, out = format_text(cut, complete=False)
    assert out.error is None
    assert tokens(joined(lines)) == [escape(token) for token in tokens(cut)]


@pytest.mark.slow
@given(values, st.sampled_from([None, 0, 3]), st.booleans(), st.sampled_from(["", "\n", " \r\n"]))
def test_text_to_edit_is_indented_without_a_fold_or_an_escape(
    value: object, indent: int | None, ascii_only: bool, end: str
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    expected = json.dumps(value, indent=2, ensure_ascii=ascii_only)
    assert json_format.indented(text + end) == (expected + end, None)


def test_what_is_no_json_is_not_indented_and_its_place_named() -> None:
    text = '{"a": 1,\n "b" 2}'
    assert json_format.indented(text) == (text, "Not valid JSON at line 2, column 6: a colon was expected.")


@pytest.mark.parametrize(
    "text",
    [
        '{"id":12345678901234567890,"price":1.10,"big":1E400,"minus":-0.0}',
        '{"a":1,"a":2,"z":0,"b":0}',
        r'{"s":"caf\u00e9 \ud83d\ude00 \/ \b"}',
    ],
)
def test_numbers_order_duplicates_and_escapes_stay_as_written(text: str) -> None:
    lines, _ = format_text(text)
    assert tokens(joined(lines)) == tokens(text)


def test_lines_and_styles() -> None:
    lines, _ = format_text('{"a": [1, true], "b": {}}')
    assert [line.text for line in lines] == ["{", '  "a": [', "    1,", "    true", "  ],", '  "b": {}', "}"]
    assert lines[2].runs() == [("text", "    "), ("number", "1"), ("punctuation", ",")]
    assert ("key", '"a"') in lines[1].runs()


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a": 1,}', "line 1, column 9"),
        ('{\n  "a": nope\n}', "line 2, column 8"),
        ("[1, 2", "line 1, column 6"),
        ("[01]", "line 1, column 2"),
        ('["\t"]', "line 1, column 3"),
        (r'["\x"]', "line 1, column 3"),
        ("", "line 1, column 1"),
        ("1 2", "line 1, column 3"),
        ("[1}", "line 1, column 3"),
        ("{1:2}", "line 1, column 2"),
        ("NaN", "line 1, column 1"),
    ],
)
def test_what_is_no_json_is_named_by_its_place_and_given_as_it_stands(text: str, where: str) -> None:
    lines, formatter = format_text(text)
    assert formatter.error is not None
    assert where in formatter.error
    assert tokens(joined(lines)) == tokens(text)


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \\\n\t', max_size=60))
def test_it_agrees_with_the_standard_library(text: str) -> None:
    _, formatter = format_text(text)
    try:
        json.loads(text, parse_constant=lambda name: 1 / 0)
    except (ValueError, ZeroDivisionError):
        assert formatter.error is not None
    else:
        assert formatter.error is None


@pytest.mark.slow
def test_deep_nesting_is_quick_and_its_indentation_bounded() -> None:
    began = time.thread_time()
    lines, formatter = format_text("[" * 100_000 + "]" * 100_000)
    assert formatter.error is None
    assert len(lines) == 199_999
    assert max(len(line.text) for line in lines) < 100
    assert time.thread_time() - began < 10


def test_an_endless_string_is_shown_in_folds() -> None:
    lines, _ = format_text('["' + "x" * 100_000 + '"]')
    assert len(lines) >= 49
    assert all(len(line.text) <= WIDTH for line in lines)
    assert lines[10].folded
    assert json.loads(joined(lines)) == ["x" * 100_000]


def test_a_stream_of_values() -> None:
    lines, formatter = format_text('{"a":1}\n[2]\n3', many=True)
    assert formatter.error is None
    assert [line.text for line in lines] == ["{", '  "a": 1', "}", "[", "  2", "]", "3"]
