"""A word in a long body: wherever it stands, however the body is packed and written, within bounds."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Callable
from functools import partial
from threading import Event

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from peewee import SqliteDatabase

from app.core.model import PART_SIZE, Endpoint
from app.core.record import Headers
from app.core.search.parse import parse
from app.db.search.candidate import RATIO, WINDOW, BodyBudget, ReadPart, UnpackBudget, body_contains, unpacked_pieces
from app.db.search.index_terms import MORE
from app.db.search.scan import meets_all
from app.db.sqlite.search_group import ALWAYS
from app.db.sqlite.store import Store
from tests.codings import packed_zstd, readable_bytes, zeros_brotli
from tests.db.helpers import add, candidate, entry
from tests.db.search.test_search import search
from tests.support import until


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
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("br", partial(brotli.compress, quality=1)),
        ("zstd", packed_zstd),
    ],
)
def test_packed_bodies_are_unpacked_to_their_end(coding: str, pack: Callable[[bytes], bytes]) -> None:
    body = pack(readable_bytes(2 * PART_SIZE) + b"needle")
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


def in_brotli(size: int) -> tuple[bytes, Headers]:
    """`size` zeros in some 200 bytes, and their headers."""
    return zeros_brotli(size), (("Content-Encoding", "br"),)


class TestBombs:
    """Few bytes that unpack to very many: a search unpacks some of them and says what it left out."""

    @pytest.mark.parametrize(
        ("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", packed_zstd)]
    )
    def test_a_body_unpacks_to_a_multiple_of_what_was_sent(self, coding: str, pack: Callable[[bytes], bytes]) -> None:
        packed = pack(b"early" + bytes(20 * PART_SIZE) + b"late")
        assert len(packed) < 50_000
        for left in (0, PART_SIZE):
            search = UnpackBudget(left)
            body = BodyBudget(search)
            assert 0 < sum(map(len, unpacked_pieces((coding,), [packed], body))) - left <= len(packed) * RATIO + 1
            assert (body.exceeded, search.remaining) == (True, 0)

    def test_brotli_that_would_exceed_it_at_once_is_not_begun(self) -> None:
        packed, _ = in_brotli(64 * PART_SIZE)
        search = UnpackBudget(PART_SIZE)
        body = BodyBudget(search)
        assert not list(unpacked_pieces(("br",), [packed], body))
        assert (body.exceeded, search.remaining) == (True, PART_SIZE)

    def test_unpacking_again_takes_nothing_more_of_the_budget(self) -> None:
        packed = gzip.compress(bytes(PART_SIZE // 2), mtime=0)
        search = UnpackBudget(PART_SIZE)
        body = BodyBudget(search)
        for _ in range(3):
            assert sum(map(len, unpacked_pieces(("gzip",), [packed], body))) == PART_SIZE // 2
        assert not body.exceeded
        assert search.remaining == PART_SIZE // 2 + len(packed) * RATIO
        other = BodyBudget(UnpackBudget(0))
        assert sum(map(len, unpacked_pieces(("gzip",), [packed], other))) == len(packed) * RATIO + 1

    def test_what_was_left_out_decides_nothing(self) -> None:
        """Neither a word nor its absence, nor JSON; what is known without it does."""
        packed = gzip.compress(b'{"early": 1, "zeros": "' + bytes(4 * PART_SIZE) + b'late"}', mtime=0)
        request = candidate("/catch/s/bomb", (("Content-Encoding", "gzip"),), packed, "application/json")
        results = {
            "early": True,
            "-early": False,
            "bomb": True,
            "late": None,
            "-late": None,
            "late OR bomb": True,
            "late OR nothing": None,
            "bomb late": None,
            "late path:nowhere": False,
            "-(late early)": None,
            "json:early=1": None,
            "-json:early=1": None,
        }
        assert {text: meets_all(request, parse(text).terms) for text in results} == results


async def test_bombs_hold_up_neither_a_search_nor_a_list(store: Store, endpoint: Endpoint) -> None:
    packed, headers = in_brotli(128 * PART_SIZE)
    assert len(packed) < 1_000
    await asyncio.gather(*(add(store, endpoint.id, packed, headers=headers) for _ in range(60)))
    match = await add(store, endpoint.id, gzip.compress(b"late", mtime=0), headers=(("Content-Encoding", "gzip"),))
    for text, found in (("late", [match.id]), ("-late", []), ("late OR POST", [match.id])):
        unexamined: list[int] = []
        rows = await search(store, text, unexamined=unexamined.append)
        assert ([row.id for row in rows], sum(unexamined)) == (found, 60), text


async def test_a_list_does_not_wait_for_a_search(store: Store, endpoint: Endpoint) -> None:
    """Not even for one request whose examination does not end."""
    await add(store, endpoint.id)
    begun, release = Event(), Event()

    def examine(database: SqliteDatabase) -> None:
        begun.set()
        assert release.wait(60)

    readers = store.captures._readers
    running = [asyncio.create_task(readers.run(examine, slow=True)) for _ in range(5)]
    try:
        await until(begun.is_set)
        assert len(await store.captures.page(endpoint.id)) == 1
        assert not release.is_set()
    finally:
        release.set()
        await asyncio.gather(*running)


@pytest.mark.parametrize("body", [b'{"a": "%s"}' % bytes(3 * PART_SIZE), b'{"a": 1}' + b" " * 3 * PART_SIZE])
def test_the_index_marks_what_it_does_not_hold_whole(body: bytes) -> None:
    """Every search examines such a request: `json:a=1` and words of the rest must still find it."""
    packed = gzip.compress(body, mtime=0)
    marked = entry(1, "/catch/s", (("Content-Encoding", "gzip"),), packed, "application/json")
    assert marked.text.startswith(ALWAYS)
    assert MORE in marked.terms.split(" ")
    assert len(marked.text) < len(packed) * RATIO + 1_000
