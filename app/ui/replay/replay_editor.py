"""The editor for replaying one request: what to send and where, the original beside it, and what came back."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QSizePolicy, QSplitter, QTabBar, QWidget

from app.core.bodies.escape import escape
from app.core.bodies.formats.binary import ROW, hex_rows, row_text
from app.core.bodies.media_types import is_json, media_type
from app.core.delivery import Attempt, Delivery, RequestEdit
from app.core.errors import HooklineError, InvalidFieldsError
from app.core.raw_request import end_to_end
from app.core.record import Headers
from app.core.replay import ChosenRequests, OneUrl, ReplaySpec, replay_errors
from app.core.rules import FieldError
from app.core.text import clock_time, count_of, ms_text
from app.ui.deliveries.words import look_of_attempt
from app.ui.inspector.body.hex_widget import HexWidget
from app.ui.inspector.body.text_style import TextEdit
from app.ui.replay.replay_text import attempt_text
from app.ui.replay.request_editors import (
    BAR_HEIGHT,
    BodyEditor,
    EditableRequest,
    EditableText,
    HeadersEditor,
    destinations,
    editable_text,
)
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import Pill
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import SubmitDialog
from app.ui.widgets.fields import ChoiceField, LabeledField
from app.ui.widgets.fit_screen import bounded
from app.ui.widgets.focus import bring_into_view, order_tabs
from app.ui.widgets.headers_field import header_lines
from app.ui.widgets.labels import ElidedLabel, label, plain_tooltip, show_or_hide
from app.ui.widgets.layout import Stretch, fill, hbox, stack, vbox

SIZE = QSize(1180, 800)
LEAST_HEIGHT = 280
"""Pixels of the editor."""
RESPONSE_HEIGHT = 180
"""As many more once there is a response."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
HEADERS, BODY = 0, 1
_CODING = "content-encoding"
BODY_MAX = 64 * 1024
"""Bytes of a response shown here; the Deliveries tab has all that is stored."""
HEX_MAX = 32 * ROW


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


class ReplayEditor(SubmitDialog):
    """Stays open, so that the request can be changed and sent again. `many_requested` asks for the form for many."""

    many_requested = Signal()
    unsaved = "The request as you edited it has not been sent."

    def __init__(
        self, request: EditableRequest, services: Services, theme: Theme, tasks: Tasks, parent: QWidget | None
    ) -> None:
        super().__init__("Edit and replay", theme, tasks, parent)
        self._request, self._services = request, services
        self._capture = capture = request.capture
        self._refused: dict[str, str] = {}
        self._headers: Headers = tuple(
            (name, value) for name, value in end_to_end(capture.headers) if name.lower() != "host"
        )
        self._destinations = destinations(capture, services)
        # By place: two endpoints may have one name.
        texts = {place: escape(one.text) for place, one in enumerate(self._destinations)}
        self.destination = ChoiceField(texts, self)
        self.method = QComboBox(self)
        self.url = QLineEdit(self)
        self.headers = HeadersEditor(self._headers, theme, self)
        self.body_editor = BodyEditor(request, theme, tasks, self)
        self.original_headers = TextEdit("Original headers", theme, self, read_only=True)
        self.original_body = self._original_body(tasks)
        self.response = ResponsePane(services, theme, tasks, self)
        self.show_original = Button("Hide original", theme, self, kind="ghost")
        name = "Reset method and URL"
        self.reset_line = Button("Reset", theme, self, kind="ghost", icon="undo", name=name, compact=True)
        self.problem = label("", "error", self, wrap=True)
        self.many = Button("Replay many…", theme, self, kind="ghost", run=self._ask_for_many)
        self.close_button = self.make_close_button("Close")
        self.send = self.make_submit_button("Send", "send")
        self.tabs = QTabBar(self, drawBase=False, expanding=False)
        self._originals: list[QWidget] = []
        self._set_up_fields()
        self._lay_out()
        self._connect()
        self._show_destination()
        order_tabs(self)
        self.resize(bounded(self, SIZE))
        self.url.setFocus()

    def sizeHint(self) -> QSize:
        return bounded(self, SIZE)

    def edited(self) -> ReplaySpec:
        """Raises UnicodeEncodeError if the body cannot be encoded."""
        chosen = self._destinations[self.destination.value()]
        url = self.url.text().strip()
        method = self.method.currentText().strip()
        body = self.body_editor.value()
        headers = self.headers.value()
        if body is not None and self._request.coding:
            headers = tuple((name, value) for name, value in headers if name.lower() != _CODING)
        edit = RequestEdit(
            method=method if method != self._capture.method else None,
            url=None if chosen.fixed or (chosen.destination is not None and url == chosen.url) else url,
            headers=headers if headers != self._headers else None,
            body=body,
        )
        return ReplaySpec(
            source=ChosenRequests(ids=(self._capture.id,)),
            destination=chosen.destination or OneUrl(url=url),
            incomplete=True,  # what is sent is shown
            edit=edit if edit != RequestEdit() else None,
        )

    def has_changes(self) -> bool:
        """Whether something was edited that was not sent."""
        try:
            spec = self.edited()
        except UnicodeEncodeError:
            return True
        edit = spec.edit or RequestEdit()
        edited = (edit.method, edit.headers, edit.body) != (None, None, None)
        return edited and spec != self.submitted

    def explain(self, text: str) -> None:
        """Say why it was opened, below the URL."""
        self.fields["edit.url"].set_help(text)

    def reveal_errors(self) -> bool:
        """What went wrong with the last send does not prevent the next."""
        return self.refresh(show_all=True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter sends from the fields of one line."""
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if not enter or self.focusWidget() in (self.url, self.method, self.method.lineEdit()):
            super().keyPressEvent(event)

    def _original_body(self, tasks: Tasks) -> QWidget:
        if isinstance(self._request.body, EditableText):
            text = TextEdit("Original body", self.theme, self, read_only=True)
            text.show_text(self._request.body.text, coloured_from=self._request.coloured_from)
            return text
        view = HexWidget(self.theme, tasks, self, "Original body as hexadecimal")
        view.setProperty("part", "edited")
        view.show_source(self._request.source)
        return view

    def _set_up_fields(self) -> None:
        self.method.setEditable(True)
        self.method.addItems(METHODS)
        self.method.setCurrentText(self._capture.method)
        self.method.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.method.setFixedWidth(112)
        self.url.setFont(mono_font())
        self.url.setPlaceholderText("http://localhost:3000/webhooks")
        self.show_original.setCheckable(True)
        self.show_original.setChecked(isinstance(self._request.body, EditableText))  # hex needs the width
        self.show_original.setToolTip("The request as it was captured, beside the editor")
        self.tabs.addTab("Headers")
        self.tabs.addTab("Body")
        self.tabs.setAccessibleName("Parts of the request to edit")
        self.tabs.setCurrentIndex(BODY if self._capture.size else HEADERS)
        self.original_headers.show_text(header_lines(self._capture.headers))

    def _lay_out(self) -> None:
        method, url = LabeledField("Method", self.method, self), LabeledField("URL", self.url, self)
        destination = LabeledField("Send to", self.destination, self)
        self.destination.setFixedWidth(200)
        self.fields = {"edit.method": method, "edit.url": url, "destination": destination}
        top = Qt.AlignmentFlag.AlignTop
        first = hbox((destination, 0, top), (method, 0, top), (url, 1, top), spacing=metrics.SPACE_3)
        for field in (destination, method, url):
            field.title.setFixedHeight(BAR_HEIGHT)
        url.header.addWidget(self.reset_line)
        bar = hbox((self.tabs, 1), self.show_original)
        self._pages = stack(
            self._beside(self.headers, self.original_headers, self.headers.room_below),
            self._beside(self.body_editor, self.original_body),
        )
        self._pages.setCurrentIndex(self.tabs.currentIndex())
        content = QWidget(self)
        vbox(bar, (self._pages, 1), inside=content, spacing=metrics.SPACE_2)
        split = self._split = QSplitter(Qt.Orientation.Vertical, self, childrenCollapsible=False)
        split.setProperty("part", "gap")
        split.addWidget(content)
        split.addWidget(self.response)
        # The content may be lower than it prefers, rather than scroll.
        split.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        split.setMinimumHeight(LEAST_HEIGHT)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        self.body.addLayout(first)
        self.body.addWidget(split, 1)
        self.problem.hide()
        fill(self.footer, self.many, (self.problem, 1), Stretch(0), self.close_button, self.send)

    def _beside(self, editor: QWidget, original: QWidget, below: int = 0) -> QSplitter:
        """Both end on one line: `below` has the pixels below what is edited."""
        holder = QWidget(self)
        title = label("Original", "strong", holder)
        title.setFixedHeight(BAR_HEIGHT)
        vbox(title, (original, 1), inside=holder, spacing=metrics.SPACE_2, margins=(metrics.SPACE_3, 0, 0, below))
        split = QSplitter(self, childrenCollapsible=False)
        split.setProperty("part", "gap")
        split.addWidget(editor)
        split.addWidget(holder)
        split.setSizes([640, 480])
        self._originals.append(holder)
        return split

    def _connect(self) -> None:
        self.destination.currentIndexChanged.connect(self._show_destination)
        self.method.currentTextChanged.connect(self._edited)
        self.url.textEdited.connect(self._edited)
        self.headers.changed.connect(self._edited)
        self.body_editor.changed.connect(self._edited)
        self.tabs.currentChanged.connect(self._pages.setCurrentIndex)
        self.show_original.toggled.connect(self._toggle_original)
        self._toggle_original(self.show_original.isChecked())
        self.reset_line.clicked.connect(self._reset_line)
        self.finished.connect(self.response.stop)
        self.send.setAutoDefault(False)

    @Slot(bool)
    def _toggle_original(self, on: bool) -> None:
        self.show_original.setText("Hide original" if on else "Show original")
        for original in self._originals:
            original.setVisible(on)

    @Slot()
    def _show_destination(self) -> None:
        chosen = self._destinations[self.destination.value()]
        self.url.setText(chosen.url)
        self.url.setToolTip(plain_tooltip("\n".join(map(escape, chosen.url.split(", ")))))
        self.destination.setToolTip(plain_tooltip(escape(chosen.text)))
        self.url.setCursorPosition(0)
        self.url.setReadOnly(chosen.fixed)
        self.url.setEnabled(not chosen.fixed)
        self._edited()

    @Slot()
    def _reset_line(self) -> None:
        self.method.setCurrentText(self._capture.method)
        self._show_destination()

    @Slot()
    def _ask_for_many(self) -> None:
        if self.has_changes():
            self.ask_to_discard(self.many_requested.emit)
        else:
            self.reject()
            self.many_requested.emit()

    @Slot()
    def _edited(self) -> None:
        self._refused.clear()
        self.refresh()

    def _errors(self) -> dict[str, str]:
        """By field: of what was typed, and of the whole."""
        own = {"edit.headers": self.headers.problem(), "body": self.body_editor.problem()}
        errors = {path: message for path, message in own.items() if message}
        if "body" not in errors:
            for error in replay_errors(self.edited(), self._services.own_bases()):
                errors.setdefault(_own_field(error.field), error.message)
        return errors | self._refused

    def refresh(self, *, show_all: bool = False) -> bool:
        """Whether it cannot be sent."""
        errors = self._errors()
        for path, field in self.fields.items():
            empty = path == "edit.url" and not self.url.text() and not show_all
            field.set_error(None if empty else errors.get(path))
        self.headers.set_error(errors.get("edit.headers"))
        self.body_editor.set_error(errors.get("body"))
        other = [text for path, text in errors.items() if path not in (*self.fields, "edit.headers", "body")]
        show_or_hide(self.problem, " ".join(other))
        self.tabs.setTabText(HEADERS, f"Headers {len(self.headers.value())}")
        first = next(filter(None, errors), None)
        self.send.setText("Sending…" if self.busy else "Send")
        self.send.set_busy("Sending…" if self.busy else None, errors[first] if first is not None else None)
        if not self.busy and first is None:
            self.send.setToolTip("Send (Ctrl+Enter)")
        if show_all and first is not None:
            self._reveal(first)
        return first is not None

    def _reveal(self, path: str) -> None:
        if path in self.fields:
            self.fields[path].control.setFocus()
        elif path in ("edit.headers", "body"):
            self.tabs.setCurrentIndex(HEADERS if path == "edit.headers" else BODY)

    async def store(self) -> None:
        """The dialog stays open."""
        sends, problem = await self._tasks.complete(replay_and_wait(self.submitted, self._services), self)
        for send in sends:
            self.response.add(send)
            self.send.setAccessibleDescription(attempt_text(send.attempt))
        if sends:
            self._show_response()
        else:
            self._refused = {"": problem or "Nothing was sent."}

    def show_failure(self, error: HooklineError) -> None:
        errors = error.errors if isinstance(error, InvalidFieldsError) else [FieldError(field="", message=str(error))]
        self._refused = {_own_field(broken.field): broken.message for broken in errors}

    def _show_response(self) -> None:
        """Where the dialog is too low for both, scroll to it: the first one is laid out later."""
        if self._split.minimumHeight() == LEAST_HEIGHT:
            self._split.setMinimumHeight(LEAST_HEIGHT + RESPONSE_HEIGHT)
            ranges = self.content_area.verticalScrollBar().rangeChanged
            ranges.connect(self._reveal_response, Qt.ConnectionType.SingleShotConnection)
        self._reveal_response()

    @Slot()
    def _reveal_response(self) -> None:
        bring_into_view(self.response)


def _own_field(path: str) -> str:
    """There is one field for both URLs."""
    return "edit.url" if path == "destination.url" else path
