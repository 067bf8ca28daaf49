"""The settings of the window itself: its theme, the start at sign-in, what closing does, notifications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.core.errors import HooklineError
from app.core.settings import Settings
from app.ui.desktop.desktop_integration import Desktop
from app.ui.endpoints.notification_settings import MENU
from app.ui.services import Services
from app.ui.settings.rows import SettingsForm, SettingsRow, SettingsSection, saved_settings
from app.ui.tasks import Tasks, in_thread
from app.ui.theme.theme import Choice, Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.fields import ChoiceField
from app.ui.widgets.layout import vbox
from app.ui.widgets.switch import Switch

if TYPE_CHECKING:
    from app.system.autostart.autostart import Autostart

NOTIFICATIONS_TEXT = f"Choose when to be notified with “{MENU}” in an endpoint’s menu."


class NotificationsRow(SettingsRow):
    """Shows a sample notification, or why this system shows none."""

    def __init__(self, theme: Theme, desktop: Desktop, parent: QWidget) -> None:
        self.button = Button("Show test", theme, parent)
        self.button.setAccessibleName("Show a test notification")
        super().__init__("Notifications", NOTIFICATIONS_TEXT, self.button, parent, width=0)
        self._desktop = desktop
        self.button.clicked.connect(desktop.show_sample)
        desktop.notifier.availability_changed.connect(self._refresh)
        desktop.tray_changed.connect(self._refresh)
        self._refresh()
        desktop.notifier.check()

    @Slot()
    def _refresh(self) -> None:
        reason = self._desktop.notifier.unavailable_reason()
        self.button.set_refusal(reason)
        self.set_help(reason or NOTIFICATIONS_TEXT)


START_TITLE = "Start Hookline when I sign in"
START_TEXT = "It starts minimized, ready to catch requests."
COMMAND_SHOWN = 48
"""Characters of another command that are shown; the tooltip has all of them."""


class StartRow(SettingsRow):
    """The start at sign-in, as the system has it. Disabled until that is read, and if it cannot be changed."""

    def __init__(self, autostart: Autostart, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        self.switch = Switch(START_TITLE, theme, parent)
        super().__init__(START_TITLE, START_TEXT, self.switch, parent, width=0)
        self._autostart, self._tasks = autostart, tasks
        self._busy = False
        self._kept: bool | None = None
        """The state first read, or last saved."""
        self.switch.setEnabled(False)
        self.switch.clicked.connect(self._clicked)
        tasks.start(self._read(), "read the start at sign-in", self)

    def keep(self) -> None:
        """`restore` returns to the current state."""
        if self._kept is not None:
            self._kept = self.switch.isChecked()

    def restore(self) -> None:
        """Undo changes since `keep`."""
        if self._kept is not None and self.switch.isChecked() != self._kept:
            self._tasks.start(self._set(self._kept), "restore the start at sign-in")

    @Slot(bool)
    def _clicked(self, on: bool) -> None:
        # A disabled switch would lose the focus.
        if self._busy:
            self.switch.setChecked(not on)
            return
        self._busy = True
        self._tasks.start(self._set(on), "switch the start at sign-in")

    async def _set(self, on: bool) -> None:
        problem = None
        try:
            await self._tasks.complete(in_thread(self._autostart.set, on), self)
        except HooklineError as error:
            problem = str(error)
        finally:
            self._busy = False
        self._tasks.start(self._read(problem), "read the start at sign-in", self)

    async def _read(self, problem: str | None = None) -> None:
        on, reason, other = False, None, None
        try:
            reason, on, other = await in_thread(self._state)
        except HooklineError as error:
            problem = problem or str(error)
        self.switch.setEnabled(reason is None)
        self.switch.setChecked(on)
        if self._kept is None:
            self._kept = on
        self.set_error(problem)
        self.set_help(reason or (_instead(other) if other else START_TEXT), other or "")

    def _state(self) -> tuple[str | None, bool, str | None]:
        autostart = self._autostart
        return autostart.unavailable(), autostart.enabled(), autostart.replaced()


def _instead(command: str) -> str:
    half = COMMAND_SHOWN // 2
    shortened = command if len(command) <= COMMAND_SHOWN else f"{command[:half]}…{command[-half:]}"
    return f"Another command starts at sign-in: {shortened}. Switch this on to start this Hookline instead."


_THEMES: Mapping[Choice, str] = {"system": "Match system", "light": "Light", "dark": "Dark"}
_ON_CLOSE = {"quit": "Quit", "tray": "Keep running in the tray"}


class WindowForm(SettingsForm):
    """Theme and start at sign-in; with a `desktop` also what closing does, and notifications. They take effect at once,
    and are undone when changes are discarded."""

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget, *, desktop: Desktop | None = None
    ) -> None:
        super().__init__(parent)
        self._services, self._theme, self._tasks, self._desktop = services, theme, tasks, desktop
        self.start = StartRow(services.autostart, theme, tasks, self)
        rows = [self.row("theme", ChoiceField(_THEMES, self)), self.start]
        if desktop is not None:
            self.notifications = NotificationsRow(theme, desktop, self)
            rows += [self.row("on_close", ChoiceField(_ON_CLOSE, self)), self.notifications]
            desktop.tray_changed.connect(self._follow_tray)
            self._follow_tray()
        vbox(SettingsSection("Window", self, *rows, text="These settings take effect at once."), inside=self, margins=0)
        self.load(saved_settings(services))
        self.keep()
        self.changed.connect(self._apply)

    def keep(self) -> None:
        """`restore` returns to the current settings."""
        self._kept = self._services.settings()
        self._chosen: set[str] = set()
        """What the user changed since then, whether it is saved already or not."""
        self.start.keep()

    def restore(self) -> None:
        """Return to the settings from before the dialog opened or was last saved."""
        changes = {key: getattr(self._kept, key) for key in self._chosen}
        if changes:
            self._theme.set_choice(changes.get("theme", self._theme.choice))
            self._tasks.start(self._save(changes), "restore the settings of the window")
        self.start.restore()

    def follow(self, now: Settings) -> None:
        """Show what others changed."""
        self.show_values({key: getattr(now, key) for key in self.rows.keys() - self._chosen})

    @Slot()
    def _follow_tray(self) -> None:
        """Without a tray there is nothing to choose, and the reason is said."""
        assert self._desktop is not None
        reason = self._desktop.tray_unavailable()
        self["on_close"].setEnabled(reason is None)
        self.fields["on_close"].set_help(reason or self.declared("on_close").help)

    @Slot(str)
    def _apply(self, key: str) -> None:
        value = self[key].value()
        self._chosen.add(key)
        if key == "theme":
            self._theme.set_choice(value)
        self._tasks.start(self._save({key: value}), f"save {key}")

    async def _save(self, changes: Mapping[str, Any]) -> None:
        await self._services.change_settings(changes)
