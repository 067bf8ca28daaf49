"""Below the list: how many requests there are and the button that pauses it, or the bar of the selection."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QWidget

from app.ui.pause import Pause
from app.ui.requests.selection.selection_bar import SelectionBar
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import ElidedLabel, restyle

HEIGHT = 40
"""Of both, so that the list does not move when one takes the other's place."""


class ListFooter(QStackedWidget):
    """The page fills `text`. `bar` takes its place while it is needed."""

    def __init__(self, bar: SelectionBar, pause: Pause, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._pause = pause
        self.bar = bar
        self.text = ElidedLabel("", "small", self)
        self.button = Button("", theme, self, kind="ghost", icon="pause")
        self.button.setProperty("compact", True)
        restyle(self.button)
        self.button.clicked.connect(pause.toggle)
        self.resume = IconButton("play", "Paused. Resume (P)", theme, bar)
        self.resume.set_icon_name("play", "warning_fill")
        self.resume.clicked.connect(pause.toggle)
        bar.add_sign(self.resume)
        self._plain = QFrame(self)
        self._plain.setProperty("part", "footer")
        row = QHBoxLayout(self._plain)
        row.setContentsMargins(metrics.SPACE_4, 0, metrics.SPACE_2, 0)
        row.setSpacing(metrics.SPACE_2)
        row.addWidget(self.text, 1)
        row.addWidget(self.button)
        self.addWidget(self._plain)
        self.addWidget(bar)
        self.setFixedHeight(HEIGHT)
        bar.needed.connect(self._show_bar)
        pause.changed.connect(self._show_pause)
        self._show_pause()

    @Slot(bool)
    def _show_bar(self, on: bool) -> None:
        self.setCurrentWidget(self.bar if on else self._plain)

    @Slot()
    def _show_pause(self) -> None:
        on = self._pause.on
        self.button.setText("Paused · Resume" if on else "Pause")
        self.button.set_icon_name("play" if on else "pause")
        tip = "Show new requests again (P)" if on else "Pause the list (P). Hookline keeps capturing."
        self.button.setToolTip(tip)
        self.button.setAccessibleName("Paused. Resume list" if on else "Pause list")
        self.resume.setVisible(on)
        self.bar.fit()
        self._plain.setProperty("tone", "warning" if on else "")
        restyle(self._plain)
