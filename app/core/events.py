"""Events, published after they are stored, and the bus that delivers them. All of it runs on the loop thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from app.core.clock_problem import ClockProblem
from app.core.model import Delivery, Endpoint, MirrorState, PurgeReport, Record, Refusal, StorageUse, Summary
from app.core.settings import Settings

log = logging.getLogger(__name__)


class Event(Record, frozen=True):
    """Base of all events."""


class Captured(Event, frozen=True):
    """Requests were stored, in this order: all that one commit held."""

    summaries: tuple[Summary, ...]


class RequestsChanged(Event, frozen=True):
    """Stored requests were marked read or unread: `ids` when they were named, None when all of the endpoints' were."""

    endpoint_ids: tuple[int, ...]
    ids: tuple[str, ...] | None
    read: bool


class RequestsStarred(Event, frozen=True):
    """Stored requests got a star, or lost it: those whose star changed, and the endpoints they belong to."""

    ids: tuple[str, ...]
    endpoint_ids: tuple[int, ...]
    starred: bool


class RequestNoted(Event, frozen=True):
    """A stored request's note is now this; None: it has none any more."""

    id: str
    endpoint_id: int
    note: str | None


class RequestsIdentified(Event, frozen=True):
    """It was found out who sent these stored requests: id, provider and event of each."""

    senders: tuple[tuple[str, str, str | None], ...]


class RequestsDescribed(Event, frozen=True):
    """The gist of these stored requests is known now, or says more: id and gist of each."""

    gists: tuple[tuple[str, str], ...]


class RequestsRemoved(Event, frozen=True):
    """Requests are gone: `ids` when they were named, `unread` of them unread. None when all of the endpoint's went that
    were stored when this was asked for, that is up to the id `upto` (None: all), but those `kept`.
    """

    endpoint_id: int
    ids: tuple[str, ...] | None
    unread: int = 0
    upto: str | None = None
    kept: frozenset[str] = frozenset()

    def has(self, endpoint_id: int, capture_id: str) -> bool:
        """Whether this request of that endpoint is gone."""
        if endpoint_id != self.endpoint_id:
            return False
        if self.ids is not None:
            return capture_id in self.ids
        return capture_id not in self.kept and (self.upto is None or capture_id <= self.upto)


class Mirrored(Event, frozen=True):
    """A delivery has its outcome; `state` is what the request's row now shows."""

    delivery: Delivery
    state: MirrorState


class EndpointSaved(Event, frozen=True):
    """An endpoint was created or changed."""

    endpoint: Endpoint
    created: bool


class EndpointsReordered(Event, frozen=True):
    """The endpoints are listed in another order now: all their ids in that order."""

    endpoint_ids: tuple[int, ...]


class EndpointRemoved(Event, frozen=True):
    """An endpoint and all its requests are gone."""

    endpoint: Endpoint


class PlanChanged(Event, frozen=True):
    """The account's plan changed (read it from the account)."""


class Purged(Event, frozen=True):
    """Requests were deleted by retention, or for a storage limit."""

    report: PurgeReport


class Refused(Event, frozen=True):
    """A request was not captured."""

    refusal: Refusal


class StorageTrouble(Event, frozen=True):
    """Storing began to fail (`reason` in words), or works again (`reason` None)."""

    reason: str | None


class RetentionWaiting(Event, frozen=True):
    """Retention waits because the clock may be wrong, or deletes again (`problem` None)."""

    problem: ClockProblem | None


class StorageLimitChanged(Event, frozen=True):
    """A storage limit was reached (`use.reached`), or there is room again. None: the limit of all endpoints."""

    endpoint: Endpoint | None
    use: StorageUse


class DatabaseDamaged(Event, frozen=True):
    """A check after an unclean stop found damaged pages: `reason` in words."""

    reason: str


class FileTrouble(Event, frozen=True):
    """Commands cannot find this program, because its file cannot be written (`reason` in words), or can (None)."""

    reason: str | None


class SettingsChanged(Event, frozen=True):
    """The settings in force are now these."""

    settings: Settings


E = TypeVar("E", bound=Event)


class Bus:
    """Hands each published event to those who asked for its type, in the order they asked."""

    def __init__(self) -> None:
        self._handlers: dict[type[Event], list[Callable[..., None]]] = {}

    def subscribe(self, kind: type[E], handler: Callable[[E], None]) -> Callable[[], None]:
        """Call `handler` with every event of exactly `kind`; calling what is returned ends that (twice is harmless)."""
        self._handlers.setdefault(kind, []).append(handler)

        def unsubscribe() -> None:
            handlers = self._handlers.get(kind, [])
            if handler in handlers:
                handlers.remove(handler)

        return unsubscribe

    def publish(self, event: Event) -> None:
        """Tell all who asked. A handler that raises is logged and keeps nobody else from hearing."""
        for handler in tuple(self._handlers.get(type(event), ())):
            try:
                handler(event)
            except Exception:
                log.exception("handler of %s failed", type(event).__name__)
