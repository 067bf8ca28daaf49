"""The field above the sidebar's endpoints that filters them by name, description or slug, shown if there are many."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme

OFFERED_ABOVE = 8
"""Up to this number of endpoints no filter is shown."""


class EndpointFilter(QWidget):
    """Esc clears it, Down moves to the rows, Enter opens the first."""

    changed = Signal(str)
    left_down = Signal()
    entered = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.line = QLineEdit(self)
        self.line.setPlaceholderText("Filter endpoints")
        self.line.setAccessibleName("Filter endpoints")
        self.line.setMaxLength(200)
        self.line.setClearButtonEnabled(True)
        self._icon = QAction(self)
        self.line.addAction(self._icon, QLineEdit.ActionPosition.LeadingPosition)
        self.line.textChanged.connect(self.changed)
        self.line.installEventFilter(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_3, 0, metrics.SPACE_3, metrics.SPACE_2)
        row.addWidget(self.line)
        theme.changed.connect(self._apply_style)
        self._apply_style()

    def offer(self, endpoints: int) -> None:
        """Shown with many endpoints, or while it holds text; filters nothing while hidden."""
        shown = endpoints > OFFERED_ABOVE or (bool(self.line.text()) and endpoints > 0)
        if not shown:
            self.line.clear()
        self.setVisible(shown)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handles Esc, Down and Enter."""
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return super().eventFilter(watched, event)
        key = Qt.Key(event.key())
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return super().eventFilter(watched, event)
        if key == Qt.Key.Key_Escape and self.line.text():
            self.line.clear()
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Escape):
            self.left_down.emit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.entered.emit()
        else:
            return super().eventFilter(watched, event)
        return True

    @Slot()
    def _apply_style(self) -> None:
        self._icon.setIcon(self._theme.icon("filter"))
