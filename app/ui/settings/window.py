"""The window settings: theme, start at sign-in, what closing does, and notifications. They take effect at once, and are
undone when changes are discarded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.core.errors import HooklineError
from app.core.settings import Settings, field_of
from app.ui.desktop.desktop_integration import Desktop
from app.ui.endpoints.notification_settings import MENU
from app.ui.services import Services
from app.ui.settings.section import SettingsRow, SettingsSection
from app.ui.tasks import Tasks, in_thread
from app.ui.theme.theme import Choice, Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.fields import ChoiceField
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.switch import Switch

if TYPE_CHECKING:
    from app.system.autostart.autostart import Autostart

_CLOSE_CHOICES: tuple[tuple[Literal["quit", "tray"], str], ...] = (
    ("quit", "Quit"),
    ("tray", "Keep running in the tray"),
)


class ClosingRow(SettingsRow):
    """What closing the window does. Takes effect at once; disabled with the reason while there is no tray."""

    def __init__(self, services: Services, tasks: Tasks, desktop: Desktop, parent: QWidget) -> None:
        self.choice = ChoiceField([text for _, text in _CLOSE_CHOICES], parent)
        declared = field_of("on_close")
        super().__init__(declared.title, "", self.choice, parent)
        self._services, self._tasks, self._desktop = services, tasks, desktop
        self._text = declared.help
        self.choice.setCurrentIndex([key for key, _ in _CLOSE_CHOICES].index(services.settings().on_close))
        self.choice.currentIndexChanged.connect(self._selection_changed)
        desktop.tray_changed.connect(self._refresh)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        reason = self._desktop.tray_unavailable()
        self.choice.setEnabled(reason is None)
        self.choice.setAccessibleDescription(reason or "")
        self.text.setText(reason or self._text)

    @Slot(int)
    def _selection_changed(self, place: int) -> None:
        self._tasks.start(self._save(_CLOSE_CHOICES[place][0]), "save what closing does")

    async def _save(self, choice: Literal["quit", "tray"]) -> None:
        await self._services.apply_settings(replace(self._services.settings(), on_close=choice))


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
        self.text.setText(reason or NOTIFICATIONS_TEXT)


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
        self.text.setText(reason or (_instead(other) if other else START_TEXT))
        self.text.setToolTip(plain_tooltip(other or ""))
        self.switch.setAccessibleDescription(problem or self.text.text())

    def _state(self) -> tuple[str | None, bool, str | None]:
        autostart = self._autostart
        return autostart.unavailable(), autostart.enabled(), autostart.replaced()


def _instead(command: str) -> str:
    half = COMMAND_SHOWN // 2
    shortened = command if len(command) <= COMMAND_SHOWN else f"{command[:half]}…{command[-half:]}"
    return f"Another command starts at sign-in: {shortened}. Switch this on to start this Hookline instead."


_THEME_CHOICES: tuple[tuple[Choice, str], ...] = (("system", "Match system"), ("light", "Light"), ("dark", "Dark"))


class WindowSection(SettingsSection):
    """Theme and start at sign-in; with a `desktop` also what closing does, and notifications."""

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget, *, desktop: Desktop | None = None
    ) -> None:
        super().__init__("Window", parent, "These settings take effect at once.")
        self._services, self._theme, self._tasks = services, theme, tasks
        self.choice = ChoiceField([text for _, text in _THEME_CHOICES], self)
        self.choice.setCurrentIndex([key for key, _ in _THEME_CHOICES].index(services.settings().theme))
        self.choice.currentIndexChanged.connect(self._selection_changed)
        self.add_declared("theme", self.choice)
        self.start = StartRow(services.autostart, theme, tasks, self)
        self.column.addWidget(self.start)
        if desktop is not None:
            self.closing = ClosingRow(services, tasks, desktop, self)
            self.notifications = NotificationsRow(theme, desktop, self)
            self.column.addWidget(self.closing)
            self.column.addWidget(self.notifications)
        self.keep()

    def keep(self) -> None:
        """`restore` returns to the current settings."""
        self._kept = self._services.settings()
        self.start.keep()

    def restore(self) -> None:
        """Return to the settings from before the dialog opened or was last saved."""
        kept, now = self._kept, self._services.settings()
        self._theme.set_choice(kept.theme)
        edited = replace(now, theme=kept.theme, on_close=kept.on_close)
        if edited != now:
            self._tasks.start(self._save(edited), "restore the theme and what closing does")
        self.start.restore()

    @Slot(int)
    def _selection_changed(self, place: int) -> None:
        choice = _THEME_CHOICES[place][0]
        self._theme.set_choice(choice)
        edited: Settings = replace(self._services.settings(), theme=choice)
        self._tasks.start(self._save(edited), "save the theme")

    async def _save(self, edited: Settings) -> None:
        await self._services.apply_settings(edited)
