"""Views that begin in the middle of a body show what the same view shows there when it is read from its beginning."""

from __future__ import annotations

import json
import random

import pytest

from app.core.bodies import resume
from app.core.bodies.body_reader import CHUNK, BodyReader
from app.core.bodies.lines import Line
from app.core.bodies.resume import JsonSkip, XmlSkip

PIECE = 700
"""Bytes that are fed at once: few, so that each cut is met."""


def read_on(reader: BodyReader, body: bytes) -> list[Line]:
    lines: list[Line] = []
    at = 0
    while not reader.done:
        if reader.needs_input:
            reader.feed(body[at : at + CHUNK], at + CHUNK >= len(body))
            at += CHUNK
        lines += reader.lines(10_000)
    return lines


def begun_at(body: bytes, content_type: str, place: int, group: str = "pretty") -> tuple[BodyReader, list[Line]]:
    """The lines from a little before `place` on, as the window has them."""
    reader = BodyReader((), content_type, group)  # type: ignore[arg-type]
    reader.feed(body[: min(len(body) - 1, 4_096)], False)
    reader.lines(1)
    skipper = reader.skipper()
    assert skipper is not None
    while skipper.offset < max(0, place - resume.BEFORE):
        end = min(skipper.offset + PIECE, place - resume.BEFORE)
        skipper.feed(body[skipper.offset : end])
    point = skipper.point(body[skipper.offset : place])
    assert point is not None
    reader.resume(point)
    return reader, read_on(reader, body[point.offset :])


def value(r: random.Random, depth: int) -> object:
    plain = [
        0,
        -1.5e10,
        True,
        None,
        "",
        'a "quoted" \\ one',
        "[{,:]}",
        "ü\u20ac😀\n" * 3,
        [],
        {},
        "x" * r.randrange(300),
    ]
    if depth == 0 or r.random() < 0.3:
        return r.choice(plain)
    inner = [value(r, depth - 1) for _ in range(r.randrange(5))]
    return inner if r.random() < 0.5 else {f"{n} \\ {r.random()}": one for n, one in enumerate(inner)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("indent", [None, 3])
def test_json_goes_on_as_if_read_from_its_beginning(
    seed: int, indent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resume, "BEFORE", 3_000)
    r = random.Random(seed)
    whole = [value(r, 4) for _ in range(60)]
    body = json.dumps(whole, indent=indent, ensure_ascii=bool(seed % 2)).encode()
    every = read_on(BodyReader((), "application/json"), body)
    numbers = [sum(not line.folded for line in every[: at + 1]) for at in range(len(every))]
    for place in range(3_100, len(body), len(body) // 4):
        reader, lines = begun_at(body, "application/json", place)
        assert reader.notes == []
        shown = lines[1:] if lines[0].folded or reader.start_offset == 0 else lines
        assert [line.text for line in every[-len(shown) :]] == [line.text for line in shown]
        if shown is lines:
            assert reader.first_line == numbers[len(every) - len(lines)]


def test_json_begins_within_a_string_of_megabytes() -> None:
    body = json.dumps(
        {"id": 1, "data": ["a", {"big": "\\u\U0001f600é" * 10_000}], "end": [1]}, ensure_ascii=False
    ).encode()
    reader, lines = begun_at(body, "application/json", 80_000)
    assert [line.text for line in lines[-7:]][1:] == ["    }", "  ],", '  "end": [', "    1", "  ]", "}"]
    assert "\ufffd" not in "".join(line.text for line in lines)
    assert (reader.first_line, reader.notes) == (6, [])


@pytest.mark.parametrize("text", [b'{"a":[}', b"[1]]", b"}{", b'["a", ]}' * 3])
def test_what_is_no_json_is_not_skipped_over(text: bytes) -> None:
    skip = JsonSkip()
    skip.feed(text)
    assert skip.broken


def test_deep_nesting_is_counted_without_looking_at_it_level_by_level() -> None:
    skip = JsonSkip()
    for piece in (b"[" * 50_000, b'{"a":[' * 10_000, b"]}" * 10_000, b"1" + b"]" * 49_999):
        skip.feed(piece)
    assert (skip.state.stack, skip.broken) == (b"[", False)


def test_xml_goes_on_as_if_read_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "BEFORE", 2_000)
    r = random.Random(3)
    parts = ["<?xml version='1.0'?><!DOCTYPE root [<!ENTITY a '<b>'>]><s:root xmlns:s='urn:s'>\n"]
    for number in range(200):
        inner = (
            "<!-- <no> --><x/><![CDATA[<y> ]] ]]>" if r.random() < 0.3 else f"text {number} &amp; <i>inline</i> more"
        )
        parts.append(f"<order id='{number}' note=\"a > b\"><name>N{number}</name>{inner}<empty a='1'/></order>\n")
    body = "".join([*parts, "</s:root>"]).encode()
    every = [line.text for line in read_on(BodyReader((), "application/xml"), body)]
    for place in range(3_000, len(body), len(body) // 4):
        reader, lines = begun_at(body, "application/xml", place)
        assert [line.text for line in lines] == every[-len(lines) :]
        assert (reader.first_line, reader.notes) == (None, [])
    skip = XmlSkip()
    skip.feed(b"<a><b></a>")
    assert skip.broken


@pytest.mark.parametrize(
    "skipped",
    [
        b"<!-- </a><no> ]]>-->",
        b"<![CDATA[ </a><no> -->]]>",
        b"<?pi </a><no> ?>",
        b"<!DOCTYPE a [ <!ENTITY b '<no>]'> ] >",
    ],
)
def test_a_comment_cut_anywhere_between_pieces_is_skipped(skipped: bytes) -> None:
    """What is in it opens and closes nothing."""
    whole = b"<a><b/>" + skipped + b"<c>text"
    for at in range(len(whole) + 1):
        skip = XmlSkip()
        skip.feed(whole[:at])
        assert not skip.broken
        assert skip.stack == tuple(name for name, end in ((b"a", 3), (b"c", len(whole) - 4)) if at >= end)
        skip.feed(whole[at:])
        assert (skip.stack, skip.broken, skip.waiting) == ((b"a", b"c"), False, b"")
        assert skip.offset == len(whole)


@pytest.mark.parametrize("charset", ["utf-8", "utf-16-le", "utf-16-be", "latin-1"])
def test_text_begins_at_a_line_with_its_number(charset: str) -> None:
    text = "".join(
        f"{n} \u010a\u0a0a an\u00ef line {'é' * (n % 50)}\r\n" if charset != "latin-1" else f"{n} é\r\n"
        for n in range(4_000)
    )
    body = text.encode(charset)
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(charset, b"")
    reader, lines = begun_at(mark + body, f"text/plain; charset={charset}", len(body) // 2, "text")
    assert reader.first_line is not None
    assert [line.text for line in lines] == text.split("\r\n")[reader.first_line - 1 : -1]


def test_one_endless_line_is_begun_between_two_characters() -> None:
    body = "€".encode() * 30_000
    reader, lines = begun_at(body, "text/plain", 60_001, "text")
    assert set("".join(line.text for line in lines)) == {"€"}
    assert reader.first_line == 1
