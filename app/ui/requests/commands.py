"""Turns the page's buttons, menu entries and keys into actions in the background."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut

from app.core.curl import ready_curl
from app.core.links import link_to_endpoint, link_to_request
from app.core.model import Endpoint, Summary
from app.ui.detail.detail_pane import DetailPane
from app.ui.requests.actions import RequestActions
from app.ui.requests.header import EndpointHeader
from app.ui.requests.view import RequestList
from app.ui.tasks import Tasks


class PageCommands(QObject):
    """Listens to header, list and detail, and to the keys in the detail. `endpoint` is the one shown, None for all.

    What is done to the endpoint itself is the frame's: it leaves as a signal that carries the endpoint.
    """

    edit_requested = Signal(object)
    test_requested = Signal(object)
    switch_requested = Signal(object, bool)
    delete_requested = Signal(object)

    def __init__(
        self,
        actions: RequestActions,
        tasks: Tasks,
        *,
        header: EndpointHeader,
        rows: RequestList,
        detail: DetailPane,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self.endpoint: Endpoint | None = None
        self._actions, self._tasks, self._header, self._list = actions, tasks, header, rows
        self._detail = detail
        header.edit_asked.connect(self.edit)
        header.test_asked.connect(self.send_test)
        header.curl_asked.connect(self.copy_ready_curl)
        header.link_asked.connect(self.copy_endpoint_link)
        header.switch_asked.connect(self.switch)
        header.read_asked.connect(self.mark_all_read)
        header.clear_asked.connect(self.clear)
        header.delete_asked.connect(self.delete_endpoint)
        rows.delete_asked.connect(self.delete_selected)
        rows.unread_asked.connect(self.toggle_read)
        rows.curl_asked.connect(self.copy_curl)
        rows.link_asked.connect(self.copy_link)
        detail.head.delete_asked.connect(self.delete_shown)
        detail.head.unread_asked.connect(self.mark_shown_unread)
        detail.head.curl_asked.connect(self.copy_shown_curl)
        detail.head.link_asked.connect(self.copy_shown_link)
        for key, command in (
            (Qt.Key.Key_C, self.copy_shown_curl),
            (Qt.Key.Key_L, self.copy_shown_link),
            (Qt.Key.Key_U, self.mark_shown_unread),
            (Qt.Key.Key_Delete, self.delete_shown),
        ):
            shortcut = QShortcut(QKeySequence(key), detail)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(command)

    @Slot()
    def edit(self) -> None:
        """Ask the frame for the form."""
        if self.endpoint is not None:
            self.edit_requested.emit(self.endpoint)

    @Slot()
    def send_test(self) -> None:
        """Ask for a test request; it arrives like any other."""
        if self.endpoint is not None:
            self.test_requested.emit(self.endpoint)

    @Slot()
    def copy_ready_curl(self) -> None:
        """Put a first command on the clipboard."""
        QGuiApplication.clipboard().setText(ready_curl(self._header.url.text()))
        self._actions.say("Copied as curl.")

    @Slot()
    def copy_endpoint_link(self) -> None:
        """Put the link that opens the endpoint in Hookline on the clipboard."""
        if self.endpoint is not None:
            self._actions.copy_link(link_to_endpoint(self.endpoint.slug))

    @Slot()
    def switch(self) -> None:
        """On becomes off and off becomes on."""
        if self.endpoint is not None:
            self.switch_requested.emit(self.endpoint, not self.endpoint.active)

    @Slot()
    def mark_all_read(self) -> None:
        """Mark all of the endpoint's requests read."""
        if self.endpoint is not None:
            self._start(self._actions.mark_all_read(self.endpoint), "mark all read")

    @Slot()
    def clear(self) -> None:
        """Delete all of the endpoint's requests, after asking."""
        if self.endpoint is not None:
            self._start(self._actions.clear(self.endpoint), "delete all requests")

    @Slot()
    def delete_endpoint(self) -> None:
        """Ask for the endpoint to be deleted."""
        if self.endpoint is not None:
            self.delete_requested.emit(self.endpoint)

    @Slot()
    def delete_selected(self) -> None:
        """Delete the selected requests, after asking; the cursor goes to what takes their place."""
        chosen = self._list.selected()
        if chosen:
            self._start(self._delete(chosen), "delete requests")

    @Slot()
    def toggle_read(self) -> None:
        """Unread becomes read where any selected is unread, otherwise all become unread."""
        chosen = self._list.selected()
        if chosen:
            unread = any(not summary.read for summary in chosen)
            self._start(self._actions.set_read(chosen, read=unread), "mark requests")

    @Slot()
    def copy_curl(self) -> None:
        """Copy the request under the cursor as a command."""
        current = self._list.current()
        if current is not None:
            self._start(self._actions.copy_curl(current), "copy as curl")

    @Slot()
    def delete_shown(self) -> None:
        """Delete the request in the detail, after asking."""
        if self._detail.capture is not None:
            self._start(self._delete([self._detail.capture.summary()]), "delete a request")

    @Slot()
    def mark_shown_unread(self) -> None:
        """Make the request in the detail unread again."""
        if self._detail.capture is not None:
            self._start(self._actions.set_read([self._detail.capture.summary()], read=False), "mark unread")

    @Slot()
    def copy_shown_curl(self) -> None:
        """Copy the request in the detail as a command."""
        if self._detail.capture is not None:
            self._start(self._actions.copy_curl(self._detail.capture.summary()), "copy as curl")

    @Slot()
    def copy_link(self) -> None:
        """Copy the link to the request under the cursor."""
        current = self._list.current()
        if current is not None:
            self._actions.copy_link(link_to_request(current.id))

    @Slot()
    def copy_shown_link(self) -> None:
        """Copy the link to the request in the detail."""
        if self._detail.capture is not None:
            self._actions.copy_link(link_to_request(self._detail.capture.id))

    async def _delete(self, chosen: Sequence[Summary]) -> None:
        if not await self._actions.agree_to_delete(chosen):
            return
        # Meanwhile requests may have come in above, or a link may have led elsewhere: then the cursor stays there.
        current, row = self._list.current(), self._list.currentIndex().row()
        await self._actions.delete(chosen)
        if current is not None and current.id in {summary.id for summary in chosen}:
            self._list.select_row(row)

    def _start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        self._tasks.start(work, name)
