"""How the responses of two targets to one request differ."""

from __future__ import annotations

import gzip
import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.body_comparison import DECODED_MAX, QUOTED_MAX
from app.core.comparison import (
    DIFFERENCES_MAX,
    ComparedResponse,
    IgnoredFields,
    ResponseComparison,
    compare_responses,
)
from app.core.record import Headers

JSON = (("Content-Type", "application/json"),)
TEXT = (("Content-Type", "text/plain; charset=utf-8"),)
BYTES = (("Content-Type", "application/octet-stream"),)


def response(body: bytes = b"", headers: Headers = (), status: int | None = 200, **fields: Any) -> ComparedResponse:
    return ComparedResponse(status=status, headers=headers, body=body, **fields)


def texts(first: ComparedResponse, second: ComparedResponse, **ignored: Any) -> list[str]:
    return [each.text for each in compare_responses(first, second, IgnoredFields(**ignored)).differences]


def json_texts(first: Any, second: Any, *ignored: str) -> list[str]:
    some, others = (response(json.dumps(value).encode(), JSON) for value in (first, second))
    return texts(some, others, json_paths=ignored)


def line_texts(first: str, second: str) -> list[str]:
    return texts(response(first.encode(), TEXT), response(second.encode(), TEXT))


def test_equal_responses_have_no_difference() -> None:
    one = response(b'{"a": 1}', JSON)
    assert compare_responses(one, one) == ResponseComparison()
    assert compare_responses(one, one).same


def test_a_status_and_a_missing_response_are_differences() -> None:
    assert texts(response(status=200), response(status=500)) == ["Status: 200 → 500"]
    failed = response(status=None, failure="Connection refused")
    assert texts(response(b"x"), failed) == ["Status: 200 → Connection refused"]
    assert texts(failed, failed) == []


@pytest.mark.parametrize(
    ("first", "second", "differences"),
    [
        ((("X-A", "1"), ("X-B", "2")), (("x-b", "2"), ("x-a", "1")), []),
        ((("X-A", "1"), ("X-A", "2")), (("X-A", "2"), ("X-A", "1")), []),
        ((("X-A", "1"), ("X-A", "1")), (("X-A", "1"),), ["Header X-A: “1”, “1” → “1”"]),
        ((("X-A", "1"),), (("X-A", "2"),), ["Header X-A: “1” → “2”"]),
        ((("X-A", "1"),), (), ["Header X-A, only in the first response: “1”"]),
        ((), (("X-B", "a\tb"),), ["Header X-B, only in the second response: “a\\tb”"]),
        ((("X-A", ""),), (("X-A", "1"),), ["Header X-A: “” → “1”"]),
    ],
)
def test_headers_are_compared_by_name(first: Headers, second: Headers, differences: list[str]) -> None:
    assert texts(response(headers=first), response(headers=second)) == differences


def test_headers_that_always_differ_are_ignored_unless_named_otherwise() -> None:
    first, second = (response(headers=(("Date", day), ("X-Request-Id", day), ("ETag", day))) for day in ("1", "2"))
    assert texts(first, second) == []
    assert len(texts(first, second, headers=())) == 3
    assert texts(response(headers=(("Server", "a"),)), response(headers=(("server", "b"),)), headers=("SERVER",)) == []


def test_what_an_earlier_version_has_stored_is_read() -> None:
    stored = b'{"headers":["date"],"json_paths":["data.id"],"header_order":true}'
    assert msgspec.json.decode(stored, type=IgnoredFields) == IgnoredFields(headers=("date",), json_paths=("data.id",))


@pytest.mark.parametrize(
    ("first", "second", "differences"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, ["a: 1 → true"]),
        ({"a": 0}, {"a": None}, ["a: 0 → null"]),
        ({"a": "1"}, {"a": 1}, ["a: “1” → 1"]),
        ({"a": 0.1}, {"a": 0.10000000000000001}, []),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, ["a.b[1]: 2 → 3"]),
        ({"a": [1]}, {"a": [1, {"x": 1}]}, ["a[1], only in the second response: {1 member}"]),
        ({"a": 1, "odd name": 2}, {"a": 1}, ['["odd name"], only in the first response: 2']),
        ({"a": []}, {"a": {}}, ["a: [0 items] → {0 members}"]),
        ([1], {"0": 1}, ["$: [1 item] → {1 member}"]),
    ],
)
def test_json_is_compared_by_structure(first: Any, second: Any, differences: list[str]) -> None:
    assert json_texts(first, second) == differences


def test_ignored_json_paths_are_not_compared() -> None:
    first = {"id": 1, "data": [{"id": 1, "name": "a"}], "meta": {"timestamp": 1}}
    second = {"id": 2, "data": [{"id": 2, "name": "b"}], "meta": {"timestamp": 2}, "timestamp": 3}
    assert json_texts(first, second, "id", "data.*.id", "$..timestamp", "not a path") == ["data[0].name: “a” → “b”"]


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_is_equal_to_itself_however_it_is_written(value: Any) -> None:
    spaced = response(json.dumps([value], indent=2).encode(), JSON)
    sorted_ = response(json.dumps([value], sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass"), JSON)
    if b"\xed" not in sorted_.body:  # lone surrogates cannot be written without escapes
        assert texts(spaced, sorted_) == []


@pytest.mark.parametrize(
    "body",
    [b'{"a": 1, "a": 2}', b'{"a": NaN}', b"[" * 100_000, b"[1e99999999999999999999]", b"[" + b"9" * 5_000 + b"]", b"{"],
)
def test_json_that_cannot_be_compared_is_text(body: bytes) -> None:
    first, second = response(body, JSON), response(body + b"x", JSON)
    assert len(texts(first, second)) == 1
    assert texts(first, second)[0].startswith("Line 1: ")


def test_deep_json_is_compared_without_recursion() -> None:
    deep = [b"[" * 900 + number + b"]" * 900 for number in (b"1", b"2")]
    assert texts(response(deep[0], JSON), response(deep[1], JSON)) == ["[0]" * 900 + ": 1 → 2"]


@pytest.mark.parametrize(
    ("first", "second", "differences"),
    [
        ("a\nb\nc", "a\nB\nc", ["Line 2: “b” → “B”"]),
        ("a\nc", "a\nb\nc", ["Line 2, only in the second response: “b”"]),
        ("a\nb\nx\nc", "a\nc", ["Lines 2 to 3, only in the first response: “b” …"]),
        ("a\r\nb", "a\nb", ["Line 1: “a\\r” → “a”"]),
        ("a\nb\nc\nd\ne", "a\nB\nc\nD\nD\ne", ["Line 2: “b” → “B”", "Line 4 (lines 4 to 5): “d” → “D” …"]),
    ],
)
def test_text_is_compared_by_lines(first: str, second: str, differences: list[str]) -> None:
    assert line_texts(first, second) == differences


def test_a_difference_in_a_long_line_is_cut_out() -> None:
    line = "x" * 100_000
    (text,) = line_texts(line + "old" + line, line + "new" + line)
    assert "xold" in text
    assert "xnew" in text
    assert len(text) < 3 * QUOTED_MAX


def test_many_changed_lines_are_not_aligned() -> None:
    rng = random.Random(1)
    first, second = ("\n".join(str(rng.random()) for _ in range(5_000)) for _ in range(2))
    (text,) = line_texts("same\n" + first, "same\n" + second)
    assert text.startswith("Differs from line 2 on: “0.")


def test_thousands_of_lines_at_the_end_are_one_difference() -> None:
    more = "\nmore" * 5_000
    assert line_texts("a", "a" + more) == ["Lines 2 to 5,001, only in the second response: “more” …"]


def test_one_changed_line_of_many_is_found() -> None:
    lines = [f"line {number}" for number in range(100_000)]
    changed = [*lines[:70_000], "other", *lines[70_001:]]
    assert line_texts("\n".join(lines), "\n".join(changed)) == ["Line 70,001: “line 70000” → “other”"]


@given(st.lists(st.sampled_from(["a", "b", ""])), st.lists(st.sampled_from(["a", "b", ""])))
def test_texts_have_no_difference_only_if_they_are_equal(first: list[str], second: list[str]) -> None:
    assert (line_texts("\n".join(first), "\n".join(second)) == []) == ("\n".join(first) == "\n".join(second))


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_bodies_of_any_bytes_can_be_compared(first: bytes, second: bytes) -> None:
    assert texts(response(first), response(first)) == []
    compare_responses(response(first), response(second))


def test_binary_bodies_are_compared_up_to_the_first_difference() -> None:
    first, second = b"\0" * 2_000 + b"\x0a" + b"\0" * 9, b"\0" * 2_000 + b"\x0d"
    assert texts(response(first, BYTES), response(second, BYTES)) == [
        "Body differs at byte 2,000: 0x0a → 0x0d (2,010 → 2,001 bytes)"
    ]
    assert texts(response(first, BYTES), response(first[:50], BYTES)) == [
        "Body: the second response ends at byte 50, the other goes on (2,010 → 50 bytes)"
    ]
    assert texts(response(b"", BYTES), response(first, BYTES)) == ["Body, only in the second response: 2,010 bytes"]


def test_content_codings_are_removed_before_bodies_are_compared() -> None:
    plain = b'{"a": 1}'
    packed = response(gzip.compress(plain), (*JSON, ("Content-Encoding", "gzip")))
    assert texts(response(plain, JSON), packed, headers=("content-encoding",)) == []
    assert texts(response(b'{"a": 2}', JSON), packed)[-1] == "a: 2 → 1"


def test_what_cannot_be_decoded_is_compared_as_sent() -> None:
    headers = (*BYTES, ("Content-Encoding", "gzip"))
    first, second = response(b"\0 not gzip", headers), response(gzip.compress(b"x"), headers)
    compared = compare_responses(first, second)
    assert compared.differences[0].text.startswith("Body differs at byte 0: 0x00 → 0x1f")
    assert len(compared.notes) == 1
    assert compared.notes[0].startswith("First response: ")
    assert compared.notes[0].endswith("Both bodies are compared as sent.")


def test_a_cut_off_body_is_compared_as_far_as_it_goes() -> None:
    first, second = response(b"abc\n" * 10, TEXT, complete=False), response(b"abc\n" * 50, TEXT)
    compared = compare_responses(first, second)
    assert compared.differences == ()
    assert compared.notes == ("Only the beginning of the bodies is compared.",)
    # A body that is known to end there does differ.
    assert texts(response(b"abc\n" * 10, TEXT), response(b"abc\n" * 50, TEXT, complete=False)) != []


def test_a_decompression_bomb_is_compared_in_part() -> None:
    headers = (*TEXT, ("Content-Encoding", "gzip"))
    one, other = (response(gzip.compress(b"0" * (8 * DECODED_MAX) + end), headers) for end in (b"1", b"2"))
    compared = compare_responses(one, other)
    assert compared.same
    assert compared.notes == ("Only the beginning of the bodies is compared.",)


def test_the_number_of_differences_is_bounded() -> None:
    compared = compare_responses(
        response(json.dumps([1] * 5_000).encode(), JSON), response(json.dumps([2] * 5_000).encode(), JSON)
    )
    assert len(compared.differences) == DIFFERENCES_MAX
    assert compared.more
    assert compared.differences[0].where == "[0]"
