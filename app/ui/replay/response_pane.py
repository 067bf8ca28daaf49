"""Sends one request, and shows what came back: the last response, or an earlier one that is chosen."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.core.bodies.formats.binary import ROW, hex_rows, row_text
from app.core.bodies.media_types import is_json, media_type
from app.core.delivery import Attempt, Delivery
from app.core.replay.spec import ChosenRequests, ReplaySpec
from app.core.text import clock_time, count_of, ms_text
from app.ui.deliveries.words import look_of_attempt
from app.ui.replay.replay_text import attempt_text
from app.ui.replay.request_editors import EditableText, editable_text
from app.ui.replay.text_edit import TextEdit
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import Pill
from app.ui.widgets.fields import ChoiceField
from app.ui.widgets.headers_field import header_lines
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import hbox, vbox


class SendResult(NamedTuple):
    """A delivery of the replay, with its last attempt."""

    delivery: Delivery
    attempt: Attempt


async def replay_and_wait(spec: ReplaySpec, services: Services) -> tuple[list[SendResult], str | None]:
    """Replay one request: a result for each target, and what went wrong. Raises InvalidFieldsError or
    StorageUnavailableError."""
    assert isinstance(spec.source, ChosenRequests)
    started = await services.replays.start(spec)
    replay, deliveries = await services.replays.result(started.id, spec.source.ids[0])
    attempts = await services.store.deliveries.last_attempts([delivery.id for delivery in deliveries])
    sends = [SendResult(one, attempts[one.id]) for one in deliveries if one.id in attempts]
    return sends, replay.problem if replay is not None else None


BODY_MAX = 64 * 1024
"""Bytes of the body shown here; the Deliveries tab has all that is stored."""
HEX_MAX = 32 * ROW


class ResponsePane(QWidget):
    """Hidden until the first result."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._services = services
        self._results: list[SendResult] = []
        self._latest = Latest(self, tasks, "replay: response", only_reads=False)
        self.state = Pill("", "neutral", self)
        self.facts = ElidedLabel("", "small", self)
        self.sends = ChoiceField({}, self)
        self.sends.setAccessibleName("Sends of this request")
        self.text = TextEdit("Response", theme, self, read_only=True)
        row = hbox(label("Response", "strong", self), self.state, (self.facts, 1), self.sends, spacing=metrics.SPACE_2)
        vbox(row, (self.text, 1), inside=self, spacing=metrics.SPACE_2, margins=(0, metrics.SPACE_3, 0, 0))
        self.sends.currentIndexChanged.connect(self._show)
        self.hide()

    def add(self, result: SendResult) -> None:
        """Show this one."""
        self._results.append(result)
        attempt = result.attempt
        self.sends.blockSignals(True)
        outcome = str(attempt.status) if attempt.status is not None else "failed"
        self.sends.insertItem(0, f"{len(self._results)}: {outcome} at {clock_time(attempt.started_at)[:8]}")
        self.sends.setCurrentIndex(0)
        self.sends.blockSignals(False)
        self.sends.setVisible(len(self._results) > 1)
        self.show()
        self._show()

    def stop(self) -> None:
        self._latest.stop()

    @Slot()
    def _show(self) -> None:
        result = self._results[len(self._results) - 1 - max(0, self.sends.currentIndex())]
        attempt = result.attempt
        look = look_of_attempt(attempt)
        self.state.show_state(look.words if attempt.status is None else str(attempt.status), look.tone)
        size = f" · {count_of(attempt.response_size, 'byte')}" if attempt.status is not None else ""
        self.facts.setText(f"{ms_text(attempt.ms)}{size} · {escape(attempt.url)}")
        if attempt.status is None:
            self.text.show_text(attempt_text(attempt))
        else:
            self._latest.run(partial(self._load, result))

    async def _load(self, result: SendResult) -> None:
        attempt = result.attempt
        body = b""
        if attempt.response_size:
            body = await self._services.store.deliveries.response_body(result.delivery.id, attempt.number)
        text, json = await in_thread(_body_text, body, attempt)
        head = f"HTTP/{attempt.http_version or '1.1'} {attempt.status}\n{header_lines(attempt.response_headers)}"
        error = f"\n\n{attempt.error}" if attempt.error and not body else ""
        json_from = head.count("\n") + 2 if json else None
        self.text.show_text(f"{head}\n\n{text}{error}".rstrip("\n"), coloured_from=json_from)


def _body_text(body: bytes, attempt: Attempt) -> tuple[str, bool]:
    """The text or a hex dump, and whether it is JSON."""
    types = (value for name, value in attempt.response_headers if name.lower() == "content-type")
    content_type = next(types, "")
    text = editable_text(body[:BODY_MAX], content_type)
    more = f"\n… {count_of(len(body) - BODY_MAX, 'byte')} more: see the Deliveries tab." if len(body) > BODY_MAX else ""
    if isinstance(text, EditableText):
        return text.text + more, is_json(media_type(content_type))
    return "\n".join(map(row_text, hex_rows(body[:HEX_MAX], 0, len(body)))), False
