"""The parts of a multipart body: cut at its boundary as it arrives, or collected whole for saving.

Bytes are Latin-1 characters throughout.
"""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import Literal, NamedTuple

from app.core.bodies.formats.languages import type_of
from app.core.bodies.media_types import media_type

HEAD_MAX = 64 * 1024
"""Maximum characters of a part's headers; more are taken for its body."""

_FIRST_LINE = re.compile(r"\s*--([^\r\n]{1,200}?)(?:--)?[ \t]*(?:\r?\n|\Z)")
_HEAD_END = re.compile(r"\r?\n\r?\n")


class Part(NamedTuple):
    """`headers` are as sent, in order; `odd` has the lines among them that are not headers."""

    headers: tuple[tuple[str, str], ...]
    odd: tuple[str, ...]
    name: str | None
    file_name: str | None
    content_type: str
    encoding: str


Event = tuple[Literal["begin"], Part] | tuple[Literal["data", "outside"], str] | tuple[Literal["end"], str]
"""The beginning of a part, bytes of its body, bytes outside all parts, and the end of a part (with its boundary)."""


def declared_boundary(content_type: str) -> str | None:
    """The boundary that a content type names."""
    message = _message("Content-Type", content_type)
    value = message.get_param("boundary") if message else None
    return value if isinstance(value, str) and value else None


def first_boundary(text: str) -> str | None:
    """The boundary at the beginning of a body."""
    match = _FIRST_LINE.match(text)
    return match.group(1) if match else None


def boundary_of(content_type: str, text: str) -> tuple[str, str | None]:
    """The boundary to use for a body that begins with `text`, and a note if it is not the declared one."""
    declared, first = declared_boundary(content_type), first_boundary(text)
    if declared and (f"--{declared}" in text or first is None):
        return declared, None
    if first is None:
        return declared or "", None
    if declared:
        return (
            first,
            f"The declared boundary {as_text(declared)[:80]} does not occur in the body; the first line is used.",
        )
    return first, "No boundary is declared; the first line is used."


class Splitter:
    """Cuts a body into parts. `closed`: the final boundary was found; `bare`: lines end in LF only."""

    def __init__(self, boundary: str) -> None:
        self.closed = self.bare = False
        # Two line ends, dashes and trailing spaces: the longest that an incomplete boundary can be.
        self._boundary_max = len(boundary) + 80
        self._delimiter = re.compile(rf"\r?\n--{re.escape(boundary)}(--)?[ \t]*(?=\r?\n|\Z)")
        # A line end before the body, because the first boundary can be its first line.
        self._text, self._at = "\n", 0
        self._fresh = True
        self._state: Literal["outside", "head", "body"] = "outside"

    def feed(self, text: str, final: bool) -> Iterator[Event]:
        """The events found so far. Consume them all before feeding more."""
        self._text, self._at = self._text[self._at :] + text, 0
        before: tuple[int, str] | None = None
        while before != (self._at, self._state):
            before = self._at, self._state
            yield from self._head(final) if self._state == "head" else self._stretch(final)
        if final and self._state == "body":
            self._state = "outside"
            yield "end", ""

    def _stretch(self, final: bool) -> Iterator[Event]:
        """A body, or the text before the first part or after the last, up to the next boundary."""
        text, at = self._text, self._at
        match = None if self.closed else self._delimiter.search(text, at)
        if match and match.end() == len(text) and not final:
            match = None
        end = len(text) if final or self.closed else max(at, len(text) - self._boundary_max)
        stop = match.start() if match else end
        begin = at + 1 if self._fresh and stop > at else at
        self._at, self._fresh = stop, self._fresh and stop == at and match is None
        if stop > begin:
            yield ("data" if self._state == "body" else "outside"), text[begin:stop]
        if match:
            if self._state == "body":
                yield "end", match.group()
            self.closed = match.group(1) is not None
            self._state = "outside" if self.closed else "head"
            self._at = match.end()

    def _head(self, final: bool) -> Iterator[Event]:
        """The headers of a part; the text begins with the line end of its boundary."""
        text, at = self._text, self._at
        end = _HEAD_END.search(text, at, at + HEAD_MAX)
        after = end.end() if end else min(len(text), at + HEAD_MAX)
        if not final and len(text) - (after if end else at) < (self._boundary_max if end else HEAD_MAX):
            return
        stop = end.start() if end else after
        # The line end before a boundary belongs to it, even if it also ends the headers.
        delimiter = self._delimiter.search(text, at, after + self._boundary_max)
        if delimiter and delimiter.start() < after:
            after = delimiter.start()
            stop = min(stop, after)
        self.bare = self.bare or text.startswith("\n", at)
        self._at, self._state = after, "body"
        yield "begin", part_of(text[at:stop].lstrip("\r\n"))


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
    disposition = _message("Content-Disposition", fields.get("content-disposition", ""))
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


def _message(header: str, value: str) -> Message | None:
    message = Message()
    try:
        message[header] = re.sub(r"[\r\n]+", " ", value)
    except ValueError:
        return None
    return message


def _parameter(message: Message | None, name: str) -> str | None:
    """A parameter of Content-Disposition, including the RFC 5987 form with an asterisk."""
    if message is None:
        return None
    try:
        value = message.get_param(name, header="Content-Disposition")
        found = collapse_rfc2231_value(value) if value is not None else None
    except (ValueError, IndexError, LookupError, TypeError):
        return None
    return as_text(found) if found is not None else None


PARTS_MAX = 1_000
STEP = 256 * 1024
"""Bytes handled at once: a search through a long body would block all other threads."""
_SPACE = b" \t\n\r\x0b\f"


@dataclass(frozen=True)
class PartContent:
    """`data` is the content between the boundaries, without its transfer encoding if `decoded`."""

    number: int
    part: Part
    data: bytes
    decoded: bool

    @property
    def content_type(self) -> str:
        """The declared type, or if that is generic, the type for its file name."""
        declared_type = media_type(self.part.content_type)
        found = type_of(declared_type, self.part.file_name)
        return self.part.content_type if found == declared_type else found


def read_parts(content_type: str, data: bytes, *, cut: bool = False) -> list[PartContent]:
    """At most `PARTS_MAX` parts in order, without the last one if the body is `cut`."""
    boundary, _ = boundary_of(content_type, data[:STEP].decode("latin-1"))
    splitter = Splitter(boundary)
    found: list[PartContent] = []
    part: Part | None = None
    pieces: list[bytes] = []
    for at in range(0, len(data), STEP):
        for kind, content in splitter.feed(data[at : at + STEP].decode("latin-1"), at + STEP >= len(data)):
            if isinstance(content, Part):
                part, pieces = content, []
            elif kind == "data":
                pieces.append(content.encode("latin-1"))
            elif kind == "end" and part is not None and not (cut and not content):
                plain, was = decode_in_steps(part.encoding, b"".join(pieces))
                found.append(PartContent(len(found) + 1, part, plain, bool(was)))
                if len(found) == PARTS_MAX:
                    return found
    return found


def decode(encoding: str, data: bytes, complete: bool) -> tuple[bytes, bool | None]:
    """The content without its transfer encoding, and whether it could be decoded (None: it was not encoded)."""
    if encoding == "quoted-printable":
        return quopri.decodestring(data), True
    if encoding != "base64":
        return data, None
    packed = b"".join(data.split())
    try:
        return base64.b64decode(packed if complete else packed[: len(packed) // 4 * 4], validate=True), True
    except (binascii.Error, ValueError):
        return data, False


def decode_in_steps(encoding: str, data: bytes) -> tuple[bytes, bool | None]:
    """`decode` for a complete part, without blocking other threads."""
    if encoding == "base64":
        pieces = list(_steps(b"".join(piece.translate(None, _SPACE) for piece in _steps(data))))
        pieces[-2:] = [b"".join(pieces[-2:])]  # the last piece can be nothing but padding
        if any(b"=" in piece for piece in pieces[:-1]):
            return data, False
    elif encoding == "quoted-printable":
        pieces = list(_lines(data))
    else:
        return data, None
    plain = [decode(encoding, piece, True) for piece in pieces]
    if not all(was for _, was in plain):
        return data, False
    return b"".join(piece for piece, _ in plain), True


def _steps(data: bytes) -> Iterator[bytes]:
    return (data[at : at + STEP] for at in range(0, len(data), STEP))


def _lines(data: bytes) -> Iterator[bytes]:
    """Pieces that end at a line end."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at + STEP) + 1 or len(data)
        yield data[at:end]
        at = end
