"""What a query of the index asks of the requests of a group, as SQL: of their texts, and of their keys.

The conditions leave out requests that cannot match; those that are left are examined. What all requests of a group have
in common saves looking at each.

The keys are all that searches know of a request besides its text: one array of numbers of 64 bits, of its terms and of
the numbers in it. A number has a key of its own, and one for each of a few ranges that it lies in, each 16 times as
long as the one before: so all numbers from one to another are found by some hundred keys.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from math import inf

from msgspec.structs import replace

from app.core.record import Headers, Record
from app.db.raw_sql import json_list
from app.db.search.index_query import (
    SIZE,
    AllOf,
    AnyOf,
    HasTerm,
    IndexQuery,
    JsonPath,
    Number,
    OfTerms,
    Substring,
    TermContaining,
    Without,
    all_have_one_of,
    fits,
    terms_at,
)
from app.db.search.index_terms import EVERY, ColumnValues, JsonLeaves, Steps, is_single, key_of, path_of, terms_of
from app.db.search.sql_filter import TRUE, Sql, join

FALSE: Sql = ("false", ())
_SURROGATES = re.compile("[\ud800-\udfff]")
_LIKE_SIGNS = re.compile(r"([\\%_])")
RARE = 2_000
"""Requests of a group. When no more have the keys of a query, these are asked first, and the texts are looked at."""
_PATH = "split_part(split_part(text, chr(10), 2), chr(63), 1)"
"""A text begins with an empty line, then has the target; its query follows a question mark."""


class Facts(Record, frozen=True):
    """What is known of the requests of a group: their numbers are within `span`, `common` occurs in each text, none of
    `lacking` (see `pairs_of`) in any, their JSON has no other `paths` (None: it may have), and so many of them have the
    keys in `counts`."""

    span: tuple[int, int] | None = None
    """The first of these numbers, and the one after the last."""
    common: tuple[str, ...] = ()
    lacking: frozenset[int] = frozenset()
    paths: frozenset[str] | None = None
    counts: Mapping[int, int] = {}
    by_keys: bool = False
    """Whether a request is found by its keys before its text is looked at."""

    def all_contain(self, text: str) -> bool:
        return any(text in piece for piece in self.common)

    def all_have(self, *terms: str) -> bool:
        """Whether each request has one of these terms, of which no request has two."""
        having = sum(self.counts.get(key_of(term), 0) for term in dict.fromkeys(terms))
        return having > 0 and having == self.counts.get(key_of(EVERY))

    def few_have(self, keys: Collection[int]) -> bool:
        """Whether it is known that few have one of these keys."""
        return key_of(EVERY) in self.counts and sum(self.counts.get(key, 0) for key in keys) <= RARE

    def terms(self, query: OfTerms) -> list[str] | None:
        """The terms of which every match has one; None when these are not known."""
        if isinstance(query, HasTerm):
            return [query.term]
        if isinstance(query, JsonPath) and (paths := self.paths_at(query.steps)) is not None:
            return terms_at(paths, query.value)
        return None

    def paths_at(self, steps: Steps) -> list[str] | None:
        if is_single(steps):
            return [path_of(steps)]
        return None if self.paths is None else [path for path in self.paths if fits(path, steps)]


def to_sql(query: IndexQuery, facts: Facts) -> Sql:
    """A condition that holds for every request of the group that the query matches, unless every search examines it."""
    keys = _keys(query, facts)
    if keys is not None:
        return _has(keys)
    if isinstance(query, Substring):
        return _contains(query.text, facts)
    if isinstance(query, AnyOf):
        return _any_of(query, facts)
    if not isinstance(query, AllOf | Without):
        return TRUE
    parts = query.parts if isinstance(query, AllOf) else (query,)
    negated = [part.part for part in parts if isinstance(part, Without)]
    if all_have_one_of(negated, facts.terms, facts.all_have):
        return FALSE
    required = [part for part in parts if not isinstance(part, Without)]
    known = (_keys(part, Facts(counts=facts.counts)) for part in required)
    if any(keys is not None and facts.few_have(keys) for keys in known):
        # The server knows nothing of the texts, and would begin with their index also where that finds most requests.
        facts = replace(facts, by_keys=True)
    return _all([*(to_sql(part, facts) for part in required), *(_lacks(part, facts) for part in negated)])


def _any_of(query: AnyOf, facts: Facts) -> Sql:
    conditions = [(part, to_sql(part, facts)) for part in query.parts]
    if facts.span is not None and any(isinstance(part, Without) and found != FALSE for part, found in conditions):
        # No index has what lacks a key: each row is read, and to compare all keys of a range with its own takes long.
        conditions = [
            (part, _looked_up(keys, facts.span) if (keys := _keys(part, facts)) else found)
            for part, found in conditions
        ]
    return _any(found for _, found in conditions)


def _looked_up(keys: Collection[int], span: tuple[int, int]) -> Sql:
    """Once, by the index."""
    text, values = _has(keys)
    where = f"capture_seq >= ? AND capture_seq < ? AND {text}"
    return f"capture_seq IN (SELECT capture_seq FROM search_text WHERE {where})", (*span, *values)


def counted_keys(query: IndexQuery, *, needed: bool = False) -> Iterator[int]:
    """The keys that `Facts.counts` is asked for: those of what is negated, or required with something else."""
    if isinstance(query, AllOf | AnyOf):
        for part in query.parts:
            yield from counted_keys(part, needed=needed or isinstance(query, AllOf))
    elif isinstance(query, Without):
        yield from counted_keys(query.part, needed=True)
    elif needed and (keys := _keys(query, Facts())):
        yield key_of(EVERY)
        yield from keys


def asked_pairs(query: IndexQuery) -> Iterator[int]:
    """The pairs of characters that `Facts.lacking` is asked for."""
    if isinstance(query, AllOf | AnyOf):
        for part in query.parts:
            yield from asked_pairs(part)
    elif isinstance(query, Substring):
        yield from pairs_of(stored(query.text))


def _keys(query: IndexQuery, facts: Facts) -> Collection[int] | None:
    """Every match has one of these; None when that cannot be said."""
    if isinstance(query, AnyOf):
        parts = [_keys(part, facts) for part in query.parts]
        return None if None in parts else {key for part in parts for key in part or ()}
    if isinstance(query, Number):
        paths = facts.paths_at(query.steps)
        places = [SIZE] if not query.steps else None if paths is None else list(map(key_of, paths))
        return None if places is None else {key for at in places for key in keys_between(at, query.low, query.high)}
    if isinstance(query, Without):
        return set() if all_have_one_of((query.part,), facts.terms, facts.all_have) else None
    terms = facts.terms(query) if isinstance(query, OfTerms) else None
    return None if terms is None else set(map(key_of, terms))


def _has(keys: Collection[int]) -> Sql:
    # By `SELECT` the server does not see the keys, and takes them for rare: it looks at their index.
    return ("keys && (SELECT numbers(?))", (json_list(keys),)) if keys else FALSE


def _lacks(part: IndexQuery, facts: Facts) -> Sql:
    """The condition for the requests that the part does not match."""
    if isinstance(part, TermContaining):
        if part.kind:
            return f"strpos({_PATH}, ?) = 0", (part.text,)
        if "\ufffd" in part.text:  # what cannot be stored is stored as this
            return TRUE
        return FALSE if facts.all_contain(part.text) else ("strpos(text, ?) = 0", (part.text,))
    keys = _keys(part, facts)
    return (f"NOT {_has(keys)[0]}", _has(keys)[1]) if keys else TRUE


def _contains(text: str, facts: Facts) -> Sql:
    if facts.all_contain(text):
        return TRUE
    if not facts.lacking.isdisjoint(pairs_of(stored(text))):
        return FALSE
    if facts.by_keys:
        return "strpos(text, ?) > 0", (stored(text),)
    escaped = _LIKE_SIGNS.sub(r"\\\1", stored(text))
    return "text LIKE ?", (f"%{escaped}%",)


def stored(text: str) -> str:
    """As PostgreSQL can hold it."""
    return _SURROGATES.sub("\ufffd", text)


def _all(parts: Iterable[Sql]) -> Sql:
    known = [part for part in parts if part != TRUE]
    return FALSE if FALSE in known else join(" AND ", known)


def _any(parts: Iterable[Sql]) -> Sql:
    known = [part for part in parts if part != FALSE]
    return TRUE if TRUE in known else join(" OR ", known) if known else FALSE


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
