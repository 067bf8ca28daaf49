"""Requests newer than those a list shows: how many there are, and the button that leads to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot

from app.core.model import PageKey, Summary
from app.core.store import CaptureRepository
from app.ui.pause import Pause
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, Kind
from app.ui.widgets.labels import plain_tooltip

if TYPE_CHECKING:  # the feed counts with NewRequestCounter
    from app.ui.requests.list.feed import RequestFeed
    from app.ui.requests.list.view import RequestList

REMEMBERED = 20_000
"""More are not remembered by id: they may be counted twice, and still count after they are deleted."""
_OLDEST = PageKey(received_at=-1, id="")


class NewRequestCounter(QObject):
    """`changed` carries the new `count`."""

    changed = Signal(int)

    def __init__(self, captures: CaptureRepository, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self.count = 0
        self._captures, self._tasks = captures, tasks
        self._ids: set[str] = set()
        self._forgotten = 0

    @Slot(int)
    def set(self, count: int) -> None:
        """Count this many; their ids are not known."""
        self._ids.clear()
        self._forgotten = count
        self._show()

    def add(self, items: Iterable[Summary]) -> None:
        """Count these too. A search may find one again when others are received or marked: it counts once."""
        self._ids.update(item.id for item in items)
        self._show()
        if len(self._ids) > REMEMBERED:
            self._forgotten += len(self._ids)
            self._ids.clear()

    def remove(self, ids: Collection[str]) -> None:
        """These were deleted, whether they were counted or not."""
        self._ids.difference_update(ids)
        self._show()

    def check(self, endpoint_id: int | None, newest: PageKey | None) -> None:
        """Retention deleted some: read which are left above the list's `newest`."""
        if self._ids:
            self._tasks.start(self._check(endpoint_id, newest or _OLDEST), "list: count new requests", self)

    async def _check(self, endpoint_id: int | None, newest: PageKey) -> None:
        counted = frozenset(self._ids)
        stored = await self._captures.page(endpoint_id, after=newest, limit=REMEMBERED)
        if len(stored) < REMEMBERED:
            self.remove(counted - {item.id for item in stored})

    def _show(self) -> None:
        count = self._forgotten + len(self._ids)
        if count != self.count:
            self.count = count
            self.changed.emit(count)


FAR_SCREENS = 1.5
"""Shown when the list is scrolled down by more than this many screens."""


class NewRequestsPill(Button):
    """Floats over the top of `rows`. A click goes to the newest requests; a paused list stays paused.

    It also pauses `feed` with the window. When resumed, new requests appear at once if the list is scrolled to the top,
    and are counted here otherwise.
    """

    def __init__(self, rows: RequestList, feed: RequestFeed, pause: Pause, theme: Theme) -> None:
        # Not on the viewport, which takes what lies on it along when it scrolls.
        super().__init__("", theme, rows, kind="primary", icon="up")
        self._list, self._feed, self._pause = rows, feed, pause
        self.setProperty("part", "pill")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.clicked.connect(rows.go_to_newest)
        feed.new_count_changed.connect(self.refresh)
        feed.loaded.connect(self.refresh)
        pause.changed.connect(self._pause_feed)
        rows.verticalScrollBar().valueChanged.connect(self.refresh)
        rows.verticalScrollBar().rangeChanged.connect(self.refresh)
        rows.viewport().installEventFilter(self)
        self._pause_feed()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay centred."""
        if event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    @Slot()
    def refresh(self) -> None:
        count = self._feed.new_count
        scrolled = self._list.verticalScrollBar().value()
        far = scrolled > FAR_SCREENS * self._list.viewport().height() or not self._feed.model.at_head
        visible = count > 0 or (far and self._feed.model.rowCount() > 0)
        if visible:
            self._restyle(count)
        self.setVisible(visible)

    @Slot()
    def _pause_feed(self) -> None:
        self._feed.paused = self._pause.on
        if not self._pause.on:
            self._feed.follow(self._list.verticalScrollBar().value() == 0)
        self.refresh()

    def _restyle(self, count: int) -> None:
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
        viewport = self._list.viewport().geometry()
        self.move(viewport.left() + (viewport.width() - self.width()) // 2, viewport.top() + metrics.SPACE_2)
