"""A whole PNG is found whole, whatever its kind; a damaged one is found out before a decoder sees it."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image

from app.core.bodies.formats.image import png_damage

MANY = 10**6


def made(mode: str = "RGB", width: int = 9, height: int = 7) -> bytes:
    out = io.BytesIO()
    Image.frombytes("L", (width, height), bytes(range(width * height))).convert(mode).save(out, "PNG")
    return out.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def built(pixels: bytes, *before: bytes, header: tuple[int, ...] = (2, 2, 8, 0, 0, 0, 0), end: bool = True) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", *header))
    last = chunk(b"IEND", b"") if end else b""
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(before) + chunk(b"IDAT", zlib.compress(pixels)) + last


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_a_whole_one_is_found_whole(mode: str) -> None:
    assert png_damage(made(mode), MANY) is None


def test_interlaced_rows_are_counted_pass_by_pass() -> None:
    # 2 by 2 pixels of one byte: passes 1 (1x1), 6 (1x1) and 7 (2x1).
    rows = b"\0a" + b"\1b" + b"\4cd"
    assert png_damage(built(rows, header=(2, 2, 8, 0, 0, 0, 1)), MANY) is None
    assert (
        png_damage(built(b"\0a" + b"\1b" + b"\5cd", header=(2, 2, 8, 0, 0, 0, 1)), MANY)
        == "its image data is not valid"
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (built(b"\0ab\0cd"), None),
        (built(b"\0ab\0cd and more"), None),
        (built(b"\0ab\0cd", chunk(b"teXt", b"x")), None),
        (built(b"\0ab\0c"), "it ends too early"),
        (built(b"\0ab\0cd", end=False), "it ends too early"),
        (made()[:60], "it ends too early"),
        (built(b"\0ab\7cd"), "its image data is not valid"),
        (built(b"\0ab\0cd", chunk(b"IDAT", b"no zlib")), "its image data cannot be decompressed"),
        (built(b"\0ab\0cd", chunk(b"ABCD", b"")), "it has an unknown critical chunk"),
        (built(b"\0ab\0cd", chunk(b"abcd", b"")), "it has an unknown critical chunk"),
        (built(b"\0ab\0cd", chunk(b"IDAT", b"x"), chunk(b"teXt", b"")), "its image data is not contiguous"),
        (built(b"", header=(2_000_000, 2, 8, 0, 0, 0, 0)), "its size cannot be read"),
        (built(b"\0ab\0cd", header=(2, 2, 8, 3, 0, 0, 0)), "its palette is missing"),
        (built(b"\0ab\0cd", chunk(b"PLTE", b"ab"), header=(2, 2, 8, 3, 0, 0, 0)), "its palette is not valid"),
        (built(b"\0ab\0cd", header=(2, 2, 9, 0, 0, 0, 0)), "its colour type is unknown"),
        (built(b"", header=(0, 2, 8, 0, 0, 0, 0)), "its size cannot be read"),
        (built(b"\0ab\0cd").replace(b"IDAT", b"IDAX"), "a checksum is wrong"),
        (b"\x89PNG\r\n\x1a\n", "its size cannot be read"),
        (b"GIF", "its signature is missing"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, why: str | None) -> None:
    assert png_damage(data, MANY) == why


def test_pixels_beyond_the_limit_are_not_unpacked() -> None:
    assert png_damage(built(b"", header=(60_000, 60_000, 8, 6, 0, 0, 0)), MANY) is None


@pytest.mark.slow
def test_a_bomb_is_unpacked_only_as_far_as_its_rows_go() -> None:
    assert png_damage(built(b"\0ab\0cd" + bytes(200_000_000)), MANY) is None
