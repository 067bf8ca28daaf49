"""What a search found so far, in words; a long one can be stopped, and goes on from there."""

from __future__ import annotations

from app.ui.requests.list.feed import RequestFeed
from app.ui.widgets.empty_state import EmptyState


class SearchStatus:
    """Of the feed's search. `total` is how many requests its list has at all times."""

    def __init__(self, feed: RequestFeed) -> None:
        self._feed = feed

    @property
    def long(self) -> bool:
        """Whether a search has been going on for so long that its reach is known."""
        return self._feed.search.busy and bool(self._feed.search.reach.searched)

    @property
    def stopped(self) -> bool:
        """Whether the reader ended the search in force."""
        return self._feed.query is not None and self._feed.search.reach.stopped

    def stop(self) -> bool:
        """End a search that goes on for long; whether there was one."""
        if not self.long:
            return False
        self._feed.search.stop()
        return True

    def go_on(self) -> None:
        """Search on from where it was stopped."""
        self._feed.search.reach.stopped = False
        if self._feed.model.rowCount():
            self._feed.search.older()
        else:
            self._feed.search.head()

    def share(self, total: int) -> float | None:
        """What was searched, 0 to 1; None when that is not known."""
        return None if self._feed.search.within is not None else self._feed.search.reach.share(total)

    def found(self, total: int) -> str:
        """The footer."""
        search = self._feed.search
        found = 0 if search.stale.isActive() else self._feed.model.rowCount()
        then, known = ("", total) if search.within is None else (" in this time", None)
        if self.stopped:
            where = search.reach.where(known)
            if search.reach.searched:
                where = where.removesuffix(" requests")  # the footer is as narrow as the list
            return f"Stopped: {_number(found, 'none')} in {where}{then} · Enter continues"
        if self.long:
            return f"{_number(found, 'None')} found so far{then} · {search.reach.going(known)}"
        matches = f"{found:,}{'' if search.done else '+'} of {total:,} {'matches' if found == 1 else 'match'}{then}"
        return f"{matches} · searching…" if search.busy else matches

    def tell_nothing(self, state: EmptyState, total: int) -> None:
        """Say that there is nothing to show, and why."""
        state.title.setText("No matches so far" if self.stopped else "No matches")
        if state.button is not None:
            state.button.setText("Continue search" if self.stopped else "Clear filter")
        if self.stopped:
            known = total if self._feed.search.within is None else None
            state.text.setText(f"Stopped: nothing matches among {self._feed.search.reach.where(known)}.")
        elif self._feed.search.within is not None:
            text = "No request in the time chosen in the chart above matches. Clear the filter, or choose another time."
            state.text.setText(text)
        else:
            every = "The one request here does not" if total == 1 else f"None of the {total:,} requests here"
            state.text.setText(f"{every} match. Clear the filter or change it. New requests that match appear here.")


def _number(count: int, none: str) -> str:
    return f"{count:,}" if count else none
