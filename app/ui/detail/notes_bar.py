"""A bar above what is shown that tells what to know about it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.ui.theme import metrics
from app.ui.widgets.labels import label


class NotesBar(QFrame):
    """Hidden while there is nothing to say."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "bar")
        self.setProperty("tone", "warning")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.text = label("", "small", self, wrap=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_4, 6, metrics.SPACE_3, 6)
        row.addWidget(self.text, 1)
        self.hide()

    def say(self, notes: list[str]) -> None:
        """Show these; none hides."""
        self.text.setText(" ".join(notes))
        self.setVisible(bool(notes))
