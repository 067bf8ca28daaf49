"""Shows the bar of what is selected while that is more than one request, or while work on many is in hand."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.ui.requests.bulk import Bulk
from app.ui.requests.feed import RequestFeed
from app.ui.requests.foot import Foot
from app.ui.requests.view import RequestList


class Selecting(QObject):
    """Keeps `foot` true to what is selected in `rows`."""

    def __init__(self, foot: Foot, rows: RequestList, feed: RequestFeed, bulk: Bulk) -> None:
        super().__init__(foot)
        self._foot, self._list, self._feed, self._bulk = foot, rows, feed, bulk
        rows.settled.connect(self.look)
        feed.loaded.connect(self.look)
        bulk.changed.connect(self.look)

    @Slot()
    def look(self) -> None:
        """Say how many are selected now."""
        count, model = self._list.selected_count(), self._feed.model
        whole = model.at_head and model.at_tail and not self._feed.held
        self._foot.bar.say(count, only_loaded=count == model.rowCount() and not whole)
        self._foot.show_selection(count > 1 or self._bulk.busy)
