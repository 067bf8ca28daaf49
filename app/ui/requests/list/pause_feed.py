"""Holds a feed still while the window is paused, and lets it go on where the reader is."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.ui.pause import Pause
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList


class Holding(QObject):
    """Switched by `pause`. At the top of `rows` what was held comes in when it goes on; further down the pill counts
    it, as always.
    """

    def __init__(self, pause: Pause, feed: RequestFeed, rows: RequestList) -> None:
        super().__init__(rows)
        self._pause, self._feed, self._list = pause, feed, rows
        pause.changed.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        self._feed.paused = self._pause.on
        if not self._pause.on:
            self._feed.follow(self._list.verticalScrollBar().value() == 0)
