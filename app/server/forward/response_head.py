"""Reads a response's status line and headers, and how its body is framed (RFC 9112), strictly where readers differ.

Parsing here instead of with h11 doubles the rate of short deliveries.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import msgspec

from app.core.record import Headers

HEAD_MAX = 64 * 1024
"""Bytes of status line and headers."""
_END = re.compile(rb"\n\r?\n")
_STATUS = re.compile(r"HTTP/1\.([0-9]) ([1-9][0-9]{2})(?: ([^\r\n\x00]*))?\r?\n")
_HEADER = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\r\n\x00]*)\r?")
_FOLDED = re.compile(r"\r?\n[ \t]+")
_LENGTH = re.compile(r"[0-9]{1,18}")
_QUOTE_MAX = 80
SWITCHING = 101
_NO_BODY = (204, 304)
_SPECIAL = frozenset({"content-length", "transfer-encoding", "connection", "proxy-connection", "keep-alive"})
_KNOWN_MAX = 256
"""Longer lines are not remembered."""


class MalformedResponseError(Exception):
    """The response is not valid HTTP; `str()` says why."""


class Framing(Enum):
    """What ends a response's body."""

    NONE = "none"
    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"


class ResponseHead(msgspec.Struct, frozen=True):
    """`length` is the body's with `Framing.LENGTH`. `keep_alive`: the target does not close the connection after it;
    `idle_s` is how long it then keeps the connection, None if it did not say."""

    version: str
    status: int
    headers: Headers
    framing: Framing
    length: int
    keep_alive: bool
    idle_s: float | None


def take_head(buffer: bytearray, method: str) -> ResponseHead | None:
    """Take a head from the start of `buffer`; None while it is incomplete. MalformedResponseError.

    `method` is that of the request.
    """
    end = _END.search(buffer, 0, HEAD_MAX)
    if not buffer.startswith(b"HTTP/1."[: len(buffer)]):
        raise MalformedResponseError(_not_http(buffer))
    if end is None:
        if len(buffer) >= HEAD_MAX:
            raise MalformedResponseError(f"its headers are longer than {HEAD_MAX // 1024} KiB")
        return None
    text = buffer[: end.end()].decode("latin-1")
    del buffer[: end.end()]
    return _parsed(text, method)


def _parsed(text: str, method: str) -> ResponseHead:
    found = _STATUS.match(text)
    if found is None:
        raise MalformedResponseError(f"illegal status line: {_quoted(text)}")
    if "\n " in text or "\n\t" in text:
        text = _FOLDED.sub(" ", text)
    version, status = f"1.{found[1]}", int(found[2])
    headers: list[tuple[str, str]] = []
    special: list[tuple[str, str]] = []
    for line in text[found.end() : -2 if text.endswith("\r\n") else -1].split("\n")[:-1]:
        header = _known_header(line) if len(line) <= _KNOWN_MAX else _header(line)
        headers.append(header.pair)
        if header.special:
            special.append((header.special, header.pair[1]))
    return _framed(version, status, tuple(headers), special, method)


class _Header(NamedTuple):
    """`special`: the name in lower case if the header says how the body is framed or whether the connection is kept."""

    pair: tuple[str, str]
    special: str


def _header(line: str) -> _Header:
    found = _HEADER.fullmatch(line)
    if found is None:
        raise MalformedResponseError(f"illegal header line: {_quoted(line)}")
    lower = found[1].lower()
    return _Header((found[1], found[2].strip(" \t")), lower if lower in _SPECIAL else "")


_known_header = lru_cache(maxsize=256)(_header)
"""The responses of a target have most of their headers in common."""


def _framed(version: str, status: int, headers: Headers, special: list[tuple[str, str]], method: str) -> ResponseHead:
    """`special` are the names in lower case and the values of those headers that are looked at."""
    lengths: list[str] = []
    codings: list[str] = []
    options: list[str] = []
    idle_s: float | None = None
    for lower, value in special:
        if lower == "content-length":
            lengths += (part.strip() for part in value.split(","))
        elif lower == "transfer-encoding":
            codings += (part.strip().lower() for part in value.split(","))
        elif lower in ("connection", "proxy-connection"):
            options += (part.strip().lower() for part in value.split(","))
        elif lower == "keep-alive" and (given := re.search(r"timeout=([0-9]{1,6})", value)):
            idle_s = float(given[1])
    framing, length = _framing(status, method, lengths, codings)
    keep_alive = "close" not in options and (version != "1.0" or "keep-alive" in options)
    keep_alive = keep_alive and framing is not Framing.CLOSE and not (lengths and codings)
    return ResponseHead(version, status, headers, framing, length, keep_alive, idle_s)


def _framing(status: int, method: str, lengths: list[str], codings: list[str]) -> tuple[Framing, int]:
    if method == "HEAD" or status < 200 or status in _NO_BODY:
        return Framing.NONE, 0
    if codings:
        if codings != ["chunked"]:
            raise MalformedResponseError(f"its transfer coding {_quoted(', '.join(codings))} is not supported")
        return Framing.CHUNKED, 0
    if not lengths:
        return Framing.CLOSE, 0
    if len(set(lengths)) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise MalformedResponseError(f"illegal Content-Length: {_quoted(', '.join(lengths))}")
    length = int(lengths[0])
    return (Framing.LENGTH, length) if length else (Framing.NONE, 0)


def _not_http(buffer: bytearray) -> str:
    if buffer[3:5] == b"\x04\x00" and buffer[:2] == b"\0\0":  # the type and flags of a SETTINGS frame
        return "it is HTTP/2, which Hookline does not speak"
    return f"illegal status line: {_quoted(buffer[: _QUOTE_MAX * 2].decode('latin-1'))}"


def _quoted(text: str) -> str:
    line = text.splitlines()[0] if text.splitlines() else ""
    return repr(line[:_QUOTE_MAX] + ("…" if len(line) > _QUOTE_MAX else ""))
