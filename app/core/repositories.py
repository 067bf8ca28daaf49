"""The store as server, API and window see it, one protocol for each kind of record.

All methods are called on the loop's thread. Those that read or write the database raise StorageUnavailableError while
that is not possible; those marked "From memory" never do.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from app.core.activity import Bar
from app.core.backup import Backup
from app.core.clock_problem import ClockProblem
from app.core.deletion import Deletion, Mark, MarkedIds
from app.core.model import (
    Capture,
    Counts,
    DeliveryState,
    Description,
    Endpoint,
    EndpointDraft,
    PageKey,
    Plan,
    PurgeReport,
    Refusal,
    SenderCount,
    StorageSize,
    StorageUse,
    Summary,
)
from app.core.redaction.secret import SecretHeaders
from app.core.search.query import Query
from app.core.target import Target
from app.core.tunnel.tunnel import TunnelCopy, TunnelUrl


class EndpointRepository(Protocol):
    """The endpoints. Reads are from memory: capturing does one per request."""

    def all(self) -> tuple[Endpoint, ...]:
        """In the user's order; new ones come last."""
        ...

    def by_id(self, endpoint_id: int) -> Endpoint | None: ...

    def by_slug(self, slug: str) -> Endpoint | None: ...

    def capturing(self, slug: str) -> Endpoint | None:
        """The endpoint that answers senders: one that is deleted and can still be restored is switched off."""
        ...

    async def create(self, draft: EndpointDraft) -> Endpoint:
        """Raises InvalidFieldsError, PlanLimitError or StorageUnavailableError."""
        ...

    async def update(self, endpoint_id: int, draft: EndpointDraft) -> Endpoint:
        """`draft.slug` is None or unchanged. Raises what `create` does, and NotFoundError."""
        ...

    async def move(self, endpoint_id: int, position: int) -> None:
        """Move it to this position in the list, counted from 1.

        Raises InvalidFieldsError (field `position`), NotFoundError or StorageUnavailableError.
        """
        ...

    async def delete(self, endpoint_id: int) -> None:
        """Delete it with its requests. Raises NotFoundError or StorageUnavailableError."""
        ...


class CaptureSink(Protocol):
    """Stores requests for the capture server. `add` and `add_part` raise StorageUnavailableError, and StorageLimitError
    if a storage limit is reached."""

    def check_room(self, endpoint_id: int, size: int) -> None:
        """Raises StorageLimitError if a body of `size` bytes would not be stored. From memory."""
        ...

    async def add(
        self, capture: Capture, tail: bytes, body_key: int | None = None, targets: Sequence[Target] = ()
    ) -> int:
        """Store `capture`, durable on return, and return its number. `tail` is its body, or with a `body_key` what
        follows the parts that are stored; a delivery to each of `targets` is queued.

        Raises NotFoundError if the endpoint was deleted.
        """
        ...

    async def add_part(self, body_key: int | None, offset: int, data: bytes, *, endpoint_id: int | None = None) -> int:
        """Store a part of a body whose capture follows, at most `PART_SIZE` bytes from `offset` on. Returns the body's
        key, which is None for the first part."""
        ...

    async def drop_parts(self, body_key: int) -> None:
        """Delete the parts stored so far, of a request that will not be stored. Raises StorageUnavailableError."""
        ...

    def responded(self, seq: int, ms: float) -> None:
        """Record that the response was sent, `ms` milliseconds after the request's head was read."""
        ...


class TrashRepository(Protocol):
    """Deletes what can be restored until it is purged: it is hidden from everybody at once, and counts towards storage
    limits until then. Every coroutine raises StorageUnavailableError."""

    async def delete(self, ids: Sequence[str]) -> Deletion:
        """Delete requests. Publishes RequestsRemoved, more than once if they are many."""
        ...

    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> Deletion:
        """Delete the requests that the endpoint has now, except those with one of the marks in `keep`. Publishes
        RequestsRemoved."""
        ...

    async def delete_endpoint(self, endpoint_id: int) -> Deletion:
        """Delete it with its requests. Publishes EndpointRemoved. Raises NotFoundError."""
        ...

    async def undo(self, deletion: Deletion) -> None:
        """Restore what is left; nothing if it was purged. Publishes EndpointSaved if it is an endpoint."""
        ...

    async def purge(self, deletion: Deletion) -> None:
        """Delete it for good, and publish DeletionPurged. What cannot be deleted is restored, if that can be."""
        ...


class CaptureRepository(Protocol):
    """The stored requests. Every coroutine, and iterating `search`, raises StorageUnavailableError."""

    async def page(
        self,
        endpoint_id: int | None,
        *,
        before: PageKey | None = None,
        after: PageKey | None = None,
        limit: int = 100,
        beginning: str | None = None,
    ) -> list[Summary]:
        """At most `limit` requests of one endpoint, or of all (None), newest first.

        `before` and `after`: the next older or newer ones. `beginning`: those whose ids begin with it.
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
        unexamined: Callable[[int], None] | None = None,
        secret_headers: SecretHeaders | None = None,
    ) -> AsyncGenerator[list[Summary], None]:
        """The requests that match, newest first, in batches as they are found; closing the generator cancels it.

        A long search calls `searched` with the number of requests examined so far. A search calls `unexamined` with
        the number of further requests that may match and are left out: what their bodies unpack to is too long. With
        `secret_headers`, requests are examined without their secrets.
        """
        ...

    async def descriptions(self, ids: Collection[str], secret_headers: SecretHeaders) -> dict[str, Description]:
        """Events and gists without secrets, by the ids of the requests that are stored."""
        ...

    async def get(self, capture_id: str) -> Capture | None: ...

    async def body(self, capture_id: str, offset: int = 0, length: int | None = None) -> bytes:
        """At most `length` bytes of the body as sent, from `offset`. Raises NotFoundError, and DamagedBodyError if the
        whole body is read and does not match its SHA-256, or some of it is missing."""
        ...

    async def check_body(self, capture: Capture) -> None:
        """Read the whole body, however long. Raises what `body` does."""
        ...

    async def mark_read(self, ids: Sequence[str], read: bool = True) -> None:
        """Publishes RequestsChanged."""
        ...

    async def mark_all_read(self, endpoint_id: int) -> None:
        """Publishes RequestsChanged without ids."""
        ...

    async def star(self, ids: Sequence[str], starred: bool = True) -> None:
        """Publishes RequestsStarred."""
        ...

    async def set_note(self, capture_id: str, note: str) -> None:
        """An empty note removes it. Publishes RequestNoted.

        Raises InvalidFieldsError (field `note`) or NotFoundError.
        """
        ...

    async def delete(self, ids: Sequence[str]) -> None:
        """Delete requests with bodies and deliveries. Publishes RequestsRemoved."""
        ...

    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> None:
        """Delete all requests the endpoint has now, except those with one of the marks in `keep`."""
        ...

    async def marked(self, endpoint_id: int | None) -> MarkedIds:
        """The requests with a star or a note, of an endpoint or of all (None)."""
        ...

    async def stored(self, ids: Collection[str]) -> frozenset[str]:
        """Those of these requests that are stored."""
        ...

    def counts(self, endpoint_id: int) -> Counts:
        """From memory."""
        ...


class CapturePositions(Protocol):
    """The stored requests in the order of storing, for those who follow new ones. Every coroutine raises
    StorageUnavailableError."""

    @property
    def newest_seq(self) -> int:
        """The number of the newest stored request; later ones have higher numbers, also after a restart. Ids do not
        sort that way: they tell when a request arrived. From memory."""
        ...

    async def seq_of(self, capture_id: str) -> int | None:
        """The number of a request, None if it is not stored."""
        ...

    async def between(self, after: int, upto: int, limit: int) -> Sequence[Summary]:
        """The first `limit` requests numbered above `after` and at most `upto`, in the order of storing."""
        ...

    async def matching(
        self, query: Query, ids: Collection[str], secret_headers: SecretHeaders | None = None
    ) -> set[str]:
        """Which of these requests match the query; `secret_headers` as in a search."""
        ...


class ActivityRepository(Protocol):
    """Requests over time. Every call raises StorageUnavailableError."""

    async def bars(self, endpoint_id: int | None, edges: Sequence[int]) -> list[Bar]:
        """The requests between each of the ascending times `edges` (microseconds) and the next."""
        ...

    async def oldest(self, endpoint_id: int | None) -> int | None:
        """When the oldest stored request was received, in microseconds; None without requests."""
        ...

    async def last_outcomes(self) -> dict[int, DeliveryState]:
        """The state of the latest ended delivery, by endpoint."""
        ...


class ProviderStatsRepository(Protocol):
    """Providers and event types of an endpoint's newest requests, or of all endpoints' (None)."""

    async def lately(self, endpoint_id: int | None) -> Sequence[SenderCount]:
        """The most frequent first. Raises StorageUnavailableError."""
        ...


class TunnelRepository(Protocol):
    """The public URLs that the tunnel had, and which of them were copied. Every coroutine raises
    StorageUnavailableError."""

    async def opened(self, url: str, program: str, at: int) -> None:
        """The tunnel has this URL from now on, and no other."""
        ...

    async def closed(self, at: int) -> None:
        """The tunnel has no URL any more."""
        ...

    async def history(self, limit: int = 50) -> list[TunnelUrl]:
        """Newest first; at most the newest 1,000 are kept."""
        ...

    async def copies(self) -> list[TunnelCopy]: ...

    async def copied(self, endpoint_id: int, base: str, at: int) -> None:
        """The endpoint's capture URL was copied under this URL."""
        ...

    async def updated(self, endpoint_id: int, base: str, at: int) -> None:
        """The provider has the capture URL under this URL, and no older one."""
        ...


class AccountRepository(Protocol):
    """The one account of the data folder."""

    @property
    def plan(self) -> Plan:
        """From memory."""
        ...

    async def set_plan(self, plan: Plan) -> None:
        """Raises PlanLimitError if there are too many endpoints, or StorageUnavailableError."""
        ...


class RetentionRepository(Protocol):
    """Deletes requests by age. `problem`: why it is waiting. Every coroutine raises StorageUnavailableError."""

    @property
    def problem(self) -> ClockProblem | None: ...

    @property
    def last_report(self) -> PurgeReport | None: ...

    @property
    def next_run_at(self) -> int | None:
        """In microseconds."""
        ...

    async def resume(self) -> None:
        """Trust the clock, and purge soon."""
        ...

    async def purge(self) -> PurgeReport:
        """Delete requests past their retention now. Publishes Purged."""
        ...

    async def size(self) -> StorageSize:
        """How much the next purge can free is an estimate."""
        ...


class StorageLimitRepository(Protocol):
    """How much of the storage limits is used. From memory."""

    def use(self) -> StorageUse: ...

    def use_of(self, endpoint_id: int) -> StorageUse: ...

    def use_of_responses(self) -> StorageUse:
        """Of what targets responded."""
        ...

    def reached(self) -> Sequence[tuple[Endpoint | None, StorageUse]]:
        """The limits that are reached, each with its endpoint (None: the limit of all endpoints)."""
        ...


class BackupRepository(Protocol):
    """Backups of the database, one at a time."""

    @property
    def latest(self) -> Backup | None:
        """The running backup, else the last one of this run. From memory."""
        ...

    async def start(self, path: Path, *, overwrite: bool = False) -> Backup:
        """Begin to write a backup to `path`, which is absolute. BackupError when it cannot be made there, or another
        one is running."""
        ...

    async def cancel(self) -> Backup | None:
        """End the running backup, if any; returns the latest."""
        ...


class RefusedRepository(Protocol):
    """The refused requests, newest first, the last 1,000; in memory only."""

    @property
    def total(self) -> int:
        """Since the start, including those no longer listed."""
        ...

    def newest(self) -> list[Refusal]: ...

    def raw(self, refusal_id: int) -> bytes | None:
        """The bytes received of the request; None if they were not kept."""
        ...

    def clear(self) -> None: ...
