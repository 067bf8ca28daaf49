"""The stored providers, event types and tags, for the filters that take one by name."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Signal

from app.core.bodies.escape import escape
from app.core.model import SenderCount
from app.core.search.completion import Stored
from app.core.text import count_of
from app.ui.services import Services
from app.ui.tasks import Tasks

FRESH_S = 30.0
"""Seconds before they are read again."""
LONGEST = 100
"""Maximum characters of a value; a longer one is not a name."""


class StoredValues(QObject):
    """`offered` has the values last read for the current list; `changed` is emitted when they change."""

    changed = Signal()

    def __init__(self, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._tasks = services, tasks
        self._endpoint_id: int | None = None
        self._read_at: float | None = None
        self._reading = False
        self.offered: Mapping[str, Sequence[Stored]] = {}

    def show_endpoint(self, endpoint_id: int | None) -> None:
        """Offer the values of this endpoint, or of all (None)."""
        self._endpoint_id, self._read_at, self.offered = endpoint_id, None, {}

    def refresh(self) -> None:
        """Read the values, unless that was done a moment ago."""
        old = self._read_at is None or time.monotonic() - self._read_at > FRESH_S
        if old and not self._reading:
            self._reading = True
            self._tasks.start(self._read(self._endpoint_id), "filter: stored values", self)

    async def _read(self, endpoint_id: int | None) -> None:
        try:
            found = await self._services.store.senders.lately(endpoint_id)
        finally:
            self._reading = False
        if endpoint_id != self._endpoint_id:
            self.refresh()
            return
        self._read_at = time.monotonic()
        offered = {"provider": self._providers(found), "event": self._events(found), "tag": self._tags()}
        if offered != self.offered:
            self.offered = offered
            self.changed.emit()

    def _providers(self, found: Sequence[SenderCount]) -> list[Stored]:
        counts: dict[str, int] = {}
        for one in found:
            counts[one.provider] = counts.get(one.provider, 0) + one.count
        most_first = sorted(counts, key=counts.__getitem__, reverse=True)
        return [(name, self._describe(name, counts[name])) for name in most_first if _is_name(name)]

    def _events(self, found: Sequence[SenderCount]) -> list[Stored]:
        events: dict[str, list[SenderCount]] = {}
        for one in found:
            if one.event is not None and _is_name(one.event):
                events.setdefault(one.event, []).append(one)
        counts = {event: sum(one.count for one in senders) for event, senders in events.items()}
        most_first = sorted(counts, key=counts.__getitem__, reverse=True)
        return [(event, self._describe(events[event][0].provider, counts[event])) for event in most_first]

    def _tags(self) -> list[Stored]:
        counts = Counter(tag for endpoint in self._services.store.endpoints.all() for tag in endpoint.tags)
        return [(tag, count_of(count, "endpoint")) for tag, count in counts.most_common()]

    def _describe(self, provider: str, count: int) -> str:
        return f"{escape(self._services.providers.get(provider, provider))} · {count_of(count, 'request')}"


def _is_name(value: str) -> bool:
    return 0 < len(value) <= LONGEST and escape(value) == value
