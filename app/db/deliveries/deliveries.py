"""Deliveries: queued with their capture, tried until one attempt succeeds or the target's rule gives up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from hashlib import sha256
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.structs import replace
from peewee import SQL, Database, ModelSelect, fn

from app.core.clock import now_us
from app.core.delivery import Attempt, Delivery, DeliveryFilter, QueuedDelivery
from app.core.errors import NoRoomError
from app.core.events import DeliveriesQueued, DeliveryChanged
from app.core.model import Capture, DeliveryState
from app.core.target import Target, TargetCounts
from app.core.target_text import TargetTrouble
from app.db import body_parts, queries
from app.db.counts import DELIVERY_OVERHEAD, grow
from app.db.deliveries import delivery_results, unsent
from app.db.deliveries.delivery_results import Result, ResultQueue, Stored
from app.db.deliveries.targets import RemovedTargets, Targets, target_counts, target_troubles
from app.db.models import BodyModel, CaptureModel, DeliveryModel, TargetModel
from app.db.part import Part, Shared
from app.db.raw_sql import execute, json_list, sql_list
from app.db.records import CAPTURE, DELETED, DELIVERY, LISTED
from app.db.writer_thread import AdaptiveBatch

_RESENT = "UPDATE delivery SET attempts = ?, url = ?, sending_at = ? WHERE id = ? RETURNING seq"
_QUEUED = SQL("t1.state = 'queued' AND t1.replay_id IS NULL")
"""What the forwarder sends; replays send theirs. No parameters: SQLite uses the index of queued deliveries only when it
sees the state."""
_NEXT_DUE_AT = """SELECT min(CASE WHEN started_at > :now THEN 0 ELSE due_at END) FROM delivery
    WHERE state = 'queued' AND replay_id IS NULL AND target_id = :target_id"""
"""As `Delivery.wait_us`."""
_SENDING = DeliveryModel.sending_at.is_null(False)
_NEVER = 2**62
"""Later than any moment, in microseconds."""
SMALL = 4 * 1024
"""Bytes of a response that are stored even on a nearly full disk."""
SHORT_BODY, SHORT_BODIES = 256 * 1024, 4 * 1024 * 1024
"""Bodies up to this size are read with their deliveries, as long as all of them together stay below the other."""
TINY_BODY = 16 * 1024
"""Bodies up to this size are read by the same statement: another one, and each of its rows, would cost the loop's
thread time, see `delivery_results`."""


class Deliveries(Part):
    """Queued and ended deliveries with their attempts."""

    def __init__(self, shared: Shared, targets: Targets, removed_targets: RemovedTargets) -> None:
        super().__init__(shared)
        self._targets, self._removed_targets = targets, removed_targets
        self._results = ResultQueue(self._writer, self._stored)
        self._nodes = shared.nodes
        self._unmarked: set[int] = set()
        """Targets that were claimed, and what was being sent to them is not marked yet."""

    async def load(self) -> None:
        """Store the attempts that were being made when the last run ended as interrupted; before the counts are
        read."""
        await self._writer.run(lambda database: self._interrupt(database, _SENDING))
        await self._results.load()

    async def interrupt(self, target_id: int) -> None:
        """The same for those to a target that this node takes over from one that has ended; while the store is in use.
        Leaves replays, which are not sent by who sends to their target."""
        sending = _SENDING & (DeliveryModel.target_id == target_id) & DeliveryModel.replay_id.is_null()
        await self._writer.run(
            lambda database: self._interrupt(database, sending), lambda interrupted: self._stored(*interrupted)
        )
        await self._results.load()

    def _interrupt(self, database: Database, which: Any) -> tuple[list[Result], list[Stored]]:
        return interrupt(database, which, self._targets.by_id)

    # -- for the forwarder ---------------------------------------------------------------------------------------

    async def queued(
        self, target_id: int, limit: int, *, due_at: int | None = None, without: Collection[str] = ()
    ) -> list[QueuedDelivery]:
        """A target's queued deliveries, first queued first, except those in `without`; only those due at `due_at`
        unless it is None. Fewer than `limit` if their bodies are large."""
        if self._nodes.has_lost(_job(target_id)):
            return []  # other nodes took this one for dead: its sender then stops, and claims the target again
        values = {
            "target_id": target_id,
            "due_at": _NEVER if due_at is None else due_at,
            "without": json_list(without),
            "limit": limit,
        }

        def job(database: Database) -> list[QueuedDelivery]:
            with database.atomic():
                rows = execute(database, _queued_statement(), values).fetchall()
                captures = [CAPTURE.record(row[DELIVERY.width :]) for row in rows]
                bodies = _short_bodies(database, [one for one in captures if one.size > TINY_BODY])
                for capture, row in zip(captures, rows, strict=True):
                    if capture.size <= TINY_BODY:
                        bodies[capture.seq] = row[-1] or b""
            return [
                QueuedDelivery(delivery=DELIVERY.record(row), capture=capture, body=_intact(capture, bodies))
                for row, capture in zip(rows, captures, strict=True)
            ]

        return await self._readers.run(job)

    async def next_due_at(self, target_id: int, *, without: Collection[str] = ()) -> int | None:
        """When the earliest of a target's queued deliveries, except those in `without`, is due; None without any."""
        if self._nodes.has_lost(_job(target_id)):
            return None
        values = {"target_id": target_id, "now": now_us(), "without": json_list(without)}
        text = f"{_NEXT_DUE_AT} AND id NOT IN names(:without)" if without else _NEXT_DUE_AT  # the index has no ids

        def job(database: Database) -> int | None:
            (due_at,) = execute(database, text, values).fetchone()
            return None if due_at is None else int(due_at)

        return await self._readers.run(job)

    async def targets_with_queued(self) -> set[int]:
        query = DeliveryModel.select(DeliveryModel.target_id).distinct().where(_QUEUED)

        def job(database: Database) -> set[int]:
            return {number for number in query.scalars(database) if number is not None}

        return {number for number in await self._readers.run(job) if self._targets.by_id(number) is not None}

    async def claim(self, target_id: int) -> bool:
        """Whether it is this program that sends to the target, from now on: another node may do so already. When that
        one dies, DeliveriesQueued is published for its targets. What it was sending may have been received: that is
        marked."""
        claimed = await self._nodes.claim(_job(target_id))
        if claimed:
            self._unmarked.add(target_id)
        if claimed is not False and target_id in self._unmarked:
            await self.interrupt(target_id)
            self._unmarked.discard(target_id)
        return claimed is not False

    async def begin(self, delivery_ids: Sequence[str]) -> set[str]:
        """Mark deliveries as being sent; returns those that are still stored and queued.

        If Hookline ends before `finish`, the next start stores the attempt as interrupted.
        """
        return await self._writer.run(lambda database: delivery_results.begin(database, delivery_ids))

    async def release(self, delivery_ids: Sequence[str]) -> None:
        """Undo `begin` of deliveries that were not sent. Publishes DeliveriesQueued."""
        await self._requeue(DeliveryModel.update(sending_at=None).where(DeliveryModel.id.in_(sql_list(delivery_ids))))

    async def add_attempt(self, delivery: Delivery, attempt: Attempt) -> bool:
        """Store an attempt without a response, which another one follows at once: `finish` ends both. If Hookline ends
        before that, only the other one is stored as interrupted. False if the delivery is no longer stored, or another
        node sends it now: then nothing may follow."""
        values = attempt.number, attempt.url, now_us(), delivery.id

        def job(database: Database) -> list[delivery_results.Grown]:
            rows = execute(database, _RESENT, values).fetchall()
            return delivery_results.insert(database, [(seq, delivery.endpoint_id, [(attempt, b"")]) for (seq,) in rows])

        def after(stored: list[delivery_results.Grown]) -> None:
            for grown in stored:
                self._limits.grew(delivery.endpoint_id, grown.attempts)
                self._limits.responses_grew(grown.responses)

        stored = await self._writer.run(job, after)
        return bool(stored)

    async def finish(
        self,
        delivery: Delivery,
        made: Sequence[tuple[Attempt, bytes]],
        *,
        then_begin: str | None = None,
    ) -> bool:
        """Store attempts, each with its response's body, and the delivery's new state; and begin the next delivery, all
        in one commit. If the delivery `responded`, its status becomes the request's response.

        Publishes DeliveryChanged, and TargetChanged if the failure paused the target. Returns whether `then_begin` has
        begun. Stores nothing of a delivery whose request was deleted meanwhile. Where there is no room for a long
        response, only its beginning is stored: waiting would delay all later deliveries.
        """
        following = () if then_begin is None else (then_begin,)
        try:
            return bool(await self.finish_all([(delivery, made)], then_begin=following))
        except NoRoomError:
            if all(len(body) <= SMALL for _, body in made):
                raise
            short = [delivery_results.shortened(*one, SMALL) for one in made]
            return bool(await self.finish_all([(delivery, short)], then_begin=following))

    async def finish_all(
        self, ended: Sequence[tuple[Delivery, Sequence[tuple[Attempt, bytes]]]], *, then_begin: Sequence[str] = ()
    ) -> set[str]:
        """`finish` for several different deliveries: all of it is stored, or nothing. Returns which of `then_begin`
        begun."""
        results = [self._result(delivery, made) for delivery, made in ended]
        cost = sum(len(body) - SMALL for _, made in ended for _, body in made if len(body) > SMALL)
        return await self._results.store(results, then_begin, cost)

    def _result(self, delivery: Delivery, made: Sequence[tuple[Attempt, bytes]]) -> Result:
        target = self._targets.by_id(None if delivery.replay_id is not None else delivery.target_id)
        number, pause_after = (None, 0) if target is None else (target.id, target.pause_after)
        return Result(delivery, made, number, pause_after)

    def _stored(self, results: Sequence[Result], stored: Sequence[Stored]) -> None:
        grown: dict[int, int] = {}
        for result, of_result in zip(results, stored, strict=True):
            endpoint_id = result.delivery.endpoint_id
            grown[endpoint_id] = grown.get(endpoint_id, 0) + of_result.grown.attempts
        for endpoint_id, size in grown.items():
            self._limits.grew(endpoint_id, size)
        self._limits.responses_grew(sum(one.grown.responses for one in stored))
        for result, of_result in zip(results, stored, strict=True):
            if of_result.state is not None and result.delivery.endpoint_id in self._request_counts:
                failure = result.made[-1][0].failure if result.made else None
                delivery = result.delivery if result.delivery.seq else replace(result.delivery, seq=of_result.seq)
                self._publish(DeliveryChanged(delivery=delivery, state=of_result.state, failure=failure))
                if of_result.paused and result.target_id is not None:
                    self._targets.was_paused(result.target_id)
        self._removed_targets.check(
            one.delivery.target_id for one in results if one.delivery.state is DeliveryState.QUEUED
        )

    # -- for the user --------------------------------------------------------------------------------------------

    async def add_replay(self, delivery: Delivery) -> bool:
        """Store a delivery that a replay is about to send, as begun; whether its request is still stored."""
        fields = ("id", "endpoint_id", "target_id", "replay_id", "url", "queued_at", "interrupted")
        statement = (
            f"INSERT INTO delivery (capture_seq, state, sending_at, {', '.join(fields)})"
            f" SELECT seq, 'queued', :at, {', '.join(f':{name}' for name in fields)} FROM capture"
            f" WHERE id = :capture AND {queries.visible_sql()} ON CONFLICT (id) DO NOTHING"
        )

        values = {name: getattr(delivery, name) for name in fields} | {"at": now_us(), "capture": delivery.capture_id}

        def job(database: Database) -> tuple[int, bool]:
            if added := execute(database, statement, values).rowcount:
                grow(database, {delivery.endpoint_id: DELIVERY_OVERHEAD})
                return added, True
            # Maybe by an earlier try, of which nobody knew that it was stored.
            known = execute(database, "SELECT 1 FROM delivery WHERE id = ?", (delivery.id,)).fetchone()
            return added, known is not None

        def after(stored: tuple[int, bool]) -> None:
            self._limits.grew(delivery.endpoint_id, DELIVERY_OVERHEAD * stored[0])

        return (await self._writer.run(job, after))[1]

    async def requests(self, capture_ids: Sequence[str]) -> dict[str, tuple[Capture, bytes | None]]:
        """Those of these requests that are stored, each with its body (None if it is long)."""

        def job(database: Database) -> dict[str, tuple[Capture, bytes | None]]:
            with database.atomic():
                captures = queries.by_ids(database, capture_ids)
                bodies = _short_bodies(database, captures)
            return {capture.id: (capture, _intact(capture, bodies)) for capture in captures}

        return await self._readers.run(job)

    async def retry(self, which: DeliveryFilter) -> int:
        """Queue failed deliveries of targets again, at once and in order, in steps between captures; returns how many.
        Those that were not sent only if `which` has their ids. Publishes DeliveriesQueued."""
        # As text: SQLite uses the index of failed deliveries only when it sees the state.
        ended = "t1.state = 'failed'" if which.delivery_ids is None else "t1.state IN ('not_sent', 'failed')"
        query = _filtered(DeliveryModel.select(DeliveryModel.seq), replace(which, state=None, replay=None)).where(
            SQL(ended),
            DeliveryModel.replay_id.is_null(),
            DeliveryModel.target_id.in_(TargetModel.select(TargetModel.id)),
        )
        batch, reached, total = AdaptiveBatch(64), 0, 0
        newest = DeliveryModel.select(fn.MAX(DeliveryModel.seq))
        upto: int = await self._readers.run(newest.scalar) or 0

        def job(database: Database, rows: int) -> list[_QueuedAgain]:
            due = query.where(DeliveryModel.seq > reached, DeliveryModel.seq <= upto)
            seqs = list(due.order_by(DeliveryModel.seq).limit(rows).scalars(database))
            fresh = {"state": "queued", "due_at": 0, "round_attempts": 0, "round_ms": None, "next_step": None}
            DeliveryModel.update(**fresh).where(DeliveryModel.seq.in_(sql_list(seqs))).execute(database)
            return _read_queued(database, seqs)

        while queued := await self._writer.between(job, batch, self._tell_queued):
            reached, total = queued[-1].seq, total + len(queued)
        return total

    def _tell_queued(self, queued: Sequence[_QueuedAgain]) -> None:
        if queued:
            targets = tuple(dict.fromkeys(one.target_id for one in queued))
            shown = {one.capture_id: one.shown for one in queued}
            self._publish(DeliveriesQueued(target_ids=targets, shown=shown))

    async def send_now(self, delivery: Delivery) -> None:
        """Make a delivery that waits for its retry due at once. Publishes DeliveriesQueued, unless it was sent
        meanwhile."""
        waits = (DeliveryModel.state == "queued") & DeliveryModel.sending_at.is_null()
        await self._requeue(DeliveryModel.update(due_at=0).where(DeliveryModel.id == delivery.id, waits))

    async def _requeue(self, change: Any) -> None:
        """Make this change of queued deliveries, which may be sent then."""
        query = change.returning(DeliveryModel.seq)

        def job(database: Database) -> list[_QueuedAgain]:
            return _read_queued(database, [seq for (seq,) in query.tuples().execute(database)])

        def after(queued: list[_QueuedAgain]) -> None:
            self._tell_queued(queued)
            self._removed_targets.check(one.target_id for one in queued)

        await self._writer.run(job, after)

    async def of_capture(self, capture_id: str) -> list[Delivery]:
        """A request's deliveries, oldest first."""
        query = _listed().where(CaptureModel.id == capture_id, queries.visible("t2")).order_by(DeliveryModel.seq)
        return await self._readers.run(
            lambda database: [LISTED.record(row) for row in query.tuples().execute(database)]
        )

    async def page(
        self, which: DeliveryFilter, *, before: int | None = None, after: int | None = None, limit: int = 100
    ) -> list[Delivery]:
        """At most `limit` deliveries: those numbered below `before`, the last queued first; or those above `after`, the
        first queued first."""
        if which.endpoint_id is not None and which.endpoint_id not in self._request_counts:
            return []
        live = _filtered(_listed(), which)
        deleted = unsent.deleted(which, *DELETED.columns)

        def job(database: Database) -> list[Delivery]:
            rows: list[Delivery] = []
            with database.atomic():
                for mapping, query in ((LISTED, live), (DELETED, deleted)):
                    if query is not None:
                        found = _in_order(query, before, after).limit(limit).tuples().execute(database)
                        rows += map(mapping.record, found)
            return sorted(rows, key=attrgetter("seq"), reverse=after is None)[:limit]

        return await self._readers.run(job)

    async def count(self, which: DeliveryFilter) -> int:
        if which.endpoint_id is not None and which.endpoint_id not in self._request_counts:
            return 0
        query = _filtered(DeliveryModel.select(fn.COUNT(DeliveryModel.seq)), which)
        return await self._readers.run(lambda database: query.scalar(database) + unsent.count_deleted(database, which))

    async def target_counts(self) -> dict[int, TargetCounts]:
        """By target; those whose counts are 0 are missing."""
        return await self._readers.run(target_counts)

    async def target_troubles(self) -> list[TargetTrouble]:
        """The targets that are paused, or to which the last delivery failed."""
        return await self._readers.run(target_troubles)

    async def attempts(self, delivery_id: str) -> list[Attempt]:
        """In order. Raises NotFoundError."""

        def job(database: Database) -> list[Attempt]:
            if unsent.count_deleted(database, DeliveryFilter(delivery_ids=(delivery_id,))):
                return []  # they were deleted with it
            return delivery_results.of_delivery(database, delivery_id)

        return await self._readers.run(job)

    async def last_attempts(self, delivery_ids: Sequence[str]) -> dict[str, Attempt]:
        """The last attempt of each of these deliveries that has one."""
        return await self._readers.run(lambda database: delivery_results.last_of(database, delivery_ids))

    async def response_body(self, delivery_id: str, attempt: int) -> bytes:
        """The stored part of the body of the target's response to this attempt. Raises NotFoundError."""
        return await self._readers.run(lambda database: delivery_results.response_body(database, delivery_id, attempt))


def _job(target_id: int) -> str:
    """The name of sending to a target: one node does that."""
    return f"target {target_id}"


def interrupt(
    database: Database, which: Any, target_of: Callable[[int | None], Target | None]
) -> tuple[list[Result], list[Stored]]:
    """Store the attempts of these deliveries that were being made as interrupted."""
    results = []
    for row in list(_deliveries().where(which).tuples().execute(database)):
        delivery = DELIVERY.record(row)
        target = target_of(delivery.target_id)
        attempt, delivery = delivery_results.interrupted(delivery, delivery.request_url(target))
        results.append(Result(delivery, [(attempt, b"")], target_id=None, pause_after=0))
    return results, delivery_results.store(database, results, (), set())[0]


def _deliveries(*others: Any) -> ModelSelect[DeliveryModel]:
    return DeliveryModel.select(*DELIVERY.columns, *others).join(CaptureModel).order_by(DeliveryModel.seq)


def _listed() -> ModelSelect[DeliveryModel]:
    return DeliveryModel.select(*LISTED.columns).join(CaptureModel)


@cache
def _queued_statement() -> str:
    """Built once: that takes peewee longer than sending some deliveries, on the loop's thread."""
    tiny = BodyModel.select(BodyModel.data).where(
        BodyModel.key == CaptureModel.seq, CaptureModel.size <= SQL(str(TINY_BODY))
    )
    query = queries.with_capture(_deliveries(*CAPTURE.columns, tiny)).where(
        _QUEUED,
        DeliveryModel.target_id.between(SQL(":target_id"), SQL(":target_id")),
        SQL("(t1.due_at <= :due_at OR t1.started_at > :due_at)"),
        SQL("t1.id NOT IN names(:without)"),
        queries.of_visible_endpoint(),  # a deleted request is sent until it is purged: it may be restored
    )
    return f"{query.order_by(DeliveryModel.target_id, DeliveryModel.seq).sql()[0]} LIMIT :limit"


def _short_bodies(database: Database, captures: Sequence[Capture]) -> dict[int, bytes]:
    """By number: the bodies of those up to `SHORT_BODY` bytes, until `SHORT_BODIES` are reached."""
    chosen, room = [], SHORT_BODIES
    for capture in captures:
        if capture.size <= min(SHORT_BODY, room):
            chosen.append(capture.seq)
            room -= capture.size
    return body_parts.first_parts(database, chosen) if chosen else {}


def _intact(capture: Capture, bodies: Mapping[int, bytes]) -> bytes | None:
    """The body, or None if it is long or damaged: the sender reads those from the store, which checks them."""
    body = bodies.get(capture.seq)
    return body if body is not None and sha256(body).hexdigest() == capture.sha256 else None


def _filtered(query: ModelSelect[DeliveryModel], which: DeliveryFilter) -> ModelSelect[DeliveryModel]:
    query = unsent.narrowed(query, DeliveryModel, which).where(queries.visible(seq="capture_seq"))
    if which.state is not None:
        # Not a parameter: SQLite uses the index of queued or failed deliveries only when it sees the state.
        query = query.where(SQL(f"t1.state = '{which.state.value}'"))
    if which.replay is not None:
        query = query.where(DeliveryModel.replay_id.is_null(not which.replay))
    if which.replay_id is not None:
        query = query.where(DeliveryModel.replay_id == which.replay_id)
    if which.capture_ids is not None:
        seqs = CaptureModel.select(CaptureModel.seq).where(CaptureModel.id.in_(sql_list(which.capture_ids)))
        query = query.where(DeliveryModel.capture.in_(seqs))
    return query


def _in_order(query: ModelSelect[Any], before: int | None, after: int | None) -> ModelSelect[Any]:
    seq = query.model.seq
    if before is not None:
        query = query.where(seq < before)
    return query.order_by(seq.desc()) if after is None else query.where(seq > after).order_by(seq)


class _QueuedAgain(NamedTuple):
    """A delivery; `shown` is what its request's row shows."""

    seq: int
    target_id: int
    capture_id: str
    shown: DeliveryState


def _read_queued(database: Database, seqs: Sequence[int]) -> list[_QueuedAgain]:
    query = DeliveryModel.select(DeliveryModel.seq, DeliveryModel.target_id, CaptureModel.id, CaptureModel.seq)
    query = query.join(CaptureModel).where(DeliveryModel.seq.in_(sql_list(seqs)))
    rows = list(query.order_by(DeliveryModel.seq).tuples().execute(database))
    shown = delivery_results.show_worst(database, {row[-1] for row in rows})
    return [_QueuedAgain(seq, target_id, name, shown[capture_seq]) for seq, target_id, name, capture_seq in rows]
