"""Builds the request to send from a stored one; its body is read from the store part by part while it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import httpx

from app.core.errors import NotFoundError
from app.core.forward_target import mirror_target
from app.core.model import PART_SIZE, Capture
from app.core.repositories import CaptureRepository
from app.server.forward.headers import mirror_headers


class StoredBody(httpx.AsyncByteStream):
    """A stored body as bytes to send; no more than one part is in memory. NotFoundError when it went meanwhile."""

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
    """The request for `capture` to `forward_url`; httpx.InvalidURL when that is none.

    The `target` extension puts the raw target on the wire: httpx would resolve `..` and decode in the URL itself.
    """
    parts = urlsplit(forward_url)
    root = httpx.URL(urlunsplit((parts.scheme, parts.netloc, "/", "", "")))
    headers = mirror_headers(capture, root.netloc.decode("ascii"), instance_id)
    return httpx.Request(
        capture.method,
        root,
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        stream=body,
        extensions={
            "target": mirror_target(forward_url, capture.target).encode("ascii"),
            "timeout": {"connect": timeout_s, "read": timeout_s, "write": timeout_s, "pool": timeout_s},
        },
    )
