"""Bytes in rows, of sixteen where nothing else is said: offset, hexadecimal, and what of them is printable ASCII."""

from __future__ import annotations

from typing import NamedTuple

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
