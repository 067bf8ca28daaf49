"""The page of one endpoint, or of all requests: head and list on the left, the chosen request on the right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.core.events import EndpointRemoved, EndpointSaved, SettingsChanged
from app.core.model import Capture, Endpoint, Summary
from app.core.wording import count_of
from app.ui.activity.strip import ActivityStrip
from app.ui.deleting.pending_delete import DeleteChanged
from app.ui.detail.detail_pane import DetailPane
from app.ui.detail.shown import ShownRequest
from app.ui.pause import Pause
from app.ui.ports import Doors
from app.ui.requests.actions import RequestActions
from app.ui.requests.bulk import Bulk
from app.ui.requests.bulk_bar import BulkBar
from app.ui.requests.commands import PageCommands
from app.ui.requests.drag_out import DragFiles, DragOut
from app.ui.requests.empty import EmptyList, NoneThen
from app.ui.requests.endpoint_commands import EndpointCommands
from app.ui.requests.everything import Everything
from app.ui.requests.feed import RequestFeed
from app.ui.requests.filtering import PageFilter
from app.ui.requests.first_request import FirstRequest
from app.ui.requests.foot import Foot
from app.ui.requests.header import EndpointHeader
from app.ui.requests.holding import Holding
from app.ui.requests.listed import listed
from app.ui.requests.marks import FeedMarks
from app.ui.requests.newest import NewestPill
from app.ui.requests.own_window import OwnWindows
from app.ui.requests.restoring import Restoring
from app.ui.requests.selecting import Selecting
from app.ui.requests.view import RequestList
from app.ui.requests.within import Within
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.toast import Toast

_TAB = Qt.FocusPolicy.TabFocus


class EndpointPage(QWidget):
    """`show_endpoint` fills it. What is done to the endpoint itself is the frame's: the signals carry the endpoint."""

    edit_requested = Signal(object)
    test_requested = Signal(object)
    switch_requested = Signal(object, bool)
    delete_requested = Signal(object)

    def __init__(self, doors: Doors, theme: Theme, tasks: Tasks, pause: Pause, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._doors = doors
        self._endpoint: Endpoint | None = None
        self.feed = RequestFeed(doors.captures, doors.bus, tasks, self)
        self.header = EndpointHeader(theme, self)
        self.activity = ActivityStrip(doors.activity, doors.bus, theme, tasks, self)
        self.list = RequestList(self.feed, theme, self)
        self.list.request_delegate.show_providers(doors.providers, doors.provider_marks)
        self.empty = EmptyList(theme, self)
        self.none_then = NoneThen(theme, self)
        self.detail = DetailPane(doors, theme, tasks, self)
        self.splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self.splitter.setObjectName("requests")
        self._stack = QStackedWidget(self)
        self.filter = PageFilter(doors, theme, tasks, feed=self.feed, rows=self.list, detail=self.detail, parent=self)
        self._toast = Toast(theme, self)
        self._pause = pause
        self._marks = FeedMarks(self.feed, doors.bus)
        self._holding = Holding(pause, self.feed, self.list)
        self.pill = NewestPill(self.list, self.feed, pause, theme)
        self.request = ShownRequest(self.detail, doors.bus, self)
        self.bulk = Bulk(self)
        actions = RequestActions(doors, theme, self, self._toast, self.bulk)
        self.everything = Everything(self.list, self.feed, doors, tasks, self.bulk)
        end_deletes = doors.bus.subscribe(DeleteChanged, self._delete_changed)
        self._restoring = Restoring(self.list, self.feed, self.detail, doors.bus)
        self.commands = self._commands(actions, tasks, theme)
        self.windows = OwnWindows(doors, theme, tasks, self)
        self.drag_files = DragFiles(doors, actions, tasks)
        self.drag_out = DragOut(self.list, self.drag_files, actions, tasks, theme)
        self.of_endpoint = EndpointCommands(actions, tasks, self.header, self)
        bar = BulkBar(self.commands.selected, self.commands.list.clear, self.bulk, theme, self)
        self.foot = Foot(bar, pause, theme, self)
        self._selecting = Selecting(self.foot, self.list, self.feed, self.bulk, self.everything)
        self.footer = self.foot.text
        self.list.selection.open_id = partial(getattr, self.detail, "wanted")
        self._build_layout()
        self._connect()
        self.first = FirstRequest(self, self.feed, self.list, self.detail)
        self._ends: list[Callable[[], None]] = [
            doors.bus.subscribe(EndpointSaved, self._endpoint_saved),
            doors.bus.subscribe(EndpointRemoved, self._endpoint_removed),
            doors.bus.subscribe(SettingsChanged, self._settings_changed),
            end_deletes,
        ]

    @property
    def endpoint_id(self) -> int | None:
        """Whose requests are shown; None for all."""
        return self.feed.endpoint_id

    def stop(self) -> None:
        """Hear no more of the bus."""
        self.feed.stop()
        self.everything.stop()
        self._restoring.stop()
        self._marks.stop()
        self.request.stop()
        self.activity.stop()
        self.detail.stop()
        self.windows.close_all()
        self.drag_files.remove()
        for end in self._ends:
            end()

    def show_endpoint(self, endpoint_id: int | None) -> None:
        """List an endpoint's requests, or those of all (None), the newest on top."""
        self._endpoint = self._doors.endpoints.by_id(endpoint_id) if endpoint_id is not None else None
        self.detail.clear()
        self.of_endpoint.endpoint = self._endpoint
        self.filter.show_endpoint(endpoint_id)
        self.activity.show_endpoint(endpoint_id)
        self._show_head()
        self._count()

    def open_request(self, capture_id: str) -> None:
        """Show a request in the detail, and in the list if it is loaded."""
        if not self.list.select(capture_id):
            self.list.keep_one(None)
            self.detail.show_request(capture_id)

    def go_to(self, capture: Capture) -> None:
        """Show a request in the list, however far down it is; as any row that is chosen it is shown in the detail.

        A filter or a chosen time that leaves it out is given up.
        """
        self.filter.make_room(capture)
        if self.feed.pager.within is not None and not self.feed.pager.within.holds(capture.received_at):
            self.activity.clear()
        self.list.go_to(capture)

    @Slot()
    def take_focus(self) -> None:
        """Put the keyboard into the list, or into what is shown in its place: a hidden list would take it from wherever
        it is by the time the list is shown.
        """
        seen = self._stack.currentWidget() or self.list
        inside = (one for one in seen.findChildren(QWidget) if one.focusPolicy() & _TAB and one.isVisibleTo(seen))
        (self.list if seen is self.list else next(inside, seen)).setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc gives up a selection of many, leads back from the detail as Enter led there, stops a long search; then it
        leads from the filter, then from the time."""
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        elif self.list.selected_count() > 1 or self.everything.chosen is not None:
            self.commands.clear_selection()
        elif self.detail.isAncestorOf(self.focusWidget()):
            self.take_focus()
        elif self.filter.outcome.stop():
            pass
        elif self.filter.bar.line.text():
            self.filter.bar.clear()
        elif self.activity.times is not None:
            self.activity.clear()
        else:
            super().keyPressEvent(event)

    def _build_layout(self) -> None:
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.list)
        self._stack.addWidget(self.none_then)
        self._stack.addWidget(self.filter.nothing)
        left = QWidget(self)
        left.setMinimumWidth(320)
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self.activity)
        column.addWidget(self.filter.bar)
        column.addWidget(self._stack, 1)
        column.addWidget(self.foot)
        self.splitter.addWidget(left)
        self.splitter.addWidget(self.detail)
        self.splitter.setStretchFactor(0, 2)
        self.splitter.setStretchFactor(1, 3)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(1)
        self.splitter.setSizes([440, 600])
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.splitter)

    def _commands(self, actions: RequestActions, tasks: Tasks, theme: Theme) -> PageCommands:
        return PageCommands(
            actions,
            tasks,
            theme,
            self._pause,
            self.everything,
            rows=self.list,
            detail=self.detail,
            request=self.request,
            page=self,
        )

    def _connect(self) -> None:
        self.filter.changed.connect(self._count)
        self.filter.bar.left.connect(self.take_focus)
        for name in ("edit_requested", "test_requested", "switch_requested", "delete_requested"):
            getattr(self.of_endpoint, name).connect(getattr(self, name))
        self.list.chosen.connect(self._chosen)
        self.detail.closed.connect(self._leave_detail)
        self.empty.test_asked.connect(self.of_endpoint.send_test)
        self.activity.chosen.connect(self._narrow)
        self.none_then.action.connect(self.activity.clear)
        self.feed.loaded.connect(self._count)
        self.feed.counts_changed.connect(self._count)
        for commands in (self.commands.selected, self.commands.shown):
            commands.own_window_asked.connect(self.windows.open)
        self._pause.changed.connect(self._count)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.setContext(Qt.ShortcutContext.WindowShortcut)
        find.activated.connect(self.detail.open_find)

    @Slot(object)
    def _chosen(self, summary: Summary | None) -> None:
        if summary is not None:
            self.detail.show_request(summary.id)

    def _delete_changed(self, event: DeleteChanged) -> None:
        if event.hides is not None:
            self._make_way(event.hides)
        elif event.state == "undone":
            self.first.waiting = False  # what comes back into an empty list did not just arrive

    def _make_way(self, hides: Callable[[int, str], bool]) -> None:
        """The user deletes requests: the next one is selected, and the detail of one that goes is emptied. What is open
        and stays is selected again.
        """

        def deletes(one: Summary) -> bool:
            return hides(one.endpoint_id, one.id)

        shown = self.request.summary
        stays = shown is not None and not deletes(shown) and not self.request.deleted
        self.list.selection.pass_by(deletes)
        if shown is None:
            return
        if stays and all(one.id != shown.id for one in self.list.selected()):
            self.list.keep_one(shown)
        elif deletes(shown):
            self.detail.clear()
            if self.list.selected_count() == 1:
                self.detail.placeholder.not_open()

    @Slot()
    def _leave_detail(self) -> None:
        """An empty detail has no use for keys: they go to the list."""
        if self.detail.isAncestorOf(self.window().focusWidget()):
            self.take_focus()

    @Slot(object)
    def _narrow(self, times: tuple[int, int] | None) -> None:
        self.feed.narrow(Within(start=times[0], end=times[1]) if times else None)

    @Slot()
    def _count(self) -> None:
        """Footer, and list or empty state: which of them is seen follows from what is stored."""
        endpoints = self._doors.endpoints.all() if self.endpoint_id is None else ()
        ids = [self.endpoint_id] if self.endpoint_id is not None else [endpoint.id for endpoint in endpoints]
        total = sum(self._doors.captures.counts(number).total for number in ids)
        unread = sum(self._doors.captures.counts(number).unread for number in ids)
        what = listed(self.feed, self.activity, total) or count_of(total, "request")
        note = f" · {unread:,} unread" if unread and self.feed.pager.within is None else ""
        state = "keeps capturing" if self._pause.on else "newest on top"
        self.footer.setText(f"{what}{note} · {state}" if total else "No requests yet")
        self._stack.setCurrentWidget(self._what_to_see(total))
        self.first.waiting |= self._stack.currentWidget() is self.empty
        self.filter.count(total, self.footer, self._stack)
        self.commands.look()

    def _what_to_see(self, total: int) -> QWidget:
        if self.feed.model.rowCount():
            return self.list
        if not total:
            return self.empty
        # What could not be read has no end yet, so nobody knows whether there are any.
        narrowed = self.feed.pager.within is not None and not self.feed.pager.jumping and self.feed.model.at_tail
        return self.none_then if narrowed and not self.filter.active else self.list

    def _show_head(self) -> None:
        endpoint = self._endpoint
        url = self._doors.capture_url(endpoint) if endpoint else None
        self.header.show_endpoint(endpoint, url or "")
        self.empty.show_endpoint(url, endpoint is None or endpoint.active)
        names = {one.id: escape(one.name) for one in self._doors.endpoints.all()}
        self.list.request_delegate.names = names if self.endpoint_id is None else None
        self.list.viewport().update()

    def _endpoint_saved(self, event: EndpointSaved) -> None:
        if event.endpoint.id == self.endpoint_id:
            self._endpoint = self.of_endpoint.endpoint = event.endpoint
        if self.endpoint_id in (None, event.endpoint.id):
            self._show_head()

    def _endpoint_removed(self, event: EndpointRemoved) -> None:
        self._count()

    def _settings_changed(self, event: SettingsChanged) -> None:
        self._show_head()
