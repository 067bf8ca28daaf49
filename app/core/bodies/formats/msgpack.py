"""MessagePack indented like JSON, with types that JSON lacks. Numbers, order and duplicates are kept."""

from __future__ import annotations

import codecs
import re
import struct
from collections.abc import Generator
from datetime import timedelta

from app.core.bodies.formats.binary import (
    HEX_MAX,
    BinaryFormatter,
    ByteStream,
    InvalidError,
    Steps,
    TruncatedError,
    hex_text,
    indent,
    sized,
)
from app.core.bodies.lines import Kind, LineBuilder
from app.core.bodies.media_types import GENERIC_BINARY, is_msgpack
from app.core.clock import EPOCH

DEEPEST = 200_000
"""Maximum levels of nesting."""
_PIECE = 64 * 1024
_NUMBERS = {
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
    0xCA: ">f",
    0xCB: ">d",
}
_SIZED = {
    0xC4: ("bin", 1),
    0xC5: ("bin", 2),
    0xC6: ("bin", 4),
    0xC7: ("ext", 1),
    0xC8: ("ext", 2),
    0xC9: ("ext", 4),
    0xD9: ("str", 1),
    0xDA: ("str", 2),
    0xDB: ("str", 4),
    0xDC: ("array", 2),
    0xDD: ("array", 4),
    0xDE: ("map", 2),
    0xDF: ("map", 4),
}
_FIXEXT = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
_WORDS = {0xC0: "null", 0xC2: "false", 0xC3: "true"}
_BAD = re.compile("[\udc80-\udcff]")


class MessagePack:
    """A sequence of values. With `single`, only one value is allowed, a map or an array."""

    def __init__(self, stream: ByteStream, lines: LineBuilder, *, single: bool = False) -> None:
        self._stream, self._lines, self._single = stream, lines, single
        # For each open container: whether it is a map, and how many parts (names and values) are missing.
        self._open: list[list[int]] = []

    def steps(self) -> Steps:
        first = True
        while True:
            while not self._stream.available:
                if self._stream.final:
                    return
                yield False
            if self._single and not first:
                raise InvalidError("there is data after the value")
            yield from self._value()
            while self._open:
                yield True
                yield from self._value()
            self._lines.end_line()
            first = False
            yield True

    def _value(self) -> Steps:
        head = (yield from self._stream.read(1))[0]
        if self._single and not self._open and not is_container(head):
            raise InvalidError("it begins with neither a map nor an array")
        if head < 0x80 or head >= 0xE0:
            self._write("number", str(head if head < 0x80 else head - 256))
        elif head in _WORDS:
            self._write("literal", _WORDS[head])
        elif head in _NUMBERS:
            data = yield from self._stream.read(struct.calcsize(_NUMBERS[head]))
            self._write("number", _number(_NUMBERS[head], data))
        elif head in _FIXEXT:
            yield from self._extension(_FIXEXT[head])
        else:
            yield from self._long(head)

    def _long(self, head: int) -> Steps:
        """A value with a length, which short ones have in their first byte."""
        if head < 0xC0:
            kind = "map" if head < 0x90 else "array" if head < 0xA0 else "str"
            size = head & (31 if kind == "str" else 15)
        elif head in _SIZED:
            kind, width = _SIZED[head]
            size = int.from_bytes((yield from self._stream.read(width)), "big")
        else:
            raise InvalidError("type 0xc1 does not exist")
        if kind == "str":
            yield from self._string(size)
        elif kind == "bin":
            yield from self._bytes(f"bin, {sized(size)}", size)
            self._end_value()
        elif kind == "ext":
            yield from self._extension(size)
        else:
            self._begin_container(kind == "map", size)

    def _begin_container(self, is_map: bool, size: int) -> None:
        signs = "{}" if is_map else "[]"
        if not size:
            self._write("punctuation", signs)
            return
        if len(self._open) == DEEPEST:
            raise InvalidError(f"it is nested deeper than {DEEPEST:,} levels")
        self._lines.add("punctuation", signs[0])
        self._open.append([is_map, size * 2 if is_map else size])
        self._lines.end_line(indent(len(self._open)))

    def _write(self, kind: Kind, text: str) -> None:
        if self._is_key_next():
            kind = "key"
        self._lines.add(kind, text)
        self._end_value()

    def _is_key_next(self) -> bool:
        """Whether a key of a map is next."""
        return bool(self._open) and bool(self._open[-1][0]) and self._open[-1][1] % 2 == 0

    def _end_value(self) -> None:
        """Write the punctuation after a value, and close complete containers."""
        while self._open:
            top = self._open[-1]
            named = self._is_key_next()
            top[1] -= 1
            if named:
                self._lines.add("punctuation", ": ")
                return
            if top[1]:
                self._lines.add("punctuation", ",")
                self._lines.end_line(indent(len(self._open)))
                return
            self._open.pop()
            self._lines.end_line(indent(len(self._open)))
            self._lines.add("punctuation", "}" if top[0] else "]")

    def _string(self, size: int) -> Steps:
        kind: Kind = "key" if self._is_key_next() else "string"
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._lines.add(kind, '"')
        while size:
            while not self._stream.available:
                if self._stream.final:
                    raise TruncatedError
                yield False
            piece = self._stream.read_available(min(size, _PIECE))
            size -= len(piece)
            text = decoder.decode(piece, not size)
            bad = _BAD.search(text) if self._single else None
            self._lines.add(kind, _quoted(text[: bad.start()] if bad else text))
            if bad:
                raise InvalidError("a string is not UTF-8")
            if size:
                yield True
        self._lines.add(kind, '"')
        self._end_value()

    def _extension(self, size: int) -> Steps:
        code = int.from_bytes((yield from self._stream.read(1)), "big", signed=True)
        if code == -1 and size in (4, 8, 12):
            self._write("literal", f"timestamp {_timestamp((yield from self._stream.read(size)))}")
            return
        yield from self._bytes(f"ext type {code}, {sized(size)}", size)
        self._end_value()

    def _bytes(self, label: str, size: int) -> Generator[bool, None, None]:
        self._lines.add("literal", f"{label}{': ' if size else ''}")
        sample_bytes = yield from self._stream.read(min(size, HEX_MAX))
        self._lines.add("string", hex_text(sample_bytes))
        if size > HEX_MAX:
            self._lines.add("literal", " …")
            yield from self._stream.skip(size - HEX_MAX)


def formatter(media_type: str) -> BinaryFormatter:
    sure = is_msgpack(media_type)

    def parse(stream: ByteStream, lines: LineBuilder) -> Steps:
        return MessagePack(stream, lines, single=not sure).steps()

    return BinaryFormatter("MessagePack", parse, sure=sure)


def is_container(head: int) -> bool:
    """Whether a value with this first byte is a map or an array."""
    return 0x80 <= head <= 0x9F or 0xDC <= head <= 0xDF


def fit(media_type: str, head: bytes, examined: int) -> float:
    """Certain by type; likely for bytes of a generic type that are not text but a map or an array that is not empty.

    `examined` is how many bytes of a body are passed at most: a shorter head is a complete body.
    """
    if is_msgpack(media_type):
        return 1.0
    if media_type not in GENERIC_BINARY or len(head) < 2 or not is_container(head[0]) or head[0] in (0x80, 0x90):
        return 0.0
    if _is_text(head):
        return 0.0
    sample = formatter(media_type)
    sample.feed(head.decode("latin-1"), len(head) < examined)
    while not sample.needs_input:
        sample.next_lines(1_000)
    return 0.0 if sample.error else 0.6


def _is_text(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _number(code: str, data: bytes) -> str:
    value = struct.unpack(code, data)[0]
    if code != ">f":
        return repr(value)
    # The fewest digits that give this 32-bit number.
    return next((text for digits in range(6, 10) if _same(text := f"{value:.{digits}g}", data)), repr(value))


def _same(text: str, data: bytes) -> bool:
    try:
        return struct.pack(">f", float(text)) == data
    except OverflowError:
        return False


def _quoted(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return _BAD.sub(lambda match: f"\\x{ord(match.group()) - 0xDC00:02x}", text)


def _timestamp(data: bytes) -> str:
    if len(data) == 4:
        nanos, seconds = 0, int.from_bytes(data, "big")
    elif len(data) == 8:
        both = int.from_bytes(data, "big")
        nanos, seconds = both >> 34, both & (1 << 34) - 1
    else:
        nanos, seconds = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:], "big", signed=True)
    try:
        moment = EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return f"{seconds} s and {nanos} ns since 1970"
    fraction = f".{nanos:09d}".rstrip("0").rstrip(".") if nanos < 1_000_000_000 else f" + {nanos} ns"
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction} UTC"
