"""Chooses the two targets that are compared."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.core.model import Endpoint
from app.ui.comparison.choice import ComparisonChoice
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.fields import ChoiceField


class TargetsBar(QWidget):
    """`chosen` carries the IDs of the first and the second target."""

    chosen = Signal(object, object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._current = (0, 0)
        self.first, self.second = ChoiceField([], self), ChoiceField([], self)
        self.swap = IconButton("swap", "Swap first and second", theme, self)
        self.first.setAccessibleName("First target")
        self.second.setAccessibleName("Second target")
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_5, 0, metrics.SPACE_5, metrics.SPACE_3)
        row.setSpacing(metrics.SPACE_2)
        for field, share in ((self.first, 1), (self.swap, 0), (self.second, 1)):
            row.addWidget(field, share)
        for field in (self.first, self.second):
            field.activated.connect(self._activated)
        self.swap.clicked.connect(self._swap)

    def show_targets(self, endpoint: Endpoint, choice: ComparisonChoice) -> None:
        self._current = (choice.first, choice.second)
        for field, chosen in zip((self.first, self.second), self._current, strict=True):
            field.clear()
            for number, target in enumerate(endpoint.targets, 1):
                field.addItem(f"{number}. {escape(target.url)}", target.id)
            field.setCurrentIndex(max(0, field.findData(chosen)))

    @Slot()
    def _activated(self) -> None:
        """Choosing for one side what the other one has swaps them."""
        first, second = int(self.first.currentData()), int(self.second.currentData())
        if first == second:
            second, first = self._current
        self.chosen.emit(first, second)

    @Slot()
    def _swap(self) -> None:
        second, first = self._current
        self.chosen.emit(first, second)
