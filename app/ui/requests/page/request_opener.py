"""Opens the requests of a page in its detail, and keeps the selection of the list in step with what is open."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.core.model import Summary
from app.ui.request.current_request import CurrentRequest
from app.ui.request.request_pane import RequestPane
from app.ui.requests.filter.filtering import PageFilter
from app.ui.requests.list.view import RequestList


class RequestOpener(QObject):
    """`leave` and `come_back` close what is open when another list is shown, and open it again on the way back.

    `focus_list` is called when the detail had the focus and is closed.
    """

    def __init__(
        self,
        rows: RequestList,
        detail: RequestPane,
        request: CurrentRequest,
        page_filter: PageFilter,
        page: QWidget,
        *,
        focus_list: Callable[[], None],
    ) -> None:
        super().__init__(page)
        self._list, self._detail, self._request, self._filter = rows, detail, request, page_filter
        self._page, self._focus_list = page, focus_list
        self._open_by_endpoint: dict[int | None, str | None] = {}
        """The request that was open when the list of an endpoint, or of all (None), was left."""
        self._reopened: str | None = None
        rows.request_selected.connect(self._open_row)
        detail.opened.connect(self._select_reopened)
        detail.closed.connect(self._leave_detail)

    def leave(self, endpoint_id: int | None) -> None:
        self._open_by_endpoint[endpoint_id] = None if self._detail.deleted else self._detail.capture_id
        self._detail.clear()

    def come_back(self, endpoint_id: int | None) -> None:
        self._reopened = self._open_by_endpoint.get(endpoint_id)
        if self._reopened is not None:
            self._detail.reopen(self._reopened)

    def forget_reopened(self) -> None:
        """The list is only loaded again: nothing is opened."""
        self._reopened = None

    def open(self, capture_id: str) -> None:
        if not self._list.select(capture_id):
            self._list.keep_one(None)
            self._detail.show_request(capture_id)

    def select_next(self, hides: Callable[[int, str], bool]) -> None:
        """The user deletes requests: select the next one, and clear the detail of a deleted one. If the open request
        is kept, it is selected again. `hides` tells by endpoint and request ID which are deleted.
        """

        def deletes(one: Summary) -> bool:
            return hides(one.endpoint_id, one.id)

        current = self._request.summary
        stays = current is not None and not deletes(current) and not self._request.deleted
        self._list.selection.select_next(deletes)
        if current is None:
            return
        if stays and all(one.id != current.id for one in self._list.selected()):
            self._list.keep_one(current)
        elif deletes(current):
            self._detail.clear()
            if self._list.selected_count() == 1:
                self._detail.placeholder.none_open()

    @Slot(object)
    def _open_row(self, summary: Summary | None) -> None:
        if summary is not None:
            self._detail.show_request(summary.id)

    @Slot(str)
    def _select_reopened(self, capture_id: str) -> None:
        """Select what was open when this list was left, loaded or not, unless the filter excludes it."""
        reopened, self._reopened = self._reopened, None
        if capture_id == reopened and not self._filter.active and not self._list.selected_count():
            self._list.keep_one(self._request.summary)

    @Slot()
    def _leave_detail(self) -> None:
        """An empty detail needs no focus: it goes to the list."""
        if self._detail.isAncestorOf(self._page.window().focusWidget()):
            self._focus_list()
