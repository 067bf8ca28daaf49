"""Texts in the index, as trigrams: all sequences of three characters that occur in them.

A text to search becomes an FTS5 expression of its rarest trigrams. That can only exclude requests: everything that the
index returns is examined.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Sequence

from app.core.record import Headers
from app.db.search.index.index_query import AllOf, AnyOf, IndexQuery, Substring

LENGTH = 3
"""Characters of a trigram."""
LAST_TRIGRAM = "\n" * LENGTH
"""Ends every text, so that its last characters begin a trigram too, and its last header ends like the others."""
ALWAYS = "\U000f0001\U000f0002\U000f0003"
"""A trigram of private-use characters, on requests that every search examines."""
INDEXED = 200_000
"""Characters of a request that are indexed; one that has more is examined in each search."""
LITERAL = re.compile(r"[ !#-%(-*,\-.0-;?-\[\]-~]+")
"""Characters that JSON writes literally, or as an escape that is examined in every search: no quotes or backslashes, no
other alphabets, and none of the characters that many programs escape for HTML pages."""
_PLAIN = "2[0-13-58-ac-e]|3[0-9abf]|[46].|5[0-9abd-f]|7[0-9a-e]|df"
_ESCAPED = re.compile(rf"\\u(?:00(?:{_PLAIN})|0130|0149|017f|01f0|1e9[6-9ae]|212a|fb0[0-6])")
"""JSON may escape these characters this way, and letters that become one of them when case is folded."""


def indexed_text(text: str, readable: Sequence[str], headers: Headers, *, whole: bool = True) -> str:
    """The case-folded text that words are searched in, as it is indexed: as sent, and in readable form. `whole`: there
    is no more of it."""
    always, combined = combined_text(text, readable, headers, whole=whole)
    return (ALWAYS if always else "") + combined


def combined_text(text: str, readable: Sequence[str], headers: Headers, *, whole: bool) -> tuple[bool, str]:
    """The same text, and whether every search examines the request, because more may be found in it."""
    odd = any(value != value.strip() for _, value in headers)
    combined = LAST_TRIGRAM.join((text, *readable))
    always = odd or not whole or len(combined) > INDEXED or bool("\\u" in text and _ESCAPED.search(text))
    return always, "\n" + plain(combined[:INDEXED]) + LAST_TRIGRAM


def plain(text: str) -> str:
    """Replace characters that end a text in FTS5 or that it writes differently."""
    return text.replace("\0", "\x1f").replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


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
_HIGHEST = "\U0010ffff"
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


class GroupTrigrams:
    """The trigrams of a group of requests."""

    def __init__(self, connection: sqlite3.Connection, number: int, sample: TrigramSample) -> None:
        self._connection, self._name = connection, f"temp.trigrams_{number}"
        self.rarest = sample.rarest
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {self._name} USING fts5vocab(main, words_{number}, row)"
        )

    def beginning_with(self, text: str) -> list[str] | None:
        """All trigrams that begin with `text`; None when they are too many, or too many requests have them."""
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


NO_MATCH = ""
"""The expression that no request of a group matches."""


def text_query(query: IndexQuery, trigrams: GroupTrigrams) -> str | None:
    """An FTS5 expression that matches every request with these texts; None when any request may have them."""
    found = _expression(query, trigrams)
    return None if found is None else join_expressions(" OR ", [found, quoted(ALWAYS)])


def join_expressions(operator: str, parts: Sequence[str]) -> str:
    """Joins expressions, without those that match nothing."""
    return operator.join(f"({part})" for part in parts if part) or NO_MATCH


def quoted(term: str) -> str:
    """A term or trigram as an FTS5 string."""
    return '"' + term.replace('"', '""') + '"'


def _expression(query: IndexQuery, trigrams: GroupTrigrams) -> str | None:
    if isinstance(query, Substring):
        return _short(query.text, trigrams) if len(query.text) < LENGTH else _long(query.text, trigrams)
    assert isinstance(query, AllOf | AnyOf), "only pieces are asked for so"
    parts = [_expression(part, trigrams) for part in query.parts]
    if isinstance(query, AllOf):
        if NO_MATCH in parts:
            return NO_MATCH
        return join_expressions(" AND ", [part for part in parts if part]) or None
    return None if None in parts else join_expressions(" OR ", [part for part in parts if part])


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
    """Lone surrogates cannot be looked up."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)
