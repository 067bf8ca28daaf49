"""The list of a page, or the empty state in its place, with the pill over it that counts new requests, and the line
below it that counts all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QFrame,
    QLineEdit,
    QPlainTextEdit,
    QStackedWidget,
    QTextEdit,
    QWidget,
)

from app.core.curl import ready_curl
from app.core.model import Summary
from app.core.text import count_of
from app.ui.commands.command import Command, CommandButton
from app.ui.inspector.request_pane import RequestPane
from app.ui.requests.activity_chart import ActivityStrip
from app.ui.requests.filtering import PageFilter
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.throttle import Pause
from app.ui.widgets.buttons import Button, CopyButton
from app.ui.widgets.card import EMPTY_WIDTH, LEAST, EmptyState
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import FittingLabel, label, plain_tooltip
from app.ui.widgets.layout import Stretch, hbox, vbox

FAR_SCREENS = 1.5
"""The pill is shown when the list is scrolled down by more than this many screens."""
REST_MS = 1_500
"""After this long without a move nobody is about to click."""


class FirstRequest(QObject):
    """However many arrive at once, the oldest is opened. The focus does not move, and nothing is opened while the user
    types or a dialog or menu is open.

    The request is marked read as soon as the window is active: at once, or later if it is not.
    """

    def __init__(self, page: QWidget, feed: RequestFeed, rows: RequestList, detail: RequestPane) -> None:
        super().__init__(page)
        self._page, self._feed, self._list, self._detail = page, feed, rows, detail
        self.waiting = False
        """Whether the page shows the empty state."""
        self._oldest: Summary | None = None
        """The oldest request received since; in a flood it may not be loaded."""
        self._to_mark_read: str | None = None
        feed.arrived.connect(self._remember_oldest)
        feed.loaded.connect(self._open_first)
        feed.relisted.connect(self.forget)
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        app.focusWindowChanged.connect(self._front_changed)

    @Slot()
    def forget(self) -> None:
        """Wait for no request until the page is empty again."""
        self.waiting, self._oldest = False, None

    @Slot(object)
    def _remember_oldest(self, arrived: Sequence[Summary]) -> None:
        if self.waiting:
            known = (self._oldest,) if self._oldest is not None else ()
            self._oldest = min((*known, *arrived), key=attrgetter("id"))

    @Slot()
    def _open_first(self) -> None:
        count = self._feed.model.rowCount()
        if not (self.waiting and count and self._feed.scope.whole):
            return
        first = self._oldest or self._feed.model.summary(count - 1)
        self.forget()
        if not self._page.isVisible() or self._page.window().isMinimized() or self._detail.capture_id or _busy():
            return
        self._list.keep_one(first)
        active = self._page.isActiveWindow()
        self._to_mark_read = None if active else first.id
        self._detail.show_request(first.id, mark_read=active)

    @Slot(QObject)
    def _front_changed(self, window: QObject | None) -> None:
        """The window is active again, and the request is still open."""
        if self._to_mark_read is None or not self._page.isActiveWindow():
            return
        if self._page.isVisible() and self._detail.capture_id == self._to_mark_read:
            self._detail.mark_read()
        self._to_mark_read = None


def _busy() -> bool:
    """Whether the user is typing, or a dialog or menu is open."""
    if QApplication.activeModalWidget() is not None or QApplication.activePopupWidget() is not None:
        return True
    focus = QApplication.focusWidget()
    if isinstance(focus, QPlainTextEdit | QTextEdit | QLineEdit):
        return not focus.isReadOnly()
    return isinstance(focus, QAbstractSpinBox)


TEXT_WIDTH = 520
TILE_FROM = 360


class EmptyList(EmptyState):
    """Its owner hides it when the first request arrives."""

    def __init__(self, theme: Theme, new: Command, parent: QWidget) -> None:
        super().__init__("hook", "", "", theme, parent)
        self.tile_from = TILE_FROM
        self.body.setContentsMargins(metrics.SPACE_2, metrics.SPACE_5, metrics.SPACE_2, metrics.SPACE_5)
        self._box = QFrame(self)
        self._box.setProperty("part", "field")
        self.command = label("", "", self._box, wrap=True)
        self.command.setFont(mono_font())
        self.copy = CopyButton("", "command", theme, self._box)
        self._fit_command()
        hbox(
            (self.command, 1),
            vbox(self.copy, Stretch()),
            inside=self._box,
            margins=(metrics.SPACE_3, metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_3),
        )
        self.test = Button("Send a test request", theme, self, kind="primary", icon="send")
        self.new = CommandButton("New endpoint", new, theme, self, kind="primary", icon="add")
        self.tunnel = Button("Set up a tunnel", theme, self, kind="link", icon="tunnel")
        self.target = Button("Add a target", theme, self, kind="link", icon="targets")
        centre = Qt.AlignmentFlag.AlignHCenter
        place = self.body.count() - 1
        self.body.insertSpacing(place, metrics.SPACE_2)
        self.body.insertWidget(place + 1, self._box, 0, centre)
        self.body.insertSpacing(place + 2, metrics.SPACE_2)
        self.body.insertLayout(place + 3, hbox(Stretch(), self.test, self.new, Stretch(), spacing=0))
        more = hbox(Stretch(), self.tunnel, self.target, Stretch(), spacing=metrics.SPACE_4)
        self.body.insertLayout(place + 4, more)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow list wraps the command earlier."""
        super().resizeEvent(event)
        self._fit_command()

    def _fit_command(self) -> None:
        beside = metrics.SPACE_3 + self.copy.sizeHint().width() + 2 * metrics.SPACE_2
        wanted = self.command.fontMetrics().size(0, self.command.text()).width() + metrics.SPACE_2
        width = max(LEAST.width(), min(wanted, self.text_room() - beside))
        self.command.setFixedWidth(width)
        # A layout that centres its items does not ask a wrapped label how high it is: at least its minimum, it says.
        self.command.setMinimumHeight(0)
        self.command.setFixedHeight(max(0, self.command.heightForWidth(width)))

    def show_all(self, any_endpoint: bool) -> None:
        """While the requests of all endpoints are listed: say what is missing, and offer the first endpoint."""
        text = "Requests to any of your endpoints appear here as they arrive."
        if any_endpoint:
            self._show("No requests yet", text)
        else:
            self._show("No endpoints yet", f"{text}\nAn endpoint is a URL of your own that captures them.", self.new)

    def show_endpoint(self, url: str, active: bool, mark: str, *, tunnel: bool, target: bool) -> None:
        """Say how to send the first request to `url`, and why that may not work (`mark`). Offer a `tunnel`, and a
        `target`."""
        if not active:
            self._show("Switched off", "While this endpoint is off, nothing is captured and senders get 503.")
            return
        command = ready_curl(url)
        # Zero-width spaces let the long URL wrap; what is copied has none, and is one line, as any shell takes it.
        lines = command.replace(" -H ", "\n  -H ").replace(" -d ", "\n  -d ")
        self.command.setText(lines.replace("/", "/\u200b"))
        self.command.setAccessibleName(command)
        self.copy.text_to_copy = command
        self._fit_command()
        text = "Give the URL above to a provider, or run this in a terminal.\nThe request appears here by itself."
        if mark:
            text = f"The URL may not work now ({mark}). {text}"
        more = [link for link, offered in ((self.tunnel, tunnel), (self.target, target)) if offered]
        self._show("Waiting for the first request", text, self._box, self.test, *more)

    def _show(self, title: str, text: str, *controls: QWidget) -> None:
        """With these controls and no others."""
        self.say(title, text)
        for one in (self._box, self.test, self.new, self.tunnel, self.target):
            one.setVisible(one in controls)


class ListArea(QStackedWidget):
    """Call `refresh` when the list or the number of stored requests changed. `footer` is the line below."""

    refreshed = Signal()

    def __init__(
        self,
        theme: Theme,
        pause: Pause,
        *,
        feed: RequestFeed,
        rows: RequestList,
        activity: ActivityStrip,
        page_filter: PageFilter,
        footer: FittingLabel,
        new_endpoint: Command,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._theme, self._pause = theme, pause
        self._feed, self._list, self._activity, self._filter = feed, rows, activity, page_filter
        self._footer = footer
        self.empty = EmptyList(theme, new_endpoint, self)
        self._add(self.empty, TEXT_WIDTH)
        self.addWidget(rows)
        page_filter.changed.connect(self.refresh)
        feed.loaded.connect(self.refresh)
        feed.counts_changed.connect(self.refresh)
        pause.changed.connect(self.refresh)

    @cached_property
    def empty_time_range(self) -> EmptyState:
        """Made when it is first shown, as `no_matches` is: it would slow down the start of the window."""
        text = "Select another time range in the chart above, or show all times."
        state = EmptyState("queued", "No requests in this time range", text, self._theme, self, action="Show all times")
        state.action.connect(self._activity.clear)
        self._add(state)
        return state

    @cached_property
    def no_matches(self) -> EmptyState:
        """The filter says what is in it."""
        state = EmptyState("search", "No matches", "", self._theme, self, action="Clear filter")
        state.action.connect(self._filter.clear_or_resume)
        self._add(state)
        return state

    def _add(self, state: EmptyState, text_width: int = EMPTY_WIDTH) -> None:
        state.set_text_width(text_width)
        state.setProperty("part", "surface")
        state.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.addWidget(state)
        order_tabs(self)

    @Slot()
    def refresh(self) -> None:
        counts = self._feed.counts()
        total, unread = sum(one.total for one in counts.values()), sum(one.unread for one in counts.values())
        in_range, status = self._count_in_time_range(), self._filter.search_status
        count = f"{in_range} of {count_of(total, 'request')} in this range" if in_range else count_of(total, "request")
        unread_text = f" · {unread:,} unread" if unread and self._feed.scope.time_range is None else ""
        state = "keeps capturing" if self._pause.on else "newest first"
        with_unread = f"{count}{unread_text}"
        short = f"{in_range} of {total:,}" if in_range else f"{total:,}"
        wordings = (f"{with_unread} · {state}", with_unread, count, short)
        if self._filter.active and total:
            self._footer.set_wordings(status.found(total), status.meaning(total))
        else:
            self._footer.set_wordings(wordings if total else ("No requests yet",))
        self.setCurrentWidget(self._widget_for(total))
        self._filter.fit(total)
        # Endpoints without requests have no row that would show their names.
        if self._list.request_delegate.fit_names({number for number, one in counts.items() if one.total}):
            self._list.viewport().update()
        self.refreshed.emit()

    def _count_in_time_range(self) -> str | None:
        """How many requests the selected time range has; None while requests of all times are listed."""
        pager, model, activity = self._feed.pager, self._feed.model, self._activity
        if self._feed.scope.time_range is None:
            return None
        counted = activity.source.total_of(activity.times) if activity.times else None
        if not pager.jumping and model.at_head and model.at_tail and not self._feed.new_count:
            return f"{model.rowCount():,}"
        return f"{counted.total:,}" if counted else f"{model.rowCount():,}+"

    def _widget_for(self, total: int) -> QWidget:
        if self._feed.model.rowCount():
            return self._list
        if not total:
            return self.empty
        if self._filter.found_nothing or self._filter.search_status.stopped:
            self._filter.search_status.show_empty(self.no_matches, total)
            return self.no_matches
        # While the list could not be read to its end, it is not known whether there are any.
        feed = self._feed
        nothing = feed.scope.time_range is not None and not feed.pager.jumping and feed.model.at_tail
        return self.empty_time_range if nothing and not self._filter.active else self._list


class NewRequestsPill(Button):
    """Floats over the top of `rows`. A click goes to the newest requests; a paused list stays paused.

    When the window is resumed, new requests appear at once if the list is scrolled to the top, and are counted here
    otherwise. So it is while the pointer moves over the top of the list, but without the pill: a click hits the row
    that was aimed at.
    """

    def __init__(self, rows: RequestList, feed: RequestFeed, pause: Pause, theme: Theme) -> None:
        # Not on the viewport, which takes what lies on it along when it scrolls.
        super().__init__("", theme, rows, kind="primary", icon="up")
        self._list, self._feed, self._pause = rows, feed, pause
        self.setProperty("part", "pill")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._pointer, self._held = QPointF(-1, -1), False
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._let_go)
        self.clicked.connect(rows.go_to_newest)
        feed.new_count_changed.connect(self.refresh)
        feed.loaded.connect(self.refresh)
        pause.changed.connect(self._follow_pause)
        rows.verticalScrollBar().valueChanged.connect(self.refresh)
        rows.verticalScrollBar().rangeChanged.connect(self.refresh)
        rows.viewport().installEventFilter(self)
        self._follow_pause()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay centred, and hold the rows under the pointer."""
        if event.type() == QEvent.Type.Resize:
            self._place()
        elif event.type() == QEvent.Type.Leave:
            self._let_go()
        # A system may repeat the last move when something is drawn under the pointer.
        elif isinstance(event, QMouseEvent) and event.position() != self._pointer:
            self._pointer = event.position()
            self._rest.start()
            if self._feed.following and not self._list.verticalScrollBar().value():
                self._feed.follow(False)
                self._held = True
        return super().eventFilter(watched, event)

    @Slot()
    def refresh(self) -> None:
        count = self._feed.new_count
        scrolled = self._list.verticalScrollBar().value()
        far = scrolled > FAR_SCREENS * self._list.viewport().height() or not self._feed.model.at_head
        self._held = self._held and not scrolled
        visible = (count > 0 and not self._held) or (far and self._feed.model.rowCount() > 0)
        if visible:
            self._restyle(count)
        self.setVisible(visible)

    @Slot()
    def _let_go(self) -> None:
        self._rest.stop()
        held, self._held = self._held, False
        if held and not self._pause.on:
            self._feed.follow(True)
        self.refresh()

    @Slot()
    def _follow_pause(self) -> None:
        if not self._pause.on:
            self._feed.follow(self._list.verticalScrollBar().value() == 0)
        self.refresh()

    def _restyle(self, count: int) -> None:
        text = f"{count:,} new" if count else "Newest"
        tip = "Show them. The list stays paused." if self._pause.on and count else "Go to the newest requests"
        name = f"{text}. {tip}" if count else tip
        if (text, name) == (self.text(), self.accessibleName()):
            return
        self.setText(text)
        self.setToolTip(plain_tooltip(tip))
        self.setAccessibleName(name)
        self.set_kind("primary" if count else "secondary")
        self._place()

    def _place(self) -> None:
        self.adjustSize()
        viewport = self._list.viewport().geometry()
        self.move(viewport.left() + (viewport.width() - self.width()) // 2, viewport.top() + metrics.SPACE_2)
