"""The page of deliveries over all endpoints: what is waiting, what failed and why, and retrying it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from app.core.delivery import Delivery, DeliveryFilter
from app.core.model import DeliveryState
from app.core.text import count_of
from app.ui.commands.command import CommandButton
from app.ui.deliveries.commands import DeliveryCommands
from app.ui.deliveries.filters import DeliveryFilters
from app.ui.deliveries.pager import MAX_ROWS, DeliveryPager
from app.ui.deliveries.table import DETAIL, QUEUED, DeliveryColumns, DeliveryModel, DeliveryTable
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import Card, Page
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.layout import fill, vbox

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


class DeliveriesPage(Page):
    """While it is shown, `commands` are about what it lists."""

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        qt_events: QtEvents,
        *,
        commands: DeliveryCommands,
        parent: QWidget,
    ) -> None:
        super().__init__("Deliveries", "What was sent to the targets of all endpoints.", parent)
        self.model = DeliveryModel(services.store.endpoints.by_id, services.store.targets.by_id, theme, self)
        self.table = DeliveryTable("Deliveries", self)
        self.pager = DeliveryPager(self.model, self.table, services, tasks, self)
        self.filters = DeliveryFilters(services.store.endpoints, theme, self)
        self.commands = commands
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
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._count_down)
        self._loaded()

    def selected(self) -> list[Delivery]:
        """The selected deliveries, from top to bottom."""
        return [self.model.record(row) for row in self.table.selected_rows()]

    def _listed(self) -> DeliveryFilter | None:
        """What is listed, None while the page is not shown."""
        return self.filters.current() if self.isVisible() else None

    def _cells(self, delivery: Delivery) -> list[str]:
        """All but the time."""
        return [self.model.cell(delivery, column) for column in range(self.model.columnCount()) if column != QUEUED]

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
        self.commands.check_failed()

    def _show_count(self) -> None:
        if self._count is None:
            self.count.setText("")
            return
        text = count_of(self._count, "delivery", "deliveries")
        if self._count > MAX_ROWS and self.model.rowCount() >= MAX_ROWS:
            text += f" · the newest {MAX_ROWS:,} are listed, filter to see older ones"
        chosen = len(self.table.selected_rows())
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
        commands.cells = self._cells
        for command in (commands.copy_row, commands.retry, commands.send_now):
            command.add_to(table)
        table.customContextMenuRequested.connect(self._show_menu)
        table.doubleClicked.connect(commands.open.run)
        table.selectionModel().selectionChanged.connect(self._selection_changed)
        table.verticalScrollBar().valueChanged.connect(self._near_end)
        self._selection_changed()

    def _lay_out(self) -> None:
        fill(self.header, self.retry_selected, self.retry_button)
        self._card = Card(self, padding=1)
        self._card.body.addWidget(self.table)
        self._body = QStackedLayout()
        self._body.addWidget(self._card)
        self._body.addWidget(self.empty)
        vbox(
            self.header,
            self.filters,
            (self._body, 1),
            self.count,
            inside=self,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_3),
        )
