"""JSON values one after the other: a line each (NDJSON, JSON Lines) or each after a record separator (RFC 7464)."""

from __future__ import annotations

import json

from app.core.bodies.formats.json import JsonFormatter
from app.core.bodies.media_types import JSON_LINES

_SEPARATOR = "\x1e"


class NdjsonFormatter(JsonFormatter):
    """Each value as JSON is shown, one after the other."""

    def __init__(self) -> None:
        super().__init__(many=True)

    def feed(self, text: str, final: bool) -> None:
        """More of the text; a record separator, which stands in no JSON, is taken for a line end."""
        super().feed(text.replace(_SEPARATOR, "\n"), final)


def fit(media_type: str, head: bytes) -> float:
    """Sure where it is declared so, or where the first lines are each an object or list of their own."""
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
