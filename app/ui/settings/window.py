"""How the window looks, what its close button does and whether it starts at sign-in; takes effect at once."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.core.settings import Settings
from app.ui.desktop.presence import Desktop
from app.ui.ports import Doors
from app.ui.settings.closing import ClosingRow
from app.ui.settings.notifications import NotificationsRow
from app.ui.settings.section import SettingsSection
from app.ui.settings.start import StartRow
from app.ui.tasks import Tasks
from app.ui.theme.theme import Choice, Theme
from app.ui.widgets.fields import ChoiceField

_CHOICES: tuple[tuple[Choice, str], ...] = (("system", "Match system"), ("light", "Light"), ("dark", "Dark"))


class WindowSection(SettingsSection):
    """The theme, the start at sign-in, and, given a `desktop`, what is done there."""

    def __init__(
        self, doors: Doors, theme: Theme, tasks: Tasks, parent: QWidget, *, desktop: Desktop | None = None
    ) -> None:
        super().__init__("Window", parent)
        self._doors, self._theme, self._tasks = doors, theme, tasks
        self.choice = ChoiceField([text for _, text in _CHOICES], self)
        self.choice.setCurrentIndex([key for key, _ in _CHOICES].index(doors.settings().theme))
        self.choice.currentIndexChanged.connect(self._chosen)
        self.add_declared("theme", self.choice)
        self.start = StartRow(doors.autostart, theme, tasks, self)
        self.column.addWidget(self.start)
        if desktop is not None:
            self.closing = ClosingRow(doors, tasks, desktop, self)
            self.notifications = NotificationsRow(theme, desktop, self)
            self.column.addWidget(self.closing)
            self.column.addWidget(self.notifications)

    @Slot(int)
    def _chosen(self, place: int) -> None:
        choice = _CHOICES[place][0]
        self._theme.set_choice(choice)
        wanted: Settings = replace(self._doors.settings(), theme=choice)
        self._tasks.start(self._save(wanted), "save the theme")

    async def _save(self, wanted: Settings) -> None:
        await self._doors.apply_settings(wanted)
