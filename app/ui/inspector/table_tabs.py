"""The tabs of a request that are tables: its headers with the trailers, its query, its tokens, and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from urllib.parse import unquote_plus

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.bodies.body_reader import CHUNK, BodyReader, body_text
from app.core.bodies.escape import escape
from app.core.bodies.formats.jwt import NOT_VERIFIED, JwtToken, token_lines, tokens_in
from app.core.bodies.formatter import Formatted, Line
from app.core.model import Capture
from app.core.raw_request import query_pairs
from app.core.record import Headers
from app.core.text import ms_text, source_text, time_text
from app.ui.inspector.body.body_bars import NoticesBar
from app.ui.inspector.body.body_source import BodySource
from app.ui.inspector.body.code_view import CodeView
from app.ui.inspector.pairs_view import COPY_HEADER, PairsView
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.layout import vbox

TRAILERS_HEIGHT = 220
"""Maximum height in pixels of the trailers, or half of the tab while one is shown in full."""


class HeadersTab(QWidget):
    """`trailers` is shown only if there are any."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._trailers: PairsView | None = None
        self.headers = PairsView("Request headers", ("Name", "Value"), theme, self, COPY_HEADER)
        self.setFocusProxy(self.headers)
        self._line = line(self)
        self._column = vbox((self.headers, 1), self._line, inside=self, spacing=0, margins=0)

    @property
    def trailers(self) -> PairsView:
        """Created when first used: few requests have any."""
        if self._trailers is None:
            titles = ("Trailers", "Sent after the body")
            self._trailers = PairsView("Trailers", titles, self._theme, self, COPY_HEADER)
            self._trailers.fitted.connect(self._fit_trailers)
            self._column.addWidget(self._trailers)
            order_tabs(self)
        return self._trailers

    def show_fields(self, headers: Headers, trailers: Headers) -> None:
        self.headers.set_rows(headers)
        self._line.setVisible(bool(trailers))
        if trailers or self._trailers is not None:
            self.trailers.setVisible(bool(trailers))
            self.trailers.set_rows(trailers)

    @Slot()
    def _fit_trailers(self) -> None:
        rows = sum(map(self.trailers.rowHeight, range(self.trailers.pairs.rowCount())))
        height = self.trailers.horizontalHeader().sizeHint().height() + rows + 2
        limit = max(TRAILERS_HEIGHT, self.height() // 2) if self.trailers.any_open else TRAILERS_HEIGHT
        self.trailers.setFixedHeight(min(height, limit))


def query_rows(target: str) -> list[tuple[str, str, str]]:
    """Decoded name and value, and the pair as it was sent; order and duplicates kept."""
    return [
        (unquote_plus(name, errors="replace"), unquote_plus(value, errors="replace"), sent)
        for name, value, sent in query_pairs(target)
    ]


class InfoTab(PairsView):
    """`show_capture` fills it; the charset of a text is known only once the body was `read`."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("Facts about the request", ("Property", "Value"), theme, parent)
        self.horizontalHeader().hide()
        self._shown: tuple[Capture, Mapping[str, str]] | None = None
        self._charset = ""

    def show_capture(self, capture: Capture, providers: Mapping[str, str]) -> None:
        """Show this request; `providers` has the providers' names by ID."""
        if self._shown is None or self._shown[0].id != capture.id:
            self._charset = ""
        self._shown = capture, providers
        self.set_rows(info_rows(capture, providers, self._charset))

    @Slot(object)
    def read(self, reader: BodyReader) -> None:
        """The body is loaded; a view that shows no text does not know the charset."""
        charset = reader.text_charset
        if charset is not None and self._shown is not None:
            self._charset = f"{escape(charset.label)}, {charset.source}"
            self.set_rows(info_rows(*self._shown, self._charset))


def info_rows(capture: Capture, providers: Mapping[str, str], charset: str) -> list[tuple[str, str]]:
    """Everything recorded besides headers and body; `providers` has the providers' names by ID, `charset` is that of
    the body if it is known.
    """
    sender = {
        "Provider": providers.get(capture.provider, capture.provider) if capture.provider else None,
        "Event": capture.event,
        "Delivery ID": capture.delivery_id,
    }
    response = str(capture.response_status)
    if capture.response_ms is not None:
        response += f" after {ms_text(capture.response_ms)}"
    complete = "Yes" if capture.complete else "No: the sender disconnected before the end of the body"
    return [
        ("Received", time_text(capture.received_at, None)),
        ("In UTC", time_text(capture.received_at)),
        *((name, value) for name, value in sender.items() if value),
        ("Method", capture.method),
        ("Target", capture.target),
        ("HTTP version", capture.http_version),
        ("Scheme", capture.scheme),
        ("Source", source_text(capture.source_address, capture.source_port)),
        ("Response", response),
        ("Content type", capture.content_type or "None"),
        *([("Charset", charset)] if charset else []),
        ("Body", "1 byte" if capture.size == 1 else f"{capture.size:,} bytes"),
        ("SHA-256", capture.sha256),
        ("Complete", complete),
        ("ID", capture.id),
    ]


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
        self._column = vbox(self.notices, inside=self, spacing=0, margins=0)

    @property
    def code(self) -> CodeView:
        """Created when first used: few requests have tokens."""
        if self._code is None:
            self._code = CodeView(self._theme, self, "Decoded tokens")
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
    title = Formatted()
    title.add("key", place)
    kind = "encrypted token" if token.encrypted else "token"
    title.add_line("text", f" \u00b7 {kind}, algorithm {token.algorithm}")
    return title.take()
