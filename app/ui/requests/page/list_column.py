"""The left column of a page of requests: its header, the chart, the filter, the list and its footer."""

from __future__ import annotations

from itertools import compress

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QWidget

from app.ui.requests.activity.chart import ActivityStrip
from app.ui.requests.list.delegate import ROW
from app.ui.requests.page.header import EndpointHeader
from app.ui.requests.page.list_area import ListArea

ROWS, ROWS_MIN = 5, 3
"""Rows of the list that what is above it leaves room for, and those without which the page scrolls."""


class ListColumn(QWidget):
    """Where height is short, the chart gives way to the list, then the header's description, then its facts. There is
    no chart without requests; a selected time range stays visible, because it filters the list.
    """

    def __init__(self, header: EndpointHeader, activity: ActivityStrip, parent: QWidget) -> None:
        super().__init__(parent)
        self._header, self._activity, self._empty = header, activity, False
        self._least_height: int | None = None
        """Since the last layout: the layouts around ask a dozen times for each endpoint that is shown."""

    def set_empty(self, empty: bool) -> None:
        if empty != self._empty:
            self._empty = empty
            self._fit()

    def minimumSizeHint(self) -> QSize:
        """Without what gives way."""
        if self._least_height is None:
            self._least_height = self._header_height(whole=False) + self._below(ROWS_MIN)
        return QSize(super().minimumSizeHint().width(), self._least_height)

    def event(self, event: QEvent) -> bool:
        laid_out = event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest)
        if laid_out:
            self._least_height = None
        done = super().event(event)
        if laid_out:
            self._fit()
        return done

    def _fit(self) -> None:
        header, activity = self._header, self._activity
        free = self.height() - self._header_height(whole=True) - self._below(ROWS)
        chart = free >= activity.sizeHint().height() and not self._empty
        activity.setVisible(chart or activity.times is not None)
        if not activity.isHidden():
            free -= activity.sizeHint().height()
        description = free >= 0
        header.show_lines(description=description, facts=description or free + header.lines_height()[0] >= 0)

    def _header_height(self, *, whole: bool) -> int:
        """With all the header's lines, or without those that give way."""
        header = self._header
        heights = header.lines_height()
        shown = header.heightForWidth(self.width()) if header.hasHeightForWidth() else header.sizeHint().height()
        hidden = [line.isHidden() for line in (header.description, header.facts)]
        return shown + sum(compress(heights, hidden)) - (0 if whole else sum(heights))

    def _below(self, rows: int) -> int:
        """The least height of all below the chart, with so many rows of the list."""
        parts = self.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        below = [one for one in parts if one not in (self._header, self._activity) and not one.isHidden()]
        return rows * ROW + sum(one.minimumSizeHint().height() for one in below if not isinstance(one, ListArea))
