"""Protobuf without a schema: number and wire type of each field, and all interpretations of its value."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Iterator

from app.core.bodies.decompressor import decompress_message
from app.core.bodies.formats.binary import HEX_MAX, ByteReader, InvalidError, TruncatedError, sized, until_invalid
from app.core.bodies.formatter import HEAD, Content, Formatted
from app.core.bodies.media_types import GENERIC_BINARY, GRPC, is_protobuf, media_type

VARINT, FIXED64, LENGTH, START, END, FIXED32 = range(6)
_MAX_NUMBER = (1 << 29) - 1


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number at `at`, before `end`, and the offset after it. Raises TruncatedError or InvalidError."""
    result = shift = 0
    for position in range(at, min(end, at + 10)):
        byte = data[position]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            if result >> 64:
                raise InvalidError("a number has more than 64 bits")
            return result, position + 1
        shift += 7
    if end - at >= 10:
        raise InvalidError("a number has more than ten bytes")
    raise TruncatedError


def head(data: bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """Number and wire type of the field at `at`, and offset and size of its value, which begins at `end` at most.

    The size of a varint is 0: it is not known before it is read.
    """
    key, at = varint(data, at, end)
    number, wire = key >> 3, key & 7
    if not 0 < number <= _MAX_NUMBER:
        raise InvalidError(f"field {number} does not exist")
    if wire in (VARINT, START, END):
        return number, wire, at, 0
    if wire == LENGTH:
        size, at = varint(data, at, end)
        return number, wire, at, size
    if wire in (FIXED64, FIXED32):
        return number, wire, at, 8 if wire == FIXED64 else 4
    raise InvalidError(f"wire type {wire} does not exist")


def fields_in(data: bytes) -> Iterator[tuple[int, int]]:
    """Number and wire type of each field. Raises InvalidError, or TruncatedError after a last one whose value ends past
    the data."""
    at, end = 0, len(data)
    while at < end:
        number, wire, at, size = head(data, at, end)
        at = varint(data, at, end)[1] if wire == VARINT else at + size
        yield number, wire
    if at > end:
        raise TruncatedError


def is_message(data: bytes, *, cut: bool = False, highest: int = _MAX_NUMBER) -> bool:
    """Whether the bytes consist of fields; if `cut`, they can end within one. Inner messages are not checked.

    `highest` is the highest plausible field number.
    """
    groups = []
    try:
        for number, wire in fields_in(data):
            if wire == START:
                groups.append(number)
            elif number > highest or (wire == END and (not groups or groups.pop() != number)):
                return False
    except TruncatedError:
        return cut
    except InvalidError:
        return False
    return cut or not groups


def as_text(data: bytes, *, plain: bool) -> str | None:
    """The text if the bytes are UTF-8; with `plain`, only if all of it is printable."""
    try:
        text = codecs.decode(data, "utf-8")
    except UnicodeDecodeError:
        return None
    return None if plain and not text.isprintable() else text


DEEPEST = 32
"""Maximum levels of messages within messages."""
FIELD_MAX = 256 * 1024
"""Maximum bytes of an outer field that is parsed; a longer one is shown as bytes."""
PLAUSIBLE_NUMBER_MAX = 1_000
"""The highest plausible field number in a body not declared as Protobuf."""
_TRAILERS = 0x80
_PAST_END = "a field extends past the end of its message"


class Protobuf:
    """A sequence of fields, or of gRPC frames: a byte of flags, four of length, and a message."""

    def __init__(self, reader: ByteReader, lines: Formatted) -> None:
        self._reader, self._lines = reader, lines

    def fields(self, end: int | None = None, depth: int = 0, messages: int = 0) -> Iterator[None]:
        """Write the fields up to the offset `end`, or to the end of the body; they are within so many messages."""
        groups: list[int] = []
        while self._reader.left if end is None else self._reader.at < end:
            level = depth + len(groups)
            number, wire, size = self._head(end)
            if wire == START and not messages:
                self._write_label(number, "group", level, "")
                self._lines.add_line("punctuation", " {")
                groups.append(number)
                if len(groups) > DEEPEST * 10:
                    raise InvalidError("its groups are nested too deeply")
            elif wire == END and not messages:
                if not groups or groups.pop() != number:
                    raise InvalidError(f"group {number} ends but never begins")
                self._close(level - 1)
            elif wire == LENGTH and size > FIELD_MAX:
                self._write_label(number, sized(size), level)
                self._write_hex(self._reader.read(min(size, HEX_MAX + 1)))
                self._reader.skip(size - HEX_MAX - 1)
                self._lines.end_line()
            else:
                value = size if wire == VARINT else self._reader.read(size)
                if wire == LENGTH and _is_nested(value, messages):
                    self._write_label(number, "message", level, f", {sized(size)}")
                    self._lines.add_line("punctuation", " {")
                    self._reader.at -= size
                    yield from self.fields(self._reader.at + size, level + 1, messages + 1)
                    self._close(level)
                else:
                    self._write_leaf(number, wire, value, level)
            yield
        if groups:
            raise InvalidError(f"group {groups[-1]} is not closed")

    def frames(self) -> Iterator[None]:
        """Write the gRPC frames."""
        while self._reader.left:
            flags, *length = self._reader.read(5)
            size = int.from_bytes(bytes(length), "big")
            label = "trailers" if flags & _TRAILERS else "compressed message" if flags & 1 else "message"
            self._lines.add("key", label)
            self._lines.add("text", f", {sized(size)}")
            if flags & 1:
                yield from self._compressed(size)
            elif flags & _TRAILERS and size <= FIELD_MAX:
                for text in filter(None, self._reader.read(size).decode("latin-1").split("\r\n")):
                    self._lines.end_line(1)
                    self._lines.add("string", text)
                self._lines.end_line()
            else:
                self._lines.end_line()
                yield from self.fields(self._reader.at + size, 1)
            yield

    def _compressed(self, size: int) -> Iterator[None]:
        """A compressed message, decompressed if possible."""
        data = self._reader.read(min(size, self._reader.left))
        plain = decompress_message(data) if len(data) == size <= FIELD_MAX else None
        if plain is not None:
            self._lines.add_line("text", f", {sized(len(plain))} once unpacked")
            yield from Protobuf(ByteReader(plain), self._lines).fields(len(plain), 1)
        else:
            self._lines.add("text", ": ")
            self._write_hex(data)
            self._lines.end_line()
        if len(data) < size:
            raise TruncatedError

    def _head(self, end: int | None) -> tuple[int, int, int]:
        """Number and wire type of a field, and the size of its value (of a varint, the value itself)."""
        reader = self._reader
        data, stop = reader.data, len(reader.data) if end is None else min(end, len(reader.data))
        try:
            number, wire, at, size = head(data, reader.at, stop)
            value, reader.at = varint(data, at, stop) if wire == VARINT else (size, at)
        except InvalidError:
            reader.at += 1
            raise
        except TruncatedError:
            reader.at = stop
            if stop == end:
                raise InvalidError(_PAST_END) from None
            raise
        if end is not None and reader.at + size > end:
            raise InvalidError(_PAST_END)
        return number, wire, value

    def _close(self, depth: int) -> None:
        self._lines.indent(depth)
        self._lines.add_line("punctuation", "}")

    def _write_leaf(self, number: int, wire: int, value: int | bytes, depth: int) -> None:
        """`value` is a number for a varint, and bytes for all other types (empty for the ends of a group)."""
        if isinstance(value, int):
            self._write_label(number, "varint", depth)
            self._lines.add("number", str(value))
            self._lines.add("text", _also_varint(value))
        elif wire in (FIXED32, FIXED64):
            self._write_label(number, "fixed32" if wire == FIXED32 else "fixed64", depth)
            self._write_fixed(value)
        elif wire in (START, END):
            self._write_label(number, "group begins" if wire == START else "group ends", depth)
        else:
            self._write_bytes(number, value, depth)
        self._lines.end_line()

    def _write_fixed(self, data: bytes) -> None:
        unsigned = int.from_bytes(data, "little")
        signed = int.from_bytes(data, "little", signed=True)
        real = struct.unpack("<f" if len(data) == 4 else "<d", data)[0]
        self._lines.add("number", str(unsigned))
        float_text = f"{real:.9g}" if len(data) == 4 else repr(real)
        also_signed = f"signed {signed}, " if signed != unsigned else ""
        self._lines.add("text", f"  {also_signed}float {float_text}")

    def _write_bytes(self, number: int, data: bytes, depth: int) -> None:
        text = as_text(data, plain=False)
        if text is None:
            self._write_label(number, sized(len(data)), depth)
            self._write_hex(data)
            return
        if not data:
            self._write_label(number, "empty", depth, "")
        else:
            self._write_label(number, "text", depth)
            self._lines.add("string", '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')

    def _write_label(self, number: int, label: str, depth: int, after: str = " ") -> None:
        self._lines.indent(depth)
        self._lines.add("key", str(number))
        self._lines.add("punctuation", ": ")
        self._lines.add("literal", label)
        self._lines.add("text", after)

    def _write_hex(self, data: bytes) -> None:
        self._lines.add("string", data[:HEX_MAX].hex(" "))
        if len(data) > HEX_MAX:
            self._lines.add("literal", " …")


def write(content: Content, out: Formatted) -> Iterator[None]:
    kind, reader = media_type(content.content_type), ByteReader(content.data)
    body, framed = Protobuf(reader, out), kind in GRPC
    steps, name = (body.frames(), "gRPC") if framed else (body.fields(), "protobuf")
    return until_invalid(steps, name, reader, out, complete=content.complete, sure=framed or is_protobuf(kind))


def fit(kind: str, start: bytes) -> float:
    """Certain by type; for bytes of a generic type that are not text, ranked between hex and all other views."""
    if is_protobuf(kind) or kind in GRPC:
        return 1.0
    if kind not in GENERIC_BINARY or len(start) < 4 or as_text(start, plain=False) is not None:
        return 0.0
    return 0.3 if is_message(start, cut=len(start) >= HEAD, highest=PLAUSIBLE_NUMBER_MAX) else 0.0


def _is_nested(data: int | bytes, depth: int) -> bool:
    """Whether the bytes parse as a message and are not plain text: `hi` is a valid message too."""
    if isinstance(data, int) or depth >= DEEPEST or not data:
        return False
    return as_text(data, plain=True) is None and is_message(data)


def _also_varint(value: int) -> str:
    """Its other interpretations: a negative number, and the zigzag encoding of sint32 and sint64."""
    zigzag = (value >> 1) ^ -(value & 1)
    signed = f", signed {value - (1 << 64)}" if value >> 63 else ""
    return f"  zigzag {zigzag}{signed}" if value > 1 else f"{signed}"
