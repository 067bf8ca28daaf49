"""The settings of the window itself: its theme, the start at sign-in, what closing does, notifications."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.errors import HooklineError
from app.ui.desktop.desktop_integration import Desktop
from app.ui.endpoints.notification_settings import MENU
from app.ui.services import Services
from app.ui.settings.rows import SettingsForm, SettingsRow, SettingsSection
from app.ui.tasks import Tasks, in_thread
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.fields import Switch

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


COMMAND_SHOWN = 48
"""Characters of another command that are shown; the tooltip has all of them."""


class WindowSection(SettingsSection):
    """With a `desktop` also what closing does, and notifications. `start_read` follows each reading of the start at
    sign-in, as the system has it; it cannot be switched before the first.
    """

    start_read = Signal()

    def __init__(
        self, form: SettingsForm, services: Services, theme: Theme, tasks: Tasks, desktop: Desktop | None = None
    ) -> None:
        self.start = Switch(form.declared("start_at_sign_in").title, theme, form)
        self.start_row = form.row("start_at_sign_in", self.start, width=0)
        rows = [form.row("theme"), self.start_row]
        if desktop is not None:
            self.notifications = NotificationsRow(theme, desktop, form)
            self._closing = form.row("on_close")
            rows += [self._closing, self.notifications]
        super().__init__("Window", form, *rows)
        self._autostart, self._desktop = services.autostart(), desktop
        self.starts = False
        """Whether signing in starts Hookline, as last read."""
        if desktop is not None:
            desktop.tray_changed.connect(self._follow_tray)
            self._follow_tray()
        self.start.setEnabled(False)
        tasks.start(self.read_start(), "read the start at sign-in", self)

    async def set_start(self, on: bool) -> None:
        """HooklineError, with nothing changed, when that fails. Also when this is deleted meanwhile; `read_start`
        shows it."""
        await in_thread(self._autostart.set, on)

    async def read_start(self) -> None:
        self.starts, refusal, text, tooltip = False, None, self.start_row.declared_text, ""
        try:
            refusal, self.starts, other = await in_thread(self._start)
        except HooklineError as error:
            text = str(error)
        else:
            if other:
                text, tooltip = _instead(other), other
        self.start.setEnabled(refusal is None)
        self.start_row.set_help(refusal or text, tooltip)
        self.start_read.emit()

    def _start(self) -> tuple[str | None, bool, str | None]:
        autostart = self._autostart
        return autostart.unavailable(), autostart.enabled(), autostart.replaced()

    @Slot()
    def _follow_tray(self) -> None:
        """Without a tray there is nothing to choose, and the reason is said."""
        assert self._desktop is not None
        reason = self._desktop.tray_unavailable()
        self._closing.control.setEnabled(reason is None)
        self._closing.set_help(reason or self._closing.declared_text)


def _instead(command: str) -> str:
    half = COMMAND_SHOWN // 2
    shortened = command if len(command) <= COMMAND_SHOWN else f"{command[:half]}…{command[-half:]}"
    return f"Another command starts at sign-in: {shortened}. Switch this on to start this Hookline instead."
