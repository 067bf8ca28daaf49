"""Parses sizes in bytes, and formats limits so that they parse to the same value."""

from __future__ import annotations

import re

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
LARGEST = 2**63 - 1

_SIZE = re.compile(r"([0-9]{1,15})(\.[0-9]{1,6})? ?(b|[kmgt]i?b|[kmgt])?", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": KIB, "mib": MIB, "gib": GIB, "tib": TIB}
_WRITTEN = (
    *(("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)),
    *(("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)),
)


def parse_size(text: str) -> int | None:
    """Bytes of `512`, `500 MB`, `1.5GiB`, in any letter case; k, M, G, T are decimal, KiB to TiB binary. None for
    invalid text, or 63 bits and more."""
    found = _SIZE.fullmatch(text)
    if not found:
        return None
    integer, fraction, unit = found[1], found[2] or ".0", _UNITS[(found[3] or "").lower()]
    amount = int(integer) * unit + int(fraction[1:]) * unit // 10 ** (len(fraction) - 1)
    return amount if amount < LARGEST else None


def exact_size(size: int) -> str:
    """`20 GiB`, `500 MB`, `1.5 MiB`, `1025 B`: the shortest text that `parse_size` reads as exactly `size`."""
    texts = []
    for name, unit in _WRITTEN:
        if size >= unit and size * 100 % unit == 0:
            integer, hundredths = divmod(size * 100 // unit, 100)
            texts.append(f"{integer}.{hundredths:02d}".rstrip("0").rstrip(".") + f" {name}")
    return min(texts, key=len, default=f"{size} B")
