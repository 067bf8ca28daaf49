"""The store and the bus as the window sees them: without what is about to be deleted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from app.core.activity import Bar
from app.core.deletion import Hidden
from app.core.errors import InvalidFieldsError, PlanLimitError
from app.core.events import Bus, Captured, EndpointRemoved, EndpointSaved, Event, RequestsRemoved, Subscription
from app.core.model import (
    Capture,
    Counts,
    DeliveryState,
    Description,
    Endpoint,
    EndpointDraft,
    PageKey,
    Plan,
    Summary,
)
from app.core.redaction.secret import SecretHeaders
from app.core.repositories import (
    AccountRepository,
    ActivityRepository,
    BulkDeleteRepository,
    CaptureRepository,
    EndpointRepository,
)
from app.core.search.query import Query

if TYPE_CHECKING:
    from app.ui.undo.pending_delete import PendingDelete

E = TypeVar("E", bound=Event)


class VisibleCaptures:
    """A CaptureRepository; `delete` and `clear` can be undone for a while."""

    def __init__(self, stored: CaptureRepository, pending: PendingDelete) -> None:
        self._stored, self._pending = stored, pending
        self.delete, self.clear = pending.delete, pending.clear

    async def body(self, capture_id: str, offset: int = 0, length: int | None = None) -> bytes:
        return await self._stored.body(capture_id, offset, length)

    async def check_body(self, capture: Capture) -> None:
        await self._stored.check_body(capture)

    async def star(self, ids: Sequence[str], starred: bool = True) -> None:
        await self._stored.star(ids, starred)

    async def set_note(self, capture_id: str, note: str) -> None:
        await self._stored.set_note(capture_id, note)

    async def mark_read(self, ids: Sequence[str], read: bool = True) -> None:
        await self._stored.mark_read(ids, read)

    async def mark_all_read(self, endpoint_id: int, *, hidden: Hidden | None = None) -> None:
        """Hidden requests stay unread: undo restores them as they were."""
        await self._stored.mark_all_read(endpoint_id, hidden=hidden or self._pending.hidden)

    @property
    def clearings(self) -> BulkDeleteRepository:
        return self._stored.clearings

    async def page(
        self,
        endpoint_id: int | None,
        *,
        before: PageKey | None = None,
        after: PageKey | None = None,
        limit: int = 100,
        beginning: str | None = None,
        hidden: Hidden | None = None,
    ) -> list[Summary]:
        hidden = hidden or self._pending.hidden
        return await self._stored.page(
            endpoint_id, before=before, after=after, limit=limit, beginning=beginning, hidden=hidden
        )

    def search(
        self,
        query: Query,
        endpoint_id: int | None,
        *,
        before: PageKey | None = None,
        limit: int = 100,
        searched: Callable[[int], None] | None = None,
        unexamined: Callable[[int], None] | None = None,
        hidden: Hidden | None = None,
        secret_headers: SecretHeaders | None = None,
    ) -> AsyncGenerator[list[Summary], None]:
        hidden = hidden or self._pending.hidden
        return self._stored.search(
            query,
            endpoint_id,
            before=before,
            limit=limit,
            searched=searched,
            unexamined=unexamined,
            hidden=hidden,
            secret_headers=secret_headers,
        )

    async def descriptions(self, ids: Collection[str], secret_headers: SecretHeaders) -> dict[str, Description]:
        return await self._stored.descriptions(ids, secret_headers)

    async def get(self, capture_id: str) -> Capture | None:
        """None if the request is hidden."""
        found = await self._stored.get(capture_id)
        hidden = self._pending.hidden
        return None if found is not None and hidden is not None and hidden.has(found.endpoint_id, found.id) else found

    def counts(self, endpoint_id: int) -> Counts:
        """The counts without hidden requests, except that `last_received_at` is the store's as long as any request is
        left.
        """
        counts = self._stored.counts(endpoint_id)
        for one in self._pending.waiting:
            total, unread = one.hidden(endpoint_id)
            if total:
                total = max(0, counts.total - total)
                last = counts.last_received_at if total else None
                unread = min(total, max(0, counts.unread - unread))
                counts = replace(counts, total=total, unread=unread, last_received_at=last)
        return counts


class VisibleEndpoints:
    """An EndpointRepository; `delete` can be undone for a while."""

    def __init__(self, stored: EndpointRepository, pending: PendingDelete) -> None:
        self._stored, self._pending = stored, pending
        self.update = stored.update

    def all(self) -> tuple[Endpoint, ...]:
        return tuple(one for one in self._stored.all() if not self._pending.hides_endpoint(one.id))

    def by_id(self, endpoint_id: int) -> Endpoint | None:
        """None if the endpoint is hidden."""
        return None if self._pending.hides_endpoint(endpoint_id) else self._stored.by_id(endpoint_id)

    def by_slug(self, slug: str) -> Endpoint | None:
        """None if the endpoint is hidden."""
        found = self._stored.by_slug(slug)
        return None if found is None or self._pending.hides_endpoint(found.id) else found

    async def create(self, draft: EndpointDraft) -> Endpoint:
        """A pending endpoint still counts towards the plan and occupies its slug: if it blocks this one, it is deleted
        now.
        """
        while True:
            try:
                return await self._stored.create(draft)
            except PlanLimitError:
                if not await self._pending.finish_endpoints(lambda endpoint: True, most=1):
                    raise
            except InvalidFieldsError as error:
                if not any(wrong.field == "slug" for wrong in error.errors):
                    raise
                if not await self._pending.finish_endpoints(lambda endpoint: endpoint.slug == draft.slug):
                    raise

    async def move(self, endpoint_id: int, position: int) -> None:
        """`position` counts visible endpoints, from 1."""
        visible = [endpoint.id for endpoint in self.all()]
        if 1 <= position <= len(visible):
            stored = [endpoint.id for endpoint in self._stored.all()]
            position = stored.index(visible[position - 1]) + 1
        await self._stored.move(endpoint_id, position)

    async def delete(self, endpoint_id: int) -> None:
        """Hide it, then delete it."""
        await self._pending.delete_endpoint(endpoint_id)


class VisibleActivity:
    """An ActivityRepository."""

    def __init__(self, stored: ActivityRepository, pending: PendingDelete) -> None:
        self._stored, self._pending = stored, pending

    async def bars(self, endpoint_id: int | None, edges: Sequence[int], *, hidden: Hidden | None = None) -> list[Bar]:
        return await self._stored.bars(endpoint_id, edges, hidden=hidden or self._pending.hidden)

    async def oldest(self, endpoint_id: int | None) -> int | None:
        """Includes hidden requests: a chart may begin at one, but does not count it."""
        return await self._stored.oldest(endpoint_id)

    async def last_outcomes(self) -> dict[int, DeliveryState]:
        return await self._stored.last_outcomes()


class VisibleAccount:
    """An AccountRepository."""

    def __init__(self, stored: AccountRepository, pending: PendingDelete) -> None:
        self._stored, self._pending = stored, pending

    @property
    def plan(self) -> Plan:
        return self._stored.plan

    async def set_plan(self, plan: Plan) -> None:
        """Endpoints pending deletion still count: if they exceed the plan's limit, they are deleted now."""
        try:
            await self._stored.set_plan(plan)
        except PlanLimitError:
            if not await self._pending.finish_endpoints(lambda endpoint: True):
                raise
            await self._stored.set_plan(plan)


class VisibleBus(Bus):
    """Forwards the program's events, except those about hidden items. `publish` reaches the window only."""

    def __init__(self, bus: Bus, pending: PendingDelete) -> None:
        super().__init__()
        self._bus, self._pending = bus, pending
        self._sources: dict[type[Event], Subscription] = {}
        for kind in (Captured, RequestsRemoved, EndpointSaved, EndpointRemoved):
            self._forward(kind)

    def subscribe(self, kind: type[E], handler: Callable[[E], None]) -> Subscription:
        self._forward(kind)
        return super().subscribe(kind, handler)

    def stop(self) -> None:
        """Unsubscribe from the program's bus."""
        for source in self._sources.values():
            source.end()

    def _forward(self, kind: type[Event]) -> None:
        if kind not in self._sources:
            self._sources[kind] = self._bus.subscribe(kind, self._publish_visible)

    def _publish_visible(self, event: Event) -> None:
        visible = self._visible(event) if self._pending.waiting else event
        if visible is not None:
            self.publish(visible)

    def _visible(self, event: Event) -> Event | None:
        if isinstance(event, Captured):
            return self._captured(event)
        if isinstance(event, RequestsRemoved):
            return self._removed(event)
        if isinstance(event, EndpointSaved | EndpointRemoved) and self._pending.hides_endpoint(event.endpoint.id):
            return None
        return event

    def _captured(self, event: Captured) -> Captured | None:
        visible = []
        for summary in event.summaries:
            hiding = [one for one in self._pending.waiting if one.hides(summary.endpoint_id, summary.id)]
            for one in hiding:
                one.request_stored(summary)
            if not hiding:
                visible.append(summary)
        return replace(event, summaries=tuple(visible)) if visible else None

    def _removed(self, event: RequestsRemoved) -> RequestsRemoved | None:
        for one in self._pending.waiting:
            one.removed(event)
        if event.ids is None:
            return None if any(one.finishing and one.ends_with(event) for one in self._pending.waiting) else event
        hidden = self._pending.hidden
        remaining = tuple(name for name in event.ids if hidden is None or not hidden.has(event.endpoint_id, name))
        return replace(event, ids=remaining) if remaining else None
