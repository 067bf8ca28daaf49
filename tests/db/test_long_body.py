"""A word in a long body: wherever it stands, however the body is packed and written, within bounds."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.model import PART_SIZE
from app.db.search.candidate import WINDOW, ReadPart, body_contains
from tests.codings import packed_zstd


def reading(body: bytes) -> ReadPart:
    return lambda number: body[number * PART_SIZE :][:PART_SIZE] or None


def never() -> bool:
    return False


@settings(max_examples=40, deadline=None)
@given(
    at=st.sampled_from([PART_SIZE, 2 * PART_SIZE, PART_SIZE + WINDOW]) | st.integers(0, 2 * PART_SIZE + 999),
    back=st.integers(0, 8),
    word=st.sampled_from(["needle", "Stra\u00dfe", "\u8ba2\u5355", "\U0001f600x"]),
)
def test_it_is_found_wherever_windows_and_parts_are_cut(at: int, back: int, word: str) -> None:
    before = b"." * max(0, at - back)
    body = before + word.encode() + b"." * 1_000
    assert body_contains(word.casefold(), (), "text/plain", reading(body), never)
    assert not body_contains(word.casefold(), (), "text/plain", reading(before), never)


@pytest.mark.parametrize(
    ("coding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("zstd", packed_zstd)],
)
def test_packed_bodies_are_unpacked_to_their_end(coding: str, pack: Callable[[bytes], bytes]) -> None:
    body = pack(b"x" * (3 * PART_SIZE) + b"needle")
    headers = (("Content-Encoding", coding),)
    assert body_contains("needle", headers, "", reading(body), never)
    assert not body_contains("noodle", headers, "", reading(body), never)


def test_a_bomb_is_looked_at_as_far_as_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.db.search.candidate.UNPACKED_MAX", PART_SIZE)
    body = gzip.compress(b"early" + b"\0" * (2 * PART_SIZE) + b"late", mtime=0)
    headers = (("Content-Encoding", "gzip"),)
    assert body_contains("early", headers, "", reading(body), never)
    assert not body_contains("late", headers, "", reading(body), never)


def test_other_charsets_and_damaged_bodies_are_read_as_they_can_be() -> None:
    wide = ("." * PART_SIZE + "N\u00c9EDLE").encode("utf-16")
    assert body_contains("n\u00e9edle", (), "text/plain; charset=utf-16", reading(wide), never)
    assert body_contains("needle", (), "", reading(b"\xff" * (2 * PART_SIZE) + b"needle"), never)
    cut = gzip.compress(b"needle" + bytes(PART_SIZE), mtime=0)[:900]
    assert body_contains("needle", (("Content-Encoding", "gzip"),), "", reading(cut), never)


def test_given_up_it_reads_no_further() -> None:
    asked: list[int] = []

    def read(number: int) -> bytes:
        asked.append(number)
        return b"." * PART_SIZE

    assert not body_contains("needle", (), "", read, lambda: len(asked) > 2)
    assert len(asked) == 3
