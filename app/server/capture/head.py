"""Parses a request's head strictly, for the few heads that aiohttp's parser rejects or that arrive in pieces.

aiohttp's parser alone decides where a request ends. It rejects some heads for reasons that have nothing to do with
that, such as a second User-Agent; `framing_head` turns such a head into one with the same framing headers, byte for
byte, and no others, which the parser then gets again. Nothing here is lenient: what two programs could read in two ways
is malformed.
"""

from __future__ import annotations

import re

from aiohttp.http_exceptions import InvalidURLError, LineTooLong

LINE_MAX = 65_536
"""Bytes of a request target, or of one header."""
HEADERS_MAX = 1_000

Field = tuple[bytes, bytes]

SPACE = b" \t"

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
FIELD_LINE = re.compile(rb"(%b):([\t\x20-\x7e\x80-\xff]*)\r\n" % _TOKEN)
"""The caller strips space around the value: a pattern for it would take quadratic time."""
_REQUEST_LINE = re.compile(rb"(%b) +([^\x00-\x20\x7f]+) +(HTTP/[0-9]\.[0-9])\r\n" % _TOKEN)
# aiohttp's parser accepts other request lines too: HTTP/0.9 has no version, RTSP another name.
_MAY_BE_REQUEST_LINE = re.compile(rb"%b +[^\x00-\x20\x7f]+(?: +[A-Z]+/[0-9]\.[0-9])?\r\n" % _TOKEN)
_STRAY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r(?!\n|\Z)")
_AIOHTTP_REASONS = re.compile(
    r"(?:Duplicate|Missing) '[A-Za-z-]+' header[a-z ]*\.|Received HTTPS traffic on an HTTP port"
)
"""Messages of aiohttp's parser, other than llhttp's, that contain nothing of the sender's."""
_TLS_HANDSHAKE = 0x16
_FRAMING = frozenset({b"host", b"content-length", b"transfer-encoding", b"connection", b"proxy-connection", b"upgrade"})
"""All headers that aiohttp's parser itself acts on."""
_HOST, _LENGTH, _CODING = b"host", b"content-length", b"transfer-encoding"
_ASCII = bytes(byte if byte < 0x80 else ord("x") for byte in range(256))


class MalformedError(Exception):
    """The sender did not send HTTP. The text says why, without quoting the sender."""


class HeadScan:
    """Reads a head line by line as it arrives. The same bytes give the same error, however they are cut."""

    def __init__(self) -> None:
        self._at = self._seen = 0
        self._line: bytes | None = None
        self.fields: list[Field] = []

    def read(self, data: bytes) -> None:
        """Parse a head; `data` is everything received of it so far.

        Raises MalformedError as soon as it cannot become valid.
        """
        if data[0] == _TLS_HANDSHAKE:
            raise MalformedError("the sender speaks TLS (HTTPS) to a port for plain HTTP")
        while True:
            begin = max(self._at, self._seen - 1)  # again from the last byte on, which may have been a CR
            end = data.find(b"\r\n", begin) + 2
            stray = _STRAY.search(data, begin, end if end > 1 else len(data))
            if stray is not None:
                raise MalformedError(_stray_reason(stray[0]))
            if end < 2:
                self._seen = len(data)
                return
            self._add_line(data[self._at : end])
            self._at = end

    def _add_line(self, line: bytes) -> None:
        if self._line is None:
            if not _MAY_BE_REQUEST_LINE.fullmatch(line):
                raise MalformedError("the first line is not a request line such as GET /path HTTP/1.1")
            self._line = line
        elif line != b"\r\n":
            field = FIELD_LINE.fullmatch(line)
            if field is None:
                raise MalformedError(_line_reason(line))
            if len(self.fields) == HEADERS_MAX:  # checked at once: short ones take far more memory than they have bytes
                raise MalformedError(f"there are more than {HEADERS_MAX:,} headers")
            self.fields.append((field[1], field[2].strip(SPACE)))

    def request_line(self) -> tuple[bytes, bytes, bytes]:
        """Method, target and version, such as `HTTP/1.1`; MalformedError unless all are there."""
        parts = _REQUEST_LINE.fullmatch(self._line or b"")
        if parts is None:
            raise MalformedError("the first line is not a request line such as GET /path HTTP/1.1")
        return parts[1], parts[2], parts[3]


def request_line(head: bytes) -> tuple[str, str]:
    """Method and target of an incomplete head; empty unless its first line is complete and valid."""
    line = _REQUEST_LINE.match(head)
    return (line[1].decode("latin-1"), line[2].decode("latin-1")) if line else ("", "")


def framing_head(scan: HeadScan) -> bytes:
    """A head for aiohttp's parser with the framing of the one that `scan` read, and without all other headers.

    MalformedError when its framing is ambiguous, or it is too large.
    """
    method, target, version = scan.request_line()
    if method == b"PRI":
        raise MalformedError("the sender speaks HTTP/2 to a port for HTTP/1.1")
    if len(target) > LINE_MAX:
        raise MalformedError(f"the request target is longer than {LINE_MAX:,} bytes")
    if any(len(name) + len(value) > LINE_MAX for name, value in scan.fields):
        raise MalformedError(f"a header is longer than {LINE_MAX:,} bytes")
    framing = [(name, value) for name, value in scan.fields if name.lower() in _FRAMING]
    _check_framing(version, framing)
    lines = [b"%b %b %b" % (method, target.translate(_ASCII), version)]
    hosts = 0
    for name, value in framing:
        hosts += name.lower() == _HOST
        if name.lower() != _HOST or hosts == 1:
            lines.append(b"%b: %b" % (name, value))
    return b"\r\n".join((*lines, b"", b""))


def _check_framing(version: bytes, framing: list[Field]) -> None:
    hosts = {value for name, value in framing if name.lower() == _HOST}
    lengths = [value for name, value in framing if name.lower() == _LENGTH]
    codings = [value for name, value in framing if name.lower() == _CODING]
    if not hosts and version == b"HTTP/1.1":
        raise MalformedError("the header Host is missing")
    if len(hosts) > 1:
        raise MalformedError("there are several Host headers with different values")
    if lengths and codings:
        raise MalformedError(
            "both Content-Length and Transfer-Encoding are present, so the end of the body is ambiguous"
        )
    if len(lengths) > 1:
        raise MalformedError("Content-Length appears more than once")
    if lengths and not (lengths[0].isdigit() and int(lengths[0][:4_000]) < 2**64):
        raise MalformedError("Content-Length is not a number of bytes")
    if len(codings) > 1:
        raise MalformedError("Transfer-Encoding appears more than once")


def parser_reason(error: Exception) -> str:
    """Why aiohttp's parser rejected a head, without quoting the head."""
    if isinstance(error, InvalidURLError):
        return "the request target is not a valid URL"
    if isinstance(error, LineTooLong):
        return "a line is too long"
    reason, drawing, _ = str(getattr(error, "message", "")).partition(":\n\n")
    if not drawing and not _AIOHTTP_REASONS.fullmatch(reason):
        return "the head is not valid HTTP"
    words = reason.rpartition("\n")[2].strip().rstrip(".").replace("`", "")
    return words[:1].lower() + words[1:]


def _stray_reason(stray: bytes) -> str:
    if stray == b"\n":
        return "a line of the head ends with LF alone instead of CR LF"
    if stray == b"\r":
        return "the head contains a CR without LF"
    return f"the head contains the control character 0x{stray[0]:02x}"


def _line_reason(line: bytes) -> str:
    if line[:1] in (b" ", b"\t"):
        return "a header is folded over several lines"
    if b":" not in line:
        return "a header line has no colon"
    return "a header's name is empty or contains a character that is not allowed"
