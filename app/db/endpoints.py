"""The endpoints: the writes that change them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from peewee import IntegrityError, SqliteDatabase

from app.core.clock import now_us
from app.core.errors import InvalidFieldsError, PlanLimitError
from app.core.events import EndpointRemoved, EndpointSaved, EndpointsReordered, Event
from app.core.ids import new_slug
from app.core.model import Counts, Endpoint, EndpointDraft
from app.core.rules import FieldError, create_refusal, endpoint_errors, position_error
from app.core.target import Target
from app.db.account import read_plan
from app.db.cleanup import Cleanup
from app.db.counts import RequestCounts
from app.db.endpoint_directory import EndpointDirectory, endpoint_not_found
from app.db.records import from_draft, to_endpoint, to_target
from app.db.removed_targets import RemovedTargets
from app.db.schema import PLAN_LIMIT, EndpointModel, TargetModel
from app.db.storage_limits import StorageLimits
from app.db.targets import save_first_target, targets_of
from app.db.writer import Writer


class Endpoints:
    """All public methods are called on the loop's thread."""

    def __init__(
        self,
        writer: Writer,
        directory: EndpointDirectory,
        *,
        counts: RequestCounts,
        limits: StorageLimits,
        cleanup: Cleanup,
        publish: Callable[[Event], None],
        own_bases: Callable[[], Sequence[str]],
        retention_changed: Callable[[], None],
        removed_targets: RemovedTargets,
    ) -> None:
        self._writer, self._directory = writer, directory
        self._request_counts, self._limits, self._cleanup = counts, limits, cleanup
        self._publish, self._own_bases, self._retention_changed = publish, own_bases, retention_changed
        self._removed_targets = removed_targets

    async def load(self) -> None:
        """Read all endpoints at start; StorageUnavailableError when they cannot be read."""
        for endpoint in await self._writer.run(_all):
            self._directory.keep(endpoint)

    def all(self) -> tuple[Endpoint, ...]:
        """Every endpoint, in the user's order; new ones last."""
        return self._directory.all()

    def by_slug(self, slug: str) -> Endpoint | None:
        return self._directory.by_slug(slug)

    def by_id(self, endpoint_id: int) -> Endpoint | None:
        return self._directory.by_id(endpoint_id)

    async def create(self, draft: EndpointDraft) -> Endpoint:
        """Store a new endpoint. InvalidFieldsError, PlanLimitError or StorageUnavailableError when it cannot be."""
        self._check(endpoint_errors(draft, self._own_bases()))
        columns = {**from_draft(draft), "slug": draft.slug or new_slug(), "created_at": now_us()}

        def job(database: SqliteDatabase) -> Endpoint:
            try:
                number = EndpointModel.insert(**columns).execute(database)
            except IntegrityError as error:
                _refuse(error, database, columns["slug"])
            save_first_target(database, None, number, draft)
            targets = targets_of(database, number) if draft.forward_url is not None else ()
            return to_endpoint(EndpointModel(id=number, **columns), targets)

        def after(endpoint: Endpoint) -> None:
            self._request_counts.start(endpoint.id, Counts())
            self._limits.follow(endpoint)
            self._directory.keep(endpoint)
            self._publish(EndpointSaved(endpoint=endpoint, created=True))

        return await self._writer.run(job, after)

    async def update(self, endpoint_id: int, draft: EndpointDraft) -> Endpoint:
        """Change an endpoint to `draft`, whose slug is None or unchanged. Raises as `create`, and NotFoundError."""
        old = self._directory.require(endpoint_id)
        errors = endpoint_errors(draft, self._own_bases())
        if draft.slug not in (None, old.slug):
            errors.append(FieldError(field="slug", message=f"Slug cannot be changed; it stays {old.slug!r}."))
        self._check(errors)
        columns = from_draft(draft)

        def job(database: SqliteDatabase) -> Endpoint:
            EndpointModel.update(**columns).where(_is(endpoint_id)).execute(database)
            save_first_target(database, _one(database, endpoint_id), endpoint_id, draft)
            return _one(database, endpoint_id)

        def after(endpoint: Endpoint) -> None:
            changed = self._directory.require(endpoint_id).retention_days != endpoint.retention_days
            self._directory.keep(endpoint)
            self._publish(EndpointSaved(endpoint=endpoint, created=False))
            self._limits.follow(endpoint)
            self._removed_targets.check(target.id for target in old.targets)
            if changed:
                self._retention_changed()

        endpoint = await self._writer.run(job, after)
        await self._removed_targets.run()
        return endpoint

    async def move(self, endpoint_id: int, position: int) -> None:
        """Move an endpoint to this position in the list, counted from 1.

        InvalidFieldsError (field `position`) beyond the list, NotFoundError, or StorageUnavailableError.
        """
        self._directory.require(endpoint_id)
        wrong = position_error(position, len(self._directory.all()))
        self._check([FieldError(field="position", message=wrong)] if wrong else [])

        def job(database: SqliteDatabase) -> list[int]:
            # Read from the database, not the directory: endpoints may have been added or removed since.
            ids = [endpoint.id for endpoint in _all(database)]
            if endpoint_id not in ids:
                raise endpoint_not_found()
            ids.remove(endpoint_id)
            ids.insert(position - 1, endpoint_id)
            for place, number in enumerate(ids, 1):
                EndpointModel.update(position=place).where(_is(number)).execute(database)
            return ids

        def after(ids: list[int]) -> None:
            self._publish(EndpointsReordered(endpoint_ids=self._directory.reorder(ids)))

        await self._writer.run(job, after)

    async def delete(self, endpoint_id: int) -> None:
        """Delete an endpoint: it is hidden at once with its requests, which are then deleted in small steps.

        NotFoundError, or StorageUnavailableError.
        """
        endpoint = self._directory.require(endpoint_id)

        def job(database: SqliteDatabase) -> None:
            if not EndpointModel.update(removed=True).where(_is(endpoint_id)).execute(database):
                raise endpoint_not_found()

        def after(_: None) -> None:
            self._directory.remove(endpoint)
            self._limits.forget(endpoint_id)
            self._request_counts.forget(endpoint_id)
            self._publish(EndpointRemoved(endpoint=endpoint))
            self._cleanup.wake_soon()

        await self._writer.run(job, after)

    @staticmethod
    def _check(errors: Sequence[FieldError]) -> None:
        if errors:
            raise InvalidFieldsError(errors)


def _is(endpoint_id: int) -> object:
    return (EndpointModel.id == endpoint_id) & (EndpointModel.removed == False)  # noqa: E712


def _all(database: SqliteDatabase) -> list[Endpoint]:
    order = (EndpointModel.position.asc(nulls="LAST"), EndpointModel.id)
    query = EndpointModel.select().where(EndpointModel.removed == False).order_by(*order)  # noqa: E712
    targets: dict[int, list[Target]] = {}
    for row in TargetModel.select().order_by(TargetModel.position, TargetModel.id).execute(database):
        target = to_target(row)
        targets.setdefault(target.endpoint_id, []).append(target)
    return [to_endpoint(row, tuple(targets.get(row.id, ()))) for row in query.execute(database)]


def _one(database: SqliteDatabase, endpoint_id: int) -> Endpoint:
    for row in EndpointModel.select().where(_is(endpoint_id)).execute(database):
        return to_endpoint(row, targets_of(database, endpoint_id))
    raise endpoint_not_found()


def _refuse(error: IntegrityError, database: SqliteDatabase, slug: str) -> NoReturn:
    """Raise the error for the user, by the constraint or trigger that failed."""
    if PLAN_LIMIT in str(error):
        known = len(_all(database))
        raise PlanLimitError(create_refusal(read_plan(database), known) or str(error)) from error
    if "endpoint.slug" in str(error):
        message = (
            f"Slug {slug!r} is taken by another endpoint. Choose another, or leave it empty to have one generated."
        )
        raise InvalidFieldsError([FieldError(field="slug", message=message)]) from error
    raise error
