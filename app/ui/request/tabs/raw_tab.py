"""A request as it was received: request line, headers, body, trailers; as text or hexadecimal, with a search."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.core.bodies.decompressor import codings
from app.core.bodies.lines import Line
from app.core.model import Capture
from app.core.raw_request import is_chunked
from app.core.repositories import CaptureRepository
from app.core.text import size_text
from app.ui.request.body.code.code_view import SHOWN_MAX, CodeView
from app.ui.request.body.code.searchable_text import MATCHES_MAX
from app.ui.request.body.find.find_bar import FilterMarks, FindBar
from app.ui.request.body.find.finder import Finder
from app.ui.request.body.source_pane import SourcePane
from app.ui.request.tabs.raw_loader import RawLoader, raw_of_capture
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme

SEEK_STEP = 512 * 1024
"""Characters loaded before each search, because every search rebuilds the text."""
MIME_TYPE = "application/http"
VIEWS = (("text", "Text"), ("hex", "Hex"))


class RawFinder(Finder):
    """Call `extended` once more lines are shown. Without a match in them, more are loaded until there is one."""

    def __init__(self, code: CodeView, loader: RawLoader, parent: QObject) -> None:
        super().__init__(parent)
        self._code, self._loader = code, loader
        self._matches: list[tuple[int, int]] = []
        self._searched = 0
        """Characters searched so far."""

    def status_text(self) -> str:
        """“No matches” is only said once everything was searched."""
        if self.needle and not (self.total or self.busy or self._loader.done):
            return f"No matches in the first {size_text(self._loader.read_bytes)}"
        return super().status_text()

    def search(self, needle: str) -> None:
        self.clear()
        self.needle, self.progress = needle, "Searching…"
        if needle:
            self._search_new()
            self._code.show_match(self._matches, 0)
            if not self._matches:
                self._load_more()
        self.changed.emit()

    def step(self, by: int) -> None:
        """After the last known match, continues in what is not loaded yet."""
        if self.busy:
            self.steps += by
        elif by > 0 and self.current + by >= self.total and self._can_load_more():
            self._load_more()
        elif self._matches:
            self.current = (self.current + by) % self.total
            self._code.show_match(self._matches, self.current)
        self.changed.emit()

    def stop(self) -> None:
        """Stop searching."""
        self.busy, self.steps = False, 0
        self.changed.emit()

    def clear(self) -> None:
        """Clear the search."""
        self.needle, self._matches, self._searched = "", [], 0
        self.total, self.current, self.more, self.busy, self.steps = 0, 0, False, False, 0
        self._code.show_match((), 0)

    def extended(self) -> None:
        """More lines are shown; the view scrolls only if they were loaded for the search."""
        if not self.needle:
            return
        if self.busy and self._can_load_more() and self._code.length() - self._searched < SEEK_STEP:
            self._loader.more()
            return
        known = self.total
        self._search_new()
        if self.busy and self.total > known:
            self.busy, self.current = False, known
            self._code.show_match(self._matches, known)
            steps, self.steps = self.steps, 0
            if steps:
                self.step(steps)
        else:
            self._code.show_match(self._matches, self.current, move=False)
            if self.busy:
                self._load_more()
        self.changed.emit()

    def _can_load_more(self) -> bool:
        """Whether more can be loaded and counted."""
        return not self._loader.done and self._code.length() < SHOWN_MAX and self.total < MATCHES_MAX

    def _load_more(self) -> None:
        self.busy = self._can_load_more()
        if self.busy:
            self._loader.more()

    def _search_new(self) -> None:
        """Search the new text, and the end of the previous text: a match may span both."""
        begin = max(0, self._searched - len(self.needle) + 1)
        found, self._searched = self._code.find_words([self.needle], (), begin)
        last = self._matches[-1][1] if self._matches else 0
        self._matches = (self._matches + [place for place in found if place[0] >= last])[:MATCHES_MAX]
        self.total = len(self._matches)
        self.more = not self._loader.done or self.total == MATCHES_MAX


class RawTab(SourcePane):
    """`show_capture` takes a request."""

    def __init__(self, captures: CaptureRepository, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(VIEWS, theme, tasks, parent, what="request", mime_type=MIME_TYPE)
        self._captures = captures
        self._capture: Capture | None = None
        self.loader = RawLoader(tasks, self)
        self.views.set_current("text")
        self.code.setAccessibleName("Request as received")
        self.find_bar = FindBar(FilterMarks(self.code), theme, self)
        self.finder = RawFinder(self.code, self.loader, self)
        self.find_bar.use(self.finder)
        self.find_bar.field.setPlaceholderText("Find in request")
        self.find_bar.field.setAccessibleName("Find in request")
        self._lay_out(self.stack, buttons=(), bars=(self.find_bar,))
        self._connect()

    def show_capture(self, capture: Capture) -> None:
        self.stop()
        self._capture = capture
        self._start()

    def stop(self) -> None:
        """Stop loading, and clear the view."""
        self._capture = self._source = None
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
        self.rest.more.clicked.connect(self.loader.more)
        self.code.end_near.connect(self._end_near)
        self.loader.begun.connect(self._begun)
        self.loader.continued.connect(self._continued)
        self.loader.failed.connect(self._failed)
        self.find_bar.closed.connect(self.take_focus)

    @Slot()
    def _start(self) -> None:
        if self._capture is None:
            return
        self._source, head = raw_of_capture(self._capture, self._captures)
        facts = _facts(self._capture, self._source.size)
        self.facts.set_wordings([" · ".join(facts[:count]) for count in range(len(facts), -1, -1)])
        self._view_selected(self.views.current() or "text")
        self.loader.start(self._source, head)

    @Slot(object)
    def _begun(self, lines: list[Line]) -> None:
        self.code.set_lines(lines)
        self.find_bar.use(self.finder)
        self._view_selected(self.views.current() or "text")
        self._show_rest()

    @Slot(object)
    def _continued(self, lines: list[Line]) -> None:
        self.code.add_lines(lines)
        self._show_rest()
        self.finder.extended()

    def _show_rest(self) -> None:
        """Say how much is not shown yet."""
        if self._source is None or self.loader.done or self.views.current() == "hex":
            self.rest.hide()
        else:
            self.rest.say_first(self.loader.read_bytes, self._source.size, full=self._full())

    def _full(self) -> bool:
        return self.loader.done or self.code.length() >= SHOWN_MAX

    @Slot()
    def _failed(self) -> None:
        self.finder.stop()
        if not self.code.line_count():
            self._source = None
            self.stack.setCurrentWidget(self.unread)

    @Slot()
    def _end_near(self) -> None:
        if not self._full():
            self.loader.more()

    @Slot(str)
    def _view_selected(self, view: str) -> None:
        if view == "hex":
            self.find_bar.dismiss()
            self.hex.show_source(self._source)
        self.stack.setCurrentWidget(self.hex if view == "hex" else self.code)
        if self.code.line_count():
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
