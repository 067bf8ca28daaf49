"""What a store promises: one protocol for each kind of record, and `Store` that has them all.

All methods are called on the loop's thread. Those that read or write the database raise StorageUnavailableError while
that is not possible; those marked "From memory" never do.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from app.core.activity import Bar
from app.core.backup import Backup
from app.core.clock_problem import ClockProblem
from app.core.deletion import Deletion, Mark, MarkedIds
from app.core.delivery import Attempt, Delivery, DeliveryFilter, QueuedDelivery
from app.core.model import (
    Capture,
    CaptureWithBody,
    Counts,
    DeliveryState,
    Description,
    Endpoint,
    EndpointDraft,
    PageKey,
    Plan,
    PurgeReport,
    SenderCount,
    StorageSize,
    StorageUse,
    Summary,
    WhenFull,
)
from app.core.node import Node, OtherNodes
from app.core.redaction.secret import SecretHeaders
from app.core.replay.spec import EarlierResults, Replay
from app.core.role import Role
from app.core.search.query import Query
from app.core.target import Target, TargetCounts, TargetDraft
from app.core.target_text import TargetTrouble
from app.core.tunnel.tunnel import TunnelCopy, TunnelUrl

if TYPE_CHECKING:
    from app.core.comparison.response_pairs import ResponsePairs


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

    async def look_again(self, slug: str) -> bool:
        """Whether the endpoint with this slug is another than was known: another node has changed, created or deleted
        it. It is known from now on. Raises StorageUnavailableError."""
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
        """Restore what is left; nothing if it was purged. Publishes DeletionUndone, or EndpointSaved if it is an
        endpoint."""
        ...

    async def purge(self, deletion: Deletion) -> None:
        """Delete it for good, and publish DeletionPurged. What cannot be deleted is restored, if that can be."""
        ...

    def can_undo(self, deletion: Deletion) -> bool:
        """Whether it was neither purged nor undone. From memory."""
        ...


class CaptureRepository(Protocol):
    """The stored requests. Every coroutine, and iterating `search`, raises StorageUnavailableError."""

    def check_room(self, endpoint_id: int, size: int) -> None:
        """Raises StorageLimitError if a body of `size` bytes would not be stored. From memory."""
        ...

    async def add(
        self,
        capture: Capture,
        tail: bytes,
        body_key: int | None = None,
        targets: Sequence[Target] = (),
        version: int | None = None,
    ) -> int:
        """Store `capture`, durable on return, and return its number. `tail` is its body, or with a `body_key` what
        follows the parts that are stored; a delivery to each of `targets` is queued.

        Raises NotFoundError if the endpoint was deleted, EndpointChangedError if it has another `version`, and
        StorageLimitError.
        """
        ...

    async def add_part(self, body_key: int | None, offset: int, data: bytes, *, endpoint_id: int | None = None) -> int:
        """Store a part of a body whose capture follows, at most `PART_SIZE` bytes from `offset` on. Returns the body's
        key, which is None for the first part. Raises StorageLimitError."""
        ...

    async def drop_parts(self, body_key: int) -> None:
        """Delete the parts stored so far, of a request that will not be stored. Raises StorageUnavailableError."""
        ...

    def responded(self, seq: int, ms: float) -> None:
        """Record that the response was sent, `ms` milliseconds after the request's head was read."""
        ...

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

    async def get_with_body(self, capture_id: str) -> CaptureWithBody | None:
        """The same with a body of one part, read at once."""
        ...

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

    def counts(self, endpoint_id: int) -> Counts:
        """From memory."""
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
        """How the newest request that was forwarded ended, by endpoint; not of those that were only replayed."""
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
    def instance_id(self) -> str:
        """Random, and stays the same for this data folder. From memory."""
        ...

    @property
    def plan(self) -> Plan:
        """From memory."""
        ...

    async def set_plan(self, plan: Plan) -> None:
        """Raises PlanLimitError if there are too many endpoints, or StorageUnavailableError."""
        ...


class RetentionRepository(Protocol):
    """Deletes requests by age. `problem`: why it is waiting. Every coroutine raises StorageUnavailableError."""

    def start(self) -> None:
        """Purge now and then from now on."""
        ...

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
    """The storage limits, and how much of them is used. From memory."""

    def set_limit(self, limit: int | None, when_full: WhenFull) -> None:
        """Of all endpoints together, in bytes; None: no limit."""
        ...

    def set_response_limit(self, limit: int) -> None: ...

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

    def clean_up(self) -> None:
        """Delete what an interrupted backup left."""
        ...

    async def cancel(self) -> Backup | None:
        """End the running backup, if any; returns the latest."""
        ...


class TargetRepository(Protocol):
    """The targets of endpoints. Changes publish EndpointSaved, then TargetChanged.

    Every coroutine raises NotFoundError if the endpoint or target is gone, and StorageUnavailableError.
    """

    def by_id(self, target_id: int) -> Target | None:
        """From memory."""
        ...

    async def create(self, endpoint_id: int, draft: TargetDraft) -> Target:
        """Raises InvalidFieldsError too."""
        ...

    async def update(self, target_id: int, draft: TargetDraft) -> Target:
        """Raises InvalidFieldsError too."""
        ...

    async def move(self, target_id: int, position: int) -> None:
        """Move it to this position among its endpoint's targets, counted from 1. Raises InvalidFieldsError too."""
        ...

    async def delete(self, target_id: int) -> None:
        """End what is queued for it: not sent, or failed if there was an attempt. Those that ended stay."""
        ...

    async def pause(self, target_id: int) -> Target:
        """Keep deliveries to it queued."""
        ...

    async def resume(self, target_id: int) -> Target: ...


class DeliveryRepository(Protocol):
    """Queued and ended deliveries with their attempts. Every coroutine raises StorageUnavailableError."""

    async def queued(
        self, target_id: int, limit: int, *, due_at: int | None = None, without: Collection[str] = ()
    ) -> list[QueuedDelivery]:
        """A target's queued deliveries, first queued first, except those in `without`; only those due at `due_at`
        unless it is None. Fewer than `limit` if their bodies are large."""
        ...

    async def next_due_at(self, target_id: int, *, without: Collection[str] = ()) -> int | None:
        """When the earliest of a target's queued deliveries, except those in `without`, is due; None without any."""
        ...

    async def targets_with_queued(self) -> set[int]: ...

    async def claim(self, target_id: int) -> bool:
        """Whether it is this program that sends to the target, from now on: another node may do so already. When that
        one dies, DeliveriesQueued is published for its targets."""
        ...

    async def begin(self, delivery_ids: Sequence[str]) -> set[str]:
        """Mark deliveries as being sent; returns those that are still stored and queued.

        If Hookline ends before `finish`, the next start stores the attempt as interrupted.
        """
        ...

    async def release(self, delivery_ids: Sequence[str]) -> None:
        """Undo `begin` of deliveries that were not sent. Publishes DeliveriesQueued."""
        ...

    async def add_attempt(self, delivery: Delivery, attempt: Attempt) -> bool:
        """Store an attempt without a response, which another one follows at once: `finish` ends both. If Hookline ends
        before that, only the other one is stored as interrupted. False if the delivery is no longer stored, or another
        node sends it now: then nothing may follow."""
        ...

    async def finish(
        self, delivery: Delivery, made: Sequence[tuple[Attempt, bytes]], *, then_begin: str | None = None
    ) -> bool:
        """Store attempts, each with its response's body, and the delivery's new state; and begin the next delivery, all
        in one commit. If the delivery `responded`, its status becomes the request's response.

        Publishes DeliveryChanged, and TargetChanged if the failure paused the target. Returns whether `then_begin` has
        begun. Stores nothing of a delivery whose request was deleted meanwhile.
        """
        ...

    async def finish_all(
        self, ended: Sequence[tuple[Delivery, Sequence[tuple[Attempt, bytes]]]], *, then_begin: Sequence[str] = ()
    ) -> set[str]:
        """`finish` for several different deliveries: all of it is stored, or nothing. Returns which of `then_begin`
        begun."""
        ...

    async def add_replays(self, deliveries: Sequence[Delivery]) -> set[str]:
        """Store deliveries that a replay is about to send, as begun; returns those whose request is still stored."""
        ...

    async def requests(self, capture_ids: Sequence[str]) -> dict[str, tuple[Capture, bytes | None]]:
        """Those of these requests that are stored, each with its body (None if it is long)."""
        ...

    async def retry(self, which: DeliveryFilter) -> int:
        """Queue failed deliveries of targets again, at once and in order; returns how many. Those that were not sent
        only if `which` has their ids. Publishes DeliveriesQueued."""
        ...

    async def send_now(self, delivery: Delivery) -> None:
        """Make a delivery that waits for its retry due at once. Publishes DeliveryDue, unless it was sent meanwhile."""
        ...

    async def of_capture(self, capture_id: str) -> list[Delivery]:
        """A request's deliveries, oldest first."""
        ...

    async def page(
        self, which: DeliveryFilter, *, before: int | None = None, after: int | None = None, limit: int = 100
    ) -> list[tuple[int, Delivery]]:
        """At most `limit` deliveries, each with its number: those numbered below `before`, the last queued first; or
        those above `after`, the first queued first."""
        ...

    async def count(self, which: DeliveryFilter) -> int: ...

    async def target_counts(self) -> dict[int, TargetCounts]:
        """By target; those whose counts are 0 are missing."""
        ...

    async def target_troubles(self) -> list[TargetTrouble]:
        """The targets that are paused, or to which the last delivery failed."""
        ...

    async def attempts(self, delivery_id: str) -> list[Attempt]:
        """In order. Raises NotFoundError."""
        ...

    async def last_attempts(self, delivery_ids: Sequence[str]) -> dict[str, Attempt]:
        """The last attempt of each of these deliveries that has one."""
        ...

    async def response_body(self, delivery_id: str, attempt: int | None = None) -> bytes:
        """The stored part of the target's response body, of the last attempt (None) or this one. Raises
        NotFoundError."""
        ...


class ResponsePairRepository(Protocol):
    """What two targets of an endpoint responded to the same requests. Every coroutine raises
    StorageUnavailableError."""

    async def page(
        self,
        endpoint_id: int,
        first_target: int,
        second_target: int,
        *,
        before: PageKey | None = None,
        limit: int = 100,
        capture_ids: Sequence[str] | None = None,
    ) -> ResponsePairs:
        """At most `limit` requests older than `before` with ended deliveries to both targets, newest first; fewer if
        their responses are large, or if most requests went to one of the targets only. Only `capture_ids`, unless None.

        A replay's delivery counts like any other, so the newest response is compared, unless the replay changed the
        request or cut connections off on purpose.
        """
        ...


class ReplayRepository(Protocol):
    """The replays that were started. Every coroutine raises StorageUnavailableError."""

    async def save(self, replay: Replay) -> None:
        """Store a new replay, or what changed."""
        ...

    async def get(self, replay_id: str) -> Replay | None: ...

    async def latest(self, limit: int = 50) -> list[Replay]:
        """The last started first."""
        ...

    async def results(self, replay_id: str) -> EarlierResults:
        """What came of its deliveries so far."""
        ...


class NodeRepository(Protocol):
    """The programs that run on the store."""

    async def catch_up(self) -> bool:
        """Take over what other nodes have done by now; False where there are none. Raises StorageUnavailableError."""
        ...

    async def all(self) -> Sequence[Node]:
        """Those that are alive, by number. Raises StorageUnavailableError."""
        ...

    @property
    def others(self) -> OtherNodes:
        """From memory. When they change, NodesChanged is published."""
        ...


class IntegrityCheck(Protocol):
    """Looks for damage in the database in the background."""

    @property
    def sound(self) -> bool:
        """Whether the check has ended and found no damage."""
        ...

    def start(self) -> None:
        """Check, unless that was begun a short time ago; damage is published as DatabaseDamaged."""
        ...


class DatabaseFile(Protocol):
    """What a store can do whose database is a file of this machine."""

    @property
    def backups(self) -> BackupRepository: ...
    @property
    def integrity(self) -> IntegrityCheck: ...

    def keep_reserve(self) -> None:
        """Create the disk reserve's file; a command that opens the store only briefly needs none."""
        ...


class Store(Protocol):
    """All that is stored. `file` is None where the database is on a server."""

    @property
    def endpoints(self) -> EndpointRepository: ...
    @property
    def targets(self) -> TargetRepository: ...
    @property
    def captures(self) -> CaptureRepository: ...
    @property
    def trash(self) -> TrashRepository: ...
    @property
    def deliveries(self) -> DeliveryRepository: ...
    @property
    def replays(self) -> ReplayRepository: ...
    @property
    def response_pairs(self) -> ResponsePairRepository: ...
    @property
    def tunnels(self) -> TunnelRepository: ...
    @property
    def activity(self) -> ActivityRepository: ...
    @property
    def senders(self) -> ProviderStatsRepository: ...
    @property
    def account(self) -> AccountRepository: ...
    @property
    def retention(self) -> RetentionRepository: ...
    @property
    def limits(self) -> StorageLimitRepository: ...
    @property
    def nodes(self) -> NodeRepository: ...

    def begin_shutdown(self) -> None:
        """Stop waiting for a lock that another program holds: Hookline is about to exit."""
        ...

    async def close(self) -> None:
        """Stop background work, write what is queued, close all connections. Twice is harmless."""
        ...

    @property
    def file(self) -> DatabaseFile | None: ...

    @property
    def role(self) -> Role:
        """What this program may do; everything else raises NotAllowedError."""
        ...

    @property
    def works(self) -> bool:
        """Whether it does the work that one node does for all: forwarding, retention, storage limits."""
        ...

    @property
    def place(self) -> str:
        """The file's path, or the database's address without anything secret."""
        ...

    @property
    def slow_search(self) -> str | None:
        """Why searches are slow, and what helps, in sentences; None if they are not."""
        ...
