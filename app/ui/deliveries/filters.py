"""What the page of deliveries lists: by state, endpoint and target, with or without replays."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QStyle, QStyleOptionComboBox, QStylePainter, QWidget

from app.core.bodies.escape import escape
from app.core.delivery import DeliveryFilter
from app.core.model import DeliveryState
from app.core.store import EndpointRepository
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.layout import keep_room
from app.ui.widgets.segmented import Segmented
from app.ui.widgets.side_by_side import SideBySide

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


class DeliveryFilters(SideBySide):
    """`changed` carries the new filter."""

    changed = Signal(object)

    def __init__(self, endpoints: EndpointRepository, theme: Theme, parent: QWidget) -> None:
        super().__init__(metrics.SPACE_2, parent)
        self._endpoints = endpoints
        self.state = Segmented(STATES, self)
        self.state.set_current(ALL)
        self.endpoint = FilterBox(ALL_ENDPOINTS, 14, self)
        self.target = FilterBox(ALL_TARGETS, 20, self)
        self.replays = FilterBox(ALL_REPLAYS, 12, self)
        self._boxes = (self.endpoint, self.target, self.replays)
        for box, name in zip(self._boxes, ("Endpoint", "Target", "Replays"), strict=True):
            box.setAccessibleName(name)
        for text, replay in REPLAYS:
            self.replays.addItem(text, replay)
        self.reset = Button("Clear", theme, self, kind="link")
        self.reset.setAccessibleName("Clear filters")
        self.reset.setToolTip("Clear filters")
        self.reset.hide()
        self._lay_out()
        self.refresh()
        self.state.activated.connect(self._emit)
        self.endpoint.activated.connect(self._endpoint_selected)
        self.target.activated.connect(self._emit)
        self.replays.activated.connect(self._emit)
        self.reset.clicked.connect(self.clear)

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
        states, boxes = self._line_of_states, self._line_of_boxes = QHBoxLayout(), QHBoxLayout()
        states.addWidget(self.state)
        states.addStretch(1)
        for widget in (*self._boxes, self.reset):
            boxes.addWidget(widget)
        boxes.addStretch(1)
        for line in (states, boxes):
            line.setSpacing(metrics.SPACE_2)
        self.add_parts((states, 0), (boxes, 1))
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


class FilterBox(QComboBox):
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
