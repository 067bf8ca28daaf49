"""Reads the responses of the capture port from a connection's bytes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_STATUS = re.compile(rb"HTTP/1\.1 ([1-5][0-9][0-9]) [^\r\n]*")
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Response:
    """A final response. `capture_id` is the id in its body; a response to HEAD has no body and names none."""

    status: int
    headers: dict[str, str]
    body: bytes | None
    capture_id: str | None

    @property
    def acknowledges(self) -> bool:
        """Whether the sender may take its request for stored."""
        return 200 <= self.status < 300

    @property
    def closes(self) -> bool:
        """Whether it says that it is the connection's last."""
        return "close" in self.headers.get("connection", "").lower()


@dataclass(frozen=True)
class Responses:
    """All whole responses in order; `rest` is what came behind them, `broken` why it is no response."""

    found: tuple[Response, ...]
    rest: bytes = b""
    broken: str = ""


def read_responses(data: bytes) -> Responses:
    """Read responses whose bodies begin with `{`, as here all do: so one to HEAD is known by what follows it."""
    found: list[Response] = []
    at = 0
    while at < len(data):
        end = data.find(b"\r\n\r\n", at)
        if end < 0:
            return Responses(tuple(found), data[at:])
        first, *lines = data[at:end].split(b"\r\n")
        status = _STATUS.fullmatch(first)
        if status is None:
            return Responses(tuple(found), data[at:], "a response begins with no status line")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in _pairs(lines)}
        if status[1][:1] == b"1":
            at = end + 4
            continue
        length = int(headers.get("content-length", "0"))
        behind = data[end + 4 : end + 4 + length]
        alone = length > 0 and (not behind or behind.startswith(b"HTTP/"))
        if not alone and len(behind) < length:
            return Responses(tuple(found), data[at:])
        body = None if alone else behind
        found.append(Response(int(status[1]), headers, body, _capture_id(body)))
        at = end + 4 + (0 if alone else length)
    return Responses(tuple(found))


def _pairs(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]


def _capture_id(body: bytes | None) -> str | None:
    try:
        told = json.loads(body or b"null")
    except ValueError:
        return None
    capture_id = told.get("id") if isinstance(told, dict) else None
    return capture_id if isinstance(capture_id, str) and _ID.fullmatch(capture_id) else None
