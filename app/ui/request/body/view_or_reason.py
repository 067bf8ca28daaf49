"""A view of a body, or the reason why the body cannot be shown in it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.ui.theme import metrics
from app.ui.widgets.labels import label


class ViewOrReason(QStackedWidget):
    def __init__(self, view: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._view = view
        self.reason = label("", "muted", self, wrap=True)
        self.reason.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.reason.setMargin(metrics.SPACE_5)
        self.addWidget(view)
        self.addWidget(self.reason)

    def show_view(self) -> None:
        self.setCurrentWidget(self._view)

    def show_reason(self, reason: str) -> None:
        """An empty `reason` while the body is being read."""
        self.reason.setText(reason)
        self.setCurrentWidget(self.reason)
