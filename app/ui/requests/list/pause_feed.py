"""Pauses a feed while the window is paused, and resumes it at the user's position."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.ui.pause import Pause
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList


class PausedFeed(QObject):
    """Switched by `pause`. On resuming, new requests are inserted if the user is at the top of `rows`; further down the
    pill counts them, as usual.
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
