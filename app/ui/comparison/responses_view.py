"""Both responses to the selected request: where they came from, status, headers and body."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.core.comparison import ComparedResponse, ResponsePair, SideBySide
from app.core.text import exact_time, ms_text, signed_ms_text, size_text, title_of
from app.ui.comparison.compared_view import ComparedView
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import MethodBadge, Pill, Tone
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import fill, hbox


def status_tone(status: int | None) -> Tone:
    if status is None or status >= 500:
        return "danger"
    return "warning" if status >= 400 else "success"


class ResponsesView(ComparedView):
    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("response", theme, parent, can_ignore=True)
        self.method = MethodBadge("POST", theme, self)
        self.request = ElidedLabel("", "strong", self, Qt.TextElideMode.ElideMiddle)
        self.time = label("", "small", self)
        self.sides = (_SideTitle("First", self), _SideTitle("Second", self))
        top = hbox(
            self.method,
            (self.request, 1),
            self.time,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_4, metrics.SPACE_2),
        )
        titles = hbox(spacing=metrics.SPACE_4, margins=(metrics.SPACE_4, 0, metrics.SPACE_4, metrics.SPACE_3))
        for side in self.sides:
            titles.addWidget(side, 1)
        fill(self.above, top, titles)

    def show_pair(self, pair: ResponsePair, found: SideBySide, *, keep_place: bool) -> None:
        """Show both responses."""
        request = pair.request
        self.method.set_method(request.method)
        title = title_of(request, {})
        self.request.setText(f"{title.main}  {title.path}".rstrip())
        self.time.setText(exact_time(request.received_at))
        different = pair.first.status != pair.second.status
        for side, response in zip(self.sides, (pair.first, pair.second), strict=True):
            side.show_response(response, different=different)
        if pair.first.ms is not None and pair.second.ms is not None:
            self.sides[1].show_difference(pair.second.ms - pair.first.ms)
        self.show_messages(pair.first, pair.second, found, keep_place=keep_place)


class _SideTitle(QWidget):
    """The status of a target's response, or why there is none. Its URL is chosen above."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.status = Pill("", "neutral", self)
        self.failure = ElidedLabel("", "", self)
        self.length = label("", "small", self)
        hbox(
            label(name, "muted", self),
            self.status,
            self.length,
            (self.failure, 1),
            inside=self,
            spacing=metrics.SPACE_2,
        )

    def show_response(self, response: ComparedResponse, *, different: bool) -> None:
        """`different`: the other response has another status."""
        text = "No response" if response.status is None else str(response.status)
        self.status.show_state(f"≠ {text}" if different else text, status_tone(response.status))
        self.status.setAccessibleName(f"Status {text}{', different' if different else ''}")
        self.failure.setText(escape(response.failure or "") if response.status is None else "")
        more = "" if response.complete else "+"
        time = "" if response.ms is None else f" · {ms_text(response.ms)}"
        self.length.setText("" if response.status is None else f"{size_text(len(response.body))}{more}{time}")

    def show_difference(self, ms: float) -> None:
        """How much longer it took than the other response."""
        self.length.setText(f"{self.length.text()} ({signed_ms_text(ms)})")
