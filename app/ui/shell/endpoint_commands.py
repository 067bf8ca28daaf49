"""The commands for the endpoint that is shown."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.core.model import Endpoint
from app.ui.commands.registry import command
from app.ui.requests.page.requests_page import EndpointPage
from app.ui.services import Services
from app.ui.shell.endpoint_actions import EndpointActions


class EndpointCommands(QObject):
    """`actions` are theirs; all rest while no endpoint is shown."""

    def __init__(self, services: Services, actions: EndpointActions, page: EndpointPage, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._do = services, actions
        self._id: int | None = None
        self._switch = command("Switch endpoint off", "pause", self._switch_it, self)
        self._read = command("Mark all as read", "read", page.of_endpoint.mark_all_read, self)
        self._clear = command("Delete all requests…", "delete", page.of_endpoint.clear, self)
        self._up = command("Move endpoint up", "up", self._move_up, self)
        self._down = command("Move endpoint down", "down", self._move_down, self)
        self.actions = (
            command("Edit endpoint…", "edit", self._edit, self),
            command("Copy endpoint URL", "copy", self._copy_url, self),
            command("Copy a ready curl command", "code", page.of_endpoint.copy_ready_curl, self),
            command("Copy link to endpoint", "link", self._copy_link, self),
            command("Send test request", "send", self._send_test, self),
            self._switch,
            self._read,
            self._clear,
            self._up,
            self._down,
            command("Delete endpoint…", "delete", self._delete, self),
        )

    @property
    def shown(self) -> Endpoint | None:
        """The endpoint whose requests are shown, as it is now."""
        return self._services.endpoints.by_id(self._id) if self._id is not None else None

    def show(self, endpoint_id: int | None) -> None:
        """Work on this one; None for none."""
        self._id = endpoint_id

    def refresh(self) -> None:
        """Offer what can be done now."""
        endpoint = self.shown
        for action in self.actions:
            action.setEnabled(endpoint is not None)
        if endpoint is not None:
            self._switch.setText("Switch endpoint off" if endpoint.active else "Switch endpoint on")
            self._switch.setProperty("glyph", "pause" if endpoint.active else "play")
            counts = self._services.captures.counts(endpoint.id)
            self._read.setEnabled(bool(counts.unread))
            self._clear.setEnabled(bool(counts.total))
            self._up.setEnabled(self._do.order.can_move(endpoint.id, -1))
            self._down.setEnabled(self._do.order.can_move(endpoint.id, 1))

    @Slot()
    def _edit(self) -> None:
        if self.shown is not None:
            self._do.edit(self.shown)

    @Slot()
    def _copy_url(self) -> None:
        if self.shown is not None:
            self._do.copy_url(self.shown)

    @Slot()
    def _copy_link(self) -> None:
        if self.shown is not None:
            self._do.copy_link(self.shown)

    @Slot()
    def _send_test(self) -> None:
        if self.shown is not None:
            self._do.send_test(self.shown)

    @Slot()
    def _switch_it(self) -> None:
        if self.shown is not None:
            self._do.set_active(self.shown, not self.shown.active)

    @Slot()
    def _move_up(self) -> None:
        if self.shown is not None:
            self._do.order.move_by(self.shown.id, -1)

    @Slot()
    def _move_down(self) -> None:
        if self.shown is not None:
            self._do.order.move_by(self.shown.id, 1)

    @Slot()
    def _delete(self) -> None:
        if self.shown is not None:
            self._do.delete(self.shown)
