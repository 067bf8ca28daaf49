"""Gives requests that an older version stored a gist in the background, newest first.

New requests are stored with a gist, so those without one are the oldest. If the very oldest has one there is nothing to
do; otherwise all requests are read once, from the newest to the oldest.
"""

from __future__ import annotations

import time

from peewee import SqliteDatabase

from app.core.gist.gist import gist
from app.core.model import Record
from app.db.insert import decode_headers
from app.db.raw_sql import raw
from app.db.schema import PARTS_PER_BODY

LOOK_S = 0.008
"""Seconds one step may take: it holds the interpreter lock, so a longer one would block the window."""
SPAN = 4_096
"""Maximum rows one step reads: rows have to be read to see whether they have a gist."""

_OLDEST = "SELECT gist IS NULL FROM capture ORDER BY seq LIMIT 1"
_LACKING = (
    "SELECT c.seq, c.id, c.method, c.target, c.headers, c.content_type, c.size, c.complete, b.data FROM capture c"
    " LEFT JOIN capture_body b ON b.key = c.seq * ? WHERE c.gist IS NULL AND c.seq > ? AND c.seq < ?"
    " ORDER BY c.seq DESC LIMIT ?"
)


class Described(Record, frozen=True):
    """Number, id and gist of each request. All from `below` up are done."""

    gists: list[tuple[int, str, str]]
    below: int


def begin(database: SqliteDatabase) -> int:
    """The number below which requests may lack a gist; 0 if none do. Call before identifying starts: that gives gists
    too, perhaps to the oldest request first."""
    connection = raw(database)
    oldest = connection.execute(_OLDEST).fetchone()
    if oldest is None or not oldest[0]:
        return 0
    (newest,) = connection.execute("SELECT max(seq) FROM capture").fetchone()
    return int(newest) + 1


def describe(database: SqliteDatabase, below: int, limit: int) -> Described:
    """Describe the newest requests below that lack a gist: at most `limit`, fewer if that takes long."""
    end, found = time.perf_counter() + LOOK_S, []
    lowest = max(0, below - SPAN - 1)
    with database.atomic():
        rows = raw(database).execute(_LACKING, (PARTS_PER_BODY, lowest, below, limit))
        for seq, name, method, target, headers, content_type, size, complete, body in rows:
            text = gist(
                method, target, decode_headers(headers), content_type, body or b"", size=size, complete=bool(complete)
            )
            found.append((seq, name, text))
            if len(found) == limit or time.perf_counter() > end:
                return Described(gists=found, below=seq)
        (rest,) = raw(database).execute("SELECT max(seq) FROM capture WHERE seq <= ?", (lowest,)).fetchone()
    return Described(gists=found, below=0 if rest is None else rest + 1)


def store_gists(database: SqliteDatabase, _: int, *, gists: list[tuple[int, str, str]]) -> None:
    """Gists of requests deleted in the meantime are dropped."""
    values = [(text, seq) for seq, _, text in gists]
    raw(database).executemany("UPDATE capture SET gist = ? WHERE seq = ? AND gist IS NULL", values)
