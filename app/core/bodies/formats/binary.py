"""Shared by the binary formats: reading a body's bytes, and what is shown where they are not valid or end too early."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.bodies.formatter import Formatted
from app.core.text import count_of

HEX_MAX = 64
"""Bytes of a value shown in hexadecimal; the hex view shows all of them."""


class InvalidError(Exception):
    """The bytes do not match the format; `str()` says why."""


class TruncatedError(Exception):
    """The bytes end in the middle of a value."""


class ByteReader:
    """Reads bytes in order; `at` is the offset of the next one."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    @property
    def left(self) -> int:
        """Bytes that were not read yet."""
        return len(self._data) - self.at

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes; raises TruncatedError if the body ends before."""
        self.skip(count)
        return self._data[self.at - count : self.at]

    def peek(self, count: int) -> bytes:
        """At most `count` of the next bytes, which stay to be read."""
        return self._data[self.at : self.at + count]

    def skip(self, count: int) -> None:
        """Raises TruncatedError if the body ends before."""
        if count > self.left:
            raise TruncatedError
        self.at += count


def until_invalid(
    steps: Iterator[None], name: str, reader: ByteReader, out: Formatted, *, complete: bool, sure: bool
) -> Iterator[None]:
    """Take the `steps` that write what `reader` reads, up to its end or an error. `sure`: the content type named the
    format. A truncated body of a declared format is shown as far as it goes, with a line that says so; for a guessed
    format it is an error.
    """
    remark = why = ""
    try:
        yield from steps
    except TruncatedError:
        if not complete:
            remark = "The body goes on. See it in Hex."
        elif sure:
            remark = "The body ends in the middle of a value."
        else:
            why = "it ends too early"
    except InvalidError as error:
        why = str(error)
    if why:
        out.error = f"Not valid {name} at byte {reader.at:,}: {why}."
        remark = "The rest is not valid. See it in Hex."
    if remark:
        if not out.empty:
            out.end_line()
        out.add("control", f"⋯ {remark}")
    if not out.empty:
        out.end_line()
    yield


def sized(count: int) -> str:
    """`1 byte`, `1,200 bytes`."""
    return count_of(count, "byte")
