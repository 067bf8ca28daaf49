"""Parts of a body are of bounded size, decompressed and without secrets, and say what is missing."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator

from app.cli.mcp_results import REDACTED_MAX, TOO_LONG, BodyShape, part_as_sent, part_without_secrets
from app.core.redaction.body import AFTER_BYTES, UNENDED, UNREADABLE

JSON = [("Content-Type", "application/json")]
GZIP = [*JSON, ("Content-Encoding", "gzip")]


def pieces(body: bytes, size: int = 1000) -> Iterator[bytes]:
    for at in range(0, len(body), size):
        yield body[at : at + size]


def read(body: bytes, headers: list[tuple[str, str]], limit: int = 8192, offset: int = 0) -> BodyShape:
    return part_without_secrets(pieces(body), headers, len(body), limit, offset)


def test_a_compressed_body_is_read_decompressed() -> None:
    plain = json.dumps({"token": "hunter2", "items": list(range(2000))}).encode()
    packed = gzip.compress(plain)
    first = read(packed, GZIP, limit=100)
    assert first.text is not None
    assert first.text.startswith('{"token": "[redacted]", "items": [0, 1,')
    assert (first.size, first.next_offset) == (len(packed), 100)
    assert first.note == "Decompressed from gzip; offsets count decompressed bytes."
    rest = read(packed, GZIP, limit=65_536, offset=100)
    assert (first.text + (rest.text or "")).replace("[redacted]", "hunter2").encode() == plain
    assert rest.next_offset is None
    sent = part_as_sent(pieces(packed), len(packed), 65_536, 0)
    assert base64.b64decode(sent.base64 or "") == packed


def test_what_cannot_be_decompressed_is_not_shown() -> None:
    cut_off = read(gzip.compress(b'{"n": 1, "token": "hunter2"}')[:-6], GZIP)
    assert cut_off.text == '{"n": 1, "token": "[redacted]"}'
    assert (cut_off.note or "").startswith("The compressed body is incomplete. ")
    broken = read(b"no gzip", GZIP)
    assert (broken.text, broken.next_offset) == ("", None)
    assert "gzip" in (broken.note or "")
    unknown = read(b"abc", [("Content-Encoding", "secret-sauce")])
    assert (unknown.text, unknown.base64) == ("", None)
    assert "'secret-sauce', which Hookline cannot decode. It is not shown" in (unknown.note or "")


def test_a_decompression_bomb_is_read_as_far_as_needed() -> None:
    part = read(gzip.compress(b" " * 50_000_000), GZIP, limit=10)
    assert (part.text, part.next_offset) == (" " * 10, 10)


def test_a_long_body_is_read_to_a_limit() -> None:
    body = b'{"credentials": {"a": "' + b"hunter2 " * 200_000 + b'"}, "n": 1}'
    for offset in (30, 70_000, REDACTED_MAX - 10):
        assert (read(body, JSON, offset=offset)).text == ""
    last = read(body, JSON, offset=REDACTED_MAX - 10)
    assert (last.next_offset, last.note) == (None, TOO_LONG)
    beyond = read(body, JSON, offset=REDACTED_MAX + 10)
    assert (beyond.text, beyond.next_offset, beyond.note) == ("", None, TOO_LONG)
    assert (part_as_sent(pieces(body), len(body), 7, len(body) - 7)).text == '"n": 1}'


def test_a_part_ends_where_a_secret_begins_that_shows_by_what_follows() -> None:
    body = b"see https://user:hunter2@shop.test/ " + b"x" * AFTER_BYTES
    for limit in range(1, 30):
        assert "hun" not in ((read(body, [], limit=limit)).text or "")


def test_it_says_what_is_missing() -> None:
    assert (read(b'{"token": ["a", 1', JSON)).note == UNENDED
    assert (read(b"\x81\xa5token\x01", [("Content-Type", "application/msgpack")])).note == UNREADABLE
    assert (read(b'{"token": "a"}', JSON)).note is None


def test_without_any_bytes_it_says_that_there_are_some() -> None:
    assert (read(b"{}", JSON, limit=0)).next_offset == 0
    assert (part_as_sent(pieces(b"{}"), 2, 0, 0)).next_offset == 0
    assert (read(b"", JSON, limit=0)).next_offset is None
    assert (part_as_sent(pieces(b""), 0, 0, 0)).next_offset is None


def test_no_offset_is_returned_twice() -> None:
    body = "ü€😀".encode() * 3 + b'{"token":"x"}' + b"\xff\xfe" + "ü".encode()
    for limit in range(1, 7):
        offset: int | None = 0
        for _ in range(len(body)):
            assert offset is not None
            before, offset = offset, (read(body, JSON, limit, offset)).next_offset
            if offset is None:
                break
            assert offset > before
        assert offset is None
