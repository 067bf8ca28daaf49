"""A tinted box with an icon and text inside a page: what is wrong, or what to know before going on."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import label, restyle

NoticeTone = Literal["danger", "warning", "info"]
_ICONS = {"danger": ("failed", "danger"), "warning": ("warning", "warning"), "info": ("info", "accent_text")}


class NoticeBox(QFrame):
    """Hidden while it has no text. Add buttons to `buttons`."""

    def __init__(self, tone: NoticeTone, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self._tone = theme, tone
        self.setProperty("part", "notice")
        self.setProperty("tone", tone)
        self._icon = QLabel(self)
        self.text = label("", "", self, wrap=True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.buttons = QHBoxLayout()
        self.buttons.setSpacing(metrics.SPACE_2)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2)
        row.setSpacing(metrics.SPACE_2)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.text, 1)
        row.addLayout(self.buttons)
        theme.changed.connect(self._recolour)
        self._recolour()
        self.hide()

    def show_text(self, text: str, tone: NoticeTone | None = None) -> None:
        """Show `text`; an empty one hides the notice."""
        if tone is not None and tone != self._tone:
            self._tone = tone
            self.setProperty("tone", tone)
            restyle(self)
            self._recolour()
        self.text.setText(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))

    @Slot()
    def _recolour(self) -> None:
        icon, colour = _ICONS[self._tone]
        self._icon.setPixmap(self._theme.pixmap(icon, colour, 16, self.devicePixelRatioF()))
