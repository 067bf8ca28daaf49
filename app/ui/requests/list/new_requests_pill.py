"""The button that leads back to the newest requests: it counts new ones, and is shown while the user is far from the
top.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Slot

from app.ui.pause import Pause
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, Kind
from app.ui.widgets.labels import plain_tooltip

FAR_SCREENS = 1.5
"""The user is far from the newest after scrolling down by this many screens."""


class NewRequestsPill(Button):
    """Floats over the top of `rows`. While the list is paused a click shows the new requests once, and the list stays
    paused.
    """

    def __init__(self, rows: RequestList, feed: RequestFeed, pause: Pause, theme: Theme) -> None:
        # Not a child of the viewport, which moves its children when it scrolls.
        super().__init__("", theme, rows, kind="primary", icon="up")
        self._list, self._feed, self._pause = rows, feed, pause
        self.setProperty("part", "pill")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.clicked.connect(rows.go_to_newest)
        feed.new_count_changed.connect(self.look)
        feed.loaded.connect(self.look)
        pause.changed.connect(self.look)
        rows.verticalScrollBar().valueChanged.connect(self.look)
        rows.verticalScrollBar().rangeChanged.connect(self.look)
        rows.viewport().installEventFilter(self)
        self.look()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    @Slot()
    def look(self) -> None:
        count = self._feed.new_count
        scrolled = self._list.verticalScrollBar().value()
        far = scrolled > FAR_SCREENS * self._list.viewport().height() or not self._feed.model.at_head
        shown = count > 0 or (far and self._feed.model.rowCount() > 0)
        if shown:
            self._apply_style(count)
        self.setVisible(shown)

    def _apply_style(self, count: int) -> None:
        text = f"{count:,} new" if count else "Newest"
        if text == self.text():
            return
        self.setText(text)
        tip = "Show them. The list stays paused." if self._pause.on and count else "Go to the newest requests"
        self.setToolTip(plain_tooltip(tip))
        self.setAccessibleName(f"{text}. {tip}" if count else tip)
        kind: Kind = "primary" if count else "secondary"
        if kind != self.property("kind"):
            self.set_kind(kind)
        self._place()

    def _place(self) -> None:
        self.adjustSize()
        seen = self._list.viewport().geometry()
        self.move(seen.left() + (seen.width() - self.width()) // 2, seen.top() + metrics.SPACE_2)
