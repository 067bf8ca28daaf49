"""The commands that choose light, dark, or the system's theme."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QObject

from app.core.settings import Settings
from app.ui.commands.command import Command
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Choice, Theme


class ThemeCommands(QObject):
    """The choice is saved in the settings."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._theme, self._tasks = services, theme, tasks
        self.all = (
            self._command("Theme: light", "light", "light"),
            self._command("Theme: dark", "theme", "dark"),
            self._command("Theme: match system", "system", "system"),
        )

    def _command(self, text: str, icon: str, choice: Choice) -> Command:
        run, unavailable = partial(self._choose, choice), partial(self._is_chosen, choice)
        return Command(text, self._theme, self, run=run, icon=icon, unavailable=unavailable)

    def _is_chosen(self, choice: Choice) -> str | None:
        return "This theme is already in use." if choice == self._theme.choice else None

    def _choose(self, choice: Choice) -> None:
        self._theme.set_choice(choice)
        settings: Settings = replace(self._services.settings(), theme=choice)
        self._tasks.start(self._save(settings), "save the theme")

    async def _save(self, settings: Settings) -> None:
        await self._services.apply_settings(settings)
