"""Where senders and scripts reach Hookline, and how much they may send."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace
from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.settings import Settings, bounds, meta
from app.core.sizes import MIB
from app.ui.settings.section import SettingsRow, SettingsSection
from app.ui.widgets.fields import NumberField


class NetworkSection(SettingsSection):
    """Fields by setting; `changed` follows each edit."""

    changed = Signal()

    def __init__(self, settings: Settings, parent: QWidget) -> None:
        super().__init__("Network", parent)
        self._refused: dict[str, str] = {}
        self.port = _port("port", self)
        self.host = QLineEdit(self)
        self.base_url = QLineEdit(self)
        self.base_url.setPlaceholderText("https://example.trycloudflare.com")
        self.api_port = _port("api_port", self)
        _, largest = bounds("body_limit") or (0, MIB)
        self.body_limit = NumberField(1, largest // MIB, self, suffix=" MiB")
        self._rows: dict[str, SettingsRow] = {}
        for key, control in (
            ("port", self.port),
            ("host", self.host),
            ("base_url", self.base_url),
            ("api_port", self.api_port),
            ("body_limit", self.body_limit),
        ):
            self._rows[key] = self.add_declared(key, control)
        self._load(settings)
        for number in (self.port, self.api_port, self.body_limit):
            number.valueChanged.connect(self._edited)
        for text in (self.host, self.base_url):
            text.textEdited.connect(self._edited)

    def value(self, current: Settings) -> Settings:
        """`current` with what the fields say; a limit that is no whole number of MiB stays until its field changes."""
        limit = self.body_limit.value()
        return replace(
            current,
            port=self.port.value(),
            host=self.host.text().strip(),
            api_port=self.api_port.value(),
            base_url=self.base_url.text().strip() or None,
            body_limit=current.body_limit if limit == _mib(current.body_limit) else limit * MIB,
        )

    def row(self, key: str) -> SettingsRow:
        """The row of a setting."""
        return self._rows[key]

    def refuse(self, messages: Mapping[str, str]) -> None:
        """Show what applying refused, until the next edit."""
        self._refused = dict(messages)

    def has_errors(self) -> bool:
        """Whether a row shows an error."""
        return bool(self._refused)

    def show_errors(self, errors: Mapping[str, str]) -> None:
        """Show these and what was refused."""
        for key, row in self._rows.items():
            row.set_error(errors.get(key) or self._refused.get(key))

    def _load(self, settings: Settings) -> None:
        self.port.setValue(settings.port)
        self.host.setText(settings.host)
        self.base_url.setText(settings.base_url or "")
        self.api_port.setValue(settings.api_port)
        self.body_limit.setValue(_mib(settings.body_limit))

    @Slot()
    def _edited(self) -> None:
        self._refused = {}
        self.changed.emit()


def _port(key: str, parent: QWidget) -> NumberField:
    declared = meta(key)
    field = NumberField(int(declared.ge or 1), int(declared.le or 65535), parent)
    field.setGroupSeparatorShown(False)
    return field


def _mib(size: int) -> int:
    return max(1, round(size / MIB))
