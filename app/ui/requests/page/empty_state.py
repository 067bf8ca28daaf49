"""What the list shows before its first request: the URL, and a command that makes one."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.core.curl import ready_curl
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.copy_field import CopyButton
from app.ui.widgets.empty_state import LEAST, EmptyState
from app.ui.widgets.labels import label

COMMAND_WIDTH = 264


class EmptyList(QWidget):
    """Updates itself; its owner hides it when the first request arrives."""

    test_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._state = EmptyState("hook", "", "", theme, self)
        self._state.set_text_width(300)
        self._state.body.setContentsMargins(metrics.SPACE_2, metrics.SPACE_5, metrics.SPACE_2, metrics.SPACE_5)
        self._box = QFrame(self)
        self._box.setProperty("part", "field")
        self.command = label("", "", self._box, wrap=True)
        self.command.setFont(mono_font())
        self.copy = CopyButton("", "command", theme, self._box)
        self._fit_command()
        row = QHBoxLayout(self._box)
        row.setContentsMargins(metrics.SPACE_3, metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_3)
        row.addWidget(self.command, 1)
        side = QVBoxLayout()
        side.addWidget(self.copy)
        side.addStretch(1)
        row.addLayout(side)
        self.test = Button("Send a test request", theme, self, kind="primary", icon="send")
        self.test.clicked.connect(self.test_requested)
        centre = Qt.AlignmentFlag.AlignHCenter
        place = self._state.body.count() - 1
        self._state.body.insertSpacing(place, metrics.SPACE_2)
        self._state.body.insertWidget(place + 1, self._box, 0, centre)
        self._state.body.insertSpacing(place + 2, metrics.SPACE_2)
        self._state.body.insertWidget(place + 3, self.test, 0, centre)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._state)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow list wraps the command earlier."""
        super().resizeEvent(event)
        self._fit_command()

    def _fit_command(self) -> None:
        beside = metrics.SPACE_3 + self.copy.sizeHint().width() + 2 * metrics.SPACE_2
        width = max(LEAST.width(), min(COMMAND_WIDTH, self._state.text_room() - beside))
        self.command.setFixedWidth(width)
        # A layout that centres its items does not ask a wrapped label how high it is.
        self.command.setFixedHeight(max(0, self.command.heightForWidth(width)))

    def show_endpoint(self, url: str | None, active: bool) -> None:
        """Say how to send the first request to `url`; None while all endpoints are listed."""
        own = url is not None
        if not own:
            title, text = "No requests yet", "Requests to any of your endpoints appear here as they arrive."
        elif active:
            title = "Waiting for the first request"
            text = "Give this URL to a provider, or run this in a terminal. The request appears here by itself."
        else:
            title, text = "Switched off", "While this endpoint is off, nothing is captured and senders get 503."
        self._state.title.setText(title)
        self._state.text.setText(text)
        command = ready_curl(url) if url is not None else ""
        # Zero-width spaces let the long URL wrap; what is copied has none.
        self.command.setText(command.replace("/", "/\u200b").replace("-", "-\u200b"))
        self.copy.text_to_copy = command
        self._fit_command()
        self._box.setVisible(own and active)
        self.test.setVisible(own and active)


class EmptyTimeRange(EmptyState):
    """No request was received in the selected time range; `action` shows all times."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        text = "None was received in the time range selected in the chart above."
        super().__init__("queued", "No requests in this time", text, theme, parent, action="Show all times")
        self.set_text_width(300)
        self.setProperty("part", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
