"""The deliveries of a request, each with the target's response."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.core.model import Delivery, DeliveryState
from app.core.repositories import DeliveryRepository
from app.core.text import exact_time, ms_text
from app.ui.request.body.body_pane import BodyPane
from app.ui.request.body.body_source import of_delivery
from app.ui.request.body.source_pane import EMPTY_WIDTH
from app.ui.request.tables.pairs_view import PairsView
from app.ui.request.tabs.table_tabs import COPY
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import Pill, Tone
from app.ui.widgets.card import line
from app.ui.widgets.copy_field import CopyButton
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.segmented import Segmented

STATE_WORDS = {
    DeliveryState.NONE: "Not forwarded",
    DeliveryState.QUEUED: "Waiting",
    DeliveryState.DELIVERED: "Delivered",
    DeliveryState.FAILED: "Failed",
}
TONES: dict[DeliveryState, Tone] = {
    DeliveryState.NONE: "neutral",
    DeliveryState.QUEUED: "warning",
    DeliveryState.DELIVERED: "success",
    DeliveryState.FAILED: "danger",
}


class DeliveriesTab(QWidget):
    """`show_deliveries` fills it; the newest is shown first."""

    def __init__(self, deliveries: DeliveryRepository, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._port = deliveries
        self._shown: list[Delivery] = []
        self.choice = QComboBox(self)
        self.choice.setAccessibleName("Delivery")
        self.state = Pill("", "neutral", self)
        self.url = ElidedLabel("", "", self, Qt.TextElideMode.ElideMiddle)
        self.url.setFont(mono_font())
        self._copy = CopyButton("", "URL", theme, self)
        self.facts = label("", "small", self)
        self.reason = label("", "error", self, wrap=True)
        self.reason.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.parts = Segmented((("body", "Response body"), ("headers", "Response headers")), self)
        self.body = BodyPane(theme, tasks, self, "The response has no body")
        self.headers = PairsView(("Name", "Value"), theme, self, COPY)
        self.headers.setAccessibleName("Response headers")
        self.empty = EmptyState("forward", "Not forwarded", "", theme, self)
        self.empty.set_text_width(EMPTY_WIDTH)
        self._outer = QStackedWidget(self)
        self._answer = QStackedWidget(self)
        self._no_answer, self._blank = QWidget(self), QWidget(self)
        self._build_layout()
        self.choice.currentIndexChanged.connect(self._choose)
        self.parts.activated.connect(self._choose_part)

    def show_deliveries(self, deliveries: list[Delivery], forward_url: str | None) -> None:
        """Show the deliveries; without any, say why."""
        if not deliveries:
            self.empty.text.setText(
                "The endpoint had no forward URL when this request arrived."
                if forward_url
                else "This endpoint has no forward URL. Choose Edit to set one and forward requests to your code."
            )
            self._outer.setCurrentWidget(self.empty)
            self._shown = []
            return
        if deliveries == self._shown[::-1]:
            return
        self._shown = deliveries[::-1]
        self._outer.setCurrentIndex(1)
        self.choice.blockSignals(True)
        self.choice.clear()
        count = len(self._shown)
        for number, delivery in enumerate(self._shown):
            words = f"{count - number} of {count} · {STATE_WORDS[delivery.state]} · {exact_time(delivery.queued_at)}"
            self.choice.addItem(words)
        self.choice.blockSignals(False)
        self.choice.setVisible(count > 1)
        self._choose(0)

    def clear(self) -> None:
        """Show nothing until the deliveries of another request are loaded."""
        self.stop()
        self._shown = []
        self._outer.setCurrentWidget(self._blank)

    def stop(self) -> None:
        """Cancel loading."""
        self.body.stop()

    def _build_layout(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(metrics.SPACE_2)
        top.addWidget(self.state)
        top.addWidget(self.url)
        top.addWidget(self._copy)
        top.addStretch(1)
        head = QVBoxLayout()
        head.setContentsMargins(metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_4, metrics.SPACE_3)
        head.setSpacing(metrics.SPACE_2)
        head.addWidget(self.choice)
        head.addLayout(top)
        head.addWidget(self.facts)
        head.addWidget(self.reason)
        picker = QHBoxLayout()
        picker.addWidget(self.parts)
        picker.addStretch(1)
        head.addLayout(picker)
        self._answer.addWidget(self.body)
        self._answer.addWidget(self.headers)
        self._answer.addWidget(self._no_answer)
        page = QWidget(self)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(line(page))
        column.addWidget(self._answer, 1)
        self._outer.addWidget(self.empty)
        self._outer.addWidget(page)
        self._outer.addWidget(self._blank)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._outer)
        self.parts.set_current("body")

    @Slot(int)
    def _choose(self, number: int) -> None:
        if not 0 <= number < len(self._shown):
            return
        delivery = self._shown[number]
        self.state.show_state(STATE_WORDS[delivery.state], TONES[delivery.state])
        self.url.setText(escape(delivery.request_url))
        self.url.updateGeometry()
        self._copy.text_to_copy = delivery.request_url
        self.facts.setText(" · ".join(_facts(delivery)))
        self.reason.setText(escape(delivery.error or ""))
        self.reason.setVisible(bool(delivery.error))
        answered = delivery.status is not None
        self.parts.setVisible(answered)
        self.parts.set_title("headers", f"Response headers {len(delivery.response_headers)}")
        self.headers.set_rows(delivery.response_headers)
        if answered:
            self.body.show_source(of_delivery(delivery, self._port))
            self._choose_part(self.parts.current() or "body")
        else:
            self._answer.setCurrentWidget(self._no_answer)

    @Slot(str)
    def _choose_part(self, part: str) -> None:
        self._answer.setCurrentWidget(self.body if part == "body" else self.headers)


def _facts(delivery: Delivery) -> list[str]:
    facts = [f"Response {delivery.status}" if delivery.status is not None else "No response"]
    if delivery.state is DeliveryState.QUEUED:
        facts = ["Waiting to be sent"]
    if delivery.ms is not None:
        facts.append(ms_text(delivery.ms))
    facts.append(exact_time(delivery.started_at or delivery.queued_at))
    if delivery.response_truncated:
        facts.append("only the first 1 MiB of the response was kept")
    return facts
