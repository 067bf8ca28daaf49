"""Which kind of picture bytes are, by their first ones; a drawing made of markup is `svg_clean.py`'s."""

from __future__ import annotations

_HEADS = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF87a", "gif"), (b"GIF89a", "gif"))
_BMP_HEADERS = {12, 40, 52, 56, 64, 108, 124}

_NAMES = {"jpeg": "JPEG", "webp": "WebP"}
_TYPES = {"jpeg": ("image/jpeg", "image/jpg", "image/pjpeg"), "bmp": ("image/bmp", "image/x-bmp", "image/x-ms-bmp")}


def title(kind: str) -> str:
    """How people call it: `PNG picture`."""
    return f"{_NAMES.get(kind, kind.upper())} picture"


def belongs(kind: str, media_type: str) -> bool:
    """Whether a body of this kind is rightly sent as this type, or as no type in particular."""
    return media_type in ("", "application/octet-stream") or media_type in _TYPES.get(
        kind, (f"image/{kind}", f"image/x-{kind}")
    )


def kind(head: bytes) -> str | None:
    """`png`, `jpeg`, `gif`, `webp` or `bmp`; None for what is none of these."""
    for start, name in _HEADS:
        if head.startswith(start):
            return name
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return "bmp"
    return None


def fit(media_type: str, head: bytes) -> float:
    """The first bytes tell, whatever the type says."""
    return 0.9 if kind(head) else 0.0
