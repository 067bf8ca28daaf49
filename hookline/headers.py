"""Headers of a captured request: pairs in the order they were sent, found by name in any letter case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


class Headers(Mapping[str, str]):
    """`headers["x-id"]` is the value of a header; those of one name are joined with `, `. `pairs` has all as sent.

    Bytes beyond ASCII are Latin-1 characters.
    """

    __slots__ = ("pairs",)

    pairs: tuple[tuple[str, str], ...]

    def __init__(self, pairs: Iterable[Iterable[str]] = ()) -> None:
        self.pairs = tuple((name, value) for name, value in pairs)

    def get_all(self, name: str) -> list[str]:
        """The values of all headers of this name, in order."""
        wanted = name.lower()
        return [value for own, value in self.pairs if own.lower() == wanted]

    def __getitem__(self, name: str) -> str:
        values = self.get_all(name)
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self.get_all(name))

    def __iter__(self) -> Iterator[str]:
        """Each name once, as it was first written."""
        return iter({name.lower(): name for name, _ in reversed(self.pairs)}[lower] for lower in self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __eq__(self, other: object) -> bool:
        return self.pairs == other.pairs if isinstance(other, Headers) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.pairs)

    def __repr__(self) -> str:
        return f"Headers({list(self.pairs)!r})"

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name.lower() for name, _ in self.pairs))
