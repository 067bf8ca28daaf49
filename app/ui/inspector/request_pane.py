"""The pane that shows one request: header and tabs, filled by the latest selection only, until it is deleted."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cached_property, partial
from typing import TypeVar

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.media_types import media_type
from app.core.clock import DAY_US
from app.core.errors import StorageUnavailableError
from app.core.events import EndpointRemoved, Purged, RequestsIdentified, RequestsRemoved, Subscriptions
from app.core.model import Capture, DeliveryState
from app.core.text import count_of
from app.ui.inspector.body.body_bars import NoticesBar
from app.ui.inspector.body.body_pane import BodyPane
from app.ui.inspector.body.body_source import BodySource, of_capture
from app.ui.inspector.body.source_pane import EMPTY_WIDTH
from app.ui.inspector.header import RequestHeader
from app.ui.inspector.pairs_view import PairsView
from app.ui.inspector.request_state import RequestState
from app.ui.inspector.tabs.deliveries_tab import DeliveriesTab
from app.ui.inspector.tabs.raw_tab import RawTab
from app.ui.inspector.tabs.table_tabs import HeadersTab, InfoTab, TokensTab, query_rows
from app.ui.inspector.tabs.tabs import BODY, DELIVERIES, HEADERS, INFO, QUERY, RAW, TOKENS, RequestTabs, tab_for
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.undo.pending_delete import DeleteChanged
from app.ui.widgets.card import line
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.focus import order_tabs, takes_keys
from app.ui.widgets.layout import vbox

BY_SOMEONE = "This request was deleted."
WITH_ENDPOINT = "This request was deleted with its endpoint."
FOR_SPACE = "This request was deleted to stay within a storage limit."


class DeletionWatcher(QObject):
    """Watches the request given to `watch`; `found` carries, once, the reason why it is no longer stored. `undone`: it
    was restored.
    """

    found = Signal(str)
    undone = Signal()

    def __init__(self, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._tasks = services, tasks
        self._watched: Capture | None = None
        self._deleted: Capture | None = None
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(RequestsRemoved, self._removed)
        self._subscriptions.add(EndpointRemoved, self._endpoint_removed)
        self._subscriptions.add(Purged, self._purged)
        self._subscriptions.add(DeleteChanged, self._delete_changed)

    def watch(self, capture: Capture | None) -> None:
        """Watch this request; None for none."""
        self._watched, self._deleted = capture, None

    def stop(self) -> None:
        self._watched = self._deleted = None
        self._subscriptions.end()

    def _removed(self, event: RequestsRemoved) -> None:
        watched = self._watched
        if watched is None or not event.has(watched.endpoint_id, watched.id):
            return
        if event.ids is None:
            self._check(watched, BY_SOMEONE)  # A request received in the meantime is still stored.
        else:
            self._report(BY_SOMEONE)

    def _endpoint_removed(self, event: EndpointRemoved) -> None:
        if self._watched is not None and self._watched.endpoint_id == event.endpoint.id:
            self._report(WITH_ENDPOINT)

    def _purged(self, event: Purged) -> None:
        watched = self._watched
        if watched is not None and watched.endpoint_id in event.report.deleted:
            self._check(watched, self._reason(watched, event.report.at))

    def _delete_changed(self, event: DeleteChanged) -> None:
        if event.state == "undone" and self._deleted is not None:
            self._tasks.start(self._check_restored(self._deleted), "detail: is it stored again", self)

    async def _check_restored(self, capture: Capture) -> None:
        if await self._services.store.captures.get(capture.id) is not None and self._deleted is capture:
            self.undone.emit()

    def _reason(self, capture: Capture, at: int) -> str:
        """Retention and storage limits publish the same event; the request's age tells them apart."""
        endpoint = self._services.store.endpoints.by_id(capture.endpoint_id)
        if endpoint is None or at - capture.received_at < endpoint.retention_days * DAY_US:
            return FOR_SPACE
        return f"This request was deleted by retention: it was kept for {count_of(endpoint.retention_days, 'day')}."

    def _check(self, capture: Capture, reason: str) -> None:
        self._tasks.start(self._check_stored(capture, reason), "detail: is it stored", self)

    async def _check_stored(self, capture: Capture, reason: str) -> None:
        if await self._services.store.captures.get(capture.id) is None and self._watched is capture:
            self._report(reason)

    def _report(self, reason: str) -> None:
        self._watched, self._deleted = None, self._watched
        self.found.emit(reason)


NOT_STORED = "This request is no longer stored"
HOW_DELETED = "It was deleted manually, by retention, or to stay within a storage limit."
STILL_READABLE = "You can still read and copy it here."
"""Used after the request was deleted."""

SHOWN_DAMAGED = "It is shown as it is stored, and neither forwarded nor replayed."

LEAST_HEIGHT = 200
"""Pixels of a tab. The tallest would need more: on a small screen the window would scroll while a note is written."""

PAGES = ("body", "fields", "query", "deliveries", "raw", "info", "tokens")
"""The attributes with the pages of the tabs, in their order."""

Page = TypeVar("Page", bound=QWidget)


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
        self.nothing_to_say = False
        self.title.setText(title)
        self.text.setText(text)


class RequestPane(QFrame):
    """`show_request` opens a request and marks it read. The tab is remembered for each content type.

    What is shown stays until another request is opened, even if it is deleted: `deleted` then says why.
    """

    opened = Signal(str)
    closed = Signal()
    """No request is shown any more."""
    was_deleted = Signal()

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "surface")
        self._services, self._theme = services, theme
        self._capture: Capture | None = None
        self._capture_id: str | None = None
        self._focus_when_loaded = False
        self._reopened = False
        """Whether the request was opened again by the program, not by the user."""
        self.deleted = ""
        """Why the request shown is no longer stored; empty while it is."""
        self._tab_of: dict[str, int] = {}
        self._tab_wanted: tuple[str, int] | None = None
        """A request that opens with this tab next time."""
        self._latest = Latest(self, tasks, "detail: load")
        self._latest_check = Latest(self, tasks, "detail: check")
        self._tasks = tasks
        self.header = RequestHeader(theme, self)
        self.header.note.read_only = services.read_only is not None
        self._state = RequestState(services, self)
        self._state.changed.connect(self.header.show_state)
        self.deleted_bar = NoticesBar(theme, self)
        self.damaged_bar = NoticesBar(theme, self)
        self.tabs = RequestTabs(theme, self)
        self.body = BodyPane(theme, tasks, self)
        self.body.loader.begun.connect(self._body_read)
        self.deliveries = DeliveriesTab(services, theme, tasks, self)
        self.deliveries.counted.connect(self._deliveries_counted)
        self.tokens = TokensTab(theme, tasks, self)
        self._filled: set[int] = set()
        """The tabs that show this request; the others do so when they are shown."""
        self._source: BodySource | None = None
        self._marks: tuple[re.Pattern[str] | None, re.Pattern[str] | None] = None, None
        self.placeholder = Placeholder(theme, self)
        self._pages = QStackedWidget(self)
        self._pages.setMinimumHeight(LEAST_HEIGHT)
        self._stack = QStackedWidget(self)
        self._build_layout()
        self.tabs.currentChanged.connect(self._show_tab)
        self.tabs.user_selected.connect(self._remember_tab)
        self.tokens.found.connect(self._tokens_found)
        self._deletion = DeletionWatcher(services, tasks, self)
        self._deletion.found.connect(self._show_deleted)
        self._deletion.undone.connect(self._show_restored)
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(RequestsIdentified, self._identified)

    @cached_property
    def fields(self) -> HeadersTab:
        """Made when it is first shown, as the next three are: they would slow down the start of the window."""
        return self._add_page(HeadersTab(self._theme, self._pages))

    @cached_property
    def query(self) -> PairsView:
        query = self._add_page(PairsView(("Name", "Value", "As sent"), self._theme, self._pages))
        query.setAccessibleName("Query parameters")
        return query

    @cached_property
    def raw(self) -> RawTab:
        return self._add_page(RawTab(self._services.store.captures, self._theme, self._tasks, self._pages))

    @cached_property
    def info(self) -> InfoTab:
        return self._add_page(InfoTab(self._theme, self._pages))

    @property
    def headers(self) -> PairsView:
        return self.fields.headers

    @property
    def capture(self) -> Capture | None:
        """The request shown."""
        return self._capture

    @property
    def capture_id(self) -> str | None:
        """The ID of the request shown, or being opened."""
        return self._capture_id

    def stop(self) -> None:
        """Unsubscribe from the bus, and stop loading."""
        self.clear()
        self.deliveries.stop()
        self._state.stop()
        self._deletion.stop()
        self._subscriptions.end()

    def show_request(self, capture_id: str, *, focus: bool = False, mark_read: bool = True) -> None:
        """Open a request, cancelling an opening in progress. `focus` moves the focus into it."""
        if capture_id == self._capture_id:
            if mark_read and self._reopened:
                self._reopened = False
                self.mark_read()
            return
        self._capture_id, self._focus_when_loaded, self._reopened = capture_id, focus, False
        self._latest.run(partial(self._load, capture_id, mark_read))

    def reopen(self, capture_id: str) -> None:
        """Open a request that was open before, if it is still stored. If it is marked unread, it stays so until the
        user opens it with `show_request`.
        """
        self._capture_id, self._focus_when_loaded, self._reopened = capture_id, False, True
        self._latest.run(partial(self._load, capture_id, False))

    def show_tab_of(self, capture_id: str, tab: int) -> None:
        """Show this tab of a request, now or when it opens next."""
        if self._capture is not None and self._capture.id == capture_id:
            self.tabs.setCurrentIndex(tab)
        self._tab_wanted = (capture_id, tab)

    def mark(self, headers: re.Pattern[str] | None, query: re.Pattern[str] | None) -> None:
        """Mark what a filter found, in these tabs, of this request and of those shown later."""
        self._marks = headers, query
        self._mark_filled()

    def mark_read(self) -> None:
        """Mark the request read that is open, or being opened."""
        if self._capture_id is not None and not self.deleted and self._services.read_only is None:
            self._tasks.start(self._services.store.captures.mark_read([self._capture_id]), "detail: mark read")

    @property
    def is_empty(self) -> bool:
        """Whether it neither shows a request nor says why it does not."""
        return self._capture_id is None and self.placeholder.nothing_to_say

    def clear(self, *, lost: bool = False) -> None:
        """Show no request; the one that was to be shown is `lost`."""
        self._capture_id, self._capture, self._focus_when_loaded, self._reopened = None, None, False, False
        self._forget_deletion()
        self._latest.stop()
        self._latest_check.stop()
        self.body.stop()
        self.deliveries.clear()
        self._empty_tabs()
        self.tokens.stop()
        if lost:
            self.placeholder.say(NOT_STORED, HOW_DELETED)
        else:
            self.placeholder.none_selected()
        self._stack.setCurrentWidget(self.placeholder)
        self.closed.emit()

    @Slot()
    def take_focus(self) -> None:
        """Move the focus into what is shown, or to the tabs if that has nothing to move in."""
        tab = self.tabs.currentIndex()
        if tab in (BODY, RAW):
            widget = (self.body if tab == BODY else self.raw).stack.currentWidget()
        else:
            widget = self.deliveries.list if tab == DELIVERIES else self._pages.currentWidget()
        (widget if widget is not None and takes_keys(widget) else self.tabs).setFocus()

    @Slot(str)
    def show_deliveries(self, capture_id: str) -> None:
        """Show the deliveries of a request, which is opened if it is not."""
        self.show_tab_of(capture_id, DELIVERIES)
        if capture_id != self._capture_id:
            self.show_request(capture_id)

    @Slot()
    def open_find(self) -> None:
        """Search in the body, or in the raw request while that is shown."""
        if self._capture is not None and self.tabs.currentIndex() == RAW:
            self.raw.open_find()
        elif self._capture is not None:
            self.tabs.setCurrentIndex(BODY)
            self.body.open_find()

    def _build_layout(self) -> None:
        for page in (self.body, self.deliveries, self.tokens):
            self._pages.addWidget(page)
        bar = QHBoxLayout()
        bar.setContentsMargins(metrics.SPACE_2, 0, metrics.SPACE_1, 0)  # A tab has a focus ring with space for it.
        bar.addWidget(self.tabs, 1)
        content = QWidget(self)
        vbox(
            self.deleted_bar,
            self.damaged_bar,
            self.header,
            bar,
            line(content),
            (self._pages, 1),
            inside=content,
            spacing=0,
            margins=0,
        )
        self._stack.addWidget(self.placeholder)
        self._stack.addWidget(content)
        vbox(self._stack, inside=self, margins=0)

    async def _load(self, capture_id: str, mark_read: bool) -> None:
        capture = await self._services.store.captures.get(capture_id)
        if capture is None:
            self.clear(lost=not self._reopened)
            return
        self._show(capture)
        if not capture.read and mark_read and self._services.read_only is None:
            await self._services.store.captures.mark_read([capture_id])

    def _show(self, capture: Capture) -> None:
        self._capture = capture
        self._source = source = of_capture(capture, self._services.store.captures)
        self._empty_tabs()
        self._forget_deletion()
        self._deletion.watch(capture)
        self.header.show_capture(capture, self._services.providers)
        self._state.watch(capture)
        query = query_rows(capture.target)
        self.tabs.set_count(HEADERS, len(capture.headers))
        self.tabs.set_count(QUERY, len(query))
        self.deliveries.show_capture(capture)
        if capture.delivery is DeliveryState.NONE:
            self.tabs.set_count(DELIVERIES, 0)
        self.tabs.show_request(self._tab_of_request(capture, bool(query)), query=bool(query))
        self._show_tab(self.tabs.currentIndex())
        self._stack.setCurrentIndex(1)
        self.body.show_source(source)
        self.tokens.show_tokens(capture, source)
        self.damaged_bar.say([])
        self._latest_check.run(partial(self._check, source))
        self.opened.emit(capture.id)
        if self._focus_when_loaded:
            self._focus_when_loaded = False
            self.take_focus()

    async def _check(self, source: BodySource) -> None:
        with suppress(StorageUnavailableError):  # showing it reports that
            damage = await source.damage()
            if damage:
                self.damaged_bar.say([damage, SHOWN_DAMAGED])
                self._state.set_damaged()

    def _tab_of_request(self, capture: Capture, query: bool) -> int:
        wanted, self._tab_wanted = self._tab_wanted, None
        if wanted is not None and wanted[0] == capture.id:
            return wanted[1]
        tab = self._tab_of.get(media_type(capture.content_type))
        if tab == TOKENS and self.tabs.currentIndex() != TOKENS:
            tab = None  # Whether there are tokens is known only later.
        return tab_for(tab, capture, query=query)

    @Slot(int)
    def _deliveries_counted(self, count: int) -> None:
        self.tabs.set_count(DELIVERIES, count)

    @Slot(str, int)
    def _tokens_found(self, capture_id: str, count: int) -> None:
        current = self._capture
        if current is None or current.id != capture_id:
            return
        self.tabs.set_count(TOKENS, count)
        if not count and self.tabs.currentIndex() == TOKENS:
            query = self.tabs.isTabEnabled(QUERY)
            self.tabs.show_request(tab_for(None, current, query=query), query=query)
        self.tabs.setTabVisible(TOKENS, count > 0)
        if count and self._tab_of.get(media_type(current.content_type)) == TOKENS:
            self.tabs.setCurrentIndex(TOKENS)

    @Slot(int)
    def _show_tab(self, tab: int) -> None:
        self._fill(tab)
        self._pages.setCurrentWidget(getattr(self, PAGES[tab]))

    def _fill(self, tab: int) -> None:
        capture = self._capture
        if capture is None or tab in self._filled:
            return
        self._filled.add(tab)
        if tab == HEADERS:
            self.fields.show_fields(capture.headers, capture.trailers)
        elif tab == QUERY:
            self.query.set_rows(query_rows(capture.target))
        elif tab == RAW:
            self.raw.show_capture(capture)
        elif tab == INFO:
            self._show_info(capture)
        self._mark_filled()

    def _show_info(self, capture: Capture) -> None:
        self.info.show_capture(capture, self._services.providers)
        loader = self.body.loader
        if loader.reader is not None and loader.source is self._source:
            self.info.read(loader.reader)

    def _mark_filled(self) -> None:
        headers, query = self._marks
        if HEADERS in self._filled:
            self.headers.mark(headers)
        if QUERY in self._filled:
            self.query.mark(query)

    def _empty_tabs(self) -> None:
        """Another request is shown, or none."""
        if RAW in self._filled:
            self.raw.stop()
        self._filled.clear()

    def _add_page(self, page: Page) -> Page:
        self._pages.addWidget(page)
        order_tabs(self)
        return page

    @Slot(object)
    def _body_read(self, reader: BodyReader) -> None:
        if INFO in self._filled:
            self.info.read(reader)

    @Slot(int)
    def _remember_tab(self, tab: int) -> None:
        if self._capture is not None:
            self._tab_of[media_type(self._capture.content_type)] = tab

    def _identified(self, event: RequestsIdentified) -> None:
        if self._capture is not None and any(name == self._capture.id for name, _, _ in event.senders):
            self._tasks.start(self._load_sender(self._capture), "detail: sender", self)

    async def _load_sender(self, current: Capture) -> None:
        capture = await self._services.store.captures.get(current.id)
        if capture is not None and self._capture is current:
            self.header.show_capture(capture, self._services.providers)
            if INFO in self._filled:
                self._show_info(capture)

    def _forget_deletion(self) -> None:
        self.deleted = ""
        self._deletion.watch(None)
        self.deleted_bar.say([])

    @Slot(str)
    def _show_deleted(self, reason: str) -> None:
        self.deleted = reason
        self.deleted_bar.say([reason, STILL_READABLE])
        self.was_deleted.emit()

    @Slot()
    def _show_restored(self) -> None:
        self._forget_deletion()
        self._deletion.watch(self._capture)
        self.was_deleted.emit()
