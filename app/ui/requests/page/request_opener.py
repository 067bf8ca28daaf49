"""Opens requests in the pane of a page, and opens a list again where it was."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.core.model import Summary
from app.ui.inspector.request_pane import CurrentRequest, RequestPane
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList, ScrollPlace
from app.ui.requests.page.panes import Panes


class RequestOpener(QObject):
    """`leave` and `come_back` close what is open when another list is shown, and on the way back open it again and
    scroll to where the list was.

    `focus_list` is called when the detail had the focus and is closed.
    """

    def __init__(
        self,
        rows: RequestList,
        detail: RequestPane,
        request: CurrentRequest,
        feed: RequestFeed,
        page: QWidget,
        *,
        panes: Panes,
        focus_list: Callable[[], None],
    ) -> None:
        super().__init__(page)
        self._list, self._detail, self._request, self._feed = rows, detail, request, feed
        self._page, self._panes, self._focus_list = page, panes, focus_list
        self._places: dict[int | None, tuple[str | None, ScrollPlace | None]] = {}
        """What was open, and where the list was, when the list of an endpoint, or of all (None), was left."""
        self._reopened: str | None = None
        rows.request_selected.connect(self._open_row)
        rows.request_clicked.connect(self._open_clicked)
        detail.opened.connect(self._select_reopened)
        detail.closed.connect(self._leave_detail)

    def leave(self, endpoint_id: int | None) -> None:
        self._places[endpoint_id] = self.open_id, self._list.scroll_place()
        self._detail.clear()

    def come_back(self, endpoint_id: int | None) -> None:
        capture_id, scroll_place = self._places.get(endpoint_id, (None, None))
        self.reopen(capture_id)
        if scroll_place is not None:
            self._list.jumps.scroll_to(scroll_place)

    @property
    def open_id(self) -> str | None:
        """What is open and still stored."""
        return None if self._detail.deleted else self._detail.capture_id

    def reopen(self, capture_id: str | None) -> None:
        """Open and select what was open before, if anything was."""
        self._reopened = capture_id
        if capture_id is not None:
            self._detail.reopen(capture_id)

    def open(self, capture_id: str) -> None:
        if not self._list.select(capture_id):
            self._list.keep_one(None)
        self._detail.show_request(capture_id)

    def select_next(self, hides: Callable[[int, str], bool]) -> None:
        """The user deletes requests: select the next one, and open it in place of a deleted one. If the open request is
        kept, it is selected again. `hides` tells by endpoint and request ID which are deleted.
        """

        def deletes(one: Summary) -> bool:
            return hides(one.endpoint_id, one.id)

        current = self._request.summary or self._opening()
        stays = current is not None and not deletes(current) and not self._request.deleted
        self._list.selection.select_next(deletes)
        if current is None:
            return
        if stays and all(one.id != current.id for one in self._list.selected()):
            self._list.keep_one(current)
        elif deletes(current):
            following = self._list.selected()
            if len(following) == 1:
                self._detail.show_request(following[0].id, mark_read=self._page.isVisible())
            else:
                self._detail.clear()

    def _opening(self) -> Summary | None:
        """The request that is being read."""
        row = self._feed.model.row_of(self._detail.capture_id) if self._detail.capture_id is not None else None
        return self._feed.model.summary(row) if row is not None else None

    @Slot(object)
    def _open_row(self, summary: Summary | None) -> None:
        if summary is not None and not self._panes.only_list:
            self._detail.show_request(summary.id)

    @Slot(object)
    def _open_clicked(self, summary: Summary) -> None:
        if self._panes.only_list:
            self._detail.show_request(summary.id, focus=True)

    @Slot(str)
    def _select_reopened(self, capture_id: str) -> None:
        """Select what was open when this list was left, loaded or not; a filter or time range may exclude it."""
        reopened, self._reopened = self._reopened, None
        whole = self._feed.query is None and self._feed.pager.time_range is None
        if capture_id == reopened and whole and not self._list.selected_count():
            self._list.keep_one(self._request.summary)

    @Slot()
    def _leave_detail(self) -> None:
        """An empty detail needs no focus: it goes to the list."""
        if self._detail.isAncestorOf(self._page.window().focusWidget()):
            self._focus_list()
