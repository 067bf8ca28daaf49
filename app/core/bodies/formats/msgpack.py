"""MessagePack indented like JSON, with types that JSON lacks. Numbers, order and duplicates are kept."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from datetime import timedelta

from app.core.bodies.charset import decodes
from app.core.bodies.formats.binary import HEX_MAX, ByteReader, InvalidError, TruncatedError, sized, until_invalid
from app.core.bodies.formatter import HEAD, Content, Formatted, Kind, written
from app.core.bodies.media_types import GENERIC_BINARY, is_msgpack, media_type
from app.core.clock import EPOCH

DEEPEST = 200_000
"""Maximum levels of nesting."""
_NUMBERS = dict(zip(range(0xCA, 0xD4), (">f", ">d", ">B", ">H", ">I", ">Q", ">b", ">h", ">i", ">q"), strict=True))
_KINDS = ((0xC4, "bin", 1), (0xC7, "ext", 1), (0xD9, "str", 1), (0xDC, "array", 2), (0xDE, "map", 2))
"""The first of the bytes that begin a value of this kind, and the bytes of the length after it. It doubles, up to 4."""
_SIZED = {first + n: (kind, width << n) for first, kind, width in _KINDS for n in range(3) if width << n <= 4}
_WORDS = {0xC0: "null", 0xC2: "false", 0xC3: "true"}
_BAD = re.compile("[\udc80-\udcff]")


class MessagePack:
    """A sequence of values. With `single`, only one value is allowed, a map or an array."""

    def __init__(self, reader: ByteReader, lines: Formatted, *, single: bool = False) -> None:
        self._reader, self._lines, self._single = reader, lines, single
        # For each open container: whether it is a map, and how many parts (names and values) are missing.
        self._open: list[list[int]] = []

    def write(self) -> Iterator[None]:
        while self._reader.left:
            self._write_value()
            while self._open:
                yield
                self._write_value()
            self._lines.end_line()
            yield
            if self._single and self._reader.left:
                raise InvalidError("there is data after the value")

    def _write_value(self) -> None:
        head = self._reader.read(1)[0]
        if self._single and not self._open and not is_container(head):
            raise InvalidError("it begins with neither a map nor an array")
        if head < 0x80 or head >= 0xE0:
            self._add("number", str(head if head < 0x80 else head - 256))
        elif head in _WORDS:
            self._add("literal", _WORDS[head])
        elif head in _NUMBERS:
            code = _NUMBERS[head]
            self._add("number", _number(code, self._reader.read(struct.calcsize(code))))
        else:
            self._sized(head)

    def _sized(self, head: int) -> None:
        """A value with a length, which short ones have in their first byte."""
        if head < 0xC0:
            kind = "map" if head < 0x90 else "array" if head < 0xA0 else "str"
            size = head & (31 if kind == "str" else 15)
        elif 0xD4 <= head <= 0xD8:
            kind, size = "ext", 1 << head - 0xD4
        elif head in _SIZED:
            kind, width = _SIZED[head]
            size = int.from_bytes(self._reader.read(width), "big")
        else:
            raise InvalidError("type 0xc1 does not exist")
        if kind == "str":
            self._string(size)
        elif kind == "bin":
            self._bytes(f"bin, {sized(size)}", size)
        elif kind == "ext":
            self._extension(size)
        else:
            self._begin_container(kind == "map", size)

    def _begin_container(self, is_map: bool, size: int) -> None:
        signs = "{}" if is_map else "[]"
        if not size:
            self._add("punctuation", signs)
            return
        if len(self._open) == DEEPEST:
            raise InvalidError(f"it is nested deeper than {DEEPEST:,} levels")
        self._lines.add("punctuation", signs[0])
        self._open.append([is_map, size * 2 if is_map else size])
        self._lines.end_line(len(self._open))

    def _add(self, kind: Kind, text: str) -> None:
        self._lines.add("key" if self._is_key_next() else kind, text)
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
                self._lines.end_line(len(self._open))
                return
            self._open.pop()
            self._lines.end_line(len(self._open))
            self._lines.add("punctuation", "}" if top[0] else "]")

    def _string(self, size: int) -> None:
        data = self._reader.read(min(size, self._reader.left))
        text = data.decode("utf-8", "surrogateescape")
        if self._single and _BAD.search(text):
            raise InvalidError("a string is not UTF-8")
        text = text.replace("\\", "\\\\").replace('"', '\\"')
        text = _BAD.sub(lambda match: f"\\x{ord(match.group()) - 0xDC00:02x}", text)
        if len(data) < size:
            self._lines.add("key" if self._is_key_next() else "string", f'"{text}')
            raise TruncatedError
        self._add("string", f'"{text}"')

    def _extension(self, size: int) -> None:
        code = int.from_bytes(self._reader.read(1), "big", signed=True)
        if code == -1 and size in (4, 8, 12):
            self._add("literal", f"timestamp {_timestamp(self._reader.read(size))}")
        else:
            self._bytes(f"ext type {code}, {sized(size)}", size)

    def _bytes(self, label: str, size: int) -> None:
        self._lines.add("literal", f"{label}{': ' if size else ''}")
        self._lines.add("string", self._reader.read(min(size, HEX_MAX)).hex(" "))
        if size > HEX_MAX:
            self._lines.add("literal", " …")
            self._reader.skip(size - HEX_MAX)
        self._end_value()


def write(content: Content, out: Formatted) -> Iterator[None]:
    sure, reader = is_msgpack(media_type(content.content_type)), ByteReader(content.data)
    steps = MessagePack(reader, out, single=not sure).write()
    return until_invalid(steps, "MessagePack", reader, out, complete=content.complete, sure=sure)


def is_container(head: int) -> bool:
    """Whether a value with this first byte is a map or an array."""
    return 0x80 <= head <= 0x9F or 0xDC <= head <= 0xDF


def fit(kind: str, head: bytes) -> float:
    """Certain by type; likely for bytes of a generic type that are not text but a map or an array that is not empty."""
    if is_msgpack(kind):
        return 1.0
    if kind not in GENERIC_BINARY or len(head) < 2 or not is_container(head[0]) or head[0] in (0x80, 0x90):
        return 0.0
    if decodes(head, "utf-8", complete=False):
        return 0.0
    sample = written(write, Content(data=head, complete=len(head) < HEAD))
    return 0.0 if sample.error else 0.6


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
