"""Responses as bytes: an endpoint's response is composed once and only completed for each request."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from functools import lru_cache

from app.core.delivery import Attempt
from app.core.raw_request import end_to_end
from app.core.record import Headers
from app.core.text import phrase_of

_BODILESS = frozenset({204, 304})
_RESET_CONTENT = 205
_CAPTURED = b'{"status":"captured","id":"%b"}\n'
_CAPTURED_LENGTH = len(_CAPTURED) - len(b"%b") + 36
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
KEEP, KEEP_OLD, CLOSE = b"", b"Connection: keep-alive\r\n", b"Connection: close\r\n"
"""The header line `Connection`: `KEEP_OLD` for HTTP/1.0, where a connection is closed unless it says so."""


class Response:
    """One response, ready to be sent any number of times.

    The default body (`body=None`) contains the id of the captured request. `Server`, `Date` and a suitable content type
    are added unless `headers` set them.
    """

    def __init__(self, status: int, headers: Headers, body: str | bytes | None) -> None:
        self.status = status
        self._body = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        names = {name.lower() for name, _ in headers}
        lines = [f"HTTP/1.1 {status} {phrase_of(status)}"]
        if "server" not in names:
            lines.append("Server: Hookline")
        lines.extend(f"{name}: {value}" for name, value in headers)
        if status in _BODILESS or status == _RESET_CONTENT:
            self._body = b""
        length = _CAPTURED_LENGTH if self._body is None else len(self._body)
        if status not in _BODILESS:
            if length and "content-type" not in names:
                kind = "application/json" if self._body is None else "text/plain; charset=utf-8"
                lines.append(f"Content-Type: {kind}")
            lines.append(f"Content-Length: {length}")
        self._head = "\r\n".join(lines).encode("latin-1") + b"\r\n"
        self._dated = "date" in names

    def compose(self, capture_id: str, connection: bytes, head_only: bool) -> bytes:
        """The response's bytes. `connection` is the header line of that name, `head_only` leaves out the body."""
        date = b"" if self._dated else _date_line(int(time.time()))
        if head_only:
            return b"%b%b%b\r\n" % (self._head, date, connection)
        body = self._body
        if body is None:
            body = _CAPTURED % capture_id.encode("ascii")
        return b"%b%b%b\r\n%b" % (self._head, date, connection, body)


def from_target(attempt: Attempt, body: bytes) -> Response:
    """The target's response unchanged, except for the headers that frame it."""
    assert attempt.status is not None
    return Response(attempt.status, end_to_end(attempt.response_headers), body)


def of_error(status: int, error: str, headers: Headers = (), **details: int | str) -> Response:
    """The response to a refused request: `{"error": …}` and further details."""
    body = json.dumps({"error": error, **details}, separators=(",", ":")) + "\n"
    return Response(status, (("Content-Type", "application/json"), *headers), body)


@lru_cache(maxsize=1)
def _date_line(second: int) -> bytes:
    return f"Date: {formatdate(second, usegmt=True)}\r\n".encode("ascii")
