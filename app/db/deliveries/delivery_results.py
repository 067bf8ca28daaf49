"""Stores the results of deliveries: all that wait, together, in a few statements.

sqlite3 releases the interpreter's lock at each statement, and taking it again from a busy loop may cost more than the
statement. So results that arrive while others are stored share their statements, not only their commit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace
from peewee import Database, ModelSelect, fn

from app.core.clock import now_us
from app.core.delivery import Attempt, Delivery, FailureKind
from app.core.errors import NotFoundError, StorageUnavailableError
from app.core.model import WORST_FIRST, DeliveryState
from app.core.retry import after
from app.core.target import RetryRule
from app.db.counts import ATTEMPT_OVERHEAD, RESPONSES, grow
from app.db.models import DELIVERY_CODE, DELIVERY_STATE, AttemptModel, DeliveryModel, encode_headers
from app.db.raw_sql import ManyRows, execute, is_sqlite, json_list, sql_list
from app.db.records import ATTEMPT_COLUMNS, to_attempt
from app.db.writer_thread import Job, WriterThread

T = TypeVar("T")

_PLAIN = (
    *("number", "started_at", "ms", "method", "url", "size", "reused", "http_version", "status", "response_size"),
    *("response_truncated", "error"),
)
"""Columns that hold a field unchanged; `_plain` reads them all at once."""
_plain = attrgetter(*_PLAIN)
_COLUMNS = (
    *("delivery_seq", "endpoint_id", *_PLAIN, "trigger", "failure", "headers", "response_headers", "response_body"),
    *("lookup_ms", "connect_ms", "tls_ms", "first_byte_ms"),
)
_ATTEMPTS = ManyRows("attempt", _COLUMNS, conflict=" ON CONFLICT (delivery_seq, number) DO NOTHING")

INTERRUPTED = "Hookline stopped while this attempt was being made: the target may have received it."


class Grown(NamedTuple):
    """The bytes that attempts take, without their responses, and those of the responses."""

    attempts: int = 0
    responses: int = 0


def insert(database: Database, tried: Sequence[tuple[int, int, Sequence[tuple[Attempt, bytes]]]]) -> list[Grown]:
    """Store attempts: of each delivery its number, its endpoint, and the attempts with the bodies of their responses.
    Returns what each delivery's take. Runs on the writer's thread.

    An attempt that is stored already stays as it is: one that was stored before it was sent again, and comes with the
    other.
    """
    values: list[Any] = []
    grown = []
    for delivery_seq, endpoint_id, made in tried:
        size = responses = 0
        stored = _numbers(database, delivery_seq) if len(made) > 1 else ()
        for attempt, body in made:
            if attempt.number in stored:
                continue
            headers, response_headers = encode_headers(attempt.headers), encode_headers(attempt.response_headers)
            failure, timing = attempt.failure, attempt.timing
            values += (delivery_seq, endpoint_id, *_plain(attempt), attempt.trigger.value)
            values += (failure and failure.value, headers, response_headers, body)
            values += (timing.lookup, timing.connect, timing.tls, timing.first_byte)
            size += ATTEMPT_OVERHEAD + len(headers)
            responses += attempt.response_size + len(response_headers)
        grown.append(Grown(size, responses))
    _ATTEMPTS.insert(database, values)
    return grown


def _numbers(database: Database, delivery_seq: int) -> set[int]:
    """Those of its stored attempts."""
    rows = execute(database, "SELECT number FROM attempt WHERE delivery_seq = ?", (delivery_seq,))
    return {number for (number,) in rows.fetchall()}


_REMOVED_UPTO = "SELECT max(seq) FROM attempt INDEXED BY attempt_removed WHERE response_removed = 1"
_OLDEST = f"""SELECT seq, response_size + length(response_headers) FROM attempt
    WHERE seq > coalesce(({_REMOVED_UPTO}), 0) ORDER BY seq LIMIT ?"""
_REMOVE = """UPDATE attempt SET response_removed = 1,
    response_truncated = CASE WHEN response_size > 0 THEN 1 ELSE response_truncated END,
    response_size = 0, response_headers = :none, response_body = :empty
    WHERE seq BETWEEN :first AND :last"""


class RemovedResponses(NamedTuple):
    """How many attempts were examined, and the bytes of their responses that were removed."""

    examined: int
    freed: int


def remove_oldest(database: Database, limit: int, *, needed: int) -> RemovedResponses:
    """Remove the responses of the oldest attempts, at most `limit` of them, until `needed` bytes are freed. The
    attempts stay."""
    none = encode_headers(())
    chosen: list[int] = []
    freed = 0
    for seq, size in execute(database, _OLDEST, (limit,)).fetchall():
        chosen.append(seq)
        freed += size - len(none)
        if freed >= needed:
            break
    if chosen:
        execute(database, _REMOVE, {"none": none, "empty": b"", "first": chosen[0], "last": chosen[-1]})
        grow(database, {RESPONSES: -freed})
    return RemovedResponses(len(chosen), freed)


def of_delivery(database: Database, delivery_id: str) -> list[Attempt]:
    """In order. NotFoundError if there is no such delivery."""
    query = _attempts().where(AttemptModel.delivery == _seq_of(database, delivery_id)).order_by(AttemptModel.number)
    return [to_attempt(row) for row in query.tuples().execute(database)]


def last_of(database: Database, delivery_ids: Sequence[str]) -> dict[str, Attempt]:
    """The last attempt of each of these deliveries that has one."""
    other = AttemptModel.alias()
    newest = other.select(fn.MAX(other.number)).where(other.delivery == DeliveryModel.seq)
    query = _attempts().where(DeliveryModel.id.in_(sql_list(delivery_ids)), AttemptModel.number == newest)
    return {attempt.delivery_id: attempt for attempt in map(to_attempt, query.tuples().execute(database))}


def _attempts() -> ModelSelect[AttemptModel]:
    return AttemptModel.select(*ATTEMPT_COLUMNS).join(DeliveryModel)


def response_body(database: Database, delivery_id: str, number: int) -> bytes:
    """The body of the response to this attempt; NotFoundError if it is not stored."""
    data = (
        AttemptModel.select(AttemptModel.response_body)
        .where(AttemptModel.delivery == _seq_of(database, delivery_id), AttemptModel.number == number)
        .scalar(database)
    )
    if data is None:
        raise NotFoundError("This attempt is no longer stored.")
    return bytes(data)


def interrupted(delivery: Delivery, url: str) -> tuple[Attempt, Delivery]:
    """The attempt to `url` that was being made when Hookline ended, and its delivery afterwards.

    A delivery to a target stays queued, and the attempt uses up no retry; a replay has failed.
    """
    assert delivery.sending_at is not None
    attempt = Attempt(
        delivery_id=delivery.id,
        number=delivery.attempts + 1,
        trigger=delivery.next_trigger,
        started_at=delivery.sending_at,
        ms=0.0,
        method=delivery.captured_method,
        url=url,
        failure=FailureKind.INTERRUPTED,
        error=INTERRUPTED,
    )
    rule = None if delivery.replay_id is not None else RetryRule()  # any rule: they do not name it
    return attempt, replace(after(delivery, [(attempt, b"")], rule), ms=None, interrupted=True)


def shortened(attempt: Attempt, body: bytes, size: int) -> tuple[Attempt, bytes]:
    """The attempt with no more than `size` bytes of the response's body."""
    if len(body) <= size:
        return attempt, body
    return replace(attempt, response_size=size, response_truncated=True), body[:size]


def _seq_of(database: Database, delivery_id: str) -> int:
    query = DeliveryModel.select(DeliveryModel.seq).where(DeliveryModel.id == delivery_id)
    seq: int | None = query.scalar(database)
    if seq is None:
        raise NotFoundError("This delivery is no longer stored.")
    return seq


_CHANGING = (
    *("url", "due_at", "attempts", "round_attempts", "round_ms", "started_at", "ms", "status", "error"),
    *("next_step", "responded", "interrupted"),
)
"""Columns that an attempt changes and that hold a field unchanged. Values of a row: these, the state, the id."""
_changing = attrgetter(*_CHANGING)
_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""How many values a statement may have: few sizes, so that all stay prepared."""
_THESE = {size: f"({', '.join('?' * size)})" for size in _SIZES}
_ROW = f"({', '.join('?' * (len(_CHANGING) + 2))})"
_NUMBERS = {"round_ms": "DOUBLE PRECISION", "started_at": "BIGINT", "ms": "DOUBLE PRECISION", "status": "BIGINT"}
"""Those that may be NULL, which PostgreSQL takes for a text unless the first row says otherwise."""
_CAST = {name: f"CAST(? AS {kind})" for name, kind in _NUMBERS.items()}
_FIRST_ROW = f"({', '.join(_CAST.get(name, '?') for name in (*_CHANGING, 'state', 'id'))})"
_CHANGES = ", ".join(f"{name} = new.column{number}" for number, name in enumerate((*_CHANGING, "state"), 1))
_CHANGE = {
    size: f"UPDATE delivery SET sending_at = NULL, {_CHANGES}"
    f" FROM (VALUES {', '.join([_FIRST_ROW, *[_ROW] * (size - 1)])}) AS new"
    f" WHERE delivery.id = new.column{len(_CHANGING) + 2}"
    for size in _SIZES
}
_NUMBER_OF = "(SELECT count(*) FROM delivery AS other WHERE other.capture_seq = delivery.capture_seq)"
_CHANGE_ONE = (
    f"UPDATE delivery SET sending_at = NULL, {', '.join(f'{name} = ?' for name in (*_CHANGING, 'state'))} WHERE id = ?"
    f" RETURNING seq, capture_seq, {_NUMBER_OF}"
)
_BEGIN = {
    size: f"UPDATE delivery SET sending_at = ? WHERE state = 'queued' AND id IN {these}"
    for size, these in _THESE.items()
}
_BEGUN = "SELECT id FROM delivery WHERE state = 'queued' AND sending_at = ? AND id IN names(?)"
_FIND = {
    size: f"SELECT json_group_array(json_array(id, seq, capture_seq, {_NUMBER_OF})) FROM delivery WHERE id IN {these}"
    for size, these in _THESE.items()
}
_SHOW = {size: f"UPDATE capture SET delivery = ? WHERE seq IN {these}" for size, these in _THESE.items()}
_WORST = " ".join(
    f"WHEN count(*) FILTER (WHERE state = '{state.value}') > 0 THEN '{DELIVERY_CODE[state]}'" for state in WORST_FIRST
)
_CODES = " ".join(f"WHEN '{state.value}' THEN '{DELIVERY_CODE[state]}'" for state in WORST_FIRST)
SHOW_WORST = f"""UPDATE capture SET delivery = coalesce(
        (SELECT CASE {_WORST} END
            FROM (SELECT state, replay_id FROM delivery WHERE capture_seq = capture.seq ORDER BY seq LIMIT 20) AS first
            WHERE replay_id IS NULL),
        (SELECT CASE state {_CODES} END
            FROM delivery WHERE capture_seq = capture.seq ORDER BY seq DESC LIMIT 1))
        WHERE seq IN numbers(?) RETURNING seq, delivery"""
"""What the rows of requests with several deliveries show: the worst of their targets, or the last replay of one that
was never forwarded. Deliveries to targets are queued with their capture, so before all replays."""
_IS_QUEUED = "EXISTS (SELECT 1 FROM delivery WHERE id = ? AND state = 'queued')"
_FAILED_AGAIN = f"UPDATE target SET failures = failures + 1 WHERE id = ? AND {_IS_QUEUED} RETURNING failures, paused"
_RESPONSE = "UPDATE capture SET response_status = ? WHERE seq = ?"
_PAUSE = "UPDATE target SET paused = 'failures' WHERE id = ?"
_WORKS = f"UPDATE target SET failures = 0 WHERE id = ? AND failures > 0 AND {_IS_QUEUED}"


class Result(NamedTuple):
    """A delivery after attempts. `target_id` is None without a target whose failures count; after `pause_after` of them
    in a row (0: never) it is paused."""

    delivery: Delivery
    made: Sequence[tuple[Attempt, bytes]]
    target_id: int | None
    pause_after: int


class Stored(NamedTuple):
    """What became of a result: the delivery's number, and in `state` what the request's row shows, None if the delivery
    is gone."""

    seq: int
    state: DeliveryState | None
    grown: Grown
    paused: bool


class _Waiting(NamedTuple):
    """Results of different deliveries and the deliveries to begin, all in one commit; the ids of those that have begun
    are awaited."""

    results: Sequence[Result]
    then_begin: Sequence[str]
    future: asyncio.Future[set[str]]

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class ResultQueue:
    """Collects results while others are stored. `done` is called for those of each call, on the loop's thread, once
    they are on disk."""

    def __init__(self, writer: WriterThread, done: Callable[[Sequence[Result], Sequence[Stored]], None]) -> None:
        self._writer, self._done = writer, done
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Waiting] = deque()
        self._is_storing = False
        self._failing: set[int] = set()
        """Targets that may have failures in a row."""

    async def load(self) -> None:
        """Read which targets have failures in a row."""
        rows = await self._writer.run(
            lambda database: execute(database, "SELECT id FROM target WHERE failures > 0").fetchall()
        )
        self._failing.update(number for (number,) in rows)

    async def store(self, results: Sequence[Result], then_begin: Sequence[str], cost: int) -> set[str]:
        """Store all or none of these, of different deliveries; the ids of those that have begun. `cost`, and errors, as
        `WriterThread.run` says."""
        for result in results:
            if result.target_id is not None and result.delivery.state is DeliveryState.FAILED:
                self._failing.add(result.target_id)
        waiting = _Waiting(results, then_begin, self._loop.create_future())
        if cost:
            self._put([waiting], cost)
        else:
            self._waiting.append(waiting)
            if not self._is_storing:
                self._store_waiting()
        return await waiting.future

    def _store_waiting(self) -> None:
        """Store all that wait, but no delivery twice."""
        batch: list[_Waiting] = []
        ids: set[str] = set()
        while self._waiting:
            own = {result.delivery.id for result in self._waiting[0].results}
            if not ids.isdisjoint(own):
                break
            ids |= own
            batch.append(self._waiting.popleft())
        self._is_storing = bool(batch)
        if batch:
            self._put(batch, then=self._store_waiting)

    def _put(self, batch: list[_Waiting], cost: int = 0, then: Callable[[], None] = lambda: None) -> None:
        results = [result for one in batch for result in one.results]
        then_begin = [name for one in batch for name in one.then_begin]

        def after(stored: tuple[list[Stored], set[str]]) -> None:
            of_results, begun = stored
            at = 0
            for one in batch:
                self._settle(one, of_results[at : at + len(one.results)], begun)
                at += len(one.results)
            then()

        def failed(error: Exception) -> None:
            if len(batch) > 1 and not isinstance(error, StorageUnavailableError):
                for one in batch:  # whichever it was, the others are stored
                    self._put([one])
            else:
                for one in batch:
                    one.fail(error)
            then()

        try:
            self._writer.put(
                Job(lambda database: store(database, results, then_begin, self._failing), after, failed, cost=cost)
            )
        except StorageUnavailableError as error:
            failed(error)

    def _settle(self, waiting: _Waiting, stored: Sequence[Stored], begun: set[str]) -> None:
        """It is on disk."""
        try:
            self._done(waiting.results, stored)
        except Exception as bug:  # only its own caller gets it
            waiting.fail(bug)
        else:
            if not waiting.future.done():
                waiting.future.set_result(begun.intersection(waiting.then_begin))


def store(
    database: Database, results: Sequence[Result], then_begin: Sequence[str], failing: set[int]
) -> tuple[list[Stored], set[str]]:
    """Store results of different deliveries, and begin others; what became of each result, and which have begun. Runs
    on the writer's thread, like the others below."""
    begun = begin(database, then_begin)
    paused = [_count_failures(database, one, failing) for one in results]
    rows = change(database, [one.delivery for one in results])
    kept = [one for one in results if one.delivery.id in rows]
    grown = insert(database, [(rows[one.delivery.id].seq, one.delivery.endpoint_id, one.made) for one in kept])
    grown_by = dict(zip((one.delivery.id for one in kept), grown, strict=True))
    shown = _show(database, [(one.delivery, rows[one.delivery.id]) for one in kept])
    stored = []
    for one, pauses in zip(results, paused, strict=True):
        delivery = one.delivery
        row = rows.get(delivery.id)
        if row is None:
            stored.append(Stored(0, None, Grown(), False))
            continue
        if delivery.responded and one.made[0][0].number == 1:
            execute(database, _RESPONSE, (delivery.status, row.capture_seq))
        stored.append(Stored(row.seq, shown[row.capture_seq], grown_by[delivery.id], pauses))
    return stored, begun


def begin(database: Database, delivery_ids: Sequence[str]) -> set[str]:
    """Mark those that are still stored and queued as being sent; returns them."""
    begun, at = set(delivery_ids), now_us()
    number = sum(execute(database, _BEGIN[len(part)], (at, *part)).rowcount for part in _parts(delivery_ids))
    if number == len(begun):
        return begun
    return {name for (name,) in execute(database, _BEGUN, (at, json_list(delivery_ids))).fetchall()}


class _Row(NamedTuple):
    """Numbers of a stored delivery: its own, its request's, and how many deliveries that has."""

    seq: int
    capture_seq: int
    deliveries: int


def change(database: Database, deliveries: Sequence[Delivery]) -> dict[str, _Row]:
    """Store what an attempt changes; the rows of the deliveries that are still stored, by id."""
    found: dict[str, _Row] = {}
    for part in _parts(deliveries):
        values: list[Any] = []
        for delivery in part:
            values += (*_changing(delivery), delivery.state.value, delivery.id)
        if len(part) == 1:
            rows = [(part[0].id, *numbers) for numbers in execute(database, _CHANGE_ONE, values).fetchall()]
        elif is_sqlite(database):
            # All in one row: sqlite3 takes the interpreter's lock again for each.
            ((all_rows,),) = execute(database, _FIND[len(part)], [delivery.id for delivery in part]).fetchall()
            rows = msgspec.json.decode(all_rows)
            execute(database, _CHANGE[len(part)], values)
        else:
            text = f"{_CHANGE[len(part)]} RETURNING id, seq, capture_seq, {_NUMBER_OF}"
            rows = execute(database, text, values).fetchall()
        found.update((name, _Row(*numbers)) for name, *numbers in rows)
    return found


def _parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """All of them, as many at once as a statement may have; the last value fills up the last part."""
    for at in range(0, len(values), _SIZES[-1]):
        part = values[at : at + _SIZES[-1]]
        size = next(size for size in _SIZES if size >= len(part))
        yield [*part, *[part[-1]] * (size - len(part))]


def _show(database: Database, changed: Sequence[tuple[Delivery, _Row]]) -> dict[int, DeliveryState]:
    """Store what the rows of these deliveries' requests show; returns it by the requests' numbers."""
    shown: dict[int, DeliveryState] = {}
    alone: dict[DeliveryState, list[int]] = {}
    among: set[int] = set()
    for delivery, row in changed:
        if row.deliveries == 1:
            shown[row.capture_seq] = delivery.state
            alone.setdefault(delivery.state, []).append(row.capture_seq)
        else:
            among.add(row.capture_seq)
    for state, seqs in alone.items():
        for part in _parts(seqs):
            execute(database, _SHOW[len(part)], (DELIVERY_CODE[state], *part))
    if among:
        shown.update(show_worst(database, among))
    return shown


def show_worst(database: Database, capture_seqs: Collection[int]) -> dict[int, DeliveryState]:
    """Store what the rows of these requests show; returns it by the requests' numbers."""
    rows = execute(database, SHOW_WORST, (json_list(capture_seqs),)).fetchall()
    return {seq: DELIVERY_STATE[code] for seq, code in rows}


def _count_failures(database: Database, result: Result, failing: set[int]) -> bool:
    """Count a delivery that has ended, before that is stored; whether it pauses its target. One that has ended already
    was counted: its result is stored again when nobody knew that it had been."""
    state, target_id = result.delivery.state, result.target_id
    if state is DeliveryState.DELIVERED and target_id in failing:
        execute(database, _WORKS, (target_id, result.delivery.id))
    if state is not DeliveryState.FAILED or target_id is None:
        return False
    row = execute(database, _FAILED_AGAIN, (target_id, result.delivery.id)).fetchall()
    if not row or not result.pause_after or row[0][0] < result.pause_after or row[0][1] is not None:
        return False
    execute(database, _PAUSE, (target_id,))
    return True
