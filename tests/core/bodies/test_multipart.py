"""Multipart bodies are shown part by part; boundaries that lie or lack are told, and nothing is dropped unsaid. The
parts of a body that is read in pieces are those of the whole body."""

from __future__ import annotations

import base64
import quopri
import random
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.format_registry import HEX_MAX, multipart_writer, ranked
from app.core.bodies.formats import multipart
from app.core.bodies.formats.multipart import (
    HEAD_MAX,
    PADDING_MAX,
    SHOWN_MAX,
    PartFinder,
    Span,
    declared_boundary,
    decode,
    split,
)
from app.core.bodies.formatter import WIDTH
from tests.core.bodies.format_lines import formatted_bytes, read

TYPE = "multipart/form-data; boundary=b"
WRITE = multipart_writer(1)


def disposition(rest: str) -> str:
    return f"Content-Disposition: form-data; {rest}\r\n"


bodies = st.text("ab-\r\n", max_size=20).filter(lambda text: "\n--b" not in f"\n{text}\r\n")


@given(st.lists(bodies, min_size=1, max_size=4))
def test_what_was_put_in_comes_out(contents: list[str]) -> None:
    parts = "".join(f"--b\r\n{disposition(f'name=f{at}')}\r\n{text}\r\n" for at, text in enumerate(contents))
    whole = f"{parts}--b--".encode()
    before, *sections, after = split(whole, "b")
    assert [whole[section.begin : section.end].decode() for section in sections] == contents
    assert [section.part and section.part.name for section in sections] == [f"f{at}" for at in range(len(contents))]
    assert all(section.closed and not section.bare for section in sections)
    assert (before.part, before.begin, before.end) == (None, 0, 0)
    assert (after.part, after.begin, after.end) == (None, len(whole), len(whole))


@given(st.text("ab-:\r\n ", max_size=80))
def test_every_byte_is_in_one_section_or_between_two(text: str) -> None:
    data, at = text.encode(), 0
    for section in split(data, "b"):
        assert at <= section.begin <= section.end <= len(data)
        at = section.end
    assert at == len(data)


@given(
    st.binary(max_size=300) | st.text("ab-:\r\n ", max_size=80).map(str.encode), st.sampled_from([TYPE, "multipart/x"])
)
def test_any_bytes_are_shown(body: bytes, content_type: str) -> None:
    reader, lines = read(body, content_type, "pretty")
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
    reader, lines = read(body, TYPE, "pretty")
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
    reader, lines = read(body, content_type, "pretty")
    assert line in lines
    assert note in " ".join(reader.notes)


def test_multipart_within_multipart_to_a_bound() -> None:
    body = "--x0\r\n\r\ndeep\r\n--x0--"
    for depth in range(1, 6):
        body = f"--x{depth}\r\nContent-Type: multipart/mixed; boundary=x{depth - 1}\r\n\r\n{body}\r\n--x{depth}--"
    _, lines = read(body.encode(), "multipart/mixed; boundary=x5", "pretty")
    assert any(line.endswith("deep") for line in lines)
    assert sum(line.lstrip().startswith("Part ") for line in lines) == 3


@pytest.mark.slow
def test_large_and_many_parts_stay_bounded() -> None:
    began = time.thread_time()
    large, _ = formatted_bytes(WRITE, b"--b\r\n\r\n" + b"x" * (2 * SHOWN_MAX) + b"\r\n--b--", TYPE)
    assert large[0] == "Part 1 · 128 KiB"
    assert large[-1] == "  The first 64 KiB of 128 KiB are shown."
    many, _ = formatted_bytes(WRITE, b"--b\r\n\r\n\r\n" * 20_000, TYPE)
    assert len(many) > 20_000
    assert time.thread_time() - began < 60


@pytest.mark.parametrize(
    ("content", "size", "rest"),
    [
        (b"x", SHOWN_MAX, None),
        (b"x", SHOWN_MAX + 1, "  The first 64 KiB of 64 KiB are shown."),
        (b"\x00", HEX_MAX, None),
        (b"\x00", HEX_MAX + 1, "  The first 64 bytes are shown."),
    ],
    ids=["all of a text", "not all of a text", "all in hex", "not all in hex"],
)
def test_a_part_is_shown_whole_up_to_a_bound(content: bytes, size: int, rest: str | None) -> None:
    lines, out = formatted_bytes(WRITE, b"--b\r\n\r\n" + content * size + b"\r\n--b--", TYPE)
    assert out.notes == []
    assert [line for line in lines if "shown" in line] == ([] if rest is None else [rest])


def test_headers_of_a_part_are_read_up_to_a_bound() -> None:
    for longer in (0, 1):
        head = "A: 1\r\nB: ".ljust(HEAD_MAX - len("\r\n\r\n\r\n") + longer, "x")
        whole = f"--b\r\n{head}\r\n\r\ncontent\r\n--b--".encode()
        _, section, _ = split(whole, "b")
        assert whole[section.begin : section.end] == (b"content" if not longer else b"\ncontent"), longer


@pytest.mark.parametrize(("semicolons", "boundary"), [(50, "b"), (65_000, None)])
def test_a_type_of_more_parameters_than_anybody_sends_is_not_read(semicolons: int, boundary: str | None) -> None:
    assert declared_boundary(f"multipart/form-data{';' * semicolons} boundary=b") == boundary


@given(st.text(max_size=40))
def test_no_content_type_breaks_it(rest: str) -> None:
    assert declared_boundary(f"multipart/form-data; boundary={rest}") != ""
    _, lines = read(
        f"--b\r\nContent-Disposition: form-data; {rest}\r\n\r\nhi\r\n--b--".encode("utf-8", "replace"), TYPE, "pretty"
    )
    assert lines[0].startswith("Part 1")


@pytest.mark.parametrize(
    ("body", "best"),
    [
        (b"--b\r\n\r\nhi\r\n--b--", "parts"),
        (b"preamble\r\n--b--", "parts"),
        (b"no dashes", "multipart"),
        (b'{"a": 1}', "json"),
    ],
)
def test_a_body_of_another_format_is_shown_in_that(body: bytes, best: str) -> None:
    assert ranked("multipart/form-data", body)[0].name == best


def test_a_part_is_shown_by_what_its_file_is_called() -> None:
    """Curl, for one, sends files it does not know as application/octet-stream."""
    for content_type in ("", "Content-Type: application/octet-stream\r\n"):
        head = disposition('name="f"; filename="deploy.sql"')
        body = f"--b\r\n{head}{content_type}\r\nselect 1\r\n--b--".encode()
        reader = BodyReader((), TYPE, "pretty")
        reader.feed(body, True)
        last = reader.lines(100)[-1]
        assert ("literal", "select") in last.runs()


@pytest.mark.slow
def test_a_step_ends_when_its_parts_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of small parts, each slow to colour, are not all waited for."""
    monkeypatch.setattr("app.core.bodies.body_reader.STEP_SECONDS", 0.01)
    head = disposition('name="f"; filename="a.js"')
    body = f"--b\r\n{head}\r\n{'/*' * 1_000}\r\n" * 60 + "--b--"
    reader = BodyReader((), TYPE, "pretty")
    reader.feed(body.encode(), True)
    assert reader.lines(100_000)
    assert not reader.done
    while not reader.done:
        reader.lines(1_000)
    assert not reader.notes


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", ""])
def test_a_long_part_is_undone_as_it_would_be_whole(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rnd = random.Random(3)
    for _ in range(500):
        written = bytes(rnd.choice(b"QUJD=\n \r3ab") for _ in range(rnd.randrange(40)))
        sent = {"base64": base64.encodebytes, "quoted-printable": quopri.encodestring}.get(encoding, bytes)
        for data in (written, sent(rnd.randbytes(rnd.randrange(60)))):
            with monkeypatch.context() as short:
                short.setattr(multipart, "STEP", 8)
                in_steps = decode(encoding, data)
            assert in_steps == decode(encoding, data), data


LONG = b"x" * (PADDING_MAX + 2)
tokens = st.lists(st.sampled_from([b"--b", b"--", b"\r\n", b"\n", b"\r", b" ", b"a", b"b", LONG]), max_size=30)


def found(body: bytes, content_type: str = TYPE, size: int = 1 << 20, *, cut: bool = False) -> PartFinder:
    finder = PartFinder(content_type)
    for at in range(0, len(body), size):
        finder.feed(body[at : at + size])
    finder.finish(cut=cut)
    return finder


@given(tokens.map(b"".join), st.integers(1, 2_000))
@example(b"--b\r\n" + LONG, 1)
def test_the_pieces_make_no_difference(rest: bytes, size: int) -> None:
    body = b"--b\r\n" + rest
    whole = [section for section in split(body, "b") if section.part is not None]
    spans = found(body, size=size).spans
    assert [(span.end, span.closed) for span in spans] == [(section.end, section.closed) for section in whole]
    assert all(span.begin <= section.begin for span, section in zip(spans, whole, strict=True))


@pytest.mark.parametrize(
    ("content_type", "body", "count", "note"),
    [
        (TYPE, b"--b\r\n\r\nhi\r\n--b\r\n\r\n\r\n--b--\r\n", 2, ""),
        (TYPE, b"--b\r\n\r\nhi", 1, "The closing boundary is missing."),
        ("multipart/mixed", b"--c\r\n\r\nhi\r\n--c--", 1, "No boundary is declared; the first line is used."),
        (TYPE, b"before\r\n--b\r\n\r\nhi\r\n--b--", 1, "Text outside the parts is in Pretty only."),
        (TYPE, b"--b\r\n\r\nhi\r\n--b--\r\nafter", 1, "Text outside the parts is in Pretty only."),
        (TYPE, b"nothing", 0, "Text outside the parts is in Pretty only."),
        (TYPE, b"", 0, ""),
    ],
)
def test_what_is_wrong_is_told(content_type: str, body: bytes, count: int, note: str) -> None:
    finder = found(body, content_type)
    assert (len(finder.spans), " ".join(finder.notes)) == (count, note)


def test_of_a_body_that_is_not_read_to_its_end_the_last_part_is_left_out() -> None:
    finder = found(b"--b\r\n\r\nhi\r\n--b\r\n\r\nha", cut=True)
    assert (finder.spans, finder.notes) == ([Span(3, 9, closed=True)], [])


def test_the_number_of_parts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart, "PARTS_MAX", 3)
    finder = found(b"--b\r\n\r\nhi\r\n" * 5 + b"--b--")
    assert (len(finder.spans), finder.notes) == (3, ["Only the first 3 parts are shown."])
