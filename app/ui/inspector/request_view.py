"""What is shown of an open request: its header, and a tab for each part of it. Each tab keeps its position from request
to request, whatever its count."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cached_property, partial
from typing import TypeVar

from PySide6.QtCore import QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QMouseEvent, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QStackedWidget, QStyle, QStyleOptionTab, QStylePainter, QTabBar, QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.media_types import media_type
from app.core.errors import NotAllowedError
from app.core.model import Capture, DeliveryState
from app.core.worst_state import State, delivery_state, worst
from app.ui.inspector.body.body_bars import NoticesBar
from app.ui.inspector.body.body_pane import BodyPane
from app.ui.inspector.body.body_source import BodySource, of_capture, of_raw
from app.ui.inspector.deliveries_tab import DeliveriesTab
from app.ui.inspector.header import RequestHeader
from app.ui.inspector.pairs_view import PairsView
from app.ui.inspector.table_tabs import HeadersTab, InfoTab, TokensTab, query_rows
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line
from app.ui.widgets.focus import order_tabs, takes_keys
from app.ui.widgets.layout import hbox, vbox

TABS = ("Body", "Headers", "Query", "Deliveries", "Raw", "Info", "Tokens")
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
_MIDDLE = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


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
        for title in TABS:
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
        self.setTabText(tab, f"{TABS[tab]} {count}")

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
        width = LEFT + QFontMetrics(self._font).horizontalAdvance(TABS[tab]) + RIGHT + APART
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
            painter.drawText(space, _MIDDLE, TABS[tab])
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
        left = QFontMetrics(self._font).horizontalAdvance(TABS[tab]) + COUNT_GAP
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


def _count_text(count: int) -> str:
    return str(count) if count <= COUNT_MAX else f"{COUNT_MAX}+"


STILL_READABLE = "You can still read and copy it here."
"""Used after the request was deleted."""
SHOWN_DAMAGED = "It is shown as it is stored, and neither forwarded nor replayed."
LEAST_HEIGHT = 140
"""Pixels of a tab. The tallest would need more: on a small screen the window would scroll while a note is written."""
PAGES = ("body", "fields", "query", "deliveries", "raw", "info", "tokens")
"""The attributes with the pages of the tabs, in their order."""
Page = TypeVar("Page", bound=QWidget)


class RequestView(QWidget):
    """`show_capture` fills it. The tab is remembered for each content type."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._services, self._theme = services, theme
        self._capture: Capture | None = None
        self._tab_of: dict[str, int] = {}
        self._latest_check = Latest(self, tasks, "detail: check")
        self._tasks = tasks
        self.header = RequestHeader(theme, tasks, self)
        self.header.note.read_only = services.read_only is not None
        self._damaged = False
        """Whether what is stored of the request is not what was received."""
        self.deleted_bar = NoticesBar(theme, self)
        self.damaged_bar = NoticesBar(theme, self)
        self.tabs = RequestTabs(theme, self)
        # Made where they are shown: to move a page later would style all that is in it anew.
        self._pages = QStackedWidget(self)
        self._pages.setMinimumHeight(LEAST_HEIGHT)
        self.body = BodyPane(theme, tasks, self._pages)
        self.body.loader.begun.connect(self._body_read)
        self.deliveries = DeliveriesTab(services, theme, tasks, self._pages)
        self.deliveries.counted.connect(self._deliveries_counted)
        self.tokens = TokensTab(theme, tasks, self._pages)
        self._filled: set[int] = set()
        """The tabs that show this request; the others do so when they are shown."""
        self._source: BodySource | None = None
        self._marks: tuple[re.Pattern[str] | None, re.Pattern[str] | None] = None, None
        self._build_layout()
        self.tabs.currentChanged.connect(self._show_tab)
        self.tabs.user_selected.connect(self._remember_tab)
        self.tokens.found.connect(self._tokens_found)

    @cached_property
    def fields(self) -> HeadersTab:
        """Made when it is first shown, as the next three are: they would slow down the start of the window."""
        return self._add_page(HeadersTab(self._theme, self._pages))

    @cached_property
    def query(self) -> PairsView:
        titles = ("Name", "Value", "As sent")
        return self._add_page(PairsView("Query parameters", titles, self._theme, self._pages))

    @cached_property
    def raw(self) -> BodyPane:
        raw = BodyPane(self._theme, self._tasks, self._pages, what="request")
        raw.code.setAccessibleName("Request as received")
        return self._add_page(raw)

    @cached_property
    def info(self) -> InfoTab:
        return self._add_page(InfoTab(self._theme, self._pages))

    @property
    def headers(self) -> PairsView:
        return self.fields.headers

    def show_capture(self, capture: Capture, *, deliveries: bool) -> None:
        """With the tab that its content type had last, or with its `deliveries`."""
        self._damaged = False
        self._source = source = of_capture(capture, self._services.store.captures)
        self.empty()
        self.header.show_capture(capture, self._services.providers)
        self.show_state(capture)
        query = query_rows(capture.target)
        self.tabs.set_count(HEADERS, len(capture.headers))
        self.tabs.set_count(QUERY, len(query))
        self.deliveries.show_capture(capture)
        if capture.delivery is DeliveryState.NONE:
            self.tabs.set_count(DELIVERIES, 0)
        self.body.show_source(source)
        tab = DELIVERIES if deliveries else self._tab_of_request(capture, bool(query))
        self.tabs.show_request(tab, query=bool(query))
        self._show_tab(self.tabs.currentIndex())
        self.tokens.show_tokens(capture, source)
        self.damaged_bar.say([])
        self._latest_check.run(partial(self._check, source))

    def show_found(self, capture: Capture) -> None:
        """Who sent the request shown, what it is about, or when its response was sent, was found out."""
        self._capture = capture
        self.header.show_capture(capture, self._services.providers)
        if INFO in self._filled:
            self._show_info(capture)

    def show_state(self, capture: Capture) -> None:
        """How the request shown stands now, beside the response to its sender."""
        self._capture = capture
        endpoint = self._services.store.endpoints.by_id(capture.endpoint_id)
        state = delivery_state(capture.delivery, endpoint.targets if endpoint is not None else ())
        self.header.show_state(worst((state, State.DAMAGED)) if self._damaged else state)

    def show_deleted(self, reason: str) -> None:
        """Say why it is no longer stored; empty: it is."""
        self.deleted_bar.say([reason, STILL_READABLE] if reason else [])

    def mark(self, headers: re.Pattern[str] | None, query: re.Pattern[str] | None) -> None:
        """Mark what a filter found, in these tabs, of this request and of those shown later."""
        self._marks = headers, query
        self._mark_filled()

    def clear(self) -> None:
        """No request is shown."""
        self._capture = None
        self._latest_check.stop()
        self.body.stop()
        self.deliveries.clear()
        self.empty()
        self.tokens.stop()

    def empty(self) -> None:
        """Another request is shown, or none."""
        if RAW in self._filled:
            self.raw.stop()
        self._filled.clear()

    @Slot()
    def take_focus(self) -> None:
        """Move the focus into what is shown, or to the tabs if that has nothing to move in."""
        tab = self.tabs.currentIndex()
        if tab in (BODY, RAW):
            widget = (self.body if tab == BODY else self.raw).stack.currentWidget()
        else:
            widget = self.deliveries.list if tab == DELIVERIES else self._pages.currentWidget()
        (widget if widget is not None and takes_keys(widget) else self.tabs).setFocus()

    def show_deliveries(self) -> None:
        self.tabs.setCurrentIndex(DELIVERIES)

    def go_to_match(self, *, next_one: bool) -> None:
        """The next match in the body, or the one before."""
        self.tabs.setCurrentIndex(BODY)
        find_bar = self.body.find_bar
        (find_bar.next_match if next_one else find_bar.previous_match)()

    def open_find(self) -> None:
        """Search in the body, or in the raw request while that is shown."""
        if self.tabs.currentIndex() == RAW:
            self.raw.open_find()
        else:
            self.tabs.setCurrentIndex(BODY)
            self.body.focused().open_find()

    def _build_layout(self) -> None:
        for page in (self.body, self.deliveries, self.tokens):
            self._pages.addWidget(page)
        bar = hbox((self.tabs, 1), margins=(metrics.SPACE_2, 0, metrics.SPACE_1, 0))  # a tab's focus ring has its space
        vbox(
            self.deleted_bar,
            self.damaged_bar,
            self.header,
            bar,
            line(self),
            (self._pages, 1),
            inside=self,
            spacing=0,
            margins=0,
        )

    async def _check(self, source: BodySource) -> None:
        with suppress(NotAllowedError):  # showing it reports that
            damage = await source.damage()
            if damage:
                self.damaged_bar.say([damage, SHOWN_DAMAGED])
                self._damaged = True
                if self._capture is not None:
                    self.show_state(self._capture)

    def _tab_of_request(self, capture: Capture, query: bool) -> int:
        tab = self._tab_of.get(media_type(capture.content_type))
        if tab == TOKENS and self.tabs.currentIndex() != TOKENS:
            tab = None  # Whether there are tokens is known only later.
        return tab_for(tab, capture, query=query)

    @Slot(int)
    def _deliveries_counted(self, count: int) -> None:
        self.tabs.set_count(DELIVERIES, count)

    @Slot(str, int)
    def _tokens_found(self, capture_id: str, count: int) -> None:
        current = self._capture
        if current is None or current.id != capture_id:
            return
        self.tabs.set_count(TOKENS, count)
        if not count and self.tabs.currentIndex() == TOKENS:
            query = self.tabs.isTabEnabled(QUERY)
            self.tabs.show_request(tab_for(None, current, query=query), query=query)
        self.tabs.setTabVisible(TOKENS, count > 0)
        if count and self._tab_of.get(media_type(current.content_type)) == TOKENS:
            self.tabs.setCurrentIndex(TOKENS)

    @Slot(int)
    def _show_tab(self, tab: int) -> None:
        self._fill(tab)
        page, focus = getattr(self, PAGES[tab]), self.window().focusWidget()
        inside = page is not self._pages.currentWidget() and self._pages.isAncestorOf(focus)
        self._pages.setCurrentWidget(page)
        if inside:
            self.take_focus()

    def _fill(self, tab: int) -> None:
        capture, source = self._capture, self._source
        if capture is None or source is None or tab in self._filled:
            return
        self._filled.add(tab)
        if tab == HEADERS:
            self.fields.show_fields(capture.headers, capture.trailers)
        elif tab == QUERY:
            self.query.set_rows(query_rows(capture.target))
        elif tab == RAW:
            self.raw.show_source(of_raw(capture, source))
        elif tab == INFO:
            self._show_info(capture)
        self._mark_filled()

    def _show_info(self, capture: Capture) -> None:
        self.info.show_capture(capture, self._services.providers)
        loader = self.body.loader
        if loader.reader is not None and loader.source is self._source:
            self.info.read(loader.reader)

    def _mark_filled(self) -> None:
        headers, query = self._marks
        if HEADERS in self._filled:
            self.headers.mark(headers)
        if QUERY in self._filled:
            self.query.mark(query)

    def _add_page(self, page: Page) -> Page:
        self._pages.addWidget(page)
        order_tabs(self)
        return page

    @Slot(object)
    def _body_read(self, reader: BodyReader) -> None:
        if INFO in self._filled:
            self.info.read(reader)

    @Slot(int)
    def _remember_tab(self, tab: int) -> None:
        if self._capture is not None:
            self._tab_of[media_type(self._capture.content_type)] = tab
