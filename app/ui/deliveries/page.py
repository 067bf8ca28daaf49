"""The page of deliveries over all endpoints: what is waiting, what failed and why, and retrying it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication, QHideEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QStackedLayout, QWidget

from app.core.clock import now_us
from app.core.delivery import Delivery, DeliveryFilter
from app.core.model import DeliveryState
from app.core.text import count_of, exact_time
from app.core.waiting import no_send_now
from app.ui.commands.command import CommandButton, CommandGroup, Commands, menu_of
from app.ui.deliveries.filters import DeliveryFilters
from app.ui.deliveries.pager import MAX_ROWS, DeliveryPager, failed_of
from app.ui.deliveries.table import DETAIL, QUEUED, DeliveryColumns, DeliveryModel, DeliveryTable
from app.ui.deliveries.words import no_retry
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import Card
from app.ui.widgets.dialog import ask
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import hbox, vbox

ASKED_FROM = 100
"""More deliveries than this are retried only after a question."""
NONE_FAILED = "No failed delivery matches the filter."
NONE_FAILED_AT_ALL = "No delivery has failed."
OTHER_STATE = "The filter lists no failed deliveries."
NO_REPLAYS = "Replays are not retried. Replay the requests again."


class DeliveryCommands(Commands):
    """Commands on what `selected` returns, and on all that match what `listed` returns; without a list in view, on all.
    `open_requested` carries a request's ID."""

    open_requested = Signal(str)
    copy_requested = Signal()
    announced = Signal(str)

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(theme, None, parent, read_only=services.read_only)
        self._say = self.announced.emit
        self._services, self._tasks, self._window = services, tasks, parent
        self.selected: Callable[[], Sequence[Delivery]] = tuple
        self.listed: Callable[[], DeliveryFilter | None] = lambda: None
        self.open = self.command("Open request\tEnter", "body", self._open)
        self.retry = self.command("Retry", "retry", self._retry, self._no_retry, "Ctrl+R", changes=True)
        self.send_now = self.command("Send now", "send", self._send_now, self._no_send_now, changes=True)
        name = "Retry all failed deliveries…"
        self.retry_all = self.command(
            "Retry all failed…",
            "retry",
            self._retry_all,
            self._no_retry_all,
            group=CommandGroup.LIST,
            name=name,
            changes=True,
        )
        self.copy_url = self.command("Copy target URL", "copy", self._copy_url)
        self.copy_row = self.command("Copy row", "copy", self.copy_requested.emit, None, "Ctrl+C")

    def menu(self, selected: Sequence[Delivery]) -> QMenu:
        """It deletes itself when closed."""
        self.refresh()
        one = len(selected) == 1
        copies = [self.copy_url, self.copy_row] if one else [self.copy_row]
        return menu_of(self._window, [self.open] if one else [], [self.retry, self.send_now], copies)

    @Slot()
    def refresh(self) -> None:
        """Name and enable the commands for what is selected and listed now."""
        selected = self.selected()
        failed = sum(map(self._can_retry, selected))
        self.retry.setText("Retry" if len(selected) <= 1 else f"Retry {count_of(failed, 'delivery', 'deliveries')}")
        self.copy_row.setText("Copy row" if len(selected) <= 1 else f"Copy {len(selected)} rows")
        super().refresh()

    def copy(self, text: str, message: str) -> None:
        """Copy it, and show `message`."""
        QGuiApplication.clipboard().setText(text)
        self.announced.emit(message)

    def _can_retry(self, delivery: Delivery) -> bool:
        return no_retry(delivery, self._services.store.targets.by_id) is None

    def _no_retry(self) -> str | None:
        """The reason of the first one, if none can be retried."""
        selected = self.selected()
        if any(self._can_retry(one) for one in selected):
            return None
        return no_retry(selected[0], self._services.store.targets.by_id) if selected else "No delivery is selected."

    def _refusal_of_now(self, delivery: Delivery) -> str | None:
        target = None if delivery.target_id is None else self._services.store.targets.by_id(delivery.target_id)
        return no_send_now(delivery, target, now_us())

    def _no_send_now(self) -> str | None:
        """The reason of the first one, if none can be sent now."""
        refusals = [self._refusal_of_now(one) for one in self.selected()]
        return None if None in refusals else next(iter(refusals), "No delivery is selected.")

    def _no_retry_all(self) -> str | None:
        which = self.listed() or DeliveryFilter()
        if which.state not in (None, DeliveryState.FAILED):
            return OTHER_STATE
        return NO_REPLAYS if which.replay else None

    @Slot()
    def _open(self) -> None:
        selected = self.selected()
        if len(selected) == 1:
            self.open_requested.emit(selected[0].capture_id)

    @Slot()
    def _copy_url(self) -> None:
        selected = self.selected()
        if len(selected) == 1:
            target_id = selected[0].target_id
            target = None if target_id is None else self._services.store.targets.by_id(target_id)
            self.copy(selected[0].request_url(target), "Copied the target URL.")

    @Slot()
    def _retry(self) -> None:
        ids = tuple(one.id for one in self.selected() if self._can_retry(one))
        self._tasks.start(self._retry_deliveries(DeliveryFilter(delivery_ids=ids)), "deliveries: retry")

    @Slot()
    def _send_now(self) -> None:
        for one in self.selected():
            if self._refusal_of_now(one) is None:
                self._tasks.start(self._services.store.deliveries.send_now(one), "deliveries: send now")

    @Slot()
    def _retry_all(self) -> None:
        self._tasks.start(self._retry_listed(self.listed()), "deliveries: retry all")

    async def _retry_listed(self, listed: DeliveryFilter | None) -> None:
        """All (None) are retried only after a question: none of them is in view."""
        which = failed_of(listed or DeliveryFilter())
        count = await self._services.store.deliveries.count(which)
        if not count:
            self.announced.emit(NONE_FAILED_AT_ALL if listed in (None, DeliveryFilter()) else NONE_FAILED)
            return
        if listed is None or count > ASKED_FROM:
            deliveries = count_of(count, "delivery", "deliveries")
            found = "failed and match the filter" if listed is not None else "failed in all endpoints together"
            text = (
                f"{deliveries} {found}. Each is sent again to its target, in the order in which it"
                " was queued. Those of deleted targets are left out."
            )
            over = self._window.window()
            if not await ask(over, self._theme, f"Retry {deliveries}?", text, "Retry", kind="primary"):
                return
        await self._retry_deliveries(which)

    async def _retry_deliveries(self, which: DeliveryFilter) -> None:
        count = await self._services.store.deliveries.retry(which)
        self.announced.emit(f"Retrying {count_of(count, 'delivery', 'deliveries')}." if count else NONE_FAILED)

    def show_menu(self, place: QPoint) -> None:
        """Pop it up at `place` (global)."""
        selected = self.selected()
        if selected:
            self.menu(selected).popup(place)


ROW = 36
NEAR_END = 40 * ROW
"""Pixels before the end of the list at which the next page is read."""
TICK_MS = 1_000
NOTHING_YET = (
    "Requests are delivered to the targets of their endpoint. Edit an endpoint and set a forward URL to send its"
    " requests to your code."
)
NOTHING = ("No deliveries yet", NOTHING_YET)
NO_MATCH = ("No deliveries match", "No delivery is in this state, of this endpoint and target.")


class DeliveriesPage(QWidget):
    """`open_requested` carries the ID of a request whose deliveries the user wants to see."""

    open_requested = Signal(str)
    announced = Signal(str)

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, qt_events: QtEvents, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setProperty("part", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.model = DeliveryModel(services.store.endpoints.by_id, services.store.targets.by_id, theme, self)
        self.table = DeliveryTable("Deliveries", self)
        self.pager = DeliveryPager(self.model, self.table, services, tasks, self)
        self.filters = DeliveryFilters(services.store.endpoints, theme, self)
        self.commands = DeliveryCommands(services, theme, tasks, self)
        self.count = ElidedLabel("", "small", self)
        self.retry_button = CommandButton("Retry all failed…", self.commands.retry_all, theme, self, icon="retry")
        self.empty = EmptyState("forward", *NOTHING, theme, self, action="Clear filters")
        self.retry_selected = CommandButton("Retry", self.commands.retry, theme, self, icon="retry")
        self._count: int | None = None
        self._measured = False
        """Whether the columns fit the list; rows that arrive later do not change them."""
        self.table.show_rows(self.model, ROW)
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.columns = DeliveryColumns(self.model, self.table)
        self._lay_out()
        self._connect_commands()
        self.pager.loaded.connect(self._loaded)
        self.pager.counted.connect(self._counted)
        self.filters.changed.connect(self._filter)
        self.empty.action.connect(self.filters.clear)
        qt_events.endpoints_changed.connect(self.filters.refresh)
        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.setTimerType(Qt.TimerType.CoarseTimer)
        self._tick.timeout.connect(self._count_down)
        self._loaded()

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self._tick.stop()
        self.pager.stop()

    def selected(self) -> list[Delivery]:
        """The selected deliveries, from top to bottom."""
        return [self.model.record(row) for row in sorted(self._selected_rows())]

    def _listed(self) -> DeliveryFilter | None:
        """What is listed, None while the page is not shown."""
        return self.filters.current() if self.isVisible() else None

    def _selected_rows(self) -> set[int]:
        """From the ranges of the selection: one index for each of 20,000 rows takes a quarter of a second."""
        ranges = self.table.selectionModel().selection()
        found = [ranges.at(number) for number in range(ranges.size())]
        return {row for one in found for row in range(one.top(), one.bottom() + 1)}

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._measured = False
        self.filters.refresh()
        self.pager.set_watched(True)
        self._tick.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.pager.set_watched(False)
        self._tick.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide columns that a narrow page has no space for."""
        super().resizeEvent(event)
        self.columns.fit(self.width())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter opens the selected delivery's request."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.table.hasFocus():
            self.commands.open.run()
        else:
            super().keyPressEvent(event)

    @Slot()
    def copy_rows(self) -> None:
        """Copy the selected rows, tab-separated."""
        lines = [
            "\t".join(
                [exact_time(one.queued_at)]
                + [self.model.cell(one, column) for column in range(self.model.columnCount()) if column != QUEUED]
            )
            for one in self.selected()
        ]
        if lines:
            self.commands.copy("\n".join(lines), f"Copied {count_of(len(lines), 'row')}.")

    @Slot(object)
    def _filter(self, which: DeliveryFilter) -> None:
        self._count, self._measured = None, False
        self.pager.show_filtered(which)
        self.commands.refresh()
        self._show_count()

    @Slot()
    def _loaded(self) -> None:
        if self.pager.ready and not self.model.rowCount():
            everything = self.pager.filter == DeliveryFilter()
            title, text = NOTHING if everything else NO_MATCH
            self.empty.title.setText(title)
            self.empty.text.setText(text)
            if self.empty.button is not None:
                self.empty.button.setVisible(not everything)
            self._body.setCurrentWidget(self.empty)
        else:
            self._body.setCurrentWidget(self._card)
            if self.pager.ready and not self._measured:
                self._measured = True
                self.columns.measure()
        self._show_count()
        self._near_end()

    @Slot(int)
    def _counted(self, count: int) -> None:
        self._count = count
        self._show_count()

    def _show_count(self) -> None:
        if self._count is None:
            self.count.setText("")
            return
        text = count_of(self._count, "delivery", "deliveries")
        if self._count > MAX_ROWS and self.model.rowCount() >= MAX_ROWS:
            text += f" · the newest {MAX_ROWS:,} are listed, filter to see older ones"
        chosen = len(self._selected_rows())
        if chosen > 1:
            text += f" · {chosen:,} selected"
        self.count.setText(text)

    @Slot()
    def _near_end(self) -> None:
        bar = self.table.verticalScrollBar()
        if bar.maximum() - bar.value() < NEAR_END:
            self.pager.more()

    @Slot()
    def _count_down(self) -> None:
        """Repaint the waiting deliveries in view."""
        first = self.table.rowAt(0)
        last = self.table.rowAt(self.table.viewport().height() - 1)
        for row in range(max(0, first), (last if last >= 0 else self.model.rowCount() - 1) + 1):
            if self.model.record(row).state is DeliveryState.QUEUED:
                self.table.update(self.model.index(row, DETAIL))

    @Slot()
    def _selection_changed(self) -> None:
        self.commands.refresh()
        self.retry_selected.setText(self.commands.retry.text())
        self.retry_selected.setVisible(self.commands.retry.isEnabled())
        self._show_count()

    @Slot(QPoint)
    def _show_menu(self, place: QPoint) -> None:
        """At the pointer, or below the current row if a key opened it."""
        self.commands.show_menu(self.table.menu_place(place))

    def _connect_commands(self) -> None:
        commands, table = self.commands, self.table
        commands.selected = self.selected
        commands.listed = self._listed
        commands.open_requested.connect(self.open_requested)
        commands.copy_requested.connect(self.copy_rows)
        commands.announced.connect(self.announced)
        for command in (commands.copy_row, commands.retry, commands.send_now):
            command.add_to(table)
        table.customContextMenuRequested.connect(self._show_menu)
        table.doubleClicked.connect(commands.open.run)
        table.selectionModel().selectionChanged.connect(self._selection_changed)
        table.verticalScrollBar().valueChanged.connect(self._near_end)
        self._selection_changed()

    def _lay_out(self) -> None:
        words = vbox(
            label("Deliveries", "display", self),
            ElidedLabel("What was sent to the targets of all endpoints.", "muted", self),
            spacing=2,
        )
        header_row = hbox((words, 1), self.retry_selected, self.retry_button, spacing=metrics.SPACE_2)
        self._card = Card(self, padding=1)
        self._card.body.addWidget(self.table)
        self._body = QStackedLayout()
        self._body.addWidget(self._card)
        self._body.addWidget(self.empty)
        vbox(
            header_row,
            self.filters,
            (self._body, 1),
            self.count,
            inside=self,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_3),
        )
