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
from app.db.search.index.index_query import AllOf, AnyOf, IndexQuery, Substring

LENGTH = 3
"""Characters of a trigram."""
LAST_TRIGRAM = "\n" * LENGTH
"""Ends every text: its last characters begin a trigram too, its last header ends like the others."""
ALWAYS = "\U000f0001\U000f0002\U000f0003"
"""A trigram of private-use characters, on requests that every search examines."""
INDEXED = 200_000
"""Characters of a request that are indexed; one that has more is examined in each search."""
LITERAL = re.compile(r"[ !#-%(-*,\-.0-;?-\[\]-~]+")
"""What JSON writes as it is, or as an escape that is examined in every search: no quote or stroke, no other alphabet,
and none of the signs that many programs escape so that a page can hold them."""
_PLAIN = "2[0-13-58-ac-e]|3[0-9abf]|[46].|5[0-9abd-f]|7[0-9a-e]|df"
_ESCAPED = re.compile(rf"\\u(?:00(?:{_PLAIN})|0130|0149|017f|01f0|1e9[6-9ae]|212a|fb0[0-6])")
"""JSON may write these characters so, and letters that become one of them when case is folded."""


def indexed_text(text: str, readable: Sequence[str], headers: Headers) -> str:
    """What words are looked for in, case folded, as the index takes it: as it was sent, and as it reads."""
    odd = any(value != value.strip() for _, value in headers)
    whole = LAST_TRIGRAM.join((text, *readable))
    always = odd or len(whole) > INDEXED or ("\\u" in text and _ESCAPED.search(text))
    return (ALWAYS if always else "") + "\n" + plain(whole[:INDEXED]) + LAST_TRIGRAM


def plain(text: str) -> str:
    """Replace characters that end a text in FTS5 or that it writes differently."""
    return text.replace("\0", "\x1f").replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


SAMPLED = 256
"""One of so many requests is a sample. Samples are kept apart, so that counting a trigram is quick."""
MOST_SAMPLES = 8_192
"""With more the sample starts over: it never forgets what is deleted."""
MOST_ROWS = 8_192
"""What more requests of a group have, counted once for each trigram, leaves too few of them out."""
MOST_TRIGRAMS = 1_000
"""Looking up more at once takes long; and that many are in enough requests to be met soon."""
LOOKED_UP_ALWAYS, LOOKED_UP_MOST = 3, 8
"""Of a text's trigrams the rarest few are looked up, and more only if rare: a common one takes more than it spares."""
RARE, COMMON = 1 / 16, 1 / 2
"""Of all requests."""
MOST_KNOWN = 10_000
_HIGHEST = "\U0010ffff"
# Case is folded before.
TRIGRAM_TABLE = "USING fts5 (words, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1')"


class TrigramSample:
    """How many of the sampled requests have a trigram."""

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

    def rarest(self, trigrams: Sequence[str]) -> list[str]:
        """Those that leave most requests out for little work; none when most requests have them all."""
        order = sorted(trigrams, key=self._count)
        samples = self._count(LAST_TRIGRAM)
        if not order or self._count(order[0]) > samples * COMMON:
            return []
        rare = [trigram for trigram in order[LOOKED_UP_ALWAYS:LOOKED_UP_MOST] if self._count(trigram) <= samples * RARE]
        return order[:LOOKED_UP_ALWAYS] + rare

    def _count(self, trigram: str) -> int:
        if trigram not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            row = self._connection.execute("SELECT doc FROM temp.sample_runs WHERE term = ?", (trigram,)).fetchone()
            self._known[trigram] = row[0] if row else 0
        return self._known[trigram]


class GroupTrigrams:
    """The trigrams of a group of requests."""

    def __init__(self, connection: sqlite3.Connection, number: int, sample: TrigramSample) -> None:
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
        with contextlib.closing(self._connection.execute(query, (text, text + _HIGHEST * LENGTH))) as trigrams:
            for trigram, requests in trigrams:
                found.append(trigram)
                count += requests
                if count > MOST_ROWS or len(found) > MOST_TRIGRAMS:
                    return None
        return found


NOWHERE = ""
"""The expression of what no request of a group has."""


def text_query(query: IndexQuery, trigrams: GroupTrigrams) -> str | None:
    """An FTS5 expression that every request meets in which these pieces stand; None when any may."""
    found = _expression(query, trigrams)
    return None if found is None else joined(" OR ", [found, quoted(ALWAYS)])


def joined(operator: str, parts: Sequence[str]) -> str:
    """Expressions, those of nothing left out."""
    return operator.join(f"({part})" for part in parts if part) or NOWHERE


def quoted(term: str) -> str:
    """A term or trigram as FTS5 reads it."""
    return '"' + term.replace('"', '""') + '"'


def _expression(query: IndexQuery, trigrams: GroupTrigrams) -> str | None:
    if isinstance(query, Substring):
        return _short(query.text, trigrams) if len(query.text) < LENGTH else _long(query.text, trigrams)
    assert isinstance(query, AllOf | AnyOf), "only pieces are asked for so"
    parts = [_expression(part, trigrams) for part in query.parts]
    if isinstance(query, AllOf):
        if NOWHERE in parts:
            return NOWHERE
        return joined(" AND ", [part for part in parts if part]) or None
    return None if None in parts else joined(" OR ", [part for part in parts if part])


def _long(text: str, trigrams: GroupTrigrams) -> str | None:
    all_trigrams = dict.fromkeys(text[at : at + LENGTH] for at in range(len(text) - LENGTH + 1))
    return (
        " AND ".join(map(quoted, trigrams.rarest([trigram for trigram in all_trigrams if _is_searchable(trigram)])))
        or None
    )


def _short(text: str, trigrams: GroupTrigrams) -> str | None:
    found = trigrams.beginning_with(text) if text and _is_searchable(text) else None
    return None if found is None else " OR ".join(map(quoted, found))


def _is_searchable(text: str) -> bool:
    """Half of a pair of surrogates cannot be looked up."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)
