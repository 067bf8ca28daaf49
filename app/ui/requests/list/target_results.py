"""How the deliveries of a row went to each target: read when its tooltip or the cursor asks for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, QObject, Slot
from PySide6.QtGui import QCursor, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip

from app.core.delivery import Delivery
from app.core.events import DeliveriesQueued, DeliveryChanged, Subscriptions
from app.core.model import WORST_FIRST, DeliveryState, Summary
from app.core.text import count_of
from app.ui.requests.list.model import SUMMARY_ROLE, RequestModel, forwarding_words
from app.ui.requests.list.view import RequestList
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks

KEPT = 500
"""Requests whose results are remembered."""
_WORDS = {
    DeliveryState.FAILED: "failed",
    DeliveryState.NOT_SENT: "not sent",
    DeliveryState.QUEUED: "waiting",
    DeliveryState.DELIVERED: "delivered",
}


class TargetResults(QObject):
    """Gives the list's rows their words about forwarding: of the worst target alone until the others are known."""

    def __init__(self, rows: RequestList, model: RequestModel, services: Services, tasks: Tasks) -> None:
        super().__init__(rows)
        self._rows, self._model, self._deliveries = rows, model, services.store.deliveries
        self._texts: dict[str, str] = {}
        self._reading: str | None = None
        self._latest = Latest(self, tasks, "list: deliveries of a row")
        rows.request_delegate.forwarding_words = self.words
        rows.request_delegate.tooltip_shown.connect(self._ask)
        rows.selectionModel().currentChanged.connect(self._moved)
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(DeliveryChanged, lambda event: self._changed((event.delivery.capture_id,)))
        self._subscriptions.add(DeliveriesQueued, lambda event: self._changed(event.shown))

    def stop(self) -> None:
        """Unsubscribe from the bus, and stop reading."""
        self._subscriptions.end()
        self._latest.stop()

    def words(self, summary: Summary) -> str:
        return self._texts.get(summary.id) or forwarding_words(summary)

    @Slot(object)
    def _ask(self, summary: Summary) -> None:
        if summary.id not in self._texts and forwarding_words(summary):
            self._reading = summary.id
            self._latest.run(partial(self._read, summary.id))

    @Slot(QModelIndex, QModelIndex)
    def _moved(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid():
            self._ask(current.data(SUMMARY_ROLE))

    def _changed(self, ids: Iterable[str]) -> None:
        changed = set(ids)
        for name in changed & self._texts.keys():
            del self._texts[name]
        if self._reading in changed:
            self._latest.stop()  # what it reads may be of before
        current = self._rows.current()
        if current is not None and current.id in changed:
            self._ask(current)

    async def _read(self, capture_id: str) -> None:
        text = targets_text(await self._deliveries.of_capture(capture_id))
        if len(self._texts) >= KEPT:
            self._texts.clear()
        self._texts[capture_id] = text
        row = self._model.row_of(capture_id)
        if not text or row is None:
            return
        index = self._model.index(row)
        self._model.dataChanged.emit(index, index)
        viewport = self._rows.viewport()
        place = viewport.mapFromGlobal(QCursor.pos())
        if QToolTip.isVisible() and self._rows.indexAt(place) == index:
            QApplication.sendEvent(viewport, QHelpEvent(QHelpEvent.Type.ToolTip, place, QCursor.pos()))


def targets_text(deliveries: Sequence[Delivery]) -> str:
    """`1 of 2 targets failed, 1 delivered`; empty if all went alike. Replays do not count."""
    states = Counter(one.state for one in deliveries if one.replay_id is None)
    if len(states) < 2:
        return ""
    (first, word), *others = ((states[state], _WORDS[state]) for state in WORST_FIRST if states[state])
    rest = "".join(f", {count} {word}" for count, word in others)
    return f"{first} of {count_of(states.total(), 'target')} {word}{rest}"
