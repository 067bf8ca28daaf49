"""Runs a search: batches of summaries, newest first, as they are found.

The list is divided into sections. The index and the marks that few requests have say which requests of a section may
match; `scan.py` reads those, or all of a section.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from threading import Event

from peewee import SqliteDatabase

from app.core.clock import now_us
from app.core.deletion import Hidden
from app.core.model import PageKey, Summary
from app.core.search.query import Query
from app.db.raw_sql import raw
from app.db.readers import Readers
from app.db.search.index.entries import oldest_above
from app.db.search.index.index import Index
from app.db.search.index.planner import to_index_query
from app.db.search.scan import FEW, NEWEST, STEP_S, Scan, Stretch, top
from app.db.search.sql_filter import SqlFilter, plan

FIRST_ROWS, LEAST_ROWS, MOST_ROWS = 100, 20, 20_000
MOST_BEHIND = 20_000
"""With more requests than that yet to be indexed, the index is left alone."""


async def search(
    readers: Readers,
    index: Index,
    query: Query,
    endpoint_id: int | None,
    *,
    before: PageKey | None,
    limit: int,
    searched: Callable[[int], None] | None = None,
    hidden: Hidden | None = None,
) -> AsyncGenerator[list[Summary], None]:
    """At most `limit` summaries in all, none that is `hidden`, in batches that are never empty. To cancel it, close it:
    a step ends soon.

    During a long search, `searched` receives how many of the list's newest requests have been examined.
    """
    scan = Scan(plan=plan(query, now_us()), endpoint_id=endpoint_id, given_up=Event(), hidden=hidden)
    place = min((before or NEWEST, top(scan.plan.before)), key=lambda key: key.received_at)
    progress = ScanProgress(readers, scan, top(scan.plan.before), searched)
    try:
        rows, left = FIRST_ROWS, limit
        async for stretch in _stretches(readers, index, scan.plan, place):
            if stretch.floor is not None and _key(stretch.floor) >= _key(place):
                continue  # looked at already, with requests of a clock that was set back
            at: PageKey | None = place if stretch.seqs is None or stretch.seqs else stretch.floor
            while at is not None and at != stretch.floor:
                if left <= 0 or at.received_at < scan.plan.since:
                    return
                begin = time.perf_counter()
                step = await readers.run(partial(scan.step, stretch=stretch, place=at, rows=rows, most=left))
                rows = _next_rows(rows, time.perf_counter() - begin)
                at, left = step.reached, left - len(step.found)
                await progress.reached(at, found=bool(step.found))
                if step.found:
                    yield step.found
            if stretch.floor is None:
                return
            place = stretch.floor
            await progress.reached(place)
    finally:
        scan.given_up.set()


def _key(place: PageKey) -> tuple[int, str]:
    return place.received_at, place.id


async def _stretches(readers: Readers, index: Index, plan: SqlFilter, place: PageKey) -> AsyncIterator[Stretch]:
    """The list in stretches, newest first, to where nothing more can be found."""
    rows = await readers.run(partial(rows_of, selects=plan.rare, place=place)) if plan.rare else None
    if rows == []:
        return
    if rows is not None:
        place = PageKey(received_at=rows[0][0], id=rows[0][1])
    async for stretch in _by_index(readers, index, plan, place):
        if rows is None:
            yield stretch
            continue
        for part in narrowed(stretch, rows):
            yield part
        rows = below(stretch, rows)
        if not rows:
            return


async def _by_index(readers: Readers, index: Index, plan: SqlFilter, place: PageKey) -> AsyncIterator[Stretch]:
    """Stretches with what the index gives for them, the last without a floor; what is not in it is looked at whole."""
    contents, index_query = index.contents, to_index_query(plan.terms)
    behind, oldest = 0, None
    if index_query is not None and contents.spans:
        behind, oldest = await readers.run(lambda database: oldest_above(database, contents.upto, MOST_BEHIND))
    if index_query is None or not contents.spans or behind >= MOST_BEHIND:
        yield Stretch()
        return
    if oldest is not None and place.received_at >= oldest:
        yield Stretch(floor=top(oldest))
    stored_late = await index.stored_in_gaps(contents)
    zones = [zone for zone in _zones(contents.spans) if zone[0] is None or place.received_at >= zone[0]]
    while zones:
        found = await index.find(index_query, [numbers for _, numbers in zones])
        if found is None:
            yield Stretch()
            return
        for (floor, _), seqs in zip(zones, found, strict=False):
            yield Stretch(floor=None if floor is None else top(floor), seqs=frozenset([*stored_late, *seqs]))
        zones = zones[len(found) :]


def _zones(spans: dict[int, tuple[int, int]]) -> list[tuple[int | None, list[int]]]:
    """Groups of requests as parts of the list, newest first: where each part ends, and which groups lie in it.

    Groups whose times overlap, as after a clock was set back, share a part. The last part goes to the end of the list.
    """
    zones: list[tuple[int, list[int]]] = []
    for number, (oldest, newest) in sorted(spans.items(), key=lambda item: item[1][1], reverse=True):
        if zones and zones[-1][0] <= newest:
            zones[-1] = (min(zones[-1][0], oldest), [*zones[-1][1], number])
        else:
            zones.append((oldest, [number]))
    return [(None if at == len(zones) - 1 else floor, numbers) for at, (floor, numbers) in enumerate(zones)]


def _next_rows(rows: int, adapt: float) -> int:
    """How many rows the next step looks at, so that it takes about `STEP_S`."""
    if adapt > STEP_S:
        return max(LEAST_ROWS, rows // 2)
    return min(MOST_ROWS, rows * 2) if adapt < STEP_S / 2 else rows


EVERY_S = 0.25


class ScanProgress:
    """Counts the requests of the list from `start` on, each once, and passes their number to `searched`."""

    def __init__(self, readers: Readers, scan: Scan, start: PageKey, searched: Callable[[int], None] | None) -> None:
        self._readers, self._scan, self._place, self._searched = readers, scan, start, searched
        self._count = 0
        self._next = time.perf_counter() + EVERY_S

    async def reached(self, place: PageKey | None, found: bool = False) -> None:
        """The search has looked at everything down to `place`; None: to the end of the list. What was `found` there is
        counted before it is reported."""
        late = time.perf_counter() >= self._next or (found and self._count > 0)
        if self._searched is None or place is None or not late:
            return
        self._count += await self._readers.run(partial(self._scan.passed, place=self._place, bottom=place))
        self._place, self._next = place, time.perf_counter() + EVERY_S
        self._searched(self._count)


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
