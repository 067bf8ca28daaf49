"""Edit the headers and the body of a replay: the body as text where that stays byte for byte as it was, or a file in
its place. Both return to those captured."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.bodies import decompressor
from app.core.bodies.charset import declared_codec
from app.core.bodies.media_types import is_json, media_type
from app.core.errors import HooklineError
from app.core.model import Capture
from app.core.raw_request import FRAMING
from app.core.record import Headers
from app.core.replay import OtherEndpoint, OwnTargets, ReplayDestination
from app.core.sizes import exact_size
from app.core.target import forwarded_url
from app.core.text import count_of
from app.ui.inspector.body.body_source import BodySource, of_bytes, of_capture, read_plain
from app.ui.inspector.body.hex_widget import HexWidget
from app.ui.inspector.body.text_style import TextEdit, WrapButton
from app.ui.services import Services
from app.ui.tasks import Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import FileDialog
from app.ui.widgets.headers_field import HeadersField
from app.ui.widgets.labels import FittingLabel, label, show_or_hide
from app.ui.widgets.layout import Stretch, hbox, stack, vbox
from app.ui.widgets.text_fields import FormatJsonButton

FILE_MAX = 16 * 1024 * 1024
BAR_HEIGHT = 28
"""Of what stands above the editors and the fields of the dialog, so that these begin at one height."""
EDITABLE_MAX = 1024 * 1024
"""Bytes."""
_UNSAFE = ("\0", "\u2028", "\u2029", "\ufdd0", "\ufdd1")
"""Characters that Qt's text editors drop or replace."""


class HeadersEditor(QWidget):
    """Begins with `original`, and Reset returns to it. `changed` follows each edit."""

    changed = Signal()

    def __init__(self, original: Headers, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._original = original
        self.field = HeadersField("Headers", FRAMING, theme, self, text=TextEdit("Headers as text", theme, self))
        self.reset = Button("Reset", theme, self, kind="ghost", icon="undo", name="Reset headers", compact=True)
        self.reset.setFixedHeight(BAR_HEIGHT)
        self.error = label("", "error", self, wrap=True)
        self.error.setMinimumHeight(self.error.sizeHint().height())  # its room is reserved
        self.room_below = self.error.minimumHeight() + metrics.SPACE_2
        """Pixels below what is edited."""
        bar = hbox(self.field.views, Stretch(), self.reset, spacing=metrics.SPACE_1)
        vbox(bar, (self.field, 1), self.error, inside=self, spacing=metrics.SPACE_2)
        self.field.changed.connect(self._edited)
        self.reset.clicked.connect(self._reset)
        self._reset()

    def value(self) -> Headers:
        return self.field.value()

    def problem(self) -> str | None:
        return self.field.problem()

    def set_error(self, message: str | None) -> None:
        self.error.setText(message or "")

    @Slot()
    def _reset(self) -> None:
        self.field.set_value(self._original)

    @Slot()
    def _edited(self) -> None:
        self.reset.setEnabled(self.value() != self._original or self.problem() is not None)
        self.changed.emit()


class BodyEditor(QWidget):
    """Begins with the body of `request`, and Reset returns to it. `changed` follows each edit. `note` says why it is
    not edited as text, or what else an edit changes."""

    changed = Signal()

    def __init__(self, request: EditableRequest, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._tasks, self._request = tasks, request
        self._text = request.body if isinstance(request.body, EditableText) else None
        self._file: bytes | None = None
        self._file_name = ""
        self.facts = FittingLabel("small", self)
        self.edit = TextEdit("Body to send", theme, self)
        self.hex = HexWidget(theme, tasks, self)
        self.hex.setProperty("part", "edited")
        self.wrap = WrapButton(theme, self)
        self.format = FormatJsonButton(self.edit, theme, tasks, self)
        self.choose = Button("Choose file…", theme, self, kind="ghost", icon="folder", compact=True)
        self.reset = Button("Reset", theme, self, kind="ghost", icon="undo", name="Reset body", compact=True)
        self.note = label("", "faint", self, wrap=True)
        self._error = label("", "error", self, wrap=True)
        self._error.hide()
        self._pages = stack(self.edit, self.hex)
        bar = hbox((self.facts, 1), spacing=metrics.SPACE_1)
        for control in (self.format, self.wrap, self.choose, self.reset):
            control.setFixedHeight(BAR_HEIGHT)
            bar.addWidget(control)
        vbox(bar, (self._pages, 1), self._error, self.note, inside=self, spacing=metrics.SPACE_2)
        self.edit.textChanged.connect(self._edited)
        self.format.failed.connect(self.set_error)
        self.choose.clicked.connect(self._choose_file)
        self.reset.clicked.connect(self._reset)
        self._reset()

    def value(self) -> bytes | None:
        """None: as captured. Raises UnicodeEncodeError."""
        if self._file is not None:
            return self._file
        if self._text is None or self.edit.text() == self._text.text:
            return None
        return self._text.encode(self.edit.text())

    def problem(self) -> str | None:
        """Why what was typed cannot be sent."""
        try:
            self.value()
        except UnicodeEncodeError as error:
            charset = self._text.charset if self._text is not None else error.encoding
            return f"{error.object[error.start]!r} does not exist in {charset}, the charset of this body."
        return None

    def set_error(self, message: str | None) -> None:
        show_or_hide(self._error, message or "")

    async def use_file(self, path: Path) -> None:
        """Send the contents of this file. HooklineError if it cannot be read or is too large."""
        data = await in_thread(_read, path)
        self._file, self._file_name = data, path.name
        self.hex.show_source(of_bytes(data, path.name))
        self._pages.setCurrentWidget(self.hex)
        self._edited()

    @Slot()
    def _choose_file(self) -> None:
        self._tasks.start(self._use_chosen(), "replay: read the file", self)

    async def _use_chosen(self) -> None:
        path = await FileDialog(self, "Choose a file to send as the body", Path.home()).chosen()
        if path is None:
            return
        try:
            await self.use_file(path)
        except HooklineError as error:
            self.set_error(str(error))  # a message would be in the window below

    @Slot()
    def _reset(self) -> None:
        self._file, self._file_name = None, ""
        if self._text is not None:
            self.edit.show_text(self._text.text, coloured_from=self._request.coloured_from)
            self._pages.setCurrentWidget(self.edit)
        else:
            self.hex.show_source(self._request.source)
            self._pages.setCurrentWidget(self.hex)
        self._edited()

    @Slot()
    def _edited(self) -> None:
        as_text = self._pages.currentWidget() is self.edit
        self.wrap.setVisible(as_text)
        self.format.setVisible(as_text and self.format.is_json())
        changed = self._file is not None or (self._text is not None and self.edit.text() != self._text.text)
        self.reset.setEnabled(changed)
        note = ""
        if self._text is None and self._file is None:
            note = f"{self._request.body} Choose a file to send another body."
        elif changed and self._request.coding:
            note = f"The edited body is sent without Content-Encoding: {self._request.coding}."
        show_or_hide(self.note, note)
        self._show_facts()
        self.changed.emit()

    def _show_facts(self) -> None:
        """Of what is sent; without its size if it cannot be encoded."""
        original = self._request.source
        kind, size = self._file_name or media_type(original.content_type), ""
        with suppress(UnicodeEncodeError):
            edited = self.value()
            size = count_of(original.size if edited is None else len(edited), "byte")
        self.facts.set_wordings([" · ".join(filter(None, (kind, size))), size])


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > FILE_MAX:
            raise HooklineError(f"{path.name} is too large: a replaced body can have at most {exact_size(FILE_MAX)}.")
        return path.read_bytes()
    except OSError as error:
        raise HooklineError(f"{path.name} cannot be read: {error.strerror}.") from error


class EditableText(NamedTuple):
    """`text` has line feeds only; `encode` puts `newline` back."""

    text: str
    charset: str
    newline: str

    def encode(self, text: str) -> bytes:
        """Raises UnicodeEncodeError."""
        return text.replace("\n", self.newline).encode(self.charset)


def editable_text(body: bytes, content_type: str) -> EditableText | str:
    """The text, or why it cannot be edited as text."""
    if len(body) > EDITABLE_MAX:
        return "This body is too large to edit as text."
    for charset in dict.fromkeys(("utf-8", declared_codec(content_type) or "utf-8")):
        try:
            text = body.decode(charset)
        except UnicodeDecodeError:
            continue
        if text.encode(charset) == body and not any(character in text for character in _UNSAFE):
            return _with_line_feeds(text, charset)
    return "This body is not text."


def _with_line_feeds(text: str, charset: str) -> EditableText | str:
    if "\r" not in text:
        return EditableText(text, charset, "\n")
    plain = text.replace("\r\n", "\n")
    if "\r" in plain or plain.replace("\n", "\r\n") != text:
        return "This body mixes kinds of line breaks, which an editor would change."
    return EditableText(plain, charset, "\r\n")


class EditableRequest(NamedTuple):
    """`body` is its text, or why it cannot be edited as one; the content `coding` is removed once it is edited."""

    capture: Capture
    source: BodySource
    body: EditableText | str
    coding: str

    @property
    def coloured_from(self) -> int | None:
        """As `TextEdit.show_text` takes it: JSON is coloured."""
        text = self.body.text if isinstance(self.body, EditableText) else ""
        return 0 if is_json(media_type(self.source.content_type)) or text.lstrip()[:1] in ("{", "[") else None


class EditorDestination(NamedTuple):
    """`url` is where the request would go, empty to type one; it cannot be edited if `fixed`. `destination` is None for
    the URL that is typed.
    """

    text: str
    destination: ReplayDestination | None
    url: str
    fixed: bool


async def load_request(capture_id: str, services: Services) -> EditableRequest | None:
    """None if it is no longer stored. Raises StorageUnavailableError."""
    capture = await services.store.captures.get(capture_id)
    if capture is None:
        return None
    source = of_capture(capture, services.store.captures)
    codings = decompressor.codings(capture.headers)
    if decompressor.unsupported_reason(codings):
        return EditableRequest(capture, source, "This body is compressed in a way that Hookline does not know.", "")
    if damage := await source.damage():
        return EditableRequest(capture, source, damage, "")
    plain = await read_plain(source, EDITABLE_MAX)
    text = await in_thread(editable_text, plain, capture.content_type)
    return EditableRequest(capture, source, text, ", ".join(codings))


def destinations(capture: Capture, services: Services) -> list[EditorDestination]:
    """The targets of its endpoint that are switched on, if any, come first; of several all, then each alone."""
    endpoint = services.store.endpoints.by_id(capture.endpoint_id)
    targets = [target for target in (endpoint.targets if endpoint else ()) if target.active]
    urls = [target.request_url(capture.target) for target in targets]
    found: list[EditorDestination] = []
    if len(urls) == 1:
        found.append(EditorDestination("Its target", OwnTargets(), urls[0], fixed=False))
    elif urls:
        found.append(EditorDestination(f"Its {len(urls)} targets", OwnTargets(), ", ".join(urls), fixed=True))
        for target, url in zip(targets, urls, strict=True):
            name = f"Only {target.url.partition('://')[2]}"
            found.append(EditorDestination(name, OwnTargets(target_id=target.id), url, fixed=False))
    found.append(EditorDestination("Another URL", None, urls[0] if urls else "", fixed=False))
    for other in services.store.endpoints.all():
        if endpoint is None or other.id != endpoint.id:
            url = forwarded_url(services.capture_url(other), capture.target)
            found.append(EditorDestination(f"Endpoint “{other.name}”", OtherEndpoint(slug=other.slug), url, fixed=True))
    return found
