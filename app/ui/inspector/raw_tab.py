"""A request as it was received: request line, headers, body, trailers; as text or hexadecimal, with a search."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.decompressor import codings
from app.core.bodies.formatter import Line
from app.core.model import Capture
from app.core.raw_request import is_chunked
from app.core.text import size_text
from app.ui.inspector.body.body_find import LinesFinder
from app.ui.inspector.body.body_source import BodySource, of_raw
from app.ui.inspector.body.find_bar import FilterMarks, FindBar
from app.ui.inspector.body.source_pane import SourcePane
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.empty_state import EmptyState

MIME_TYPE = "application/http"
VIEWS = (("text", "Text"), ("hex", "Hex"))


class RawTab(SourcePane):
    """`show_capture` takes a request and its body."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(VIEWS, theme, tasks, parent, what="request", mime_type=MIME_TYPE)
        self.views.set_current("text")
        self.code.setAccessibleName("Request as received")
        marks = FilterMarks(self.code)
        self.find_bar = FindBar(marks, theme, self)
        self.finder = LinesFinder(self.code, self.loader, marks, tasks, self)
        self.find_bar.use(self.finder)
        self.find_bar.field.setPlaceholderText("Find in request")
        self.find_bar.field.setAccessibleName("Find in request")
        self._lay_out(self.stack, buttons=(), bars=(self.find_bar,))
        self._connect()

    def show_capture(self, capture: Capture, body: BodySource) -> None:
        self.stop()
        self._source = of_raw(capture, body)
        facts = _facts(capture, self._source.size)
        self.facts.set_wordings([" · ".join(facts[:count]) for count in range(len(facts), -1, -1)])
        self._start()

    def stop(self) -> None:
        """Stop loading, and clear the view."""
        self._source = None
        self.loader.stop()
        self.find_bar.dismiss()
        self.code.set_lines([])
        if self.views.current() == "hex":
            self.hex.show_source(None)
        self.rest.hide()

    @Slot()
    def open_find(self) -> None:
        """Only the text view can be searched, so switch to it."""
        if self._source is not None:
            self.views.set_current("text")
            self._view_selected("text")
            self.find_bar.start()

    def _connect(self) -> None:
        self.views.activated.connect(self._view_selected)
        self.loader.begun.connect(self._begun)
        self.loader.continued.connect(self._continued)
        self.loader.failed.connect(self._failed)
        self.find_bar.closed.connect(self.take_focus)

    @Slot()
    def _start(self) -> None:
        if self._source is not None:
            self._show_view(self.views.current())
            self.loader.start(self._source, None)

    @Slot(object, object)
    def _begun(self, reader: BodyReader, lines: list[Line]) -> None:
        self.show_first_lines(reader, lines)
        self.find_bar.use(self.finder)
        self._show_view(self.views.current())

    @Slot(object)
    def _continued(self, lines: list[Line]) -> None:
        self.code.add_lines(lines)
        self._show_rest()
        self.finder.extended()

    @Slot()
    def _failed(self) -> None:
        self.finder.stop()
        if self.loader.reader is None:
            self.code.set_lines([])
            self.stack.setCurrentWidget(self.unread)

    @Slot(str)
    def _view_selected(self, view: str) -> None:
        if isinstance(self.stack.currentWidget(), EmptyState):
            self._start()  # It could not be read before.
        else:
            self._show_view(view)

    def _show_view(self, view: str | None) -> None:
        if view == "hex":
            self.find_bar.dismiss()
            self.hex.show_source(self._source)
        self.stack.setCurrentWidget(self.hex if view == "hex" else self.code)
        self._show_rest()


def _facts(capture: Capture, size: int) -> list[str]:
    """Which parts are exactly as received, and which are not."""
    facts = ["As received", size_text(size)]
    packed = codings(capture.headers)
    if packed and capture.size:
        facts.append(f"body in {' and '.join(packed)}")
    if is_chunked(capture.headers):
        facts.append("chunked framing removed")
    if not capture.complete:
        facts.append("cut off")
    return facts
