"""The list of a page, or the empty state in its place, and the line below it that counts the requests."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLabel, QStackedWidget, QWidget

from app.core.model import Endpoint
from app.core.text import count_of
from app.ui.pause import Pause
from app.ui.requests.activity.strip import ActivityStrip
from app.ui.requests.filter.filtering import PageFilter
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList
from app.ui.requests.page.empty_state import EmptyList, EmptyTimeRange
from app.ui.services import Services
from app.ui.theme.theme import Theme


class ListArea(QStackedWidget):
    """Call `refresh` when the list or the number of stored requests changed. `footer` is the line below."""

    refreshed = Signal()

    def __init__(
        self,
        services: Services,
        theme: Theme,
        pause: Pause,
        *,
        feed: RequestFeed,
        rows: RequestList,
        activity: ActivityStrip,
        page_filter: PageFilter,
        footer: QLabel,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._services, self._pause = services, pause
        self._feed, self._list, self._activity, self._filter = feed, rows, activity, page_filter
        self._footer = footer
        self.empty = EmptyList(theme, self)
        self.empty_time_range = EmptyTimeRange(theme, self)
        self.empty_time_range.action.connect(activity.clear)
        for page in (self.empty, rows, self.empty_time_range, page_filter.nothing):
            self.addWidget(page)
        page_filter.changed.connect(self.refresh)
        feed.loaded.connect(self.refresh)
        feed.counts_changed.connect(self.refresh)
        pause.changed.connect(self.refresh)

    @Slot()
    def refresh(self) -> None:
        endpoint_id = self._feed.endpoint_id
        endpoints = self._services.endpoints.all() if endpoint_id is None else ()
        ids = [endpoint_id] if endpoint_id is not None else [endpoint.id for endpoint in endpoints]
        counts = [self._services.captures.counts(number) for number in ids]
        total, unread = sum(one.total for one in counts), sum(one.unread for one in counts)
        count = self._count_in_time_range(total) or count_of(total, "request")
        unread_text = f" · {unread:,} unread" if unread and self._feed.pager.time_range is None else ""
        state = "keeps capturing" if self._pause.on else "newest on top"
        self._footer.setText(f"{count}{unread_text} · {state}" if total else "No requests yet")
        self.setCurrentWidget(self._widget_for(total))
        self._filter.count(total, self._footer, self)
        self._fit_names(endpoints)
        self.refreshed.emit()

    def _count_in_time_range(self, total: int) -> str | None:
        """`3 of 303 requests in this time`; None while requests of all times are listed, `total` of them."""
        pager, model, activity = self._feed.pager, self._feed.model, self._activity
        if pager.time_range is None:
            return None
        counted = activity.source.total_of(activity.times) if activity.times else None
        if not pager.jumping and model.at_head and model.at_tail and not self._feed.new_count:
            number = f"{model.rowCount():,}"
        else:
            number = f"{counted.total:,}" if counted else f"{model.rowCount():,}+"
        return f"{number} of {count_of(total, 'request')} in this time"

    def _widget_for(self, total: int) -> QWidget:
        if self._feed.model.rowCount():
            return self._list
        if not total:
            return self.empty
        # While the list could not be read to its end, it is not known whether there are any.
        pager = self._feed.pager
        nothing = pager.time_range is not None and not pager.jumping and self._feed.model.at_tail
        return self.empty_time_range if nothing and not self._filter.active else self._list

    def _fit_names(self, endpoints: Iterable[Endpoint]) -> None:
        """Endpoints without requests have no row that would show their names."""
        counts = self._services.captures.counts
        if self._list.request_delegate.fit_names({one.id for one in endpoints if counts(one.id).total}):
            self._list.viewport().update()
