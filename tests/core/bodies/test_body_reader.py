"""Any bytes find a view, within bounds; nothing hidden in them stays hidden."""

from __future__ import annotations

import gzip
import time
import unicodedata
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.body_reader import CHUNK, FORMATTED_MAX, BodyReader, body_text
from app.core.bodies.charset import declared_charset, detect
from app.core.bodies.decompressor import Decompressor, codings
from app.core.bodies.escape import escape
from app.core.bodies.formats.binary import hex_rows, row_count, row_text
from app.core.bodies.formatter import WIDTH, Line

JSON = "application/json"


def read_all(
    body: bytes, content_type: str = "", coding: str = "", wanted: str | None = None, chunk: int = CHUNK
) -> tuple[BodyReader, list[Line]]:
    headers = (("Content-Encoding", coding),) if coding else ()
    reader = BodyReader(headers, content_type, wanted)  # type: ignore[arg-type]
    lines: list[Line] = []
    at = 0
    while not reader.done:
        if reader.needs_input:
            reader.feed(body[at : at + chunk], at + chunk >= len(body))
            at += chunk
        lines += reader.lines(3_000)
    return reader, lines


def text_of(lines: list[Line]) -> str:
    return "".join(("" if line.folded or not at else "\n") + line.text for at, line in enumerate(lines))


INVISIBLE_LETTERS = set("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters and marks to Unicode, so that Python calls them printable, but nothing is seen of them."""


@given(st.text() | st.text(st.sampled_from(sorted(INVISIBLE_LETTERS | {"a", "\u202e"}))))
def test_escaping_leaves_nothing_hidden(text: str) -> None:
    shown = escape(text)
    assert all(
        unicodedata.category(ch) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        for ch in shown
        if ch not in "\u200c\u200d" and not 0x600 <= ord(ch) <= 0x8E2 and ord(ch) not in (0x110BD, 0x110CD)
    )
    assert not set(shown) & INVISIBLE_LETTERS
    if text.isprintable() and not set(text) & INVISIBLE_LETTERS:
        assert shown == text


def test_escapes_are_readable() -> None:
    assert escape("a\x1b[31m\u202egpj.exe\n") == "a\\x1b[31m\\u202egpj.exe\\n"
    assert escape("👩\u200d💻") == "👩\u200d💻"


@given(
    st.binary(max_size=2_000), st.sampled_from(["", JSON, "text/plain; charset=utf-16", "image/png", "a;charset=zip"])
)
def test_any_bytes_find_a_view(body: bytes, content_type: str) -> None:
    for coding in ("", "gzip", "deflate", "br", "zstd", "br, gzip", "gzip, deflate", "gzip,gzip,gzip,gzip"):
        reader, lines = read_all(body, content_type, coding)
        assert reader.view is not None
        assert all(len(line.text) <= WIDTH for line in lines)
        assert all("\n" not in line.text and "\x1b" not in line.text for line in lines)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp", "Cs"]), max_size=300))
def test_text_is_shown_as_it_stands(text: str) -> None:
    _, lines = read_all(text.encode(), "text/plain", wanted="text")
    assert escape(text_of(lines)) == escape(text)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, CHUNK])
def test_coded_bodies_are_unpacked_whatever_the_pieces(chunk: int) -> None:
    plain = b'{"a": [1, 2.50, "x"]}'
    packed = {
        "gzip": gzip.compress(plain[:9]) + gzip.compress(plain[9:]),
        "deflate": zlib.compress(plain),
        "DEFLATE": zlib.compress(plain)[2:-4],
        "deflate, gzip": gzip.compress(zlib.compress(plain)),
    }
    for coding, body in packed.items():
        reader, lines = read_all(body, JSON, coding, chunk=chunk, wanted="pretty")
        assert [line.text for line in lines] == ["{", '  "a": [', "    1,", "    2.50,", '    "x"', "  ]", "}"]
        assert not reader.notes
        assert reader.codings


def test_a_bomb_yields_only_what_was_asked_for() -> None:
    bomb = gzip.compress(b"0" * 60_000_000)
    unpacker = Decompressor(("gzip",))
    unpacker.feed(bomb)
    assert len(unpacker.read(1000)) == 1000
    reader = BodyReader((("content-encoding", "gzip"),), "text/plain")
    reader.feed(bomb, True)
    began = time.thread_time()
    assert 0 < len(reader.lines(3_000)) <= 3_200
    assert (reader.complete, reader.end_offset) == (False, FORMATTED_MAX)
    assert time.thread_time() - began < 2
    text, whole = body_text((("content-encoding", "gzip"),), "text/plain", bomb, 5_000)
    assert (len(text), whole) == (5_000, False)


def test_what_cannot_be_unpacked_is_shown_as_sent_with_the_reason() -> None:
    reader, _ = read_all(b"\x0b\x02\x80x\x03", JSON, "compress")
    assert reader.view is not None
    assert reader.view.name == "hex"
    assert "compress" in reader.notes[0]
    reader, _ = read_all(b"no gzip at all", JSON, "gzip")
    assert reader.view is not None
    assert reader.view.name == "hex"
    assert "as sent" in reader.notes[0]
    reader, lines = read_all(gzip.compress(b"hello " * 50)[:-4], "text/plain", "gzip")
    assert text_of(lines).startswith("hello hello")
    assert any("is incomplete" in note for note in reader.notes)


def test_the_automatic_choice_falls_back_with_a_note_and_an_explicit_one_shows_its_error() -> None:
    reader, lines = read_all(b'{"a": 1,}', JSON)
    assert reader.view is not None
    assert (reader.view.name, text_of(lines)) == ("text", '{"a": 1,}')
    assert "line 1, column 9" in reader.notes[0]
    reader, lines = read_all(b'{"a": 1,}', JSON, wanted="pretty")
    assert reader.view is not None
    assert reader.view.name == "json"
    assert [line.text for line in lines] == ["{", '  "a": 1,', "  }"]
    assert "line 1, column 9" in reader.notes[0]


@pytest.mark.parametrize(
    ("content_type", "head", "name"),
    [
        (JSON, b'{"a":1}', "json"),
        ("", b"  [1]", "json"),
        ("application/problem+json", b"{}", "json"),
        ("text/plain", b"hello", "text"),
        ("application/x-www-form-urlencoded", b"a=1&b=2", "form-table"),
        ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "image"),
        ("", bytes(range(256)), "hex"),
        ("text/plain", "hällo wörld".encode("utf-16"), "text"),
        ("text/plain; charset=utf-16le", "hello".encode("utf-16-le"), "text"),
        ("text/plain; charset=utf-32be", "hello".encode("utf-32-be"), "text"),
        ("text/csv; charset=utf-16", "a,b\n1,2\n".encode("utf-16"), "csv-table"),
        ("application/json", '{"a": "ä"}'.encode("utf-16"), "json"),
        ("", b"\xff\xfe\x00\xd8\x00\x00\x01\x00", "hex"),
    ],
)
def test_the_best_view_wins(content_type: str, head: bytes, name: str) -> None:
    reader, _ = read_all(head, content_type)
    assert reader.view is not None
    assert reader.view.name == name


@pytest.mark.parametrize(
    ("content_type", "body", "text", "noted"),
    [
        ("text/plain; charset=iso-8859-1", b"caf\xe9", "café", False),
        ("text/plain", "café".encode(), "café", False),
        ("text/plain", b"caf\xe9", "café", True),
        pytest.param("text/plain", b"caf\xe9".rjust(200_000), "café".rjust(200_000), True, id="far from the beginning"),
        ("text/plain; charset=utf-8", b"caf\xe9", "café", True),
        ("text/plain; charset=nonsense", "café".encode(), "café", True),
        ("text/plain; charset=zlib", "café".encode(), "café", True),
        ("text/plain", "\ufeffcafé".encode("utf-16"), "café", False),
        ("text/plain", "café".encode("utf-8-sig"), "café", False),
    ],
)
def test_charsets(content_type: str, body: bytes, text: str, noted: bool) -> None:
    body = body.removeprefix(b"\xff\xfe") if body.startswith(b"\xff\xfe\xff\xfe") else body
    reader, lines = read_all(body, content_type, wanted="text")
    assert text_of(lines) == text
    assert bool(reader.notes) is noted


@given(st.text(max_size=40), st.binary(max_size=40))
def test_no_content_type_breaks_it(content_type: str, head: bytes) -> None:
    assert declared_charset(content_type) != ""
    found = detect(f"text/plain; charset={content_type}", head, True)
    assert len(found.decoder().decode(head, True)) <= len(head)


def test_an_endless_line_is_folded_and_lone_carriage_returns_are_shown() -> None:
    _, lines = read_all(b"x" * 1_000_000, "text/plain")
    assert len(lines) == 500
    assert [line.folded for line in lines[:3]] == [False, True, True]
    _, lines = read_all(b"a\r\nb\rc\n", "text/plain", chunk=2)
    assert [line.text for line in lines] == ["a", "b\\rc"]


def test_hex_rows() -> None:
    rows = hex_rows(bytes(range(0x20, 0x35)), 0x10, 0x25)
    assert [row.offset for row in rows] == ["00000010", "00000020"]
    assert rows[0].ascii == " !\"#$%&'()*+,-./"
    assert row_text(rows[1]).split() == ["00000020", "30", "31", "32", "33", "34", "01234"]
    assert [row_count(size) for size in (0, 1, 16, 17)] == [0, 1, 1, 2]


def test_codings_are_read_from_all_lines_in_order() -> None:
    headers = (("content-encoding", "deflate, identity"), ("X", "gzip"), ("Content-Encoding", " GZIP "))
    assert codings(headers) == ("deflate", "gzip")


def test_a_broken_body_is_told_of_once_as_what_it_was_meant_to_be() -> None:
    """Lines of JSON are no JSON document either, but that is not what is wrong with them."""
    body = b'{"level": "info"}\n{"level": "warn"}\n{"level": "cut'
    reader, lines = read_all(body, "application/x-ndjson")
    assert reader.notes == ["Not valid JSON at line 3, column 15: a string is not closed. Shown as text."]
    assert text_of(lines) == body.decode()


@pytest.mark.parametrize("coding", ["", "gzip"])
@pytest.mark.parametrize(("limit", "value"), [("FORMATTED_MAX", 300_000), ("LINES_MAX", 20_000)])
def test_a_long_text_is_shown_in_parts_that_end_at_line_ends(
    monkeypatch: pytest.MonkeyPatch, coding: str, limit: str, value: int
) -> None:
    monkeypatch.setattr(f"app.core.bodies.body_reader.{limit}", value)
    body = "".join(f"line {number} é\n" for number in range(1, 50_001)).encode()
    sent = gzip.compress(body, 1) if coding else body
    reader, lines = read_all(sent, "application/json", coding, wanted="text")
    shown, parts = [line.text for line in lines], 1
    while not reader.complete:
        offset, number, continues = reader.next_part
        assert (number, continues) == (len(shown) + 1, False)
        reader.go_to(offset, number, continues)
        fed = sent if coding else sent[offset:]
        at = 0
        while not reader.done:
            if reader.needs_input:
                reader.feed(fed[at : at + CHUNK], at + CHUNK >= len(fed))
                at += CHUNK
            shown += [line.text for line in reader.lines(3_000)]
        parts += 1
    assert parts == 3
    assert "\n".join([*shown, ""]).encode() == body


@pytest.mark.slow
def test_the_first_part_of_a_longer_body_is_formatted_and_its_end_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.core.bodies.body_reader.CHUNK", 16_000)
    monkeypatch.setattr("app.core.bodies.body_reader.FORMATTED_MAX", 28_000)
    for content_type, body in (
        (JSON, b"[" + b'{"a": "b"},' * 3_000 + b"1]"),
        ("application/xml", b"<a>" + b"<b c='d'>e</b>" * 3_000 + b"</a>"),
        ("multipart/form-data; boundary=b", (b"--b\r\n\r\n" + b"x\r\n" * 20) * 600 + b"--b--"),
        ("application/msgpack", b"\xdd\x00\x01\x00\x00" + b"\x93\x01\x02\x03" * 0x10000),
    ):
        reader, lines = read_all(body, content_type, wanted="pretty")
        assert (reader.notes, reader.complete, reader.end_offset) == ([], False, 28_000)
        assert len(lines) > 1_000
