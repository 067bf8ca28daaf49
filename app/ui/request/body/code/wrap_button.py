"""The button in a body's toolbar that wraps long lines in all bodies."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import IconButton


class WrapButton(IconButton):
    """Checked while lines are wrapped."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("wrap", "Wrap long lines (Alt+Z)", theme, parent)
        self._body_text = theme.body_text
        self.setCheckable(True)
        self.clicked.connect(self._body_text.toggle_wrap)
        self._body_text.changed.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        self.setChecked(self._body_text.wrap)
