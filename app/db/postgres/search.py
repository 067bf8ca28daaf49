"""The search in PostgreSQL: what the index knows of requests is part of the statement that reads some of them.

The texts and the keys of requests are stored in the background: in small batches on its own thread and connection, one
node at a time. They are in groups, by the numbers of their requests: each a table of its own, which gets the index of
its texts once it is full (to build it takes a third of the time that adding each text takes) and is dropped when all
its requests are deleted. A search looks through the groups, newest first, so that what many requests have is found
without looking at them all, and what few have in an index of each group.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

import psycopg
from peewee import Database, PeeweeException

from app.core.errors import StorageUnavailableError
from app.core.model import PageKey
from app.core.record import Record
from app.core.search.query import Term
from app.db.postgres.database import PostgresDatabase, is_refused, trouble
from app.db.postgres.group_filter import (
    FALSE,
    PAIRS,
    Facts,
    asked_pairs,
    counted_keys,
    keys_of,
    pairs_of,
    stored,
    to_sql,
)
from app.db.postgres.schema import INDEX_LOCK, TEXT_LOCK
from app.db.raw_sql import execute, json_list, raw
from app.db.search.background_index import BackgroundIndex, json_leaves, read_batch
from app.db.search.candidate import Candidate
from app.db.search.index_query import IndexQuery, to_index_query
from app.db.search.index_terms import INDEXED, ColumnValues, combined_text
from app.db.search.scan import ListSection
from app.db.search.search import Search as AnySearch
from app.db.search.search import zones
from app.db.search.sql_filter import TRUE, Sql

log = logging.getLogger(__name__)
T = TypeVar("T")

GROUP = 32_768
"""Numbers of requests in a group: to look at the texts of one without an index takes some 30 ms."""
CANCEL_S = 2.0
MISSING = (
    "Searches are slower than they could be: the database lacks the extension pg_trgm. Have an administrator of the"
    " database server run CREATE EXTENSION pg_trgm in it, then restart Hookline."
)
_OPERATORS = (
    "SELECT quote_ident(nspname) FROM pg_opclass JOIN pg_namespace ON pg_namespace.oid = opcnamespace"
    " WHERE opcname = 'gin_trgm_ops'"
)
PATHS_MAX = 1_000
"""The most paths in the JSON of a group's requests that are known."""
_EXTEND = f"""INSERT INTO search_group AS known (first, upto, oldest, newest, pairs, paths)
    VALUES (?, ?, ?, ?, CAST(? AS bit({PAIRS})), names(?))
    ON CONFLICT (first) DO UPDATE SET upto = excluded.upto,
        oldest = least(known.oldest, excluded.oldest), newest = greatest(known.newest, excluded.newest),
        pairs = CASE WHEN known.pairs & excluded.pairs = excluded.pairs THEN known.pairs
            ELSE known.pairs | excluded.pairs END, -- a value that stays is not logged again
        paths = CASE WHEN cardinality(known.paths) <= {PATHS_MAX}
            THEN ARRAY(SELECT unnest(known.paths) UNION SELECT unnest(excluded.paths)) END"""
COUNTED = 16
"""Keys that fewer requests of a group have are not counted."""
_COUNT = f"""INSERT INTO search_count (first, key, requests)
    SELECT ?, key, count(*) FROM {{texts}}, unnest(keys) AS key GROUP BY key HAVING count(*) >= {COUNTED}"""
_PIECES = """SELECT DISTINCT match[1] AS piece
    FROM (SELECT text FROM {texts} LIMIT 1) AS one, regexp_matches(text, '\n*[^\\s"]+', 'g') AS match LIMIT 200"""
_FINISH = f"""UPDATE search_group SET indexed = true, common = ARRAY(SELECT piece FROM ({_PIECES}) AS pieces
    WHERE NOT EXISTS (SELECT 1 FROM {{texts}} WHERE strpos(text, piece) = 0)) WHERE first = ?"""
"""Of the pieces of one text, those that occur in all are in common."""


class Row(NamedTuple):
    """What is stored of a request. `always`: every search examines it, for more may be found in it than is in its
    text."""

    seq: int
    received_at: int
    always: bool
    text: str
    keys: set[int]
    paths: frozenset[str]


def row_of(seq: int, received_at: int, size: int, request: Candidate, columns: ColumnValues) -> Row:
    """Unlike SQLite's, the text is whole also in readable form, so that words of any length are found in it as they
    are."""
    readable = request.readable_texts() if len(request.text) <= INDEXED else []
    always, text = combined_text(request, readable)
    leaves = json_leaves(request)
    keys = keys_of(columns, request.target, request.headers, leaves, size)
    return Row(seq, received_at, always, stored(text), keys, leaves.paths)


class Index(BackgroundIndex):
    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__()
        self._database, self._is_building = database, False
        self._connection: psycopg.Connection[Any] | None = None

    def start(self, newest: int) -> None:
        """`newest` is the highest number of a request so far."""
        self._waiting = newest
        if self._many_wait():
            self._worker.wake()

    async def _interrupt(self) -> None:
        if self._is_building and self._connection is not None:
            with suppress(psycopg.Error):  # it may be building an index, which goes on with the next start
                await asyncio.to_thread(self._connection.cancel_safe, timeout=CANCEL_S)

    async def _run(self) -> None:
        if self._cancelled:
            return
        try:
            await self._follow()
        except (psycopg.Error, PeeweeException) as error:
            await self._on_thread(self._close)
            if trouble(error) is None and not is_refused(error):
                raise
            raise StorageUnavailableError(str(error)) from error
        except Exception:
            log.exception("the search index is given up until the next start")
            self._cancelled = True
            await self._on_thread(self._close)

    async def _follow(self) -> None:
        """Store the texts that wait, and remove those of deleted requests, unless another node does."""
        self._waiting = 0
        if not await self._on_thread(self._begin):
            return
        left = None
        while left is None:
            begin, captured = time.perf_counter(), self._captured
            left = await self._on_thread(self._add)
            await self._rest(begin, captured)
        self._waiting += left  # searches examine the last few one by one
        await self._on_thread(self._tidy)

    # -- on the index's thread -----------------------------------------------------------------------------------

    def _begin(self) -> bool:
        """Whether no other node is at it."""
        if self._database.is_closed():
            self._database.connect()
            self._connection = raw(self._database)
            # To build an index takes longer than other statements may.
            execute(self._database, "SET statement_timeout TO 0; SET lock_timeout TO 0; SET synchronous_commit TO off")
        return bool(execute(self._database, f"SELECT pg_try_advisory_lock({INDEX_LOCK})").fetchone()[0])

    def _add(self) -> int | None:
        """Store the texts of some requests, unless the last few are left: returns how many."""
        database = self._database
        with database.atomic():
            execute(database, f"SELECT pg_advisory_xact_lock({TEXT_LOCK})")
            (upto,) = execute(database, "SELECT coalesce(max(upto), 0) FROM search_group").fetchone()
            rows, more = read_batch(database, upto, row_of)
            if not more:
                return len(rows)
            for place in sorted({row.seq // GROUP for row in rows}):
                self._add_to_group(place * GROUP, [row for row in rows if row.seq // GROUP == place])
        return None

    def _add_to_group(self, first: int, rows: list[Row]) -> None:
        connection, times = raw(self._database), [row.received_at for row in rows]
        name = f"search_text_{first}"
        if connection.execute("SELECT to_regclass(%s)", (name,)).fetchone()[0] is None:
            # To attach a table waits for nobody who reads; to create it as a partition would.
            bounds = f"FROM ({first}) TO ({first + GROUP})"
            connection.execute(f"CREATE TABLE {name} (LIKE search_text INCLUDING ALL)")
            # Planning would take longer than the search with what the server knows of so long texts.
            connection.execute(
                f"ALTER TABLE {name} ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN keys SET STATISTICS 0"
            )
            connection.execute(f"ALTER TABLE search_text ATTACH PARTITION {name} FOR VALUES {bounds}")
        columns = "capture_seq, always, text, keys"
        with connection.cursor() as cursor, cursor.copy(f"COPY {name} ({columns}) FROM STDIN") as copy:
            for row in rows:
                keys = ",".join(map(str, row.keys))
                copy.write_row((row.seq, "t" if row.always else "f", row.text, f"{{{keys}}}"))
        pairs, paths = bytearray(b"0" * PAIRS), set[str]()
        for row in rows:
            paths |= row.paths
        for place in pairs_of(*(row.text for row in rows)):
            pairs[place] = ord("1")
        values = first, rows[-1].seq, min(times), max(times), pairs.decode(), json_list(paths)
        execute(self._database, _EXTEND, values)

    def _tidy(self) -> None:
        """Drop the groups whose requests are all deleted, and give those that are full their index."""
        database, upto = self._database, 0
        groups = execute(database, "SELECT first, upto, indexed FROM search_group ORDER BY first").fetchall()
        operators = operators_of(database)
        if groups:
            upto = groups[-1][1]
        for first, _, indexed in groups:
            end = first + GROUP
            if end > upto:
                continue
            kept = "SELECT EXISTS (SELECT 1 FROM capture WHERE seq >= ? AND seq < ?)"
            if not execute(database, kept, (first, end)).fetchone()[0]:
                with database.atomic():
                    execute(database, "DELETE FROM search_count WHERE first = ?", (first,))
                    execute(database, "DELETE FROM search_group WHERE first = ?", (first,))
                    execute(database, f"DROP TABLE search_text_{first}")
            elif operators is not None and not indexed:
                self._is_building = True
                try:
                    self._build(first, operators)
                finally:
                    self._is_building = False
        execute(database, f"SELECT pg_advisory_unlock({INDEX_LOCK})")

    def _build(self, first: int, operators: str) -> None:
        """Without a lock that deletions would wait for; what is there is what a stop has left."""
        texts = f"search_text_{first}"
        execute(self._database, f"DROP INDEX CONCURRENTLY IF EXISTS {texts}_text")
        execute(
            self._database,
            f"CREATE INDEX CONCURRENTLY {texts}_text ON {texts} USING gin (text {operators}.gin_trgm_ops)",
        )
        with self._database.atomic():
            execute(self._database, _COUNT.format(texts=texts), (first,))
            execute(self._database, _FINISH.format(texts=texts), (first,))

    def _close(self) -> None:
        self._connection = None
        with suppress(Exception):
            self._database.close()


def operators_of(database: Database) -> str | None:
    """The schema of pg_trgm; None without it."""
    row = execute(database, _OPERATORS).fetchone()
    return None if row is None else str(row[0])


FEW_OF_ENDPOINT = 10_000
"""Of an endpoint with no more requests than that, each request's text is looked at."""
MOST_TOGETHER = 8
"""Parts of the list that one statement looks through, while the last ones took no longer than a step."""
_GROUPS = """SELECT first, upto, oldest, newest, common, paths,
    ARRAY(SELECT place FROM unnest(numbers(?)) AS place WHERE get_bit(pairs, place::integer) = 0) FROM search_group"""
_COUNTS = "SELECT first, key, requests FROM search_count WHERE key IN numbers(?)"
_UNINDEXED = "SELECT seq / ?, min(received_at), max(received_at) FROM capture WHERE seq > ? GROUP BY 1"
_TEXTS = "SELECT capture_seq FROM search_text WHERE capture_seq >= ? AND capture_seq < ? AND "
_REQUESTS = "SELECT seq FROM capture WHERE seq >= ? AND seq < ?"


class Group(Record, frozen=True):
    """Requests from number `first` to before `end`, and when the oldest and the newest of them were received. `facts`
    is None where their texts are not stored."""

    first: int
    end: int
    oldest: int
    newest: int
    facts: Facts | None


class Search(AnySearch):
    step_s = 0.1
    """Readers do not hold up the server, and the statement of each step has to be planned and sent there."""

    async def _by_index(
        self, narrowing: Sequence[Term], place: PageKey, endpoint_id: int | None
    ) -> AsyncIterator[ListSection]:
        query = to_index_query(narrowing)
        groups = [] if query is None else await self._readers.run(partial(read_groups, query=query), slow=True)
        if query is None or all(group.facts is None for group in groups):
            yield ListSection()
            return
        if endpoint_id is not None and self._request_counts.of(endpoint_id).total <= FEW_OF_ENDPOINT:
            yield ListSection(table=_each(to_sql(query, Facts())))
            return
        parts = list(zones([(group.oldest, group.newest, group) for group in groups], place))
        together = 1
        while parts:
            some, parts = parts[:together], parts[together:]
            floor, begin = some[-1][0], time.perf_counter()
            inside = {group.first: group for _, groups in some for group in groups}
            table = _in_groups(list(inside.values()), query)
            yield ListSection(floor=floor, table=table)
            quick = time.perf_counter() - begin < self.step_s
            together = min(together * 2, MOST_TOGETHER) if quick else 1


def read_groups(database: Database, query: IndexQuery) -> list[Group]:
    """All requests in groups, with what the query needs to know of them."""
    found, last = [], 0
    counts: dict[int, dict[int, int]] = {}
    with database.atomic():
        if keys := set(counted_keys(query)):
            for first, key, requests in execute(database, _COUNTS, (json_list(keys),)):
                counts.setdefault(first, {})[key] = requests
        pairs = json_list(set(asked_pairs(query)))
        for first, upto, oldest, newest, common, paths, lacking in execute(database, _GROUPS, (pairs,)):
            facts = Facts(
                span=(first, upto + 1),
                common=tuple(common),
                lacking=frozenset(lacking),
                paths=None if paths is None else frozenset(paths),
                counts=counts.get(first, {}),
            )
            found.append(Group(first=first, end=upto + 1, oldest=oldest, newest=newest, facts=facts))
            last = max(last, upto)
        for number, oldest, newest in execute(database, _UNINDEXED, (GROUP, last)):
            first = max(number * GROUP, last + 1)
            end = (number + 1) * GROUP
            found.append(Group(first=first, end=end, oldest=oldest, newest=newest, facts=None))
    return found


def _in_groups(groups: Sequence[Group], query: IndexQuery) -> Sql:
    """A select of the requests in these groups that may match."""
    selects, given = [], list[object]()
    for group in groups:
        bounds = group.first, group.end
        condition, values = TRUE if group.facts is None else to_sql(query, group.facts)
        if (condition, values) == TRUE:
            selects.append(_REQUESTS)
            given += bounds
            continue
        if (condition, values) != FALSE:
            selects.append(f"{_TEXTS}({condition})")
            given += *bounds, *values
        selects.append(f"{_TEXTS}always")
        given += bounds
    first, end = min(group.first for group in groups), max(group.end for group in groups)
    # The server does not know how many requests have a text: by `ARRAY` and `OFFSET` it begins with these.
    numbers = f"ARRAY({' UNION ALL '.join(selects)})"
    return f"SELECT * FROM capture WHERE seq >= ? AND seq < ? AND seq = ANY ({numbers}) OFFSET 0", (first, end, *given)


def _each(condition: Sql) -> Sql:
    """The same where few requests are read: one by one, whether indexed or not."""
    text, values = condition
    where = f"coalesce((SELECT always OR ({text}) FROM search_text WHERE capture_seq = seq), true)"
    return f"SELECT * FROM capture WHERE {where}", values
