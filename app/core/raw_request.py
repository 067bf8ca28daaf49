"""A request as sent, without chunk framing: its head and trailers, the parts of its target, and the headers that are of
a single connection and not passed on (RFC 9110, 7.6.1)."""

from __future__ import annotations

from app.core.own_urls import CAPTURE_PATH
from app.core.record import Headers

FRAMING = frozenset({"content-length", "transfer-encoding"})
"""They tell where a body ends, so whoever sends it writes them."""
LOOP_HEADER = "X-Hookline-Forwarded-By"
"""Names each Hookline that forwarded a request, so that one that returns to its origin is recognised."""
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "te", "trailer", "upgrade", "expect"})


def head_bytes(method: str, target: str, http_version: str, headers: Headers) -> bytes:
    """Request line and headers in order, with the empty line after them."""
    lines = [f"{method} {target} HTTP/{http_version}", *_lines(headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def trailer_bytes(trailers: Headers) -> bytes:
    """The trailers, after the line break that ends the last chunk. Empty without trailers."""
    return "\r\n".join(["", *_lines(trailers), "", ""]).encode("latin-1") if trailers else b""


def is_chunked(headers: Headers) -> bool:
    """Whether the body was sent in chunks, whose framing is not stored."""
    return any(name.lower() == "transfer-encoding" for name, _ in headers)


def _lines(fields: Headers) -> list[str]:
    return [f"{name}: {value}" for name, value in fields]


def hop_by_hop(headers: Headers) -> frozenset[str]:
    """The names, in lower case, of headers that these headers keep to their connection."""
    values = [value for name, value in headers if name.lower() == "connection"]
    return _HOP_BY_HOP | {token.strip().lower() for value in values for token in value.split(",")}


def end_to_end(headers: Headers) -> Headers:
    """The headers to pass on, without those that frame the body."""
    dropped = hop_by_hop(headers) | FRAMING
    return tuple(
        (name, value)
        for name, value in headers
        if name.lower() not in dropped and not name.lower().startswith("proxy-")
    )


def _captured(target: str) -> str | None:
    """What follows `/catch/` in a raw request target; None if its path is not a capture path.

    A target in absolute form (`http://host/catch/…`) is treated like its path, as RFC 9112 section 3.2.2 requires.
    """
    if not target.startswith("/"):
        scheme, found, rest = target.partition("://")
        if not found or scheme.lower() not in ("http", "https"):
            return None
        authority, slash, path = rest.partition("/")
        if "?" in authority:  # the path is empty
            return None
        target = slash + path
    return target[len(CAPTURE_PATH) :] if target.startswith(CAPTURE_PATH) else None


def slug_of(target: str) -> str | None:
    """The slug in a raw request target, not decoded; None if its path is not a capture path."""
    captured = _captured(target)
    return None if captured is None else captured.partition("?")[0].partition("/")[0]


def below_slug(target: str) -> str:
    """The part of a capture's target that its sender chose: `/orders?x=1` of `/catch/my-slug/orders?x=1`."""
    captured = _captured(target)
    if captured is None:
        return target
    path, mark, query = captured.partition("?")
    return f"/{path.partition('/')[2]}{mark}{query}"


def query_pairs(target: str) -> list[tuple[str, str, str]]:
    """Name, value and pair as sent, in order, with duplicates."""
    _, mark, query = target.partition("?")
    if not mark or not query:
        return []
    parts = ((part, part.partition("=")) for part in query.split("&"))
    return [(name, value, part) for part, (name, _, value) in parts]
