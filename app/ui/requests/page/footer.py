"""The list's foot: how many requests there are, the switch that pauses it, and the bar of what is selected."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QWidget

from app.ui.pause import Pause
from app.ui.requests.selection.selection_bar import BulkBar
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import ElidedLabel, restyle

HEIGHT = 40
"""The same for both, so that the list stands still when one takes the other's place."""


class Foot(QStackedWidget):
    """`text` is for the page to fill. `show_selection` puts the bar in its place; `pause` is switched here."""

    def __init__(self, bar: BulkBar, pause: Pause, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._pause = pause
        self.bar = bar
        self.text = ElidedLabel("", "small", self)
        self.button = Button("", theme, self, kind="ghost", icon="pause")
        self.button.setProperty("compact", True)
        restyle(self.button)
        self.button.clicked.connect(pause.toggle)
        self.go_on = IconButton("play", "Paused. Resume (P)", theme, bar)
        self.go_on.set_icon_name("play", "warning_fill")
        self.go_on.clicked.connect(pause.toggle)
        bar.add_sign(self.go_on)
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
        pause.changed.connect(self._say_pause)
        self._say_pause()

    def show_selection(self, on: bool) -> None:
        """Show the bar of what is selected, or the footer."""
        self.setCurrentWidget(self.bar if on else self._plain)

    @Slot()
    def _say_pause(self) -> None:
        on = self._pause.on
        self.button.setText("Paused · Resume" if on else "Pause")
        self.button.set_icon_name("play" if on else "pause")
        tip = "Show new requests again (P)" if on else "Pause the list (P). Hookline keeps capturing."
        self.button.setToolTip(tip)
        self.button.setAccessibleName("Paused. Resume list" if on else "Pause list")
        self.go_on.setVisible(on)
        self.bar.fit()
        self._plain.setProperty("tone", "warning" if on else "")
        restyle(self._plain)
