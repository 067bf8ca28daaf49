"""The page of one endpoint, or of all requests: header and list on the left, on the right the request opened there; and
what is opened when a list is shown again, when requests are deleted, and when that is undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.core.events import EndpointRemoved, EndpointSaved, Subscriptions
from app.core.ids import first_id
from app.core.model import Capture, Endpoint, Summary
from app.core.replay import MatchingRequests
from app.core.tunnel import TunnelState
from app.ui.deleting import DeleteChanged
from app.ui.endpoints.endpoint_actions import EndpointActions, EndpointCommands
from app.ui.inspector.request_pane import RequestPane
from app.ui.requests.activity_chart import ActivityStrip
from app.ui.requests.filtering import PageFilter
from app.ui.requests.list.delegate import TargetResults
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.model import MAX_ROWS
from app.ui.requests.list.pager import ListScope, TimeRange
from app.ui.requests.list.view import RequestList, ScrollPlace
from app.ui.requests.page.drag_out import DragFiles, DragOut
from app.ui.requests.page.footer import ListFooter, SelectionBar
from app.ui.requests.page.header import EndpointHeader
from app.ui.requests.page.list_area import FirstRequest, ListArea, NewRequestsPill
from app.ui.requests.page.own_window import OwnWindows
from app.ui.requests.page.page_commands import PageCommands, ViewCommands
from app.ui.requests.page.panes import ListColumn, Panes
from app.ui.requests.request_actions import RequestActions
from app.ui.requests.select_all import BatchJob, SelectAll
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.throttle import Pause
from app.ui.widgets.focus import focus_first
from app.ui.widgets.layout import hbox, vbox
from app.ui.widgets.notices import Toast


class RequestsPage(QWidget):
    """`show_endpoint` fills it."""

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        pause: Pause,
        *,
        endpoint_actions: EndpointActions,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._services = services
        self._left: dict[int | None, _Left] = {}
        """By endpoint, or for the list of all (None)."""
        self.endpoint_commands = EndpointCommands(self._current_endpoint, services, endpoint_actions, theme, self)
        self.feed = RequestFeed(services.store, services.bus, tasks, pause, self)
        self.header = EndpointHeader(
            self.endpoint_commands, services, tasks, theme, notify=endpoint_actions.notify, parent=self
        )
        self.endpoint_commands.add_keys(self)
        self.activity = ActivityStrip(services.store.activity, services.bus, theme, tasks, self)
        self.list = RequestList(self.feed, theme, self)
        self.list.request_delegate.show_providers(services.providers, services.provider_marks)
        self._target_results = TargetResults(self.list, self.list.request_delegate, self.feed.model, services, tasks)
        self._subscriptions = Subscriptions(services.bus)
        self.detail = RequestPane(services, theme, tasks, self)
        self._column = ListColumn(self.header, self.activity, self)
        self.panes = Panes(self._column, self.detail, self.show_list, theme, self, take_focus=self.take_focus)
        self.splitter = self.panes.splitter
        self.filter = PageFilter(
            services, theme, tasks, feed=self.feed, rows=self.list, detail=self.detail, parent=self
        )
        self._toast = Toast(theme, self)
        self.pill = NewRequestsPill(self.list, self.feed, pause, theme)
        self.batch = BatchJob(self)
        actions = RequestActions(services, theme, tasks, self, self._toast, batch=self.batch)
        actions.listed, actions.show_deliveries = self._listed, self.detail.show_deliveries
        self.select_all = SelectAll(self.list, self.feed, services, tasks, self.batch)
        rows, detail = self.list, self.detail
        self.commands = PageCommands(actions, tasks, theme, pause, self.select_all, rows=rows, detail=detail, page=self)
        self.view_commands = ViewCommands(
            theme,
            actions.say,
            detail=detail,
            page_filter=self.filter,
            activity=self.activity,
            show_list=self.show_list,
            page=self,
        )
        self.windows = OwnWindows(services, theme, tasks, self)
        self.drag_files = DragFiles(services, actions, tasks)
        self.drag_out = DragOut(self.list, self.drag_files, actions, tasks, theme)
        selected, compare, clear = self.commands.selected, self.commands.compare, self.commands.clear
        bar = SelectionBar(
            selected, compare, clear, self.select_all, self.batch, rows=rows, feed=self.feed, theme=theme, parent=self
        )
        self.list_footer = ListFooter(bar, pause, theme, self)
        self.footer = self.list_footer.text
        self.list_area = ListArea(
            theme,
            pause,
            feed=self.feed,
            rows=rows,
            activity=self.activity,
            page_filter=self.filter,
            footer=self.footer,
            new_endpoint=endpoint_actions.new,
            parent=self,
        )
        self.opener = _RequestOpener(self)
        self.list.selection.open_id = partial(getattr, self.detail, "capture_id")
        vbox(
            self.header,
            self.activity,
            self.filter.bar,
            (self.list_area, 1),
            self.list_footer,
            inside=self._column,
            spacing=0,
            margins=0,
        )
        hbox(self.panes, inside=self, margins=0)
        self._connect(endpoint_actions)
        self.first = FirstRequest(self, self.feed, self.list, self.detail)
        self._subscriptions.add(DeleteChanged, self._delete_changed)
        self._subscriptions.add(EndpointSaved, self._endpoint_saved)
        self._subscriptions.add(EndpointRemoved, self._endpoint_removed)
        self._subscriptions.follow_urls(self._show_header)

    @property
    def endpoint_id(self) -> int | None:
        """The endpoint whose requests are shown; None for all."""
        return self.feed.endpoint_id

    def stop(self) -> None:
        """End the subscriptions, and close the windows opened here."""
        self.feed.stop()
        self.select_all.stop()
        self._target_results.stop()
        self.activity.source.stop()
        self.header.paused_notice.counts.stop()
        self.detail.stop()
        self.windows.close_all()
        self.drag_files.remove()
        self._subscriptions.end()

    def show_endpoint(self, endpoint_id: int | None) -> None:
        """List an endpoint's requests, or those of all (None), the newest on top. On the way back to a page, its
        filter, time range and place are as they were, and the request that was open there is opened again.
        """
        self._left[self.endpoint_id] = _Left(
            self.filter.bar.line.text(), self.activity.times, self.opener.open_id, self.list.scroll_place()
        )
        left = self._left.get(endpoint_id, _Left())
        self.detail.clear()
        query = self.filter.show_endpoint(endpoint_id, left.filter)
        self.activity.show_endpoint(endpoint_id, left.times)
        self.feed.show(endpoint_id, query, left.times)
        self._show_header()
        self.list_area.refresh()
        self.opener.reopen(left.open_id)
        if left.place is not None:
            self.list.jumps.scroll_to(left.place)

    def open_request(self, capture_id: str) -> None:
        """Show a request in the detail, and in the list if it is loaded."""
        self.opener.open(capture_id)

    def go_to(self, capture: Capture) -> None:
        """Show a request in the list, however far down it is, and in the detail.

        A filter or a time range that excludes it is cleared.
        """
        self.filter.make_room(capture)
        times = self.feed.scope.time_range
        if times is not None and not times.holds(capture.received_at):
            self.activity.clear()
        self.list.go_to(capture)
        self.detail.show_request(capture.id)

    @Slot()
    def show_list(self) -> None:
        """Where an open request has the place of the list, close it."""
        if self.panes.single and not self.detail.is_empty:
            self.detail.clear()
            self.take_focus()

    @Slot()
    def take_focus(self) -> None:
        """Put the keyboard into the list, or into what is shown in its place: a hidden list would take it from wherever
        it is by the time the list is shown.
        """
        widget = self.list_area.currentWidget() or self.list
        if self._column.isHidden():
            self.panes.take_focus()
        elif widget is self.list:
            self.list.setFocus()
        else:
            focus_first(widget)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc does the first of these that applies: clear a selection of many, go from the request to the list, stop a
        search, clear the filter, clear the time range.
        """
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        elif self.list.selected_count() > 1 or self.select_all.requests is not None:
            self.commands.clear_selection()
        elif self._column.isHidden():
            self.show_list()
        elif self.detail.isAncestorOf(self.focusWidget()):
            self.take_focus()
        elif self.filter.search_status.stop():
            pass
        elif self.filter.bar.line.text():
            self.filter.bar.clear()
        elif self.activity.times is not None:
            self.activity.clear()
        else:
            super().keyPressEvent(event)

    def _connect(self, endpoint_actions: EndpointActions) -> None:
        self.filter.bar.line.leave_requested.connect(self.take_focus)
        self.list_area.refreshed.connect(self._refreshed)
        for copied in (self.header.url.copied, self.list_area.empty.copy.clicked):
            copied.connect(self.endpoint_commands.note_copied)
        empty = self.list_area.empty
        empty.test.clicked.connect(self.endpoint_commands.send_test.trigger)
        empty.target.clicked.connect(self.endpoint_commands.targets.trigger)
        empty.tunnel.clicked.connect(endpoint_actions.tunnel_page_requested)
        self.activity.range_selected.connect(self.feed.narrow)
        for commands in (self.commands.selected, self.commands.opened):
            commands.own_window_requested.connect(self.windows.open)

    def _delete_changed(self, event: DeleteChanged) -> None:
        if event.state == "undone":
            self.first.forget()  # what comes back into an empty list did not just arrive
        self.opener.follow_deletion(event)

    @Slot()
    def _refreshed(self) -> None:
        empty = self.list_area.currentWidget() is self.list_area.empty
        self.first.waiting |= empty
        self.panes.set_empty(empty)
        self._column.set_empty(empty)
        self.commands.refresh_list()

    def _listed(self) -> MatchingRequests:
        """What the list shows."""
        times = self.feed.scope.time_range
        return MatchingRequests(
            endpoint_id=self.endpoint_id,
            query=self.feed.query.text.strip() if self.feed.query is not None else "",
            received_after=times.start if times is not None else None,
            received_before=times.end if times is not None else None,
        )

    def _endpoint(self) -> Endpoint | None:
        """As it is now; None for all."""
        return self._services.store.endpoints.by_id(self.endpoint_id) if self.endpoint_id is not None else None

    def _current_endpoint(self) -> Endpoint | None:
        """None while the page is hidden."""
        return self._endpoint() if self.isVisible() else None

    def _show_header(self) -> None:
        endpoint, empty = self._endpoint(), self.list_area.empty
        mark = self._services.url_mark
        names = {one.id: escape(one.name) for one in self._services.store.endpoints.all()}
        if endpoint is None:
            self.header.show_endpoint(None, "", mark)
            empty.show_all(any_endpoint=bool(names))
        else:
            url = self._services.capture_url(endpoint)
            self.header.show_endpoint(endpoint, url, mark)
            tunnel = not self._services.is_elsewhere and self._services.tunnels.tunnel.state is TunnelState.OFF
            empty.show_endpoint(url, endpoint.active, mark, tunnel=tunnel, target=not endpoint.targets)
        self.list.request_delegate.names = names if self.endpoint_id is None else None
        self.list.viewport().update()

    def _endpoint_saved(self, event: EndpointSaved) -> None:
        if self.endpoint_id in (None, event.endpoint.id):
            self._show_header()
            self.list_area.refresh()

    def _endpoint_removed(self, event: EndpointRemoved) -> None:
        if self.endpoint_id is None:
            self._show_header()
        self.list_area.refresh()


@dataclass(frozen=True)
class _Left:
    """A list as it was left: its filter and time range, the request that was open, and where it was scrolled to."""

    filter: str = ""
    times: TimeRange | None = None
    open_id: str | None = None
    place: ScrollPlace | None = None


@dataclass(frozen=True)
class _Before:
    """A list before a deletion. `rows` are newest first; `open_id` is the request that was open, `next_id` the one that
    the deletion opened in its place."""

    scope: ListScope
    rows: list[Summary]
    at_head: bool
    at_tail: bool
    selected: list[Summary]
    current: Summary | None
    place: ScrollPlace | None
    open_id: str | None
    next_id: str | None = None


class _RequestOpener(QObject):
    """Opens requests in the pane of `page`. When a deletion is undone, the rows, the selection and the scroll position
    are as before; another list is read again.
    """

    def __init__(self, page: RequestsPage) -> None:
        super().__init__(page)
        self._page, self._list, self._detail, self._feed = page, page.list, page.detail, page.feed
        self._before: dict[int, _Before] = {}
        """What each deletion began with that can be undone."""
        self._reopened: str | None = None
        self._list.request_selected.connect(self._open_row)
        self._list.request_clicked.connect(self._open_clicked)
        self._detail.opened.connect(self._select_reopened)
        self._detail.closed.connect(self._leave_detail)

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

    def follow_deletion(self, event: DeleteChanged) -> None:
        if event.hides is not None:
            before = self._now()
            self.select_next(event.hides)
            self._before[event.number] = replace(before, next_id=self._detail.capture_id)
            return
        before_it = self._before.pop(event.number, None)
        if event.state != "undone":
            return
        if before_it is not None and before_it.scope == self._feed.scope:
            self._restore(before_it)
        elif self._feed.scope.touches(event.endpoint_ids):
            self._reload()

    def select_next(self, hides: Callable[[int, str], bool]) -> None:
        """The user deletes requests: select the next one, and open it in place of a deleted one. If the open request is
        kept, it is selected again. `hides` tells by endpoint and request ID which are deleted.
        """

        def deletes(one: Summary) -> bool:
            return hides(one.endpoint_id, one.id)

        current = self._detail.summary or self._opening()
        stays = current is not None and not deletes(current) and not self._detail.deleted
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
        if summary is not None and not self._page.panes.only_list:
            self._detail.show_request(summary.id)

    @Slot(object)
    def _open_clicked(self, summary: Summary) -> None:
        if self._page.panes.only_list:
            self._detail.show_request(summary.id, focus=True)

    @Slot(str)
    def _select_reopened(self, capture_id: str) -> None:
        """Select what was open when this list was left, loaded or not; a filter or time range may exclude it."""
        reopened, self._reopened = self._reopened, None
        if capture_id == reopened and self._feed.scope.whole and not self._list.selected_count():
            self._list.keep_one(self._detail.summary)

    @Slot()
    def _leave_detail(self) -> None:
        """An empty detail needs no focus: it goes to the list."""
        if self._detail.isAncestorOf(self._page.window().focusWidget()):
            self._page.take_focus()

    def _now(self) -> _Before:
        model = self._feed.model
        return _Before(
            scope=self._feed.scope,
            rows=model.summaries(),
            at_head=model.at_head and not self._feed.pager.jumping,
            at_tail=model.at_tail,
            selected=self._list.selected(),
            current=self._list.selection.cursor,
            place=self._list.scroll_place(),
            open_id=self._detail.capture_id,
        )

    def _restore(self, before: _Before) -> None:
        """Requests received since stay on top. Those deleted in the meantime by others are dropped once that is known.
        A request that the user has opened since stays open.
        """
        moved_on = self._detail.capture_id not in (None, before.next_id)
        selected, current = before.selected, before.current
        if moved_on:
            selected, current = self._list.selected(), self._list.selection.cursor
        if self._is_contiguous(before):
            self._restore_rows(before)
        else:
            self._reload()
        self._list.selection.restore(selected, current)
        if moved_on:
            self._list.scrollTo(self._list.currentIndex())
        self._feed.check()
        if not moved_on and before.open_id not in (None, self._detail.capture_id):
            self._detail.show_request(before.open_id, mark_read=False)  # it may have been marked unread

    def _is_contiguous(self, before: _Before) -> bool:
        """Whether no rows can be missing between those of then and now; after a flood there may be a gap."""
        now, reading = {one.id for one in self._feed.model.summaries()}, self._feed.pager.jumping
        if not now:
            return bool(before.rows) or not reading
        return not reading and any(one.id in now for one in before.rows)

    def _restore_rows(self, before: _Before) -> None:
        model, oldest = self._feed.model, before.rows[-1].id if before.rows else ""
        of_both = [one for one in (*before.rows, *model.summaries()) if before.at_tail or one.id >= oldest]
        latest = {one.id: one for one in of_both}
        rows = sorted(latest.values(), key=lambda one: one.id, reverse=True)
        reading = self._feed.pager.jumping
        self._feed.pager.give_up()
        at_head = before.at_head and (model.at_head or len(rows) == len(before.rows))
        model.reset(rows[:MAX_ROWS], at_head=at_head, at_tail=before.at_tail and len(rows) <= MAX_ROWS)
        if before.place is not None:
            self._list.jumps.put_at(before.place)
        self._feed.loaded.emit()
        if reading and before.at_head:
            self._feed.pager.head()  # it may be about to find new requests

    def _reload(self) -> None:
        """Where it is, with what is back anywhere among the rows."""
        if self._feed.pager.failed:
            return  # it is read again anyway
        place = self._list.scroll_place()
        if place is not None:
            self._list.jumps.scroll_to(place)
        else:
            self._feed.head(first_id(0))
