"""The pane that shows one request: the latest that was selected only, until another is."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QWidget

from app.core.clock import DAY_US, now_us
from app.core.events import (
    DeliveriesQueued,
    DeliveryChanged,
    EndpointRead,
    EndpointRemoved,
    EndpointSaved,
    Purged,
    RequestsRemoved,
    RequestsUpdated,
    Subscriptions,
)
from app.core.model import Capture, Summary
from app.core.text import count_of
from app.ui.deleting import DeleteChanged
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.card import EMPTY_WIDTH, EmptyState
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.layout import stack

if TYPE_CHECKING:
    from app.ui.inspector.body.body_pane import BodyPane
    from app.ui.inspector.header import RequestHeader
    from app.ui.inspector.request_view import RequestTabs, RequestView

BY_SOMEONE = "This request was deleted."
WITH_ENDPOINT = "This request was deleted with its endpoint."
FOR_SPACE = "This request was deleted to stay within a storage limit."


FOUND_OUT = {"provider", "event", "gist", "delivery_id", "identified", "response_ms"}
"""The fields that are read again once some of them are known: nobody tells of all."""
RESPONSE_MS = 1_500
"""The time of a response is stored a second after it was sent."""
RESPONSE_WITHIN_US = 60_000_000
"""Older requests without the time of a response will not get one."""
NOT_STORED = "This request is no longer stored"
HOW_DELETED = "It was deleted manually, by retention, or to stay within a storage limit."


class Placeholder(EmptyState):
    """Says that none is selected, or why the selected one is not shown."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("body", "", "", theme, parent)
        self.set_text_width(EMPTY_WIDTH)
        self.none_selected()

    def none_selected(self) -> None:
        """Nothing is selected in the list."""
        self.say("No request selected", "Select a request in the list to see its body, headers and more.")
        self.nothing_to_say = True

    def say(self, title: str, text: str) -> None:
        super().say(title, text)
        self.nothing_to_say = False


class RequestPane(QFrame):
    """`show_request` opens a request and marks it read; its note is shown below the header.

    What is shown stays until another request is opened, even if it is deleted: `deleted` then says why.
    """

    opened = Signal(str)
    closed = Signal()
    """No request is shown any more."""
    changed = Signal()
    """Another request is shown, or none, or this one has other marks, was deleted or was restored."""
    view_made = Signal()

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "surface")
        self._services, self._theme, self._tasks = services, theme, tasks
        self._view: RequestView | None = None
        self.capture: Capture | None = None
        """The request shown, with its marks as they are now."""
        self.capture_id: str | None = None
        """The ID of the request shown, or being opened."""
        self._focus_when_loaded = False
        self._reopened = False
        """Whether the request was opened again by the program, not by the user."""
        self.deleted = ""
        """Why the request shown is no longer stored; empty while it is."""
        self._deliveries_of: str | None = None
        """A request that opens with its deliveries next time."""
        self._words: Sequence[str] = ()
        self._marks: tuple[re.Pattern[str] | None, re.Pattern[str] | None] = None, None
        self._latest = Latest(self, tasks, "detail: load")
        self._latest_mark = Latest(self, tasks, "detail: mark read")
        self.placeholder = Placeholder(theme, self)
        self._stack = stack(self.placeholder, inside=self)
        self._response = QTimer(self, singleShot=True, interval=RESPONSE_MS)
        self._response.timeout.connect(self._load_again)
        self._outdated = False
        """Whether the request changed, or may have been deleted, since it began to be read."""
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(RequestsUpdated, self._updated)
        self._subscriptions.add(EndpointRead, self._endpoint_read)
        self._subscriptions.add(DeliveryChanged, self._delivered)
        self._subscriptions.add(DeliveriesQueued, self._delivered)
        self._subscriptions.add(RequestsRemoved, self._removed)
        self._subscriptions.add(EndpointRemoved, self._endpoint_removed)
        self._subscriptions.add(Purged, self._purged)
        self._subscriptions.add(EndpointSaved, self._endpoint_saved)
        self._subscriptions.add(DeleteChanged, lambda _: self._check_restored())

    @property
    def view(self) -> RequestView:
        """Made when the first request is shown: its hundred widgets would slow down the start of the window."""
        if self._view is None:
            from app.ui.inspector.request_view import RequestView  # as the view itself

            self._view = view = RequestView(self._services, self._theme, self._tasks, self)
            self._stack.addWidget(view)
            view.body.find_bar.set_words(self._words)
            view.mark(*self._marks)
            order_tabs(self)
            self.view_made.emit()
        return self._view

    @property
    def summary(self) -> Summary | None:
        """Of the request shown."""
        return self.capture.summary() if self.capture is not None else None

    @property
    def header(self) -> RequestHeader:
        return self.view.header

    @property
    def tabs(self) -> RequestTabs:
        return self.view.tabs

    @property
    def body(self) -> BodyPane:
        return self.view.body

    def stop(self) -> None:
        """Unsubscribe from the bus, and stop loading."""
        self.clear()
        if self._view is not None:
            self._view.deliveries.stop()
        self._subscriptions.end()

    def show_request(self, capture_id: str, *, focus: bool = False, mark_read: bool = True) -> None:
        """Open a request, cancelling an opening in progress. `focus` moves the focus into it."""
        if capture_id == self.capture_id:
            if mark_read and self._reopened:
                self._reopened = False
                self.mark_read()
            return
        self.capture_id, self._focus_when_loaded, self._reopened = capture_id, focus, False
        self._latest.run(partial(self._load, capture_id, mark_read))

    def reopen(self, capture_id: str) -> None:
        """Open a request that was open before, if it is still stored. If it is marked unread, it stays so until the
        user opens it with `show_request`.
        """
        self.capture_id, self._focus_when_loaded, self._reopened = capture_id, False, True
        self._latest.run(partial(self._load, capture_id, False))

    def show_deliveries_next(self, capture_id: str) -> None:
        """Show the deliveries of a request, now or when it opens next."""
        if self.capture is not None and self.capture.id == capture_id:
            self.view.show_deliveries()
        self._deliveries_of = capture_id

    def mark(self, words: Sequence[str], headers: re.Pattern[str] | None, query: re.Pattern[str] | None) -> None:
        """Mark what a filter found: the words in the body, and these in the tabs of headers and query, of this request
        and of those shown later.
        """
        self._words, self._marks = words, (headers, query)
        if self._view is not None:
            self._view.body.find_bar.set_words(words)
            self._view.mark(headers, query)

    def mark_read(self) -> None:
        """Mark the request read that is open, or being opened."""
        if self.capture_id is not None and not self.deleted and self._services.read_only is None:
            self._latest_mark.run(partial(self._services.store.captures.mark_read, [self.capture_id]))

    @property
    def is_empty(self) -> bool:
        """Whether it neither shows a request nor says why it does not."""
        return self.capture_id is None and self.placeholder.nothing_to_say

    def clear(self, *, lost: bool = False) -> None:
        """Show no request; the one that was to be shown is `lost`."""
        self.capture_id, self.capture, self._focus_when_loaded, self._reopened = None, None, False, False
        self._say_deleted("")
        self._latest.stop()
        self._response.stop()
        if self._view is not None:
            self._view.clear()
        if lost:
            self.placeholder.say(NOT_STORED, HOW_DELETED)
        else:
            self.placeholder.none_selected()
        self._stack.setCurrentWidget(self.placeholder)
        self._tell_changed()
        self.closed.emit()

    @Slot()
    def take_focus(self) -> None:
        """Move the focus into what is shown, or into what is being opened once it is."""
        if self.capture is None:
            self._focus_when_loaded = self.capture_id is not None
        else:
            self.view.take_focus()

    @Slot(str)
    def show_deliveries(self, capture_id: str) -> None:
        """Show the deliveries of a request, which is opened if it is not."""
        self.show_deliveries_next(capture_id)
        if capture_id != self.capture_id:
            self.show_request(capture_id)

    @Slot()
    def open_find(self) -> None:
        """Search in the body, or in the raw request while that is shown."""
        if self.capture is not None:
            self.view.open_find()

    async def _load(self, capture_id: str, mark_read: bool) -> None:
        self._outdated = True
        while self._outdated:
            self._outdated = False
            capture = await self._services.store.captures.get(capture_id)
        if capture is None:
            self.clear(lost=not self._reopened)
            return
        self._show(capture)
        if not capture.read and mark_read:
            self.mark_read()

    def _show(self, capture: Capture) -> None:
        self.capture = capture
        self._say_deleted("")
        deliveries, self._deliveries_of = self._deliveries_of == capture.id, None
        self._stack.setCurrentWidget(self.view)
        self.view.show_capture(capture, deliveries=deliveries)
        self._await_response(capture)
        self.opened.emit(capture.id)
        self._tell_changed()
        if self._focus_when_loaded:
            self._focus_when_loaded = False
            self.take_focus()

    def _tell_changed(self) -> None:
        shown = self.capture
        if self._view is not None:
            note = (shown.id, shown.note, shown.noted_by) if shown is not None else (None, None)
            self._view.header.note.show_note(*note)
            self._view.header.note.keep_unsaved(self.deleted)
        self.changed.emit()

    # -- what happens to the request shown -----------------------------------------------------------------------

    def _outdate(self, ids: Collection[str] | None) -> None:
        """These requests changed; None: any of them."""
        self._outdated = self._outdated or ids is None or self.capture_id in ids

    def _updated(self, event: RequestsUpdated) -> None:
        self._outdate(event.changes)
        if self.capture is not None and (fields := event.changes.get(self.capture.id)):
            self._update(self.capture, **fields)
            if not FOUND_OUT.isdisjoint(fields):
                self._load_again()

    def _endpoint_read(self, event: EndpointRead) -> None:
        self._outdate(None)
        if self.capture is not None and event.has(self.capture):
            self._update(self.capture, read=True)

    def _update(self, shown: Capture, **fields: Any) -> None:
        self.capture = replace(shown, **fields)
        if self.capture != shown:
            self._tell_changed()

    def _delivered(self, event: DeliveryChanged | DeliveriesQueued) -> None:
        self._outdate(event.shown)
        if self.capture is not None and self.capture.id in event.shown:
            self.capture = replace(self.capture, delivery=event.shown[self.capture.id])
            self.view.show_state(self.capture)

    @Slot()
    def _load_again(self) -> None:
        if self.capture is not None:
            self._tasks.start(self._load_found(self.capture.id), "detail: what was found out", self)

    async def _load_found(self, capture_id: str) -> None:
        found = await self._services.store.captures.get(capture_id)
        if found is not None and self.capture is not None and self.capture.id == capture_id:
            # Its marks may have changed since it was read.
            self.capture = replace(self.capture, **{name: getattr(found, name) for name in FOUND_OUT})
            self.view.show_found(self.capture)
            self._await_response(self.capture)

    def _await_response(self, capture: Capture) -> None:
        """Look again for the time of the response, of which nothing tells."""
        if capture.response_ms is None and now_us() - capture.received_at < RESPONSE_WITHIN_US:
            self._response.start()

    # -- whether it is still stored ------------------------------------------------------------------------------

    def _removed(self, event: RequestsRemoved) -> None:
        self._outdate(event.ids)
        shown = self.capture
        if shown is None or not event.has(shown.endpoint_id, shown.id):
            return
        if event.ids is None:
            self._check(shown, BY_SOMEONE)  # A request received in the meantime is still stored.
        else:
            self._show_deleted(BY_SOMEONE)

    def _endpoint_removed(self, event: EndpointRemoved) -> None:
        self._outdate(None)
        if self.capture is not None and self.capture.endpoint_id == event.endpoint.id:
            self._show_deleted(WITH_ENDPOINT)

    def _purged(self, event: Purged) -> None:
        self._outdate(None)
        shown = self.capture
        if shown is not None and shown.endpoint_id in event.report.deleted:
            self._check(shown, self._reason(shown, event.report.at))

    def _reason(self, capture: Capture, at: int) -> str:
        """Retention and storage limits publish the same event; the request's age tells them apart."""
        endpoint = self._services.store.endpoints.by_id(capture.endpoint_id)
        if endpoint is None or at - capture.received_at < endpoint.retention_days * DAY_US:
            return FOR_SPACE
        return f"This request was deleted by retention: it was kept for {count_of(endpoint.retention_days, 'day')}."

    def _endpoint_saved(self, event: EndpointSaved) -> None:
        """A target may be paused now, or resumed; or the endpoint was restored with its requests."""
        if self.capture is not None and self.capture.endpoint_id == event.endpoint.id:
            self.view.show_state(self.capture)
        self._check_restored()

    def _check_restored(self) -> None:
        if self.capture is not None and self.deleted:
            self._check(self.capture, self.deleted)

    def _check(self, shown: Capture, reason: str) -> None:
        """Find out whether it is stored; `reason` is why it is not, if so."""
        self._tasks.start(self._check_stored(shown.id, reason), "detail: is it stored", self)

    async def _check_stored(self, capture_id: str, reason: str) -> None:
        deleted = self.deleted
        stored = await self._services.store.captures.get(capture_id) is not None
        # What events told meanwhile is newer.
        if self.capture is not None and self.capture.id == capture_id and self.deleted == deleted:
            self._show_deleted("" if stored else reason)

    def _show_deleted(self, reason: str) -> None:
        """Say why it is no longer stored, but nothing else of one that is deleted already; empty: it is stored."""
        if bool(reason) != bool(self.deleted):
            self._say_deleted(reason)
            self._tell_changed()

    def _say_deleted(self, reason: str) -> None:
        self.deleted = reason
        if self._view is not None:
            self._view.show_deleted(reason)
