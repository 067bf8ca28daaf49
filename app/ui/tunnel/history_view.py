"""The public URLs that the tunnel had, newest first, with their times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStackedLayout,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.core.bodies.escape import escape
from app.core.text import exact_time, span_text
from app.core.tunnel.tunnel import TunnelUrl
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import moment
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.labels import plain_tooltip

URL, PROGRAM, SINCE, UNTIL, SPAN = range(5)
TITLES = ("URL", "Program", "From", "Until", "Duration")
_WIDTHS = {PROGRAM: 200, SINCE: 132, UNTIL: 132, SPAN: 140}
_NEEDED = {SPAN: 860, PROGRAM: 700}
"""Narrower views hide a column."""
ROW = 36
NOTHING = "Each URL that the tunnel gets is listed here with its times."


class HistoryView(QWidget):
    """Ctrl+C copies the selected URLs."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.table = _Table(self)
        self.table.setHorizontalHeaderLabels(list(TITLES))
        self._empty = EmptyState("link", "No URLs yet", NOTHING, theme, self)
        holder = QWidget(self)
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.table)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(holder)
        self._urls: Sequence[TunnelUrl] = ()

    def show_urls(self, urls: Sequence[TunnelUrl], names: Mapping[str, str], now_us: int) -> None:
        """`names` are those of the programs, by ID."""
        self._urls = urls
        self.table.setRowCount(len(urls))
        for row, one in enumerate(urls):
            program = escape(names.get(one.program, one.program))
            cells = {URL: escape(one.url), PROGRAM: program, **_times(one, now_us)}
            tooltips = {SINCE: exact_time(one.since)} | (
                {UNTIL: exact_time(one.until)} if one.until is not None else {}
            )
            for column, text in cells.items():
                self.table.setItem(row, column, _item(text, tooltips.get(column, text), mono=column == URL))
        self._stack.setCurrentIndex(1 if urls else 0)

    def show_times(self, now_us: int) -> None:
        """The same URLs, later."""
        for row, one in enumerate(self._urls):
            for column, text in _times(one, now_us).items():
                item = self.table.item(row, column)
                if item is not None and item.text() != text:
                    item.setText(text)
                    if column == SPAN:
                        item.setToolTip(plain_tooltip(text))


class _Table(QTableWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(0, len(TITLES), parent)
        self.setAccessibleName("URLs of the tunnel")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW)
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(URL, QHeaderView.ResizeMode.Stretch)
        for column, width in _WIDTHS.items():
            self.setColumnWidth(column, width)
        copy = QAction("Copy URL", self)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy_selected)
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide columns that a narrow view has no space for."""
        super().resizeEvent(event)
        for column, width in _NEEDED.items():
            self.setColumnHidden(column, self.width() < width)

    @Slot()
    def copy_selected(self) -> None:
        """Copy the selected URLs, one a line."""
        rows = sorted({index.row() for index in self.selectedIndexes()})
        if rows:
            urls = [str(self.model().index(row, URL).data()) for row in rows]
            QGuiApplication.clipboard().setText("\n".join(urls))


def _times(url: TunnelUrl, now_us: int) -> dict[int, str]:
    until = moment(url.until, now_us) if url.until is not None else "now"
    end = now_us if url.until is None else url.until
    return {SINCE: moment(url.since, now_us), UNTIL: until, SPAN: span_text(end - url.since)}


def _item(text: str, tooltip: str, *, mono: bool) -> QTableWidgetItem:
    item = QTableWidgetItem(text)
    item.setToolTip(plain_tooltip(tooltip))
    if mono:
        item.setFont(mono_font())
    return item
