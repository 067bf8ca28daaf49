"""Reads the requests that are to be indexed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TypeVar

from peewee import Database

from app.db.body_parts import FIRST_PART
from app.db.deleting import SENT
from app.db.raw_sql import stream
from app.db.search.candidate import NO_JSON, Candidate, UnpackBudget
from app.db.search.index.terms import ColumnValues, JsonLeaves, find_json_leaves

T = TypeVar("T")

TEXT_AT_ONCE = 500_000
"""Characters of requests that are indexed at once: a second of work in SQLite's file, and a stop waits for it."""
IN_A_ROW, PAUSE_S = 4, 1e-4
"""After parsing this many requests, in a millisecond or two, the thread pauses: Python would let the loop run only
every 5 ms, and make it wait as long each time it returns from a system call."""
_SELECT = (
    "SELECT seq, received_at, size, target, headers, content_type, data,"
    f" method, CASE WHEN {SENT} THEN response_status END, source_address, complete, provider, event"
    f" FROM capture LEFT JOIN capture_body ON key = {FIRST_PART} WHERE seq > ? ORDER BY seq LIMIT ?"
)


def json_leaves(request: Candidate) -> JsonLeaves:
    """What is indexed of its JSON. One whose body was not unpacked to its end is marked as having more, and is examined
    in every search."""
    return JsonLeaves(more=not request.is_whole) if request.json is NO_JSON else find_json_leaves(request.json)


def read_batch(database: Database, after: int, most: int, convert: Callable[..., T]) -> tuple[list[T], bool]:
    """The next requests numbered above `after`, at most `most`, fewer if they are long, each as what `convert` makes of
    what is read of it; and whether there may be more. Within a transaction."""
    batch: list[T] = []
    length = 0
    for row in _requests_after(database, after, most):
        batch.append(convert(*row))
        length += len(row[3].text)
        if length >= TEXT_AT_ONCE:
            return batch, True
    return batch, len(batch) == most


def _requests_after(
    database: Database, after: int, limit: int
) -> Iterator[tuple[int, int, int, Candidate, ColumnValues]]:
    """Number, when it was received, bytes of the body, and what is indexed."""
    with closing(stream(database, _SELECT, (after, limit))) as rows:
        for at, row in enumerate(rows, 1):
            seq, received_at, size, target, headers, kind, data, method, status, source, complete, provider, event = row
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
            yield seq, received_at, size, request, columns
            if at % IN_A_ROW == 0:
                time.sleep(PAUSE_S)
