"""Multipart bodies are shown part by part; boundaries that lie or lack are told, and nothing is dropped unsaid."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.format_registry import ranked
from app.core.bodies.formats.multipart import SHOWN_MAX, MultipartFormatter
from app.core.bodies.formats.multipart_parts import Part, Splitter, declared_boundary
from app.core.bodies.lines import WIDTH
from tests.core.bodies.format_lines import cut, lines_of, read

TYPE = "multipart/form-data; boundary=b"


def disposition(rest: str) -> str:
    return f"Content-Disposition: form-data; {rest}\r\n"


def split(*pieces: str, boundary: str = "b") -> tuple[list[tuple[Part, str]], str, Splitter]:
    """Parts with their bodies, and what is outside."""
    splitter, outside = Splitter(boundary), ""
    parts: list[tuple[Part, str]] = []
    for number, piece in enumerate(pieces, 1):
        for kind, what in splitter.feed(piece, number == len(pieces)):
            if isinstance(what, Part):
                parts.append((what, ""))
            elif kind == "data":
                parts[-1] = (parts[-1][0], parts[-1][1] + what)
            elif kind == "outside":
                outside += what
    return parts, outside, splitter


bodies = st.text("ab-\r\n", max_size=20).filter(lambda text: "\n--b" not in f"\n{text}\r\n")


@given(st.lists(bodies, min_size=1, max_size=4), st.lists(st.integers(0, 300), max_size=6))
def test_what_was_put_in_comes_out(contents: list[str], cuts: list[int]) -> None:
    whole = "".join(f"--b\r\n{disposition(f'name=f{at}')}\r\n{text}\r\n" for at, text in enumerate(contents)) + "--b--"
    parts, outside, splitter = split(*cut(whole, cuts))
    assert [body for _, body in parts] == contents
    assert [part.name for part, _ in parts] == [f"f{at}" for at in range(len(contents))]
    assert (outside, splitter.closed) == ("", True)


@given(st.text("ab-:\r\n ", max_size=80), st.lists(st.integers(0, 80), max_size=6))
def test_where_it_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    assert split(*cut(text, cuts))[:2] == split(text)[:2]


@given(
    st.binary(max_size=300) | st.text("ab-:\r\n ", max_size=80).map(str.encode), st.sampled_from([TYPE, "multipart/x"])
)
def test_any_bytes_are_shown(body: bytes, content_type: str) -> None:
    reader, lines = read(body, content_type)
    assert reader.view is not None
    assert all(len(line) <= WIDTH for line in lines)


def test_parts_with_their_headers_and_contents() -> None:
    packed = base64.b64encode(b"Test 123").decode()
    body = (
        "--b\r\n"
        + disposition('name="data"')
        + 'Content-Type: application/json\r\n\r\n{"a":1}\r\n--b\r\n'
        + disposition('name="f"; filename="é.bin"')
        + "\r\n\x00\x01\x02\r\n--b\r\n"
        + disposition("name=p; filename*=UTF-8''%e2%82%ac.txt")
        + f"Content-Transfer-Encoding: base64\r\n\r\n{packed}\r\n--b--\r\n"
    ).encode()
    reader, lines = read(body, TYPE)
    assert reader.view is not None
    assert (reader.view.title, reader.notes) == ("Multipart", [])
    assert lines == [
        "Part 1 · data · application/json · 7 B",
        'Content-Disposition: form-data; name="data"',
        "Content-Type: application/json",
        "",
        "  {",
        '    "a": 1',
        "  }",
        "",
        "Part 2 · f · file é.bin · 3 B",
        'Content-Disposition: form-data; name="f"; filename="é.bin"',
        "",
        "  00  00 01 02" + " " * 17 + "...",
        "",
        "Part 3 · p · file €.txt · 12 B",
        "Content-Disposition: form-data; name=p; filename*=UTF-8''%e2%82%ac.txt",
        "Content-Transfer-Encoding: base64",
        "",
        "  Test 123",
    ]


@pytest.mark.parametrize(
    ("content_type", "body", "note", "line"),
    [
        (TYPE, b"--b\r\n\r\nhi", "closing boundary is missing", "  hi"),
        (TYPE, b"--b\n\nhi\n--b--", "instead of CR LF", "  hi"),
        ("multipart/form-data; boundary=other", b"--b\r\n\r\nhi\r\n--b--", "other does not occur", "  hi"),
        ("multipart/form-data", b"--b\r\n\r\nhi\r\n--b--", "No boundary is declared", "  hi"),
        (TYPE, b"--b\r\nA: 1\r\nnonsense\r\n\r\nhi\r\n--b--", "malformed header lines", "  hi"),
        (TYPE, b"preamble\r\n--b\r\n\r\nhi\r\n--b--\r\nafter", "", "preamble"),
        (TYPE, b"preamble\r\n--b\r\n\r\nhi\r\n--b--\r\nafter", "", "after"),
        (TYPE, b"--b\r\nContent-Transfer-Encoding: base64\r\n\r\n?!\r\n--b--", "", "  ?!"),
        (TYPE, b"--b\r\n\r\n--bx\r\n--b-\r\n--b--", "", "  --b-"),
        (TYPE, b"no boundary at all", "No parts found", "no boundary at all"),
    ],
)
def test_what_lies_or_lacks_is_told_and_shown(content_type: str, body: bytes, note: str, line: str) -> None:
    reader, lines = read(body, content_type)
    assert line in lines
    assert note in " ".join(reader.notes)


def test_multipart_within_multipart_to_a_bound() -> None:
    body = "--x0\r\n\r\ndeep\r\n--x0--"
    for depth in range(1, 6):
        body = f"--x{depth}\r\nContent-Type: multipart/mixed; boundary=x{depth - 1}\r\n\r\n{body}\r\n--x{depth}--"
    _, lines = read(body.encode(), "multipart/mixed; boundary=x5")
    assert any(line.endswith("deep") for line in lines)
    assert sum(line.lstrip().startswith("Part ") for line in lines) == 3


def test_large_and_many_parts_stay_bounded_and_a_large_one_is_shown_before_it_is_whole() -> None:
    began = time.thread_time()
    formatter = MultipartFormatter(TYPE, ranked)
    formatter.feed("--b\r\n\r\n" + "x" * (2 * SHOWN_MAX), False)
    assert formatter.next_lines(10)[0].text == "Part 1 · more than 64 KiB"
    formatter.feed("\r\n--b--", True)
    assert "128 KiB" in lines_of(formatter, "")[-1].text
    many = lines_of(MultipartFormatter(TYPE, ranked), "--b\r\n\r\n\r\n" * 20_000, limit=100)
    assert len(many) > 20_000
    assert time.thread_time() - began < 60


@given(st.text(max_size=40))
def test_no_content_type_breaks_it(rest: str) -> None:
    assert declared_boundary(f"multipart/form-data; boundary={rest}") != ""
    _, lines = read(
        f"--b\r\nContent-Disposition: form-data; {rest}\r\n\r\nhi\r\n--b--".encode("utf-8", "replace"), TYPE
    )
    assert lines[0].startswith("Part 1")


def test_a_part_is_shown_by_what_its_file_is_called() -> None:
    """Curl, for one, sends files it does not know as application/octet-stream."""
    for content_type in ("", "Content-Type: application/octet-stream\r\n"):
        head = disposition('name="f"; filename="deploy.sql"')
        body = f"--b\r\n{head}{content_type}\r\nselect 1\r\n--b--".encode()
        reader = BodyReader((), TYPE)
        reader.feed(body, True)
        last = reader.lines(100)[-1]
        assert ("literal", "select") in last.runs()


def test_a_step_ends_when_its_parts_took_long() -> None:
    """Thousands of small parts, each slow to colour, are not all waited for."""
    head = disposition('name="f"; filename="a.js"')
    body = f"--b\r\n{head}\r\n{'/*' * 5_000}\r\n" * 60 + "--b--"
    formatter = MultipartFormatter(TYPE, ranked)
    formatter.feed(body, True)
    assert formatter.next_lines(100_000)
    assert not formatter.needs_input
    while not formatter.needs_input:
        formatter.next_lines(1_000)
    assert formatter.error is None
