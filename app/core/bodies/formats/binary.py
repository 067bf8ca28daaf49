"""Shared by the binary formats: reading a body's bytes, and what is shown where they are not valid or end too early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from app.core.bodies.formatter import Formatted
from app.core.text import count_of

HEX_MAX = 64
"""Bytes of a value shown in hexadecimal; the hex view shows all of them."""


class InvalidError(Exception):
    """The bytes do not match the format; `str()` says why."""


class TruncatedError(Exception):
    """The bytes end in the middle of a value."""


class ByteReader:
    """Reads `data` in order; `at` is the offset of the next byte."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        """Bytes that were not read yet."""
        return len(self.data) - self.at

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes; raises TruncatedError if the body ends before."""
        self.skip(count)
        return self.data[self.at - count : self.at]

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


ROW = 16
_SHOWN = bytes(code if 0x20 <= code < 0x7F else ord(".") for code in range(256)).decode("ascii")


class HexRow(NamedTuple):
    """`cells` has a two-digit text for each byte, `ascii` a character for each."""

    offset: str
    cells: tuple[str, ...]
    ascii: str


def row_count(size: int, row: int = ROW) -> int:
    """Rows needed for `size` bytes."""
    return -(-size // row)


def hex_rows(data: bytes, offset: int, size: int, row: int = ROW) -> list[HexRow]:
    """The rows of `data`, which begins at `offset` (a multiple of `row`) of a body of `size` bytes."""
    digits = offset_digits(size)
    return [
        HexRow(f"{offset + at:0{digits}x}", tuple(f"{byte:02x}" for byte in chunk), "".join(_SHOWN[b] for b in chunk))
        for at in range(0, len(data), row)
        for chunk in (data[at : at + row],)
    ]


def offset_digits(size: int) -> int:
    """Hexadecimal digits for every offset of a body of `size` bytes, at least eight."""
    return max(8, len(f"{size:x}"))


def row_text(row: HexRow) -> str:
    """The row of sixteen as one line, in the format of `hexdump -C`."""
    left, right = " ".join(row.cells[:8]), " ".join(row.cells[8:])
    return f"{row.offset}  {left:<23}  {right:<23}  {row.ascii}"


def short_row_text(row: HexRow) -> str:
    """The row of eight within the first 256 bytes as one line."""
    return f"{row.offset[-2:]}  {' '.join(row.cells):<23}  {row.ascii}"


def fit(media_type: str, head: bytes) -> float:
    """Always possible; best for data that is clearly not text."""
    return 0.4 if media_type.partition("/")[0] in ("image", "audio", "video", "font") else 0.2
