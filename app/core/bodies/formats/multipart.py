"""Multipart bodies: the headers and the content of each part; and, in a body that is read in pieces, where each part
begins and ends."""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from collections.abc import Iterator
from email.utils import collapse_rfc2231_value
from typing import Any, NamedTuple

from app.core.bodies.media_types import parameter

HEAD_MAX = 64 * 1024
"""Maximum characters of a part's headers; more are taken for its body."""

_FIRST_LINE = re.compile(r"\s*--([^\r\n]{1,200}?)(?:--)?[ \t]*(?:\r?\n|\Z)")
_DASHES = re.compile(rb"^\s*--", re.MULTILINE)
_HEAD_END = re.compile(rb"\r?\n\r?\n")


class Part(NamedTuple):
    """`headers` are as sent, in order; `odd` has the lines among them that are not headers."""

    headers: tuple[tuple[str, str], ...]
    odd: tuple[str, ...]
    name: str | None
    file_name: str | None
    content_type: str
    encoding: str


class Section(NamedTuple):
    """From `begin` to `end`: the content of a part, or bytes outside all parts if `part` is None. `closed`: a boundary
    follows; `bare`: the line end after the one before is LF alone."""

    part: Part | None
    begin: int
    end: int
    closed: bool
    bare: bool = False


def declared_boundary(content_type: str) -> str | None:
    """The boundary that a content type names."""
    value = parameter(content_type, "boundary")
    return value if isinstance(value, str) and value else None


def first_boundary(text: str) -> str | None:
    """The boundary at the beginning of a body."""
    match = _FIRST_LINE.match(text)
    return match.group(1) if match else None


def boundary_of(content_type: str, text: str) -> tuple[str, str | None]:
    """The boundary to use for a body that begins with `text`, and a note if it is not the declared one."""
    declared, first = declared_boundary(content_type), first_boundary(text)
    if first is None or (declared and f"--{declared}" in text):
        return declared or "", None
    why = "No boundary is declared"
    if declared:
        why = f"The declared boundary {as_text(declared)[:80]} does not occur in the body"
    return first, f"{why}; the first line is used."


def split(data: bytes, boundary: str) -> Iterator[Section]:
    """The parts of a whole body in order, and what is outside all of them."""
    begin, part_follows = 0, False
    for found in delimiters(data, boundary):
        yield section_of(data, begin, found.start(), is_part=part_follows, closed=True)
        begin, part_follows = found.end(), not found[2]
    yield section_of(data, begin, len(data), is_part=part_follows, closed=False)


def delimiters(data: bytes, boundary: str, begin: int = 0) -> Iterator[re.Match[bytes]]:
    """Up to the closing one, from where the mark itself is at `begin` or later. Group 1 is the mark, group 2 is there
    if it is the closing one. A search for the text alone takes a tenth of the time of one for the pattern, during which
    no other thread runs."""
    mark = _mark_of(boundary)
    delimiter = re.compile(rb"(?:\A|\r?\n)(%s)(--)?[ \t]*(?=\r?\n|\Z)" % re.escape(mark))
    at = data.find(mark, begin)
    while at >= 0:
        line = at - data.endswith(b"\n", 0, at)
        line -= line < at and data.endswith(b"\r", 0, line)
        found = delimiter.match(data, line)
        if found:
            yield found
            if found[2]:
                return
        at = data.find(mark, found.end() if found else at + 1)


def _mark_of(boundary: str) -> bytes:
    """What a line begins with that is one."""
    return f"--{boundary}".encode("latin-1", "replace")


def section_of(data: bytes, begin: int, end: int, *, is_part: bool, closed: bool) -> Section:
    """What is between two boundaries."""
    if not is_part:
        return Section(None, begin, end, closed)
    # The line end before a boundary belongs to it, even if it also ends the headers.
    found = _HEAD_END.search(data, begin, min(end + 2, begin + HEAD_MAX))
    stop, body = found.span() if found else (min(end, begin + HEAD_MAX),) * 2
    head = data[begin : min(stop, end)].decode("latin-1").lstrip("\r\n")
    return Section(part_of(head), min(body, end), end, closed, bare=data.startswith(b"\n", begin))


def part_of(head: str) -> Part:
    """Parses the headers of a part and joins folded lines."""
    headers: list[tuple[str, str]] = []
    odd: list[str] = []
    for line in re.split(r"\r?\n(?![ \t])", head):
        name, colon, value = line.partition(":")
        if colon and name.strip() and " " not in name:
            headers.append((name, re.sub(r"\r?\n[ \t]+", " ", value).strip()))
        elif line:
            odd.append(line)
    fields = {name.lower(): value for name, value in reversed(headers)}
    disposition = fields.get("content-disposition", "")
    return Part(
        tuple(headers),
        tuple(odd),
        _parameter(disposition, "name"),
        _parameter(disposition, "filename"),
        fields.get("content-type", ""),
        fields.get("content-transfer-encoding", "").lower(),
    )


def as_text(octets: str) -> str:
    """UTF-8, which browsers send, or else Latin-1."""
    try:
        return octets.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return octets


def _parameter(disposition: str, name: str) -> str | None:
    """A parameter of Content-Disposition, including the RFC 5987 form with an asterisk."""
    value: Any = parameter(disposition, name)
    try:
        return None if value is None else as_text(collapse_rfc2231_value(value))
    except (ValueError, LookupError, TypeError):
        return None


STEP = 256 * 1024
"""Bytes decoded at once: a long part would block all other threads."""
_SPACE = b" \t\n\r\x0b\f"


def decode(encoding: str, data: bytes, *, complete: bool = True) -> tuple[bytes, bool | None]:
    """The content without its transfer encoding, and whether it could be decoded (None: it was not encoded). It is
    decoded in steps, so that other threads are not blocked."""
    if encoding == "quoted-printable":
        return b"".join(map(quopri.decodestring, _lines(data))), True
    if encoding != "base64":
        return data, None
    packed = b"".join(piece.translate(None, _SPACE) for piece in _steps(data))
    pieces = list(_steps(packed if complete else packed[: len(packed) // 4 * 4]))
    pieces[-2:] = [b"".join(pieces[-2:])]  # the last piece can be nothing but padding
    try:
        plain = [base64.b64decode(piece, validate=True) for piece in pieces]
    except (binascii.Error, ValueError):
        return data, False
    return (data, False) if any(b"=" in piece for piece in pieces[:-1]) else (b"".join(plain), True)


def _steps(data: bytes) -> Iterator[bytes]:
    return (data[at : at + STEP] for at in range(0, len(data), STEP))


def _lines(data: bytes) -> Iterator[bytes]:
    """Pieces that end at a line end."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at + STEP) + 1 or len(data)
        yield data[at:end]
        at = end


SHOWN_MAX = 64 * 1024
"""Bytes shown of a part."""


def fit(media_type: str, head: bytes) -> float:
    """Certain if type and first characters agree."""
    if media_type.startswith("multipart/"):
        return 1.0 if head.lstrip().startswith(b"--") else 0.7
    return 0.0


def cards_fit(media_type: str, head: bytes) -> float:
    """The same; none without a line that can be a boundary."""
    return fit(media_type, head) if _DASHES.search(head) else 0.0


PADDING_MAX = 1_024
"""Bytes after the boundary in its line that are looked at."""
PARTS_MAX = 100_000


class Span(NamedTuple):
    """A part with its headers; `closed`: a boundary follows."""

    begin: int
    end: int
    closed: bool


class PartFinder:
    """`feed` it the body in pieces, the first of at least `STEP` bytes unless that is all, then `finish`."""

    def __init__(self, content_type: str) -> None:
        self.spans: list[Span] = []
        self.notes: list[str] = []
        self.full = False
        """Whether there are more parts than are kept."""
        self._content_type = content_type
        self._boundary: str | None = None
        self._data, self._offset = b"", 0
        """What is not yet searched, a little of what is before it, and where that begins."""
        self._searched = 0
        self._begin: int | None = None
        """Of the part that goes on."""
        self._ended = self._outside = False

    def feed(self, data: bytes) -> None:
        if self._boundary is None:
            self._boundary, note = boundary_of(self._content_type, data[:STEP].decode("latin-1"))
            self.notes += [note] if note else []
        self._data += data if not self.full else b""
        self._search(len(self._data) - len(_mark_of(self._boundary)) - PADDING_MAX)

    def finish(self, *, cut: bool = False) -> None:
        """The body ends here; `cut`: it goes on, but not its reading, so that its last part is left out."""
        self._search(len(self._data))
        if self._begin is not None and not cut:
            self.spans.append(Span(self._begin, self._offset + len(self._data), closed=False))
            self.notes.append("The closing boundary is missing.")
        if self._outside:
            self.notes.append("Text outside the parts is in Pretty only.")

    def _search(self, end: int) -> None:
        """For marks before `end`: what follows one decides about it."""
        if self.full:
            return
        last = 0
        for found in () if self._ended else delimiters(self._data, self._boundary or "", self._searched):
            if found.start(1) >= end:
                break
            if len(self.spans) == PARTS_MAX:
                self.full, self._begin = True, None
                self.notes.append(f"Only the first {PARTS_MAX:,} parts are shown.")
                return
            if self._begin is not None:
                self.spans.append(Span(self._begin, self._offset + found.start(), closed=True))
            elif self._data[: found.start()].strip():
                self._outside = True
            last = found.end()
            self._ended = found[2] is not None
            self._begin = None if self._ended else self._offset + last
        self._searched = max(last, end, self._searched)
        if self._begin is None and self._data[last : self._searched].strip():
            self._outside = True
        # The line end before a mark belongs to it.
        cut = max(last, self._searched - 2)
        self._data, self._offset, self._searched = self._data[cut:], self._offset + cut, self._searched - cut
