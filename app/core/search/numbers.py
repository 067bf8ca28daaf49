"""Whole numbers in filters: `200`, `>=400`, `5xx`, `5..10`, sizes with a unit."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.core.search.query import QueryError, Range
from app.core.search.tokens import Text
from app.core.sizes import LARGEST, parse_size

_COMPARED = re.compile(r"(<=|>=|<|>|=)(.*)", re.DOTALL)
_CLASS = re.compile(r"([1-5])xx", re.IGNORECASE)
_STATUS = re.compile(r"[1-9][0-9]{2}")


def read_status(value: Text) -> Range:
    """`200`, `5xx`, `>=400`, `400..499`; QueryError otherwise."""
    group = _CLASS.fullmatch(value.characters)
    if group:
        first = int(group[1]) * 100
        return Range(low=first, high=first + 99)
    return _range(value, _status, "not a status: write it as 200, 5xx, >=400 or 400..499")


def read_size(value: Text) -> Range:
    """`0`, `>10k`, `<1.5M`, `5k..10k`, in bytes; k, M, G are decimal, KiB, MiB, GiB binary."""
    return _range(value, parse_size, "not a size: write it as 512, >10k, <1M or 5k..10k")


def _range(value: Text, number: Callable[[str], int | None], wrong: str) -> Range:
    low, dots, high = value.characters.partition("..")
    if dots:
        first, last = (number(low) if low else 0), (number(high) if high else LARGEST)
        if first is not None and last is not None and low + high:
            if first > last:
                raise QueryError(
                    f"{value.characters} is an empty range: it ends before it starts.", value.start, value.end
                )
            return Range(low=first if low else None, high=last if high else None)
    else:
        compared = _COMPARED.fullmatch(value.characters)
        operator, text = (compared[1], compared[2]) if compared else ("=", value.characters)
        found = number(text)
        if found is not None:
            return {
                "=": Range(low=found, high=found),
                ">": Range(low=found + 1, high=None),
                ">=": Range(low=found, high=None),
                "<": Range(low=None, high=found - 1),
                "<=": Range(low=None, high=found),
            }[operator]
    raise QueryError(f"“{value.characters}” is {wrong}.", value.start, value.end)


def _status(text: str) -> int | None:
    return int(text) if _STATUS.fullmatch(text) and text.isascii() else None
