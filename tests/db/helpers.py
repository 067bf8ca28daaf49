"""What several tests of the store do."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from app.core.events import Event
from app.core.model import Capture, Counts
from app.core.record import Headers
from app.db.models import KEYS_PER_BODY, encode_headers
from app.db.part import BackgroundWorker
from app.db.search.candidate import Candidate
from app.db.search.index_terms import ColumnValues
from app.db.sqlite.search import entry as index_entry
from app.db.sqlite.search_group import IndexEntry
from app.db.sqlite.store import Store
from tests import factories
from tests.stored import store_request

BODY = b'{"hello":"world"}'
Place = Path | str
"""Where a store is: SQLite's folder, or PostgreSQL's URL."""
OpenStore = Callable[..., Awaitable[Any]]


async def add(store: Store, endpoint_id: int, body: bytes = BODY, **fields: Any) -> Capture:
    """Store one request with a small body."""
    return await store_request(store.captures, factories.capture(body, endpoint_id=endpoint_id, **fields), body)


async def add_many(store: Store, endpoint_id: int, number: int, **fields: Any) -> list[Capture]:
    """Store so many at once."""
    return list(await asyncio.gather(*(add(store, endpoint_id, **fields) for _ in range(number))))


async def idle(*workers: BackgroundWorker) -> None:
    """Wait until these have done what they were woken for."""
    while tasks := [worker._task for worker in workers if worker._task is not None and not worker._task.done()]:
        await asyncio.wait(tasks)


async def settled(store: Any) -> None:
    """Wait for what goes on behind removals and limits: it would move the numbers between two looks."""
    await idle(store._eviction._worker, store._removed_targets._worker)
    await store._cleanup.run()


def query(place: Place, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Ask the database itself, through a connection of its own. One to PostgreSQL is kept until `close_kept`."""
    if isinstance(place, Path):
        with closing(connect(place)) as connection:
            return connection.execute(statement, values).fetchall()
    if place not in _kept:
        close_kept()
        _kept[place] = connect(place)
        _kept[place].autocommit = True
    return _kept[place].execute(as_asked(place, statement), values).fetchall()


_kept: dict[str, Any] = {}


def close_kept() -> None:
    """To be called before the database is dropped."""
    while _kept:
        _kept.popitem()[1].close()


def write(place: Place, statement: str, *values: object) -> None:
    """Change the database itself, through a connection of its own."""
    with closing(connect(place)) as connection, connection:
        connection.execute(as_asked(place, statement), values)


INTEGRITY_ERRORS = (sqlite3.IntegrityError, psycopg.IntegrityError)
"""What `write` raises when a rule of the database is broken."""


def connect(place: Place) -> Any:
    """A connection to the database itself."""
    if isinstance(place, Path):
        return sqlite3.connect(place / "hookline.db", timeout=20)
    return psycopg.connect(place, options="-c search_path=hookline")


def as_asked(place: Place, statement: str) -> str:
    """With parameters as the database's driver has them."""
    return statement if isinstance(place, Path) else statement.replace("%", "%%").replace("?", "%s")


def last_seen(folder: Path, at_us: int) -> None:
    """Make the store believe that it last saw the time then."""
    write(folder, "UPDATE clock SET seen_at = ?", at_us)


def recount(place: Place) -> dict[int, Counts]:
    """The numbers of every visible endpoint, counted in the database, without what deletions hide."""
    rows = query(
        place,
        "SELECT e.id, count(c.seq), count(c.seq) - coalesce(sum(c.is_read), 0), max(c.received_at)"
        " FROM endpoint e LEFT JOIN capture c ON c.endpoint_id = e.id AND NOT EXISTS"
        " (SELECT 1 FROM trash WHERE trash.endpoint_id = e.id AND c.seq BETWEEN first_seq AND last_seq)"
        " WHERE e.removed = 0 AND e.trashed IS NULL GROUP BY e.id",
    )
    uses = recount_bytes(place)
    return {
        number: Counts(total=total, unread=unread, last_received_at=last, stored_bytes=uses[number])
        for number, total, unread, last in rows
    }


def recount_bytes(place: Place) -> dict[int, int]:
    """What each endpoint's requests take, removed ones too, (0) body parts without a request, and (-1) responses."""
    taken = "1000 + length(target) + length(headers) + size + coalesce(length(trailers), 0)"
    rows = query(
        place,
        f"SELECT e.id, (SELECT coalesce(sum({taken}), 0)"
        " FROM capture WHERE endpoint_id = e.id)"
        " + (SELECT coalesce(sum(400), 0) FROM delivery WHERE delivery.endpoint_id = e.id)"
        " + (SELECT coalesce(sum(200 + length(headers)), 0)"
        " FROM attempt WHERE attempt.endpoint_id = e.id) FROM endpoint e",
    )
    responses = query(place, "SELECT coalesce(sum(length(response_body) + length(response_headers)), 0) FROM attempt")
    number = f"({KEYS_PER_BODY - 1} - key) / {KEYS_PER_BODY}"
    loose = query(
        place, f"SELECT sum(length(data)) FROM capture_body WHERE {number} IN (SELECT number FROM loose_body)"
    )
    return {**dict(rows), 0: loose[0][0] or 0, -1: responses[0][0]}


def check_totals(store: Store, place: Place) -> None:
    """What is counted in memory, of responses and of all else, is what is in the database."""
    expected = recount_bytes(place)
    assert store.limits.use_of_responses().used == expected.pop(-1)
    assert store.limits.use().used == sum(expected.values())


def kept_bytes(place: Place) -> dict[int, int]:
    """The same as the database keeps it, ready for the next start."""
    return dict(query(place, "SELECT owner, bytes FROM storage_use"))


def files(folder: Path) -> dict[str, int]:
    """Names of the files in a folder, with their modes."""
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def of_kind(events: Sequence[Event], kind: type[Event]) -> list[Any]:
    """The published events of one type, in order."""
    return [event for event in events if type(event) is kind]


def candidate(target: str, headers: Headers, body: bytes, content_type: str = "") -> Candidate:
    """A request as searches look at it, though it is stored nowhere."""
    return Candidate(
        target=target,
        content_type=content_type,
        source="127.0.0.1",
        headers=encode_headers(headers),
        data=body,
        column_results={},
    )


def entry(seq: int, target: str, headers: Headers, body: bytes, content_type: str = "") -> IndexEntry:
    """The same as the index takes it."""
    columns = ColumnValues(
        method="POST", status=200, source="127.0.0.1", complete=True, provider="somebody", event=None
    )
    return index_entry(seq, seq, len(body), candidate(target, headers, body, content_type), columns)
