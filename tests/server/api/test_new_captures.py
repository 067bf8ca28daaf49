"""New captures while the store is slower than what comes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.core.events import Bus, Captured
from app.core.model import Summary
from app.server.api import event_log
from app.server.api.event_log import EventLog, Position
from app.server.api.events import NewCaptures
from tests import factories


class SlowStore:
    """While it is read for the first time, more comes than the log holds; all that was stored before is deleted."""

    newest_seq = 5

    def __init__(self, bus: Bus, coming: Sequence[Summary]) -> None:
        self._bus, self._coming = bus, coming
        self.stored: Sequence[Summary] = ()

    async def between(self, after: int, upto: int, limit: int) -> Sequence[Summary]:
        if not self.stored:
            self.stored = self._coming
            self._bus.publish(Captured(summaries=tuple(self._coming)))
            return []
        return [one for one in self.stored if after < one.seq <= upto][:limit]


async def test_what_the_log_drops_meanwhile_comes_from_the_store(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "KEPT", 10)
    coming = [factories.capture().summary(SlowStore.newest_seq + 1 + number) for number in range(15)]
    store = SlowStore(bus, coming)
    log = EventLog(bus, store)  # type: ignore[arg-type]
    try:
        captures = NewCaptures(log, store, Position(run="0", number=0, capture=0))  # type: ignore[arg-type]
        found: list[Summary] = []
        while len(found) < len(coming):
            found += [summary for _, summary in await captures.next()]
        assert found == coming
    finally:
        log.close()
