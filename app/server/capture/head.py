"""Parses a request's head, and decides how its body is framed.

Nothing here is lenient: what two programs could read in two ways is malformed. Headers that frame nothing may be there
any number of times, with any bytes that HTTP allows.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from app.core.raw_request import LOOP_HEADER
from app.core.record import Headers

LINE_MAX = 65_536
"""Bytes of a request target, or of one header."""
HEADERS_MAX = 1_000
LENGTH_MAX = 2**63 - 1
OPTIONS_MAX = 100
"""Of a header that is a list, so many are looked at. To read all that a head has room for would take 25 ms."""

_TOKEN_CLASS = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
TOKEN = re.compile(_TOKEN_CLASS)
_HOST = r"[\w.~!$&'()*+,;=%\x80-\xff-]"
_AUTHORITY = re.compile(rf"(?:(?:{_HOST}|:)*@)?(?:\[[0-9A-Fa-f:.]+\]|{_HOST}+)(?::[0-9]*)?", re.ASCII)
_CODING = re.compile(rf"({_TOKEN_CLASS})(?:[ \t]*;[ \t]*{_TOKEN_CLASS}[ \t]*=[ \t]*{_TOKEN_CLASS})*")
_REQUEST_LINE = re.compile(rf"({_TOKEN_CLASS}) +([^\x00-\x20\x7f]+)(?: +([A-Z]+/[0-9]\.[0-9]))?")
"""A request of HTTP/0.9 has no version."""
_VERSIONS = {None: "0.9", "HTTP/0.9": "0.9", "HTTP/1.0": "1.0", "HTTP/1.1": "1.1", "HTTP/2.0": "2.0"}
_LEGAL = bytes(byte for byte in range(256) if byte >= 0x20 and byte != 0x7F) + b"\t\r\n"
_WITHIN_LINE = _LEGAL.replace(b"\r\n", b"")
_STRAY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r(?!\n|\Z)")
_TLS_HANDSHAKE = 0x16
_SPECIAL = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "proxy-connection", "upgrade"),
        *("expect", "content-type", LOOP_HEADER.lower()),
    }
)
"""The headers that decide how a request is read and handled, in lower case."""
_NAME_MAX, _LINE_KNOWN_MAX = 64, 256
"""Longer names and request lines are not remembered."""


class MalformedError(Exception):
    """The sender did not send HTTP. The text says why, without quoting the sender."""


class Head(NamedTuple):
    """Target and headers are as sent, each byte as one character. `special` has the values of each header in `_SPECIAL`
    that is there, by its name in lower case. `length` is the body's Content-Length, 0 without one. `closes`: the sender
    expects no other request on this connection, or asks for another protocol on it."""

    method: str
    target: str
    version: str
    headers: Headers
    special: dict[str, list[str]]
    length: int
    chunked: bool
    closes: bool

    def first(self, name: str) -> str | None:
        """The value of the first special header of this name."""
        return next(iter(self.special.get(name, ())), None)


class HeadScan:
    """Reads a head line by line as it arrives. The same bytes give the same error, however they are cut."""

    def __init__(self) -> None:
        self._at = self._seen = 0
        self._line: tuple[str, str, str] | None = None
        self._headers: list[tuple[str, str]] = []
        self._special: dict[str, list[str]] = {}

    def read(self, data: bytes) -> None:
        """Parse a head; `data` is everything received of it so far.

        Raises MalformedError as soon as it cannot become valid.
        """
        if data[0] == _TLS_HANDSHAKE:
            raise MalformedError("the sender speaks TLS (HTTPS) to a port for plain HTTP")
        end = data.rfind(b"\r\n", self._at)
        if end >= 0:
            self._add(data[self._at : end])
            self._at = end + 2
        if self._at < len(data):
            _check_bytes(data, max(self._at, self._seen - 1))  # again from the last byte on, which may have been a CR
        self._seen = len(data)

    def _add(self, data: bytes) -> None:
        """Parse complete lines, without the end of the last."""
        lines = data.decode("latin-1").split("\r\n")
        clean = not data.translate(None, _LEGAL) and data.count(b"\r") == data.count(b"\n") == len(lines) - 1
        if self._line is None:
            line = lines.pop(0)
            if not clean:
                _check_bytes(line.encode("latin-1") + b"\r\n")
            self._line = _known_request_line(line) if len(line) <= _LINE_KNOWN_MAX else _request_line(line)
        if lines and not lines[-1]:  # the end of the head
            lines.pop()
        headers, special = self._headers, self._special
        for line in lines:
            if not clean:
                _check_bytes(line.encode("latin-1") + b"\r\n")
            name, colon, value = line.partition(":")
            lower = _known_name(name) if len(name) <= _NAME_MAX else _special_name(name)
            if lower is None or not colon:
                raise MalformedError(_line_reason(line))
            value = value.strip(" \t")
            if len(line) > LINE_MAX and len(name) + len(value) > LINE_MAX:
                raise MalformedError(f"a header is longer than {LINE_MAX:,} bytes")
            if len(headers) == HEADERS_MAX:  # checked at once: short ones take far more memory than they have bytes
                raise MalformedError(f"there are more than {HEADERS_MAX:,} headers")
            headers.append((name, value))
            if lower:
                special.setdefault(lower, []).append(value)

    def head(self) -> Head:
        """The head that was read to its end. MalformedError when its framing is ambiguous."""
        assert self._line is not None
        (method, target, version), special = self._line, self._special
        hosts, lengths, codings = special.get("host"), special.get("content-length"), special.get("transfer-encoding")
        if hosts is None and version == "1.1":
            raise MalformedError("the header Host is missing")
        if hosts is not None and len(hosts) > 1 and len(set(hosts)) > 1:
            raise MalformedError("there are several Host headers with different values")
        if lengths and codings:
            raise MalformedError(
                "both Content-Length and Transfer-Encoding are present, so the end of the body is ambiguous"
            )
        length = _length(lengths) if lengths else 0
        if codings:
            _check_codings(version, codings)
        plain = version == "1.1" and "connection" not in special and "proxy-connection" not in special
        closes = method == "CONNECT" or (not plain and _closes(version, special))
        return Head(method, target, version, tuple(self._headers), special, length, bool(codings), closes)


def _request_line(line: str) -> tuple[str, str, str]:
    """Method, target and version, such as `1.1`."""
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        raise MalformedError("the first line is not a request line such as GET /path HTTP/1.1")
    method, target = found[1], found[2]
    if method == "PRI":
        raise MalformedError("the sender speaks HTTP/2 to a port for HTTP/1.1")
    version = _VERSIONS.get(found[3])
    if version is None:
        raise MalformedError("invalid HTTP version")
    if len(target) > LINE_MAX:
        raise MalformedError(f"the request target is longer than {LINE_MAX:,} bytes")
    if target[0] != "/" and not _is_target(method, target):
        raise MalformedError("the request target is not a valid URL")
    return method, target, version


def _special_name(name: str) -> str | None:
    """The name in lower case if it is in `_SPECIAL`, otherwise empty; None if it cannot be a header's."""
    if TOKEN.fullmatch(name) is None:
        return None
    return name.lower() if name.lower() in _SPECIAL else ""


_known_request_line = lru_cache(maxsize=256)(_request_line)
_known_name = lru_cache(maxsize=512)(_special_name)


def request_line(head: bytes) -> tuple[str, str]:
    """Method and target of an incomplete head; empty unless its first line is complete and valid."""
    text, end, _ = head.partition(b"\r\n")
    line = _REQUEST_LINE.fullmatch(text.decode("latin-1")) if end else None
    return (line[1], line[2]) if line is not None and (line[3] or "").startswith("HTTP/") else ("", "")


def _is_target(method: str, target: str) -> bool:
    """Whether a target that is no path is a URL with a host, `*`, or the host and port that a proxy would be asked
    for."""
    if target == "*" and method == "OPTIONS":
        return True
    try:
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, _ = parts.hostname, parts.port
    except ValueError:  # of one of the two
        return False
    if not host or _AUTHORITY.fullmatch(parts.netloc) is None:
        return False
    return parts.netloc == target if method == "CONNECT" else bool(parts.path or parts.query or not parts.fragment)


def _length(lengths: list[str]) -> int:
    if len(lengths) > 1:
        raise MalformedError("Content-Length appears more than once")
    value = lengths[0]
    length = (
        int(value.lstrip("0")[:20] or 0) if value.isascii() and value.isdigit() else 2**64
    )  # int() has a bound, too
    if length >= 2**64:
        raise MalformedError("Content-Length is not a number of bytes")
    if length > LENGTH_MAX:
        raise MalformedError("Content-Length is too large")
    return length


def _check_codings(version: str, codings: list[str]) -> None:
    if len(codings) > 1:
        raise MalformedError("Transfer-Encoding appears more than once")
    *others, last = (coding.strip(" \t") for coding in codings[0].split(",", OPTIONS_MAX))
    matches = [_CODING.fullmatch(other) for other in others if other]
    if not all(match and match[1].lower() != "chunked" for match in matches):
        raise MalformedError("invalid Transfer-Encoding header value")
    if last.lower() != "chunked":
        raise MalformedError("request has invalid Transfer-Encoding")
    if version < "1.1":
        raise MalformedError("HTTP/1.0 has no chunked bodies, so the end of the body is ambiguous")


def _closes(version: str, special: dict[str, list[str]]) -> bool:
    lines = [*special.get("connection", ()), *special.get("proxy-connection", ())]
    options = {option.strip(" \t").lower() for option in ",".join(lines).split(",", OPTIONS_MAX)}
    kept = "close" not in options if version == "1.1" else "keep-alive" in options
    return not kept or ("upgrade" in options and "upgrade" in special)


def _check_bytes(data: bytes, begin: int = 0) -> None:
    """MalformedError if `data` has from `begin` on what no head may have."""
    if not data[begin:].translate(None, _WITHIN_LINE):  # eighty times as fast as the search
        return
    stray = _STRAY.search(data, begin)
    if stray is None:
        return
    if stray[0] == b"\n":
        raise MalformedError("a line of the head ends with LF alone instead of CR LF")
    if stray[0] == b"\r":
        raise MalformedError("the head contains a CR without LF")
    raise MalformedError(f"the head contains the control character 0x{stray[0][0]:02x}")


def _line_reason(line: str) -> str:
    if line[0] in " \t":
        return "a header is folded over several lines"
    if ":" not in line:
        return "a header line has no colon"
    return "a header's name is empty or contains a character that is not allowed"
