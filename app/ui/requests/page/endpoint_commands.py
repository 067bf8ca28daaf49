"""What can be done with the endpoint whose page is shown, one command each for buttons, menu and palette."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication

from app.core.curl import ready_curl
from app.core.links import link_to_endpoint
from app.core.model import Endpoint
from app.ui.requests.page.header import EndpointHeader
from app.ui.requests.page.request_actions import RequestActions
from app.ui.tasks import Tasks


class EndpointCommands(QObject):
    """Listens to the header. `endpoint` is the one shown, None for all.

    What is done to the endpoint itself is the frame's: it leaves as a signal that carries the endpoint.
    """

    edit_requested = Signal(object)
    test_requested = Signal(object)
    switch_requested = Signal(object, bool)
    delete_requested = Signal(object)

    def __init__(self, actions: RequestActions, tasks: Tasks, header: EndpointHeader, parent: QObject) -> None:
        super().__init__(parent)
        self.endpoint: Endpoint | None = None
        self._actions, self._tasks, self._header = actions, tasks, header
        header.edit_asked.connect(self.edit)
        header.test_asked.connect(self.send_test)
        header.curl_asked.connect(self.copy_ready_curl)
        header.link_asked.connect(self.copy_link)
        header.switch_asked.connect(self.switch)
        header.read_asked.connect(self.mark_all_read)
        header.clear_asked.connect(self.clear)
        header.delete_asked.connect(self.delete)

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
    def copy_link(self) -> None:
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
    def delete(self) -> None:
        """Ask for the endpoint to be deleted."""
        if self.endpoint is not None:
            self.delete_requested.emit(self.endpoint)

    def _start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        self._tasks.start(work, name)
