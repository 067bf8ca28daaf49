"""A request as it was received: request line, headers, body, trailers; as text or hexadecimal."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.core.bodies.decompressor import codings
from app.core.bodies.lines import Line
from app.core.model import Capture
from app.core.raw_request import is_chunked
from app.core.repositories import CaptureRepository
from app.core.text import size_text
from app.ui.request.body.body_bars import RestBar, body_toolbar
from app.ui.request.body.body_export import BodyCopy, BodySave
from app.ui.request.body.body_pane import EMPTY_WIDTH
from app.ui.request.body.body_source import BodySource
from app.ui.request.body.code.code_view import SHOWN_MAX, CodeView
from app.ui.request.body.find.filter_marks import WordMarks
from app.ui.request.body.find.find_bar import FindBar
from app.ui.request.body.find.find_raw import RawFinder
from app.ui.request.body.hex_widget import HexWidget
from app.ui.request.tabs.raw_loader import RawLoader, raw_of_capture
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.segmented import Segmented
from app.ui.widgets.toast import Toast

MIME_TYPE = "application/http"


class RawTab(QWidget):
    """`show_capture` takes a request; the `view` of its bytes is created and filled when the tab is shown."""

    def __init__(self, captures: CaptureRepository, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._captures, self._theme, self._tasks = captures, theme, tasks
        self._capture: Capture | None = None
        self._made: RawView | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)

    @property
    def view(self) -> RawView:
        """Created when first used, because it would slow down the start of the window."""
        if self._made is None:
            self._made = RawView(self._captures, self._theme, self._tasks, self)
            self.layout().addWidget(self._made)  # type: ignore[union-attr]  # made above
            order_tabs(self)
        return self._made

    def show_capture(self, capture: Capture) -> None:
        self.stop()
        self._capture = capture
        if self.isVisible():
            self.view.show_capture(capture)

    def stop(self) -> None:
        """Stop loading, and clear the view."""
        self._capture = None
        if self._made is not None:
            self._made.stop()

    def showEvent(self, event: QShowEvent) -> None:
        """Load the request that was set while the tab was hidden."""
        super().showEvent(event)
        if self._capture is not None and self.view.capture is not self._capture:
            self.view.show_capture(self._capture)


class RawView(QWidget):
    def __init__(self, captures: CaptureRepository, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._captures, self._tasks = captures, tasks
        self._capture: Capture | None = None
        self._source: BodySource | None = None
        self.loader = RawLoader(tasks, self)
        self.views = Segmented((("text", "Text"), ("hex", "Hex")), self)
        self.views.set_current("text")
        self.facts = ElidedLabel("", "small", self)
        self.search = IconButton("search", "Find in request (Ctrl+F)", theme, self)
        self.copy = IconButton("copy", "Copy request", theme, self)
        self.save = IconButton("download", "Save request as…", theme, self)
        self.code = CodeView(theme, self)
        self.code.setAccessibleName("Request as received")
        self.hex = HexWidget(theme, tasks, self)
        self.hex.setAccessibleName("Request as hexadecimal")
        self.find_bar = FindBar(WordMarks(self.code), theme, self)
        self.finder = RawFinder(self.code, self.loader, self)
        self.find_bar.use(self.finder)
        self.find_bar.field.setPlaceholderText("Find in request")
        self.find_bar.field.setAccessibleName("Find in request")
        self.unread = EmptyState("body", "Could not read the request", "", theme, self, action="Try again")
        self.unread.text.setFixedWidth(EMPTY_WIDTH)
        self.rest = RestBar(theme, self)
        self.stack = QStackedWidget(self)
        self._toast = Toast(theme, self)
        self._saving = BodySave(self, tasks, self._toast, source=self._shown, what="request")
        self._lay_out()
        self._connect()
        self._copying = BodyCopy(
            self.copy,
            None,
            tasks,
            self._toast,
            source=self._shown,
            saves=self._saving.start,
            what="request",
            mime_type=MIME_TYPE,
        )

    @property
    def capture(self) -> Capture | None:
        return self._capture

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
        self.hex.show_source(None)
        self.rest.hide()

    def open_find(self) -> None:
        """Only the text view can be searched, so switch to it."""
        if self._source is not None:
            self.views.set_current("text")
            self._view_selected("text")
            self.find_bar.start()

    @Slot()
    def take_focus(self) -> None:
        """Focus the view shown."""
        page = self.stack.currentWidget()
        if page is not None:
            page.setFocus()

    def _lay_out(self) -> None:
        for page in (self.code, self.hex, self.unread):
            self.stack.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(body_toolbar(self.views, self.facts, (self.search, self.copy, self.save)))
        column.addWidget(self.find_bar)
        column.addWidget(self.stack, 1)
        column.addWidget(self.rest)

    def _connect(self) -> None:
        self.views.activated.connect(self._view_selected)
        self.search.clicked.connect(self.open_find)
        self.save.clicked.connect(self._saving.start)
        self.rest.more.clicked.connect(self.loader.more)
        self.rest.save.clicked.connect(self._saving.start)
        self.code.end_near.connect(self._end_near)
        self.loader.begun.connect(self._begun)
        self.loader.continued.connect(self._continued)
        self.loader.failed.connect(self._failed)
        self.unread.action.connect(self._start)
        self.find_bar.closed.connect(self.take_focus)

    @Slot()
    def _start(self) -> None:
        if self._capture is None:
            return
        self._source, head = raw_of_capture(self._capture, self._captures)
        self.facts.setText(" · ".join(_facts(self._capture, self._source.size)))
        self._view_selected(self.views.current() or "text")
        self.loader.start(self._source, head)

    @Slot(object)
    def _begun(self, lines: list[Line]) -> None:
        self.code.set_lines(lines)
        self.find_bar.use(self.finder)
        self._view_selected(self.views.current() or "text")
        self._tell()

    @Slot(object)
    def _continued(self, lines: list[Line]) -> None:
        self.code.add_lines(lines)
        self._tell()
        self.finder.extended()

    def _tell(self) -> None:
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
            self._tell()

    def _shown(self) -> BodySource | None:
        return self._source


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
