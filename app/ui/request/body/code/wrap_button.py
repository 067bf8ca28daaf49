"""The button in a body's toolbar that wraps long lines in all bodies."""

from __future__ import annotations

from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import IconButton


class WrapButton(IconButton):
    """Checked while lines are wrapped."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("wrap", "Wrap long lines (Alt+Z)", theme, parent)
        self._body_text = theme.body_text
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._body_text.toggle_wrap)
        self._body_text.changed.connect(self._follow)
        self._follow()

    def minimumSizeHint(self) -> QSize:
        """The first button to disappear without space: key and menu do the same."""
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Disabled when cut off."""
        super().resizeEvent(event)
        self.setEnabled(self.width() >= self.sizeHint().width())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Invisible when cut off."""
        if self.isEnabled():
            super().paintEvent(event)

    @Slot()
    def _follow(self) -> None:
        self.setChecked(self._body_text.wrap)
