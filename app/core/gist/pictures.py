"""Pictures by format and size in pixels, both read from their first bytes."""

from __future__ import annotations

from app.core.bodies.formats import image_type

_NAMES = {"jpeg": "JPEG", "webp": "WebP"}
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers followed by the size of the frame."""
SEGMENTS_MAX = 1_000
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without a length."""


def picture_gist(data: bytes) -> str | None:
    """`PNG 640×400`, `JPEG` if `data` does not include the size; None if it is not a picture."""
    kind = image_type.kind(data)
    if kind is None:
        return None
    size = pixels(kind, data)
    name = _NAMES.get(kind, kind.upper())
    return f"{name} {size[0]}×{size[1]}" if size else name


def pixels(kind: str, data: bytes) -> tuple[int, int] | None:
    """Width and height; None if `data` does not include them."""
    if kind == "png" and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    if kind == "gif" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if kind == "bmp" and len(data) >= 26:
        if int.from_bytes(data[14:18], "little") == 12:
            return int.from_bytes(data[18:20], "little"), int.from_bytes(data[20:22], "little")
        height = int.from_bytes(data[22:26], "little", signed=True)
        return int.from_bytes(data[18:22], "little"), abs(height)
    if kind == "webp":
        return _webp(data)
    return _jpeg(data) if kind == "jpeg" else None


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
