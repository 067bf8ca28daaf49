"""Two responses, or two requests, aligned: headers by name, JSON by member, text by line."""

from __future__ import annotations

import gzip

import pytest

from app.core.body_comparison import DECODED_MAX
from app.core.comparison import (
    NONE_IGNORED,
    ONLY_BEGINNING,
    ROWS_MAX,
    AlignedRow,
    ComparedMessage,
    ComparedResponse,
    IgnoredFields,
    side_by_side,
)

JSON = (("Content-Type", "application/json"),)
Row = tuple[str, str | None, str | None, str]


def body(first: bytes, second: bytes, *ignored: str) -> list[Row]:
    """The body's rows as kind, both lines and field."""
    old, new = (ComparedResponse(status=200, headers=JSON, body=each) for each in (first, second))
    return rows(side_by_side(old, new, IgnoredFields(json_paths=ignored)).body)


def rows(found: tuple[AlignedRow, ...]) -> list[Row]:
    return [(row.kind.value, row.first, row.second, row.field) for row in found]


def test_members_of_json_are_aligned_whatever_their_order() -> None:
    assert body(b'{"id":1,"tags":["a"],"old":null}', b'{"tags": ["b", "c"], "id": 1.0, "new": {"x": true}}') == [
        ("same", "{", "{", ""),
        ("same", '  "id": 1,', '  "id": 1.0,', "id"),
        ("same", '  "tags": [', '  "tags": [', "tags"),
        ("changed", '    "a"', '    "b",', "tags[0]"),
        ("second", None, '    "c"', "tags[1]"),
        ("same", "  ],", "  ],", ""),
        ("first", '  "old": null', None, "old"),
        ("second", None, '  "new": {', "new"),
        ("second", None, '    "x": true', "new"),
        ("second", None, "  }", "new"),
        ("same", "}", "}", ""),
    ]


def test_ignored_values_are_shown_as_such() -> None:
    assert body(b'{"a":{"at":1},"at":5}', b'{"a":{"at":2},"at":5}', "$..at")[2:4] == [
        ("ignored", '    "at": 1', '    "at": 2', "a.at"),
        ("same", "  },", "  },", ""),
    ]


def test_lines_of_text() -> None:
    assert body(b"one\ntwo\nthree", b"one\nthree\nfour\x00".replace(b"\x00", b"\xe2\x80\xae")) == [
        ("same", "one", "one", ""),
        ("first", "two", None, ""),
        ("same", "three", "three", ""),
        ("second", None, "four\\u202e", ""),
    ]


def test_headers_by_name_with_repeated_ones_in_order() -> None:
    first = ComparedResponse(status=200, headers=(("Date", "1"), ("Set-Cookie", "a"), ("Set-Cookie", "b"), ("X", "1")))
    second = ComparedResponse(status=200, headers=(("x", "1"), ("set-cookie", "a"), ("Date", "2"), ("Y", "2")))
    assert rows(side_by_side(first, second, IgnoredFields(headers=("DATE",))).headers) == [
        ("ignored", "1", "2", "Date"),
        ("same", "a", "a", "Set-Cookie"),
        ("first", "b", None, "Set-Cookie"),
        ("same", "1", "1", "X"),
        ("second", None, "2", "Y"),
    ]


def test_what_is_not_shown_is_said() -> None:
    binary = ComparedResponse(status=200, body=b"\x00\x01")
    text = ComparedResponse(status=200, body=b"text")
    assert side_by_side(binary, text, IgnoredFields()).notes == ("First response: 2 bytes that are not text.",)
    nothing = ComparedResponse(status=None, failure="Nothing listens.")
    assert side_by_side(nothing, nothing, IgnoredFields()).body == ()


def test_of_long_bodies_only_differences_are_shown() -> None:
    lines = [b"%d" % number for number in range(ROWS_MAX + 1)]
    first = ComparedResponse(status=200, body=b"\n".join(lines))
    lines[2_000] = b"other"
    found = side_by_side(first, ComparedResponse(status=200, body=b"\n".join(lines)), IgnoredFields())
    assert found.notes == ("The bodies are long: only differences are shown, at most 3,000 lines.",)
    assert [row.first for row in found.body] == [
        "… 1,997 lines without a difference",
        *map(str, range(1_997, 2_004)),
        "… 997 lines without a difference",
    ]
    assert [row.kind.value for row in found.body].index("changed") == 4


def test_json_as_deep_as_can_be_parsed() -> None:
    for depth in (900, 970, 985, 3_000):
        begin, end = b"[" * depth, b"]" * depth
        assert any(kind in ("changed", "second") for kind, *_ in body(begin + end, begin + b"1" + end))


def test_nothing_of_two_requests_is_ignored_and_they_are_called_so() -> None:
    first = ComparedMessage(headers=(("X-Request-Id", "1"), ("Content-Length", "2")), body=b"\x00\x01")
    second = ComparedMessage(headers=(("X-Request-Id", "2"), ("Content-Length", "3")), body=b"\x00\x01\x02")
    found = side_by_side(first, second, NONE_IGNORED)
    assert [row.kind.value for row in found.headers] == ["changed", "changed"]
    assert found.notes == (
        "First request: 2 bytes that are not text.",
        "Second request: 3 bytes that are not text.",
        "Body: the first request ends at byte 2, the other goes on (2 → 3 bytes).",
    )
    assert found.body_differs


@pytest.mark.parametrize(
    ("first", "second", "differs", "said"),
    [
        (b"\x00\x01", b"\x00\x01", False, ()),
        (b"\x00\x01", b"\x00\x02", True, ("Body differs at byte 1: 0x01 → 0x02 (2 → 2 bytes).",)),
        (b"", b"\x00\x02", True, ()),
    ],
)
def test_whether_bytes_that_are_not_shown_differ(
    first: bytes, second: bytes, differs: bool, said: tuple[str, ...]
) -> None:
    found = side_by_side(ComparedMessage(body=first), ComparedMessage(body=second), NONE_IGNORED)
    assert (found.body, found.body_differs) == ((), differs)
    assert tuple(note for note in found.notes if "not text" not in note) == said


def test_bodies_are_unpacked_and_compared_as_sent_if_that_is_impossible() -> None:
    packed = (("Content-Encoding", "gzip"),)
    plain, zipped = ComparedMessage(body=b"a"), ComparedMessage(headers=packed, body=gzip.compress(b"a"))
    assert rows(side_by_side(plain, zipped, NONE_IGNORED).body) == [("same", "a", "a", "")]
    broken = ComparedMessage(headers=packed, body=b"a")
    found = side_by_side(plain, broken, NONE_IGNORED)
    assert found.notes[0].startswith("Second request: ")
    assert not found.body_differs


def test_of_bodies_that_are_not_all_there_it_says_that_only_the_beginning_is_compared() -> None:
    long = ComparedMessage(body=b"a" * (DECODED_MAX + 1))
    for first, second, said in (
        (long, long, True),
        (ComparedMessage(body=b"a", complete=False), ComparedMessage(body=b"ab"), True),
        (ComparedMessage(complete=False), ComparedMessage(body=b"ab"), True),
        (ComparedMessage(complete=False), ComparedMessage(complete=False), False),
        (ComparedMessage(body=b"a"), ComparedMessage(body=b"ab"), False),
    ):
        assert (ONLY_BEGINNING in side_by_side(first, second, NONE_IGNORED).notes) == said
