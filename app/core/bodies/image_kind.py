"""Which kind of picture bytes are, by their first ones; a drawing made of markup (SVG) is text and never drawn."""

from __future__ import annotations

_HEADS = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF87a", "gif"), (b"GIF89a", "gif"))
_BMP_HEADERS = {12, 40, 52, 56, 64, 108, 124}


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
