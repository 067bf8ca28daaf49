"""How the window looks, what its close button does and whether it starts at sign-in. Takes effect at once, and is
taken back when changes are discarded."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.core.settings import Settings
from app.ui.desktop.desktop_integration import Desktop
from app.ui.services import Services
from app.ui.settings.closing import ClosingRow
from app.ui.settings.notifications import NotificationsRow
from app.ui.settings.section import AT_ONCE, SettingsSection
from app.ui.settings.start import StartRow
from app.ui.tasks import Tasks
from app.ui.theme.theme import Choice, Theme
from app.ui.widgets.fields import ChoiceField

_CHOICES: tuple[tuple[Choice, str], ...] = (("system", "Match system"), ("light", "Light"), ("dark", "Dark"))


class WindowSection(SettingsSection):
    """The theme, the start at sign-in, and, given a `desktop`, what is done there."""

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget, *, desktop: Desktop | None = None
    ) -> None:
        super().__init__("Window", parent)
        self._services, self._theme, self._tasks = services, theme, tasks
        self.choice = ChoiceField([text for _, text in _CHOICES], self)
        self.choice.setCurrentIndex([key for key, _ in _CHOICES].index(services.settings().theme))
        self.choice.currentIndexChanged.connect(self._chosen)
        self.add_declared("theme", self.choice, AT_ONCE)
        self.start = StartRow(services.autostart, theme, tasks, self)
        self.column.addWidget(self.start)
        if desktop is not None:
            self.closing = ClosingRow(services, tasks, desktop, self)
            self.notifications = NotificationsRow(theme, desktop, self)
            self.column.addWidget(self.closing)
            self.column.addWidget(self.notifications)
        self.keep()

    def keep(self) -> None:
        """What is in force now is what `restore` goes back to."""
        self._kept = self._services.settings()
        self.start.keep()

    def restore(self) -> None:
        """Go back to what was in force before the dialog opened, or was last saved."""
        kept, now = self._kept, self._services.settings()
        self._theme.set_choice(kept.theme)
        wanted = replace(now, theme=kept.theme, on_close=kept.on_close)
        if wanted != now:
            self._tasks.start(self._save(wanted), "take back the theme and what closing does")
        self.start.restore()

    @Slot(int)
    def _chosen(self, place: int) -> None:
        choice = _CHOICES[place][0]
        self._theme.set_choice(choice)
        wanted: Settings = replace(self._services.settings(), theme=choice)
        self._tasks.start(self._save(wanted), "save the theme")

    async def _save(self, wanted: Settings) -> None:
        await self._services.apply_settings(wanted)
