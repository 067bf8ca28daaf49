"""The terms that a group of requests has, and how many requests have each.

FTS5 knows them too, but goes through all requests that have a term to count them.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from app.db.search.index.exact_terms import single
from app.db.search.index.index_query import Steps
from app.db.search.index.json_leaves import BETWEEN, ITEM
from app.db.search.index.terms import EVERY, FIRST_TERM, term, text_of

MOST_LISTED = 5_000
"""Terms that are gone through for those that hold a text, or fit a path."""
MOST_USED = 16
"""Of those that hold a text: the ones that most requests have."""
_HIGHEST = "\U0010ffff"
_ALONE = term("a", "")
"""How terms of addresses begin, which are not listed: few requests share one."""


def make_table(connection: sqlite3.Connection, number: int) -> None:
    """For a group."""
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS listed_{number} (term TEXT PRIMARY KEY, requests INTEGER NOT NULL)"
        " STRICT, WITHOUT ROWID"
    )


def add(connection: sqlite3.Connection, number: int, requests: Iterable[str]) -> None:
    """The terms of some requests of the group."""
    counts = Counter(chain.from_iterable(terms.split(" ") for terms in requests))
    shared = sorted(item for item in counts.items() if not item[0].startswith(_ALONE))
    connection.executemany(
        f"INSERT INTO listed_{number} VALUES (?, ?)"
        " ON CONFLICT (term) DO UPDATE SET requests = requests + excluded.requests",
        shared,
    )


class Vocabulary:
    """Of the group with this number."""

    def __init__(self, connection: sqlite3.Connection, number: int) -> None:
        self._execute, self._table = connection.execute, f"listed_{number}"

    def all_have(self, *written: str) -> bool:
        """Whether every request of the group has one of these terms, of which no request has two."""
        return sum(map(self._count, dict.fromkeys(written))) == self._count(EVERY)

    def holding(self, kind: str, text: str) -> list[str]:
        """Terms of a kind ("": words) in which a text stands: those that most requests have."""
        if not kind and self.all_have(text):
            return [text]
        low, high = (term(kind, ""), term(kind, "") + _HIGHEST) if kind else ("", FIRST_TERM)
        inner = f"SELECT term, requests FROM {self._table} WHERE term >= ? AND term < ? LIMIT {MOST_LISTED}"
        where = f"instr(substr(term, {len(kind) + 1}), ?)"
        query = f"SELECT term FROM ({inner}) WHERE {where} ORDER BY requests DESC LIMIT {MOST_USED}"
        found = [written for (written,) in self._execute(query, (low, high, text))]
        return found if kind or text in found else [text, *found]

    def paths(self, steps: Steps) -> list[str] | None:
        """The paths in JSON bodies that fit these steps; None when there are too many to tell."""
        if single(steps):
            return [BETWEEN.join(step for step in steps if step is not None)]
        start = term("j", "")
        query = f"SELECT term FROM {self._table} WHERE term >= ? AND term < ? LIMIT {MOST_LISTED}"
        there = self._execute(query, (start, start + _HIGHEST)).fetchall()
        if len(there) == MOST_LISTED:
            return None
        return [path for path in (text_of(written) for (written,) in there) if _fits(path, steps)]

    def _count(self, written: str) -> int:
        row = self._execute(f"SELECT requests FROM {self._table} WHERE term = ?", (written,)).fetchone()
        return row[0] if row else 0


def _fits(path: str, steps: Steps) -> bool:
    there = path.split(BETWEEN)
    return len(there) == len(steps) and all(
        step is None or step == found or (found == ITEM and step.isdecimal())
        for step, found in zip(steps, there, strict=True)
    )
