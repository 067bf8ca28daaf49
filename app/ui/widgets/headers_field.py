"""A field of headers: a grid to type them, and the same as text to paste or copy many lines."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QPlainTextEdit, QStackedWidget, QWidget

from app.core.record import Headers
from app.core.rules import headers_error
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.header_grid import HeaderGrid
from app.ui.widgets.header_text import header_lines, parse_headers
from app.ui.widgets.labels import restyle
from app.ui.widgets.layout import vbox
from app.ui.widgets.segmented import Segmented
from app.ui.widgets.text_fields import TextArea, raw_text

GRID, TEXT = "grid", "text"
_ROWS_MAX = 5


class HeadersField(QWidget):
    """`title` names it in messages, and Hookline sets the headers in `own` itself. Place `views`, too, which switches
    between grid and text; `text` edits the lines.

    If it `fits_rows`, it is as high as its rows, up to five, and the one that typing may add.
    """

    changed = Signal()

    def __init__(
        self,
        title: str,
        own: frozenset[str],
        theme: Theme,
        parent: QWidget,
        *,
        fits_rows: bool = False,
        text: QPlainTextEdit | None = None,
    ) -> None:
        super().__init__(parent)
        self._title, self._own, self._fits_rows = title, own, fits_rows
        self._given: Headers = ()
        self.views = Segmented(((GRID, "Table"), (TEXT, "Text")), parent, compact=True)
        self.views.setAccessibleName(f"Edit {title.lower()} as")
        self.grid = HeaderGrid(title, theme, self)
        self.grid.horizontalHeader().setHidden(fits_rows)
        self.text = text or TextArea(self._height_of(_ROWS_MAX), self)
        self.text.setPlaceholderText("Name: value")
        self.text.setAccessibleName(f"{title} as text")
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self.grid)
        self._pages.addWidget(self.text)
        vbox(self._pages, inside=self, margins=0)
        self.set_value(())
        self.views.activated.connect(self._switch)
        for signal in (self.grid.rows.dataChanged, self.grid.rows.rowsInserted, self.grid.rows.rowsRemoved):
            signal.connect(self._edited)
        self.text.textChanged.connect(self._edited)
        self.grid.cell_left.connect(self._fit)

    def value(self) -> Headers:
        """In the order typed, without empty rows; of malformed text those up to the first line that `problem` names."""
        return parse_headers(raw_text(self.text))[0] if self._is_text() else self.grid.rows.headers()

    def set_value(self, headers: Headers) -> None:
        self._given = headers
        self.grid.rows.set_headers(headers)
        self.text.setPlainText(header_lines(headers))
        self._show_view(self.views.current() or GRID)
        self._edited()

    def problem(self) -> str | None:
        """Why it cannot be saved as edited; what was given may break the rules."""
        problem = parse_headers(raw_text(self.text), self._title)[1] if self._is_text() else None
        return problem or (self._error(self.value()) if self.value() != self._given else None)

    def _is_text(self) -> bool:
        return self.views.current() == TEXT

    def _error(self, headers: Headers) -> str | None:
        return headers_error(headers, self._title, self._own)

    @Slot()
    def _edited(self) -> None:
        self.grid.rows.check = self._error if self.value() != self._given else None
        if not self.grid.is_editing():  # nothing below moves while the user types
            self._fit()
        self.changed.emit()

    @Slot()
    def _fit(self) -> None:
        if self._fits_rows:
            rows = _ROWS_MAX if self._is_text() else min(self.grid.rows.rowCount() + 1, _ROWS_MAX)
            self._pages.setFixedHeight(self._height_of(rows))

    def _height_of(self, rows: int) -> int:
        return rows * metrics.ROW_DENSE + 2 * self.grid.frameWidth()

    @Slot(str)
    def _switch(self, view: str) -> None:
        """The other view shows what was edited in this one; malformed text stays in view."""
        if view == TEXT:
            self.text.setPlainText(header_lines(self.grid.rows.headers()))
        else:
            headers, problem = parse_headers(raw_text(self.text))
            if problem is not None:
                self.views.set_current(TEXT)
                return
            self.grid.rows.set_headers(headers)
        self._show_view(view)
        self._edited()

    def _show_view(self, view: str) -> None:
        self.views.set_current(view)
        old = self.focusProxy() or self.grid
        new = self.text if view == TEXT else self.grid
        self._pages.setCurrentWidget(new)
        self.setFocusProxy(new)
        # The form describes an error on the view that was shown.
        new.setAccessibleDescription(old.accessibleDescription())
        new.setProperty("invalid", old.property("invalid"))
        restyle(new)
        self._fit()
