"""Reads a connection's bytes as RFC 9112 defines requests, strictly, and without any code of the program or aiohttp.

What a lenient server may read in another way ends the reading as `MALFORMED`, so that whatever is read before is a
request in everybody's eyes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

from benchmarks.fuzz.valid_requests import HttpRequest

_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([^\x00-\x20\x7f]+) HTTP/(1\.[01])")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_CHUNK = re.compile(rb"([0-9A-Fa-f]+)([ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?")
_LONGEST = 15
"""Digits of a length: more than any body here, and less than any overflow."""


class End(Enum):
    """How the reading ended."""

    COMPLETE = "after a whole request, or where the sender said it ends"
    INCOMPLETE = "within a request"
    MALFORMED = "at something that is no request, or that two parsers may read differently"


@dataclass(frozen=True)
class Reading:
    """The whole requests in order; `begun` is what was read of one whose body is not whole."""

    requests: tuple[HttpRequest, ...]
    end: End
    begun: HttpRequest | None = None


class _StoppedError(Exception):
    def __init__(self, end: End, body: bytes = b"") -> None:
        self.end, self.body = end, body


def read_strictly(data: bytes) -> Reading:
    """All requests of one connection that sent `data` and then nothing."""
    requests: list[HttpRequest] = []
    at = 0
    while True:
        while data.startswith(b"\r\n", at):
            at += 2
        if at >= len(data):
            return Reading(tuple(requests), End.COMPLETE)
        head: HttpRequest | None = None
        try:
            head, at = _read_head(data, at)
            request, at = _read_body(data, at, head)
        except _StoppedError as stopped:
            begun = replace(head, body=stopped.body) if head is not None else None
            return Reading(tuple(requests), stopped.end, begun)
        requests.append(request)
        if _ends(request):
            return Reading(tuple(requests), End.COMPLETE)


def _read_head(data: bytes, at: int) -> tuple[HttpRequest, int]:
    line, at = _read_line(data, at)
    first = _LINE.fullmatch(line)
    if first is None:
        raise _StoppedError(End.MALFORMED)
    headers, at = _read_headers(data, at)
    return HttpRequest(first[1], first[2], first[3], headers, b""), at


def _read_headers(data: bytes, at: int) -> tuple[tuple[tuple[bytes, bytes], ...], int]:
    headers: list[tuple[bytes, bytes]] = []
    while True:
        line, at = _read_line(data, at)
        if not line:
            return tuple(headers), at
        found = _HEADER.fullmatch(line)
        if found is None:
            raise _StoppedError(End.MALFORMED)
        headers.append((found[1], found[2].strip(b" \t")))


def _read_line(data: bytes, at: int, body: bytes = b"") -> tuple[bytes, int]:
    end = data.find(b"\r\n", at)
    if end < 0:
        line = data[at:].removesuffix(b"\r")
        raise _StoppedError(End.MALFORMED if b"\n" in line or b"\r" in line or b"\0" in line else End.INCOMPLETE, body)
    return data[at:end], end + 2


def _read_body(data: bytes, at: int, head: HttpRequest) -> tuple[HttpRequest, int]:
    lengths = [value for name, value in head.headers if name.lower() == b"content-length"]
    codings = [value for name, value in head.headers if name.lower() == b"transfer-encoding"]
    if codings:
        if lengths or head.version != b"1.1" or [coding.lower() for coding in codings] != [b"chunked"]:
            raise _StoppedError(End.MALFORMED)
        return _read_chunks(data, at, head)
    if not lengths:
        return head, at
    if len(lengths) > 1 or not re.fullmatch(rb"[0-9]{1,%d}" % _LONGEST, lengths[0]):
        raise _StoppedError(End.MALFORMED)
    length = int(lengths[0])
    if len(data) - at < length:
        raise _StoppedError(End.INCOMPLETE, data[at:])
    return replace(head, body=data[at : at + length]), at + length


def _read_chunks(data: bytes, at: int, head: HttpRequest) -> tuple[HttpRequest, int]:
    body = bytearray()
    while True:
        line, at = _read_line(data, at, bytes(body))
        found = _CHUNK.fullmatch(line)
        if found is None or len(found[1].lstrip(b"0")) > _LONGEST:
            raise _StoppedError(End.MALFORMED, bytes(body))
        size = int(found[1], 16)
        if not size:
            break
        body += data[at : at + size]
        rest = data[at + size : at + size + 2]
        if not b"\r\n".startswith(rest):
            raise _StoppedError(End.MALFORMED, bytes(body))
        if len(rest) < 2:
            raise _StoppedError(End.INCOMPLETE, bytes(body))
        at += size + 2
    try:
        trailers, at = _read_headers(data, at)
    except _StoppedError as stopped:
        raise _StoppedError(stopped.end, bytes(body)) from None
    return replace(head, body=bytes(body), trailers=trailers, chunked=True), at


def _ends(request: HttpRequest) -> bool:
    """Whether the connection ends with this request."""
    values = b",".join(value for name, value in request.headers if name.lower() == b"connection").lower()
    options = {option.strip() for option in values.split(b",")}
    return b"close" in options or (request.version == b"1.0" and b"keep-alive" not in options)
