"""A mapping that is read when something is first looked up in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LazyMapping(Mapping[K, V]):
    """Has what `read` returns."""

    def __init__(self, read: Callable[[], Mapping[K, V]]) -> None:
        self._read = read

    @cached_property
    def _items(self) -> Mapping[K, V]:
        return self._read()

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
