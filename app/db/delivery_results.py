"""Stores the results of deliveries: all that wait, together, in a few statements.

sqlite3 releases the interpreter's lock at each statement, and taking it again from a busy loop may cost more than the
statement. So results that arrive while others are stored share their statements, not only their commit.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from app.core.clock import now_us
from app.core.errors import StorageUnavailableError
from app.core.model import Attempt, Delivery, DeliveryState
from app.db import attempts
from app.db.raw_sql import raw
from app.db.schema import DELIVERY_STATE
from app.db.writer import Writer
from app.db.writer_jobs import Job

T = TypeVar("T")

_CHANGING = (
    *("url", "due_at", "attempts", "round_attempts", "round_started_at", "started_at", "ms", "status", "error"),
    "responded",
)
"""Columns that an attempt changes and that hold a field unchanged. Values of a row: these, the state, the id."""
_changing = attrgetter(*_CHANGING)
_SIZES = (16, 8, 4, 2, 1)
"""How many deliveries a statement may have."""
_ROW = f"({', '.join('?' * (len(_CHANGING) + 2))})"
_CHANGES = ", ".join(f"{name} = new.column{number}" for number, name in enumerate((*_CHANGING, "state"), 1))
_CHANGE = {
    size: f"UPDATE delivery SET sending_at = NULL, {_CHANGES} FROM (VALUES {', '.join([_ROW] * size)}) AS new"
    f" WHERE delivery.id = new.column{len(_CHANGING) + 2} RETURNING id, seq, capture_seq"
    for size in _SIZES
}
_CHANGE[1] = (
    f"UPDATE delivery SET sending_at = NULL, {', '.join(f'{name} = ?' for name in (*_CHANGING, 'state'))}"
    " WHERE id = ? RETURNING id, seq, capture_seq"
)
_BEGIN = {
    size: f"UPDATE delivery SET sending_at = ? WHERE state = 'queued' AND id IN ({', '.join('?' * size)}) RETURNING id"
    for size in _SIZES
}
_UPDATE_ROWS = {
    size: f"""UPDATE capture SET mirror = coalesce(
        (SELECT CASE WHEN count(*) = 0 THEN NULL WHEN max(state = 'failed') THEN 'f' WHEN max(state = 'queued') THEN 'q'
                ELSE 'd' END
            FROM (SELECT state, replay_id FROM delivery WHERE capture_seq = capture.seq ORDER BY seq LIMIT 20)
            WHERE replay_id IS NULL),
        (SELECT CASE state WHEN 'failed' THEN 'f' WHEN 'queued' THEN 'q' ELSE 'd' END
            FROM delivery WHERE capture_seq = capture.seq ORDER BY seq DESC LIMIT 1))
        WHERE seq IN ({", ".join("?" * size)}) RETURNING seq, mirror"""
    for size in _SIZES
}
"""What the requests' rows show: the worst of their targets, or the last replay of one that was never forwarded.
Deliveries to targets are queued with their capture, so before all replays."""
_FAILED_AGAIN = "UPDATE target SET failures = failures + 1 WHERE id = ? RETURNING failures, paused"
_RESPONSE = "UPDATE capture SET reply_status = ? WHERE seq = ?"
_PAUSE = "UPDATE target SET paused = 'failures' WHERE id = ?"
_WORKS = "UPDATE target SET failures = 0 WHERE id = ? AND failures > 0"


class Result(NamedTuple):
    """A delivery after attempts, and the delivery to begin in the same commit. `target_id` is None without a target
    whose failures count; after `pause_after` of them in a row (0: never) it is paused."""

    delivery: Delivery
    made: Sequence[tuple[Attempt, bytes]]
    then_begin: str | None
    target_id: int | None
    pause_after: int


class Stored(NamedTuple):
    """What became of a result. `state` is what the request's row shows, None if the delivery is gone; `grown` counts
    bytes; `begun`: whether the next delivery has."""

    state: DeliveryState | None
    grown: int
    paused: bool
    begun: bool


class _Waiting(NamedTuple):
    result: Result
    future: asyncio.Future[bool]

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class ResultQueue:
    """Collects results while others are stored. `done` is called for each, on the loop's thread, once it is on disk."""

    def __init__(self, writer: Writer, done: Callable[[Result, Stored], None]) -> None:
        self._writer, self._done = writer, done
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Waiting] = deque()
        self._is_storing = False
        self._failing: set[int] = set()
        """Targets that may have failures in a row."""

    async def load(self) -> None:
        """Read which targets have failures in a row."""
        rows = await self._writer.run(
            lambda database: raw(database).execute("SELECT id FROM target WHERE failures > 0").fetchall()
        )
        self._failing.update(number for (number,) in rows)

    async def store(self, result: Result, cost: int) -> bool:
        """Whether the next delivery has begun. `cost`, and errors, as `Writer.run` says."""
        if result.target_id is not None and result.delivery.state is DeliveryState.FAILED:
            self._failing.add(result.target_id)
        waiting = _Waiting(result, self._loop.create_future())
        if cost:
            self._put([waiting], cost)
        else:
            self._waiting.append(waiting)
            if not self._is_storing:
                self._store_waiting()
        return await waiting.future

    def _store_waiting(self) -> None:
        """Store all that wait, but no delivery twice."""
        batch: dict[str, _Waiting] = {}
        while self._waiting and self._waiting[0].result.delivery.id not in batch:
            waiting = self._waiting.popleft()
            batch[waiting.result.delivery.id] = waiting
        self._is_storing = bool(batch)
        if batch:
            self._put(list(batch.values()), then=self._store_waiting)

    def _put(self, batch: list[_Waiting], cost: int = 0, then: Callable[[], None] = lambda: None) -> None:
        results = [one.result for one in batch]

        def after(stored: list[Stored]) -> None:
            for one, of_one in zip(batch, stored, strict=True):
                self._settle(one, of_one)
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
                Job(lambda database: store(raw(database), results, self._failing), after, failed, cost=cost)
            )
        except StorageUnavailableError as error:
            failed(error)

    def _settle(self, waiting: _Waiting, stored: Stored) -> None:
        """It is on disk."""
        try:
            self._done(waiting.result, stored)
        except Exception as bug:  # only its own caller gets it
            waiting.fail(bug)
        else:
            if not waiting.future.done():
                waiting.future.set_result(stored.begun)


def store(connection: sqlite3.Connection, results: Sequence[Result], failing: set[int]) -> list[Stored]:
    """Store results of different deliveries. Runs on the writer's thread, like the others below."""
    begun = begin(connection, [one.then_begin for one in results if one.then_begin is not None])
    rows = change(connection, [one.delivery for one in results])
    kept = [one for one in results if one.delivery.id in rows]
    grown = attempts.insert(
        connection, [(rows[one.delivery.id][0], one.delivery.endpoint_id, one.made) for one in kept]
    )
    grown_by = dict(zip((one.delivery.id for one in kept), grown, strict=True))
    states = _update_rows(connection, list({capture_seq for _, capture_seq in rows.values()}))
    stored = []
    for one in results:
        delivery, following = one.delivery, one.then_begin in begun
        if delivery.id not in rows:
            stored.append(Stored(None, 0, False, following))
            continue
        capture_seq = rows[delivery.id][1]
        if delivery.responded and one.made[0][0].number == 1:
            connection.execute(_RESPONSE, (delivery.status, capture_seq))
        paused = _count_failures(connection, one, failing)
        stored.append(Stored(states[capture_seq], grown_by[delivery.id], paused, following))
    return stored


def begin(connection: sqlite3.Connection, delivery_ids: Sequence[str]) -> set[str]:
    """Mark those that are still stored and queued as being sent; returns them."""
    begun: set[str] = set()
    at = now_us()
    for part in _parts(delivery_ids):
        begun.update(name for (name,) in connection.execute(_BEGIN[len(part)], (at, *part)).fetchall())
    return begun


def change(connection: sqlite3.Connection, deliveries: Sequence[Delivery]) -> dict[str, tuple[int, int]]:
    """Store what an attempt changes; by id, the numbers of the deliveries that are still stored and of their
    captures."""
    found: dict[str, tuple[int, int]] = {}
    for part in _parts(deliveries):
        values: list[Any] = []
        for delivery in part:
            values += (*_changing(delivery), delivery.state.value, delivery.id)
        for name, seq, capture_seq in connection.execute(_CHANGE[len(part)], values).fetchall():
            found[name] = seq, capture_seq
    return found


def _update_rows(connection: sqlite3.Connection, capture_seqs: Sequence[int]) -> dict[int, DeliveryState]:
    """Store what the rows of these requests show; returns it."""
    shown: dict[int, DeliveryState] = {}
    for part in _parts(capture_seqs):
        rows = connection.execute(_UPDATE_ROWS[len(part)], part).fetchall()
        shown.update((seq, DELIVERY_STATE[code]) for seq, code in rows)
    return shown


def _parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """All of them, as many at once as a statement may have."""
    at = 0
    while at < len(values):
        size = next(size for size in _SIZES if size <= len(values) - at)
        yield values[at : at + size]
        at += size


def _count_failures(connection: sqlite3.Connection, result: Result, failing: set[int]) -> bool:
    """Count a delivery that has ended; whether that pauses its target."""
    state, target_id = result.delivery.state, result.target_id
    if state is DeliveryState.DELIVERED and target_id in failing:
        connection.execute(_WORKS, (target_id,))
    if state is not DeliveryState.FAILED or target_id is None:
        return False
    row = connection.execute(_FAILED_AGAIN, (target_id,)).fetchall()
    if not row or not result.pause_after or row[0][0] < result.pause_after or row[0][1] is not None:
        return False
    connection.execute(_PAUSE, (target_id,))
    return True
