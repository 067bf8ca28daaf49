"""The table of deliveries, which reads them a page at a time, and again after changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter

from msgspec.structs import replace
from PySide6.QtCore import QObject, QPersistentModelIndex, QPoint, QRect, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QFont, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.delivery import Delivery, DeliveryFilter, reason_text
from app.core.events import (
    Captured,
    DeliveriesQueued,
    DeliveryChanged,
    EndpointRemoved,
    EndpointSaved,
    Purged,
    RequestsRemoved,
    RequestsUpdated,
    Subscriptions,
)
from app.core.model import DeliveryState, Endpoint
from app.core.raw_request import below_slug
from app.core.target import Target
from app.core.text import clock_time, day_text, exact_time, ms_text, phrase_of
from app.ui.deleting import DeleteChanged
from app.ui.deliveries.commands import DeliveryCommands
from app.ui.deliveries.words import is_paused, look_of, next_text, paused_text, status_text
from app.ui.services import Services
from app.ui.state_look import paint_look
from app.ui.tasks import Latest, Tasks
from app.ui.theme.fonts import BASE, ui_font
from app.ui.theme.theme import Theme
from app.ui.throttle import Throttle
from app.ui.widgets.badge import METHOD_SIZE, paint_method
from app.ui.widgets.focus import is_enter
from app.ui.widgets.rows import RIGHT, Column, Rows, RowsView, badge_place

PAGE = 200
ROW = 36
CHECKED = 1_000
"""Rows from the top that are read again after a change elsewhere; older ones change by their own events."""
MAX_ROWS = 20_000
MERGE_MS = 250
"""The least pause before reading again."""
STATE, QUEUED, ENDPOINT, METHOD, REQUEST, TARGET, ATTEMPTS, STATUS, DURATION, DETAIL = range(10)
SHOWN_OF_REQUEST = {"event", "gist"}
"""What rows show of their requests that may change."""
QUEUED_TIP = "Newest first. The tooltip of a row also has the time of its last attempt."
_SCROLL_BAR = 12
"""Pixels that it is given even while there is none."""
_FITTED = (REQUEST, TARGET)
_LEAST, _LEAST_ENDPOINT, _MOST_ENDPOINT = 120, 84, 128
_MEASURED = 200
"""Rows, from the newest, that are measured."""
_BESIDE_TEXT = 26
"""Pixels beside a cell's text."""
MIDDLE = Qt.TextElideMode.ElideMiddle


class DeliveryModel(Rows[Delivery]):
    """The last queued first. `endpoint_of` and `target_of` find those that deliveries are of, as they are now."""

    def __init__(
        self,
        endpoint_of: Callable[[int], Endpoint | None],
        target_of: Callable[[int | None], Target | None],
        theme: Theme,
        parent: QObject | None = None,
    ) -> None:
        columns = [
            Column("State", self._state, self._state_tooltip, self._paint_state, width=108),
            Column("Queued", _queued, _queued_tooltip, title_tip=QUEUED_TIP, width=88),
            Column("Endpoint", self._endpoint, width=_MOST_ENDPOINT, needs=668),
            Column("Method", lambda one: escape(one.captured_method), paint=self._paint_method, width=70, needs=728),
            # Its tooltip has what is hidden.
            Column("Request", lambda one: escape(request_text(one)), request_tooltip, elide=MIDDLE),
            Column("Target", self._target_url, self._target_tooltip, elide=MIDDLE, needs=868),
            Column("Attempts", lambda one: str(one.attempts), align=RIGHT, width=84, needs=1268),
            Column("Status", _status, _status_tooltip, align=RIGHT, width=62, needs=588),
            Column("Duration", _duration, align=RIGHT, width=82, needs=1148),
            Column("Details", self._detail, self._detail_tooltip, stretches=True),
        ]
        super().__init__(columns, parent)
        self._endpoint_of, self._target_of = endpoint_of, target_of
        self._theme, self._font = theme, ui_font(BASE, QFont.Weight.Medium)
        self._at: dict[str, int] | None = None
        """The row of each delivery by ID; None: not known since rows moved."""
        self._awaited: set[str] = set()
        """The requests whose deliveries others wait for, known with `_at`."""
        for signal in (self.rowsInserted, self.rowsRemoved, self.modelReset):
            signal.connect(self._rows_moved)

    def target(self, delivery: Delivery) -> Target | None:
        return self._target_of(delivery.target_id)

    def oldest(self) -> int | None:
        """The number of the last row."""
        return self._rows[-1].seq if self._rows else None

    def newest(self) -> int | None:
        """The number of the first row."""
        return self._rows[0].seq if self._rows else None

    def row_of(self, delivery_id: str) -> int | None:
        if self._at is None:
            self._at = {delivery.id: row for row, delivery in enumerate(self._rows)}
            self._awaited = {delivery.behind for delivery in self._rows if delivery.behind is not None}
        return self._at.get(delivery_id)

    def waits_behind(self, delivery: Delivery) -> bool:
        """Whether one in the list waited for this one, which has ended."""
        return delivery.state is not DeliveryState.QUEUED and delivery.capture_id in self._awaited

    @Slot()
    def _rows_moved(self) -> None:
        self._at = None

    def merge(self, rows: Sequence[Delivery], above: int | None) -> None:
        """`rows` are all deliveries numbered above `above`, or all (None): make the rows there the same."""
        older = [row for row in self._rows if above is not None and row.seq <= above]
        self.show_records([*rows, *older], attrgetter("seq"))

    def _state(self, delivery: Delivery) -> str:
        return look_of(delivery, self.target(delivery)).words

    def _state_tooltip(self, delivery: Delivery) -> str:
        target = self.target(delivery)
        if target is not None and is_paused(delivery, target):
            return paused_text(target)
        return self._state(delivery)

    def _endpoint(self, delivery: Delivery) -> str:
        endpoint = self._endpoint_of(delivery.endpoint_id)
        return escape(endpoint.name) if endpoint is not None else ""

    def _target_url(self, delivery: Delivery) -> str:
        return target_url(delivery, self.target(delivery))

    def _target_tooltip(self, delivery: Delivery) -> str:
        return escape(delivery.request_url(self.target(delivery)))

    def _detail(self, delivery: Delivery) -> str:
        """The next attempt of a queued delivery, why another was not delivered."""
        if delivery.state is DeliveryState.QUEUED:
            return next_text(delivery, self.target(delivery), now_us())
        marks = ["Replay"] if delivery.replay_id is not None else []
        if delivery.state is not DeliveryState.DELIVERED:
            marks.append(failure_text(delivery))
        return " · ".join(filter(None, marks))

    def _detail_tooltip(self, delivery: Delivery) -> str:
        if not delivery.error:
            return self._detail(delivery)
        reason = escape(reason_text(delivery.error, delivery.next_step))[:2000]
        return "\n".join(filter(None, (next_text(delivery, self.target(delivery), now_us()), reason)))

    def _paint_method(self, painter: QPainter, place: QRect, delivery: Delivery) -> None:
        badge = QRectF(badge_place(place, METHOD_SIZE.width(), METHOD_SIZE.height()))
        paint_method(painter, badge, escape(delivery.captured_method), self._theme.tokens)

    def _paint_state(self, painter: QPainter, place: QRect, delivery: Delivery) -> None:
        look = look_of(delivery, self.target(delivery))
        paint_look(painter, place, look, self._theme, text=look.words, colour=look.colour, font=self._font)


class DeliveriesView(RowsView):
    """Enter or a double click opens the request of a delivery. Its times are in the column `times`, by number."""

    rows: Rows[Delivery]
    times: int

    def serve(self, commands: DeliveryCommands) -> None:
        """Let these commands be about the selected rows."""
        self._commands = commands
        commands.selected, commands.cells = self.selected, self._cells
        commands.copy_row.add_to(self)
        self.doubleClicked.connect(commands.open.run)
        self.customContextMenuRequested.connect(self._show_menu)

    def selected(self) -> list[Delivery]:
        """From top to bottom."""
        return [self.rows.record(row) for row in self.selected_rows()]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_enter(event):
            self._commands.open.run()
        else:
            super().keyPressEvent(event)

    def _cells(self, delivery: Delivery) -> list[str]:
        columns = range(self.rows.columnCount())
        return [self.rows.cell(delivery, column) for column in columns if column != self.times]

    @Slot(QPoint)
    def _show_menu(self, place: QPoint) -> None:
        self._commands.show_menu(self.menu_place(place))


class DeliveryTable(DeliveriesView):
    """Rows inserted above those in view do not move them.

    Endpoints, requests and targets, which tell deliveries apart, are as wide as their texts. The details, which are
    whole in the tooltip, have as much as requests and as targets, and all that those do not need. Call `measure` when a
    list is loaded: rows that arrive move no column.
    """

    times = QUEUED

    def __init__(self, model: DeliveryModel, parent: QWidget) -> None:
        super().__init__("Deliveries", parent)
        self.rows = model
        self._texts = dict.fromkeys(_FITTED, _LEAST)
        self.show_rows(model, ROW)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().setMinimumSectionSize(48)
        for column in _FITTED:
            self.horizontalHeader().setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_room()

    def measure(self) -> None:
        """Fit the rows that are listed now."""
        rows = [self.rows.record(row) for row in range(min(self.rows.rowCount(), _MEASURED))]
        for column in self._texts:
            self._texts[column] = max(_LEAST, self._needed(rows, column))
        self.setColumnWidth(ENDPOINT, min(max(_LEAST_ENDPOINT, self._needed(rows, ENDPOINT)), _MOST_ENDPOINT))
        self._share_room()

    def _share_room(self) -> None:
        others = set(range(DETAIL)) - set(_FITTED)
        room = self.width() - _SCROLL_BAR - sum(map(self.columnWidth, others))
        shown = sorted((one for one in _FITTED if not self.isColumnHidden(one)), key=self._texts.__getitem__)
        left = room - room // (len(shown) + 1)
        for place, column in enumerate(shown):  # What the narrower does not need, the other may have.
            width = min(self._texts[column], max(_LEAST, left // (len(shown) - place)))
            self.setColumnWidth(column, width)
            left -= width

    def _needed(self, rows: list[Delivery], column: int) -> int:
        fm, texts = self.fontMetrics(), {self.rows.cell(one, column) for one in rows}
        return max((fm.horizontalAdvance(text[:200]) for text in texts), default=0) + _BESIDE_TEXT

    def keep_in_view(self, work: Callable[[], None]) -> None:
        """Run `work`, which changes rows; unless the newest are in view, the first row in view stays where it is."""
        bar = self.verticalScrollBar()
        top = self.indexAt(self.viewport().rect().topLeft())
        if not bar.value() or not top.isValid():
            work()
            return
        row, offset = QPersistentModelIndex(top), self.visualRect(top).top()
        work()
        if row.isValid():
            self.updateGeometries()
            bar.setValue(row.row() * self.verticalHeader().defaultSectionSize() - offset)


def failure_text(delivery: Delivery) -> str:
    """A status's usual phrase is shorter than the sentence around it."""
    if delivery.status is not None and delivery.status >= 300 and (phrase := phrase_of(delivery.status)):
        return phrase
    return escape(reason_text(delivery.error, delivery.next_step)).replace("\n", " ")


def _queued(delivery: Delivery) -> str:
    """`14:02:31`; of an earlier day, its date: `12 Nov`."""
    day = day_text(delivery.queued_at, now_us())
    return clock_time(delivery.queued_at)[:8] if day == "Today" else day


def _queued_tooltip(delivery: Delivery) -> str:
    lines = [f"Queued {exact_time(delivery.queued_at)}"]
    if delivery.started_at is not None:
        lines.append(f"Last attempt {exact_time(delivery.started_at)}")
    return "\n".join(lines)


def target_url(delivery: Delivery, target: Target | None) -> str:
    """Its target's URL without the scheme; the URL requested if that is no target, or was deleted."""
    url = target.url if target is not None else delivery.url
    return escape(url.partition("://")[2] or url)


def request_tooltip(delivery: Delivery) -> str:
    return f"{escape(delivery.captured_method)} {escape(delivery.captured_target)}"


def _status(delivery: Delivery) -> str:
    return "" if delivery.status is None else str(delivery.status)


def _duration(delivery: Delivery) -> str:
    return "" if delivery.ms is None else ms_text(delivery.ms)


def _status_tooltip(delivery: Delivery) -> str:
    return status_text(delivery.status) if delivery.status is not None else ""


def request_text(delivery: Delivery) -> str:
    """The path below the slug, or what the request is where it has none."""
    path = below_slug(delivery.captured_target).partition("?")[0]
    return path if path.strip("/") else delivery.captured_event or delivery.captured_gist or "/"


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
        self._watched = self._refreshing = False
        self._changes: list[DeliveryChanged] = []
        """Since a page began to be read, which may not know of them."""
        self._reading = Latest(self, tasks, "deliveries: list")
        self._counting = Latest(self, tasks, "deliveries: count")
        self._again = Throttle(MERGE_MS, self, self._refresh)
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
            self._stop()

    def show_filtered(self, which: DeliveryFilter) -> None:
        """List other deliveries, from the newest."""
        self.filter = which
        self.ready = self.at_end = False
        self.model.set_records([])
        self._stop()
        self._refresh()

    @Slot()
    def more(self) -> None:
        """Read the next older page, unless the list is being read again."""
        wanted = self.ready and not self.at_end and self.model.rowCount() < MAX_ROWS
        if wanted and self._watched and not self._refreshing:
            self._reading.run(self._read_older)

    def _stop(self) -> None:
        self._reading.stop()
        self._counting.stop()

    @Slot()
    def _refresh(self) -> None:
        """Read the list again, after what is being read: of many changes each would keep that from its end."""
        if self._watched:
            self._refreshing = True
            self._reading.run_next(self._read_again)
            self._counting.run_next(self._count)

    async def _read_older(self) -> None:
        oldest = self.model.oldest()
        self._changes.clear()
        rows = await self._deliveries.page(self.filter, before=oldest, limit=PAGE)
        if oldest == self.model.oldest():
            self.at_end = len(rows) < PAGE
            if rows:
                self.model.insert_records(self.model.rowCount(), rows)
            self._listed()

    async def _read_again(self) -> None:
        """Read the rows from the newest on, as far as they are listed, but at most `CHECKED`."""
        wanted = min(max(PAGE, self.model.rowCount()), CHECKED)
        self._changes.clear()
        with self._again.paced():
            rows = await self._deliveries.page(self.filter, limit=wanted)
            complete = len(rows) < wanted
            above = None if complete else rows[-1].seq - 1
            newest = self.model.newest()
            if newest is not None and above is not None and newest <= above:  # more arrived than were read
                self.model.set_records(rows)
                self.at_end = False
            else:
                self._table.keep_in_view(partial(self.model.merge, rows, above))
                self.at_end = complete or self.at_end
        self.ready, self._refreshing = True, False
        if wanted < min(self.model.rowCount(), CHECKED):
            self._again.call()  # as many came meanwhile as were read: rows below those may be deleted by now
        self._listed()

    def _listed(self) -> None:
        """What was read is in the model."""
        for event in tuple(self._changes):
            self._changed(event)
        self.loaded.emit()

    def _subscribe(self) -> None:
        for kind in (DeliveriesQueued, Purged):
            self._subscriptions.add(kind, lambda _: self._again.call())
        self._subscriptions.add(RequestsUpdated, self._requests_updated)
        self._subscriptions.add(DeliveryChanged, self._changed)
        self._subscriptions.add(Captured, self._captured)
        self._subscriptions.add(RequestsRemoved, self._removed)
        self._subscriptions.add(EndpointSaved, lambda _: self.model.refresh_cells())
        self._subscriptions.add(EndpointRemoved, self._endpoint_removed)
        self._subscriptions.add(DeleteChanged, self._delete_changed)

    async def _count(self) -> None:
        self.counted.emit(await self._deliveries.count(self.filter))

    def _changed(self, event: DeliveryChanged) -> None:
        delivery = event.delivery
        if self._reading.running:
            self._changes.append(event)
        row = self.model.row_of(delivery.id)
        if row is not None and matches(self.filter, delivery):
            self.model.replace_record(row, delivery)
            if not self.model.waits_behind(delivery):
                return  # The same rows as before.
        elif row is not None:
            self._table.keep_in_view(partial(self.model.remove_rows, [row]))
        elif not matches(replace(self.filter, state=None), delivery):
            return
        self._again.call()

    def _requests_updated(self, event: RequestsUpdated) -> None:
        if any(not SHOWN_OF_REQUEST.isdisjoint(fields) for fields in event.changes.values()):
            self._again.call()

    def _captured(self, event: Captured) -> None:
        if any(one.delivery is not DeliveryState.NONE for one in event.summaries):
            self._again.call()

    def _removed(self, event: RequestsRemoved) -> None:
        self._drop(lambda delivery: event.has(delivery.endpoint_id, delivery.capture_id))

    def _endpoint_removed(self, event: EndpointRemoved) -> None:
        self._drop(lambda delivery: delivery.endpoint_id == event.endpoint.id)

    def _delete_changed(self, event: DeleteChanged) -> None:
        if event.state != "begins":
            self._again.call()

    def _drop(self, gone: Callable[[Delivery], bool]) -> None:
        self.model.remove_rows([row for row, delivery in enumerate(self.model.records()) if gone(delivery)])
        self._again.call()


def matches(which: DeliveryFilter, delivery: Delivery) -> bool:
    """Whether a delivery belongs to the list, as far as it can change or is new."""
    return (
        which.state in (None, delivery.state)
        and which.endpoint_id in (None, delivery.endpoint_id)
        and which.target_id in (None, delivery.target_id)
        and which.replay in (None, delivery.replay_id is not None)
    )
