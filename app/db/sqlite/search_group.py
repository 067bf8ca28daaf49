"""One group of SQLite's index: its tables of trigrams, terms and numbers, and which of its requests match a query.

Trigrams are all sequences of three characters that occur in a text. A text to search becomes an FTS5 expression of its
rarest trigrams. That can only exclude requests: everything that the index returns is examined.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Literal

from app.core.record import Record
from app.db.search.index_query import (
    SIZE,
    AllOf,
    AnyOf,
    HasTerm,
    IndexQuery,
    Number,
    OfTerms,
    Substring,
    TermContaining,
    Without,
    all_have_one_of,
    fits,
    terms_at,
)
from app.db.search.index_terms import (
    EVERY,
    FIRST_TERM,
    LAST_TRIGRAM,
    Steps,
    is_single,
    key_of,
    path_of,
    term,
    term_text,
    word_term,
)

LENGTH = 3
"""Characters of a trigram."""
ALWAYS = "\U000f0001\U000f0002\U000f0003"
"""A trigram of private-use characters, on requests that every search examines."""
SAMPLED = 256
"""One of this many requests is a sample. Samples have a table of their own, so that counting a trigram is quick."""
MOST_SAMPLES = 8_192
"""With more samples the table starts over, because it never removes deleted requests."""
MOST_ROWS = 8_192
"""A text prefix whose trigrams occur in more requests of a group than this is not looked up: it would exclude too
few."""
MOST_TRIGRAMS = 1_000
"""Looking up more trigrams at once takes long, and so many occur in enough requests that a match comes soon."""
LOOKED_UP_ALWAYS, LOOKED_UP_MOST = 3, 8
"""The rarest few trigrams of a text are looked up, and more only if rare: looking up a common one costs more than it
saves."""
RARE, COMMON = 1 / 16, 1 / 2
"""As a fraction of all requests."""
MOST_KNOWN = 10_000
# Case is folded before.
TRIGRAM_TABLE = "USING fts5 (words, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1')"


class TrigramSample:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[str, int] = {}
        connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.sample_runs USING fts5vocab(main, sample, row)")

    def add(self, rows: Sequence[tuple[int, str]]) -> None:
        """Store those of the requests (number and text) that are samples."""
        samples = [row for row in rows if row[0] % SAMPLED == 0]
        if any(seq % (SAMPLED * MOST_SAMPLES) == 0 for seq, _ in samples):
            self._connection.execute("INSERT INTO sample (sample) VALUES ('delete-all')")
        if samples:
            self._connection.executemany("INSERT INTO sample (rowid, words) VALUES (?, ?)", samples)
            self._known.clear()

    def rarest(self, trigrams: Sequence[str]) -> list[str]:
        """Those that exclude most requests for little work; empty when most requests have them all."""
        order = sorted(trigrams, key=self._count)
        samples = self._count(LAST_TRIGRAM)
        if not order or self._count(order[0]) > samples * COMMON:
            return []
        rare_trigrams = [
            trigram for trigram in order[LOOKED_UP_ALWAYS:LOOKED_UP_MOST] if self._count(trigram) <= samples * RARE
        ]
        return order[:LOOKED_UP_ALWAYS] + rare_trigrams

    def _count(self, trigram: str) -> int:
        if trigram not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            row = self._connection.execute("SELECT doc FROM temp.sample_runs WHERE term = ?", (trigram,)).fetchone()
            self._known[trigram] = row[0] if row else 0
        return self._known[trigram]


NO_MATCH = ""
"""The FTS5 expression that no request of a group matches."""
_HIGHEST = "\U0010ffff"
EXAMINED_MAX = 5_000
"""The most terms that are examined for containing a text or matching a path."""
MATCHING_TERMS_MAX = 16
"""Of the terms that contain a text: the ones that most requests have."""
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


class IndexGroup:
    """`most`: a condition that more requests meet is not worth applying."""

    def __init__(self, connection: sqlite3.Connection, number: int, sample: TrigramSample, most: int) -> None:
        self._connection, self._number, self._sample, self._most = connection, number, sample, most

    def add(self, entries: Sequence[IndexEntry]) -> None:
        """Index these requests, in tables that are made unless they exist.

        The requests of each term are counted in a table: FTS5 would go through all of them to count.
        """
        connection, number = self._connection, self._number
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

    def drop(self) -> None:
        for name in ("temp.trigrams", "words", "terms", "listed", "numbers"):
            self._connection.execute(f"DROP TABLE IF EXISTS {name}_{self._number}")

    def may_have(self, query: IndexQuery) -> set[int] | None:
        """The numbers of all requests that match, and maybe of others; None when any may."""
        source = _source(query)
        if source in ("texts", "terms"):
            expression = self.expression(query)
            if source == "texts" and expression is not None:
                expression = _join(" OR ", [expression, quoted(ALWAYS)])
            return self._matching(source, expression)
        if isinstance(query, Number):
            return self._with_number(query)
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

    def _matching(self, source: Source, expression: str | None) -> set[int] | None:
        if expression is None:
            return None
        if expression == NO_MATCH:
            return set()
        name, most = (
            (f"words_{self._number}", ANY_NUMBER) if source == "texts" else (f"terms_{self._number}", self._most)
        )
        statement = f"SELECT rowid FROM {name} WHERE {name} MATCH ? LIMIT ?"
        found = {seq for (seq,) in self._connection.execute(statement, (expression, most + 1))}
        return found if len(found) <= most else None

    def _with_number(self, number: Number) -> set[int] | None:
        """The requests with such a number at one of its paths; None when there are more than `most`."""
        paths = self._paths(number.steps)
        if paths is None:
            return None
        ends = ((number.low, ">" if number.strictly else ">="), (number.high, "<" if number.strictly else "<="))
        bounds = [(end, sign) for end, sign in ends if end is not None]
        where = "".join(f" AND value {sign} ?" for _, sign in bounds)
        statement = f"SELECT seq FROM numbers_{self._number} WHERE path = ?{where} LIMIT ?"
        found: set[int] = set()
        for key in map(key_of, paths) if number.steps else (SIZE,):
            rows = self._connection.execute(statement, (key, *(end for end, _ in bounds), self._most + 1))
            found.update(seq for (seq,) in rows)
        return found if len(found) <= self._most else None

    # -- expressions of FTS5 -------------------------------------------------------------------------------------

    def expression(self, query: IndexQuery) -> str | None:
        """An FTS5 expression for texts, or for terms; None when any request may match."""
        if isinstance(query, Substring):
            return self._short(query.text) if len(query.text) < LENGTH else self._long(query.text)
        if isinstance(query, OfTerms):
            written = self._written(query)
            return None if written is None else " OR ".join(map(quoted, written))
        if isinstance(query, AnyOf):
            parts = [self.expression(part) for part in query.parts]
            return None if None in parts else _join(" OR ", parts)
        return self._all_expressions(query.parts if isinstance(query, AllOf) else (query,))

    def _all_expressions(self, parts: Sequence[IndexQuery]) -> str | None:
        negated = [part.part for part in parts if isinstance(part, Without)]
        if all_have_one_of(negated, self._written, self._all_have):
            return NO_MATCH
        required = [self.expression(part) for part in parts if not isinstance(part, Without)]
        if NO_MATCH in required:
            return NO_MATCH
        without, positive = _join(" OR ", map(self.expression, negated)), _join(" AND ", required)
        return f"({positive or quoted(EVERY)}) NOT ({without})" if without else positive or None

    def _long(self, text: str) -> str | None:
        trigrams = dict.fromkeys(text[at : at + LENGTH] for at in range(len(text) - LENGTH + 1))
        return " AND ".join(map(quoted, self._sample.rarest(list(filter(_is_searchable, trigrams))))) or None

    def _short(self, text: str) -> str | None:
        """Any trigram that begins with the text; None when they are too many, or too many requests have them."""
        if not text or not _is_searchable(text):
            return None
        name = f"temp.trigrams_{self._number}"
        self._connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab(main, words_{self._number}, row)"
        )
        found, count = list[str](), 0
        query = f"SELECT term, doc FROM {name} WHERE term >= ? AND term <= ?"
        with contextlib.closing(self._connection.execute(query, (text, text + _HIGHEST * LENGTH))) as trigrams:
            for trigram, requests in trigrams:
                found.append(trigram)
                count += requests
                if count > MOST_ROWS or len(found) > MOST_TRIGRAMS:
                    return None
        return " OR ".join(map(quoted, found))

    # -- the terms of the group ----------------------------------------------------------------------------------

    def _written(self, query: OfTerms) -> list[str] | None:
        """The terms of which every match has one; None when they are too many."""
        if isinstance(query, HasTerm):
            return [query.term]
        if isinstance(query, TermContaining):
            written = term(query.kind, query.text)[1:] if query.kind else word_term(query.text)
            return self._terms_containing(query.kind, written)
        paths = self._paths(query.steps)
        return None if paths is None else terms_at(paths, query.value)

    def _terms_containing(self, kind: str, text: str) -> list[str]:
        """Terms of a kind ("": words) that contain a text: those that most requests have."""
        if not kind and self._all_have(text):
            return [text]
        low, high = (term(kind, ""), term(kind, "") + _HIGHEST) if kind else ("", FIRST_TERM)
        where = f"instr(substr(term, {len(kind) + 1}), ?) ORDER BY requests DESC LIMIT {MATCHING_TERMS_MAX}"
        rows = self._connection.execute(f"SELECT term FROM ({self._listed()}) WHERE {where}", (low, high, text))
        found = [written for (written,) in rows]
        return found if kind or text in found else [text, *found]

    def _paths(self, steps: Steps) -> list[str] | None:
        """The paths in JSON bodies that match these steps; None when there are too many."""
        if is_single(steps):
            return [path_of(steps)]
        start = term("j", "")
        examined = self._connection.execute(self._listed(), (start, start + _HIGHEST)).fetchall()
        if len(examined) == EXAMINED_MAX:
            return None
        return [path for path in (term_text(written) for written, _ in examined) if fits(path, steps)]

    def _all_have(self, *written: str) -> bool:
        """Whether every request of the group has one of these terms, of which no request has two."""
        return sum(map(self._count, dict.fromkeys(written))) == self._count(EVERY)

    def _count(self, written: str) -> int:
        query = f"SELECT requests FROM listed_{self._number} WHERE term = ?"
        row = self._connection.execute(query, (written,)).fetchone()
        return row[0] if row else 0

    def _listed(self) -> str:
        """The select of the terms between two, and how many requests have each."""
        return f"SELECT term, requests FROM listed_{self._number} WHERE term >= ? AND term < ? LIMIT {EXAMINED_MAX}"


def _join(operator: str, parts: Iterable[str | None]) -> str:
    """Joins expressions, without those that match nothing and those that are not known."""
    return operator.join(f"({part})" for part in parts if part) or NO_MATCH


def quoted(term: str) -> str:
    """A term or trigram as an FTS5 string."""
    return '"' + term.replace('"', '""') + '"'


def _is_searchable(text: str) -> bool:
    """Lone surrogates cannot be looked up."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


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
