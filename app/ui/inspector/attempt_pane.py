"""One attempt: what was sent to the target, and what came back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.bodies.charset import detect
from app.core.bodies.escape import escape
from app.core.bodies.formats.text import is_binary
from app.core.clock import now_us
from app.core.delivery import (
    RESPONSE_REMOVED,
    Attempt,
    Delivery,
    FailureKind,
    WaitReason,
    reason_text,
    trigger_text,
    wait_of,
)
from app.core.model import Capture, DeliveryState
from app.core.record import Headers
from app.core.target import Target
from app.core.text import exact_time, ms_text, size_text
from app.ui.deliveries.words import INTERRUPTED_MEANS, UNTIMED, result_of
from app.ui.inspector.attempt_list import RESPONDED, TimingBar
from app.ui.inspector.body.body_pane import BodyPane
from app.ui.inspector.body.body_source import BodySource, of_attempt, of_bytes, of_capture, read_plain
from app.ui.inspector.pairs_view import COPY_HEADER, PairsView
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import MethodBadge
from app.ui.widgets.buttons import Button, CopyButton
from app.ui.widgets.card import EMPTY_WIDTH, EmptyState, line
from app.ui.widgets.fields import Segmented
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import Stretch, hbox, vbox

TEXT_MAX = 256 * 1024
"""Bytes of a body that are copied as text."""
SHOWN_HEIGHT = 180
"""The least of a body, or of why there is none, in pixels: with less the tab scrolls."""


class AttemptPane(QWidget):
    """`show_attempt` fills it. By `retry` the user wants the delivery shown to be retried, or sent now if it waits."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._services, self._theme = services, theme
        self._made: tuple[Delivery, Attempt, Capture] | None = None
        """The attempt that is shown, if it has been made."""
        self._latest_body = Latest(self, tasks, "deliveries: body")
        self._latest_copy = Latest(self, tasks, "deliveries: copy", only_reads=False)
        self.title = ElidedLabel("", "strong", self)
        self.retry = Button("Retry", theme, self, icon="retry", compact=True)
        self.copy_text = CopyButton("", "request and response as text", theme, self, make=self._copy)
        self.method = MethodBadge("POST", theme, self)
        self.url = ElidedLabel("", "", self, Qt.TextElideMode.ElideMiddle)
        self.url.setFont(mono_font())
        self.copy_url = CopyButton("", "URL", theme, self)
        self.facts = ElidedLabel("", "small", self)
        self.reason = label("", "error", self, wrap=True, selectable=True)
        self.timing = TimingBar(theme, self)
        self.sides = Segmented((("response", "Response"), ("request", "Request")), self)
        self.sides.explain("response", "Response received")
        self.sides.explain("request", "Request sent")
        self.parts = Segmented((("body", "Body"), ("headers", "Headers")), self)
        self.nothing = EmptyState("forward", "No response", "", theme, self)
        self.nothing.set_text_width(EMPTY_WIDTH)
        self._shown = QStackedWidget(self)
        self._shown.setMinimumHeight(SHOWN_HEIGHT)
        self.body = BodyPane(theme, tasks, self._shown)
        self._blank = QWidget(self)
        self._about = QWidget(self)
        self._lay_out()
        self.sides.activated.connect(self._show_part)
        self.parts.activated.connect(self._show_part)

    @cached_property
    def headers(self) -> PairsView:
        """Of the request or of the response; made when they are first shown."""
        headers = PairsView("", ("Name", "Value"), self._theme, self, COPY_HEADER)
        self._shown.addWidget(headers)
        order_tabs(self)
        return headers

    def show_attempt(
        self,
        delivery: Delivery,
        target: Target | None,
        attempt: Attempt | None,
        capture: Capture,
        *,
        not_again: str | None,
        responded: bool = False,
    ) -> None:
        """Show an attempt, or (None) a delivery to `target` that has none yet; `not_again` is why it can be neither
        retried nor sent now, `responded` says that the sender got its response.
        """
        same = self._made is not None and self._made[1] == attempt and self._made[2] is capture
        self._made = (delivery, attempt, capture) if attempt is not None else None
        url = attempt.url if attempt is not None else delivery.request_url(target)
        if self.copy_url.text_to_copy != url:
            self.url.setText(escape(url))
            self.copy_url.text_to_copy = url
        self.method.set_method(attempt.method if attempt is not None else capture.method)
        wait = wait_of(delivery, target, now_us())
        self.retry.setText("Retry" if wait is None else "Send now")
        usable = delivery.state is not DeliveryState.DELIVERED
        self.retry.setVisible(usable if wait is None else wait.reason not in (WaitReason.NEXT, WaitReason.SENDING))
        self.retry.set_refusal(not_again)
        nothing = attempt is None or attempt.failure in UNTIMED
        for part in (self.timing, self.sides, self.parts):
            part.setVisible(not nothing)
        self.copy_text.setVisible(attempt is not None)
        self.facts.setVisible(attempt is not None)
        if attempt is None:
            self.title.setText("Nothing sent yet")
            self.reason.hide()
            self._show_nothing("No attempt yet", "What is sent and received appears here.")
            return
        title = f"Attempt {attempt.number} of {delivery.attempts}", trigger_text(attempt), result_of(attempt)
        self.title.setText(" · ".join(filter(None, title)))
        self.facts.setText(" · ".join(_facts(attempt, responded=responded)))
        last = attempt.number == delivery.attempts
        reason = escape((reason_text(delivery.error, delivery.next_step) if last else attempt.error) or "")
        self.reason.setText(reason)
        self.reason.setVisible(bool(attempt.error) and not nothing)
        self._keep_lines()
        self.timing.show_attempt(attempt)
        if nothing:
            interrupted = attempt.failure is FailureKind.INTERRUPTED
            self._show_nothing(result_of(attempt), INTERRUPTED_MEANS if interrupted else reason)
        elif not same:
            self.sides.set_current("request" if attempt.status is None else "response")
            self._show_part()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._keep_lines()

    def clear(self) -> None:
        """Forget what was shown, and stop loading."""
        self._made = None
        self._stop_body()
        self._latest_copy.stop()

    def _keep_lines(self) -> None:
        """A splitter does not ask how high a wrapped text is."""
        self.reason.setMinimumHeight(max(0, self.reason.heightForWidth(self.width() - 2 * metrics.SPACE_4)))

    def _stop_body(self) -> None:
        self.body.stop()
        self._latest_body.stop()

    def _show_nothing(self, title: str, text: str = "") -> None:
        self._stop_body()
        self.nothing.say(title, text)
        self._shown.setCurrentWidget(self.nothing)

    @Slot()
    def _show_part(self) -> None:
        if self._made is None:
            return
        attempt = self._made[1]
        self._latest_body.stop()
        received = self.sides.current() == "response"
        headers = attempt.response_headers if received else attempt.headers
        self.parts.set_title("headers", f"Headers {len(headers)}")
        if received and attempt.status is None:
            self._show_nothing("No response")
        elif received and attempt.response_removed:
            self._show_nothing("The response was removed", RESPONSE_REMOVED)
        elif self.parts.current() == "headers":
            self.headers.setAccessibleName("Response headers" if received else "Headers sent")
            self.headers.set_rows(headers)
            self._shown.setCurrentWidget(self.headers)
        elif received:
            self._show_body(of_attempt(attempt, self._services.store.deliveries), "The response has no body")
        else:
            self._shown.setCurrentWidget(self._blank)
            self._latest_body.run(partial(self._read_sent, *self._made))

    def _show_body(self, source: BodySource, none: str) -> None:
        self.body.empty = none
        self.body.show_source(source)
        self._shown.setCurrentWidget(self.body)

    async def _read_sent(self, delivery: Delivery, attempt: Attempt, capture: Capture) -> None:
        source = await self._sent_body(delivery, attempt, capture)
        if source is None:
            text = "The replay that sent it is no longer stored."
            self._show_nothing(f"Another body, {size_text(attempt.size)}", text)
        else:
            self._show_body(source, "The request has no body" if attempt.size == capture.size else "No body was sent")

    async def _sent_body(self, delivery: Delivery, attempt: Attempt, capture: Capture) -> BodySource | None:
        """As much of it as was sent; None if it was another body that is no longer stored. Raises
        StorageUnavailableError."""
        replay = await self._services.replays.get(delivery.replay_id) if delivery.replay_id is not None else None
        edit = replay.spec.edit if replay is not None else None
        if edit is None or edit.body is None:
            whole = of_capture(capture, self._services.store.captures)
        else:
            headers = capture.headers if edit.headers is None else edit.headers
            whole = of_bytes(edit.body, f"replay-{delivery.id[:13]}", headers=headers)
        if attempt.size == whole.size:
            return whole
        return whole.part(0, attempt.size) if attempt.size < whole.size else None

    @Slot()
    def _copy(self) -> None:
        if self._made is not None:
            self._latest_copy.run(partial(self._copy_attempt, *self._made))

    async def _copy_attempt(self, delivery: Delivery, attempt: Attempt, capture: Capture) -> None:
        source = await self._sent_body(delivery, attempt, capture)
        gone = f"({size_text(attempt.size)}, no longer stored)"
        sent = await _body_text(source) if source is not None else gone
        body = of_attempt(attempt, self._services.store.deliveries)
        received = f"({RESPONSE_REMOVED})" if attempt.response_removed else await _body_text(body)
        self.copy_text.put(attempt_as_text(attempt, sent, received))

    def _lay_out(self) -> None:
        top = hbox((self.title, 1), self.retry, self.copy_text, spacing=metrics.SPACE_2)
        place = hbox(self.method, self.url, self.copy_url, Stretch(), spacing=metrics.SPACE_2)
        choices = hbox(self.sides, self.parts, Stretch(), spacing=metrics.SPACE_2)
        vbox(
            top,
            place,
            self.facts,
            self.reason,
            self.timing,
            choices,
            inside=self._about,
            spacing=6,
            margins=(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_4, metrics.SPACE_2),
        )
        for page in (self.nothing, self._blank, self.body):
            self._shown.addWidget(page)
        vbox(self._about, line(self), (self._shown, 1), inside=self, spacing=0, margins=0)
        self.sides.set_current("response")
        self.parts.set_current("body")


def attempt_as_text(attempt: Attempt, sent: str, received: str) -> str:
    """Request and response as an HTTP message each, separated by a line that says how it ended."""
    request = _message(f"{attempt.method} {attempt.url}", attempt.headers, sent)
    result = f"--- {result_of(attempt)}, {ms_text(attempt.ms)}, {exact_time(attempt.started_at)}"
    error = [attempt.error] if attempt.error else []
    if attempt.status is None:
        return "\n".join([request, "", result, *error])
    version = f"HTTP/{attempt.http_version} " if attempt.http_version else ""
    response = _message(f"{version}{attempt.status}", attempt.response_headers, received)
    return "\n".join([request, "", result, *error, response])


def _message(first: str, headers: Headers, body: str) -> str:
    lines = [first, *(f"{name}: {value}" for name, value in headers)]
    return "\n".join([*lines, "", body] if body else lines)


async def _body_text(source: BodySource) -> str:
    """The body, as far as it is copied; a binary one is only named."""
    data = await read_plain(source, TEXT_MAX)
    part = data[:TEXT_MAX]
    text = detect(source.content_type, part, False).decode(part, complete=False)  # It may be cut within a character.
    if is_binary(text):
        return f"({size_text(source.size)} of binary data)"
    return text if len(data) <= TEXT_MAX else f"{text}\n(cut after {size_text(TEXT_MAX)})"


def _facts(attempt: Attempt, *, responded: bool) -> Sequence[str]:
    facts = [RESPONDED] if responded else []
    if attempt.failure not in UNTIMED:
        facts.append(f"{ms_text(attempt.ms)} in all")
    if attempt.response_removed:
        facts.append("response removed")
    elif attempt.response_truncated:
        facts.append(f"only the first {size_text(attempt.response_size)} of the response were kept")
    if attempt.reused:
        facts.append("open connection reused")
    if attempt.http_version:
        facts.append(f"HTTP/{attempt.http_version}")
    facts.append(exact_time(attempt.started_at))
    return facts
