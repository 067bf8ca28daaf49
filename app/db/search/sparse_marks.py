"""Marks that few requests have: a search goes from one of these to the next, past all the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from peewee import SqliteDatabase

from app.core.model import PageKey
from app.db.raw_sql import raw
from app.db.search.scan import FEW, Stretch

MOST = 20_000
"""With more of them than that the list is read: the next one is not far."""
FIRST = 200
"""The first part is smaller, since it is often enough."""

Row = tuple[int, str, int]
"""When a request was received, its id and its number."""


def rows_of(database: SqliteDatabase, selects: Sequence[str], place: PageKey) -> list[Row] | None:
    """The selected requests that are older than `place`, newest first; None when more than `MOST` are selected."""
    numbers = " UNION ".join(f"SELECT seq FROM ({select} LIMIT {MOST + 1})" for select in selects)
    query = f"SELECT received_at, id, seq FROM ({numbers}) AS marked CROSS JOIN capture USING (seq)"
    rows: list[Row] = raw(database).execute(query).fetchall()
    if len(rows) > MOST:
        return None
    return sorted((row for row in rows if row[:2] < (place.received_at, place.id)), reverse=True)


def narrowed(stretch: Stretch, rows: Sequence[Row]) -> Iterator[Stretch]:
    """The stretch in parts that hold at most `FEW` of its requests, each one of `rows`, which begin where it does."""
    floor, seqs = stretch.floor, stretch.seqs
    inside = [
        row
        for row in rows
        if (floor is None or row[:2] >= (floor.received_at, floor.id)) and (seqs is None or row[2] in seqs)
    ]
    size = min(FIRST, FEW)
    while len(inside) > size:
        part, inside, size = inside[:size], inside[size:], FEW
        last = PageKey(received_at=part[-1][0], id=part[-1][1])
        yield Stretch(floor=last, seqs=frozenset(seq for _, _, seq in part))
    yield Stretch(floor=floor, seqs=frozenset(seq for _, _, seq in inside))


def below(stretch: Stretch, rows: Sequence[Row]) -> list[Row]:
    """Those of the rows that follow the stretch."""
    floor = stretch.floor
    return [] if floor is None else [row for row in rows if row[:2] < (floor.received_at, floor.id)]
