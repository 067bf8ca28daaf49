"""The frame of all dialogs: title, content, and a footer with the buttons. Opened, never executed."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line
from app.ui.widgets.labels import label


class Dialog(QDialog):
    """Add content to `body` and buttons to `footer` (a stretch keeps the later ones right). Esc rejects."""

    def __init__(self, title: str, theme: Theme, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setWindowTitle(title)
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title = label(title, "title", self)
        self.body = QVBoxLayout()
        self.body.setContentsMargins(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_5)
        self.body.setSpacing(metrics.SPACE_4)
        head = QVBoxLayout()
        head.setContentsMargins(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, 0)
        head.addWidget(self.title)
        foot = QFrame(self)
        foot.setProperty("part", "footer")
        self.footer = QHBoxLayout(foot)
        self.footer.setContentsMargins(metrics.SPACE_5, metrics.SPACE_3, metrics.SPACE_5, metrics.SPACE_3)
        self.footer.setSpacing(metrics.SPACE_2)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addLayout(self.body, 1)
        column.addWidget(foot)

    def fill_columns(self, left: QLayout, right: QLayout) -> None:
        """A list and, beyond a line, what is chosen in it; both fill the dialog from a line below its title."""
        columns = QHBoxLayout()
        columns.setSpacing(0)
        columns.addLayout(left)
        columns.addWidget(line(self, vertical=True))
        columns.addLayout(right, 1)
        self.body.setContentsMargins(0, metrics.SPACE_4, 0, 0)
        self.body.setSpacing(0)
        self.body.addWidget(line(self))
        self.body.addLayout(columns, 1)

    def is_idle(self) -> bool:
        """Whether it only shows something, so that closing it unasked loses nothing."""
        return False
