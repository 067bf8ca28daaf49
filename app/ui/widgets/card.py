"""The surfaces of pages and cards, hairlines, and boxes with a notice."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import ElidedLabel, IconLabel, label, style
from app.ui.widgets.layout import hbox, vbox

NoticeTone = Literal["danger", "warning", "info"]
TONE_ICONS = {"danger": ("failed", "danger"), "warning": ("warning", "warning"), "info": ("info", "accent_text")}


class NoticeBox(QFrame):
    """Hidden while it has no text. Its `icon` is that of the tone unless another is given, with its colour. Add buttons
    to `buttons`."""

    def __init__(self, tone: NoticeTone, theme: Theme, parent: QWidget, icon: tuple[str, str] | None = None) -> None:
        super().__init__(parent)
        self.setProperty("part", "notice")
        self.setProperty("tone", tone)
        self._icon = IconLabel(16, theme, self, *(icon or TONE_ICONS[tone]))
        self.text = label("", "", self, wrap=True, selectable=True)
        self.buttons = hbox(spacing=metrics.SPACE_2)
        hbox(
            (self._icon, 0, Qt.AlignmentFlag.AlignTop),
            (self.text, 1),
            self.buttons,
            inside=self,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2),
        )
        self.hide()

    def show_text(self, text: str, tone: NoticeTone | None = None) -> None:
        """Show `text`; an empty one hides the notice."""
        if tone is not None:
            style(self, "tone", tone)
            self._icon.show_icon(*TONE_ICONS[tone])
        self.text.setText(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))


class Page(QWidget):
    """A page of the window. `header` has its title and what it is about; buttons may follow."""

    def __init__(self, title: str, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.about = ElidedLabel(text, "muted", self)
        words = vbox(label(title, "display", self), self.about, spacing=2)
        self.header = hbox((words, 1), spacing=metrics.SPACE_2)


class Card(QFrame):
    """A raised surface; add content to `body`."""

    def __init__(self, parent: QWidget | None = None, *, padding: int = metrics.SPACE_4) -> None:
        super().__init__(parent)
        self.setProperty("part", "card")
        self.body = vbox(inside=self, spacing=metrics.SPACE_2, margins=padding)


def line(parent: QWidget | None = None, *, vertical: bool = False) -> QFrame:
    result = QFrame(parent)
    result.setProperty("part", "line")
    if vertical:
        result.setFixedWidth(1)
        result.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
    else:
        result.setFixedHeight(1)
        result.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return result
