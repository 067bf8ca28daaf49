"""The table of refused requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.core.model import Endpoint, Refusal
from app.core.text import clock_time, exact_time
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import METHOD_SIZE, Tone, paint_method, paint_pill
from app.ui.widgets.rows import NONE, Column, Rows, RowsView, badge_place

TIME, STATUS, METHOD, TARGET, ENDPOINT, REASON, SOURCE = range(7)
_STATUS_SIZE = QSize(40, 18)
_REASON_MIN, _REASON_USUAL, _REASON_MAX = 202, 232, 400
"""Widths of the column. Most reasons fit the second."""
_TARGET_MIN = 180


def columns(theme: Theme, endpoint_of: Callable[[Refusal], Endpoint | None]) -> list[Column[Refusal]]:
    """`endpoint_of` finds the endpoint a request was for, as it is now."""

    def endpoint_name(refusal: Refusal) -> str:
        endpoint = endpoint_of(refusal)
        return endpoint.name if endpoint is not None else ""

    return [
        Column("Time", lambda refusal: clock_time(refusal.at), tooltip=lambda refusal: exact_time(refusal.at)),
        Column("Status", lambda refusal: str(refusal.status), paint=partial(_paint_status, theme)),
        Column("Method", lambda refusal: refusal.method or NONE, paint=partial(_paint_method, theme)),
        Column("Target", lambda refusal: refusal.target or NONE, elide=Qt.TextElideMode.ElideMiddle),
        Column("Endpoint", endpoint_name),
        Column("Reason", lambda refusal: refusal.reason),
        Column("Source", lambda refusal: refusal.source_address),
    ]


def _paint_status(theme: Theme, painter: QPainter, place: QRect, refusal: Refusal) -> None:
    badge = QRectF(badge_place(place, _STATUS_SIZE.width(), _STATUS_SIZE.height()))
    tone: Tone = "danger" if refusal.status >= 500 else "warning"
    paint_pill(painter, badge, str(refusal.status), theme.tokens, tone)


def _paint_method(theme: Theme, painter: QPainter, place: QRect, refusal: Refusal) -> None:
    badge = QRectF(badge_place(place, METHOD_SIZE.width(), METHOD_SIZE.height()))
    paint_method(painter, badge, refusal.method.replace("\n", " "), theme.tokens)


class RefusedModel(Rows[Refusal]):
    """Newest first."""

    def show_newest(self, rows: Sequence[Refusal]) -> None:
        """Show `rows`, newest first; those already shown keep their place, selection and scroll position."""
        fresh = _fresh(rows, self._rows)
        if fresh:
            self.insert_records(0, rows[:fresh])
        if len(self._rows) > len(rows):
            self.remove_records(len(rows), len(self._rows) - len(rows))


class RefusedTable(RowsView):
    def __init__(self, parent: QWidget) -> None:
        super().__init__("Refused requests", parent)
        self._reason_width: int | None = None
        """As set here; the column has another width once the user dragged it."""

    def share_room(self) -> None:
        """Give target and reason half each of what the other columns leave; in a narrow table the target, which says
        enough with its middle left out, makes room for the reason.
        """
        if self._reason_width not in (None, self.columnWidth(REASON)):
            return
        others = set(range(self.model().columnCount())) - {TARGET, REASON}
        rest = self.viewport().width() - sum(map(self.columnWidth, others))
        self._reason_width = max(_REASON_MIN, min(rest - _TARGET_MIN, _REASON_USUAL), min(rest // 2, _REASON_MAX))
        self.setColumnWidth(REASON, self._reason_width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A selected row in view stays there: the pane below takes room when it opens."""
        current = self.currentIndex()
        seen = current.isValid() and 0 <= self.visualRect(current).top() < event.oldSize().height()
        super().resizeEvent(event)
        self.share_room()
        if seen:
            self.scrollTo(current)


def _fresh(rows: Sequence[Refusal], known: Sequence[Refusal]) -> int:
    """How many of `rows` come before the newest known one."""
    if not known:
        return len(rows)
    return next((place for place, row in enumerate(rows) if row is known[0]), len(rows))
