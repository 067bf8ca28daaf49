"""Builds the request to send from a stored one: all headers in their order except those of a single connection, and the
body read from the store part by part while it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import httpx

from app.core.errors import NotFoundError
from app.core.forward_target import target_below
from app.core.model import PART_SIZE, Capture, Headers
from app.core.repositories import CaptureRepository

LOOP_HEADER = "X-Hookline-Mirror"
"""Names each Hookline that forwarded a request, so that one that returns to its origin is recognised."""

_HOP_BY_HOP = frozenset({"connection", "keep-alive", "te", "trailer", "upgrade", "expect"})
_FRAMING = frozenset({"content-length", "transfer-encoding"})


def delivery_headers(capture: Capture, host: str, instance_id: str) -> Headers:
    """The headers to send to `host`: the target's own Host first, the captured ones, then those that a proxy adds.

    The body's length stands in place of the sender's framing header, and is left out when the sender had none.
    `Connection: close` comes last.
    """
    dropped = _named_by_connection(capture.headers) | _HOP_BY_HOP
    out: list[tuple[str, str]] = [("Host", host)]
    original_host, framed = "", False
    for name, value in capture.headers:
        lower = name.lower()
        if lower == "host":
            original_host = original_host or value
        elif lower in _FRAMING:
            if not framed:
                out.append((name if lower == "content-length" else "Content-Length", str(capture.size)))
            framed = True
        elif lower not in dropped and not lower.startswith("proxy-"):
            out.append((name, value))
    if capture.size and not framed:
        out.append(("Content-Length", str(capture.size)))
    return _with_forwarded(out, capture, original_host, instance_id)


def _named_by_connection(headers: Headers) -> frozenset[str]:
    values = [value for name, value in headers if name.lower() == "connection"]
    return frozenset(token.strip().lower() for value in values for token in value.split(","))


def _with_forwarded(out: list[tuple[str, str]], capture: Capture, original_host: str, instance_id: str) -> Headers:
    """Append the sender's address to X-Forwarded-For. Host and scheme that a tunnel added stay, because it knows
    better."""
    places = {name.lower(): place for place, (name, _) in enumerate(out)}
    last = places.get("x-forwarded-for")
    if last is None:
        out.append(("X-Forwarded-For", capture.source_address))
    else:
        name, value = out[last]
        out[last] = (name, f"{value}, {capture.source_address}" if value.strip() else capture.source_address)
    if "x-forwarded-host" not in places and original_host:
        out.append(("X-Forwarded-Host", original_host))
    if "x-forwarded-proto" not in places:
        out.append(("X-Forwarded-Proto", capture.scheme))
    out.append((LOOP_HEADER, instance_id))
    out.append(("Connection", "close"))
    return tuple(out)


class StoredBody(httpx.AsyncByteStream):
    """A stored body as a stream; no more than one part is in memory. NotFoundError when it was deleted meanwhile."""

    def __init__(self, captures: CaptureRepository, capture: Capture) -> None:
        self._captures = captures
        self._capture = capture

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for offset in range(0, self._capture.size, PART_SIZE):
            part = await self._captures.body(self._capture.id, offset, PART_SIZE)
            if not part:
                raise NotFoundError("The captured request was deleted while it was being forwarded.")
            yield part


def build_request(
    capture: Capture, forward_url: str, instance_id: str, body: httpx.AsyncByteStream, timeout_s: float
) -> httpx.Request:
    """The request for `capture` to `forward_url`; httpx.InvalidURL when that is invalid.

    The `target` extension sends the raw target: httpx would resolve `..` and decode in the URL itself.
    """
    parts = urlsplit(forward_url)
    root = httpx.URL(urlunsplit((parts.scheme, parts.netloc, "/", "", "")))
    headers = delivery_headers(capture, root.netloc.decode("ascii"), instance_id)
    return httpx.Request(
        capture.method,
        root,
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        stream=body,
        extensions={
            "target": target_below(forward_url, capture.target).encode("ascii"),
            "timeout": {"connect": timeout_s, "read": timeout_s, "write": timeout_s, "pool": timeout_s},
        },
    )
