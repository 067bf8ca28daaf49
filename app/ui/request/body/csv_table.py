"""Shows comma-separated values as a table: the first rows at once, the rest as they are read off the GUI thread."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.bodies.formats.csv import DELIMITERS, PIECE, Block, CsvReader, Rows, has_header
from app.core.text import count_of
from app.ui.request.body.body_bars import view_footer
from app.ui.request.body.body_source import BodySource
from app.ui.request.body.csv_view import CsvView
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import ElidedLabel

TEXT_MAX = 128 * 1024 * 1024
"""Maximum characters held in memory; the rest of a larger body is not shown."""


class CsvTable(QWidget):
    """`show_source` shows a body. Ctrl+C copies cells, Enter shows one in full, Ctrl+E what it decodes to.

    `shown` is emitted with the first rows, `ended` after the last.
    """

    value_requested = Signal(object)
    decode_requested = Signal(object)
    shown = Signal()
    ended = Signal()

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._latest = Latest(self, tasks, "table: load")
        self.view = CsvView(theme, self)
        self.summary = ElidedLabel("", "small", self)
        self.setFocusProxy(self.view)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.view, 1)
        column.addWidget(view_footer(self.summary, self))
        self._state = ""
        self.view.value_requested.connect(self.value_requested)
        self.view.decode_requested.connect(self.decode_requested)
        self.view.rows.modelReset.connect(self._show_summary)
        self.view.refused.connect(self._show_refusal)

    def show_source(self, source: BodySource) -> None:
        self.clear()
        self._latest.run(partial(self._load, source))

    def clear(self) -> None:
        """Stop loading, and free the rows."""
        self._latest.stop()
        self._state = ""
        self.view.rows.start(Rows(","), header=False)

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark matches of this pattern; None marks nothing."""
        self.view.mark(pattern)

    async def _load(self, source: BodySource) -> None:
        reader, offset, ended = CsvReader(source.headers, source.content_type), 0, False
        self._state = "loading"
        while not ended and reader.error is None:
            data = await source.read(offset, PIECE)
            offset += len(data)
            ended = offset >= source.size or not data
            blocks = reader.feed(data, ended)
            while (block := await in_thread(_next, blocks)) is not None:
                self._add(block, reader, source.content_type)
                if self.view.rows.rows.characters > TEXT_MAX:
                    self._finish("too large to show completely: save the body to see the rest")
                    return
        self._finish(reader.error or "")

    def _finish(self, state: str) -> None:
        self._state = state
        self._show_summary()
        self.ended.emit()

    def _add(self, block: Block, reader: CsvReader, content_type: str) -> None:
        model = self.view.rows
        if len(model.rows):
            model.add(block)
            self._show_summary()
            return
        rows = Rows(reader.delimiter)
        rows.add(block)
        self.view.start(rows, header=has_header(rows, content_type))
        self.shown.emit()

    @Slot()
    def _show_summary(self) -> None:
        model = self.view.rows
        if not len(model.rows):
            self.summary.setText("Loading…" if self._state == "loading" else self._state)
            return
        parts = [
            count_of(model.rowCount(), "row"),
            count_of(model.columnCount(), "column"),
            f"separated by {DELIMITERS[model.rows.delimiter]}",
            *(["loading…"] if self._state == "loading" else [self._state] if self._state else []),
        ]
        self.summary.setText(" · ".join(parts))

    @Slot(str)
    def _show_refusal(self, words: str) -> None:
        self.summary.setText(words)


def _next(blocks: Iterator[Block]) -> Block | None:
    return next(blocks, None)
