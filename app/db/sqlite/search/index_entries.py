"""Reads the requests to be indexed from the store, in small batches."""

from __future__ import annotations

import time
from collections.abc import Sequence

from peewee import SqliteDatabase

from app.db.search.candidate import Candidate, UnpackBudget
from app.db.search.index.entry import entry
from app.db.search.index.group import IndexEntry
from app.db.search.index.terms import ColumnValues
from app.db.sqlite.body_parts import FIRST_PART
from app.db.sqlite.raw_sql import raw

IN_A_ROW, PAUSE_S = 4, 1e-4
"""After parsing this many requests, in a millisecond or two, the thread pauses: Python would let the loop run only
every 5 ms, and make it wait as long each time it returns from a system call."""
_SELECT = (
    "SELECT seq, received_at, size, target, headers, content_type, data, method, response_status, source_address,"
    f" complete, provider, event FROM capture LEFT JOIN capture_body ON key = {FIRST_PART}"
)


def next_entries(database: SqliteDatabase, after: int, limit: int) -> list[IndexEntry]:
    """The next requests numbered above `after`."""
    rows = raw(database).execute(f"{_SELECT} WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))
    found: list[IndexEntry] = []
    for seq, at, size, target, headers, kind, data, method, status, source, complete, provider, event in rows:
        request = Candidate(
            target=target,
            content_type=kind,
            source=source,
            headers=headers,
            data=data,
            column_results={},
            budget=UnpackBudget(0),
        )
        columns = ColumnValues(
            method=method, status=status, source=source, complete=bool(complete), provider=provider, event=event
        )
        found.append(entry(seq, at, size, request, columns))
        if len(found) % IN_A_ROW == 0:
            time.sleep(PAUSE_S)
    return found


def oldest_above(database: SqliteDatabase, upto: int, most: int) -> tuple[int, int | None]:
    """How many requests are numbered above `upto`, counted to `most` at most, and when the first of these was
    received."""
    row = (
        raw(database)
        .execute(
            "SELECT count(*), min(received_at) FROM (SELECT received_at FROM capture WHERE seq > ? LIMIT ?)",
            (upto, most),
        )
        .fetchone()
    )
    return row[0], row[1]


def deleted_groups(database: SqliteDatabase, numbers: Sequence[int], group: int) -> list[int]:
    """The groups of which no request is stored any more."""
    query = "SELECT 1 FROM capture WHERE seq BETWEEN ? AND ? LIMIT 1"
    execute = raw(database).execute
    return [number for number in numbers if not execute(query, (number * group, number * group + group - 1)).fetchone()]
