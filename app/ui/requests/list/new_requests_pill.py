"""The pill over the list that counts new requests and goes to them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, QTimer, Slot
from PySide6.QtGui import QMouseEvent

from app.ui.pause import Pause
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, Kind
from app.ui.widgets.labels import plain_tooltip

FAR_SCREENS = 1.5
"""Shown when the list is scrolled down by more than this many screens."""
REST_MS = 1_500
"""After this long without a move nobody is about to click."""


class NewRequestsPill(Button):
    """Floats over the top of `rows`. A click goes to the newest requests; a paused list stays paused.

    It also pauses `feed` with the window. When resumed, new requests appear at once if the list is scrolled to the top,
    and are counted here otherwise. So it is while the pointer moves over the top of the list, but without the pill: a
    click hits the row that was aimed at.
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
        pause.changed.connect(self._pause_feed)
        rows.verticalScrollBar().valueChanged.connect(self.refresh)
        rows.verticalScrollBar().rangeChanged.connect(self.refresh)
        rows.viewport().installEventFilter(self)
        self._pause_feed()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay centred, and hold the rows under the pointer."""
        if event.type() == QEvent.Type.Resize:
            self._place()
        elif event.type() == QEvent.Type.Leave:
            self._let_go()
        # A system may repeat the last move when something is drawn under the pointer.
        elif isinstance(event, QMouseEvent) and event.position() != self._pointer:
            self._pointer = event.position()
            self._hold()
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

    def _hold(self) -> None:
        self._rest.start()
        if self._feed.following and not self._list.verticalScrollBar().value():
            self._feed.follow(False)
            self._held = True

    @Slot()
    def _let_go(self) -> None:
        self._rest.stop()
        held, self._held = self._held, False
        if held and not self._pause.on:
            self._feed.follow(True)
        self.refresh()

    @Slot()
    def _pause_feed(self) -> None:
        self._feed.paused = self._pause.on
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
        kind: Kind = "primary" if count else "secondary"
        if kind != self.property("kind"):
            self.set_kind(kind)
        self._place()

    def _place(self) -> None:
        self.adjustSize()
        viewport = self._list.viewport().geometry()
        self.move(viewport.left() + (viewport.width() - self.width()) // 2, viewport.top() + metrics.SPACE_2)
