"""The account of a data folder, its endpoints and the URLs of their tunnels: the writes that change them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NoReturn

from peewee import SQL, Database, IntegrityError

from app.core.clock import now_us
from app.core.errors import HooklineError, InvalidFieldsError, PlanLimitError, StoreCopyError, check_fields
from app.core.events import EndpointSaved, EndpointsReordered, PlanChanged
from app.core.ids import new_slug
from app.core.model import Counts, Endpoint, EndpointDraft, Plan
from app.core.rules import FieldError, create_refusal, endpoint_errors, plan_refusal, position_error
from app.core.tunnel import URLS_KEPT, TunnelCopy, TunnelUrl
from app.db.deliveries.targets import RemovedTargets, save_first_target, targets_of
from app.db.models import (
    PLAN_LIMIT,
    AccountModel,
    EndpointModel,
    TunnelCopyModel,
    TunnelUrlModel,
    UnfinishedCopyModel,
)
from app.db.part import Part, Shared, endpoint_not_found
from app.db.queries import IN_ORDER, all_endpoints, endpoint_of
from app.db.raw_sql import ManyRows, execute, is_sqlite, raw, savepoint
from app.db.records import from_draft, to_endpoint
from app.db.trash import Trash


class Endpoints(Part):
    """Reads are from memory: capturing does one for each request."""

    def __init__(
        self, shared: Shared, removed_targets: RemovedTargets, trash: Trash, retention_changed: Callable[[], None]
    ) -> None:
        super().__init__(shared)
        self._removed_targets, self._trash, self._retention_changed = removed_targets, trash, retention_changed
        self.all, self.by_id = self._directory.all, self._directory.by_id
        self.by_slug, self.capturing = self._directory.by_slug, self._directory.capturing

    async def load(self, *, secrets: bool = True) -> None:
        """Read all endpoints at start, as `all_endpoints`; StorageUnavailableError when they cannot be read."""
        for endpoint in await self._writer.run(partial(all_endpoints, secrets=secrets)):
            self._directory.keep(endpoint)

    async def look_again(self, slug: str) -> bool:
        """Whether the endpoint with this slug is another than was known: another node has changed, created or deleted
        it. It is known from now on. A single read, of what is about to be refused: so a flood of requests to unknown
        paths stays cheap. Raises StorageUnavailableError."""
        if not self._request_counts.for_all_nodes:
            return False

        def job(database: Database) -> tuple[int, int] | None:
            found: tuple[int, int] | None = execute(database, _VERSION, (slug,)).fetchone()
            return found

        known = self.by_slug(slug)
        stored = await self._readers.run(job)
        if stored == (None if known is None else (known.id, known.version)):
            return False
        await self._writer.look()
        return True

    async def create(self, draft: EndpointDraft) -> Endpoint:
        """Store a new endpoint. InvalidFieldsError, PlanLimitError or StorageUnavailableError when it cannot be."""
        check_fields(endpoint_errors(draft, self._shared.own_bases()))
        columns = {**from_draft(draft), "slug": draft.slug or new_slug(), "created_at": now_us()}

        def job(database: Database) -> Endpoint:
            try:
                with savepoint(raw(database)):
                    number = _ENDPOINTS.insert(database, [columns[name] for name in _COLUMNS])
            except Exception as error:
                _refuse(error, database, columns["slug"])
            save_first_target(database, None, number, draft)
            targets = targets_of(database, number) if draft.forward_url is not None else ()
            endpoint = to_endpoint(EndpointModel(id=number, **columns), targets)
            return endpoint if is_sqlite(database) else endpoint_of(database, number)  # which has a version

        def after(endpoint: Endpoint) -> None:
            self._request_counts.start(endpoint.id, Counts())
            self._limits.follow(endpoint)
            self._directory.keep(endpoint)
            self._publish(EndpointSaved(endpoint=endpoint, created=True))

        while True:
            try:
                return await self._writer.run(job, after)
            except (PlanLimitError, SlugTakenError) as error:
                if not await self._purge_in_the_way(error, columns["slug"]):
                    raise

    async def _purge_in_the_way(self, error: HooklineError, slug: str) -> bool:
        """A deleted endpoint that can be restored counts towards the plan and holds its slug; False if none does."""
        if isinstance(error, PlanLimitError):
            return await self._trash.purge_endpoints(lambda endpoint: True, most=1)
        return await self._trash.purge_endpoints(lambda endpoint: endpoint.slug == slug)

    async def update(self, endpoint_id: int, draft: EndpointDraft) -> Endpoint:
        """Change an endpoint to `draft`, whose slug is None or unchanged. Raises as `create`, and NotFoundError."""
        old = self._directory.require(endpoint_id)
        errors = endpoint_errors(draft, self._shared.own_bases())
        if draft.slug not in (None, old.slug):
            errors.append(FieldError(field="slug", message=f"Slug cannot be changed; it stays {old.slug!r}."))
        check_fields(errors)
        columns = from_draft(draft)

        def job(database: Database) -> Endpoint:
            update = EndpointModel.update(**columns).where(EndpointModel.id == endpoint_id)
            update.where(EndpointModel.trashed.is_null()).execute(database)
            save_first_target(database, endpoint_of(database, endpoint_id), endpoint_id, draft)
            return endpoint_of(database, endpoint_id)

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
        check_fields([FieldError(field="position", message=wrong)] if wrong else [])

        def job(database: Database) -> list[int]:
            # Read from the database, not the directory: endpoints may have been added or removed since.
            seen = [endpoint.id for endpoint in all_endpoints(database)]
            if endpoint_id not in seen:
                raise endpoint_not_found()
            order = EndpointModel.select(EndpointModel.id).order_by(*IN_ORDER)
            ids = list(order.scalars(database))
            place = ids.index(seen[min(position, len(seen)) - 1])  # `position` is among those that are seen
            ids.remove(endpoint_id)
            ids.insert(place, endpoint_id)
            for place, number in enumerate(ids, 1):
                EndpointModel.update(position=place).where(EndpointModel.id == number).execute(database)
            return ids

        def after(ids: list[int]) -> None:
            self._publish(EndpointsReordered(endpoint_ids=self._directory.reorder(ids)))

        await self._writer.run(job, after)

    async def delete(self, endpoint_id: int) -> None:
        """Delete an endpoint: it is hidden at once with its requests, which are then deleted in small steps.

        NotFoundError, or StorageUnavailableError.
        """
        await self._trash.delete_endpoint(endpoint_id, for_good=True)


_COLUMNS = (*from_draft(EndpointDraft(name="")), "slug", "created_at")
_ENDPOINTS = ManyRows("endpoint", _COLUMNS, key="id")


_VERSION = "SELECT id, version FROM endpoint WHERE slug = ? AND trashed IS NULL"


class SlugTakenError(InvalidFieldsError):
    """Another endpoint has the slug."""


def _refuse(error: Exception, database: Database, slug: str) -> NoReturn:
    """Raise the error for the user, by the constraint or trigger that failed."""
    if PLAN_LIMIT in str(error):
        known = len(all_endpoints(database))
        raise PlanLimitError(create_refusal(Plan(account_of(database).plan), known) or str(error)) from error
    if any(name in str(error) for name in ("endpoint.slug", "endpoint_slug")):
        message = (
            f"Slug {slug!r} is taken by another endpoint. Choose another, or leave it empty to have one generated."
        )
        raise SlugTakenError([FieldError(field="slug", message=message)]) from error
    raise error


class Account(Part):
    """The one account of the store. `instance_id` is random, and stays the same."""

    def __init__(self, shared: Shared, trash: Trash) -> None:
        super().__init__(shared)
        self._trash = trash
        self.plan = Plan.FREE
        self.instance_id = ""

    async def load(self) -> None:
        """Read the account at start; StorageUnavailableError when it cannot be read, StoreCopyError in an unfinished
        copy."""
        row, unfinished = await self._writer.run(lambda database: (account_of(database), unfinished_copy(database)))
        if unfinished is not None:
            raise StoreCopyError(f"The store is an unfinished copy of {unfinished.name}. {FINISH_COPY}")
        self.plan, self.instance_id = Plan(row.plan), row.instance_id

    async def set_plan(self, plan: Plan) -> None:
        """Change the plan; PlanLimitError when more endpoints exist than it allows, or StorageUnavailableError."""

        def job(database: Database) -> None:
            try:
                with savepoint(raw(database)):
                    AccountModel.update(plan=plan.value).execute(database)
            except IntegrityError as error:
                if PLAN_LIMIT not in str(error):
                    raise
                count = EndpointModel.select().where(EndpointModel.removed == False).count(database)  # noqa: E712
                raise PlanLimitError(plan_refusal(plan, count) or str(error)) from error

        def after(_: None) -> None:
            if plan is not self.plan:
                self.plan = plan
                self._publish(PlanChanged())

        try:
            await self._writer.run(job, after)
        except PlanLimitError:
            # Deleted endpoints that can be restored count, too.
            if not await self._trash.purge_endpoints(lambda endpoint: True):
                raise
            await self._writer.run(job, after)


def account_of(database: Database) -> AccountModel:
    row: AccountModel = AccountModel.select().get(database)
    return row


FINISH_COPY = "Finish it (hookline store copy), or use another."


def unfinished_copy(database: Database) -> UnfinishedCopyModel | None:
    """Whether the store is one, and of what."""
    found: UnfinishedCopyModel | None = UnfinishedCopyModel.select().first(database)
    return found


END_TUNNELS = """UPDATE tunnel_url
    SET until = (SELECT CASE WHEN since > seen_at THEN since ELSE seen_at END FROM clock) WHERE until IS NULL"""
"""Of a Hookline that was killed: the store last saw the time shortly before."""


class Tunnels(Part):
    """The public URLs that the tunnel had, and which of them were copied."""

    async def load(self) -> None:
        """End the URL that was in use when the last run was killed."""
        open_now = TunnelUrlModel.select().where(TunnelUrlModel.until.is_null())
        if await self._readers.run(open_now.exists):
            await self._writer.run(lambda database: execute(database, END_TUNNELS))

    async def opened(self, url: str, program: str, at: int) -> None:
        """The tunnel has this URL from now on, and no other."""

        def job(database: Database) -> None:
            _end(database, at)
            TunnelUrlModel.insert(url=url, program=program, since=at).execute(database)
            newest = TunnelUrlModel.select(TunnelUrlModel.id).order_by(TunnelUrlModel.id.desc()).limit(URLS_KEPT)
            TunnelUrlModel.delete().where(TunnelUrlModel.id.not_in(newest)).execute(database)

        await self._writer.run(job)

    async def closed(self, at: int) -> None:
        """The tunnel has no URL any more."""
        await self._writer.run(lambda database: _end(database, at))

    async def history(self, limit: int = 50) -> list[TunnelUrl]:
        """Newest first; at most the newest 1,000 are kept."""
        row = TunnelUrlModel
        query = row.select(row.url, row.program, row.since, row.until).order_by(row.id.desc()).limit(limit)
        return await self._readers.run(lambda database: list(query.objects(TunnelUrl).execute(database)))

    async def copies(self) -> list[TunnelCopy]:
        row = TunnelCopyModel
        query = row.select(row.endpoint.alias("endpoint_id"), row.base, row.copied_at).order_by(row.copied_at)
        return await self._readers.run(lambda database: list(query.objects(TunnelCopy).execute(database)))

    async def copied(self, endpoint_id: int, base: str, at: int) -> None:
        """The endpoint's capture URL was copied under this URL. Of its older ones only the last one copied is kept: a
        provider has one."""
        await self._writer.run(partial(_copied, endpoint_id=endpoint_id, base=base, at=at, older=1))

    async def updated(self, endpoint_id: int, base: str, at: int) -> None:
        """The provider has the capture URL under this URL, and no older one."""
        await self._writer.run(partial(_copied, endpoint_id=endpoint_id, base=base, at=at, older=0))


def _copied(database: Database, *, endpoint_id: int, base: str, at: int, older: int) -> None:
    """Keep so many that were copied before."""
    if not EndpointModel.select().where(EndpointModel.id == endpoint_id).exists(database):
        return
    own, key = TunnelCopyModel.endpoint == endpoint_id, (TunnelCopyModel.endpoint, TunnelCopyModel.base)
    others = TunnelCopyModel.select(TunnelCopyModel.base).where(own, TunnelCopyModel.base != base)
    others = others.order_by(TunnelCopyModel.copied_at.desc()).limit(older)
    kept = [*(row.base for row in others.execute(database)), base]
    TunnelCopyModel.delete().where(own, TunnelCopyModel.base.not_in(kept)).execute(database)
    insert = TunnelCopyModel.insert(endpoint=endpoint_id, base=base, copied_at=at)
    insert.on_conflict(conflict_target=key, preserve=[TunnelCopyModel.copied_at]).execute(database)


def _end(database: Database, at: int) -> None:
    """The open URL; of this node alone, where there are several."""
    query = TunnelUrlModel.update(until=at).where(TunnelUrlModel.until.is_null())
    (query if is_sqlite(database) else query.where(SQL("node = this_node()"))).execute(database)
