"""The page of deliveries over all endpoints: what is waiting, what failed and why, and retrying it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QHideEvent, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QComboBox, QSizePolicy, QStyle, QStyleOptionComboBox, QStylePainter, QWidget

from app.core.bodies.escape import escape
from app.core.delivery import DeliveryFilter
from app.core.model import DeliveryState
from app.core.text import count_of
from app.ui.commands.command import CommandButton
from app.ui.deliveries.commands import DeliveryCommands
from app.ui.deliveries.table import DETAIL, MAX_ROWS, ROW, DeliveryModel, DeliveryPager, DeliveryTable
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.throttle import WhileShown
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import Card, EmptyState, Page
from app.ui.widgets.fields import Segmented
from app.ui.widgets.focus import focus_first
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.layout import SideBySide, Stretch, fill, hbox, keep_room, stack, vbox

if TYPE_CHECKING:
    from app.db.endpoints import Endpoints

NEAR_END = 40 * ROW
"""Pixels before the end of the list at which the next page is read."""
NOTHING_YET = (
    "Requests are delivered to the targets of their endpoint. Edit an endpoint and set a forward URL to send its"
    " requests to your code."
)
NOTHING = ("No deliveries yet", NOTHING_YET)
NO_MATCH = ("No deliveries match", "No delivery is in this state, of this endpoint and target.")
ALL = "all"
STATES = (
    (ALL, "All"),
    (DeliveryState.FAILED.value, "Failed"),
    (DeliveryState.NOT_SENT.value, "Not sent"),
    (DeliveryState.QUEUED.value, "Waiting"),
    (DeliveryState.DELIVERED.value, "Delivered"),
)
ALL_ENDPOINTS, ALL_TARGETS, ALL_REPLAYS = "All endpoints", "All targets", "Replays included"
REPLAYS = ((ALL_REPLAYS, None), ("Without replays", False), ("Only replays", True))
BESIDE_TEXT = 44
"""Pixels that a box needs for its margins and arrow."""


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
        self.table = DeliveryTable(self.model, self)
        self.pager = DeliveryPager(self.model, self.table, services, tasks, self)
        self.filters = _DeliveryFilters(services.store.endpoints, theme, self)
        self.commands = commands
        self.count = ElidedLabel("", "small", self)
        self.retry_button = CommandButton("Retry all failed…", self.commands.retry_all, theme, self, icon="retry")
        self.empty = EmptyState("forward", *NOTHING, theme, self, action="Clear filters")
        self.retry_selected = CommandButton("Retry", self.commands.retry, theme, self, icon="retry")
        self._count: int | None = None
        self._measured = False
        """Whether the columns fit the list; rows that arrive later do not change them."""
        self._lay_out()
        self._connect_commands()
        self.pager.loaded.connect(self._loaded)
        self.pager.counted.connect(self._counted)
        self.filters.changed.connect(self._filter)
        self.empty.action.connect(self.filters.clear)
        qt_events.endpoints_changed.connect(self.filters.refresh)
        WhileShown(self, self._count_down)
        self._loaded()

    def take_focus(self) -> None:
        """Put the keyboard into the list, or into what is shown in its place: a hidden list would take it from wherever
        it is by the time the list is shown."""
        if self._body.currentWidget() is self.empty:
            focus_first(self.empty)
        else:
            self.table.setFocus()

    def _listed(self) -> DeliveryFilter | None:
        """What is listed, None while the page is not shown."""
        return self.filters.current() if self.isVisible() else None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._measured = False
        self.filters.refresh()
        self.pager.set_watched(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.pager.set_watched(False)

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
            self.empty.say(*(NOTHING if everything else NO_MATCH))
            if self.empty.button is not None:
                self.empty.button.setVisible(not everything)
            self._body.setCurrentWidget(self.empty)
        else:
            self._body.setCurrentWidget(self._card)
            if self.pager.ready and not self._measured:
                self._measured = True
                self.table.measure()
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

    def _connect_commands(self) -> None:
        commands, table = self.commands, self.table
        table.serve(commands)
        commands.listed = self._listed
        for command in (commands.retry, commands.send_now):
            command.add_to(table)
        table.selectionModel().selectionChanged.connect(self._selection_changed)
        table.verticalScrollBar().valueChanged.connect(self._near_end)
        self._selection_changed()

    def _lay_out(self) -> None:
        fill(self.header, self.retry_selected, self.retry_button)
        self._card = Card(self, padding=1)
        self._card.body.addWidget(self.table)
        self._body = stack(self._card, self.empty)
        vbox(
            self.header,
            self.filters,
            (self._body, 1),
            self.count,
            inside=self,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_3),
        )


class _DeliveryFilters(SideBySide):
    """`changed` carries the new filter."""

    changed = Signal(object)

    def __init__(self, endpoints: Endpoints, theme: Theme, parent: QWidget) -> None:
        super().__init__(metrics.SPACE_2, parent)
        self._endpoints = endpoints
        self.state = Segmented(STATES, self)
        self.state.set_current(ALL)
        self.endpoint = _FilterBox(ALL_ENDPOINTS, 14, self)
        self.target = _FilterBox(ALL_TARGETS, 20, self)
        self.replays = _FilterBox(ALL_REPLAYS, 12, self)
        self._boxes = (self.endpoint, self.target, self.replays)
        for box, name in zip(self._boxes, ("Endpoint", "Target", "Replays"), strict=True):
            box.setAccessibleName(name)
        for text, replay in REPLAYS:
            self.replays.addItem(text, replay)
        self.reset = Button("Clear", theme, self, kind="link", name="Clear filters", run=self.clear)
        self.reset.setToolTip("Clear filters")
        self.reset.hide()
        self._lay_out()
        self.refresh()
        self.state.activated.connect(self._emit)
        self.endpoint.activated.connect(self._endpoint_selected)
        self.target.activated.connect(self._emit)
        self.replays.activated.connect(self._emit)

    def minimumSizeHint(self) -> QSize:
        """Of the states alone: boxes that have too little room elide their text, and never make the page wider."""
        width = self.state.minimumSizeHint().width() + metrics.SPACE_2 + self.reset.minimumSizeHint().width()
        return QSize(width, super().minimumSizeHint().height())

    def fit(self, one_line: bool) -> None:
        """The link is beside the states if the boxes have a line of their own, which it has no room in."""
        super().fit(one_line)
        if one_line:
            self._line_of_boxes.insertWidget(len(self._boxes), self.reset)
        else:
            self._line_of_states.addWidget(self.reset)

    def current(self) -> DeliveryFilter:
        state = self.state.current()
        return DeliveryFilter(
            state=DeliveryState(state) if state not in (None, ALL) else None,
            endpoint_id=self.endpoint.currentData(),
            target_id=self.target.currentData(),
            replay=self.replays.currentData(),
        )

    def set_state(self, state: DeliveryState | None) -> None:
        """List deliveries in this state, or in any (None)."""
        self.state.set_current(ALL if state is None else state.value)
        self._emit()

    @Slot()
    def clear(self) -> None:
        """List all deliveries."""
        self.state.set_current(ALL)
        for box in (self.endpoint, self.replays):
            box.setCurrentIndex(0)
        self._fill_targets()
        self._emit()

    @Slot()
    def refresh(self) -> None:
        """Endpoints or targets changed. A deleted one that was selected is no longer."""
        before = self.current()
        found = [(escape(one.name), one.id) for one in self._endpoints.all()]
        _fill(self.endpoint, [(ALL_ENDPOINTS, None), *found])
        self._fill_targets()
        if self.current() != before:
            self._emit()

    @Slot()
    def _endpoint_selected(self) -> None:
        self._fill_targets()
        self._emit()

    def _lay_out(self) -> None:
        self._line_of_states = hbox(self.state, Stretch(), spacing=metrics.SPACE_2)
        self._line_of_boxes = hbox(*self._boxes, self.reset, Stretch(), spacing=metrics.SPACE_2)
        self.add_parts((self._line_of_states, 0), (self._line_of_boxes, 1))
        # Its space is kept: the boxes would change places when a filter is set.
        keep_room(self.reset)

    def _fill_targets(self) -> None:
        """The targets of the selected endpoint; with all endpoints those of each."""
        endpoint_id = self.endpoint.currentData()
        targets = [
            (escape(target.url.partition("://")[2] or target.url), target.id)
            for endpoint in self._endpoints.all()
            if endpoint_id in (None, endpoint.id)
            for target in endpoint.targets
        ]
        _fill(self.target, [(ALL_TARGETS, None), *targets])

    @Slot()
    def _emit(self) -> None:
        current = self.current()
        self.reset.setVisible(current != DeliveryFilter())
        self.changed.emit(current)


class _FilterBox(QComboBox):
    """At least as wide as `everything`, its first item; `share` is the width in characters that it would like."""

    def __init__(self, everything: str, share: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._everything = everything
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(share)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(self.minimumSizeHint())

    def minimumSizeHint(self) -> QSize:
        text = self.fontMetrics().horizontalAdvance(self._everything) + 1  # an advance is rounded, down too
        return QSize(text + BESIDE_TEXT, super().sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Elide the text; with a style sheet, Qt cuts it off."""
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        room = self.width() - BESIDE_TEXT
        option.currentText = self.fontMetrics().elidedText(option.currentText, Qt.TextElideMode.ElideRight, room)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


def _fill(box: QComboBox, items: list[tuple[str, Any]]) -> None:
    """Offer these, and keep the selected one if it is among them."""
    selected = box.currentData()
    if [(box.itemText(at), box.itemData(at)) for at in range(box.count())] == items:
        return
    box.clear()
    for text, data in items:
        box.addItem(text, data)
        box.setItemData(box.count() - 1, text, Qt.ItemDataRole.ToolTipRole)
    box.setCurrentIndex(next((at for at, (_, data) in enumerate(items) if data == selected), 0))
