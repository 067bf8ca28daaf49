"""Runs a search: batches of summaries, newest first, as they are found.

The list is divided into sections. The index and the marks that few requests have say which requests of a section may
match; those are read, or all of a section, in steps so short that other readers never wait long.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterator, Sequence
from functools import partial
from threading import Event
from typing import Any

from peewee import Database

from app.core.clock import now_us
from app.core.ids import first_id
from app.core.model import PART_SIZE, PageKey, Summary
from app.core.record import Record
from app.core.redaction.secret import SecretHeaders
from app.core.search.query import Query, Term
from app.db import body_parts
from app.db.part import Part, Readers, Shared
from app.db.queries import any_trashed, numbers_of, visible_sql
from app.db.raw_sql import json_list, raw
from app.db.records import SUMMARY
from app.db.search.candidate import Candidate, UnpackBudget
from app.db.search.index.planner import to_index_query
from app.db.search.redacted_query import indexed_terms, shown_events
from app.db.search.row_filter import meets_all
from app.db.sqlite.search.indexing import Index, oldest_above
from app.db.sqlite.search.sql_filter import Sql, SqlFilter, to_sql_filter

STEP_S = 0.02
"""About how long a step should take."""
FEW = 2_000
"""Up to this many requests are read one by one; beyond that, the whole range is read."""

NEWEST = PageKey(received_at=2**63 - 1, id="~")
"""Before any place in a list."""


LAST_TIME = 2**48 * 1000
"""The latest time that an id can hold, in microseconds."""


def place_before(at: int) -> PageKey:
    """The place just before all requests received earlier than `at`."""
    return PageKey(received_at=at, id=first_id(at)) if at < LAST_TIME else NEWEST


_SUMMARY = ", ".join(f"{column.model._meta.table_name}.{column.column_name}" for column in SUMMARY.columns)
_DETAILS = "capture.headers, capture.source_address, capture_body.data"
_ID, _AT, _TARGET, _TYPE, _ENDPOINT, _EVENT = map(
    SUMMARY.position, ("id", "received_at", "target", "content_type", "endpoint_id", "event")
)
_SEQ = SUMMARY.position("seq")
_BESIDE = ("capture_response", "capture_star", "capture_note")
_WITH_MARKS = "capture" + "".join(f" LEFT JOIN {table} ON {table}.capture_seq = capture.seq" for table in _BESIDE)
_WITH_BODY = f"{_WITH_MARKS} LEFT JOIN capture_body ON capture_body.key = {body_parts.FIRST_PART}"


class ScanStep(Record, frozen=True):
    """What a step found, newest first, and the place it reached; None: the end of the list. `unexamined` counts
    requests that may match: their bodies were not unpacked to the end."""

    found: list[Summary]
    reached: PageKey | None
    unexamined: int = 0


class ListSection(Record, frozen=True):
    """A part of the list, down to `floor` inclusive (None: to the end). `seqs` are the numbers of the only requests in
    it that may match (None: any may)."""

    floor: PageKey | None = None
    seqs: frozenset[int] | None = None


class Scan(Record, frozen=True):
    """A search of one endpoint's list, or of all (None). A step that is running when it is `cancelled` ends soon. With
    `secret_headers`, requests are examined without their secrets."""

    sql_filter: SqlFilter
    endpoint_id: int | None
    cancelled: Event
    budget: UnpackBudget
    secret_headers: SecretHeaders | None = None

    def step(self, database: Database, section: ListSection, place: PageKey, rows: int, limit: int) -> ScanStep:
        """Examine about `rows` requests older than `place`, and return at most `limit` matches."""
        end = time.perf_counter() + STEP_S
        found: list[Summary] = []
        unexamined = 0
        with database.atomic():
            if section.seqs is not None and len(section.seqs) <= FEW:
                bottom = section.floor
                candidates = self._rows_of(database, section, place)
            else:
                bottom = self._bottom(database, section, place, rows)
                candidates = self._rows_between(database, section, place, bottom)
            for row in candidates:
                matches = self._matches(database, row)
                if matches:
                    found.append(SUMMARY.record(row))
                unexamined += matches is None
                if len(found) >= limit or time.perf_counter() > end:
                    reached = PageKey(received_at=row[_AT], id=row[_ID])
                    return ScanStep(found=found, reached=reached, unexamined=unexamined)
        return ScanStep(found=found, reached=bottom, unexamined=unexamined)

    def count_between(self, database: Database, place: PageKey, bottom: PageKey | None) -> int:
        """How many requests are between two places, from the list's index alone."""
        where, values = self._between(place, bottom)
        (count,) = raw(database).execute(f"SELECT count(*) FROM capture WHERE {where}", values).fetchone()
        return int(count)

    def _bottom(self, database: Database, section: ListSection, place: PageKey, rows: int) -> PageKey | None:
        """The place `rows` requests further down, from the list's index alone, or where the stretch ends."""
        where, values = self._between(place, section.floor)
        statement = f"SELECT received_at, id FROM capture WHERE {where} ORDER BY {self._order()} LIMIT 1 OFFSET ?"
        row = raw(database).execute(statement, (*values, rows - 1)).fetchone()
        return section.floor if row is None else PageKey(received_at=row[0], id=row[1])

    def _rows_between(
        self, database: Database, section: ListSection, place: PageKey, bottom: PageKey | None
    ) -> Iterator[tuple[Any, ...]]:
        """The rows between two places that may match, newest first."""
        where, values = self._where(database, place, bottom)
        query = f"SELECT {self._columns()} WHERE {where} ORDER BY {self._order()}"
        rows = raw(database).execute(query, (*self._column_values(), *values))
        seqs = section.seqs
        return rows if seqs is None else (row for row in rows if row[_SEQ] in seqs)

    def _rows_of(self, database: Database, section: ListSection, place: PageKey) -> Iterator[tuple[Any, ...]]:
        """The rows of a section with few `seqs`, newest first. They are sorted before their bodies are read."""
        where, values = self._where(database, place, section.floor)
        connection = raw(database)
        # json_each has an `id` of its own, which would make that of `capture` ambiguous
        candidates = "(SELECT value FROM json_each(?)) AS listed"
        keys = connection.execute(
            f"SELECT capture.seq FROM {candidates} CROSS JOIN capture ON capture.seq = listed.value"
            f" WHERE {where} ORDER BY {self._order()}",
            (json_list(section.seqs or ()), *values),
        ).fetchall()
        query = f"SELECT {self._columns()} WHERE capture.seq = ?"
        for (seq,) in keys:
            yield from connection.execute(query, (*self._column_values(), seq))

    def _columns(self) -> str:
        if self.sql_filter.exact:
            return f"{_SUMMARY} FROM {_WITH_MARKS}"
        results = "".join(f", ({text})" for _, (text, _) in self.sql_filter.columns)
        return f"{_SUMMARY}, {_DETAILS}{results} FROM {_WITH_BODY}"

    def _column_values(self) -> list[Any]:
        return [value for _, (_, values) in self.sql_filter.columns for value in values]

    def _matches(self, database: Database, row: tuple[Any, ...]) -> bool | None:
        """None when it depends on the part of the body that was not unpacked."""
        if self.sql_filter.exact:
            return True
        headers, source, data, *results = row[SUMMARY.width :]
        columns = {place: bool(result) for (place, _), result in zip(self.sql_filter.columns, results, strict=True)}
        candidate: Candidate
        if self.secret_headers is None:
            candidate = Candidate(
                target=row[_TARGET],
                content_type=row[_TYPE],
                source=source,
                headers=headers,
                data=data,
                column_results=columns,
                read=partial(_part, database, row[_SEQ]),
                cancelled=self.cancelled.is_set,
                budget=self.budget,
            )
        else:
            from app.db.search.redacted import RedactedCandidate  # start-up time, as in `row_filter.py`

            candidate = RedactedCandidate(
                target=row[_TARGET],
                event=row[_EVENT],
                secret_header=self.secret_headers.get(row[_ENDPOINT], ""),
                content_type=row[_TYPE],
                source=source,
                headers=headers,
                data=data,
                column_results=columns,
            )
        return meets_all(candidate, self.sql_filter.terms)

    def _where(self, database: Database, place: PageKey, bottom: PageKey | None) -> Sql:
        between, values = self._between(place, bottom)
        condition, more = self.sql_filter.where
        visible = f" AND {visible_sql()}" if any_trashed(database) else ""
        return f"{between} AND ({condition}){visible}", (*values, *more)

    def _between(self, place: PageKey, bottom: PageKey | None) -> Sql:
        """Older than `place`, down to `bottom` inclusive."""
        older, values = self._older(place)
        if bottom is None:
            return older, values
        newer, more = self._newer(bottom)
        return f"{older} AND {newer}", (*values, *more)

    def _order(self) -> str:
        # ids sort as times do, and the index on them serves all endpoints
        if self.endpoint_id is None:
            return "capture.id DESC"
        return "capture.received_at DESC, capture.id DESC"

    def _older(self, place: PageKey) -> Sql:
        if self.endpoint_id is None:
            return "capture.id < ?", (place.id,)
        values = (self.endpoint_id, place.received_at, place.id)
        return "capture.endpoint_id = ? AND (capture.received_at, capture.id) < (?, ?)", values

    def _newer(self, bottom: PageKey) -> Sql:
        """From `bottom` upwards, inclusive."""
        if self.endpoint_id is None:
            return "capture.id >= ?", (bottom.id,)
        return "(capture.received_at, capture.id) >= (?, ?)", (bottom.received_at, bottom.id)


def _part(database: Database, seq: int, number: int) -> bytes:
    """A part of a body, empty after the last."""
    (body_key,) = raw(database).execute("SELECT body_key FROM capture WHERE seq = ?", (seq,)).fetchone()
    return body_parts.read(raw(database), seq, body_key, number * PART_SIZE, (number + 1) * PART_SIZE)


FIRST_ROWS, LEAST_ROWS, MOST_ROWS = 100, 20, 20_000
UNINDEXED_MAX = 20_000
"""With this many requests not yet indexed, the index is not used."""


class Search(Part):
    def __init__(self, shared: Shared, index: Index) -> None:
        super().__init__(shared)
        self._index = index

    async def search(
        self,
        query: Query,
        endpoint_id: int | None,
        *,
        before: PageKey | None = None,
        limit: int = 100,
        searched: Callable[[int], None] | None = None,
        unexamined: Callable[[int], None] | None = None,
        secret_headers: SecretHeaders | None = None,
    ) -> AsyncGenerator[list[Summary], None]:
        """The requests that match the query, newest first: at most `limit` summaries in total, older than `before`, in
        batches that are never empty. Closing the generator cancels the search.

        During a long search, `searched` receives how many of the list's newest requests have been examined.
        `unexamined` receives the numbers of requests, as they are found, that may match and are left out: what their
        bodies unpack to is too long. With `secret_headers`, requests are examined without their secrets.
        """
        if endpoint_id is not None and not self._request_counts.of(endpoint_id).total:
            return  # a reader would pass each of those that are deleted
        scan = _scan(query, endpoint_id, secret_headers)
        narrowing = query.terms if secret_headers is None else indexed_terms(query)
        place = min((before or NEWEST, place_before(scan.sql_filter.before)), key=lambda key: key.received_at)
        progress = ScanProgress(self._readers, scan, place_before(scan.sql_filter.before), searched)
        try:
            rows, left = FIRST_ROWS, limit
            async for section in self._sections(scan.sql_filter, narrowing, place):
                if section.floor is not None and _key(section.floor) >= _key(place):
                    continue  # scanned already, along with requests received after the clock was set back
                at: PageKey | None = place if section.seqs is None or section.seqs else section.floor
                while at is not None and at != section.floor:
                    if left <= 0 or at.received_at < scan.sql_filter.since:
                        return
                    begin = time.perf_counter()
                    job = partial(scan.step, section=section, place=at, rows=rows, limit=left)
                    step = await self._readers.run(job, slow=True)
                    rows = _next_rows(rows, time.perf_counter() - begin)
                    at, left = step.reached, left - len(step.found)
                    if step.unexamined and unexamined is not None:
                        unexamined(step.unexamined)
                    await progress.reached(at, found=bool(step.found))
                    if step.found:
                        yield step.found
                if section.floor is None:
                    return
                place = section.floor
                await progress.reached(place)
        finally:
            scan.cancelled.set()

    async def matching(
        self, query: Query, ids: Collection[str], secret_headers: SecretHeaders | None = None
    ) -> set[str]:
        """Which of these requests match the query, at most `FEW`; `secret_headers` as in a search."""
        scan = _scan(query, None, secret_headers)
        section = ListSection(seqs=await self._readers.run(lambda database: numbers_of(database, ids)))
        found: set[str] = set()
        place: PageKey | None = NEWEST
        try:
            while place is not None and section.seqs:
                job = partial(scan.step, section=section, place=place, rows=FEW, limit=len(section.seqs) + 1)
                step = await self._readers.run(job, slow=True)
                found.update(summary.id for summary in step.found)
                place = step.reached
        finally:
            scan.cancelled.set()
        return found

    async def _sections(
        self, sql_filter: SqlFilter, narrowing: Sequence[Term], place: PageKey
    ) -> AsyncIterator[ListSection]:
        """The list in sections, newest first, to where nothing more can be found. `narrowing` are the terms that the
        index is asked about."""
        rows: list[MarkedRow] | None = None
        if sql_filter.sparse_selects:
            job = partial(marked_rows, selects=sql_filter.sparse_selects, place=place)
            rows = await self._readers.run(job, slow=True)
        if rows == []:
            return
        if rows is not None:
            place = PageKey(received_at=rows[0][0], id=rows[0][1])
        async for section in self._by_index(narrowing, place):
            if rows is None:
                yield section
                continue
            for part in split(section, rows):
                yield part
            rows = rows_after(section, rows)
            if not rows:
                return

    async def _by_index(self, narrowing: Sequence[Term], place: PageKey) -> AsyncIterator[ListSection]:
        """Sections with the requests that the index finds in them, the last without a floor. Where nothing is indexed,
        any request of a section may match."""
        contents, index_query = self._index.contents, to_index_query(narrowing)
        unindexed, oldest = 0, None
        if index_query is not None and contents.spans:
            job = partial(oldest_above, upto=contents.upto, most=UNINDEXED_MAX)
            unindexed, oldest = await self._readers.run(job, slow=True)
        if index_query is None or not contents.spans or unindexed >= UNINDEXED_MAX:
            yield ListSection()
            return
        if oldest is not None and place.received_at >= oldest:
            yield ListSection(floor=place_before(oldest))
        zones = [zone for zone in _zones(contents.spans) if zone[0] is None or place.received_at >= zone[0]]
        while zones:
            found = await self._index.find(index_query, [numbers for _, numbers in zones])
            if found is None:
                yield ListSection()
                return
            for (floor, _), seqs in zip(zones, found, strict=False):
                yield ListSection(floor=None if floor is None else place_before(floor), seqs=frozenset(seqs))
            zones = zones[len(found) :]


def _scan(query: Query, endpoint_id: int | None, secret_headers: SecretHeaders | None) -> Scan:
    return Scan(
        sql_filter=to_sql_filter(query if secret_headers is None else shown_events(query), now_us()),
        endpoint_id=endpoint_id,
        cancelled=Event(),
        budget=UnpackBudget(),
        secret_headers=secret_headers,
    )


def _key(place: PageKey) -> tuple[int, str]:
    return place.received_at, place.id


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


def _next_rows(rows: int, seconds: float) -> int:
    """How many rows the next step examines, so that it takes about `STEP_S`."""
    if seconds > STEP_S:
        return max(LEAST_ROWS, rows // 2)
    return min(MOST_ROWS, rows * 2) if seconds < STEP_S / 2 else rows


PROGRESS_S = 0.25


class ScanProgress:
    """Counts the examined requests from `start` on, each once, and passes their number to `searched`."""

    def __init__(self, readers: Readers, scan: Scan, start: PageKey, searched: Callable[[int], None] | None) -> None:
        self._readers, self._scan, self._place, self._searched = readers, scan, start, searched
        self._count = 0
        self._next = time.perf_counter() + PROGRESS_S

    async def reached(self, place: PageKey | None, found: bool = False) -> None:
        """The search has examined everything down to `place`; None: to the end of the list. With something `found`
        there, the count is updated at once."""
        late = time.perf_counter() >= self._next or (found and self._count > 0)
        if self._searched is None or place is None or not late:
            return
        job = partial(self._scan.count_between, place=self._place, bottom=place)
        self._count += await self._readers.run(job, slow=True)
        self._place, self._next = place, time.perf_counter() + PROGRESS_S
        self._searched(self._count)


MARKED_MAX = 20_000
"""With more requests marked than that, the list is read instead: the next marked one is not far."""
FIRST_PART = 200
"""The first part is smaller, since it is often enough."""

MarkedRow = tuple[int, str, int]
"""When a request was received, its id and its number."""


def marked_rows(database: Database, selects: Sequence[str], place: PageKey) -> list[MarkedRow] | None:
    """The selected requests older than `place`, newest first; None when more than `MARKED_MAX` are selected."""
    numbers = " UNION ".join(f"SELECT seq FROM ({select} LIMIT {MARKED_MAX + 1})" for select in selects)
    query = f"SELECT received_at, id, seq FROM ({numbers}) AS marked CROSS JOIN capture USING (seq)"
    rows: list[MarkedRow] = raw(database).execute(query).fetchall()
    if len(rows) > MARKED_MAX:
        return None
    return sorted((row for row in rows if row[:2] < (place.received_at, place.id)), reverse=True)


def split(section: ListSection, rows: Sequence[MarkedRow]) -> Iterator[ListSection]:
    """The section in parts of at most `FEW` requests, only those in `rows`, which start no later than the section
    does."""
    floor, seqs = section.floor, section.seqs
    inside = [
        row
        for row in rows
        if (floor is None or row[:2] >= (floor.received_at, floor.id)) and (seqs is None or row[2] in seqs)
    ]
    size = min(FIRST_PART, FEW)
    while len(inside) > size:
        part, inside, size = inside[:size], inside[size:], FEW
        last = PageKey(received_at=part[-1][0], id=part[-1][1])
        yield ListSection(floor=last, seqs=frozenset(seq for _, _, seq in part))
    yield ListSection(floor=floor, seqs=frozenset(seq for _, _, seq in inside))


def rows_after(section: ListSection, rows: Sequence[MarkedRow]) -> list[MarkedRow]:
    """The rows that come after the section."""
    floor = section.floor
    return [] if floor is None else [row for row in rows if row[:2] < (floor.received_at, floor.id)]
