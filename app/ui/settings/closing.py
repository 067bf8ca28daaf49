"""The choice of what closing the window does; it is offered where there is a tray."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.core.settings import meta
from app.ui.desktop.desktop_integration import Desktop
from app.ui.services import Services
from app.ui.settings.section import AT_ONCE, SettingsRow
from app.ui.tasks import Tasks
from app.ui.widgets.fields import ChoiceField

_CHOICES: tuple[tuple[Literal["quit", "tray"], str], ...] = (("quit", "Quit"), ("tray", "Keep running in the tray"))


class ClosingRow(SettingsRow):
    """Takes effect at once; disabled, saying why, while there is no tray."""

    def __init__(self, services: Services, tasks: Tasks, desktop: Desktop, parent: QWidget) -> None:
        self.choice = ChoiceField([text for _, text in _CHOICES], parent)
        declared = meta("on_close")
        super().__init__(declared.title or "", "", self.choice, parent)
        self._services, self._tasks, self._desktop = services, tasks, desktop
        self._text = f"{declared.description} {AT_ONCE}"
        self.choice.setCurrentIndex([key for key, _ in _CHOICES].index(services.settings().on_close))
        self.choice.currentIndexChanged.connect(self._chosen)
        desktop.tray_changed.connect(self._refresh)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        reason = self._desktop.why_no_tray()
        self.choice.setEnabled(reason is None)
        self.choice.setAccessibleDescription(reason or "")
        self.text.setText(reason or self._text)

    @Slot(int)
    def _chosen(self, place: int) -> None:
        self._tasks.start(self._save(_CHOICES[place][0]), "save what closing does")

    async def _save(self, choice: Literal["quit", "tray"]) -> None:
        await self._services.apply_settings(replace(self._services.settings(), on_close=choice))
