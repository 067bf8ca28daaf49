"""Compares two texts line by line."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from app.core.comparison.difference import Difference, difference, quoted

LINES_MAX = 1_000
"""Between their common beginning and end, texts with more lines than this are not aligned: the time grows with the
product of their lengths."""


def text_differences(first: str, second: str) -> Iterator[Difference]:
    """Changed, added and removed lines in their order; if there are too many, only where the first difference is."""
    some, others = first.split("\n"), second.split("\n")
    shorter = min(len(some), len(others))
    begin = next((number for number in range(shorter) if some[number] != others[number]), shorter)
    same_end = 0
    while same_end < shorter - begin and some[-1 - same_end] == others[-1 - same_end]:
        same_end += 1
    some, others = some[begin : len(some) - same_end], others[begin : len(others) - same_end]
    if some and others and max(len(some), len(others)) > LINES_MAX:
        column = _first_difference(some[0], others[0])
        old, new = (_quoted_lines(lines, column) for lines in (some, others))
        yield difference("body", _lines(begin, 1), old, new, f"Differs from line {begin + 1:,} on")
        return
    for kind, low, high, other_low, other_high in SequenceMatcher(None, some, others).get_opcodes():
        if kind != "equal":
            yield _replaced(some[low:high], others[other_low:other_high], begin + low, begin + other_low)


def _replaced(some: list[str], others: list[str], at: int, other_at: int) -> Difference:
    """Lines in place of lines; either can be none. Lines are counted from 0 here, from 1 in the text."""
    where = _lines(at, len(some)) if some else _lines(other_at, len(others))
    if not some or not others:
        return difference("body", where, _quoted_lines(some), _quoted_lines(others), where.capitalize())
    column = _first_difference(some[0], others[0])
    label = (
        where.capitalize() if len(some) == len(others) else f"{where.capitalize()} ({_lines(other_at, len(others))})"
    )
    return difference("body", where, _quoted_lines(some, column), _quoted_lines(others, column), label)


def _lines(at: int, count: int) -> str:
    return f"line {at + 1:,}" if count == 1 else f"lines {at + 1:,} to {at + count:,}"


def _quoted_lines(lines: list[str], column: int = 0) -> str | None:
    """The first of them."""
    return quoted(lines[0], column) + (" …" if len(lines) > 1 else "") if lines else None


def _first_difference(some: str, other: str) -> int:
    low, high = 0, min(len(some), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if some[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
