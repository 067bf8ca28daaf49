"""The tabs of a request that are tables: its headers with the trailers, its query, and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote_plus

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.escape import escape
from app.core.model import Capture
from app.core.raw_request import query_pairs
from app.core.record import Headers
from app.core.text import ms_text, source_text, time_text
from app.ui.request.tables.pairs_view import COPY_HEADER, PairsView
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line
from app.ui.widgets.focus import order_tabs

TRAILERS_HEIGHT = 220
"""Maximum height in pixels of the trailers, or half of the tab while one is shown in full."""
AFTER = "Content type"


class HeadersTab(QWidget):
    """`trailers` is shown only if there are any."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._trailers: PairsView | None = None
        self.headers = PairsView(("Name", "Value"), theme, self, COPY_HEADER)
        self.headers.setAccessibleName("Headers")
        self.setFocusProxy(self.headers)
        self._line = line(self)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.headers, 1)
        self._column.addWidget(self._line)

    @property
    def trailers(self) -> PairsView:
        """Created when first used: few requests have any."""
        if self._trailers is None:
            self._trailers = PairsView(("Trailers", "Sent after the body"), self._theme, self, COPY_HEADER)
            self._trailers.fitted.connect(self._fit_trailers)
            self._trailers.setAccessibleName("Trailers")
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
        super().__init__(("Property", "Value"), theme, parent)
        self.horizontalHeader().hide()
        self.setAccessibleName("Info")
        self._id = ""
        self._rows: list[tuple[str, str]] = []
        self._charset = ""

    def show_capture(self, capture: Capture, providers: Mapping[str, str]) -> None:
        """Show this request; `providers` has the providers' names by ID."""
        if capture.id != self._id:
            self._id, self._charset = capture.id, ""
        self._rows = info_rows(capture, providers)
        self._show()

    @Slot(object)
    def read(self, reader: BodyReader) -> None:
        """The body is loaded; a view that shows no text does not know the charset."""
        charset = reader.text_charset
        if charset is not None:
            self._charset = f"{escape(charset.label)}, {charset.source}"
            self._show()

    def _show(self) -> None:
        rows = list(self._rows)
        if self._charset:
            at = next(number for number, (name, _) in enumerate(rows) if name == AFTER)
            rows.insert(at + 1, ("Charset", self._charset))
        self.set_rows(rows)


def info_rows(capture: Capture, providers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Everything recorded besides headers and body; `providers` has the providers' names by ID."""
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
        ("Body", "1 byte" if capture.size == 1 else f"{capture.size:,} bytes"),
        ("SHA-256", capture.sha256),
        ("Complete", complete),
        ("ID", capture.id),
    ]
