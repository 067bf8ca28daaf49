"""What the index can tell of its runs of three characters: which of a group begin with a text, and which are rare."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence

from app.db.search.index.trigrams import GRAM, LAST_RUN

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
TABLE = "USING fts5 (words, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1')"


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
        self._connection, self._name = connection, f"temp.runs_{number}"
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
