"""The numbers of a group of requests: the sizes of their bodies, and those that stand in JSON, each with its path."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from app.db.search.index.index_query import Number

SIZE = 0
"""In place of a path."""


@lru_cache(4096)
def path_key(path: str, near: bool = False) -> int:
    """What stands for a path in the table, and for that of rounded numbers at it. Two paths with one key only leave
    fewer requests out, and there is none in 2**32 of them."""
    written = f"{path}{chr(0) if near else ''}".encode()
    return int.from_bytes(blake2b(written, digest_size=8).digest(), "big", signed=True)


def make_table(connection: sqlite3.Connection, number: int) -> None:
    """For a group."""
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS numbers_{number} (path INTEGER NOT NULL, value REAL NOT NULL,"
        " seq INTEGER NOT NULL, PRIMARY KEY (path, value, seq)) STRICT, WITHOUT ROWID"
    )


def add(connection: sqlite3.Connection, number: int, rows: Iterable[tuple[int, float, int]]) -> None:
    """Paths' keys, values and numbers of requests."""
    connection.executemany(f"INSERT OR IGNORE INTO numbers_{number} VALUES (?, ?, ?)", sorted(rows))


def seqs(
    connection: sqlite3.Connection, number: int, asked: Number, paths: Sequence[str], most: int
) -> set[int] | None:
    """The requests of a group that have such a number at one of the paths; None when there are more than `most`."""
    keys = [(path_key(path), asked.strictly) for path in paths] + [(path_key(path, near=True), False) for path in paths]
    found: set[int] = set()
    for key, strictly in keys if asked.steps else [(SIZE, asked.strictly)]:
        where, values = _between(asked, strictly)
        query = f"SELECT seq FROM numbers_{number} WHERE path = ?{where} LIMIT ?"
        found.update(seq for (seq,) in connection.execute(query, (key, *values, most + 1)))
    return found if len(found) <= most else None


def _between(asked: Number, strictly: bool) -> tuple[str, list[float]]:
    ends = ((asked.low, ">" if strictly else ">="), (asked.high, "<" if strictly else "<="))
    told = [(end, sign) for end, sign in ends if end is not None]
    return "".join(f" AND value {sign} ?" for _, sign in told), [end for end, _ in told]
