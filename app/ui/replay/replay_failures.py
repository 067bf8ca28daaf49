"""What failed of a replay: the newest deliveries that failed or were not sent, and the table of them."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.core.delivery import Delivery, DeliveryFilter
from app.core.model import DeliveryState
from app.core.replay import Replay
from app.core.text import clock_time, exact_time
from app.ui.deliveries.commands import DeliveryCommands
from app.ui.deliveries.table import MERGE_MS, DeliveriesView, failure_text, request_text, request_tooltip, target_url
from app.ui.deliveries.words import look_of, status_text
from app.ui.services import Services
from app.ui.state_look import paint_look
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, ui_font
from app.ui.theme.theme import Theme
from app.ui.throttle import Throttle
from app.ui.widgets.rows import RIGHT, Column, Rows

if TYPE_CHECKING:
    from app.db.deliveries.deliveries import Deliveries

LISTED = 1_000
REQUEST, TARGET, RESULT, ATTEMPTS, TIME = range(5)


async def read_failures(deliveries: Deliveries, replay_id: str, most: int) -> list[Delivery]:
    """The newest first. Raises StorageUnavailableError."""
    rows: list[Delivery] = []
    for state in (DeliveryState.FAILED, DeliveryState.NOT_SENT):
        rows += await deliveries.page(DeliveryFilter(replay_id=replay_id, state=state), limit=most)
    return sorted(rows, key=attrgetter("seq"), reverse=True)[:most]


class FailureTable(DeliveriesView):
    """The newest `LISTED` of one replay."""

    times = TIME
    loaded = Signal()

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__("Failures of the replay", parent)
        self._deliveries, self._targets, self._theme = services.store.deliveries, services.store.targets, theme
        self._font = ui_font(BASE)
        self._shown: tuple[str, int] | None = None
        """The replay, and how many had failed when they were last read."""
        self._several = False
        """Whether the replay has several targets, which only then need their column."""
        self.rows = Rows[Delivery](self._make_columns(), self)
        self._reading = Latest(self, tasks, "replay: failures")
        self._again = Throttle(MERGE_MS, self, self._read)
        self.commands = DeliveryCommands(services, theme, tasks, self)
        self.show_rows(self.rows, metrics.ROW)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().setMinimumSectionSize(48)
        self.serve(self.commands)

    def show_failures_of(self, replay: Replay) -> None:
        """List those of this replay; read again if there are more."""
        shown = replay.id, replay.progress.failed
        if shown == self._shown:
            return
        if self._shown is None or self._shown[0] != replay.id:
            self.rows.set_records([])
            self._reading.stop()
        self._shown = shown
        several = sum(bool(target.url) for target in replay.progress.targets) > 1
        if several != self._several:
            self._several = several
            self._share_room()
        self._again.call()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Requests, targets and results share what other columns leave."""
        super().resizeEvent(event)
        self._share_room()

    def _share_room(self) -> None:
        one_target = not self._several or self.width() < self.rows.columns[TARGET].needs
        self.setColumnHidden(TARGET, one_target)
        room = self.viewport().width() - self.columnWidth(ATTEMPTS) - self.columnWidth(TIME)
        self.setColumnWidth(REQUEST, room * (40 if one_target else 28) // 100)
        self.setColumnWidth(TARGET, room * 28 // 100)

    @Slot()
    def _read(self) -> None:
        if self._shown is not None:
            self._reading.run_next(partial(self._read_those_of, self._shown[0]))

    async def _read_those_of(self, replay_id: str) -> None:
        with self._again.paced():
            found = await read_failures(self._deliveries, replay_id, LISTED)
            self.rows.show_records(found, lambda one: one.id)
        self.loaded.emit()

    def _make_columns(self) -> list[Column[Delivery]]:
        """The request has what is hidden."""
        time, exact = lambda one: clock_time(one.queued_at)[:8], lambda one: exact_time(one.queued_at)
        return [
            Column("Request", _request, request_tooltip, paint=self._paint_request),
            Column("Target", self._target, lambda one: escape(one.url), needs=440),
            Column("Result", _result, lambda one: escape(one.error or _result(one)), stretches=True),
            Column("Attempts", lambda one: str(one.attempts), align=RIGHT, width=84, needs=640),
            Column("Time", time, exact, width=96, needs=760),
        ]

    def _target(self, delivery: Delivery) -> str:
        return target_url(delivery, self._targets.by_id(delivery.target_id))

    def _paint_request(self, painter: QPainter, place: QRect, delivery: Delivery) -> None:
        look, text = look_of(delivery, None), _request(delivery)
        paint_look(painter, place, look, self._theme, text=text, colour="text", font=self._font)


def _request(delivery: Delivery) -> str:
    """`invoice.paid /billing`."""
    event, text = delivery.captured_event, request_text(delivery)
    return escape(f"{event} {text}" if event and event != text else text)


def _result(delivery: Delivery) -> str:
    """`500 Internal Server Error`, or why there is no response."""
    if delivery.status is not None and delivery.status >= 300:
        return status_text(delivery.status)
    return failure_text(delivery)
