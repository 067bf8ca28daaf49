"""Pictures: kind and size from the first bytes, and whether a PNG is intact. Drawings are in `svg_sanitizer`.

Qt rejects a damaged PNG too, but only after libpng has written a line to standard error. Qt installs no error handler
of libpng's, so neither a logging rule nor a message handler stops that line, and any sender could fill the journal with
it. Checked with PySide6 6.11; `test_nothing_is_written_of_damage` covers it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

_HEADS = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF87a", "gif"), (b"GIF89a", "gif"))
_BMP_HEADERS = {12, 40, 52, 56, 64, 108, 124}

_NAMES = {"jpeg": "JPEG", "webp": "WebP"}
_TYPES = {"jpeg": ("image/jpeg", "image/jpg", "image/pjpeg"), "bmp": ("image/bmp", "image/x-bmp", "image/x-ms-bmp")}

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers followed by the size of the frame."""
SEGMENTS_MAX = 1_000
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without a length."""


def image_name(kind: str) -> str:
    """`PNG`, `JPEG`, `WebP`."""
    return _NAMES.get(kind, kind.upper())


def image_title(kind: str) -> str:
    """`PNG image`."""
    return f"{image_name(kind)} image"


def may_be_sent_as(kind: str, media_type: str) -> bool:
    """Whether this media type is right for this kind of picture, or is a generic one."""
    return media_type in ("", "application/octet-stream") or media_type in _TYPES.get(
        kind, (f"image/{kind}", f"image/x-{kind}")
    )


def image_kind(head: bytes) -> str | None:
    """`png`, `jpeg`, `gif`, `webp` or `bmp`; None for anything else."""
    for start, found in _HEADS:
        if head.startswith(start):
            return found
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return "bmp"
    return None


def image_size(kind: str, data: bytes) -> tuple[int, int] | None:
    """Width and height; None if `data` does not include them."""
    if kind == "png" and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    if kind == "gif" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if kind == "bmp" and len(data) >= 26:
        width, height = struct.unpack_from("<HH" if data[14:18] == b"\x0c\0\0\0" else "<Ii", data, 18)
        return width, abs(height)
    if kind == "webp":
        return _webp(data)
    return _jpeg(data) if kind == "jpeg" else None


def fit(media_type: str, head: bytes) -> float:
    """By the first bytes, whatever the type says."""
    return 0.9 if image_kind(head) else 0.0


def _webp(data: bytes) -> tuple[int, int] | None:
    form = data[12:16]
    if form == b"VP8X" and len(data) >= 30:
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if form == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 " and len(data) >= 30:
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    for _ in range(SEGMENTS_MAX):
        if at + 9 > len(data) or data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker in _FRAMES:
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        if marker == 0xFF or marker in _BARE:
            at += 1 if marker == 0xFF else 2
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""First column and row, and steps of both, of each pass of an interlaced picture."""
_STEP = 1024 * 1024
_SIDE_MAX = 1_000_000
"""libpng's limit."""


class _Header(NamedTuple):
    width: int
    height: int
    depth: int
    colour: int
    interlaced: int


class _DamageError(Exception):
    """`str()` says what is wrong."""


def png_damage(data: bytes, pixels_max: int) -> str | None:
    """What is wrong with a PNG, or None. With more than `pixels_max` pixels, only what precedes them is checked."""
    try:
        _check(data, pixels_max)
    except _DamageError as error:
        return str(error)
    return None


def _check(data: bytes, pixels_max: int) -> None:
    chunks = _chunks(data)
    last, body = next(chunks, (b"", b""))
    header = _header(last, body)
    too_large = header.width * header.height > pixels_max
    packed: list[bytes] = []
    palette = ended = False
    for name, body in chunks:
        if name == b"PLTE":
            _check_palette(body, allowed=not (palette or packed or header.colour in (0, 4)))
            palette = True
        elif name == b"IDAT":
            if packed and last != b"IDAT":
                raise _DamageError("its image data is not contiguous")
            if header.colour == 3 and not palette:
                raise _DamageError("its palette is missing")
            if too_large:
                return
            packed.append(body)
        elif name == b"IEND":
            ended = True
            break
        elif not name[0] & 0x20 or name[2] & 0x20:
            raise _DamageError("it has an unknown critical chunk")
        last = name
    if not ended:
        raise _DamageError("it ends too early")
    _check_rows(packed, list(_rows(header)))


def _check_palette(body: bytes, *, allowed: bool) -> None:
    if not allowed or not body or len(body) % 3 or len(body) > 768:
        raise _DamageError("its palette is not valid")


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not data.startswith(_SIGNATURE):
        raise _DamageError("its signature is missing")
    at = len(_SIGNATURE)
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        end = at + 12 + size
        if end > len(data):
            raise _DamageError("it ends too early")
        name = data[at + 4 : at + 8]
        if not name.isalpha() or zlib.crc32(data[at + 4 : end - 4]) != int.from_bytes(data[end - 4 : end], "big"):
            raise _DamageError("a checksum is wrong")
        yield name, data[at + 8 : end - 4]
        at = end


def _header(name: bytes, body: bytes) -> _Header:
    if name != b"IHDR" or len(body) != 13:
        raise _DamageError("its size cannot be read")
    width, height, depth, colour, compression, filters, interlaced = struct.unpack(">IIBBBBB", body)
    if not (0 < width <= _SIDE_MAX and 0 < height <= _SIDE_MAX):
        raise _DamageError("its size cannot be read")
    if depth not in _DEPTHS.get(colour, ()) or compression or filters or interlaced > 1:
        raise _DamageError("its colour type is unknown")
    return _Header(width, height, depth, colour, interlaced)


def _rows(header: _Header) -> Iterator[tuple[int, int]]:
    """Number and size in bytes of the rows of each pass; a row begins with the number of its filter."""
    for x, y, dx, dy in _PASSES if header.interlaced else ((0, 0, 1, 1),):
        width, height = -(-(header.width - x) // dx), -(-(header.height - y) // dy)
        if width > 0 and height > 0:
            yield height, 1 + (width * header.depth * _CHANNELS[header.colour] + 7) // 8


def _check_rows(packed: list[bytes], rows: list[tuple[int, int]]) -> None:
    """Decompress the pixels in bounded pieces and check the first byte of each row."""
    decompressed = _decompressed(packed)
    piece = next(decompressed, b"")
    for count, size in rows:
        remaining, at = count * size, 0  # bytes of this pass, and the start of its next row in the piece
        while remaining:
            if not piece:
                raise _DamageError("it ends too early")
            row_bytes = piece[:remaining]
            if any(row_bytes[at::size].translate(None, b"\x00\x01\x02\x03\x04")):
                raise _DamageError("its image data is not valid")
            at = (at - len(row_bytes)) % size
            remaining -= len(row_bytes)
            piece = piece[len(row_bytes) :] or next(decompressed, b"")
    # zlib must reach the end of the stream.
    next(decompressed, b"")


def _decompressed(packed: list[bytes]) -> Iterator[bytes]:
    engine = zlib.decompressobj()
    for body in packed:
        rest = body
        while rest and not engine.eof:
            try:
                piece = engine.decompress(rest, _STEP)
            except zlib.error:
                raise _DamageError("its image data cannot be decompressed") from None
            if piece:
                yield piece
            rest = engine.unconsumed_tail
    if not engine.eof:
        raise _DamageError("it ends too early")
