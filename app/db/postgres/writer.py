"""The thread that writes: all that waits goes into one transaction, and one call to the loop reports all results.

A transaction holds a lock that all nodes share, so that there is one writer at a time, as in SQLite: numbers are drawn
in the order of commits, and no transaction waits for the rows of another. A commit whose outcome is unknown counts as
failed: the sender repeats its request.

Captures are inserted by binary COPY. The rows are made by hand: psycopg's own adaptation of each value would cost more
than all the rest of a capture.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, TypeVar

import psycopg
from peewee import Database
from psycopg import errors

from app.core.clock import now_us
from app.core.errors import EndpointChangedError, NoRoomError, NotAllowedError, StorageUnavailableError
from app.core.events import Event
from app.core.ids import uuid7
from app.core.model import Summary
from app.core.team import Role
from app.db.body_parts import complete
from app.db.counts import DELIVERY_OVERHEAD, LOOSE, RequestCounts, grow
from app.db.models import DELIVERY_CODE, NOBODY, encode_headers
from app.db.part import endpoint_not_found
from app.db.postgres.database import (
    LOCK_S,
    PostgresDatabase,
    UnfitStoreError,
    cause_of,
    clean,
    is_lost,
    refusal,
    trouble,
)
from app.db.postgres.follow import CHANNEL, Changes, Follower
from app.db.postgres.nodes import touch, use_number
from app.db.postgres.roles import enter, not_allowed
from app.db.postgres.schema import MIGRATIONS, PARTITION, WRITE_LOCK
from app.db.raw_sql import raw
from app.db.storage_limits import StorageLimits
from app.db.writer_thread import Add, Job, JobResult, WriterThread, nothing

log = logging.getLogger(__name__)
T = TypeVar("T")

POLL_S = 1.0
"""How often a node looks for what others did, and a store that fails is retried, while nothing is queued."""
NOTIFY_S = 0.05
"""Other nodes are told at most this often: a notification takes a lock of the whole server."""
WATCH_S, PATIENCE_S, CLOSING_PATIENCE_S = 0.5, 20.0, 3.0
"""A commit that takes longer may never end: a server can be frozen while its machine still answers. Those who wait
are told, and the connection is cut."""
STEP = 4
"""How many times as long as in SQLite a step of background work may take: what each takes whatever its size, some 3 ms
of statements sent to the server, is most of a shorter one."""
_BEGIN = """SELECT setval('capture_seq_seq', nextval('capture_seq_seq') + %s - 1),
    (SELECT json_object_agg(id, version) FROM endpoint WHERE id = ANY(%s) AND removed = 0)"""
"""Numbers for captures, and what they depend on."""
_END_HOLDER = """SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32 | objid::bigint) = %s
        AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - make_interval(secs => %s)"""
"""A node that froze in the middle of sending: no time limit of the server ends that."""
_SILENT = "The database server does not respond."


def _all_of(queue: SimpleQueue[T]) -> Iterator[T]:
    """What is in it now."""
    with contextlib.suppress(Empty):
        while True:
            yield queue.get_nowait()


class Writer(WriterThread):
    """Owns the writing connection. All public methods are called on the loop's thread."""

    def __init__(
        self,
        address: str,
        follower: Follower,
        counts: RequestCounts,
        limits: StorageLimits,
        publish: Callable[[Event], None],
        *,
        on_trouble: Callable[[str | None], None],
        on_changes: Callable[[Changes], None],
        on_refused: Callable[[NotAllowedError], None],
    ) -> None:
        """`on_trouble`: why nothing can be stored, None once it can again. `on_changes`: what other nodes did.
        `on_refused`: the role does not allow a write, before its caller knows. All are called on the loop's thread."""
        super().__init__(counts, limits, publish)
        self._address, self._database = address, PostgresDatabase(address)
        self._follower = follower
        self._on_trouble, self._on_changes, self._on_refused = on_trouble, on_changes, on_refused
        self._looks: SimpleQueue[asyncio.Future[None]] = SimpleQueue()
        self._looking: list[asyncio.Future[None]] = []
        self._trouble: str | None = None
        self._current: tuple[float, list[Add], list[Job]] | None = None
        """What the server is asked now: since when, and what is being committed."""
        self._watch: asyncio.TimerHandle | None = None
        self._is_stuck = False
        """Whether that took too long: those who wait are told, whatever comes of it."""
        self._current_lock = Lock()
        """Held to settle what those who wait are told: that it is stored, or that the server does not respond."""
        self._warned = False
        """Whether the server warned during a commit: it is on this server alone, whatever words it has for that."""
        self._is_committing = False
        self._room = 0
        """There are partitions for numbers below this."""
        self._untold = False
        self._told_at = self._followed_at = 0.0

    async def start(self) -> None:
        """Connect, and create or upgrade the tables; raises what those raise."""
        await super().start()
        self._keep_watch()

    def follow(self) -> None:
        """Look soon for what other nodes did."""
        self._followed_at = 0.0
        if not self._closed:
            self._queue.put(([], []))

    async def look(self) -> None:
        """Look now; `on_changes` has been called when this returns. Raises StorageUnavailableError."""
        if self._closed:
            raise StorageUnavailableError("Hookline is closing: nothing is read any more.")
        looked: asyncio.Future[None] = self._loop.create_future()
        self._looks.put(looked)
        self.follow()
        await looked

    def _looked(self, looks: Sequence[asyncio.Future[None]], changes: Changes | None, error: Exception | None) -> None:
        if changes is not None:
            self._on_changes(changes)
        for look in looks:
            if look.done():
                continue
            if error is None:
                look.set_result(None)
            else:
                look.set_exception(error)

    async def close(self) -> None:
        await super().close()
        if self._watch is not None:
            self._watch.cancel()

    def _keep_watch(self) -> None:
        """Let nobody wait for a commit that does not end; it may be stored all the same."""
        patience = CLOSING_PATIENCE_S if self._is_shutting_down else PATIENCE_S
        with self._current_lock:
            current = self._current
            if current is not None and time.monotonic() - current[0] > patience:
                self._is_stuck = True
            else:
                current = None
        if current is not None:
            if self._trouble != _SILENT:  # the thread waits
                log.warning("storing fails: %s", _SILENT)
                self._trouble = _SILENT
                self._on_trouble(_SILENT)
            adds, jobs = [*current[1]], [*current[2]]
            for more in self._take_all():
                adds += more[0]
                jobs += more[1]
            error = StorageUnavailableError(_SILENT)
            error.may_be_stored = True
            for add in adds:
                if not add[0].done():
                    add[0].set_exception(error)
            for job in jobs:
                job.failed(error)
                job.failed = nothing  # once the connection is cut, the thread would say it again
            self._looked([*self._looking, *_all_of(self._looks)], None, error)
            self._database.cut(closing=self._is_shutting_down)
        self._watch = self._loop.call_later(WATCH_S, self._keep_watch)

    def _take_all(self) -> Iterator[tuple[list[Add], list[Job]]]:
        """What waits behind the current commit."""
        taken = list(_all_of(self._queue))
        if None in taken:
            self._queue.put(None)  # the thread is to end when it can
        yield from filter(None, taken)

    # -- on the writer's thread ----------------------------------------------------------------------------------

    def _open_database(self) -> None:
        try:
            self._connect()
            self.role = enter(self._database, self._address)
            self.user = raw(self._database).execute("SELECT session_user").fetchone()[0]
        except BaseException as error:
            self._close_database()
            cause = cause_of(error)
            if isinstance(cause, psycopg.OperationalError):
                raise refusal(self._address, cause) from error
            raise

    def _close_database(self) -> None:
        with contextlib.suppress(Exception):
            self._database.close()

    def _wait_s(self) -> float:
        return NOTIFY_S if self._untold else POLL_S

    def _look_around(self, *, idle: bool, stop: bool) -> None:
        if stop:
            self._told_at = self._followed_at = 0.0
        self._tell()
        if time.monotonic() - self._followed_at >= POLL_S:
            self._look()

    def _write(self, adds: list[Add], jobs: list[Job]) -> JobResult:
        """A connection that was lost before the commit began is made again, once: the server may have been restarted
        since the last commit."""
        self._begin(adds, jobs)
        for is_last in (False, True):
            result, self._is_committing = JobResult(), False
            was_connected = not self._database.is_closed()
            try:
                self._connect()
                with self._transaction():
                    for job in jobs:
                        started = time.perf_counter()
                        job.result = job.run(self._database)
                        if job.batch is not None:
                            job.batch.adapt((time.perf_counter() - started) / STEP)
                    if adds:
                        self._insert(adds, result)
                result.jobs = jobs
                break
            except Exception as error:
                self._room = 0
                if is_last or not was_connected or self._is_committing or self._is_stuck or not is_lost(error):
                    raise
                self._close_database()
        with self._current_lock:
            if self._is_stuck:  # those who wait were told that it failed: the next look finds it
                raise psycopg.OperationalError(_SILENT)
            self._current = None  # from here on they are told that it is stored
        self._works()
        return result

    def _report(self, result: JobResult) -> None:
        others: list[Summary] | None = []
        if result.adds:
            self._begin([], [])
            others = self._others(result)
        self._end()
        self._untold = True
        self._loop.call_soon_threadsafe(self._done, result, others)

    def _insert(self, adds: Sequence[Add], result: JobResult) -> None:
        """Only who has the lock draws numbers, so those of a commit follow each other."""
        connection = raw(self._database)
        endpoint_ids = list({add[1].endpoint_id for add in adds})
        last, versions = connection.execute(_BEGIN, (len(adds), endpoint_ids)).fetchone()
        for add in adds:
            stored, known = (versions or {}).get(str(add[1].endpoint_id)), add[5]
            if stored is None:
                result.failures.append((add, endpoint_not_found()))
            elif known is not None and known != stored:
                result.failures.append((add, EndpointChangedError("The endpoint was changed meanwhile.")))
            else:
                result.adds.append(add)
        result.first_seq = last - len(adds) + 1
        if last >= self._room:
            for place in {result.first_seq // PARTITION, last // PARTITION}:
                connection.execute("SELECT make_partition(%s)", (place * PARTITION,))
            self._room = (last // PARTITION + 1) * PARTITION
        if result.adds:
            insert(self._database, result.adds, result.first_seq)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._warned = False
        with self._database.atomic():
            connection = raw(self._database)
            try:
                if self.role is not Role.READER:
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (WRITE_LOCK,))
            except errors.LockNotAvailable:
                self._end_holder()
                raise
            (migrations,) = connection.execute("SELECT count(*) FROM migration").fetchone()
            if migrations > len(MIGRATIONS):
                raise UnfitStoreError("A newer Hookline has upgraded the store. Install that version here, too.")
            yield
            self._is_committing = True
        if self._warned:
            raise UnfitStoreError("The standby of the database server did not confirm the commit.")

    def _others(self, result: JobResult) -> list[Summary] | None:
        """What other nodes stored before these captures; None if that cannot be read now: the next look then finds
        these, too."""
        try:
            return self._follower.others(self._database, result.first_seq, len(result.adds))
        except Exception as error:
            self._unavailable(error)
            return None

    def _look(self) -> None:
        """Find out what other nodes did, and whether the store works again. Not in a transaction: what was read is
        known from then on."""
        self._begin([], [])
        self._followed_at = time.monotonic()
        self._looking = looks = list(_all_of(self._looks))
        try:
            if self._trouble is not None:
                if self.role is not Role.READER:
                    self._write([], [Job(lambda database: touch(database, self._follower.number), nothing, nothing)])
                    self._begin([], [])
                self._works()
            self._connect()
            changes = self._follower.read(self._database)
        except Exception as error:
            unavailable = self._unavailable(error)
            if isinstance(unavailable, NotAllowedError):
                self._works()  # for others: the role was taken away
            if unavailable is error:
                log.exception("looking for what other nodes did failed")
            self._loop.call_soon_threadsafe(self._looked, looks, None, unavailable)
        else:
            self._loop.call_soon_threadsafe(self._looked, looks, changes, None)
        self._end()

    def _tell(self) -> None:
        """Tell the other nodes to look."""
        if self._untold and time.monotonic() - self._told_at >= NOTIFY_S:
            self._untold, self._told_at = False, time.monotonic()
            self._begin([], [])
            with contextlib.suppress(Exception):  # they look anyway, a little later
                self._connect()
                raw(self._database).execute(f"NOTIFY {CHANNEL}, '{self._follower.number}'")
            self._end()

    def _begin(self, adds: list[Add], jobs: list[Job]) -> None:
        """The server is asked something."""
        with self._current_lock:
            self._current, self._is_stuck = (time.monotonic(), adds, jobs), False

    def _end(self) -> None:
        with self._current_lock:
            self._current = None

    def _connect(self) -> None:
        if self._database.is_closed():
            try:
                self._database.connect()
                raw(self._database).add_notice_handler(self._noticed)
                if self._follower.number:
                    use_number(self._database, self._follower.number)
            except BaseException:
                self._close_database()
                raise

    def _noticed(self, notice: errors.Diagnostic) -> None:
        self._warned |= self._is_committing and notice.severity_nonlocalized == "WARNING"

    def _end_holder(self) -> None:
        """Who has the lock does nothing with it."""
        with contextlib.suppress(psycopg.Error), psycopg.connect(self._database.text, autocommit=True) as connection:
            if connection.execute(_END_HOLDER, (WRITE_LOCK, LOCK_S)).rowcount:
                log.warning("a node that held up all others was cut off")

    def _unavailable(self, error: Exception) -> Exception:
        """Also NotAllowedError."""
        if (refused := not_allowed(error, self.role)) is not None:
            refused.__cause__ = error
            self._loop.call_soon_threadsafe(self._on_refused, refused)
            return refused
        reason = _SILENT if self._is_stuck else trouble(error)
        if reason is None:
            return error
        self._close_database()
        if self._trouble != reason:
            detail = str(error).strip()
            log.warning("storing fails: %s%s", reason, "" if detail == reason else f" ({detail})")
            self._trouble = reason
            self._loop.call_soon_threadsafe(self._on_trouble, reason)
        is_full = isinstance(cause_of(error), errors.DiskFull)
        unavailable = (NoRoomError if is_full else StorageUnavailableError)(reason)
        unavailable.may_be_stored = self._is_committing
        unavailable.__cause__ = error.with_traceback(None)  # its frames hold what could not be stored
        return unavailable

    def _works(self) -> None:
        if self._trouble is not None:
            log.warning("storing works again")
            self._trouble = None
            self._loop.call_soon_threadsafe(self._on_trouble, None)


_HEAD, _END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
_CAPTURE = (
    *("seq", "endpoint_id", "received_at", "size", "source_port", "response_status", "complete", "is_read", "id"),
    *("method", "target", "http_version", "content_type", "sha256", "source_address", "scheme", "delivery", "gist"),
    *("provider", "event", "delivery_id", "headers", "trailers", "body_key"),
)
_FIXED = struct.Struct(">h" + "iq" * 6 + "ih" * 2)
"""The number of fields, and the columns of fixed size, each behind its length."""
_LENGTH, _NUMBER = struct.Struct(">i"), struct.Struct(">iq")
_NULL = b"\xff\xff\xff\xff"
_BODY = struct.Struct(">hiqi")
_COPY_CAPTURES = f"COPY capture ({', '.join(_CAPTURE)}) FROM STDIN (FORMAT BINARY)"
_COPY_BODIES = "COPY capture_body (key, data) FROM STDIN (FORMAT BINARY)"
_QUEUE_DELIVERIES = "SELECT queue_deliveries(%s, %s::bigint[], %s::bigint[], %s, %s)"


def insert(database: Database, adds: Sequence[Add], first: int) -> None:
    """Insert captures, numbered from `first` on, with their bodies, or the last parts of long ones, and the deliveries
    they queue. Within the transaction of one who has the write lock."""
    connection = raw(database)
    captures, bodies, queued = [_HEAD], [_HEAD], list[tuple[int, int, str]]()
    grown: dict[int, int] = {}
    for seq, (_, capture, tail, body_key, targets, _, headers, _, _) in enumerate(adds, first):
        key = None
        if body_key is not None:
            key = complete(database, body_key, seq, tail, capture.size)
            grown[LOOSE] = grown.get(LOOSE, 0) - (capture.size - len(tail))
        elif tail:
            bodies += (_BODY.pack(2, 8, seq, len(tail)), tail)
        captures += _row(seq, capture, headers, key)
        for target in targets:
            grown[capture.endpoint_id] = grown.get(capture.endpoint_id, 0) + DELIVERY_OVERHEAD
            queued.append((seq, target.id, target.url))
    _copy(connection, _COPY_CAPTURES, captures)
    if len(bodies) > 1:
        _copy(connection, _COPY_BODIES, bodies)
    if queued:
        at = now_us()
        ids, columns = [uuid7(at) for _ in queued], map(list, zip(*queued, strict=True))
        connection.execute(_QUEUE_DELIVERIES, (ids, *columns, at))
    grow(database, grown)


def _copy(connection: Any, statement: str, parts: list[bytes]) -> None:
    parts.append(_END)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(b"".join(parts))


def _row(seq: int, capture: Any, headers: bytes, body_key: int | None) -> Iterable[bytes]:
    provider = (capture.provider or NOBODY) if capture.identified else None
    numbers = (seq, capture.endpoint_id, capture.received_at, capture.size)
    yield _FIXED.pack(
        len(_CAPTURE),
        *(value for number in (*numbers, capture.source_port, capture.response_status) for value in (8, number)),
        *(2, capture.complete, 2, capture.read),
    )
    for text in (
        *(capture.id, capture.method, capture.target, capture.http_version, capture.content_type, capture.sha256),
        *(capture.source_address, capture.scheme, DELIVERY_CODE[capture.delivery], capture.gist, provider),
        *(capture.event, capture.delivery_id),
    ):
        if text is None:
            yield _NULL
        else:
            data = clean(text)
            yield _LENGTH.pack(len(data))
            yield data
    yield _LENGTH.pack(len(headers))
    yield headers
    if capture.trailers:
        data = encode_headers(capture.trailers)
        yield _LENGTH.pack(len(data))
        yield data
    else:
        yield _NULL
    yield _NULL if body_key is None else _NUMBER.pack(8, body_key)
