"""The network settings: where senders and scripts reach Hookline, and how much they may send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from app.ui.services import Services
from app.ui.settings.rows import SettingsForm, SettingsSection
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import is_usable
from app.ui.widgets.fields import ChoiceField, Switch
from app.ui.widgets.labels import label

if TYPE_CHECKING:
    from app.server.tunnel.service import TunnelService

NOT_HERE = "This machine does not capture. The menu below the store’s name in the sidebar changes that."
NONE = "None"
PROXIES_TEXT = "Addresses or networks whose X-Forwarded-For says who sent a request, with commas between them."
PROGRAM_TEXT = "The program that Hookline starts. Its options are on the Tunnel page."
NO_PROGRAM = "Choose a tunnel program first."


class TunnelProgramField(ChoiceField):
    """The programs of this computer, listed as soon as they are found, and the chosen one in any case."""

    def __init__(self, tunnels: TunnelService, tasks: Tasks, parent: QWidget) -> None:
        super().__init__({None: NONE}, parent)
        self._tunnels = tunnels
        tasks.start(self._load(), "read the tunnel programs", self)

    def set_value(self, value: str | None) -> None:
        if value not in self.choices:
            self.set_choices({**self.choices, value: str(value)})
        super().set_value(value)

    async def _load(self) -> None:
        found = await self._tunnels.programs()
        chosen = self.value()
        listed = [one for one in found if is_usable(one) or one.program.id == chosen]
        names: dict[str | None, str] = {None: NONE}
        for one in listed:
            names[one.program.id] = one.program.name + ("" if is_usable(one) else " (not installed)")
        names.setdefault(chosen, f"{chosen} (unknown)")
        self.set_choices(names)


class NetworkSection(SettingsSection):
    def __init__(self, form: SettingsForm, services: Services, theme: Theme, tasks: Tasks) -> None:
        self._program = TunnelProgramField(services.tunnels, tasks, form)
        autostart = Switch(form.declared("tunnel_autostart").title, theme, form)
        self._autostart = form.row("tunnel_autostart", autostart, width=0)
        super().__init__(
            "Network",
            form,
            *([label(NOT_HERE, "small", form, wrap=True)] if services.is_elsewhere else []),
            form.row("port"),
            form.row("host"),
            form.row("base_url", placeholder="https://hooks.example.com"),
            form.row("proxies", text=PROXIES_TEXT, placeholder="10.0.0.0/8, 192.0.2.7"),
            form.row("tunnel_program", self._program, text=PROGRAM_TEXT),
            self._autostart,
            form.row("api_port"),
            form.row("body_limit"),
        )

    def refresh(self) -> None:
        """Without a tunnel program there is nothing to start."""
        has_program = self._program.value() is not None
        self._autostart.control.setEnabled(has_program)
        self._autostart.control.setAccessibleDescription(self._autostart.help_text() if has_program else NO_PROGRAM)
