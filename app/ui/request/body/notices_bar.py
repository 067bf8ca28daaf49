"""A bar above a body with notices about it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import label


class NotesBar(QFrame):
    """Hidden while there are no notices."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "bar")
        self.setProperty("tone", "warning")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.text = label("", "small", self, wrap=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_4, 6, metrics.SPACE_3, 6)
        self.place = Button("Show", theme, self, kind="link")
        self.place.setToolTip("Go to the error in the text as it was sent")
        self.place.setAccessibleName("Show the error")
        row.addWidget(self.text, 1)
        row.addWidget(self.place)
        self.hide()

    def say(self, notes: list[str], *, place: bool = False) -> None:
        """Show these notices, with a button if there is a place to go to; an empty list hides the bar."""
        self.place.setVisible(place)
        self.text.setText(" ".join(notes))
        self.setVisible(bool(notes))
