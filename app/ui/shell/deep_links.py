"""Handles launch requests, of this start or a later one, and links clicked in other programs."""

from __future__ import annotations

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
from app.ui.shell.window_commands import GONE_ADVICE, NOT_OPENED
from app.ui.tasks import Tasks
from app.ui.widgets.dialog import Dialog


class DeepLinks(QObject):
    """The window comes to the front for all but `LaunchAction.STAY`; a link that cannot be opened is reported in the
    message bar. Dialogs that only show information are closed.
    """

    def __init__(self, services: Services, tasks: Tasks, window: MainWindow) -> None:
        super().__init__(window)
        self._services, self._messages, self._window = services, tasks.messages, window

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
            self._messages.post(Message(text=str(error), tone="warning", key=NOT_OPENED, answers=True))

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
            gone = self._not_found("The linked request no longer exists.", GONE_ADVICE)
            self._window.commands.sources.open_request(request.id, gone)
        elif isinstance(request, EndpointLink):
            self._window.commands.sources.stop_opening()
            self._open_endpoint(request.slug)
        elif request is LaunchAction.NEW_ENDPOINT:
            self._window.endpoint_actions.new.run()

    def _close_idle_dialogs(self) -> None:
        """Close dialogs over the window that only show information."""
        for dialog in reversed(self._window.findChildren(Dialog)):
            if dialog.isVisible() and dialog.is_idle():
                dialog.reject()

    def _open_endpoint(self, slug: str) -> None:
        endpoint = self._services.store.endpoints.by_slug(slug)
        if endpoint is None:
            advice = "It was deleted with its requests."
            self._messages.post(self._not_found(f"The endpoint “{slug}” no longer exists.", advice))
            return
        self._messages.withdraw(NOT_OPENED)
        self._window.enter_endpoint(endpoint.id)

    def _not_found(self, text: str, advice: str) -> Message:
        advice = f"{advice} Or the link belongs to another data folder; this one is {self._services.data_folder}."
        return Message(text=text, advice=advice, tone="warning", key=NOT_OPENED, answers=True)
