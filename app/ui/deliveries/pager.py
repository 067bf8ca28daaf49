"""Reads stored deliveries into the table a page at a time, and again after changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal, Slot

from app.core.delivery import Delivery, DeliveryFilter
from app.core.events import (
    Captured,
    DeliveriesQueued,
    DeliveryChanged,
    DeliveryDue,
    EndpointRemoved,
    EndpointSaved,
    Purged,
    RequestsDescribed,
    RequestsIdentified,
    RequestsRemoved,
    Subscriptions,
)
from app.core.model import DeliveryState
from app.ui.deliveries.table import DeliveryModel, DeliveryTable
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.throttle import Throttle
from app.ui.undo.pending_delete import DeleteChanged

PAGE = 200


CHECKED = 1_000
"""Rows from the top that are read again after a change elsewhere; older ones change by their own events."""


MAX_ROWS = 20_000


MERGE_MS, REST = 250, 20
"""The pause before reading again, and as a multiple of the time the last reading took."""


class DeliveryPager(QObject):
    """Reads nothing and follows nothing until `set_watched`. `filter` is what is listed; `show_filtered` changes it."""

    loaded = Signal()
    counted = Signal(int)
    """How many deliveries the filter matches."""

    def __init__(
        self, model: DeliveryModel, table: DeliveryTable, services: Services, tasks: Tasks, parent: QObject
    ) -> None:
        super().__init__(parent)
        self.model, self._table, self._deliveries = model, table, services.store.deliveries
        self.filter = DeliveryFilter()
        self.at_end = False
        """Whether the oldest delivery is listed."""
        self.ready = False
        """Whether the first page of this filter was read."""
        self._watched = False
        self._changes: list[DeliveryChanged] = []
        """Since a page began to be read, which may not know of them."""
        self._reading = Latest(self, tasks, "deliveries: list")
        self._counting = Latest(self, tasks, "deliveries: count")
        self._again = Throttle(MERGE_MS, self)
        self._again.fired.connect(self._refresh)
        self._subscriptions = Subscriptions(services.bus)

    def set_watched(self, on: bool) -> None:
        """Whether the list is visible: then it follows changes."""
        if on == self._watched:
            return
        self._watched = on
        if on:
            self._subscribe()
            self._refresh()
        else:
            self._subscriptions.end()
            self._reading.stop()
            self._counting.stop()

    def show_filtered(self, which: DeliveryFilter) -> None:
        """List other deliveries, from the newest."""
        self.filter = which
        self.ready = self.at_end = False
        self.model.reset([])
        if self._watched:
            self._refresh()

    @Slot()
    def more(self) -> None:
        """Read the next older page, unless one is being read."""
        if self.ready and not self.at_end and self._watched and self.model.rowCount() < MAX_ROWS:
            self._reading.run(self._read_older)

    @Slot()
    def _refresh(self) -> None:
        if self._watched:
            self._reading.run(self._read_again)
            self._counting.run(self._count)

    async def _read_older(self) -> None:
        oldest = self.model.oldest()
        self._changes.clear()
        rows = await self._deliveries.page(self.filter, before=oldest, limit=PAGE)
        if oldest == self.model.oldest():
            self.at_end = len(rows) < PAGE
            self.model.append(rows)
            self._listed()

    async def _read_again(self) -> None:
        """Read the rows from the newest on, as far as they are listed, but at most `CHECKED`."""
        began = asyncio.get_running_loop().time()
        which, had = self.filter, self.model.rowCount()
        wanted = min(max(PAGE, had), CHECKED)
        self._changes.clear()
        rows = await self._deliveries.page(which, limit=wanted)
        complete = len(rows) < wanted
        above = None if complete else rows[-1][0] - 1
        if had and not complete and above is not None and self._has_gap(above):
            self.model.reset(rows)
            self.at_end = False
        else:
            self._table.keep_in_view(partial(self.model.merge, rows, above))
            self.at_end = complete or self.at_end
        self.ready = True
        took_ms = (asyncio.get_running_loop().time() - began) * 1000
        self._again.set_interval(max(MERGE_MS, int(took_ms * REST)))
        self._listed()

    def _listed(self) -> None:
        """What was read is in the model."""
        for event in tuple(self._changes):
            self._changed(event)
        self.loaded.emit()

    def _subscribe(self) -> None:
        self._subscriptions.add(DeliveryChanged, self._changed)
        self._subscriptions.add(DeliveryDue, self._elsewhere)
        self._subscriptions.add(DeliveriesQueued, self._elsewhere)
        self._subscriptions.add(Captured, self._captured)
        self._subscriptions.add(RequestsIdentified, self._elsewhere)
        self._subscriptions.add(RequestsDescribed, self._elsewhere)
        self._subscriptions.add(RequestsRemoved, self._removed)
        self._subscriptions.add(Purged, self._elsewhere)
        self._subscriptions.add(EndpointSaved, self._saved)
        self._subscriptions.add(EndpointRemoved, self._endpoint_removed)
        self._subscriptions.add(DeleteChanged, self._delete_changed)

    def _has_gap(self, above: int) -> bool:
        """Whether more arrived than were read, so that some between them and the listed ones are missing."""
        newest = self.model.newest()
        return newest is not None and newest <= above

    async def _count(self) -> None:
        self.counted.emit(await self._deliveries.count(self.filter))

    def _changed(self, event: DeliveryChanged) -> None:
        delivery = event.delivery
        if self._reading.running:
            self._changes.append(event)
        row = self.model.row_of(delivery.id)
        if row is not None and matches(self.filter, delivery):
            self.model.change(delivery)
            if not self.model.waits_behind(delivery):
                return  # The same rows as before.
        elif row is not None:
            self._table.keep_in_view(partial(self.model.remove_rows, [row]))
        elif not matches(replace(self.filter, state=None), delivery):
            return
        self._again.call()

    def _elsewhere(self, event: object) -> None:
        self._again.call()

    def _captured(self, event: Captured) -> None:
        if any(one.delivery is not DeliveryState.NONE for one in event.summaries):
            self._again.call()

    def _saved(self, event: EndpointSaved) -> None:
        self.model.refresh_cells()

    def _removed(self, event: RequestsRemoved) -> None:
        self._drop(lambda delivery: event.has(delivery.endpoint_id, delivery.capture_id))

    def _endpoint_removed(self, event: EndpointRemoved) -> None:
        self._drop(lambda delivery: delivery.endpoint_id == event.endpoint.id)

    def _delete_changed(self, event: DeleteChanged) -> None:
        if event.state != "begins":
            self._elsewhere(event)

    def _drop(self, gone: Callable[[Delivery], bool]) -> None:
        self.model.remove(gone)
        self._again.call()


def matches(which: DeliveryFilter, delivery: Delivery) -> bool:
    """Whether a delivery belongs to the list, as far as it can change or is new."""
    return (
        which.state in (None, delivery.state)
        and which.endpoint_id in (None, delivery.endpoint_id)
        and which.target_id in (None, delivery.target_id)
        and which.replay in (None, delivery.replay_id is not None)
    )
