"""Reads a list step by step, newest first, and examines each request that may match a search: the conditions that the
database cannot evaluate are on headers, JSON, paths, networks and words.

The list is divided into sections. The index and the marks that few requests have say which requests of a section may
match; those are read, or all of a section, in steps so short that other readers never wait long.
"""

from __future__ import annotations

import ipaddress
import operator
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache, partial
from itertools import dropwhile
from threading import Event
from typing import Any

from peewee import Database

from app.core.ids import first_id
from app.core.model import PART_SIZE, PageKey, Summary
from app.core.record import Record
from app.core.redaction.secret import SecretHeaders
from app.core.search.query import All, Choice, Contains, Either, Filter, HeaderTest, JsonTest, Network, Not, Term, Word
from app.db import body_parts
from app.db.queries import any_trashed, visible_sql
from app.db.raw_sql import execute, is_sqlite, json_list, stream
from app.db.records import SUMMARY
from app.db.search.candidate import JSON_NAMES, NO_JSON, Candidate, UnpackBudget, as_number
from app.db.search.sql_filter import Sql, SqlFilter

FEW = 2_000
"""Up to this many requests are read one by one; beyond that, the whole range is read."""
MARKED_MAX = 20_000
"""With more requests marked than that, the list is read instead: the next marked one is not far."""

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
_MARKS = "".join(f" LEFT JOIN {table} ON {table}.capture_seq = capture.seq" for table in _BESIDE)
_BODY = f" LEFT JOIN capture_body ON capture_body.key = {body_parts.FIRST_PART}"


Rows = Generator[tuple[Any, ...], None, None]


class ScanStep(Record, frozen=True):
    """What a step found, newest first, and the place it reached; None: the end of the list. `unexamined` counts
    requests that may match: their bodies were not unpacked to the end."""

    found: list[Summary]
    reached: PageKey | None
    unexamined: int = 0


_LISTED = "SELECT * FROM capture WHERE seq IN numbers(?) OFFSET 0"
"""PostgreSQL would not always begin with the numbers unless they are selected by themselves (`OFFSET`)."""
_LISTED_IN_SQLITE = (
    "SELECT capture.* FROM (SELECT value FROM numbers(?)) AS listed CROSS JOIN capture ON capture.seq = listed.value"
)

ListedRow = tuple[int, str, int]
"""When a request was received, its id and its number."""
KEPT_MAX = 10_000
"""Of so many requests PostgreSQL tells at once that they may match."""
MOST_AT_ONCE = 500
"""Requests that PostgreSQL reads with their bodies at once: it sorts them with what it has read."""


class ListSection(Record, frozen=True):
    """A part of the list, down to `floor` inclusive (None: to the end). Any request of it may match, unless one of
    these tells the only ones that may: their numbers `seqs`, their `rows`, newest first, or `table`, a select of them,
    or of more, from the table `capture`."""

    floor: PageKey | None = None
    seqs: frozenset[int] | None = None
    rows: list[ListedRow] | None = None
    table: Sql | None = None


class Scan:
    """A search of one endpoint's list, or of all (None), in steps that should take about `step_s`. A step that is
    running when it is `cancelled` ends soon. With `secret_headers`, requests are examined without their secrets."""

    def __init__(
        self, sql_filter: SqlFilter, endpoint_id: int | None, secret_headers: SecretHeaders | None, step_s: float
    ) -> None:
        self.sql_filter, self.endpoint_id = sql_filter, endpoint_id
        self._secret_headers, self._step_s = secret_headers, step_s
        self.cancelled, self._budget = Event(), UnpackBudget()
        self._section: ListSection | None = None
        self._rows: list[ListedRow] = []
        """Of that section, those that come next, maybe not all."""
        self._more = False

    def step(self, database: Database, section: ListSection, place: PageKey, rows: int, limit: int) -> ScanStep:
        """Examine about `rows` requests older than `place`, and return at most `limit` matches."""
        end = time.perf_counter() + self._step_s
        found: list[Summary] = []
        unexamined = 0
        with database.atomic():
            by_range = _is_read_by_range(database, section)
            if by_range:
                bottom = self._bottom(database, section, place, rows)
                candidates = self._rows_between(database, section, place, bottom)
            else:
                most = FEW if is_sqlite(database) else min(rows, MOST_AT_ONCE)
                seqs, bottom = self._next_seqs(database, section, place, most)
                candidates = self._rows_numbered(database, seqs)
            with closing(candidates):
                for number, row in enumerate(candidates):
                    if number == 0 and not by_range:  # whatever it took to find these, some are examined
                        end = time.perf_counter() + self._step_s
                    matches = self._matches(database, row)
                    if matches:
                        found.append(SUMMARY.record(row))
                    unexamined += matches is None
                    if len(found) >= limit or time.perf_counter() > end:
                        reached = PageKey(received_at=row[_AT], id=row[_ID])
                        return ScanStep(found=found, reached=reached, unexamined=unexamined)
        return ScanStep(found=found, reached=bottom, unexamined=unexamined)

    def marked_rows(self, database: Database, place: PageKey) -> list[ListedRow] | None:
        """The requests older than `place` that may match by the marks they have, newest first; None when more than
        `MARKED_MAX` have them."""
        selects = self.sql_filter.sparse_selects
        numbers = " UNION ".join(f"SELECT seq FROM ({select} LIMIT {MARKED_MAX + 1}) AS part" for select in selects)
        if execute(database, f"SELECT count(*) FROM ({numbers}) AS marked").fetchone()[0] > MARKED_MAX:
            return None
        where, values = self._where(database, place, None)
        query = (
            f"SELECT received_at, id, seq FROM ({numbers}) AS marked CROSS JOIN capture USING (seq)"
            f" WHERE {where} ORDER BY {self._order()}"
        )
        rows: list[ListedRow] = execute(database, query, values).fetchall()
        return rows

    def count_between(self, database: Database, place: PageKey, bottom: PageKey | None) -> int:
        """How many requests are between two places, from the list's index alone."""
        where, values = self._between(place, bottom)
        (count,) = execute(database, f"SELECT count(*) FROM capture WHERE {where}", values).fetchone()
        return int(count)

    def _bottom(self, database: Database, section: ListSection, place: PageKey, rows: int) -> PageKey | None:
        """The place `rows` requests further down, from the list's index alone, or where the stretch ends."""
        where, values = self._between(place, section.floor)
        statement = f"SELECT received_at, id FROM capture WHERE {where} ORDER BY {self._order()} LIMIT 1 OFFSET ?"
        row = execute(database, statement, (*values, rows - 1)).fetchone()
        return section.floor if row is None else PageKey(received_at=row[0], id=row[1])

    def _rows_between(self, database: Database, section: ListSection, place: PageKey, bottom: PageKey | None) -> Rows:
        """The rows between two places that may match, newest first."""
        where, values = self._where(database, place, bottom)
        query = f"SELECT {self._columns()} WHERE {where} ORDER BY {self._order()}"
        seqs = section.seqs
        with closing(stream(database, query, (*self._column_values(), *values))) as rows:
            yield from rows if seqs is None else (row for row in rows if row[_SEQ] in seqs)

    def _next_seqs(
        self, database: Database, section: ListSection, place: PageKey, most: int
    ) -> tuple[list[int], PageKey | None]:
        """The numbers of the section's next requests that may match, `most` at most, and how far down they reach. More
        are looked up at once and kept for the next steps."""
        if self._section is not section:
            self._section, self._rows, self._more = section, section.rows or [], section.rows is None
        self._rows = list(dropwhile(lambda row: not self._is_below(row, place), self._rows))
        if not self._rows and self._more:
            listed = _LISTED_IN_SQLITE if is_sqlite(database) else _LISTED
            text, given = section.table or (listed, (json_list(section.seqs or ()),))
            where, values = self._where(database, place, section.floor)
            query = f"SELECT received_at, id, seq FROM ({text}) AS capture WHERE {where} ORDER BY {self._order()}"
            most_kept = f" LIMIT {KEPT_MAX}" if section.table else ""
            self._rows = execute(database, query + most_kept, (*given, *values)).fetchall()
            self._more = section.table is not None and len(self._rows) == KEPT_MAX
        part = self._rows[:most]
        at_end = len(part) == len(self._rows) and not self._more
        bottom = section.floor if at_end else PageKey(received_at=part[-1][0], id=part[-1][1])
        return [seq for _, _, seq in part], bottom

    def _is_below(self, row: ListedRow, place: PageKey) -> bool:
        return row[1] < place.id if self.endpoint_id is None else row[:2] < (place.received_at, place.id)

    def _rows_numbered(self, database: Database, seqs: Sequence[int]) -> Rows:
        """The rows with these numbers, newest first, that may match now. SQLite would sort them with their bodies."""
        condition, values = self._condition(database)
        if is_sqlite(database):
            query = f"SELECT {self._columns()} WHERE capture.seq = ? AND {condition}"
            for seq in seqs:
                yield from execute(database, query, (*self._column_values(), seq, *values))
            return
        query = f"SELECT {self._columns(f'({_LISTED}) AS capture')} WHERE {condition} ORDER BY {self._order()}"
        with closing(stream(database, query, (*self._column_values(), json_list(seqs), *values))) as rows:
            yield from rows

    def _columns(self, table: str = "capture") -> str:
        if self.sql_filter.exact:
            return f"{_SUMMARY} FROM {table}{_MARKS}"
        results = "".join(f", ({text})" for _, (text, _) in self.sql_filter.columns)
        return f"{_SUMMARY}, {_DETAILS}{results} FROM {table}{_MARKS}{_BODY}"

    def _column_values(self) -> list[Any]:
        return [value for _, (_, values) in self.sql_filter.columns for value in values]

    def _matches(self, database: Database, row: tuple[Any, ...]) -> bool | None:
        """None when it depends on the part of the body that was not unpacked."""
        if self.sql_filter.exact:
            return True
        headers, source, data, *results = row[SUMMARY.width :]
        columns = {place: bool(result) for (place, _), result in zip(self.sql_filter.columns, results, strict=True)}
        given = {
            "target": row[_TARGET],
            "content_type": row[_TYPE],
            "source": source,
            "headers": headers,
            "data": data,
            "column_results": columns,
        }
        if self._secret_headers is None:
            read = partial(_part, database, row[_SEQ])
            candidate = Candidate(**given, read=read, cancelled=self.cancelled.is_set, budget=self._budget)
        else:
            from app.db.search.redacted import RedactedCandidate  # start-up time: a tenth of it, with all that redacts

            secret_header = self._secret_headers.get(row[_ENDPOINT], "")
            candidate = RedactedCandidate(**given, event=row[_EVENT], secret_header=secret_header)
        return meets_all(candidate, self.sql_filter.terms)

    def _condition(self, database: Database) -> Sql:
        """What the columns of each match meet."""
        condition, values = self.sql_filter.where
        return f"({condition})" + (f" AND {visible_sql()}" if any_trashed(database) else ""), values

    def _where(self, database: Database, place: PageKey, bottom: PageKey | None) -> Sql:
        (between, values), (condition, more) = self._between(place, bottom), self._condition(database)
        return f"{between} AND {condition}", (*values, *more)

    def _between(self, place: PageKey, bottom: PageKey | None) -> Sql:
        """Older than `place`, down to `bottom` inclusive."""
        by_id = self.endpoint_id is None
        columns, marks = ("capture.id", "?") if by_id else ("(capture.received_at, capture.id)", "(?, ?)")
        where = f"{columns} < {marks}" + ("" if bottom is None else f" AND {columns} >= {marks}")
        ends = (end for end in (place, bottom) if end is not None)
        values = [value for end in ends for value in ((end.id,) if by_id else (end.received_at, end.id))]
        return (where, (*values,)) if by_id else (f"capture.endpoint_id = ? AND {where}", (self.endpoint_id, *values))

    def _order(self) -> str:
        # ids sort as times do, and the index on them serves all endpoints
        if self.endpoint_id is None:
            return "capture.id DESC"
        return "capture.received_at DESC, capture.id DESC"


def _is_read_by_range(database: Database, section: ListSection) -> bool:
    """Rather than by the requests that may match, one by one."""
    if section.seqs is not None:
        return is_sqlite(database) and len(section.seqs) > FEW
    return section.rows is None and section.table is None


def _part(database: Database, seq: int, number: int) -> bytes:
    """A part of a body, empty after the last."""
    (body_key,) = execute(database, "SELECT body_key FROM capture WHERE seq = ?", (seq,)).fetchone()
    return body_parts.read(database, seq, body_key, number * PART_SIZE, (number + 1) * PART_SIZE)


VALUES_MAX = 10_000
"""How many values at a path with `*` are examined."""


def meets_all(candidate: Candidate, terms: Iterable[Term]) -> bool | None:
    """Whether the request meets all terms; None when that depends on the part of its body that was not unpacked."""
    return _all(meets(candidate, term) for term in terms)


def meets(candidate: Candidate, term: Term) -> bool | None:
    """The same for one term."""
    if isinstance(term, Word):
        return candidate.has(term.text.casefold())
    if isinstance(term, Not):
        return _opposite(meets(candidate, term.term))
    if isinstance(term, All):
        return meets_all(candidate, term.terms)
    if isinstance(term, Either):
        return _opposite(_all(_opposite(meets(candidate, part)) for part in term.terms))
    return _meets_filter(candidate, term)


def _all(results: Iterable[bool | None]) -> bool | None:
    result: bool | None = True
    for met in results:
        if met is False:
            return False
        result = result and met
    return result


def _opposite(met: bool | None) -> bool | None:
    return None if met is None else not met


def _meets_filter(candidate: Candidate, term: Filter) -> bool | None:
    result = candidate.column_results.get(term.start)
    if result is not None:
        return result
    condition = term.condition
    if isinstance(condition, HeaderTest):
        return _header(candidate, condition)
    if isinstance(condition, JsonTest):
        return _json(candidate, condition)
    if isinstance(condition, Contains):
        return condition.text.casefold() in candidate.target.partition("?")[0].casefold()
    if isinstance(condition, Choice):
        from app.db.search.redacted import RedactedCandidate  # start-up time, as in `Scan`

        assert isinstance(candidate, RedactedCandidate)
        return (candidate.shown_event or "").casefold() == condition.value.casefold()
    if isinstance(condition, Network):
        return _is_in_network(candidate.source, condition.network)
    raise TypeError(f"no filter function for {term.name}:")


def _header(candidate: Candidate, test: HeaderTest) -> bool:
    name, expected = test.name.lower(), test.value.strip().casefold()
    values = [value.strip().casefold() for key, value in candidate.headers if key.lower() == name]
    if test.operator == "exists":
        return bool(values)
    return expected in values if test.operator == "=" else any(expected in value for value in values)


@lru_cache(4096)
def _is_in_network(address: str, network: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found) in ipaddress.ip_network(network)


def _json(candidate: Candidate, test: JsonTest) -> bool | None:
    if candidate.json is NO_JSON:
        return False if candidate.is_whole else None
    values = _at(candidate.json, test.path, [VALUES_MAX])
    if test.operator == "exists":
        return next(values, NO_JSON) is not NO_JSON
    return any(_compare(value, test) for value in values)


def _at(value: Any, path: tuple[str | None, ...], remaining: list[int]) -> Iterator[Any]:
    """The values at `path`; at most `remaining[0]` steps are taken."""
    remaining[0] -= 1
    if remaining[0] < 0:
        return
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        inner = list(value.values()) if step is None else [value[step]] if step in value else []
    elif isinstance(value, list):
        number = int(step) if step is not None and step.isascii() and step.isdigit() and len(step) < 10 else -1
        inner = value if step is None else value[number : number + 1] if number >= 0 else []
    else:
        inner = []
    for one in inner:
        yield from _at(one, rest, remaining)


_BY_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _compare(value: Any, test: JsonTest) -> bool:
    if isinstance(value, dict | list):
        return False
    if test.operator == "~":
        text = JSON_NAMES[value] if value is None or isinstance(value, bool) else str(value)
        return test.value.casefold() in text.casefold()
    compare = _BY_ORDER[test.operator]
    if value is None or isinstance(value, bool):
        return test.operator in ("=", "!=") and compare(JSON_NAMES[value], test.value)
    number, expected = as_number(value), as_number(test.value)
    if number is not None and expected is not None:
        return compare(number, expected)
    if isinstance(value, str) and (expected is None or test.operator in ("=", "!=")):
        return compare(value, test.value)
    return test.operator == "!="
