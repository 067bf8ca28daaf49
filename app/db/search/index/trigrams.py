"""Texts in the index, as every run of three characters they have.

A text that is looked for becomes an FTS5 expression of its rarest trigrams. That can only leave requests out: whatever
the index names is looked at.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Sequence

from app.core.model import Headers
from app.db.search.index.index_query import AnyOf, Both, Piece, Wanted

GRAM = 3
"""Characters of a run, as the index holds them."""
LAST_RUN = "\n" * GRAM
"""Ends every text: its last characters begin a run too, its last header ends like the others."""
ALWAYS = "\U000f0001\U000f0002\U000f0003"
"""A run of characters that are for private use, on what is looked at in every search."""
INDEXED = 200_000
"""Characters of a request that are indexed; one that has more is looked at in each search."""
LITERAL = re.compile(r"[ !#-%(-*,\-.0-;?-\[\]-~]+")
"""What JSON writes as it is, or as an escape that is looked at in every search: no quote or stroke, no other alphabet,
and none of the signs that many programs escape so that a page can hold them."""
_PLAIN = "2[0-13-58-ac-e]|3[0-9abf]|[46].|5[0-9abd-f]|7[0-9a-e]|df"
_ESCAPED = re.compile(rf"\\u(?:00(?:{_PLAIN})|0130|0149|017f|01f0|1e9[6-9ae]|212a|fb0[0-6])")
"""JSON may write these characters so, and letters that become one of them when case is folded."""


def indexed_text(text: str, readable: Sequence[str], headers: Headers) -> str:
    """What words are looked for in, case folded, as the index takes it: as it was sent, and as it reads."""
    odd = any(value != value.strip() for _, value in headers)
    whole = LAST_RUN.join((text, *readable))
    always = odd or len(whole) > INDEXED or ("\\u" in text and _ESCAPED.search(text))
    return (ALWAYS if always else "") + "\n" + plain(whole[:INDEXED]) + LAST_RUN


def plain(text: str) -> str:
    """Without what the index would end at or write differently."""
    return text.replace("\0", "\x1f").replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


SAMPLED = 256
"""One of so many requests is a sample. Samples are kept apart, so that asking how often a run occurs is quick."""
MOST_SAMPLES = 8_192
"""Of more the sample is begun anew: it never forgets what is deleted."""
MOST_ROWS = 8_192
"""What more requests of a group have, counted once for each run, leaves too few of them out."""
MOST_RUNS = 1_000
"""To ask for more at once takes long; and that many are in enough requests to be met soon."""
ALWAYS_ASKED, MOST_ASKED = 3, 8
"""Of a text's runs the rarest few are asked for, and more only if rare: a common one takes more than it spares."""
RARE, COMMON = 1 / 16, 1 / 2
"""Of all requests."""
MOST_KNOWN = 10_000
_HIGHEST = "\U0010ffff"
# Case is folded before.
TRIGRAM_TABLE = "USING fts5 (words, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1')"


class Sample:
    """How many of the samples have a run."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[str, int] = {}
        connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.sample_runs USING fts5vocab(main, sample, row)")

    def add(self, rows: Sequence[tuple[int, str]]) -> None:
        """Keep those of the requests (number and text) that are samples."""
        samples = [row for row in rows if row[0] % SAMPLED == 0]
        if any(seq % (SAMPLED * MOST_SAMPLES) == 0 for seq, _ in samples):
            self._connection.execute("INSERT INTO sample (sample) VALUES ('delete-all')")
        if samples:
            self._connection.executemany("INSERT INTO sample (rowid, words) VALUES (?, ?)", samples)
            self._known.clear()

    def rarest(self, runs: Sequence[str]) -> list[str]:
        """Those that leave most requests out for little work; none when most requests have them all."""
        order = sorted(runs, key=self._count)
        samples = self._count(LAST_RUN)
        if not order or self._count(order[0]) > samples * COMMON:
            return []
        rare = [run for run in order[ALWAYS_ASKED:MOST_ASKED] if self._count(run) <= samples * RARE]
        return order[:ALWAYS_ASKED] + rare

    def _count(self, run: str) -> int:
        if run not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            row = self._connection.execute("SELECT doc FROM temp.sample_runs WHERE term = ?", (run,)).fetchone()
            self._known[run] = row[0] if row else 0
        return self._known[run]


class Runs:
    """Those of a group of requests."""

    def __init__(self, connection: sqlite3.Connection, number: int, sample: Sample) -> None:
        self._connection, self._name = connection, f"temp.trigrams_{number}"
        self.rarest = sample.rarest
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {self._name} USING fts5vocab(main, words_{number}, row)"
        )

    def beginning_with(self, text: str) -> list[str] | None:
        """All that begin with `text`; None when they are too many, or too many requests have them."""
        found: list[str] = []
        count = 0
        query = f"SELECT term, doc FROM {self._name} WHERE term >= ? AND term <= ?"
        with contextlib.closing(self._connection.execute(query, (text, text + _HIGHEST * GRAM))) as runs:
            for run, requests in runs:
                found.append(run)
                count += requests
                if count > MOST_ROWS or len(found) > MOST_RUNS:
                    return None
        return found


NOWHERE = ""
"""The expression of what no request of a group has."""


def text_query(wanted: Wanted, runs: Runs) -> str | None:
    """An FTS5 expression that every request meets in which these pieces stand; None when any may."""
    found = _expression(wanted, runs)
    return None if found is None else joined(" OR ", [found, quoted(ALWAYS)])


def joined(operator: str, parts: Sequence[str]) -> str:
    """Expressions, those of nothing left out."""
    return operator.join(f"({part})" for part in parts if part) or NOWHERE


def quoted(term: str) -> str:
    """A term or run as FTS5 reads it."""
    return '"' + term.replace('"', '""') + '"'


def _expression(wanted: Wanted, runs: Runs) -> str | None:
    if isinstance(wanted, Piece):
        return _short(wanted.text, runs) if len(wanted.text) < GRAM else _long(wanted.text, runs)
    assert isinstance(wanted, Both | AnyOf), "only pieces are asked for so"
    parts = [_expression(part, runs) for part in wanted.parts]
    if isinstance(wanted, Both):
        if NOWHERE in parts:
            return NOWHERE
        return joined(" AND ", [part for part in parts if part]) or None
    return None if None in parts else joined(" OR ", [part for part in parts if part])


def _long(text: str, runs: Runs) -> str | None:
    all_runs = dict.fromkeys(text[at : at + GRAM] for at in range(len(text) - GRAM + 1))
    return " AND ".join(map(quoted, runs.rarest([run for run in all_runs if _sound(run)]))) or None


def _short(text: str, runs: Runs) -> str | None:
    found = runs.beginning_with(text) if text and _sound(text) else None
    return None if found is None else " OR ".join(map(quoted, found))


def _sound(text: str) -> bool:
    """Half of a pair of surrogates cannot be asked for."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)
