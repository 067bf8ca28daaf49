"""A titled group of settings: text on the left, the control on the right, an error below."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.core.settings import field_of
from app.core.sizes import MIB, exact_size
from app.ui.theme import metrics
from app.ui.widgets.labels import label, restyle
from app.ui.widgets.number_field import NumberField

CONTROL_WIDTH = 240


class SettingsRow(QWidget):
    """`keep_changed`: the user chose whether to save a value that is of this run alone."""

    keep_changed = Signal()

    def __init__(self, title: str, text: str, control: QWidget, parent: QWidget, *, width: int = CONTROL_WIDTH) -> None:
        super().__init__(parent)
        self.control = control
        self._error = label("", "error", self, wrap=True)
        self._error.hide()
        self.override = label("", "small", self, wrap=True)
        self.override.hide()
        self.keep_box = QCheckBox("Keep it", self)
        self.keep_box.setAccessibleName(f"Keep it: {title}")
        self.keep_box.hide()
        self.keep_box.clicked.connect(self.keep_changed)
        self.text = label(text, "small", self, wrap=True)
        self.title = label(title, "strong", self)
        self.title.setBuddy(control)
        if not control.accessibleName():
            control.setAccessibleName(title)
        control.setAccessibleDescription(text)
        if width:
            control.setFixedWidth(width)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addStretch()
        words.addWidget(self.title)
        words.addWidget(self.text)
        words.addWidget(self._error)
        words.addStretch()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(metrics.SPACE_5)
        row.addLayout(words, 1)
        field = QVBoxLayout()
        field.setSpacing(metrics.SPACE_1)
        field.addWidget(control)
        field.addWidget(self.override)
        field.addWidget(self.keep_box)
        row.addLayout(field)
        row.setAlignment(field, Qt.AlignmentFlag.AlignVCenter)

    def error(self) -> str:
        return self._error.text()

    def set_error(self, message: str | None) -> None:
        """Show the error; None clears it."""
        if (message or "") == self._error.text():
            return
        self._error.setText(message or "")
        self._error.setVisible(bool(message))
        self.control.setAccessibleDescription(message or self.text.text())
        self.control.setProperty("invalid", bool(message))
        restyle(self.control)

    def set_override(self, text: str | None) -> None:
        """Say that the value is of this run alone, and offer to keep it; None when it is not."""
        if (text or "") == self.override.text():
            return
        self.override.setText(text or "")
        self.keep_box.setChecked(False)
        self.keep_box.setAccessibleDescription(text or "")
        self.override.setVisible(bool(text))
        self.keep_box.setVisible(bool(text))


class SettingsSection(QWidget):
    """A heading, a `text` on all of its rows, and the rows; `rows` holds those that are saved with the dialog, by
    setting.
    """

    def __init__(self, title: str, parent: QWidget, text: str = "") -> None:
        super().__init__(parent)
        self.rows: dict[str, SettingsRow] = {}
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(metrics.SPACE_4)
        self.heading: QLabel = label(title, "heading", self)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.heading)
        if text:
            words.addWidget(label(text, "small", self, wrap=True))
        self.column.addLayout(words)

    def add_declared(
        self, key: str, control: QWidget, extra: str = "", *, text: str = "", width: int = CONTROL_WIDTH
    ) -> SettingsRow:
        """Add a row with the texts declared for the setting `key`; `text` replaces its description."""
        declared = field_of(key)
        # The API has these words too, with the apostrophes of plain text.
        text = text or " ".join(filter(None, (declared.help, extra))).replace("'", "’")
        row = SettingsRow(declared.title, text, control, self, width=width)
        self.column.addWidget(row)
        self.rows[key] = row
        return row

    def row(self, key: str) -> SettingsRow:
        return self.rows[key]

    def problems(self) -> dict[str, str | None]:
        """Errors by setting that a value cannot represent, such as invalid numbers."""
        return {}


def port_field(key: str, parent: QWidget) -> NumberField:
    """A port, written without commas."""
    low, high = field_of(key).bounds
    return NumberField(field_of(key).title, low, high, parent, grouped=False)


def mib_field(key: str, parent: QWidget, *, step: int = 1) -> NumberField:
    """A size in whole MiB."""
    low, high = field_of(key).bounds
    least, most = max(1, low // MIB), high // MIB
    words = f"{exact_size(least * MIB)} to {exact_size(most * MIB)}"
    return NumberField(field_of(key).title, least, most, parent, unit="MiB", step=step, bounds_text=words)


def whole_mib(size: int) -> int:
    """`size` bytes as shown by a `mib_field`."""
    return max(1, round(size / MIB))
