"""The bus as Qt signals for the window, frequent events merged, and what the window counts of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.core.activity import Bar
from app.core.clock import now_us
from app.core.events import (
    Bus,
    Captured,
    DatabaseDamaged,
    DeletionUndone,
    DeliveryChanged,
    EndpointRead,
    EndpointRemoved,
    EndpointSaved,
    EndpointsReordered,
    FileTrouble,
    PlanChanged,
    Purged,
    Refused,
    RequestsRemoved,
    RequestsUpdated,
    SettingsChanged,
    StorageLimitChanged,
    StorageTrouble,
    Subscriptions,
    TunnelChanged,
)
from app.core.ids import uuid7_ms
from app.core.model import DeliveryState, Endpoint, StorageUse, Summary
from app.core.text import limit_text, unsent_text
from app.ui.messages import STORAGE_KEY, UNAVAILABLE_KEY, Message, MessageAction, Messages, MessageTone
from app.ui.throttle import Throttle

if TYPE_CHECKING:
    from app.db.store import Store

MERGE_MS = 250
UNSENT_KEY = "unsent"
UNSENT_ADVICE = "Deliveries lists the last of them as not sent. Check the target, or raise the storage limit."
FILE_ADVICE = "Check the data folder’s permissions and free disk space. Requests are still captured."
DAMAGE_ADVICE = (
    "Other requests may be damaged too: compare their SHA-256. Close Hookline and copy the data folder; then put an"
    " older copy of hookline.db in its place, or move it away to start with an empty database."
)
STORAGE_ADVICE = "Senders get a 503 response and can retry; capturing resumes as soon as storing works."
ELSEWHERE_ADVICE = "The lists show what was known before. Hookline tries again by itself, and keeps what you type."
FILE_KEY, DAMAGE_KEY = "file", "damage"


BUCKETS = 30
BUCKET_US = 120 * 1_000_000
"""The length of a bucket: two minutes, thirty of which are the last hour."""


class SessionStats:
    """The five counts since the window opened, and each endpoint's last hour and outcome, including from before."""

    def __init__(self) -> None:
        self.stored = 0
        self.forwarded = 0
        self.failed = 0
        self.refused = 0
        self._activity: defaultdict[int, Counter[int]] = defaultdict(Counter)
        """For each endpoint the requests in each bucket of the last hour."""
        self._outcomes: dict[int, DeliveryState] = {}

    @property
    def received(self) -> int:
        """All requests that reached the capture port."""
        return self.stored + self.refused

    def captured(self, summaries: Sequence[Summary]) -> None:
        self.stored += len(summaries)
        for summary in summaries:
            if summary.delivery is DeliveryState.QUEUED:
                self._waits(summary.endpoint_id)
            self._count(summary.endpoint_id, summary.received_at, 1)

    def _count(self, endpoint_id: int, at_us: int, number: int) -> None:
        activity = self._activity[endpoint_id]
        activity[at_us // BUCKET_US] += number
        if len(activity) > BUCKETS:
            del activity[min(activity)]

    def delivery_changed(self, event: DeliveryChanged) -> None:
        """Count a delivery that has ended; not one that waits for its next attempt, and no replay."""
        delivery = event.delivery
        if delivery.replay_id is not None:
            return
        if delivery.state is DeliveryState.DELIVERED:
            self.forwarded += 1
        elif delivery.state is DeliveryState.FAILED:
            self.failed += 1
        if event.state is DeliveryState.QUEUED:
            self._waits(delivery.endpoint_id)
        else:
            self._outcomes[delivery.endpoint_id] = event.state

    def _waits(self, endpoint_id: int) -> None:
        """A request waits, which is worse than one that was delivered, but does not undo a failure."""
        if self.last_outcome(endpoint_id) in (DeliveryState.DELIVERED, DeliveryState.NONE):
            self._outcomes[endpoint_id] = DeliveryState.QUEUED

    @staticmethod
    def edges(before_us: int) -> list[int]:
        """The bounds of the last hour's buckets, one more than buckets, up to but not including `before_us`."""
        last = before_us // BUCKET_US
        return [*((last - BUCKETS + 1 + n) * BUCKET_US for n in range(BUCKETS)), before_us]

    def add_stored(self, endpoint_id: int, bars: Sequence[Bar], edges: Sequence[int]) -> None:
        """Add what was stored between the `edges`."""
        for bar, start in zip(bars, edges, strict=False):
            if bar.total:
                self._count(endpoint_id, start, bar.total)

    def set_first_outcome(self, endpoint_id: int, state: DeliveryState | None, *, waits: bool) -> None:
        """Add how the latest delivery ended, and whether any waits, unless another has ended since."""
        if endpoint_id not in self._outcomes:
            self._outcomes[endpoint_id] = state or DeliveryState.NONE
            if waits:
                self._waits(endpoint_id)

    def last_outcome(self, endpoint_id: int) -> DeliveryState:
        """The state of the endpoint's latest request, of the worst of its deliveries; NONE if none was forwarded."""
        return self._outcomes.get(endpoint_id, DeliveryState.NONE)

    def activity(self, endpoint_id: int, at_us: int | None = None) -> list[int]:
        """Requests per bucket over the last hour, oldest first; always `BUCKETS` numbers."""
        last = (now_us() if at_us is None else at_us) // BUCKET_US
        counts = self._activity[endpoint_id]
        return [counts[bucket] for bucket in range(last - BUCKETS + 1, last + 1)]

    def removed(self, endpoint_id: int, ids: Iterable[str]) -> None:
        """These requests of the endpoint were deleted; their IDs contain the time of arrival."""
        self._activity[endpoint_id] -= Counter(uuid7_ms(one) * 1_000 // BUCKET_US for one in ids)

    def clear(self, endpoint_id: int) -> None:
        """All requests of the endpoint were deleted."""
        self._activity.pop(endpoint_id, None)

    def forget(self, endpoint_id: int) -> None:
        """The endpoint was deleted."""
        self.clear(endpoint_id)
        self._outcomes.pop(endpoint_id, None)


class QtEvents(QObject):
    """`session_stats` counts since this object was created, and what `load_history` reads of the last hour."""

    endpoints_changed = Signal()
    endpoint_removed = Signal(object)
    counts_changed = Signal()
    refused_changed = Signal()
    plan_changed = Signal()
    settings_changed = Signal()
    limit_change_requested = Signal(object)
    """The user asked to change a storage limit: that of an endpoint, or the overall one (None)."""
    storage_changed = Signal()
    tunnel_changed = Signal()
    capture_urls_changed = Signal()
    """The tunnel's URL, the settings or what other nodes capture changed."""

    def __init__(self, bus: Bus, messages: Messages, parent: QObject, *, storage_advice: str) -> None:
        super().__init__(parent)
        self._storage_advice = storage_advice
        self.storage_trouble: str | None = None
        """Why nothing can be stored."""
        self.session_stats = SessionStats()
        self._messages = messages
        self._unsent = 0
        self._counts = Throttle(MERGE_MS, self, self.counts_changed)
        self._refused = Throttle(MERGE_MS, self, self.refused_changed)
        self._subscriptions = Subscriptions(bus)
        self._subscriptions.add(Captured, self._captured)
        for counted in (RequestsUpdated, EndpointRead, DeletionUndone):
            self._subscriptions.add(counted, lambda _: self._counts.call())
        self._subscriptions.add(RequestsRemoved, self._requests_removed)
        self._subscriptions.add(DeliveryChanged, self._delivered)
        self._subscriptions.add(EndpointSaved, lambda _: self.endpoints_changed.emit())
        self._subscriptions.add(EndpointsReordered, lambda _: self.endpoints_changed.emit())
        self._subscriptions.add(EndpointRemoved, self._removed)
        self._subscriptions.add(PlanChanged, lambda _: self.plan_changed.emit())
        self._subscriptions.add(Purged, self._purge)
        self._subscriptions.add(Refused, self._refuse)
        self._subscriptions.add(SettingsChanged, lambda _: self.settings_changed.emit())
        self._subscriptions.add(TunnelChanged, lambda _: self.tunnel_changed.emit())
        self._subscriptions.follow_urls(self.capture_urls_changed.emit)
        self._subscriptions.add(StorageTrouble, self._storage)
        self._subscriptions.add(FileTrouble, self._file)
        self._subscriptions.add(DatabaseDamaged, self._damage)
        self._subscriptions.add(StorageLimitChanged, self._limit)

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self._subscriptions.end()

    async def load_history(self, store: Store, endpoint_ids: Iterable[int]) -> None:
        """Count what the store has of the last hour: at the start, or when requests of these endpoints are visible
        again after a deletion was undone.
        """
        await self._load_outcomes(store)
        for endpoint_id in endpoint_ids:
            edges = self.session_stats.edges(now_us())
            self.session_stats.clear(endpoint_id)
            self.session_stats.add_stored(endpoint_id, await store.activity.bars(endpoint_id, edges), edges)
        self.counts_changed.emit()

    async def _load_outcomes(self, store: Store) -> None:
        outcomes, waited_for = await store.activity.last_outcomes(), await store.deliveries.targets_with_queued()
        for endpoint in store.endpoints.all():
            waits = any(target.id in waited_for for target in endpoint.targets)
            if waits or endpoint.id in outcomes:
                self.session_stats.set_first_outcome(endpoint.id, outcomes.get(endpoint.id), waits=waits)

    def show_limit_message(self, endpoint: Endpoint | None, use: StorageUse) -> None:
        """Show a message that a storage limit is reached, of an endpoint or the overall one (None), until it no longer
        is.
        """
        key = "storage limit" if endpoint is None else f"storage limit {endpoint.id}"
        if not use.reached:
            self._messages.withdraw(key)
            return
        text, advice = limit_text(endpoint, use)
        change = MessageAction("Change the limit", partial(self.limit_change_requested.emit, endpoint))
        tone: MessageTone = "warning" if use.capturing_stopped else "info"
        self._messages.post(Message(text=text, advice=advice, tone=tone, actions=(change,), key=key))

    def _limit(self, event: StorageLimitChanged) -> None:
        self.show_limit_message(event.endpoint, event.use)
        self._counts.call()

    def _captured(self, event: Captured) -> None:
        self.session_stats.captured(event.summaries)
        self._counts.call()

    def _requests_removed(self, event: RequestsRemoved) -> None:
        if event.ids is None:
            self.session_stats.clear(event.endpoint_id)
        else:
            self.session_stats.removed(event.endpoint_id, event.ids)
        self._counts.call()

    def _delivered(self, event: DeliveryChanged) -> None:
        self.session_stats.delivery_changed(event)
        self._counts.call()

    def _removed(self, event: EndpointRemoved) -> None:
        self.session_stats.forget(event.endpoint.id)
        self.endpoint_removed.emit(event.endpoint)
        self.endpoints_changed.emit()

    def _purge(self, event: Purged) -> None:
        self._counts.call()
        if event.report.unsent:
            self._unsent += sum(event.report.unsent.values())
            text = unsent_text(self._unsent)
            self._messages.post(Message(text=text, advice=UNSENT_ADVICE, tone="warning", key=UNSENT_KEY))

    def _refuse(self, event: Refused) -> None:
        self.session_stats.refused += 1
        self._refused.call()
        self._counts.call()

    def _storage(self, event: StorageTrouble) -> None:
        self.storage_trouble = event.reason
        self.storage_changed.emit()
        self._messages.show_while(event.reason, STORAGE_KEY, advice=self._storage_advice)
        if event.reason is None:
            self._messages.withdraw(UNAVAILABLE_KEY)

    def _file(self, event: FileTrouble) -> None:
        self._messages.show_while(event.reason, FILE_KEY, advice=FILE_ADVICE, tone="warning")

    def _damage(self, event: DatabaseDamaged) -> None:
        self._messages.post(Message(text=event.reason, advice=DAMAGE_ADVICE, key=DAMAGE_KEY))
