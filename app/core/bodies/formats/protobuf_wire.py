"""Protobuf's wire format read without a schema: fields as numbers and values, and whether bytes look like a message."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

VARINT, FIXED64, LENGTH, START, END, FIXED32 = range(6)
_MAX_NUMBER = (1 << 29) - 1


@dataclass(frozen=True)
class WireField:
    """One field. `value` is a number (varint), or bytes (all others; none for the ends of a group)."""

    number: int
    wire: int
    value: int | bytes = b""


class ShortError(Exception):
    """The bytes end within a field; `needed` tells how many more there must be at least."""

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


class WireError(Exception):
    """The bytes are no field; `str()` says why."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at`, and where what follows begins."""
    result = shift = 0
    for position in range(at, min(len(data), at + 10)):
        byte = data[position]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            if result >> 64:
                raise WireError("a number has more than 64 bits")
            return result, position + 1
        shift += 7
    if len(data) - at >= 10:
        raise WireError("a number has more than ten bytes")
    raise ShortError(1)


def head(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Number and wire type of the field at `at`, where its value begins, and how many bytes that takes.

    For a varint the last is 0: it is not known before it is read.
    """
    key, at = varint(data, at)
    number, wire = key >> 3, key & 7
    if not 0 < number <= _MAX_NUMBER:
        raise WireError(f"there is no field {number}")
    if wire in (VARINT, START, END):
        return number, wire, at, 0
    if wire == LENGTH:
        size, at = varint(data, at)
        return number, wire, at, size
    if wire in (FIXED64, FIXED32):
        return number, wire, at, 8 if wire == FIXED64 else 4
    raise WireError(f"there is no wire type {wire}")


def field(data: bytes, at: int) -> tuple[WireField, int]:
    """The field at `at`, and where what follows begins."""
    number, wire, at, size = head(data, at)
    if wire == VARINT:
        value, at = varint(data, at)
        return WireField(number, wire, value), at
    if len(data) - at < size:
        raise ShortError(size - (len(data) - at))
    return WireField(number, wire, data[at : at + size]), at + size


def is_message(data: bytes, *, cut: bool = False, highest: int = _MAX_NUMBER) -> bool:
    """Whether the bytes are fields from beginning to end; `cut` bytes may end within one. Inner messages do not count.

    `highest` is the greatest field number that is believed.
    """
    at, groups = 0, []
    while at < len(data):
        try:
            number, wire, at, size = head(data, at)
            if wire == VARINT:
                at = varint(data, at)[1]
        except ShortError:
            return cut
        except WireError:
            return False
        if wire == START:
            groups.append(number)
        elif number > highest or (wire == END and (not groups or groups.pop() != number)):
            return False
        at += size
        if at > len(data):
            return cut
    return cut or not groups


def as_text(data: bytes, *, plain: bool) -> str | None:
    """The bytes as text if they are UTF-8; with `plain`, only if no control character is in it."""
    try:
        text = codecs.decode(data, "utf-8")
    except UnicodeDecodeError:
        return None
    return None if plain and not text.isprintable() else text
