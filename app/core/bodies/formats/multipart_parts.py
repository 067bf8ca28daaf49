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
"""Characters of the headers of a part; more are taken for its body."""

_FIRST_LINE = re.compile(r"\s*--([^\r\n]{1,200}?)(?:--)?[ \t]*(?:\r?\n|\Z)")
_HEAD_END = re.compile(r"\r?\n\r?\n")


class Part(NamedTuple):
    """What a part's headers say of it, and the headers as sent, in order; those that are none stand in `odd`."""

    headers: tuple[tuple[str, str], ...]
    odd: tuple[str, ...]
    name: str | None
    file_name: str | None
    content_type: str
    encoding: str


Event = tuple[Literal["begin"], Part] | tuple[Literal["data", "outside"], str] | tuple[Literal["end"], str]
"""A part begins, bytes of its body, bytes outside all parts, and a part ends (by which kind of boundary)."""


def declared_boundary(content_type: str) -> str | None:
    """The boundary that a content type names."""
    message = _message("Content-Type", content_type)
    value = message.get_param("boundary") if message else None
    return value if isinstance(value, str) and value else None


def first_boundary(text: str) -> str | None:
    """The boundary that a body begins with, whatever was declared."""
    match = _FIRST_LINE.match(text)
    return match.group(1) if match else None


def boundary_of(content_type: str, text: str) -> tuple[str, str | None]:
    """The boundary that cuts a body which begins with `text`, and what to say if that is not the one declared."""
    declared, first = declared_boundary(content_type), first_boundary(text)
    if declared and (f"--{declared}" in text or first is None):
        return declared, None
    if first is None:
        return declared or "", None
    if declared:
        return first, f"The declared boundary {as_text(declared)[:80]} does not occur; read as it begins."
    return first, "No boundary is declared; read as the body begins."


class Splitter:
    """Cuts what it is fed. `closed`: the boundary that ends all was met; `bare`: lines end in LF alone."""

    def __init__(self, boundary: str) -> None:
        self.closed = self.bare = False
        # Two line ends, its dashes, and spaces behind it: so much may belong to a boundary that is still coming.
        self._reach = len(boundary) + 80
        self._delimiter = re.compile(rf"\r?\n--{re.escape(boundary)}(--)?[ \t]*(?=\r?\n|\Z)")
        # As if a line had ended before the body: the first boundary may be its first line.
        self._text, self._at = "\n", 0
        self._fresh = True
        self._state: Literal["outside", "head", "body"] = "outside"

    def feed(self, text: str, final: bool) -> Iterator[Event]:
        """What can be told of the text so far; to be read to its end before more is fed."""
        self._text, self._at = self._text[self._at :] + text, 0
        before: tuple[int, str] | None = None
        while before != (self._at, self._state):
            before = self._at, self._state
            yield from self._head(final) if self._state == "head" else self._stretch(final)
        if final and self._state == "body":
            self._state = "outside"
            yield "end", ""

    def _stretch(self, final: bool) -> Iterator[Event]:
        """A body, or what stands before the first part or after the last, up to the next boundary."""
        text, at = self._text, self._at
        match = None if self.closed else self._delimiter.search(text, at)
        if match and match.end() == len(text) and not final:
            match = None
        sure = len(text) if final or self.closed else max(at, len(text) - self._reach)
        stop = match.start() if match else sure
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
        """The headers of a part; the text begins with the end of its boundary's line."""
        text, at = self._text, self._at
        end = _HEAD_END.search(text, at, at + HEAD_MAX)
        after = end.end() if end else min(len(text), at + HEAD_MAX)
        if not final and len(text) - (after if end else at) < (self._reach if end else HEAD_MAX):
            return
        stop = end.start() if end else after
        # The line end before a boundary is part of it, even the one that ends the headers.
        delimiter = self._delimiter.search(text, at, after + self._reach)
        if delimiter and delimiter.start() < after:
            after = delimiter.start()
            stop = min(stop, after)
        self.bare = self.bare or text.startswith("\n", at)
        self._at, self._state = after, "body"
        yield "begin", part_of(text[at:stop].lstrip("\r\n"))


def part_of(head: str) -> Part:
    """A part by its headers, folded lines joined."""
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
    """UTF-8, as browsers write names, or else Latin-1."""
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
    """A parameter of Content-Disposition; the form with an asterisk (RFC 5987) counts too."""
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
"""Bytes cut at once: a search through all of a long body would let no other thread run meanwhile."""
_SPACE = b" \t\n\r\x0b\f"


@dataclass(frozen=True)
class PartContent:
    """`data` is what stood between the boundaries; with `decoded`, without its transfer encoding."""

    number: int
    part: Part
    data: bytes
    decoded: bool

    @property
    def content_type(self) -> str:
        """What it says it is, or what its file's name says where that says nothing."""
        declared_type = media_type(self.part.content_type)
        found = type_of(declared_type, self.part.file_name)
        return self.part.content_type if found == declared_type else found


def read_parts(content_type: str, data: bytes, *, cut: bool = False) -> list[PartContent]:
    """At most `PARTS_MAX` parts in order; of a body that is `cut`, the last one is left out."""
    boundary, _ = boundary_of(content_type, data[:STEP].decode("latin-1"))
    splitter = Splitter(boundary)
    found: list[PartContent] = []
    part: Part | None = None
    pieces: list[bytes] = []
    for at in range(0, len(data), STEP):
        for kind, what in splitter.feed(data[at : at + STEP].decode("latin-1"), at + STEP >= len(data)):
            if isinstance(what, Part):
                part, pieces = what, []
            elif kind == "data":
                pieces.append(what.encode("latin-1"))
            elif kind == "end" and part is not None and not (cut and not what):
                plain, was = decode_in_steps(part.encoding, b"".join(pieces))
                found.append(PartContent(len(found) + 1, part, plain, bool(was)))
                if len(found) == PARTS_MAX:
                    return found
    return found


def decode(encoding: str, data: bytes, complete: bool) -> tuple[bytes, bool | None]:
    """A part's content without its transfer encoding, and whether that could be undone (None: there was none)."""
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
    """What `decode` gives of the whole part, a step at a time."""
    if encoding == "base64":
        pieces = list(_steps(b"".join(piece.translate(None, _SPACE) for piece in _steps(data))))
        pieces[-2:] = [b"".join(pieces[-2:])]  # the end may be padding alone
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
    """Steps that end where a line does."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at + STEP) + 1 or len(data)
        yield data[at:end]
        at = end
