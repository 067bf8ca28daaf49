"""Where senders and scripts reach Hookline, and how much they may send."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace
from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.settings import Settings
from app.core.sizes import MIB
from app.ui.services import Services
from app.ui.settings.section import SettingsSection, mib_field, port_field, whole_mib
from app.ui.settings.tunnel import PROGRAM_TEXT, TunnelFields
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.number_field import NumberField


class NetworkSection(SettingsSection):
    """`changed` follows each edit."""

    changed = Signal()

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__("Network", parent)
        self._refused: dict[str, str] = {}
        self.port = port_field("port", self)
        self.host = QLineEdit(self)
        self.base_url = QLineEdit(self)
        self.base_url.setPlaceholderText("https://hooks.example.com")
        self.api_port = port_field("api_port", self)
        self.body_limit = mib_field("body_limit", self)
        self.add_declared("port", self.port, f"{self.port.range_text()}.")
        self.add_declared("host", self.host)
        self.add_declared("base_url", self.base_url)
        self.tunnel = TunnelFields(services, theme, tasks, self)
        self.add_declared("tunnel_program", self.tunnel.program, text=PROGRAM_TEXT)
        self.add_declared("tunnel_autostart", self.tunnel.autostart, width=0)
        self.add_declared("api_port", self.api_port, f"{self.api_port.range_text()}.")
        self.add_declared("body_limit", self.body_limit, f"{self.body_limit.range_text()}.")
        self._load(services.settings())
        self.tunnel.changed.connect(self._edited)
        for number in self._numbers().values():
            number.changed.connect(self._edited)
        for text in (self.host, self.base_url):
            text.textEdited.connect(self._edited)

    def value(self, current: Settings) -> Settings:
        """`current` with the values of the fields; a limit that is not in whole MiB is kept until its field changes."""
        limit = self.body_limit.value()
        return replace(
            current,
            port=self.port.value(),
            host=self.host.text().strip(),
            api_port=self.api_port.value(),
            base_url=self.base_url.text().strip() or None,
            tunnel_program=self.tunnel.program_id(),
            tunnel_autostart=self.tunnel.starts(current),
            body_limit=current.body_limit if limit == whole_mib(current.body_limit) else limit * MIB,
        )

    def problems(self) -> dict[str, str | None]:
        """Invalid numbers, and why saving was refused."""
        return {**self._refused, **{key: field.problem() for key, field in self._numbers().items() if field.problem()}}

    def refuse(self, messages: Mapping[str, str]) -> None:
        """Show why saving was refused, until the next edit."""
        self._refused = dict(messages)

    def _numbers(self) -> dict[str, NumberField]:
        return {"port": self.port, "api_port": self.api_port, "body_limit": self.body_limit}

    def _load(self, settings: Settings) -> None:
        self.port.set_value(settings.port)
        self.host.setText(settings.host)
        self.base_url.setText(settings.base_url or "")
        self.api_port.set_value(settings.api_port)
        self.body_limit.set_value(whole_mib(settings.body_limit))

    @Slot()
    def _edited(self) -> None:
        self._refused = {}
        self.changed.emit()
