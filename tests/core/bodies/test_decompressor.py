"""Content codings: each gives what went in, in bounded steps, and says in words what is wrong."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from functools import partial

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.body_reader import FORMATTED_MAX, BodyReader
from app.core.bodies.decompressor import AT_ONCE, HOLLOW, KNOWN, Decompressor, brotli_at_once, unsupported_reason
from tests.codings import packed_zstd, readable_bytes, zeros_brotli, zeros_zstd

packed_gzip = partial(gzip.compress, mtime=0)  # the time would make hypothesis see other data in the next second
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": packed_gzip,
    "x-gzip": packed_gzip,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": packed_zstd,
}


def unpacked(packed: bytes, names: tuple[str, ...], piece: int, limit: int) -> tuple[bytes, str | None]:
    unpacker = Decompressor(names)
    given = bytearray()
    for at in range(0, len(packed), piece):
        unpacker.feed(packed[at : at + piece])
        while not unpacker.needs_input:
            taken = unpacker.read(limit)
            assert len(taken) <= limit
            given += taken
    return bytes(given), unpacker.finish()


def raw_deflate(data: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-15)
    return engine.compress(data) + engine.flush()


def test_every_coding_is_tried_here() -> None:
    assert set(PACKERS) == KNOWN


@pytest.mark.parametrize("name", sorted(KNOWN))
@pytest.mark.parametrize(("piece", "limit"), [(1, 7), (5, 100_000), (100_000, 1), (100_000, 100_000)])
def test_what_went_in_comes_out_however_it_is_cut(name: str, piece: int, limit: int) -> None:
    for data in (b"", b"hello", bytes(range(256)) * 9):
        assert unpacked(PACKERS[name](data), (name,), piece, limit) == (data, None)


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_much_comes_whole(name: str) -> None:
    data = bytes(3_000_001) + b"end"
    assert unpacked(PACKERS[name](data), (name,), 1_000, 50_000) == (data, None)


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_what_breaks_off_gives_its_beginning_and_says_so(name: str) -> None:
    text = b"".join(b"%d " % number for number in range(40_000))
    given, error = unpacked(PACKERS[name](text)[:-50], (name,), 4_096, 65_536)
    assert text.startswith(given)
    assert len(given) > 1_000
    assert error is not None
    assert "is incomplete" in error


@pytest.mark.parametrize(
    ("name", "called"), [("br", "Brotli"), ("zstd", "Zstandard"), ("gzip", "gzip"), ("deflate", "deflate")]
)
def test_what_is_something_else_is_said_by_name(name: str, called: str) -> None:
    given, error = unpacked(b"\xff no such thing at all", (name,), 4_096, 65_536)
    assert given == b""
    assert error is not None
    assert called in error


def test_nothing_follows_the_end_of_brotli_however_it_comes() -> None:
    packed = brotli.compress(b"hello")
    assert unpacked(packed, ("br",), 1, 100) == (b"hello", None)
    for piece in (1, len(packed), len(packed) + 1):
        error = unpacked(packed + b"x", ("br",), piece, 100)[1]
        assert error is not None
        assert "not Brotli" in error


def test_what_comes_before_the_damage_of_brotli_is_given() -> None:
    text = b"".join(b"%d " % number for number in range(40_000))
    given, error = unpacked(brotli.compress(text) + b"x", ("br",), 1 << 20, 65_536)
    assert text.startswith(given)
    assert len(given) > len(text) * 0.9
    assert error is not None


def test_frames_follow_each_other_and_what_is_none_is_left_alone() -> None:
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    packed = packed_zstd(b"one ") + skippable + packed_zstd(b"two")
    for piece in (1, 3, 1_000):
        assert unpacked(packed + b"rest of it", ("zstd",), piece, 10) == (b"one two", None)


@pytest.mark.parametrize(
    ("name", "pack"),
    [("gzip", packed_gzip), ("deflate", zlib.compress), ("deflate", raw_deflate), ("zstd", packed_zstd)],
)
@pytest.mark.parametrize("rest", [b"\x1f", b"\x1f rest of it"])
def test_a_note_counts_the_bytes_that_follow_the_end(name: str, pack: Callable[[bytes], bytes], rest: bytes) -> None:
    body = pack(b"hello") + rest
    for piece in (1, 3, 1_000):
        unpacker = Decompressor((name,))
        given = bytearray()
        for at in range(0, len(body), piece):
            unpacker.feed(body[at : at + piece])
            while not unpacker.needs_input:
                given += unpacker.read(2)
        assert (bytes(given), unpacker.finish()) == (b"hello", None)
        assert (unpacker.note or "").startswith(f"{len(rest)} byte")
    reader = BodyReader((("Content-Encoding", name),), "text/plain", "text")
    reader.feed(body, True)
    lines = []
    while not reader.done:
        lines += reader.lines(9)
    assert [line.text for line in lines] == ["hello"]
    assert [note for note in reader.notes if "follow" in note] == [unpacker.note]


def test_zeros_may_pad_gzip_and_more_members_follow() -> None:
    body = packed_gzip(b"one ") + bytes(20) + packed_gzip(b"two") + bytes(3)
    for piece in (1, 3, 1_000):
        assert unpacked(body, ("gzip",), piece, 10) == (b"one two", None)
    unpacker = Decompressor(("gzip",))
    unpacker.feed(body)
    while not unpacker.needs_input:
        unpacker.read(10)
    assert unpacker.note is None


@pytest.mark.parametrize("piece", [1, 2, 1_000])
def test_raw_deflate_is_accepted_however_it_is_cut(piece: int) -> None:
    for data in (b"", b"hello", bytes(range(256)) * 9):
        assert unpacked(raw_deflate(data), ("deflate",), piece, 100) == (data, None)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_hundreds_of_empty_members_are_passed_over(name: str) -> None:
    assert unpacked(PACKERS[name](b"") * 900 + PACKERS[name](b"end"), (name,), 262_144, 10) == (b"end", None)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_body_of_members_that_hold_almost_nothing_is_not_read_on(name: str) -> None:
    """Opening a member takes as long as unpacking kilobytes, and a megabyte holds a hundred thousand."""
    empty, small = PACKERS[name](b""), PACKERS[name](b"x")
    given, error = unpacked(small + empty * 20_000 + PACKERS[name](b"end"), (name,), 262_144, 1_000)
    assert (given, error) == (b"x", HOLLOW)
    given, error = unpacked(small * 20_000, (name,), 262_144, 1_000)
    assert error == HOLLOW
    assert len(given) < 2_000
    lines = PACKERS[name](b"a line of a log\n") * 5_000
    assert unpacked(lines, (name,), 262_144, 1_000) == (b"a line of a log\n" * 5_000, None)


def test_padding_of_an_inner_coding_is_not_unpacked_without_end() -> None:
    """600 bytes: gzip in gzip in gzip, and inside a gigabyte of zeros after the end of a member."""
    engine = zlib.compressobj(wbits=31)
    pieces = [engine.compress(packed_gzip(b"end"))]
    pieces += [engine.compress(bytes(1024 * 1024)) for _ in range(64)]
    body = packed_gzip(b"".join([*pieces, engine.flush()]))
    unpacker = Decompressor(("gzip", "gzip", "gzip"))
    unpacker.feed(body)
    assert unpacker.read(100) == b"end"
    assert unpacker.read(100) == b""
    assert unpacker.error == HOLLOW


@pytest.mark.slow
def test_brotli_that_unpacks_to_much_at_once_is_refused_where_that_takes_too_long() -> None:
    for size, at_once in ((0, 0), (10, 10), (100_000, 100_000), (64 * 1024 * 1024, 4 * 1024 * 1024)):
        packed = zeros_brotli(size) if size > 1024 * 1024 else brotli.compress(bytes(size))
        assert brotli_at_once(packed) == at_once
    for window in range(10, 25):
        packed = brotli.compress(readable_bytes(min(3_000_000, 4 << window)), quality=1, lgwin=window)
        assert 0 < brotli_at_once(packed) <= 1 << window
    unpacker = Decompressor(("br",), 1024 * 1024)
    unpacker.feed(zeros_brotli(64 * 1024 * 1024))
    assert unpacker.read(100) == b""
    assert unpacker.error == AT_ONCE


def test_a_frame_that_asks_for_too_much_memory_is_refused_in_words() -> None:
    frame = b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([(25 - 10) << 3]) + b"\x01\x00\x00"
    given, error = unpacked(frame, ("zstd",), 100, 100)
    assert given == b""
    assert error is not None
    assert "8 MiB" in error


@pytest.mark.parametrize(("name", "bomb"), [("br", zeros_brotli), ("zstd", zeros_zstd)])
def test_a_bomb_gives_no_more_than_was_asked_for(name: str, bomb: Callable[[int], bytes]) -> None:
    packed = bomb(200 * 1024 * 1024)
    assert len(packed) < 100_000
    unpacker = Decompressor((name,))
    unpacker.feed(packed)
    assert [len(unpacker.read(1_000)) for _ in range(5)] == [1_000] * 5
    reader = BodyReader((("Content-Encoding", name),), "text/plain", "text")
    reader.feed(packed, True)
    assert 0 < len(reader.lines(3_000)) <= 3_200
    assert reader.end_offset == FORMATTED_MAX
    assert not reader.done


@given(st.binary(max_size=400), st.sampled_from(sorted(KNOWN)), st.integers(1, 50))
def test_any_bytes_are_borne(data: bytes, name: str, piece: int) -> None:
    """Whether they are that coding does not depend on how they come; the words of what is wrong may."""
    for names in ((name,), (name, "gzip")):
        errors = [unpacked(data, names, size, limit)[1] for size, limit in ((piece, 1_000), (len(data) + 1, 7))]
        assert (errors[0] is None) is (errors[1] is None), errors


@given(st.binary(max_size=2_000), st.lists(st.sampled_from(sorted(KNOWN)), max_size=3), st.data())
def test_packed_over_and_over(data: bytes, names: list[str], draw: st.DataObject) -> None:
    packed = data
    for name in names:
        packed = PACKERS[name](packed)
    piece = draw.draw(st.integers(1, max(1, len(packed))))
    assert unpacked(packed, tuple(names), piece, 500) == (data, None)
    if packed:
        damaged = bytearray(packed)
        damaged[draw.draw(st.integers(0, len(packed) - 1))] ^= draw.draw(st.integers(1, 255))
        unpacked(bytes(damaged), tuple(names), piece, 500)


def test_what_is_not_known_is_refused_by_name() -> None:
    assert unsupported_reason(("br", "zstd", "gzip")) is None
    assert "compress" in (unsupported_reason(("gzip", "compress")) or "")
    assert "4 times" in (unsupported_reason(("gzip",) * 4) or "")
