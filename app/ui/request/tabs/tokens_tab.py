"""The JSON Web Tokens anywhere in a request, decoded for reading and never verified."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.bodies.body_reader import CHUNK, body_text
from app.core.bodies.formats.jwt import NOT_VERIFIED, JwtToken, token_lines, tokens_in
from app.core.bodies.lines import Line, LineBuilder
from app.core.model import Capture
from app.ui.request.body.body_bars import NoticesBar
from app.ui.request.body.body_source import BodySource
from app.ui.request.body.code.code_view import CodeView
from app.ui.request.tabs.table_tabs import query_rows
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme.theme import Theme

TEXT_MAX = 1024 * 1024
"""Maximum bytes of an unpacked body that are searched for tokens."""


class TokensTab(QWidget):
    """`show_tokens` searches for tokens; `found` carries the capture's ID and their number."""

    found = Signal(str, int)

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._latest = Latest(self, tasks, "tokens: find")
        self._code: CodeView | None = None
        self.notices = NoticesBar(theme, self)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.notices)

    @property
    def code(self) -> CodeView:
        """Created when first used: few requests have tokens."""
        if self._code is None:
            self._code = CodeView(self._theme, self)
            self._code.setAccessibleName("Tokens")
            self.setFocusProxy(self._code)
            self._column.addWidget(self._code, 1)
        return self._code

    def show_tokens(self, capture: Capture, source: BodySource) -> None:
        """Search this request for tokens."""
        self._show([])  # Tokens of another request must not stay below this one's header.
        self._latest.run(partial(self._find, capture, source))

    def stop(self) -> None:
        """Cancel the search."""
        self._latest.stop()

    async def _find(self, capture: Capture, source: BodySource) -> None:
        try:
            data = await source.read(0, CHUNK) if source.size else b""
        except Exception:
            self.found.emit(capture.id, 0)
            raise
        count, lines = await in_thread(_search, capture, data)
        self._show(lines)
        self.found.emit(capture.id, count)

    def _show(self, lines: list[Line]) -> None:
        self.notices.say([NOT_VERIFIED] if lines else [])
        if lines or self._code is not None:
            self.code.set_lines(lines)


def _search(capture: Capture, data: bytes) -> tuple[int, list[Line]]:
    text, _ = body_text(capture.headers, capture.content_type, data, TEXT_MAX)
    places = [
        *((f"{name} header", value) for name, value in capture.headers),
        *((f"{name} in the query", value) for name, value, _ in query_rows(capture.target)),
        ("Body", text),
    ]
    found = tokens_in(places)
    lines: list[Line] = []
    for place, token in found:
        if lines:
            lines += [Line(""), Line("")]
        lines += [*_title(place, token), Line(""), *token_lines(token, capture.received_at)]
    return len(found), lines


def _title(place: str, token: JwtToken) -> list[Line]:
    builder = LineBuilder()
    builder.add("key", place)
    kind = "encrypted token" if token.encrypted else "token"
    builder.add("text", f" \u00b7 {kind}, algorithm {token.algorithm}")
    builder.end_line()
    return builder.take()
