"""A sequence of JSON values: one per line (NDJSON, JSON Lines) or each after a record separator (RFC 7464)."""

from __future__ import annotations

import json

from app.core.bodies.formats.json import JsonFormatter
from app.core.bodies.media_types import JSON_LINES

_SEPARATOR = "\x1e"


class NdjsonFormatter(JsonFormatter):
    """Each value indented like a JSON body."""

    def __init__(self) -> None:
        super().__init__(many=True)

    def feed(self, text: str, final: bool) -> None:
        """A record separator, which cannot occur in JSON, counts as a line end."""
        super().feed(text.replace(_SEPARATOR, "\n"), final)


def fit(media_type: str, head: bytes) -> float:
    """Certain if declared, or if the first lines are an object or list each."""
    start = head.lstrip(b" \t\r\n\xef\xbb\xbf\x1e")
    if media_type in JSON_LINES:
        return 1.0 if start[:1] and start[:1] in b'{["-0123456789tfn' else 0.55
    first, line_end, rest = start.partition(b"\n")
    following = rest.lstrip(b" \t\r\n\x1e")[:1]
    if not line_end or following not in (b"{", b"[") or first[:1] not in (b"{", b"["):
        return 0.0
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return 0.0
    return 1.0
