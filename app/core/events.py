"""Events, published after they are stored, and the bus that delivers them. All of it runs on the loop thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

from app.core.delivery import Delivery, FailureKind
from app.core.model import ClockProblem, DeliveryState, Endpoint, PurgeReport, Refusal, StorageUse, Summary
from app.core.record import Record
from app.core.replay import Replay
from app.core.settings import Settings
from app.core.target import Target
from app.core.tunnel import Tunnel

log = logging.getLogger(__name__)


class Event(Record, frozen=True):
    """Base of all events."""


class Captured(Event, frozen=True):
    """Requests were stored, in this order, by one commit. This program stored the last `own` of them, and has
    responded so to their senders; other nodes stored those before. The commit took so many `seconds`."""

    summaries: tuple[Summary, ...]
    own: int = 0
    seconds: float = 0.0


class RequestsUpdated(Event, frozen=True):
    """Stored requests were marked, or it was found out who sent them or what they are about. `changes` has, by their
    ids, which fields of their summaries have changed, and to what; empty: some of these endpoints, nobody knows which.
    """

    endpoint_ids: tuple[int, ...]
    changes: Mapping[str, Mapping[str, bool | str | None]]


class EndpointRead(Event, frozen=True):
    """All requests of the endpoint up to the number `upto` were marked read."""

    endpoint_id: int
    upto: int

    def has(self, request: Summary) -> bool:
        return request.endpoint_id == self.endpoint_id and request.seq <= self.upto


class RequestsRemoved(Event, frozen=True):
    """Requests were deleted, `unread` of them unread.

    `ids` None: all of the endpoint's requests up to the id `upto` (None: all) except those in `kept`.
    """

    endpoint_id: int
    ids: tuple[str, ...] | None
    unread: int = 0
    upto: str | None = None
    kept: frozenset[str] = frozenset()

    def has(self, endpoint_id: int, capture_id: str) -> bool:
        """Whether this request of that endpoint was deleted."""
        if endpoint_id != self.endpoint_id:
            return False
        if self.ids is not None:
            return capture_id in self.ids
        return capture_id not in self.kept and (self.upto is None or capture_id <= self.upto)


class DeletionPurged(Event, frozen=True):
    """What a deletion had hidden was deleted for good, or cannot be restored any more."""

    number: int
    endpoint_ids: frozenset[int]


class DeletionUndone(Event, frozen=True):
    """What a deletion of requests had hidden is restored."""

    number: int
    endpoint_ids: frozenset[int]


class DeliveryChanged(Event, frozen=True):
    """An attempt of a delivery has ended, or it was queued again; `state` is what the request's row shows now,
    `failure` that of the attempt."""

    delivery: Delivery
    state: DeliveryState
    failure: FailureKind | None = None

    @property
    def shown(self) -> Mapping[str, DeliveryState]:
        """As `DeliveriesQueued` has it."""
        return {self.delivery.capture_id: self.state}


class AttemptsMade(Event, frozen=True):
    """This program has made attempts of a delivery, one or two: why each failed, "" if it did not."""

    failures: tuple[FailureKind | Literal[""], ...]


class TargetChanged(Event, frozen=True):
    """A target was added, changed, paused or resumed; EndpointSaved was published before it."""

    target: Target


class DeliveriesQueued(Event, frozen=True):
    """Deliveries to these targets were queued again, by the user or unsent, or made due at once; `shown` is what the
    rows of their requests show, by id."""

    target_ids: tuple[int, ...]
    shown: Mapping[str, DeliveryState]


class ReplayChanged(Event, frozen=True):
    """A replay began, went on or ended. Published at most ten times a second."""

    replay: Replay


class EndpointSaved(Event, frozen=True):
    """An endpoint was created or changed."""

    endpoint: Endpoint
    created: bool


class EndpointsReordered(Event, frozen=True):
    """The order of the endpoints changed: all their ids in the new order."""

    endpoint_ids: tuple[int, ...]


class EndpointRemoved(Event, frozen=True):
    """An endpoint and all its requests were deleted."""

    endpoint: Endpoint


class PlanChanged(Event, frozen=True):
    """The account's plan changed."""


class Purged(Event, frozen=True):
    """Requests were deleted by retention or a storage limit."""

    report: PurgeReport


class Refused(Event, frozen=True):
    """A request was refused."""

    refusal: Refusal


class StorageTrouble(Event, frozen=True):
    """Storing fails (`reason` says why), or works again (`reason` None)."""

    reason: str | None


class NodesChanged(Event, frozen=True):
    """Another number of nodes captures into the store, or at another address."""


class RetentionWaiting(Event, frozen=True):
    """Retention waits because the clock may be wrong, or deletes again (`problem` None)."""

    problem: ClockProblem | None


class StorageLimitChanged(Event, frozen=True):
    """A storage limit was reached (`use.reached`), or there is space again. None: the limit of all endpoints."""

    endpoint: Endpoint | None
    use: StorageUse


class DatabaseDamaged(Event, frozen=True):
    """A check in the background found damaged pages; `reason` says more."""

    reason: str


class FileTrouble(Event, frozen=True):
    """The command line cannot find this program because `runtime.json` cannot be written (`reason` says why), or it can
    again (None)."""

    reason: str | None


class TunnelChanged(Event, frozen=True):
    """The tunnel's state, URL, last probe or list of outdated URLs changed. Lines of its output alone publish this at
    most ten times a second. `previous` is what it was before. `url_changed`: capture URLs begin with another base URL
    now, or whether they work is another."""

    tunnel: Tunnel
    previous: Tunnel
    url_changed: bool


class SettingsChanged(Event, frozen=True):
    """The settings changed."""

    settings: Settings


E = TypeVar("E", bound=Event)


class Subscription:
    """A handler that is called until `end`, which may be called more than once."""

    def __init__(self, handlers: list[Callable[..., None]], handler: Callable[..., None]) -> None:
        self._handlers, self._handler = handlers, handler
        handlers.append(handler)

    def end(self) -> None:
        handlers, self._handlers = self._handlers, []
        if self._handler in handlers:
            handlers.remove(self._handler)


class Subscriptions:
    """Subscriptions to one bus that end together."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._subscriptions: list[Subscription] = []

    def add(self, kind: type[E], handler: Callable[[E], None]) -> None:
        """Call `handler` with every event of exactly `kind`."""
        self._subscriptions.append(self._bus.subscribe(kind, handler))

    def follow_urls(self, changed: Callable[[], None]) -> None:
        """Call `changed` when capture URLs may begin with another base URL: the tunnel's, that of the settings, or the
        one that other nodes tell."""
        self.add(TunnelChanged, lambda event: changed() if event.url_changed else None)
        self.add(SettingsChanged, lambda _: changed())
        self.add(NodesChanged, lambda _: changed())

    def end(self) -> None:
        while self._subscriptions:
            self._subscriptions.pop().end()


class Bus:
    """Calls the subscribed handlers of an event's type, in the order in which they subscribed."""

    def __init__(self) -> None:
        self._handlers: dict[type[Event], list[Callable[..., None]]] = {}

    def subscribe(self, kind: type[E], handler: Callable[[E], None]) -> Subscription:
        """Call `handler` with every event of exactly `kind`."""
        return Subscription(self._handlers.setdefault(kind, []), handler)

    def publish(self, event: Event) -> None:
        """Call the handlers. One that raises is logged, and the others are still called."""
        for handler in tuple(self._handlers.get(type(event), ())):
            try:
                handler(event)
            except Exception:
                log.exception("handler of %s failed", type(event).__name__)
