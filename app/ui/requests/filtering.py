"""Connects the filter with the list, its highlights and the body shown, and says what a search has found."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.model import Capture
from app.core.search.body_search import pattern_of
from app.core.search.field import words
from app.core.search.query import Contains, Filter, HeaderTest, Query, required
from app.core.text import count_of, unexamined_text
from app.ui.inspector.request_pane import RequestPane
from app.ui.messages import Message
from app.ui.requests.filter_bar import FilterBar
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList
from app.ui.requests.saved_filters import ask_name
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.card import EmptyState


class SearchStatus:
    """The status of the feed's search. `total` is the number of requests in its list without time range."""

    def __init__(self, feed: RequestFeed) -> None:
        self._feed, self._search = feed, feed.search

    @property
    def long(self) -> bool:
        """Whether the search has run long enough for its progress to be known."""
        return self._search.busy and bool(self._search.searched)

    @property
    def stopped(self) -> bool:
        """Whether the user stopped the current search."""
        return self._feed.query is not None and self._search.stopped

    def stop(self) -> bool:
        """Stop a long search; returns whether there was one."""
        if not self.long:
            return False
        self._search.stop()
        return True

    def resume(self) -> None:
        """Continue the search if the user stopped it."""
        if not self.stopped:
            return
        self._search.stopped = False
        if self._feed.model.rowCount():
            self._search.older()
        else:
            self._search.head()

    def share(self, total: int) -> float | None:
        """The share searched, 0 to 1; None if unknown."""
        known = self._known(total)
        return min(1.0, self._search.searched / known) if self._search.searched and known else None

    def found(self, total: int) -> tuple[str, ...]:
        """The texts of the footer, from longest to shortest."""
        search = self._search
        found = 0 if search.stale.isActive() else self._feed.model.rowCount()
        in_range = "" if search.scope.time_range is None else " in this range"
        if self.stopped:
            searched = self._searched_text(total)
            if search.searched:
                searched = searched.removesuffix(" requests")  # The footer is as narrow as the list.
            text = f"Stopped: {_number(found, 'none')} in {searched}{in_range}"
            return f"{text} · Enter continues", text, f"Stopped: {_number(found, 'none')}"
        if self.long:
            text = f"{_number(found, 'None')} found so far{in_range}"
            of = "" if in_range else f" of {total:,}"
            running = f"{text} · {self._searched(total):,}{of} searched · Esc stops"
            return running, text, f"{_number(found, 'None')} so far"
        count = f"{found:,}{'' if search.done else '+'}"
        matches = f"{count} of {total:,} {'matches' if found == 1 else 'match'}{in_range}"
        searching = (f"{matches} · searching…",) if search.busy else ()
        left_out = search.unexamined
        unexamined = (f"{matches} · {left_out:,} not searched",) if left_out and not search.busy else ()
        return *searching, *unexamined, matches, f"{count} of {total:,}", count

    def meaning(self, total: int) -> str:
        """The tooltip of the footer: its longest text, with what the search left out."""
        text, left_out = self.found(total)[0], self._search.unexamined
        return f"{text}\n{unexamined_text(left_out)}" if left_out else text

    def show_empty(self, state: EmptyState, total: int) -> None:
        """Show that there are no results, and why."""
        state.title.setText("No matches so far" if self.stopped else "No matches")
        if state.button is not None:
            state.button.setText("Continue search" if self.stopped else "Clear filter")
        if self.stopped:
            text = f"The search stopped after {self._searched_text(total)}."
        elif self._search.scope.time_range is not None:
            text = "No request in the selected time range matches. Clear the filter, or select another time range."
        elif left_out := self._search.unexamined:
            text = f"No match in what was searched. {unexamined_text(left_out)}"
        else:
            every = "The only request here does not" if total == 1 else f"None of the {total:,} requests here"
            text = f"{every} match. Clear the filter or change it. New requests that match appear here."
        state.text.setText(text)

    def _searched_text(self, total: int) -> str:
        """What was searched before it was stopped: "the newest 300,000 requests"."""
        searched = self._search.searched
        return f"the newest {count_of(self._searched(total), 'request')}" if searched else "the newest requests"

    def _searched(self, total: int) -> int:
        """Requests of endpoints that are being deleted are searched, too."""
        known = self._known(total)
        return self._search.searched if known is None else min(self._search.searched, known)

    def _known(self, total: int) -> int | None:
        """Of how many requests; those of a time range are not counted."""
        return total if self._search.scope.time_range is None else None


def _number(count: int, none: str) -> str:
    return f"{count:,}" if count else none


class PageFilter(QObject):
    """`bar` is for the page to lay out."""

    changed = Signal()
    """The filter changed, or more results are known."""

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        *,
        feed: RequestFeed,
        rows: RequestList,
        detail: RequestPane,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._tasks, self._theme, self._page = tasks, theme, parent
        self._feed, self._list, self._detail = feed, rows, detail
        self._slow_search = services.store.slow_search
        """What to tell once a search takes long."""
        self.search_status = SearchStatus(feed)
        self.bar = FilterBar(services, theme, tasks, parent)
        self.bar.changed.connect(self._apply)
        self.bar.entered.connect(self.search_status.resume)
        self.bar.results_requested.connect(self._list.start)
        self.bar.line.stop_requested.connect(self.search_status.stop)
        self.bar.saved.save_requested.connect(self._save)
        self._feed.search.progressed.connect(self._show_progress)
        self._feed.loaded.connect(rows.selection.keep_open)

    @property
    def active(self) -> bool:
        return self._feed.query is not None

    @property
    def found_nothing(self) -> bool:
        """Whether the search is complete and found nothing."""
        return self.active and self._feed.search.done and not self._feed.model.rowCount()

    def show_endpoint(self, endpoint_id: int | None, text: str) -> Query | None:
        """Show this filter of the list of this endpoint, or of all (None), and return its query."""
        query = self.bar.put(text)
        self.bar.stored.show_endpoint(endpoint_id)
        self._mark(query)
        return query

    def make_room(self, capture: Capture) -> None:
        """Clear the filter if it excludes this request."""
        if self.active and self._feed.model.row_of(capture.id) is None:
            self._mark(self.bar.put(""))
            self._feed.filter_by(None)

    def fit(self, total: int) -> None:
        """Update the filter bar for a list of `total` requests."""
        used = bool(self.bar.line.text()) or self.bar.isAncestorOf(self.bar.window().focusWidget())
        self.bar.setVisible(bool(total) or self.active or used)
        if self.active and total:
            self.bar.progress.set_share(self.search_status.share(total))

    @Slot(object)
    def _apply(self, query: Query | None) -> None:
        selected = self._list.selection.main()
        self._mark(query)
        self._feed.filter_by(query)
        if query is not None:
            self._list.scrollToTop()
        elif selected is not None:
            self._list.jumps.select(selected)
        self.changed.emit()

    def _mark(self, query: Query | None) -> None:
        # Paths stand in the list; values of headers, or their names, among the headers of the request.
        found = words(query)
        conditions = [term.condition for term in required(query) if isinstance(term, Filter)]
        paths = [one.text for one in conditions if isinstance(one, Contains)]
        headers = [one.value or one.name for one in conditions if isinstance(one, HeaderTest)]
        self._list.request_delegate.marked = pattern_of([*found, *paths], ("form",))
        self._list.viewport().update()
        self._detail.mark(found, pattern_of([*found, *headers], ("percent", "mail")), pattern_of(found, ("form",)))

    @Slot()
    def clear_or_resume(self) -> None:
        if self.search_status.stopped:
            self.search_status.resume()
        else:
            self.bar.clear()

    @Slot()
    def _show_progress(self) -> None:
        self.bar.progress.set_running(self._feed.search.busy)
        self.bar.line.searching = self.search_status.long
        if self._slow_search is not None and self.search_status.long:
            text, _, advice = self._slow_search.partition(". ")
            self._tasks.messages.post(Message(text=f"{text}.", advice=advice, tone="info"))
            self._slow_search = None
        self.changed.emit()

    @Slot()
    def _save(self) -> None:
        self._tasks.start(self._ask_and_save(self.bar.saved.current), "filter: save")

    async def _ask_and_save(self, text: str) -> None:
        saved = self.bar.saved.filters
        name = await ask_name(text, {one.name for one in saved.all()}, self._theme, self._page)
        if name:
            saved.save(name, text)
