"""Whether a PNG is intact. Qt rejects a damaged one too, but only after libpng has written a line to standard error.

Qt installs no error handler of libpng's, so neither a logging rule nor a message handler stops that line, and any
sender could fill the journal with it. Checked with PySide6 6.11; `test_nothing_is_written_of_damage` covers it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""First column and row, and steps of both, of each pass of an interlaced picture."""
_STEP = 1024 * 1024
_SIDE_MAX = 1_000_000
"""What libpng reads."""


class _Header(NamedTuple):
    width: int
    height: int
    depth: int
    colour: int
    interlaced: int


class _DamageError(Exception):
    """`str()` says what is wrong, in words."""


def damage(data: bytes, pixels_max: int) -> str | None:
    """What is wrong with it, in words; of one with more pixels than `pixels_max` only all before them is looked at."""
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
    """How many rows of how many bytes there are, pass by pass; each begins with the number of its filter."""
    for x, y, dx, dy in _PASSES if header.interlaced else ((0, 0, 1, 1),):
        width, height = -(-(header.width - x) // dx), -(-(header.height - y) // dy)
        if width > 0 and height > 0:
            yield height, 1 + (width * header.depth * _CHANNELS[header.colour] + 7) // 8


def _check_rows(packed: list[bytes], rows: list[tuple[int, int]]) -> None:
    """Unpack the pixels, a bounded piece at a time, and look at the first byte of each row."""
    unpacked = _unpacked(packed)
    piece = next(unpacked, b"")
    for count, size in rows:
        left, at = count * size, 0  # of this pass; and where its next row begins in the piece
        while left:
            if not piece:
                raise _DamageError("it ends too early")
            within = piece[:left]
            if any(within[at::size].translate(None, b"\x00\x01\x02\x03\x04")):
                raise _DamageError("its image data is not valid")
            at = (at - len(within)) % size
            left -= len(within)
            piece = piece[len(within) :] or next(unpacked, b"")
    # The decoder wants to see the end of what was packed, or more of it.
    next(unpacked, b"")


def _unpacked(packed: list[bytes]) -> Iterator[bytes]:
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
