"""The switch for the start at sign-in; what it shows is read from the system each time the dialog opens."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.core.errors import HooklineError
from app.ui.services import AutostartService
from app.ui.settings.section import AT_ONCE, SettingsRow
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.switch import Switch

TITLE = "Start Hookline when I sign in"
TEXT = f"It starts minimized, ready to catch requests. {AT_ONCE}"
COMMAND_SHOWN = 48
"""Characters of another command that are shown; the tooltip has all of them."""


class StartRow(SettingsRow):
    """Disabled until the system has answered, and where it cannot be switched."""

    def __init__(self, autostart: AutostartService, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        self.switch = Switch(TITLE, theme, parent)
        super().__init__(TITLE, TEXT, self.switch, parent, width=0)
        self._autostart, self._tasks = autostart, tasks
        self._busy = False
        self._kept: bool | None = None
        """The switch when it was first read, or last kept."""
        self.switch.setEnabled(False)
        self.switch.clicked.connect(self._clicked)
        tasks.start(self._read(), "read the start at sign-in")

    def keep(self) -> None:
        """The position now is what `restore` goes back to."""
        if self._kept is not None:
            self._kept = self.switch.isChecked()

    def restore(self) -> None:
        """Switch back what was switched since."""
        if self._kept is not None and self.switch.isChecked() != self._kept:
            self._tasks.start(self._set(self._kept), "take back the start at sign-in")

    @Slot(bool)
    def _clicked(self, on: bool) -> None:
        # Disabled meanwhile, the switch would lose the keyboard.
        if self._busy:
            self.switch.setChecked(not on)
            return
        self._busy = True
        self._tasks.start(self._set(on), "switch the start at sign-in")

    async def _set(self, on: bool) -> None:
        problem = None
        try:
            await asyncio.to_thread(self._autostart.set, on)
        except HooklineError as error:
            problem = str(error)
        finally:
            self._busy = False
        await self._read(problem)

    async def _read(self, problem: str | None = None) -> None:
        on, reason, other = False, None, None
        try:
            reason, on, other = await asyncio.to_thread(self._state)
        except HooklineError as error:
            problem = problem or str(error)
        if isValid(self):
            self.switch.setEnabled(reason is None)
            self.switch.setChecked(on)
            if self._kept is None:
                self._kept = on
            self.set_error(problem)
            self.text.setText(reason or (_instead(other) if other else TEXT))
            self.text.setToolTip(plain_tooltip(other or ""))
            self.switch.setAccessibleDescription(problem or self.text.text())

    def _state(self) -> tuple[str | None, bool, str | None]:
        autostart = self._autostart
        return autostart.unavailable(), autostart.enabled(), autostart.replaced()


def _instead(command: str) -> str:
    half = COMMAND_SHOWN // 2
    shown = command if len(command) <= COMMAND_SHOWN else f"{command[:half]}…{command[-half:]}"
    return f"At sign-in, {shown} starts instead. Switch this on to start this copy of Hookline."
