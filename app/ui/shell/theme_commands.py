"""The commands that choose light, dark, or as the system is."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction

from app.core.settings import Settings
from app.ui.commands.registry import command
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Choice, Theme


class ThemeCommands(QObject):
    """Kept as the settings dialog keeps it; the one in force rests."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._theme, self._tasks = services, theme, tasks
        self._by_choice: dict[Choice, QAction] = {
            "light": command("Theme: light", "light", self._light, self),
            "dark": command("Theme: dark", "theme", self._dark, self),
            "system": command("Theme: as the system", "system", self._system, self),
        }
        self.actions = tuple(self._by_choice.values())

    def refresh(self) -> None:
        """Offer the other two."""
        for choice, action in self._by_choice.items():
            action.setEnabled(choice != self._theme.choice)

    @Slot()
    def _light(self) -> None:
        self._choose("light")

    @Slot()
    def _dark(self) -> None:
        self._choose("dark")

    @Slot()
    def _system(self) -> None:
        self._choose("system")

    def _choose(self, choice: Choice) -> None:
        self._theme.set_choice(choice)
        wanted: Settings = replace(self._services.settings(), theme=choice)
        self._tasks.start(self._save(wanted), "save the theme")

    async def _save(self, wanted: Settings) -> None:
        await self._services.apply_settings(wanted)
