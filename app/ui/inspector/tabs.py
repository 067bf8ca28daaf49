"""The tabs of a request. Each keeps its position from request to request, whatever its count."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QMouseEvent, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QStyle, QStyleOptionTab, QStylePainter, QTabBar, QWidget

from app.core.model import Capture, DeliveryState
from app.ui.theme.fonts import BASE, ui_font
from app.ui.theme.theme import Theme

TABS = ("Body", "Headers", "Query", "Deliveries", "Raw", "Info")
BODY, HEADERS, QUERY, DELIVERIES, RAW, INFO, TOKENS = range(7)
"""The last is shown only if the request contains tokens; being last, it does not move the others."""
NO_QUERY = "This request has no query"
ROOM = {HEADERS: "00", QUERY: "0", DELIVERIES: "0", TOKENS: "0"}
"""Digits that a count has space for."""
COUNT_MAX = 99
COUNT_SIZE, COUNT_GAP = 11, 5
# The style sheet's border and padding on each side, and the distance to the next tab.
LEFT, RIGHT, APART, TOP = 7, 7, 3, 2
MORE_APART = 8
"""Further pixels between tabs where there is room: a long count would touch the next title."""


def tab_for(remembered: int | None, capture: Capture, *, query: bool) -> int:
    """The tab to open a request with: the one `remembered` for its type, unless that would be empty.

    Then the body, or the `query` where there is one and no body.
    """
    instead = QUERY if query and not capture.size else BODY
    empty = {BODY: not capture.size, QUERY: not query, DELIVERIES: capture.delivery is DeliveryState.NONE}
    return instead if remembered is None or empty.get(remembered, False) else remembered


class RequestTabs(QTabBar):
    """Space is reserved for the count beside each title, so that no title moves. `user_selected` carries a tab that
    the user selected with mouse or keyboard, not one that the program selected.
    """

    user_selected = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, expanding=False, drawBase=False, usesScrollButtons=True)
        self._theme = theme
        self._counts: dict[int, int] = {}
        self._more_apart = 0
        self._font, self._count_font = ui_font(BASE, QFont.Weight.Medium), ui_font(COUNT_SIZE, QFont.Weight.Medium)
        for title in (*TABS, "Tokens"):
            self.addTab(title)
        self.setTabVisible(TOKENS, False)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.setMouseTracking(True)
        self.setAccessibleName("Parts of the request")
        self.tabBarClicked.connect(self._clicked)
        theme.changed.connect(self.update)

    def set_count(self, tab: int, count: int) -> None:
        """Set the number of items in the tab. 0 is shown too: without it there would be a gap to the next tab."""
        self._counts[tab] = count
        self.setTabText(tab, f"{_title(tab)} {count}")

    def show_request(self, tab: int, *, query: bool) -> None:
        """Select `tab` directly, without another tab in between; the query tab is enabled only with a `query`."""
        if query:
            self.setTabEnabled(QUERY, True)
            self.setTabToolTip(QUERY, "")
        self.setCurrentIndex(tab)
        if not query:
            self.setTabEnabled(QUERY, False)
            self.setTabToolTip(QUERY, NO_QUERY)

    def tabSizeHint(self, index: int) -> QSize:
        """Wide enough for the title and a typical count, whatever the count is now."""
        return QSize(self._least_width(index) + self._more_apart, super().tabSizeHint(index).height())

    def minimumTabSizeHint(self, index: int) -> QSize:
        """Titles are never cut."""
        return self.tabSizeHint(index)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tabs are as far apart as all of them have room, shown or not."""
        spare = self.width() - sum(map(self._least_width, range(self.count())))
        self._more_apart = max(0, min(MORE_APART, spare // self.count()))
        super().resizeEvent(event)

    def _least_width(self, tab: int) -> int:
        width = LEFT + QFontMetrics(self._font).horizontalAdvance(_title(tab)) + RIGHT + APART
        if tab in ROOM:
            width += COUNT_GAP + QFontMetrics(self._count_font).horizontalAdvance(ROOM[tab])
        return width

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the style's tabs, with title and count at fixed positions."""
        painter = QStylePainter(self)
        tokens = self._theme.tokens
        option = QStyleOptionTab()
        for tab in range(self.count()):
            if not self.isTabVisible(tab):
                continue
            self.initStyleOption(option, tab)
            option.text = ""
            option.rect = self._used(tab)
            painter.drawControl(QStyle.ControlElement.CE_TabBarTab, option)
            state = QStyle.StateFlag
            hovered = bool(option.state & state.State_MouseOver)
            strong = tab == self.currentIndex() or hovered
            enabled = self.isTabEnabled(tab)
            # That there is no query is worth reading, so it is as strong as text has to be.
            colour = tokens.text_faint if not enabled else tokens.text if strong else tokens.text_muted
            space = self.tabRect(tab).adjusted(LEFT, TOP, 0, 0)
            painter.setFont(self._font)
            painter.setPen(QColor(colour))
            painter.drawText(space, _MIDDLE, _title(tab))
            self._paint_count(painter, tab, space, tokens.text_faint)

    def _used(self, tab: int) -> QRect:
        """The tab without the space that its count does not use."""
        place, spare = self.tabRect(tab), self._more_apart
        if tab in self._counts:
            fm = QFontMetrics(self._count_font)
            spare += fm.horizontalAdvance(ROOM[tab]) - fm.horizontalAdvance(_count_text(self._counts[tab]))
        place.setWidth(place.width() - max(0, spare))
        return place

    def _paint_count(self, painter: QStylePainter, tab: int, space: QRect, colour: str) -> None:
        if tab not in self._counts:
            return
        painter.setFont(self._count_font)
        painter.setPen(QColor(colour))
        left = QFontMetrics(self._font).horizontalAdvance(_title(tab)) + COUNT_GAP
        flags = _MIDDLE | int(Qt.TextFlag.TextDontClip)  # A long count uses the distance to the next title.
        painter.drawText(space.adjusted(left, 1, 0, 0), flags, _count_text(self._counts[tab]))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt reports a click with any button, but only the left one selects."""
        if event.button() == Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The arrow keys select like a click."""
        before = self.currentIndex()
        super().keyPressEvent(event)
        self._emit_if_changed(before)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel selects, too."""
        before = self.currentIndex()
        super().wheelEvent(event)
        self._emit_if_changed(before)

    def _emit_if_changed(self, before: int) -> None:
        if self.currentIndex() != before:
            self.user_selected.emit(self.currentIndex())

    @Slot(int)
    def _clicked(self, tab: int) -> None:
        if tab >= 0 and self.isTabEnabled(tab):
            self.user_selected.emit(tab)


_MIDDLE = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


def _title(tab: int) -> str:
    return TABS[tab] if tab < TOKENS else "Tokens"


def _count_text(count: int) -> str:
    return str(count) if count <= COUNT_MAX else f"{COUNT_MAX}+"
