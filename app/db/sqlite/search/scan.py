"""Reads the list for a search, newest first, in steps so short that other readers never wait long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from threading import Event
from typing import Any

from peewee import SqliteDatabase

from app.core.ids import first_id
from app.core.model import PART_SIZE, PageKey, Summary
from app.core.record import Record
from app.core.redaction.secret import SecretHeaders
from app.db.search.candidate import Candidate, UnpackBudget
from app.db.search.row_filter import meets_all
from app.db.sqlite import body_parts
from app.db.sqlite.raw_sql import json_list, raw
from app.db.sqlite.reads.queries import any_trashed, visible_sql
from app.db.sqlite.reads.records import SUMMARY
from app.db.sqlite.search.sql_filter import Sql, SqlFilter

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

    def step(self, database: SqliteDatabase, section: ListSection, place: PageKey, rows: int, limit: int) -> ScanStep:
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

    def count_between(self, database: SqliteDatabase, place: PageKey, bottom: PageKey | None) -> int:
        """How many requests are between two places, from the list's index alone."""
        where, values = self._between(place, bottom)
        (count,) = raw(database).execute(f"SELECT count(*) FROM capture WHERE {where}", values).fetchone()
        return int(count)

    def _bottom(self, database: SqliteDatabase, section: ListSection, place: PageKey, rows: int) -> PageKey | None:
        """The place `rows` requests further down, from the list's index alone, or where the stretch ends."""
        where, values = self._between(place, section.floor)
        row = (
            raw(database)
            .execute(
                f"SELECT received_at, id FROM capture WHERE {where} ORDER BY {self._order()} LIMIT 1 OFFSET ?",
                (*values, rows - 1),
            )
            .fetchone()
        )
        return section.floor if row is None else PageKey(received_at=row[0], id=row[1])

    def _rows_between(
        self, database: SqliteDatabase, section: ListSection, place: PageKey, bottom: PageKey | None
    ) -> Iterator[tuple[Any, ...]]:
        """The rows between two places that may match, newest first."""
        where, values = self._where(database, place, bottom)
        query = f"SELECT {self._columns()} WHERE {where} ORDER BY {self._order()}"
        rows = raw(database).execute(query, (*self._column_values(), *values))
        seqs = section.seqs
        return rows if seqs is None else (row for row in rows if row[_SEQ] in seqs)

    def _rows_of(self, database: SqliteDatabase, section: ListSection, place: PageKey) -> Iterator[tuple[Any, ...]]:
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

    def _matches(self, database: SqliteDatabase, row: tuple[Any, ...]) -> bool | None:
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

    def _where(self, database: SqliteDatabase, place: PageKey, bottom: PageKey | None) -> Sql:
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


def _part(database: SqliteDatabase, seq: int, number: int) -> bytes:
    """A part of a body, empty after the last."""
    (body_key,) = raw(database).execute("SELECT body_key FROM capture WHERE seq = ?", (seq,)).fetchone()
    return body_parts.read(raw(database), seq, body_key, number * PART_SIZE, (number + 1) * PART_SIZE)
