"""What the user does with the tunnel, and the commands for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication

from app.core.errors import InvalidFieldsError, NotFoundError
from app.core.model import Endpoint
from app.core.team import NOT_CAPTURING
from app.core.tunnel.tunnel import CONNECTED, TunnelState, url_mark
from app.ui.commands.command import Commands
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import RUNNING, probed_text


class TunnelActions(Commands):
    """`changed` follows when `checking` changed. `page_requested`: the user has to choose or complete
    something on the page. `refused` carries a program's ID and the error that kept it from being saved or started.
    """

    changed = Signal()
    announced = Signal(str)
    page_requested = Signal()
    saved = Signal(str)
    refused = Signal(str, object)

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QObject) -> None:
        super().__init__(theme, None, parent)
        self._say = self.announced.emit
        self._services, self._tunnels, self._tasks = services, services.tunnels, tasks
        self._task: asyncio.Task[Any] | None = None
        """Saves or starts a program."""
        self.checking = False
        self.start_command = self.command("Start tunnel", "play", self.start, self._is_running)
        self.stop_command = self.command("Stop tunnel", "stop", self.stop, self._is_off)
        self.check_command = self.command("Check tunnel", "retry", self.check, self._cannot_check)
        self.refresh()

    def program_id(self) -> str | None:
        """The program that `start` starts."""
        return self._services.settings().tunnel_program or self._tunnels.tunnel.program

    @Slot()
    def start(self) -> None:
        """Start the program of the settings, or the last one; without one request the page."""
        program_id = self.program_id()
        if program_id is None:
            self.page_requested.emit()
        else:
            self.start_program(program_id)

    def start_program(self, program_id: str, values: Mapping[str, str] | None = None) -> None:
        """Save `values`, the program's options, and start it; it is then the program of the settings."""
        self._begin(self._start(program_id, values), "start the tunnel")

    def save(self, program_id: str, values: Mapping[str, str]) -> None:
        """Save the options of a program."""
        self._begin(self._save(program_id, values), "save options of the tunnel")

    @Slot()
    def stop(self) -> None:
        """Stop it, or end its start."""
        self._tasks.start(self._tunnels.stop(), "stop the tunnel")

    @Slot()
    def check(self) -> None:
        """Send a request through it, and say what came of it."""
        if not self.checking:
            self.checking = True
            self.changed.emit()
            self._tasks.start(self._check(), "check the tunnel")

    @Slot(bool)
    def set_autostart(self, on: bool) -> None:
        """Whether the program that `start` starts is started with Hookline."""
        changes = {"tunnel_autostart": on, "tunnel_program": self.program_id()}
        self._tasks.start(self._change(changes), "save the autostart")

    def copy_url(self, endpoint: Endpoint) -> None:
        """Copy the capture URL that an endpoint has now."""
        QGuiApplication.clipboard().setText(self._services.capture_url(endpoint))
        self._tasks.start(self._tunnels.copied(endpoint.id), "note a copied URL")
        mark = url_mark(self._tunnels.url_state)
        advice = f"It may not work now ({mark})." if mark else "Give it to the provider, then press Done."
        self.announced.emit(f"Copied the new URL of “{endpoint.name}”. {advice}")

    def mark_updated(self, endpoint_id: int) -> None:
        """The provider has the new URL."""
        self._tasks.start(self._tunnels.updated(endpoint_id), "note an updated URL")

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        if self._task is None or self._task.done():
            self._task = self._tasks.start(work, name)
        else:
            work.close()

    async def _start(self, program_id: str, values: Mapping[str, str] | None) -> None:
        try:
            if values is not None:
                await self._tunnels.configure(program_id, values)
                self.saved.emit(program_id)
            await self._tunnels.start(program_id)
            if self._services.settings().tunnel_program != program_id:
                await self._change({"tunnel_program": program_id})
        except (InvalidFieldsError, NotFoundError) as error:
            self.page_requested.emit()
            self.refused.emit(program_id, error)

    async def _save(self, program_id: str, values: Mapping[str, str]) -> None:
        try:
            await self._tunnels.configure(program_id, values)
            self.saved.emit(program_id)
        except InvalidFieldsError as error:
            self.refused.emit(program_id, error)

    async def _check(self) -> None:
        try:
            self.announced.emit(probed_text(await self._tunnels.probe()))
        finally:
            self.checking = False
            self.changed.emit()

    async def _change(self, changes: Mapping[str, Any]) -> None:
        await self._services.change_settings(changes)

    def _is_running(self) -> str | None:
        if self._services.is_elsewhere:
            return f"{NOT_CAPTURING}, so a tunnel would lead nowhere."
        state = self._tunnels.tunnel.state
        if state is TunnelState.STOPPING:
            return "The tunnel is being stopped."
        return "The tunnel is already running." if state in RUNNING else None

    def _is_off(self) -> str | None:
        return None if self._tunnels.tunnel.state in RUNNING else "The tunnel is not running."

    def _cannot_check(self) -> str | None:
        return None if self._tunnels.tunnel.state in CONNECTED else "The tunnel has no URL."
