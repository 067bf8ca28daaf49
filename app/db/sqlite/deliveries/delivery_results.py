"""Stores the results of deliveries: all that wait, together, in a few statements.

sqlite3 releases the interpreter's lock at each statement, and taking it again from a busy loop may cost more than the
statement. So results that arrive while others are stored share their statements, not only their commit.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from app.core.clock import now_us
from app.core.delivery import Attempt, Delivery
from app.core.errors import StorageUnavailableError
from app.core.model import WORST_FIRST, DeliveryState
from app.db.sqlite.deliveries import attempts
from app.db.sqlite.raw_sql import json_list, raw
from app.db.sqlite.schema.schema import DELIVERY_CODE, DELIVERY_STATE
from app.db.sqlite.writer.writer import Writer
from app.db.sqlite.writer.writer_jobs import Job

T = TypeVar("T")

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
_CHANGES = ", ".join(f"{name} = new.column{number}" for number, name in enumerate((*_CHANGING, "state"), 1))
_CHANGE = {
    size: f"UPDATE delivery SET sending_at = NULL, {_CHANGES} FROM (VALUES {', '.join([_ROW] * size)}) AS new"
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
_QUEUED = "SELECT id FROM delivery WHERE state = 'queued' AND id IN (SELECT value FROM json_each(?))"
_FIND = {
    size: f"SELECT json_group_array(json_array(id, seq, capture_seq, {_NUMBER_OF})) FROM delivery WHERE id IN {these}"
    for size, these in _THESE.items()
}
_SHOW = {size: f"UPDATE capture SET delivery = ? WHERE seq IN {these}" for size, these in _THESE.items()}
_WORST = " ".join(f"WHEN max(state = '{state.value}') THEN '{DELIVERY_CODE[state]}'" for state in WORST_FIRST)
_CODES = " ".join(f"WHEN '{state.value}' THEN '{DELIVERY_CODE[state]}'" for state in WORST_FIRST)
_SHOW_WORST = f"""UPDATE capture SET delivery = coalesce(
        (SELECT CASE {_WORST} END
            FROM (SELECT state, replay_id FROM delivery WHERE capture_seq = capture.seq ORDER BY seq LIMIT 20)
            WHERE replay_id IS NULL),
        (SELECT CASE state {_CODES} END
            FROM delivery WHERE capture_seq = capture.seq ORDER BY seq DESC LIMIT 1))
        WHERE seq IN (SELECT value FROM json_each(?)) RETURNING seq, delivery"""
"""What the rows of requests with several deliveries show: the worst of their targets, or the last replay of one that
was never forwarded. Deliveries to targets are queued with their capture, so before all replays."""
_FAILED_AGAIN = "UPDATE target SET failures = failures + 1 WHERE id = ? RETURNING failures, paused"
_RESPONSE = "UPDATE capture SET response_status = ? WHERE seq = ?"
_PAUSE = "UPDATE target SET paused = 'failures' WHERE id = ?"
_WORKS = "UPDATE target SET failures = 0 WHERE id = ? AND failures > 0"


class Result(NamedTuple):
    """A delivery after attempts. `target_id` is None without a target whose failures count; after `pause_after` of them
    in a row (0: never) it is paused."""

    delivery: Delivery
    made: Sequence[tuple[Attempt, bytes]]
    target_id: int | None
    pause_after: int


class Stored(NamedTuple):
    """What became of a result. `state` is what the request's row shows, None if the delivery is gone."""

    state: DeliveryState | None
    grown: attempts.Grown
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

    def __init__(self, writer: Writer, done: Callable[[Sequence[Result], Sequence[Stored]], None]) -> None:
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

    async def store(self, results: Sequence[Result], then_begin: Sequence[str], cost: int) -> set[str]:
        """Store all or none of these, of different deliveries; the ids of those that have begun. `cost`, and errors, as
        `Writer.run` says."""
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
                Job(lambda database: store(raw(database), results, then_begin, self._failing), after, failed, cost=cost)
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
    connection: sqlite3.Connection, results: Sequence[Result], then_begin: Sequence[str], failing: set[int]
) -> tuple[list[Stored], set[str]]:
    """Store results of different deliveries, and begin others; what became of each result, and which have begun. Runs
    on the writer's thread, like the others below."""
    begun = begin(connection, then_begin)
    rows = change(connection, [one.delivery for one in results])
    kept = [one for one in results if one.delivery.id in rows]
    grown = attempts.insert(
        connection, [(rows[one.delivery.id].seq, one.delivery.endpoint_id, one.made) for one in kept]
    )
    grown_by = dict(zip((one.delivery.id for one in kept), grown, strict=True))
    shown = _show(connection, [(one.delivery, rows[one.delivery.id]) for one in kept])
    stored = []
    for one in results:
        delivery = one.delivery
        row = rows.get(delivery.id)
        if row is None:
            stored.append(Stored(None, attempts.Grown(), False))
            continue
        if delivery.responded and one.made[0][0].number == 1:
            connection.execute(_RESPONSE, (delivery.status, row.capture_seq))
        paused = _count_failures(connection, one, failing)
        stored.append(Stored(shown[row.capture_seq], grown_by[delivery.id], paused))
    return stored, begun


def begin(connection: sqlite3.Connection, delivery_ids: Sequence[str]) -> set[str]:
    """Mark those that are still stored and queued as being sent; returns them."""
    begun, at = set(delivery_ids), now_us()
    number = sum(connection.execute(_BEGIN[len(part)], (at, *part)).rowcount for part in _parts(delivery_ids))
    if number == len(begun):
        return begun
    return {name for (name,) in connection.execute(_QUEUED, (json_list(delivery_ids),)).fetchall()}


class _Row(NamedTuple):
    """Numbers of a stored delivery: its own, its request's, and how many deliveries that has."""

    seq: int
    capture_seq: int
    deliveries: int


def change(connection: sqlite3.Connection, deliveries: Sequence[Delivery]) -> dict[str, _Row]:
    """Store what an attempt changes; the rows of the deliveries that are still stored, by id."""
    found: dict[str, _Row] = {}
    for part in _parts(deliveries):
        values: list[Any] = []
        for delivery in part:
            values += (*_changing(delivery), delivery.state.value, delivery.id)
        if len(part) == 1:
            rows = connection.execute(_CHANGE_ONE, values).fetchall()
            found.update((part[0].id, _Row(*numbers)) for numbers in rows)
            continue
        ids = [delivery.id for delivery in part]
        # All in one row: sqlite3 takes the interpreter's lock again for each.
        ((all_rows,),) = connection.execute(_FIND[len(part)], ids).fetchall()
        found.update((name, _Row(*numbers)) for name, *numbers in msgspec.json.decode(all_rows))
        connection.execute(_CHANGE[len(part)], values)
    return found


def _parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """All of them, as many at once as a statement may have; the last value fills up the last part."""
    for at in range(0, len(values), _SIZES[-1]):
        part = values[at : at + _SIZES[-1]]
        size = next(size for size in _SIZES if size >= len(part))
        yield [*part, *[part[-1]] * (size - len(part))]


def _show(connection: sqlite3.Connection, changed: Sequence[tuple[Delivery, _Row]]) -> dict[int, DeliveryState]:
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
            connection.execute(_SHOW[len(part)], (DELIVERY_CODE[state], *part))
    if among:
        shown.update(show_worst(connection, among))
    return shown


def show_worst(connection: sqlite3.Connection, capture_seqs: Collection[int]) -> dict[int, DeliveryState]:
    """Store what the rows of these requests show; returns it by the requests' numbers."""
    rows = connection.execute(_SHOW_WORST, (json_list(capture_seqs),)).fetchall()
    return {seq: DELIVERY_STATE[code] for seq, code in rows}


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
