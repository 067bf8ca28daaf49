"""Does what a start of the program asks of the window: the first start, a later one, or a link that was clicked."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Slot

from app.core.launch_request import LaunchAction, LaunchRequest
from app.core.links import BrokenLink, EndpointLink, Link, LinkError, RequestLink, parse_link
from app.ui.latest_only import Latest
from app.ui.messages import Message
from app.ui.services import Services
from app.ui.shell.main_window import MainWindow
from app.ui.tasks import Tasks
from app.ui.widgets.dialog import Dialog

LEADS_NOWHERE = "link"
"""The message's key: the next link takes it away."""


class DeepLinks(QObject):
    """The window comes to the front for all but `Wish.STAY`; a link that leads nowhere is told in the bar.

    Dialogs that only show something make room.
    """

    def __init__(self, services: Services, tasks: Tasks, window: MainWindow) -> None:
        super().__init__(window)
        self._services, self._messages, self._window = services, tasks.messages, window
        self._latest = Latest(tasks, "open a link")

    @Slot(object)
    def hear(self, asked: LaunchRequest) -> None:
        """A later start, perhaps of another version, which ends now."""
        mine, other = self._services.version, asked.version
        if other != mine:
            text = f"Hookline {other} was started while {mine} is running."
            advice = f"Close Hookline and start it again to use {other}."
            self._messages.post(Message(text=text, advice=advice, tone="info", key="other version"))
        self.fulfil(asked.action)

    @Slot(str)
    def open_text(self, text: str) -> None:
        """Open what the system handed on as a link."""
        try:
            self.fulfil(parse_link(text))
        except LinkError as error:
            self._window.bring_to_front()
            self._make_room()
            self._messages.post(Message(text=str(error), tone="warning", key=LEADS_NOWHERE, answers=True))

    @Slot(object)
    def fulfil(self, wish: LaunchAction | Link | BrokenLink) -> None:
        """Do it."""
        if wish is LaunchAction.STAY:
            return
        if isinstance(wish, BrokenLink):
            self.open_text(wish.text)
            return
        self._window.bring_to_front()
        if wish is LaunchAction.SHOW:
            return
        self._make_room()
        if isinstance(wish, RequestLink):
            self._latest.run(partial(self._open_request, wish.id))
        elif isinstance(wish, EndpointLink):
            self._latest.stop()
            self._open_endpoint(wish.slug)
        elif wish is LaunchAction.NEW_ENDPOINT:
            self._window.actions_on_endpoints.new.run()

    def _make_room(self) -> None:
        """Close what lies over the window, unless the user is at work in it."""
        for dialog in reversed(self._window.findChildren(Dialog)):
            if dialog.isVisible() and dialog.is_idle():
                dialog.reject()

    async def _open_request(self, capture_id: str) -> None:
        capture = await self._services.captures.get(capture_id)
        if self._latest.superseded:
            return
        if capture is None:
            advice = "It was deleted: by retention, by a storage limit, or by hand."
            self._tell("The request of this link is no longer stored.", advice)
            return
        self._messages.withdraw(LEADS_NOWHERE)
        self._window.enter_endpoint(capture.endpoint_id)
        self._window.requests.go_to(capture)

    def _open_endpoint(self, slug: str) -> None:
        endpoint = self._services.endpoints.by_slug(slug)
        if endpoint is None:
            self._tell(f"The endpoint “{slug}” no longer exists.", "It was deleted with its requests.")
            return
        self._messages.withdraw(LEADS_NOWHERE)
        self._window.enter_endpoint(endpoint.id)

    def _tell(self, text: str, advice: str) -> None:
        advice = f"{advice} Or the link belongs to another data folder; this one is {self._services.data_folder}."
        self._messages.post(Message(text=text, advice=advice, tone="warning", key=LEADS_NOWHERE, answers=True))
