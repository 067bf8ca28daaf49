"""The metadata of a request besides its headers and body, in rows."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.escape import escape
from app.core.model import Capture
from app.ui.request.tables.pairs_view import PairsView
from app.ui.request.tabs.facts import info_rows
from app.ui.theme.theme import Theme

AFTER = "Content type"


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
