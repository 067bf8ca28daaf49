"""What searches know of a request besides its text: one array of numbers of 64 bits, the keys of its terms and of the
numbers in it.

A number has a key of its own, and one for each of a few ranges that it lies in, each 16 times as long as the one
before: so all numbers from one to another are found by some hundred keys.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from math import inf

from app.core.record import Headers
from app.db.search.index.group import SIZE
from app.db.search.index.terms import ColumnValues, JsonLeaves, key_of, terms_of

WIDTH = 4
SHIFTS = range(36, 64, WIDTH)
"""How many bits the ranges of a number leave open. In the shortest one are whole numbers alone up to 2**17."""
_ODD = 0x9E37_79B9_7F4A_7C15
_MODULUS, _SIGN = 2**64, 2**63


def keys_of(columns: ColumnValues, target: str, headers: Headers, leaves: JsonLeaves, size: int) -> set[int]:
    """Those of a request with a body of `size` bytes. Its words have none: they are searched in the text."""
    keys = set(map(key_of, terms_of(columns, target, headers, leaves, "").split(" ")))
    keys.update(number_keys(SIZE, size))
    for path, value in leaves.numbers:
        keys.update(number_keys(key_of(path), value))
    return keys


def number_keys(path: int, value: float) -> Iterator[int]:
    """The keys of a number at the path with this key."""
    bits = _bits(value)
    yield _key(path, 0, bits)
    for shift in SHIFTS:
        yield _key(path, shift, bits >> shift)


def keys_between(path: int, low: float | None, high: float | None) -> Iterator[int]:
    """Each number at a path from `low` to `high` has one of these, and maybe some others close to them."""
    if low is not None and low == high:
        yield _key(path, 0, _bits(low))
        return
    first, last = _bits(-inf if low is None else low) >> SHIFTS[0], _bits(inf if high is None else high) >> SHIFTS[0]
    for shift in SHIFTS[:-1]:
        while first <= last and first % 2**WIDTH:
            yield _key(path, shift, first)
            first += 1
        while first <= last and (last + 1) % 2**WIDTH:
            yield _key(path, shift, last)
            last -= 1
        if first > last:
            return
        first, last = first >> WIDTH, last >> WIDTH
    for one in range(first, last + 1):
        yield _key(path, SHIFTS[-1], one)


PAIRS = 1 << 16
"""Places for pairs of characters; several have the same."""


def pairs_of(*texts: str) -> set[int]:
    """The places of the pairs of characters that follow each other in the texts."""
    found = set[tuple[str, str]]()
    for text in texts:
        found.update(pairwise(text))
    return {(ord(first) * 257 + ord(second)) % PAIRS for first, second in found}


def _bits(value: float) -> int:
    """As many bits as a float has; they sort as the numbers do."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", value + 0.0))  # -0.0 equals 0.0
    return int(bits) ^ (_MODULUS - 1) if bits & _SIGN else int(bits) | _SIGN


def _key(path: int, shift: int, bits: int) -> int:
    return ((path + shift * _ODD) * _ODD + bits) % _MODULUS - _SIGN
