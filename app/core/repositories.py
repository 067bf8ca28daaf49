"""The stores of the program, as server, API and window use them: one contract each.

All are called on the loop's thread. Whatever reads or writes the database raises StorageUnavailableError when that is
not possible now. What is said to come from memory never does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from typing import Protocol

from app.core.activity import Bar
from app.core.clock_problem import ClockProblem
from app.core.deletion import Clearing, Hidden, Mark, MarkedIds, StoredIds
from app.core.model import (
    Capture,
    Counts,
    Delivery,
    Endpoint,
    EndpointDraft,
    MirrorState,
    PageKey,
    Plan,
    PurgeReport,
    Refusal,
    SenderCount,
    StorageSize,
    StorageUse,
    Summary,
)
from app.core.search.query import Query


class EndpointRepository(Protocol):
    """The endpoints. They are read from memory, so that capturing may ask once per request."""

    def all(self) -> tuple[Endpoint, ...]:
        """In the user's order; new ones come last."""
        ...

    def by_id(self, endpoint_id: int) -> Endpoint | None: ...

    def by_slug(self, slug: str) -> Endpoint | None: ...

    async def create(self, draft: EndpointDraft) -> Endpoint:
        """InvalidFieldsError, PlanLimitError or StorageUnavailableError when it cannot be created."""
        ...

    async def update(self, endpoint_id: int, draft: EndpointDraft) -> Endpoint:
        """`draft.slug` is None or as before. Raises what `create` does, and NotFoundError."""
        ...

    async def move(self, endpoint_id: int, position: int) -> None:
        """Put it at this place of the list, counted from 1.

        InvalidFieldsError (field `position`) beyond the list, NotFoundError, or StorageUnavailableError.
        """
        ...

    async def delete(self, endpoint_id: int) -> None:
        """Delete it with its requests. NotFoundError or StorageUnavailableError."""
        ...


class CaptureSink(Protocol):
    """Where the capture server stores requests. `add`, `add_part` and `add_piece` raise StorageUnavailableError when
    nothing can be stored now, and StorageLimitError when a storage limit leaves no room."""

    def new_seq(self) -> int:
        """The number of the next capture."""
        ...

    def check_room(self, endpoint_id: int, size: int) -> None:
        """StorageLimitError when a body of `size` bytes would not be stored now. From memory."""
        ...

    async def add(self, capture: Capture, tail: bytes, tail_part: int = 0, forward_url: str | None = None) -> None:
        """Store `capture`, durable on return. `tail` is body part `tail_part`; `forward_url` queues a delivery.

        NotFoundError when the endpoint was deleted.
        """
        ...

    async def add_part(
        self, seq: int, part: int, data: bytes, *, pieces: int = 0, endpoint_id: int | None = None
    ) -> None:
        """Store one part of a body whose capture comes later: what the first `pieces` pieces hold, then `data`.

        Every part but the tail is PART_SIZE bytes long.
        """
        ...

    async def add_piece(self, seq: int, piece: int, data: bytes, *, endpoint_id: int | None = None) -> None:
        """Store a piece of the part that is being received; the pieces of one part are numbered from 0 on."""
        ...

    async def drop_parts(self, seq: int) -> None:
        """Delete the parts stored so far: the request is not stored after all. StorageUnavailableError."""
        ...

    def replied(self, seq: int, ms: float) -> None:
        """Note that the response was sent, `ms` milliseconds after the request's head was read."""
        ...


class BulkDeleteRepository(Protocol):
    """Deletes all of an endpoint's requests some time after the user asked: requests stored in between stay.

    Every coroutine raises StorageUnavailableError.
    """

    async def begin(self, endpoint_id: int, keep: Collection[Mark]) -> Clearing:
        """Remember what is stored now, but for requests with one of the marks in `keep`."""
        ...

    async def finish(self, clearing: Clearing) -> None:
        """Delete it."""
        ...

    def give_up(self, clearing: Clearing) -> None:
        """Delete nothing."""
        ...

    async def marked(self, endpoint_id: int | None) -> MarkedIds:
        """The requests with a star or a note, of an endpoint or of all (None)."""
        ...

    async def stored(self, ids: Sequence[str]) -> dict[int, StoredIds]:
        """The requests among these that are stored, by endpoint."""
        ...


class CaptureRepository(Protocol):
    """The stored requests. Those `hidden` are left out. Every coroutine, and iterating `search`, raises
    StorageUnavailableError."""

    @property
    def clearings(self) -> BulkDeleteRepository: ...

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
        """At most `limit` requests of one endpoint, or of all (None), newest first.

        `before`: those next older than the key. `after`: those next newer. `beginning`: those whose ids begin so.
        """
        ...

    def search(
        self,
        query: Query,
        endpoint_id: int | None,
        *,
        before: PageKey | None = None,
        limit: int = 100,
        searched: Callable[[int], None] | None = None,
        hidden: Hidden | None = None,
    ) -> AsyncGenerator[list[Summary], None]:
        """The requests that match, newest first, in batches as they are found; closing the generator cancels it.

        A long search calls `searched` with the number of requests it has gone through.
        """
        ...

    async def get(self, capture_id: str) -> Capture | None: ...

    async def body(self, capture_id: str, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of the body as sent, from `offset`, at most `length`. NotFoundError when the request is not stored."""
        ...

    async def mark_read(self, ids: Sequence[str], read: bool = True) -> None:
        """Publishes RequestsChanged."""
        ...

    async def mark_all_read(self, endpoint_id: int, *, hidden: Hidden | None = None) -> None:
        """Publishes RequestsChanged without ids."""
        ...

    async def star(self, ids: Sequence[str], starred: bool = True) -> None:
        """Publishes RequestsStarred."""
        ...

    async def set_note(self, capture_id: str, note: str) -> None:
        """An empty note removes it. Publishes RequestNoted.

        InvalidFieldsError (field `note`), or NotFoundError when the request is not stored.
        """
        ...

    async def delete(self, ids: Sequence[str]) -> None:
        """Delete requests with bodies and deliveries. Publishes RequestsRemoved."""
        ...

    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> None:
        """Delete all that the endpoint has now, but for requests with one of the marks in `keep`."""
        ...

    def counts(self, endpoint_id: int) -> Counts:
        """From memory."""
        ...


class ActivityRepository(Protocol):
    """Requests over time. Every call raises StorageUnavailableError."""

    async def bars(self, endpoint_id: int | None, edges: Sequence[int], *, hidden: Hidden | None = None) -> list[Bar]:
        """The requests from each of the rising times `edges` (microseconds) up to the next."""
        ...

    async def oldest(self, endpoint_id: int | None) -> int | None:
        """When the oldest stored request was received, in microseconds; None when there is none."""
        ...

    async def last_outcomes(self) -> dict[int, MirrorState]:
        """The state of the newest delivery that has ended, for each endpoint that has one."""
        ...


class ProviderStatsRepository(Protocol):
    """Providers and event types of an endpoint's newest requests, or of all endpoints' (None)."""

    async def lately(self, endpoint_id: int | None) -> Sequence[SenderCount]:
        """The most frequent first. StorageUnavailableError."""
        ...


class DeliveryRepository(Protocol):
    """The deliveries: the queue, and the outcomes. Every call raises StorageUnavailableError."""

    async def pending(self, endpoint_id: int, limit: int = 50) -> list[Delivery]:
        """An endpoint's queued deliveries, oldest first."""
        ...

    async def endpoints_with_pending(self) -> set[int]: ...

    async def finish(self, delivery: Delivery, response_body: bytes) -> None:
        """Store an outcome and publish Mirrored. Does nothing when the request was deleted meanwhile."""
        ...

    async def of_capture(self, capture_id: str) -> list[Delivery]:
        """A request's deliveries, oldest first."""
        ...

    async def page(
        self,
        endpoint_id: int | None = None,
        state: MirrorState | None = None,
        *,
        before: int | None = None,
        limit: int = 100,
    ) -> list[tuple[int, Delivery]]:
        """At most `limit` deliveries, the last queued first, each with its number; those numbered below `before`."""
        ...

    async def response_body(self, delivery_id: str) -> bytes:
        """The target's response as far as it is stored. NotFoundError when the delivery is not."""
        ...


class AccountRepository(Protocol):
    """The one account of the data folder."""

    @property
    def plan(self) -> Plan:
        """From memory."""
        ...

    async def set_plan(self, plan: Plan) -> None:
        """PlanLimitError when more endpoints exist than it allows; StorageUnavailableError."""
        ...


class RetentionRepository(Protocol):
    """Deletes requests by age. `problem`: why it does not do so now. Every coroutine raises StorageUnavailableError."""

    @property
    def problem(self) -> ClockProblem | None: ...

    @property
    def last_report(self) -> PurgeReport | None: ...

    @property
    def next_run_at(self) -> int | None:
        """In microseconds."""
        ...

    async def resume(self) -> None:
        """Trust the clock as it is, and delete soon."""
        ...

    async def purge(self) -> PurgeReport:
        """Delete what is past its days now. Publishes Purged."""
        ...

    async def size(self) -> StorageSize:
        """Bytes the store takes on disk, and about how many of them the next purge can free."""
        ...


class StorageLimitRepository(Protocol):
    """How much of the storage limits is used. From memory."""

    def use(self) -> StorageUse: ...

    def use_of(self, endpoint_id: int) -> StorageUse: ...

    def reached(self) -> Sequence[tuple[Endpoint | None, StorageUse]]:
        """The limits that are reached: of which endpoint, or of all (None)."""
        ...


class RefusedRepository(Protocol):
    """The refused requests, newest first, the last 1,000; in memory only."""

    @property
    def total(self) -> int:
        """Since the start, including those no longer listed."""
        ...

    def newest(self) -> list[Refusal]: ...

    def raw(self, refusal_id: int) -> bytes | None:
        """The request's bytes as far as they were received; None when they are not kept."""
        ...

    def clear(self) -> None: ...
