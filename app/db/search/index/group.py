"""One group of the index: which of its requests have what is wanted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from app.db.search.index import numbers
from app.db.search.index.exact_terms import one_of_a_kind
from app.db.search.index.index_query import AnyOf, Both, Has, Holds, JsonPlace, Number, Piece, Wanted, Without
from app.db.search.index.terms import EVERY, json_term, term
from app.db.search.index.text_query import NOWHERE, joined, quoted, text_query
from app.db.search.index.trigram_stats import Runs, Sample
from app.db.search.index.vocabulary import Vocabulary

Source = Literal["numbers", "terms", "mixed", "texts"]
ORDER: tuple[Source, ...] = ("texts", "terms", "numbers", "mixed")
"""What leaves most out comes first."""
ANY_NUMBER = 2**31
FEW = 16
"""Of so few requests none needs to be left out."""


class IndexGroup:
    """`most`: whatever more requests have is not worth leaving out the others."""

    def __init__(self, connection: sqlite3.Connection, number: int, sample: Sample, most: int) -> None:
        self._connection, self._number, self._most = connection, number, most
        self._runs = Runs(connection, number, sample)
        self._vocabulary = Vocabulary(connection, number)

    def may_have(self, wanted: Wanted) -> set[int] | None:
        """The numbers of all requests that have it, and maybe of others; None when any may."""
        source = _source(wanted)
        if source == "texts":
            return self._matching("words", text_query(wanted, self._runs), ANY_NUMBER)
        if source == "terms":
            return self._matching("terms", self._terms(wanted), self._most)
        if isinstance(wanted, Number):
            paths = self._vocabulary.paths(wanted.steps)
            return None if paths is None else numbers.seqs(self._connection, self._number, wanted, paths, self._most)
        if isinstance(wanted, Both):
            return self._all_of(_by_source(Both, wanted.parts))
        assert isinstance(wanted, AnyOf), "only terms can be asked for without them"
        return self._any_of(_by_source(AnyOf, wanted.parts))

    def _all_of(self, parts: Iterable[Wanted]) -> set[int] | None:
        rest: set[int] | None = None
        for part in parts:
            found = self.may_have(part)
            rest = found if rest is None else rest if found is None else rest & found
            if rest is not None and len(rest) <= FEW:
                return rest
        return rest

    def _any_of(self, parts: Iterable[Wanted]) -> set[int] | None:
        together: set[int] = set()
        for part in parts:
            found = self.may_have(part)
            if found is None:
                return None
            together |= found
        return together

    def _matching(self, table: str, match: str | None, most: int) -> set[int] | None:
        if match is None:
            return None
        if match == NOWHERE:
            return set()
        name = f"{table}_{self._number}"
        query = f"SELECT rowid FROM {name} WHERE {name} MATCH ? LIMIT ?"
        found = {seq for (seq,) in self._connection.execute(query, (match, most + 1))}
        return found if len(found) <= most else None

    def _terms(self, wanted: Wanted) -> str | None:
        """An FTS5 expression; None when it cannot be told by terms."""
        if isinstance(wanted, Has | Holds | JsonPlace):
            written = self._written(wanted)
            return None if written is None else " OR ".join(map(quoted, written))
        if isinstance(wanted, AnyOf):
            parts = [self._terms(part) for part in wanted.parts]
            return None if None in parts else joined(" OR ", [part for part in parts if part])
        return self._all_terms(wanted.parts if isinstance(wanted, Both) else (wanted,))

    def _all_terms(self, parts: Sequence[Wanted]) -> str | None:
        unmet = [part.part for part in parts if isinstance(part, Without)]
        if self._all_have(unmet):
            return NOWHERE
        met = [self._terms(part) for part in parts if not isinstance(part, Without)]
        if NOWHERE in met:
            return NOWHERE
        without = joined(" OR ", [part for part in map(self._terms, unmet) if part])
        positive = joined(" AND ", [part for part in met if part])
        return f"({positive or quoted(EVERY)}) NOT ({without})" if without else positive or None

    def _all_have(self, parts: Iterable[Wanted]) -> bool:
        """Whether every request has one of these, as far as that is quickly told: to ask for those without takes going
        through all of them."""
        alike: dict[str, list[str]] = {}
        for part in _leaves(parts):
            written = self._written(part) or []
            if any(map(self._vocabulary.all_have, written)):
                return True
            kind = one_of_a_kind(part)
            if kind is not None:
                alike.setdefault(kind, []).extend(written)
        return any(self._vocabulary.all_have(*written) for written in alike.values())

    def _written(self, wanted: Has | Holds | JsonPlace) -> list[str] | None:
        """Terms of which a request has one that has what is wanted; None when they are too many."""
        if isinstance(wanted, Has):
            return [wanted.term]
        if isinstance(wanted, Holds):
            return self._vocabulary.holding(wanted.kind, wanted.text)
        paths = self._vocabulary.paths(wanted.steps)
        if paths is None:
            return None
        return [term("j", path) if wanted.value is None else json_term(path, wanted.value) for path in paths]


def _leaves(parts: Iterable[Wanted]) -> Iterator[Has | Holds | JsonPlace]:
    """The parts, and the parts of those of which any is enough."""
    for part in parts:
        if isinstance(part, AnyOf):
            yield from _leaves(part.parts)
        elif isinstance(part, Has | Holds | JsonPlace):
            yield part


def _source(wanted: Wanted) -> Source:
    """Where it is looked up."""
    if isinstance(wanted, Piece):
        return "texts"
    if isinstance(wanted, Number):
        return "numbers"
    if isinstance(wanted, Has | Holds | JsonPlace | Without):
        return "terms"
    found = {_source(part) for part in wanted.parts}
    return "mixed" if len(found) > 1 or found == {"numbers"} else next(iter(found), "terms")


def _by_source(kind: type[Both] | type[AnyOf], parts: Sequence[Wanted]) -> list[Wanted]:
    """Parts looked up in one place are asked for together."""
    found: list[Wanted] = []
    for source in ORDER:
        same = tuple(part for part in parts if _source(part) == source)
        alone = source in ("numbers", "mixed") or len(same) < 2
        found += same if alone else [kind(parts=same)]
    return found
