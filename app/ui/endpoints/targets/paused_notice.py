"""The notice in an endpoint's page that forwarding is paused, with what waits for it."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QWidget

from app.core.model import Endpoint
from app.core.target import Target
from app.core.target_text import paused_text
from app.core.worst_state import State
from app.ui.commands.command import Command, CommandButton
from app.ui.endpoints.targets.queued_counts import QueuedCounts
from app.ui.endpoints.targets.target_actions import paused_targets
from app.ui.services import Services
from app.ui.state_look import LOOKS
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import IconLabel
from app.ui.widgets.layout import hbox
from app.ui.widgets.notice_text import NoticeText


class PausedNotice(QFrame):
    """Hidden unless a target of the endpoint is paused. `deliveries_requested` carries the endpoint's id; its button is
    hidden until `offer_deliveries` is called.
    """

    deliveries_requested = Signal(object)

    def __init__(self, services: Services, tasks: Tasks, resume: Command, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._endpoint_id: int | None = None
        self._targets: list[Target] = []
        self.setProperty("part", "bar")
        self.setProperty("tone", "warning")
        look = LOOKS[State.PAUSED]
        icon = IconLabel(18, theme, self, look.icon, look.colour)
        self.text = NoticeText(theme, self)
        self.deliveries = Button("Show deliveries", theme, self)
        self.deliveries.hide()
        self.resume = CommandButton("Resume", resume, theme, self)
        self._counts = QueuedCounts(services, tasks, self)
        hbox(
            icon,
            (self.text, 1),
            self.deliveries,
            self.resume,
            inside=self,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2),
        )
        self.deliveries.clicked.connect(self._show_deliveries)
        self._counts.changed.connect(self._refresh)
        self.hide()

    def show_endpoint(self, endpoint: Endpoint | None) -> None:
        """Say what is paused of it; None for no endpoint."""
        self._endpoint_id = endpoint.id if endpoint is not None else None
        self._targets = paused_targets(endpoint) if endpoint is not None else []
        self._counts.watch(self._targets)
        self._refresh()
        self.setVisible(bool(self._targets))

    def offer_deliveries(self) -> None:
        """Show the button that emits `deliveries_requested`."""
        self.deliveries.show()

    def stop(self) -> None:
        self._counts.stop()

    @Slot()
    def _refresh(self) -> None:
        if not self._targets:
            return
        waiting = self._counts.of(self._targets)
        text = paused_text(self._targets, waiting)
        self.text.say(text, paused_text(self._targets, waiting, brief=True))
        self.setAccessibleName(text)

    @Slot()
    def _show_deliveries(self) -> None:
        self.deliveries_requested.emit(self._endpoint_id)
