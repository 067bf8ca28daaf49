"""What stands where in a JSON body: the paths there are, the numbers, and the texts that many requests have."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Any

from app.core.model import Record
from app.db.search.index.indexable import LONGEST, repeated, tellable
from app.db.search.json_values import NAMES, as_number, rounded

MOST_VISITED = 5_000
"""Values of a body that are looked at."""
MOST_KEPT = 500
"""Paths, numbers and texts that are kept of a body, each."""
MOST_KNOWN = 10_000
"""Keys are mostly those of requests before."""
LONGEST_PATH = 400
BETWEEN = "\x1f"
"""Between the steps of a path; no key that can be told has it."""
ITEM = "*"
"""Any item of a list: which one it is does not matter where requests are only left out."""


class Leaves(Record, frozen=True):
    """Paths, and pairs of a path and what stands there. `near` are numbers that had to be rounded. `more`: there are
    others, not looked at or not to be told."""

    paths: frozenset[str] = frozenset()
    numbers: frozenset[tuple[str, float]] = frozenset()
    near: frozenset[tuple[str, float]] = frozenset()
    texts: frozenset[tuple[str, str]] = frozenset()
    more: bool = False


def leaves(value: Any) -> Leaves:
    """Of a JSON value as the decoder gives it."""
    found = _Found()
    found.look_through(value)
    return Leaves(
        paths=frozenset(islice(found.paths, MOST_KEPT)),
        numbers=frozenset(islice(found.numbers, MOST_KEPT)),
        near=frozenset(islice(found.near, MOST_KEPT)),
        texts=frozenset(islice(found.texts, MOST_KEPT)),
        more=found.more or max(len(found.paths), len(found.numbers), len(found.near), len(found.texts)) > MOST_KEPT,
    )


class _Found:
    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.numbers: set[tuple[str, float]] = set()
        self.near: set[tuple[str, float]] = set()
        self.texts: set[tuple[str, str]] = set()
        self.more = False
        self._left = MOST_VISITED

    def look_through(self, value: Any) -> None:
        waiting = self._inside("", value)
        while waiting:
            path, value = waiting.pop()
            self.paths.add(path)
            if isinstance(value, dict | list):
                waiting += self._inside(path + BETWEEN, value)
            elif isinstance(value, bool) or value is None:
                self.texts.add((path, NAMES[value]))
            elif (number := as_number(value)) is not None:
                near, exact = rounded(number)
                (self.numbers if exact else self.near).add((path, near))
            elif isinstance(value, str) and repeated(value):
                self.texts.add((path, value))

    def _inside(self, before: str, value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, dict | list):
            return []
        self._left -= len(value)
        if self._left < 0 or len(before) > LONGEST_PATH:
            self.more = True
            return []
        if isinstance(value, list):
            return [(before + ITEM, item) for item in value]
        told = [(before + key, inner) for key, inner in value.items() if len(key) <= LONGEST and _key_told(key)]
        self.more = self.more or len(told) < len(value)
        return told


_key_told = lru_cache(MOST_KNOWN)(tellable)
