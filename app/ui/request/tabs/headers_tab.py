"""The headers of a request, and below them the trailers sent after its body."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.model import Headers
from app.ui.request.tables.pairs_view import PairsView
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line

TRAILERS_HEIGHT = 220
"""Maximum height in pixels of the trailers, or half of the tab while one is shown in full."""
COPY = "Copy as header line"


class HeadersTab(QWidget):
    """`trailers` is shown only if there are any."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.headers = PairsView(("Name", "Value"), theme, self, COPY)
        self.headers.setAccessibleName("Headers")
        self.trailers = PairsView(("Trailers", "Sent after the body"), theme, self, COPY)
        self.trailers.fitted.connect(self._fit_trailers)
        self.trailers.setAccessibleName("Trailers")
        self.setFocusProxy(self.headers)
        self._line = line(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.headers, 1)
        column.addWidget(self._line)
        column.addWidget(self.trailers)

    def show_fields(self, headers: Headers, trailers: Headers) -> None:
        self.headers.set_rows(headers)
        self._line.setVisible(bool(trailers))
        self.trailers.setVisible(bool(trailers))
        self.trailers.set_rows(trailers)

    @Slot()
    def _fit_trailers(self) -> None:
        rows = sum(map(self.trailers.rowHeight, range(self.trailers.pairs.rowCount())))
        height = self.trailers.horizontalHeader().sizeHint().height() + rows + 2
        most = max(TRAILERS_HEIGHT, self.height() // 2) if self.trailers.any_open else TRAILERS_HEIGHT
        self.trailers.setFixedHeight(min(height, most))
