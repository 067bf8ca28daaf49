"""Shows the bar of what is selected while that is more than one request, or while work on many is in hand."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList
from app.ui.requests.page.footer import Foot
from app.ui.requests.selection.batch_job import BatchJob
from app.ui.requests.selection.select_all import Everything


class Selecting(QObject):
    """Keeps `foot` true to what is selected in `rows`, or that it is `everything`."""

    def __init__(
        self, foot: Foot, rows: RequestList, feed: RequestFeed, bulk: BatchJob, everything: Everything
    ) -> None:
        super().__init__(foot)
        self._foot, self._list, self._feed, self._bulk, self._everything = foot, rows, feed, bulk, everything
        rows.selection_settled.connect(self.look)
        feed.loaded.connect(self.look)
        feed.counts_changed.connect(self.look)
        feed.search.progressed.connect(self.look)
        bulk.changed.connect(self.look)
        everything.changed.connect(self.look)
        foot.bar.everything.clicked.connect(self._select_everything)

    @Slot()
    def look(self) -> None:
        """Say how many are selected now, and offer the rest where all that is loaded is."""
        count, bar = self._list.selected_count(), self._foot.bar
        chosen = self._everything.chosen
        if chosen is not None:
            bar.say(f"All {chosen.count:,} selected")
        elif count == self._feed.model.rowCount() == len(self._list.selection.loaded()) and self._everything.more:
            bar.say(f"{count:,} selected", offer=self._offer())
        else:
            bar.say(f"{count:,} selected")
        self._foot.show_selection(count > 1 or self._bulk.busy)

    def _offer(self) -> str:
        number = self._everything.number
        if number is not None:
            return f"Select all {number:,}"
        return "Select all matches" if self._feed.query is not None else "Select all in this time range"

    @Slot()
    def _select_everything(self) -> None:
        """The button is about to go: the keyboard goes to what it was about."""
        if self._foot.bar.everything.hasFocus():
            self._list.setFocus()
        self._everything.select()
