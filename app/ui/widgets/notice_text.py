"""The text of a notice: one line, and all of it by *Details* where that line is cut."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel, FittingLabel, breakable, label
from app.ui.widgets.layout import Stretch, hbox, vbox

_NAME_MAX = 40
"""Characters of a notice that name its button to a screen reader."""


class NoticeText(QWidget):
    """`kind` is that of the label of the line."""

    def __init__(self, theme: Theme, parent: QWidget, kind: str = "") -> None:
        super().__init__(parent)
        self._line = FittingLabel(kind, self)
        self._advice = ElidedLabel("", "muted", self)
        self._all = label("", "small" if kind == "small" else "", self, wrap=True)
        self._all.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._all.hide()
        self.details = Button("Details", theme, self, kind="link")
        self.details.setProperty("compact", True)
        self.details.clicked.connect(self._toggle)
        self._text, self._open = "", False
        line = hbox(self._line, self._advice, Stretch(), spacing=metrics.SPACE_2)
        centre = Qt.AlignmentFlag.AlignVCenter
        hbox((vbox(line, self._all), 1), (self.details, 0, centre), inside=self, spacing=metrics.SPACE_2, margins=0)

    def text(self) -> str:
        """All of it, without the advice."""
        return self._text

    def say(self, text: str, *shorter: str, advice: str = "") -> None:
        """Show the first of `text` and `shorter` that fits; `advice` follows where there is room."""
        if (text, advice) != (self._text, self._advice.text()):
            self._open = False
        self._text = text
        self._line.set_wordings((text, *shorter))
        self._advice.setText(advice)
        self._all.setText(breakable(f"{text}\n{advice}".strip()))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        """A font has other widths."""
        done = super().event(event)
        if event.type() in (QEvent.Type.Polish, QEvent.Type.FontChange):
            self._fit()
        return done

    @Slot()
    def _toggle(self) -> None:
        self._open = not self._open
        self._fit()

    def _fit(self) -> None:
        advice = bool(self._advice.text())
        wanted = self._line.sizeHint().width()
        wanted += advice * (metrics.SPACE_2 + self._advice.sizeHint().width())
        whole = wanted <= self.width()
        self._open = self._open and not whole
        self._line.setVisible(not self._open)
        self._advice.setVisible(advice and whole)
        self._all.setVisible(self._open)
        self.details.setVisible(not whole)
        word = "Less" if self._open else "Details"
        self.details.setText(word)
        self.details.setAccessibleName(f"{word}: {self._text[:_NAME_MAX]}")
