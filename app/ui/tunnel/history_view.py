"""The public URLs that the tunnel had, newest first, with their times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QGuiApplication, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QStackedLayout, QVBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.core.text import exact_time, span_text
from app.core.tunnel.tunnel import TunnelUrl
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import moment
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.rows import Column, Rows, RowsView
from app.ui.widgets.view_actions import add_view_action

URL, PROGRAM, SINCE, UNTIL, SPAN = range(5)
_WIDTHS = {PROGRAM: 200, SINCE: 132, UNTIL: 132, SPAN: 140}
_NEEDED = {SPAN: 860, PROGRAM: 700}
"""Narrower views hide a column."""
ROW = 36
NOTHING = "Each URL that the tunnel gets is listed here with its times."


class HistoryView(QWidget):
    """Ctrl+C copies the selected URLs."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = _Urls(self)
        self.table = _Table(self._rows, self)
        self._empty = EmptyState("link", "No URLs yet", NOTHING, theme, self)
        holder = QWidget(self)
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.table)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(holder)

    def show_urls(self, urls: Sequence[TunnelUrl], names: Mapping[str, str], now_us: int) -> None:
        """`names` are those of the programs, by ID."""
        self._rows.names = names
        self._rows.show_records(urls, lambda one: (one.url, one.since))
        self.show_times(now_us)
        self._stack.setCurrentIndex(1 if urls else 0)

    def show_times(self, now_us: int) -> None:
        """The same URLs, later."""
        self._rows.now_us = now_us
        self._rows.refresh_cells()


class _Urls(Rows[TunnelUrl]):
    def __init__(self, parent: QObject) -> None:
        middle = Qt.TextElideMode.ElideMiddle
        columns = [
            Column[TunnelUrl]("URL", lambda one: escape(one.url), elide=middle, font=mono_font()),
            Column[TunnelUrl]("Program", lambda one: escape(self.names.get(one.program, one.program)), elide=middle),
            Column[TunnelUrl]("From", lambda one: moment(one.since, self.now_us), lambda one: exact_time(one.since)),
            Column[TunnelUrl]("Until", self._until, lambda one: exact_time(one.until) if one.until else "now"),
            Column[TunnelUrl]("Duration", lambda one: span_text((one.until or self.now_us) - one.since)),
        ]
        super().__init__(columns, parent)
        self.names: Mapping[str, str] = {}
        self.now_us = 0

    def _until(self, one: TunnelUrl) -> str:
        return moment(one.until, self.now_us) if one.until is not None else "now"


class _Table(RowsView):
    def __init__(self, rows: _Urls, parent: QWidget) -> None:
        super().__init__("URLs of the tunnel", parent)
        self._rows = rows
        self.show_rows(rows, ROW)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(URL, QHeaderView.ResizeMode.Stretch)
        for column, width in _WIDTHS.items():
            self.setColumnWidth(column, width)
        add_view_action(self, "Copy URL", self.copy_selected, QKeySequence.StandardKey.Copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide columns that a narrow view has no space for."""
        super().resizeEvent(event)
        for column, width in _NEEDED.items():
            self.setColumnHidden(column, self.width() < width)

    @Slot()
    def copy_selected(self) -> None:
        """Copy the selected URLs, one a line."""
        urls = [self._rows.cell(self._rows.record(row), URL) for row in self.selected_rows()]
        if urls:
            QGuiApplication.clipboard().setText("\n".join(urls))
