"""The targets of endpoints: the writes that change them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace
from peewee import SqliteDatabase, fn

from app.core.errors import InvalidFieldsError, NotFoundError
from app.core.events import EndpointSaved, Event, TargetChanged
from app.core.forward_target import full_url
from app.core.model import Endpoint, EndpointDraft
from app.core.rules import FieldError, position_error, target_errors
from app.core.target import PausedBy, Target, TargetDraft
from app.db.client_files import client_file_errors
from app.db.endpoint_directory import EndpointDirectory
from app.db.sqlite.deliveries.removed_targets import RemovedTargets
from app.db.sqlite.reads.records import from_target_draft, to_target
from app.db.sqlite.schema.schema import DeliveryModel, TargetModel
from app.db.sqlite.writer.writer import Writer


class Targets:
    """All public methods are called on the loop's thread. Raises as `TargetRepository` says."""

    def __init__(
        self,
        writer: Writer,
        directory: EndpointDirectory,
        publish: Callable[[Event], None],
        own_bases: Callable[[], Sequence[str]],
        removed: RemovedTargets,
    ) -> None:
        self._writer, self._directory, self._publish, self._own_bases = writer, directory, publish, own_bases
        self._removed = removed

    def by_id(self, target_id: int) -> Target | None:
        return self._directory.target(target_id)

    async def create(self, endpoint_id: int, draft: TargetDraft) -> Target:
        self._directory.require(endpoint_id)
        draft = replace(draft, url=full_url(draft.url))
        await self._check_draft(draft)

        def job(database: SqliteDatabase) -> tuple[int, tuple[Target, ...]]:
            return insert_target(database, endpoint_id, draft), targets_of(database, endpoint_id)

        number, targets = await self._writer.run(job, lambda found: self._changed(endpoint_id, found[1], found[0]))
        return next(target for target in targets if target.id == number)

    async def update(self, target_id: int, draft: TargetDraft) -> Target:
        target = self._require(target_id)
        draft = replace(draft, url=full_url(draft.url))
        await self._check_draft(draft, target)
        return await self._update(target, from_target_draft(draft), at_once=draft != target.draft())

    async def move(self, target_id: int, position: int) -> None:
        endpoint = self._directory.require(self._require(target_id).endpoint_id)
        wrong = position_error(position, len(endpoint.targets))
        self._check([FieldError(field="position", message=wrong)] if wrong else [])

        def job(database: SqliteDatabase) -> tuple[Target, ...]:
            ids = [target.id for target in targets_of(database, endpoint.id)]
            if target_id not in ids:
                raise _not_found()
            ids.remove(target_id)
            ids.insert(position - 1, target_id)
            for place, number in enumerate(ids, 1):
                TargetModel.update(position=place).where(TargetModel.id == number).execute(database)
            return targets_of(database, endpoint.id)

        await self._writer.run(job, lambda targets: self._changed(endpoint.id, targets, target_id))

    async def delete(self, target_id: int) -> None:
        target = self._require(target_id)

        def job(database: SqliteDatabase) -> tuple[Target, ...]:
            delete_target(database, target_id)
            return targets_of(database, target.endpoint_id)

        def after(targets: tuple[Target, ...]) -> None:
            self._changed(target.endpoint_id, targets, None)
            self._removed.check([target_id])

        await self._writer.run(job, after)
        await self._removed.run()

    async def pause(self, target_id: int) -> Target:
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
        self._changed(endpoint.id, tuple(paused if one.id == target_id else one for one in endpoint.targets), target_id)

    async def _update(self, target: Target, columns: dict[str, object], *, at_once: bool = False) -> Target:
        """`at_once`: what waits for its retry waits no longer."""

        def job(database: SqliteDatabase) -> tuple[Target, ...]:
            if at_once:
                _make_due(database, target.id)
            if not TargetModel.update(**columns).where(TargetModel.id == target.id).execute(database):
                raise _not_found()
            return targets_of(database, target.endpoint_id)

        targets = await self._writer.run(job, lambda found: self._changed(target.endpoint_id, found, target.id))
        return next(one for one in targets if one.id == target.id)

    def _changed(self, endpoint_id: int, targets: tuple[Target, ...], target_id: int | None) -> None:
        endpoint = self._directory.by_id(endpoint_id)
        if endpoint is None:
            return
        endpoint = replace(endpoint, targets=targets)
        self._directory.keep(endpoint)
        self._publish(EndpointSaved(endpoint=endpoint, created=False))
        for target in targets:
            if target.id == target_id:
                self._publish(TargetChanged(target=target))

    def _require(self, target_id: int) -> Target:
        target = self._directory.target(target_id)
        if target is None:
            raise _not_found()
        return target

    async def _check_draft(self, draft: TargetDraft, before: TargetDraft | None = None) -> None:
        self._check(target_errors(draft, self._own_bases()) or await client_file_errors(draft, before))

    @staticmethod
    def _check(errors: Sequence[FieldError]) -> None:
        if errors:
            raise InvalidFieldsError(errors)


def targets_of(database: SqliteDatabase, endpoint_id: int) -> tuple[Target, ...]:
    """An endpoint's targets in order. Runs on the writer's thread, like the others below."""
    query = TargetModel.select().where(TargetModel.endpoint == endpoint_id)
    return tuple(to_target(row) for row in query.order_by(TargetModel.position, TargetModel.id).execute(database))


def insert_target(database: SqliteDatabase, endpoint_id: int, draft: TargetDraft, position: int | None = None) -> int:
    """Add a target, as the last one unless there is a `position`; returns its id."""
    if position is None:
        query = TargetModel.select(fn.MAX(TargetModel.position)).where(TargetModel.endpoint == endpoint_id)
        position = (query.scalar(database) or 0) + 1
    number: int = TargetModel.insert(
        endpoint=endpoint_id, position=position, failures=0, **from_target_draft(draft)
    ).execute(database)
    return number


def delete_target(database: SqliteDatabase, target_id: int) -> None:
    """Delete a target; `RemovedTargets` ends what is queued for it. NotFoundError if it is gone."""
    if not TargetModel.delete().where(TargetModel.id == target_id).execute(database):
        raise _not_found()


def save_first_target(
    database: SqliteDatabase, endpoint: Endpoint | None, endpoint_id: int, draft: EndpointDraft
) -> None:
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


def _make_due(database: SqliteDatabase, target_id: int) -> None:
    waiting = (DeliveryModel.target_id == target_id) & (DeliveryModel.state == "queued")
    DeliveryModel.update(due_at=0).where(waiting & (DeliveryModel.due_at > 0)).execute(database)


def _not_found() -> NotFoundError:
    return NotFoundError("This target no longer exists.")
