"""The results of a search so far, in words; a long search can be stopped and continued."""

from __future__ import annotations

from app.ui.requests.list.feed import RequestFeed
from app.ui.widgets.empty_state import EmptyState


class SearchStatus:
    """The status of the feed's search. `total` is the number of requests in its list without time range."""

    def __init__(self, feed: RequestFeed) -> None:
        self._feed = feed

    @property
    def long(self) -> bool:
        """Whether the search has run long enough for its progress to be known."""
        return self._feed.search.busy and bool(self._feed.search.progress.searched)

    @property
    def stopped(self) -> bool:
        """Whether the user stopped the current search."""
        return self._feed.query is not None and self._feed.search.progress.stopped

    def stop(self) -> bool:
        """Stop a long search; returns whether there was one."""
        if not self.long:
            return False
        self._feed.search.stop()
        return True

    def go_on(self) -> None:
        """Continue a stopped search."""
        self._feed.search.progress.stopped = False
        if self._feed.model.rowCount():
            self._feed.search.older()
        else:
            self._feed.search.head()

    def share(self, total: int) -> float | None:
        """The share searched, 0 to 1; None if unknown."""
        return None if self._feed.search.time_range is not None else self._feed.search.progress.share(total)

    def found(self, total: int) -> str:
        """The text of the footer."""
        search = self._feed.search
        found = 0 if search.stale.isActive() else self._feed.model.rowCount()
        then, known = ("", total) if search.time_range is None else (" in this range", None)
        if self.stopped:
            where = search.progress.where(known)
            if search.progress.searched:
                where = where.removesuffix(" requests")  # The footer is as narrow as the list.
            return f"Stopped: {_number(found, 'none')} in {where}{then} · Enter continues"
        if self.long:
            return f"{_number(found, 'None')} found so far{then} · {search.progress.running_text(known)}"
        matches = f"{found:,}{'' if search.done else '+'} of {total:,} {'matches' if found == 1 else 'match'}{then}"
        return f"{matches} · searching…" if search.busy else matches

    def show_empty(self, state: EmptyState, total: int) -> None:
        """Show that there are no results, and why."""
        state.title.setText("No matches so far" if self.stopped else "No matches")
        if state.button is not None:
            state.button.setText("Continue search" if self.stopped else "Clear filter")
        if self.stopped:
            known = total if self._feed.search.time_range is None else None
            state.text.setText(f"The search stopped after {self._feed.search.progress.where(known)}.")
        elif self._feed.search.time_range is not None:
            text = "No request in the selected time range matches. Clear the filter, or select another time range."
            state.text.setText(text)
        else:
            every = "The only request here does not" if total == 1 else f"None of the {total:,} requests here"
            state.text.setText(f"{every} match. Clear the filter or change it. New requests that match appear here.")


def _number(count: int, none: str) -> str:
    return f"{count:,}" if count else none
