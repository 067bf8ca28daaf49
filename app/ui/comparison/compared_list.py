"""The list of compared requests, with two lines for each."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.response_comparison import ComparedRequest, ComparisonResult
from app.core.text import ago_text, exact_time
from app.ui.inspector.title import title_of
from app.ui.tasks import WhileShown
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import METHOD_SIZE, Tone, paint_method, paint_pill
from app.ui.widgets.rows import RIGHT, Column, Rows, RowsList, paint_line

ROW = 52
TICK_MS = 1_000
MARGIN, MARK_WIDTH, TIME_WIDTH = 12, 24, 44

MARKS: dict[ComparisonResult, tuple[str, Tone, str]] = {
    ComparisonResult.DIFFERENT: ("≠", "danger", "Different"),
    ComparisonResult.SAME: ("=", "success", "Same"),
    ComparisonResult.NO_RESPONSE: ("?", "neutral", "Not comparable"),
}
"""The mark of a result, its tone, and it in words."""


def what_differs(compared: ComparedRequest) -> str:
    """The first difference in words, and how many more there are."""
    if compared.result is ComparisonResult.NO_RESPONSE:
        return "Neither target responded"
    differences = compared.comparison.differences
    if not differences:
        return "Same response" if not compared.comparison.notes else f"Same, but: {compared.comparison.notes[0]}"
    more = len(differences) - 1
    rest = f" · {more:,}{'+' if compared.comparison.more else ''} more" if more else ""
    return differences[0].text + rest


class ComparedModel(Rows[ComparedRequest]):
    """Newest first. `only_different` hides the others; one that stops to differ while it is listed stays."""

    def __init__(self, providers: Mapping[str, str], theme: Theme, parent: QObject) -> None:
        super().__init__([Column("", self._words, _tooltip, self._paint)], parent)
        self._providers, self._theme = providers, theme
        self._small = ui_font(SMALL)
        self._all: dict[str, ComparedRequest] = {}
        self.counts: Counter[ComparisonResult] = Counter()
        self.only_different = True

    def clear(self) -> None:
        self._all, self.counts = {}, Counter()
        self.set_records(())

    def show_only_different(self, only: bool) -> None:
        self.only_different = only
        self.set_records(sorted((one for one in self._all.values() if self._listed(one)), key=_key))

    def add(self, found: Sequence[ComparedRequest]) -> None:
        """Add these, or replace those that are known."""
        for one in found:
            known = self._all.get(one.request.id)
            if known is not None:
                self.counts[known.result] -= 1
            self.counts[one.result] += 1
            self._all[one.request.id] = one
            row = bisect_left(self._rows, _key(one), key=_key)
            if row < len(self._rows) and self._rows[row].request.id == one.request.id:
                self.replace_record(row, one)
            elif self._listed(one):
                self.insert_records(row, [one])

    def row_of(self, capture_id: str) -> int | None:
        return next((row for row, one in enumerate(self._rows) if one.request.id == capture_id), None)

    def _listed(self, one: ComparedRequest) -> bool:
        return not self.only_different or one.result is ComparisonResult.DIFFERENT

    def _words(self, one: ComparedRequest) -> str:
        title = title_of(one.request, self._providers).main
        return f"{MARKS[one.result][2]}: {one.request.method} {title}. {what_differs(one)}"

    def _paint(self, painter: QPainter, rect: QRect, one: ComparedRequest) -> None:
        """Mark, method, target and age; below them what differs."""
        tokens = self._theme.tokens
        painter.setPen(QColor(tokens.border))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        mark, tone, _ = MARKS[one.result]
        top = QRect(rect.left(), rect.top() + 5, rect.width(), 22)
        paint_pill(painter, QRectF(top.left() + MARGIN, top.top() + 2, MARK_WIDTH, 18), mark, tokens, tone)
        left = top.left() + MARGIN + MARK_WIDTH + 8
        badge = QRectF(left, top.top() + (top.height() - METHOD_SIZE.height()) / 2, *METHOD_SIZE.toTuple())
        paint_method(painter, badge, escape(one.request.method[:20]), tokens)
        age = QRect(top.right() - MARGIN - TIME_WIDTH, top.top(), TIME_WIDTH, top.height())
        when = ago_text(one.request.received_at, now_us())
        paint_line(painter, age, when, self._small, tokens.text_muted, align=RIGHT)
        title = QRect(top)
        title.setLeft(round(badge.right()) + 8)
        title.setRight(age.left() - 4)
        text = title_of(one.request, self._providers).main
        paint_line(painter, title, text, ui_font(), tokens.text, elide=Qt.TextElideMode.ElideMiddle)
        below = QRect(left, top.bottom() + 1, rect.right() - MARGIN - left, 18)
        colour = tokens.text if one.result is ComparisonResult.DIFFERENT else tokens.text_muted
        paint_line(painter, below, what_differs(one), self._small, colour)


def _key(one: ComparedRequest) -> tuple[int, int]:
    """Ascending from the newest on: ids of the same time in reverse."""
    return -one.request.received_at, -int(one.request.id.replace("-", ""), 16)


def _tooltip(one: ComparedRequest) -> str:
    texts = [each.text for each in one.comparison.differences[:12]] or [what_differs(one)]
    return "\n".join([escape(one.request.target[:600]), exact_time(one.request.received_at), *texts])


class ComparedList(RowsList[ComparedRequest]):
    def __init__(self, model: ComparedModel, theme: Theme, parent: QWidget) -> None:
        super().__init__("Compared requests", model, ROW, theme, parent)
        WhileShown(TICK_MS, self, self.viewport().update)  # the ages go on
