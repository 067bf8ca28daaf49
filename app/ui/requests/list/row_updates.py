"""Results of deliveries in the rows of the list, updated as they change; and a click on a star, which toggles it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QCursor, QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QToolTip

from app.core.delivery import Delivery
from app.core.events import DeliveriesQueued, DeliveryChanged, Subscriptions, TargetChanged
from app.core.model import DeliveryState, Summary
from app.core.text import count_of
from app.core.worst_state import State, delivery_state
from app.ui.deliveries.words import counted
from app.ui.requests.list.model import SUMMARY_ROLE, RequestModel
from app.ui.requests.list.view import RequestList
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks

KEPT = 500
"""Requests whose results are remembered."""


class StarClicks(QObject):
    """`toggled` carries the request whose star was clicked; that click selects nothing.

    A row shows a star if it is starred, and while it is selected or under the mouse. Elsewhere there is none to click:
    touching that place selects the row.
    """

    toggled = Signal(object)

    def __init__(self, rows: RequestList) -> None:
        super().__init__(rows)
        self._list = rows
        self._pressed = False
        self._mouse: QPoint | None = None
        rows.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle mouse events on a star."""
        kind = event.type()
        if kind in (QEvent.Type.Leave, QEvent.Type.HoverLeave):
            self._mouse = None
        if not isinstance(event, QMouseEvent):
            return super().eventFilter(watched, event)
        if kind == QEvent.Type.MouseMove:
            self._mouse = event.position().toPoint()
        if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
            summary = self._starred_at(event)
            self._pressed = summary is not None
            if summary is not None:
                self.toggled.emit(summary)
            return self._pressed
        if self._pressed:
            self._pressed = kind != QEvent.Type.MouseButtonRelease
            return True
        return super().eventFilter(watched, event)

    def _starred_at(self, event: QMouseEvent) -> Summary | None:
        place = event.position().toPoint()
        index = self._list.indexAt(place)
        plain = event.button() == Qt.MouseButton.LeftButton and not event.modifiers()
        if not plain or not index.isValid():
            return None
        star = self._list.request_delegate.star_rect(self._list.visualRect(index))
        summary: Summary = index.data(SUMMARY_ROLE)
        return summary if star.contains(place) and (summary.starred or self._is_offered(index)) else None

    def _is_offered(self, index: QModelIndex) -> bool:
        """Whether a row shows a star although it is not starred."""
        under_mouse = self._mouse is not None and self._list.indexAt(self._mouse) == index
        return under_mouse or self._list.selectionModel().isSelected(index)


class TargetResults(QObject):
    """Gives the list's rows their state, and their words about forwarding: of the worst target alone until the others
    are known."""

    def __init__(self, rows: RequestList, model: RequestModel, services: Services, tasks: Tasks) -> None:
        super().__init__(rows)
        self._rows, self._model, self._store = rows, model, services.store
        self._texts: dict[str, str] = {}
        self._reading: str | None = None
        self._latest = Latest(self, tasks, "list: deliveries of a row")
        rows.request_delegate.state_of = self.state
        rows.request_delegate.target_words = self._texts
        rows.request_delegate.tooltip_shown.connect(self._ask)
        rows.selectionModel().currentChanged.connect(self._moved)
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(DeliveryChanged, lambda event: self._changed((event.delivery.capture_id,)))
        self._subscriptions.add(DeliveriesQueued, lambda event: self._changed(event.shown))
        self._subscriptions.add(TargetChanged, lambda event: rows.viewport().update())

    def stop(self) -> None:
        """Unsubscribe from the bus, and stop reading."""
        self._subscriptions.end()
        self._latest.stop()

    def state(self, summary: Summary) -> State:
        endpoint = self._store.endpoints.by_id(summary.endpoint_id)
        return delivery_state(summary.delivery, endpoint.targets if endpoint is not None else ())

    @Slot(object)
    def _ask(self, summary: Summary) -> None:
        if summary.id not in self._texts and summary.delivery is not DeliveryState.NONE:
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
        text = targets_text(await self._store.deliveries.of_capture(capture_id))
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
    counts = counted(one.state for one in deliveries if one.replay_id is None)
    if len(counts) < 2:
        return ""
    (first, word), *others = counts
    targets = count_of(sum(count for count, _ in counts), "target")
    return f"{first} of {targets} {word}" + "".join(f", {count} {word}" for count, word in others)
