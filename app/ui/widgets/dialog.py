"""The frame of all dialogs: title, content that scrolls if the screen is too small, and a footer with the buttons.
Dialogs are opened, never executed.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractSlider,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLayout,
    QVBoxLayout,
    QWidget,
)

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line
from app.ui.widgets.fit_screen import Scrolling, bounded, fit
from app.ui.widgets.labels import label

LEAST_HEIGHT = 72
"""Minimum height of the content, on the smallest screen."""
_PAGES = {
    Qt.Key.Key_PageUp: QAbstractSlider.SliderAction.SliderPageStepSub,
    Qt.Key.Key_PageDown: QAbstractSlider.SliderAction.SliderPageStepAdd,
}


class Dialog(QDialog):
    """Add content to `body` and buttons to `footer` (a stretch keeps the later ones on the right). Esc rejects."""

    def __init__(self, title: str, theme: Theme, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setWindowTitle(title)
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title = label(title, "title", self)
        content = QWidget(self)
        content.setProperty("transparent", True)
        self.body = QVBoxLayout(content)
        self.body.setContentsMargins(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_5)
        self.body.setSpacing(metrics.SPACE_4)
        self.content_area = Scrolling(content, QSize(0, LEAST_HEIGHT), self)
        header_frame = QVBoxLayout()
        header_frame.setContentsMargins(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, 0)
        header_frame.addWidget(self.title)
        footer_frame = QFrame(self)
        footer_frame.setProperty("part", "footer")
        self.footer = QHBoxLayout(footer_frame)
        self.footer.setContentsMargins(metrics.SPACE_5, metrics.SPACE_3, metrics.SPACE_5, metrics.SPACE_3)
        self.footer.setSpacing(metrics.SPACE_2)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(header_frame)
        column.addWidget(self.content_area, 1)
        column.addWidget(footer_frame)

    def fill_columns(self, left: QLayout, right: QLayout) -> None:
        """Fill the dialog with a list and the details of its selected item, separated by a line."""
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
        """Whether the dialog only shows something, so that closing it unasked loses nothing."""
        return False

    def sized_for(self, width: int) -> QSize:
        """As high as the content needs at this width, within the screen."""
        layout = self.layout()
        if layout is None:
            return bounded(self, QSize(width, 0))
        wraps = layout.hasHeightForWidth()
        return bounded(self, QSize(width, layout.totalHeightForWidth(width) if wraps else layout.sizeHint().height()))

    def showEvent(self, event: QShowEvent) -> None:
        """Move the dialog onto the screen, unless it is only restored after being minimized."""
        if not event.spontaneous():
            fit(self)
        super().showEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Page Up and Page Down scroll the content."""
        page = _PAGES.get(Qt.Key(event.key()))
        if page is not None and self.content_area.verticalScrollBar().maximum():
            self.content_area.verticalScrollBar().triggerAction(page)
        else:
            super().keyPressEvent(event)
