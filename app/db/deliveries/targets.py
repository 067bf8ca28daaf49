"""The targets of endpoints: the writes that change them, the end of deliveries to those that are removed, and what
is wrong with the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import cache

from msgspec.structs import replace
from peewee import SQL, Database, fn

from app.core.clock import DAY_US, now_us
from app.core.doctor import Finding, ok, warning
from app.core.errors import NotAllowedError, NotFoundError, StorageUnavailableError, check_fields
from app.core.events import DeliveryChanged, EndpointSaved, TargetChanged
from app.core.model import Endpoint, EndpointDraft
from app.core.rules import FieldError, position_error, target_errors
from app.core.target import PausedBy, Target, TargetCounts, TargetDraft, full_url
from app.core.target_text import TargetTrouble
from app.core.text import count_of
from app.db.deliveries import delivery_results
from app.db.deliveries.delivery_results import show_worst
from app.db.models import CaptureModel, DeliveryModel, TargetModel
from app.db.part import BackgroundWorker, Part, Shared
from app.db.raw_sql import execute, json_list
from app.db.records import DELIVERY, from_target_draft, to_target
from app.db.writer_thread import AdaptiveBatch
from hookline.decoding import convert


class Targets(Part):
    """The targets of endpoints. Changes publish EndpointSaved, then TargetChanged, and raise NotFoundError if the
    endpoint or target is gone."""

    def __init__(self, shared: Shared, removed: RemovedTargets) -> None:
        super().__init__(shared)
        self._removed, self.by_id = removed, self._directory.target

    async def create(self, endpoint_id: int, draft: TargetDraft) -> Target:
        """Raises InvalidFieldsError too."""
        self._directory.require(endpoint_id)
        draft = await self._checked(draft)
        return await self._change(endpoint_id, lambda database: insert_target(database, endpoint_id, draft))

    async def update(self, target_id: int, draft: TargetDraft) -> Target:
        """Raises InvalidFieldsError too."""
        target = self._require(target_id)
        draft = await self._checked(draft, target)
        return await self._update(target, from_target_draft(draft), at_once=draft != target.draft())

    async def move(self, target_id: int, position: int) -> None:
        """Move it to this position among its endpoint's targets, counted from 1. Raises InvalidFieldsError too."""
        endpoint = self._directory.require(self._require(target_id).endpoint_id)
        wrong = position_error(position, len(endpoint.targets))
        check_fields([FieldError(field="position", message=wrong)] if wrong else [])

        def move(database: Database) -> int:
            ids = [target.id for target in targets_of(database, endpoint.id)]
            if target_id not in ids:
                raise _not_found()
            ids.remove(target_id)
            ids.insert(position - 1, target_id)
            for place, number in enumerate(ids, 1):
                TargetModel.update(position=place).where(TargetModel.id == number).execute(database)
            return target_id

        await self._change(endpoint.id, move)

    async def delete(self, target_id: int) -> None:
        """End what is queued for it: not sent, or failed if there was an attempt. Those that ended stay."""
        target = self._require(target_id)

        def job(database: Database) -> tuple[Target, ...]:
            delete_target(database, target_id)
            return targets_of(database, target.endpoint_id)

        def after(targets: tuple[Target, ...]) -> None:
            self._changed(target.endpoint_id, targets)
            self._removed.check([target_id])

        await self._writer.run(job, after)
        await self._removed.run()

    async def pause(self, target_id: int) -> Target:
        """Keep deliveries to it queued."""
        return await self._update(self._require(target_id), {"paused": PausedBy.USER.value})

    async def resume(self, target_id: int) -> Target:
        return await self._update(self._require(target_id), {"paused": None, "failures": 0}, at_once=True)

    def was_paused(self, target_id: int) -> None:
        """Too many failures in a row have paused it; that is stored."""
        target = self._directory.target(target_id)
        if target is None:
            return
        paused = replace(target, paused=PausedBy.FAILURES)
        endpoint = self._directory.require(target.endpoint_id)
        self._changed(endpoint.id, tuple(paused if one.id == target_id else one for one in endpoint.targets), paused)

    async def _update(self, target: Target, columns: dict[str, object], *, at_once: bool = False) -> Target:
        """`at_once`: what waits for its retry waits no longer."""

        def update(database: Database) -> int:
            if at_once:
                _make_due(database, target.id)
            if not TargetModel.update(**columns).where(TargetModel.id == target.id).execute(database):
                raise _not_found()
            return target.id

        return await self._change(target.endpoint_id, update)

    async def _change(self, endpoint_id: int, change: Callable[[Database], int]) -> Target:
        """Make a change, which returns the number of the target that it changes; that target."""

        def job(database: Database) -> tuple[tuple[Target, ...], Target]:
            number = change(database)
            targets = targets_of(database, endpoint_id)
            return targets, next(one for one in targets if one.id == number)

        _, target = await self._writer.run(job, lambda found: self._changed(endpoint_id, *found))
        return target

    def _changed(self, endpoint_id: int, targets: tuple[Target, ...], target: Target | None = None) -> None:
        """These are the endpoint's targets now, of which `target` was changed."""
        endpoint = self._directory.by_id(endpoint_id)
        if endpoint is None:
            return
        endpoint = replace(endpoint, targets=targets)
        self._directory.keep(endpoint)
        self._publish(EndpointSaved(endpoint=endpoint, created=False))
        if target is not None:
            self._publish(TargetChanged(target=target))

    def _require(self, target_id: int) -> Target:
        target = self._directory.target(target_id)
        if target is None:
            raise _not_found()
        return target

    async def _checked(self, draft: TargetDraft, before: TargetDraft | None = None) -> TargetDraft:
        """What is stored of it. InvalidFieldsError."""
        draft = replace(draft, url=full_url(draft.url))
        check_fields(target_errors(draft, self._shared.own_bases()) or await client_file_errors(draft, before))
        return draft


def targets_of(database: Database, endpoint_id: int) -> tuple[Target, ...]:
    """An endpoint's targets in order. Runs on the writer's thread, like the others below."""
    query = TargetModel.select().where(TargetModel.endpoint == endpoint_id)
    return tuple(to_target(row) for row in query.order_by(TargetModel.position, TargetModel.id).execute(database))


def insert_target(database: Database, endpoint_id: int, draft: TargetDraft, position: int | None = None) -> int:
    """Add a target, as the last one unless there is a `position`; returns its id."""
    if position is None:
        query = TargetModel.select(fn.MAX(TargetModel.position)).where(TargetModel.endpoint == endpoint_id)
        position = (query.scalar(database) or 0) + 1
    number: int = TargetModel.insert(
        endpoint=endpoint_id, position=position, failures=0, **from_target_draft(draft)
    ).execute(database)
    return number


def delete_target(database: Database, target_id: int) -> None:
    """Delete a target; `RemovedTargets` ends what is queued for it. NotFoundError if it is gone."""
    if not TargetModel.delete().where(TargetModel.id == target_id).execute(database):
        raise _not_found()


def save_first_target(database: Database, endpoint: Endpoint | None, endpoint_id: int, draft: EndpointDraft) -> None:
    """Make the first target what the endpoint's draft says; `endpoint` is what was stored before."""
    first = endpoint.targets[0] if endpoint is not None and endpoint.targets else None
    if draft.forward_url is None:
        if first is not None:
            delete_target(database, first.id)
        return
    url, timeout_ms = full_url(draft.forward_url), draft.forward.timeout_ms
    if first is None:
        insert_target(database, endpoint_id, TargetDraft(url=url, timeout_ms=timeout_ms), 1)
    else:
        changed = replace(first.draft(), url=url, timeout_ms=timeout_ms)
        if changed != first.draft():
            _make_due(database, first.id)
        TargetModel.update(**from_target_draft(changed)).where(TargetModel.id == first.id).execute(database)


def _make_due(database: Database, target_id: int) -> None:
    waiting = (DeliveryModel.target_id == target_id) & (DeliveryModel.state == "queued")
    DeliveryModel.update(due_at=0).where(waiting & (DeliveryModel.due_at > 0)).execute(database)


def _not_found() -> NotFoundError:
    return NotFoundError("This target no longer exists.")


async def client_file_errors(draft: TargetDraft, before: TargetDraft | None = None) -> list[FieldError]:
    """Why the files cannot be used that `before` does not name: a target whose file vanished can be edited."""
    own = draft.client_certificate, draft.client_key
    changed = before is None or own != (before.client_certificate, before.client_key)
    certificate = draft.client_certificate if changed else None
    authorities = draft.ca_certificate if before is None or draft.ca_certificate != before.ca_certificate else None
    return await asyncio.to_thread(_problems, certificate, draft.client_key, authorities)


def _problems(certificate: str | None, key: str | None, authorities: str | None) -> list[FieldError]:
    if not certificate and not authorities:
        return []
    import ssl  # takes a good part of a command's time, and hardly any command needs it

    from app.core import pem_files  # imports ssl

    context, found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), []
    try:
        if certificate:
            pem_files.load_client_certificate(context, certificate, key)
    except pem_files.PemFileError as error:
        found.append(FieldError(field=error.field, message=str(error)))
    try:
        if authorities:
            pem_files.load_authorities(context, authorities)
    except pem_files.PemFileError as error:
        found.append(FieldError(field=error.field, message=str(error)))
    return found


RETRY_S = 2.0
_MOST = 256
"""Deliveries in a step: the loop publishes an event for each."""
_NOT_TRIED = "Not sent: the target was removed."
_NOT_RETRIED = "Not retried: the target was removed."
_END = """UPDATE delivery
    SET state = CASE WHEN attempts > 0 THEN 'failed' ELSE 'not_sent' END,
        error = CASE WHEN attempts > 0 THEN error ELSE :not_tried END,
        next_step = CASE WHEN attempts > 0 THEN :not_retried END, due_at = 0
    WHERE seq IN (SELECT seq FROM delivery WHERE target_id BETWEEN :target AND :target AND state = 'queued'
        AND replay_id IS NULL AND sending_at IS NULL AND NOT EXISTS (SELECT 1 FROM target WHERE id = :target)
        ORDER BY target_id, seq LIMIT :limit)
    RETURNING seq, capture_seq"""
_WITHOUT_TARGET = """SELECT DISTINCT target_id FROM delivery
    WHERE state = 'queued' AND replay_id IS NULL AND target_id NOT IN (SELECT id FROM target)"""


class RemovedTargets(Part):
    """Works when told of a target that is gone; what a stop or a crash interrupts continues at the next start. Leaves
    a delivery whose attempt is being made until that has ended."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._gone: set[int] = set()
        self._batch = AdaptiveBatch(64, most=_MOST)
        self._lock = asyncio.Lock()
        self._worker = BackgroundWorker("hookline-removed-targets", self.run)
        self.resume, self.stop = self._worker.wake, self._worker.stop

    async def load(self) -> None:
        """Continue with what an earlier run left."""
        rows = await self._readers.run(lambda database: execute(database, _WITHOUT_TARGET).fetchall())
        self.check(number for (number,) in rows)

    def check(self, target_ids: Iterable[int | None]) -> None:
        """Deliveries to these were queued: end them if their target is gone."""
        gone = {number for number in target_ids if number is not None and self._directory.target(number) is None}
        if gone:
            self._gone |= gone
            self._worker.wake()

    async def run(self) -> None:
        """Return once nothing waits for those targets; while the store cannot write, that is tried again later."""
        try:
            async with self._lock:
                while self._gone:
                    await self._end_all(self._gone.pop())
        except NotAllowedError:
            pass  # another node may do that, or this one once its role is given back
        except StorageUnavailableError:  # the writer has logged why
            asyncio.get_running_loop().call_later(RETRY_S, self._worker.wake)

    async def _end_all(self, target_id: int) -> None:
        def step(database: Database, limit: int) -> list[DeliveryChanged]:
            return _end(database, target_id, limit)

        try:
            while await self._writer.between(step, self._batch, self._ended):
                pass
        except BaseException:
            self._gone.add(target_id)
            raise

    def _ended(self, ended: list[DeliveryChanged]) -> None:
        for event in ended:
            if self._directory.by_id(event.delivery.endpoint_id) is not None:
                self._publish(event)


@cache
def _read_statement() -> str:
    """Built once: that takes peewee as long as changing some deliveries."""
    query = DeliveryModel.select(*DELIVERY.columns).join(CaptureModel).where(SQL("t1.seq IN numbers(:seqs)"))
    return str(query.order_by(DeliveryModel.seq).sql()[0])


def _end(database: Database, target_id: int, limit: int) -> list[DeliveryChanged]:
    """End at most `limit` deliveries; none if the target exists."""
    texts = {"not_tried": _NOT_TRIED, "not_retried": _NOT_RETRIED}
    captures = dict(execute(database, _END, {**texts, "target": target_id, "limit": limit}).fetchall())
    if not captures:
        return []
    shown = show_worst(database, set(captures.values()))
    deliveries = [
        DELIVERY.record(row) for row in execute(database, _read_statement(), {"seqs": json_list(captures)}).fetchall()
    ]
    tried = [delivery.id for delivery in deliveries if delivery.attempts]
    last = delivery_results.last_of(database, tried) if tried else {}
    ended = []
    for delivery in deliveries:
        failure = last[delivery.id].failure if delivery.id in last else None
        ended.append(DeliveryChanged(delivery=delivery, state=shown[captures[delivery.seq]], failure=failure))
    return ended


_READ = 1_000
"""Deliveries of an endpoint, to find what became of those to one target: more could take seconds."""
_RETRIED = """(SELECT error FROM delivery
    WHERE target_id BETWEEN target.id AND target.id AND state = 'queued' AND replay_id IS NULL
    ORDER BY target_id, seq LIMIT 1)"""
_FAILED = f"""(SELECT error FROM
    (SELECT target_id, error FROM delivery
        WHERE endpoint_id BETWEEN target.endpoint_id AND target.endpoint_id AND state = 'failed' AND replay_id IS NULL
        ORDER BY endpoint_id DESC, seq DESC LIMIT {_READ}) AS failed
    WHERE target_id = target.id LIMIT 1)"""
_LAST_ERROR = f"coalesce({_RETRIED}, CASE WHEN failures > 0 OR paused = 'failures' THEN {_FAILED} END)"
"""Why the first delivery that waits for a target is retried, or else why the last one failed."""
_UNSENT = f"""FROM
    (SELECT target_id, error, queued_at FROM delivery
        WHERE endpoint_id BETWEEN target.endpoint_id AND target.endpoint_id AND state = 'not_sent' AND replay_id IS NULL
        ORDER BY endpoint_id DESC, seq DESC LIMIT {_READ}) AS unsent
    WHERE target_id = target.id AND queued_at > :now - {DAY_US}"""
_NUMBER_UNSENT = f"(SELECT count(*) {_UNSENT})"
_WAITING = "(SELECT count(*) FROM delivery WHERE target_id = target.id AND state = 'queued' AND replay_id IS NULL)"
_DELETED = f"CASE WHEN deleted_at > :now - {DAY_US} THEN deleted ELSE 0 END"
_COUNTS = f"SELECT id, {_WAITING}, failures, {_LAST_ERROR}, {_DELETED} FROM target"
"""In the order of the fields of TargetCounts."""
_TROUBLES = f"""
    SELECT endpoint.slug, target.id, target.url, paused, CAST(json_extract(settings, '$.pause_after') AS INTEGER),
        failures, {_WAITING}, {_DELETED}, coalesce({_RETRIED}, {_FAILED}),
        {_NUMBER_UNSENT}, (SELECT error {_UNSENT} LIMIT 1)
    FROM target JOIN endpoint ON endpoint.id = target.endpoint_id
    WHERE {_DELETED} > 0 OR (target.active = 1 AND
        (failures > 0 OR {_NUMBER_UNSENT} > 0 OR paused = 'failures' OR (paused = 'user' AND {_WAITING} > 0)))
    ORDER BY endpoint.id, target.position"""
"""In the order of the fields of TargetTrouble."""


def target_counts(database: Database) -> dict[int, TargetCounts]:
    """By target; those whose counts are 0 are missing."""
    names = TargetCounts.__struct_fields__
    rows = execute(database, _COUNTS, {"now": now_us()}).fetchall()
    counts = {number: TargetCounts(**dict(zip(names, own, strict=True))) for number, *own in rows}
    return {number: own for number, own in counts.items() if own != TargetCounts()}


def target_troubles(database: Database) -> list[TargetTrouble]:
    """Those of each endpoint in order. Replays do not count."""
    rows = execute(database, _TROUBLES, {"now": now_us()}).fetchall()
    return [convert(dict(zip(TargetTrouble.__struct_fields__, row, strict=True)), TargetTrouble) for row in rows]


NO_TARGETS = ok("no targets yet")


def forwarding_finding(database: Database) -> Finding:
    """Doctor's look at the targets: a warning if one is paused, or the last delivery to it failed."""
    if found := target_troubles(database):
        advice = " ".join(dict.fromkeys(trouble.advice + "." for trouble in found))
        return warning(" ".join(trouble.text for trouble in found), advice)
    (count,) = execute(database, "SELECT count(*) FROM target").fetchone()
    return ok(f"{count_of(count, 'target')}, none is paused or failing") if count else NO_TARGETS
