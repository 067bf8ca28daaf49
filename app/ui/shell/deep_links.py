"""Handles launch requests, of this start or a later one, and links clicked in other programs."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Slot

from app.core.links import (
    BrokenLink,
    EndpointLink,
    LaunchAction,
    LaunchRequest,
    Link,
    LinkError,
    RequestLink,
    parse_link,
)
from app.ui.messages import Message
from app.ui.services import Services
from app.ui.shell.main_window import MainWindow
from app.ui.tasks import Latest, Tasks
from app.ui.widgets.dialog import Dialog

LINK_MESSAGE_KEY = "link"
"""The message's key: the next link that opens removes it."""


class DeepLinks(QObject):
    """The window comes to the front for all but `LaunchAction.STAY`; a link that cannot be opened is reported in the
    message bar. Dialogs that only show information are closed.
    """

    def __init__(self, services: Services, tasks: Tasks, window: MainWindow) -> None:
        super().__init__(window)
        self._services, self._messages, self._window = services, tasks.messages, window
        self._latest = Latest(self, tasks, "open a link", only_reads=False)
        window.dialogs.closing.connect(self._latest.stop)

    @Slot(object)
    def handle_launch(self, launch: LaunchRequest) -> None:
        """Handle the request of a later start, perhaps of another version."""
        own, other = self._services.version, launch.version
        if other != own:
            text = f"Hookline {other} was started while {own} is running."
            advice = f"Close Hookline and start it again to use {other}."
            self._messages.post(Message(text=text, advice=advice, tone="info", key="other version"))
        self.handle(launch.action)

    @Slot(str)
    def open_text(self, text: str) -> None:
        """Open a link passed on by the system."""
        try:
            self.handle(parse_link(text))
        except LinkError as error:
            self._window.bring_to_front()
            self._close_idle_dialogs()
            self._messages.post(Message(text=str(error), tone="warning", key=LINK_MESSAGE_KEY, answers=True))

    @Slot(object)
    def handle(self, request: LaunchAction | Link | BrokenLink) -> None:
        if request is LaunchAction.STAY:
            return
        if isinstance(request, BrokenLink):
            self.open_text(request.text)
            return
        self._window.bring_to_front()
        if request is LaunchAction.SHOW:
            return
        self._close_idle_dialogs()
        if isinstance(request, RequestLink):
            self._latest.run(partial(self._open_request, request.id))
        elif isinstance(request, EndpointLink):
            self._latest.stop()
            self._open_endpoint(request.slug)
        elif request is LaunchAction.NEW_ENDPOINT:
            self._window.endpoint_actions.new.run()

    def _close_idle_dialogs(self) -> None:
        """Close dialogs over the window that only show information."""
        for dialog in reversed(self._window.findChildren(Dialog)):
            if dialog.isVisible() and dialog.is_idle():
                dialog.reject()

    async def _open_request(self, capture_id: str) -> None:
        capture = await self._services.store.captures.get(capture_id)
        if capture is None:
            advice = "Its retention is over, or it or its endpoint was deleted."
            self._post_not_found("The linked request no longer exists.", advice)
            return
        self._messages.withdraw(LINK_MESSAGE_KEY)
        self._window.enter_endpoint(capture.endpoint_id)
        self._window.requests.go_to(capture)

    def _open_endpoint(self, slug: str) -> None:
        endpoint = self._services.store.endpoints.by_slug(slug)
        if endpoint is None:
            self._post_not_found(f"The endpoint “{slug}” no longer exists.", "It was deleted with its requests.")
            return
        self._messages.withdraw(LINK_MESSAGE_KEY)
        self._window.enter_endpoint(endpoint.id)

    def _post_not_found(self, text: str, advice: str) -> None:
        advice = f"{advice} Or the link belongs to another data folder; this one is {self._services.data_folder}."
        self._messages.post(Message(text=text, advice=advice, tone="warning", key=LINK_MESSAGE_KEY, answers=True))
