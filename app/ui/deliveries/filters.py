"""What the page of deliveries lists: by state, endpoint and target, with or without replays."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QWidget

from app.core.bodies.escape import escape
from app.core.delivery import DeliveryFilter
from app.core.model import DeliveryState
from app.core.repositories import EndpointRepository
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.segmented import Segmented

ALL = "all"
STATES = (
    (ALL, "All"),
    (DeliveryState.FAILED.value, "Failed"),
    (DeliveryState.QUEUED.value, "Waiting"),
    (DeliveryState.DELIVERED.value, "Delivered"),
)
REPLAYS = (("Replays included", None), ("Without replays", False), ("Only replays", True))


class DeliveryFilters(QWidget):
    """`changed` carries the new filter."""

    changed = Signal(object)

    def __init__(self, endpoints: EndpointRepository, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._endpoints = endpoints
        self.state = Segmented(STATES, self)
        self.state.set_current(ALL)
        self.endpoint, self.target, self.replays = QComboBox(self), QComboBox(self), QComboBox(self)
        for box, name, share in (
            (self.endpoint, "Endpoint", 14),
            (self.target, "Target", 20),
            (self.replays, "Replays", 12),
        ):
            box.setAccessibleName(name)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(share)
            box.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
            box.setMinimumWidth(64)
        for text, replay in REPLAYS:
            self.replays.addItem(text, replay)
        self.reset = Button("Clear", theme, self, kind="link")
        self.reset.setAccessibleName("Clear filters")
        self.reset.setToolTip("Clear filters")
        self.reset.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(metrics.SPACE_2)
        for widget in (self.state, self.endpoint, self.target, self.replays, self.reset):
            row.addWidget(widget)
        row.addStretch(1)
        self.refresh()
        self.state.activated.connect(self._emit)
        self.endpoint.activated.connect(self._endpoint_selected)
        self.target.activated.connect(self._emit)
        self.replays.activated.connect(self._emit)
        self.reset.clicked.connect(self.clear)

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
        _fill(self.endpoint, [("All endpoints", None), *found])
        self._fill_targets()
        if self.current() != before:
            self._emit()

    @Slot()
    def _endpoint_selected(self) -> None:
        self._fill_targets()
        self._emit()

    def _fill_targets(self) -> None:
        """The targets of the selected endpoint; with all endpoints those of each."""
        endpoint_id = self.endpoint.currentData()
        targets = [
            (escape(target.url.partition("://")[2] or target.url), target.id)
            for endpoint in self._endpoints.all()
            if endpoint_id in (None, endpoint.id)
            for target in endpoint.targets
        ]
        _fill(self.target, [("All targets", None), *targets])

    @Slot()
    def _emit(self) -> None:
        current = self.current()
        self.reset.setVisible(current != DeliveryFilter())
        self.changed.emit(current)


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
