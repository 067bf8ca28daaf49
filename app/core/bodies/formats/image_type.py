"""Kind and size of a picture, read from its first bytes; `svg_sanitizer` is for drawings."""

from __future__ import annotations

_HEADS = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF87a", "gif"), (b"GIF89a", "gif"))
_BMP_HEADERS = {12, 40, 52, 56, 64, 108, 124}

_NAMES = {"jpeg": "JPEG", "webp": "WebP"}
_TYPES = {"jpeg": ("image/jpeg", "image/jpg", "image/pjpeg"), "bmp": ("image/bmp", "image/x-bmp", "image/x-ms-bmp")}

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers followed by the size of the frame."""
SEGMENTS_MAX = 1_000
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without a length."""


def name(kind: str) -> str:
    """`PNG`, `JPEG`, `WebP`."""
    return _NAMES.get(kind, kind.upper())


def title(kind: str) -> str:
    """How people call it: `PNG picture`."""
    return f"{name(kind)} image"


def belongs(kind: str, media_type: str) -> bool:
    """Whether a body of this kind is rightly sent as this type, or as no type in particular."""
    return media_type in ("", "application/octet-stream") or media_type in _TYPES.get(
        kind, (f"image/{kind}", f"image/x-{kind}")
    )


def kind(head: bytes) -> str | None:
    """`png`, `jpeg`, `gif`, `webp` or `bmp`; None for what is none of these."""
    for start, found in _HEADS:
        if head.startswith(start):
            return found
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return "bmp"
    return None


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


def fit(media_type: str, head: bytes) -> float:
    """The first bytes tell, whatever the type says."""
    return 0.9 if kind(head) else 0.0


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
