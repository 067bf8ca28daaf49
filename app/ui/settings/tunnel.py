"""The rows of the tunnel: which program, and whether it starts with Hookline."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.settings import Settings, field_of
from app.core.tunnel.spec import FoundProgram
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import is_usable
from app.ui.widgets.fields import ChoiceField
from app.ui.widgets.switch import Switch

NONE = "None"
PROGRAM_TEXT = "The program that Hookline starts. Its options are on the Tunnel page."
NO_PROGRAM = "Choose a tunnel program first."


class TunnelFields(QObject):
    """`changed` follows each edit. The programs of this computer are listed as soon as they are found."""

    changed = Signal()

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._tunnels = services.tunnels
        settings = services.settings()
        self._ids: list[str | None] = [None]
        self.program = ChoiceField([NONE], parent)
        self.autostart = Switch(field_of("tunnel_autostart").title, theme, parent)
        if settings.tunnel_program is not None:
            self._ids.append(settings.tunnel_program)
            self.program.addItem(settings.tunnel_program)
            self.program.setCurrentIndex(1)
        self.autostart.set_now(settings.tunnel_autostart)
        self.program.currentIndexChanged.connect(self._edited)
        self.autostart.clicked.connect(self._edited)
        self._refresh()
        tasks.start(self._load(), "read the tunnel programs", self)

    def program_id(self) -> str | None:
        return self._ids[self.program.currentIndex()]

    def starts(self, current: Settings) -> bool:
        """Whether it starts with Hookline; without a program as it is in `current`."""
        return self.autostart.isChecked() if self.program_id() is not None else current.tunnel_autostart

    async def _load(self) -> None:
        self._fill(await self._tunnels.programs())

    def _fill(self, found: Sequence[FoundProgram]) -> None:
        """List those installed, and the chosen one in any case."""
        chosen = self.program_id()
        listed = [one for one in found if is_usable(one) or one.program.id == chosen]
        blocked = self.program.blockSignals(True)
        self.program.clear()
        self._ids = [None, *(one.program.id for one in listed)]
        self.program.addItem(NONE)
        for one in listed:
            self.program.addItem(one.program.name + ("" if is_usable(one) else " (not installed)"))
        if chosen is not None and chosen not in self._ids:
            self._ids.append(chosen)
            self.program.addItem(f"{chosen} (unknown)")
        self.program.setCurrentIndex(self._ids.index(chosen))
        self.program.blockSignals(blocked)

    def _refresh(self) -> None:
        chosen = self.program_id() is not None
        self.autostart.setEnabled(chosen)
        self.autostart.setAccessibleDescription(field_of("tunnel_autostart").help if chosen else NO_PROGRAM)

    @Slot()
    def _edited(self) -> None:
        self._refresh()
        self.changed.emit()
