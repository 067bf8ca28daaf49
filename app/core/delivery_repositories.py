"""What the store offers of targets, deliveries and replays; as `repositories.py` says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from app.core.comparison.compared_request import ResponsePairs
from app.core.delivery import Attempt, Delivery, DeliveryFilter, QueuedDelivery
from app.core.model import Capture, PageKey
from app.core.replay.spec import EarlierResults, Replay
from app.core.target import Target, TargetCounts, TargetDraft
from app.core.target_text import TargetTrouble


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

    async def begin(self, delivery_ids: Sequence[str]) -> set[str]:
        """Mark deliveries as being sent; returns those that are still stored and queued.

        If Hookline ends before `finish`, the next start stores the attempt as interrupted.
        """
        ...

    async def release(self, delivery_ids: Sequence[str]) -> None:
        """Undo `begin` of deliveries that were not sent."""
        ...

    async def add_attempt(self, delivery: Delivery, attempt: Attempt) -> None:
        """Store an attempt without a response, which another one follows at once: `finish` ends both. If Hookline ends
        before that, only the other one is stored as interrupted."""
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
