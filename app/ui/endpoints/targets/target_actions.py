"""What the user does with the targets of an endpoint: edit, pause and resume them."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.core.model import Endpoint
from app.core.target import Target
from app.core.target_text import paused_text
from app.core.text import count_of
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import open_once

NO_TARGETS = "The endpoint has no targets."


def paused_targets(endpoint: Endpoint) -> list[Target]:
    """Those that are switched on, and paused."""
    return [target for target in endpoint.targets if target.active and target.paused is not None]


def running_targets(endpoint: Endpoint) -> list[Target]:
    return [target for target in endpoint.targets if target.active and target.paused is None]


def pause_refusal(endpoint: Endpoint) -> str | None:
    """Why forwarding cannot be paused now; None if it can."""
    if not endpoint.targets:
        return NO_TARGETS
    if running_targets(endpoint):
        return None
    return "Forwarding is already paused." if paused_targets(endpoint) else "All targets are switched off."


def resume_refusal(endpoint: Endpoint) -> str | None:
    """Why forwarding cannot be resumed now; None if it can."""
    if not endpoint.targets:
        return NO_TARGETS
    return None if paused_targets(endpoint) else "Forwarding is not paused."


class TargetActions(QObject):
    """`announced` carries a short notice."""

    announced = Signal(str)

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._services, self._theme, self._tasks, self._window = services, theme, tasks, window

    def edit(self, endpoint: Endpoint) -> None:
        """Open the dialog of its targets."""
        current = self._services.store.endpoints.by_id(endpoint.id)
        if current is None:
            return

        from app.ui.endpoints.targets.targets_dialog import TargetsDialog  # start-up time: loaded when first opened

        def new() -> TargetsDialog:
            dialog = TargetsDialog(self._services, self._theme, self._tasks, self._window, current)
            dialog.saved.connect(partial(self._saved, current.name))
            return dialog

        open_once(self._window, TargetsDialog, new)

    def pause(self, endpoint: Endpoint) -> None:
        """Pause all its targets: what is captured is queued for them."""
        self._tasks.start(self._pause(endpoint), f"pause forwarding of endpoint {endpoint.id}")

    def resume(self, endpoint: Endpoint) -> None:
        """Resume all its targets, and send what is queued for them."""
        self._tasks.start(self._resume(endpoint), f"resume forwarding of endpoint {endpoint.id}")

    async def _pause(self, endpoint: Endpoint) -> None:
        targets = running_targets(endpoint)
        paused = [await self._services.store.targets.pause(target.id) for target in targets]
        if paused:
            self.announced.emit(paused_text(paused, None))

    async def _resume(self, endpoint: Endpoint) -> None:
        targets = paused_targets(endpoint)
        for target in targets:
            await self._services.store.targets.resume(target.id)
        if targets:
            where = targets[0].url if len(targets) == 1 else count_of(len(targets), "target")
            self.announced.emit(f"Forwarding to {where} again.")

    def _saved(self, name: str) -> None:
        self.announced.emit(f"Saved the targets of “{name}”.")
