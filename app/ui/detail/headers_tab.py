"""The headers of a request, and under them the trailers that came behind its body."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.model import Headers
from app.ui.detail.pairs_view import PairsView
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line

TRAILERS_HEIGHT = 220
"""Pixels that trailers take of the headers at most; more are scrolled."""


class HeadersTab(QWidget):
    """`trailers` is shown only where there are any."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.headers = PairsView(("Name", "Value"), theme, self)
        self.trailers = PairsView(("Trailers", "Sent behind the body"), theme, self)
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
        """Show these."""
        self.headers.set_rows(headers)
        self._line.setVisible(bool(trailers))
        self.trailers.setVisible(bool(trailers))
        self.trailers.set_rows(trailers)
        if trailers:
            rows = sum(map(self.trailers.rowHeight, range(len(trailers))))
            height = self.trailers.horizontalHeader().sizeHint().height() + rows + 2
            self.trailers.setFixedHeight(min(height, TRAILERS_HEIGHT))
