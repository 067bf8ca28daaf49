"""One group of the index: its tables of terms and numbers, and which of its requests match a query."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal

from app.core.record import Record
from app.db.search.index.index_query import (
    AllOf,
    AnyOf,
    HasTerm,
    IndexQuery,
    JsonPath,
    Number,
    OfTerms,
    Steps,
    Substring,
    TermContaining,
    Without,
)
from app.db.search.index.terms import (
    BETWEEN,
    EVERY,
    FIRST_TERM,
    ITEM,
    is_single,
    json_term,
    key_of,
    path_of,
    term,
    term_text,
    word_term,
)
from app.db.search.index.trigrams import (
    NO_MATCH,
    TRIGRAM_TABLE,
    GroupTrigrams,
    TrigramSample,
    join_expressions,
    quoted,
    text_query,
)

SIZE = 0
"""Stands for the size of the body in place of a path."""

EXAMINED_MAX = 5_000
"""The most terms that are examined for containing a text or matching a path."""
MATCHING_TERMS_MAX = 16
"""Of the terms that contain a text: the ones that most requests have."""
_HIGHEST = "\U0010ffff"
_ADDRESS = term("a", "")
"""The prefix of terms of addresses, which are not counted: few requests share one."""

Source = Literal["numbers", "terms", "mixed", "texts"]
ORDER: tuple[Source, ...] = ("texts", "terms", "numbers", "mixed")
"""What excludes most requests comes first."""
ANY_NUMBER = 2**31
FEW = 16
"""With so few requests left, no further part is looked up."""


class IndexEntry(Record, frozen=True):
    """A request to index: the text whose trigrams are indexed, its terms joined by spaces, and its numbers, each with
    the key of its path."""

    seq: int
    received_at: int
    text: str
    terms: str
    numbers: tuple[tuple[int, float], ...]


def create_tables(connection: sqlite3.Connection, number: int) -> None:
    """Make the group's tables unless they exist.

    The requests of each term are counted in a table: FTS5 would go through all of them to count.
    """
    connection.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS words_{number} {TRIGRAM_TABLE}")
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS terms_{number}"
        " USING fts5 (terms, content='', columnsize=0, detail=none, tokenize='ascii')"
    )
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS listed_{number} (term TEXT PRIMARY KEY, requests INTEGER NOT NULL)"
        " STRICT, WITHOUT ROWID"
    )
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS numbers_{number} (path INTEGER NOT NULL, value REAL NOT NULL,"
        " seq INTEGER NOT NULL, PRIMARY KEY (path, value, seq)) STRICT, WITHOUT ROWID"
    )


def add_entries(connection: sqlite3.Connection, number: int, entries: Sequence[IndexEntry]) -> None:
    texts = [(entry.seq, entry.text) for entry in entries]
    connection.executemany(f"INSERT INTO words_{number} (rowid, words) VALUES (?, ?)", texts)
    terms = [(entry.seq, entry.terms) for entry in entries]
    connection.executemany(f"INSERT INTO terms_{number} (rowid, terms) VALUES (?, ?)", terms)
    counts = Counter(chain.from_iterable(entry.terms.split(" ") for entry in entries))
    connection.executemany(
        f"INSERT INTO listed_{number} VALUES (?, ?)"
        " ON CONFLICT (term) DO UPDATE SET requests = requests + excluded.requests",
        sorted(item for item in counts.items() if not item[0].startswith(_ADDRESS)),
    )
    numbers = sorted((key, value, entry.seq) for entry in entries for key, value in entry.numbers)
    connection.executemany(f"INSERT OR IGNORE INTO numbers_{number} VALUES (?, ?, ?)", numbers)


def drop_tables(connection: sqlite3.Connection, number: int) -> None:
    for name in ("temp.trigrams", "words", "terms", "listed", "numbers"):
        connection.execute(f"DROP TABLE IF EXISTS {name}_{number}")


class IndexGroup:
    """`most`: a condition that more requests meet is not worth applying."""

    def __init__(self, connection: sqlite3.Connection, number: int, sample: TrigramSample, most: int) -> None:
        self._connection, self._number, self._most = connection, number, most
        self._trigrams = GroupTrigrams(connection, number, sample)
        self._vocabulary = Vocabulary(connection, number)

    def may_have(self, query: IndexQuery) -> set[int] | None:
        """The numbers of all requests that match, and maybe of others; None when any may."""
        source = _source(query)
        if source == "texts":
            return self._matching("words", text_query(query, self._trigrams), ANY_NUMBER)
        if source == "terms":
            return self._matching("terms", self._terms(query), self._most)
        if isinstance(query, Number):
            paths = self._vocabulary.paths(query.steps)
            return None if paths is None else _with_number(self._connection, self._number, query, paths, self._most)
        if isinstance(query, AllOf):
            return self._all_of(_by_source(AllOf, query.parts))
        assert isinstance(query, AnyOf), "only terms can be negated"
        return self._any_of(_by_source(AnyOf, query.parts))

    def _all_of(self, parts: Iterable[IndexQuery]) -> set[int] | None:
        rest: set[int] | None = None
        for part in parts:
            found = self.may_have(part)
            rest = found if rest is None else rest if found is None else rest & found
            if rest is not None and len(rest) <= FEW:
                return rest
        return rest

    def _any_of(self, parts: Iterable[IndexQuery]) -> set[int] | None:
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
        if match == NO_MATCH:
            return set()
        name = f"{table}_{self._number}"
        statement = f"SELECT rowid FROM {name} WHERE {name} MATCH ? LIMIT ?"
        found = {seq for (seq,) in self._connection.execute(statement, (match, most + 1))}
        return found if len(found) <= most else None

    def _terms(self, query: IndexQuery) -> str | None:
        """An FTS5 expression; None when terms cannot decide it."""
        if isinstance(query, OfTerms):
            written = self._written(query)
            return None if written is None else " OR ".join(map(quoted, written))
        if isinstance(query, AnyOf):
            parts = [self._terms(part) for part in query.parts]
            return None if None in parts else join_expressions(" OR ", [part for part in parts if part])
        return self._all_terms(query.parts if isinstance(query, AllOf) else (query,))

    def _all_terms(self, parts: Sequence[IndexQuery]) -> str | None:
        negated = [part.part for part in parts if isinstance(part, Without)]
        if all_have_one_of(negated, self._written, self._vocabulary.all_have):
            return NO_MATCH
        required = [self._terms(part) for part in parts if not isinstance(part, Without)]
        if NO_MATCH in required:
            return NO_MATCH
        without = join_expressions(" OR ", [part for part in map(self._terms, negated) if part])
        positive = join_expressions(" AND ", [part for part in required if part])
        return f"({positive or quoted(EVERY)}) NOT ({without})" if without else positive or None

    def _written(self, query: OfTerms) -> list[str] | None:
        """The terms of which every match has one; None when they are too many."""
        if isinstance(query, HasTerm):
            return [query.term]
        if isinstance(query, TermContaining):
            written = term(query.kind, query.text)[1:] if query.kind else word_term(query.text)
            return self._vocabulary.terms_containing(query.kind, written)
        paths = self._vocabulary.paths(query.steps)
        return None if paths is None else terms_at(paths, query.value)


def terms_at(paths: Iterable[str], value: str | None) -> list[str]:
    """The terms of these paths, or of a text at one of them."""
    return [term("j", path) if value is None else json_term(path, value) for path in paths]


def all_have_one_of(
    parts: Iterable[IndexQuery], written: Callable[[OfTerms], list[str] | None], all_have: Callable[..., bool]
) -> bool:
    """Whether every request is known to have one of these: to find those without, a group's index goes through all its
    requests. `written`: the terms of which each that matches a part has one; `all_have`: whether each request has one
    of some terms, of which no request has two."""
    alike: dict[str, list[str]] = {}
    for part in _without_any_of(parts):
        terms = written(part) or []
        if any(map(all_have, terms)):
            return True
        kind = _one_of_a_kind(part)
        if kind is not None:
            alike.setdefault(kind, []).extend(terms)
    return any(all_have(*terms) for terms in alike.values())


def _without_any_of(parts: Iterable[IndexQuery]) -> Iterator[OfTerms]:
    """The parts, with each AnyOf replaced by its parts."""
    for part in parts:
        if isinstance(part, AnyOf):
            yield from _without_any_of(part.parts)
        elif isinstance(part, OfTerms):
            yield part


_SINGLE_KINDS = frozenset(term(kind, "") for kind in "mpe")
_STATUS_CLASSES = frozenset(term("s", f"{first}xx") for first in range(1, 10))


def _one_of_a_kind(query: OfTerms) -> str | None:
    """The kind of a term of which no request has two; None for others."""
    if isinstance(query, JsonPath) and query.value is not None and is_single(query.steps):
        return path_of(query.steps)
    if not isinstance(query, HasTerm):
        return None
    return query.term[0] if query.term[0] in _SINGLE_KINDS or query.term in _STATUS_CLASSES else None


def _source(query: IndexQuery) -> Source:
    """Which tables decide the query."""
    if isinstance(query, Substring):
        return "texts"
    if isinstance(query, Number):
        return "numbers"
    if isinstance(query, OfTerms | Without):
        return "terms"
    found = {_source(part) for part in query.parts}
    return "mixed" if len(found) > 1 or found == {"numbers"} else next(iter(found), "terms")


def _by_source(kind: type[AllOf] | type[AnyOf], parts: Sequence[IndexQuery]) -> list[IndexQuery]:
    """Combine the parts that the same tables decide."""
    found: list[IndexQuery] = []
    for source in ORDER:
        same = tuple(part for part in parts if _source(part) == source)
        alone = source in ("numbers", "mixed") or len(same) < 2
        found += same if alone else [kind(parts=same)]
    return found


class Vocabulary:
    """The terms of a group."""

    def __init__(self, connection: sqlite3.Connection, number: int) -> None:
        self._execute, self._table = connection.execute, f"listed_{number}"

    def all_have(self, *written: str) -> bool:
        """Whether every request of the group has one of these terms, of which no request has two."""
        return sum(map(self._count, dict.fromkeys(written))) == self._count(EVERY)

    def terms_containing(self, kind: str, text: str) -> list[str]:
        """Terms of a kind ("": words) that contain a text: those that most requests have."""
        if not kind and self.all_have(text):
            return [text]
        low, high = (term(kind, ""), term(kind, "") + _HIGHEST) if kind else ("", FIRST_TERM)
        inner = f"SELECT term, requests FROM {self._table} WHERE term >= ? AND term < ? LIMIT {EXAMINED_MAX}"
        where = f"instr(substr(term, {len(kind) + 1}), ?)"
        statement = f"SELECT term FROM ({inner}) WHERE {where} ORDER BY requests DESC LIMIT {MATCHING_TERMS_MAX}"
        found = [written for (written,) in self._execute(statement, (low, high, text))]
        return found if kind or text in found else [text, *found]

    def paths(self, steps: Steps) -> list[str] | None:
        """The paths in JSON bodies that match these steps; None when there are too many."""
        if is_single(steps):
            return [path_of(steps)]
        start = term("j", "")
        statement = f"SELECT term FROM {self._table} WHERE term >= ? AND term < ? LIMIT {EXAMINED_MAX}"
        examined = self._execute(statement, (start, start + _HIGHEST)).fetchall()
        if len(examined) == EXAMINED_MAX:
            return None
        return [path for path in (term_text(written) for (written,) in examined) if fits(path, steps)]

    def _count(self, written: str) -> int:
        row = self._execute(f"SELECT requests FROM {self._table} WHERE term = ?", (written,)).fetchone()
        return row[0] if row else 0


def fits(path: str, steps: Steps) -> bool:
    """Whether the steps may lead to the path."""
    examined = path.split(BETWEEN)
    return len(examined) == len(steps) and all(
        step is None or step == found or (found == ITEM and step.isdecimal())
        for step, found in zip(steps, examined, strict=True)
    )


def _with_number(
    connection: sqlite3.Connection, group: int, number: Number, paths: Sequence[str], most: int
) -> set[int] | None:
    """The requests of a group with such a number at one of the paths; None when there are more than `most`."""
    ends = ((number.low, ">" if number.strictly else ">="), (number.high, "<" if number.strictly else "<="))
    bounds = [(end, sign) for end, sign in ends if end is not None]
    where = "".join(f" AND value {sign} ?" for _, sign in bounds)
    statement = f"SELECT seq FROM numbers_{group} WHERE path = ?{where} LIMIT ?"
    found: set[int] = set()
    for key in map(key_of, paths) if number.steps else (SIZE,):
        rows = connection.execute(statement, (key, *(end for end, _ in bounds), most + 1))
        found.update(seq for (seq,) in rows)
    return found if len(found) <= most else None
