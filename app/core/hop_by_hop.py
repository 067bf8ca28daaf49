"""Headers of a single connection, which are not passed on (RFC 9110, 7.6.1)."""

from __future__ import annotations

from app.core.record import Headers

FRAMING = frozenset({"content-length", "transfer-encoding"})
"""They tell where a body ends, so whoever sends it writes them."""
LOOP_HEADER = "X-Hookline-Forwarded-By"
"""Names each Hookline that forwarded a request, so that one that returns to its origin is recognised."""
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "te", "trailer", "upgrade", "expect"})


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
