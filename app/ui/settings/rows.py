"""The form of the settings that are saved with the dialog, and its rows: text on the left, the control on the right."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QAbstractSpinBox, QLabel, QLineEdit, QWidget

from app.ui.settings.saved_settings import SavedSettings
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.widgets.fields import CheckField, LabeledField
from app.ui.widgets.form import Form
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import Stretch, hbox, keep_room, vbox

CONTROL_WIDTH = 240


class SettingsRow(LabeledField):
    """`keep_box` is there while the value is of this run alone; ticked, it is saved. A `width` of 0 leaves the control
    its own.
    """

    help_kind = "small"
    help_stays = True

    def __init__(self, title: str, text: str, control: QWidget, parent: QWidget, *, width: int = CONTROL_WIDTH) -> None:
        self.override = label("", "small", wrap=True)
        self.override.hide()
        self.keep_box = CheckField("Keep it")
        self.keep_box.setAccessibleName(f"Keep it: {title}")
        self.keep_box.hide()
        if width:
            control.setFixedWidth(width)
        self.declared_text = text
        super().__init__(title, control, parent, help_text=text)

    def error_label(self) -> QLabel:
        """It has a line of its own, empty or not. The end of an error about a long text, which repeats it, is cut."""
        is_typed = isinstance(self.control, QLineEdit | QAbstractSpinBox)
        made = ElidedLabel("", "error", self) if is_typed else super().error_label()
        made.setMinimumHeight(QFontMetrics(ui_font(SMALL)).height())
        keep_room(made)
        return made

    def lay_out(self, *, optional: bool) -> None:
        words = vbox(Stretch(0), self.title, self._help, Stretch(0), spacing=2)
        row = hbox((words, 1), (self.control, 0, Qt.AlignmentFlag.AlignVCenter), spacing=metrics.SPACE_5)
        of_this_run = hbox((self.override, 1), self.keep_box, spacing=metrics.SPACE_5)
        vbox(row, of_this_run, self._error, inside=self, spacing=2, margins=0)

    def set_override(self, text: str, *, keeps_room: bool) -> None:
        """Say that the value is of this run alone, and offer to keep it; "" when it is not."""
        for part in (self.override, self.keep_box):
            keep_room(part, keeps_room)
        if text != self.override.text():
            self.override.setText(text)
            self.keep_box.setChecked(False)
            self.keep_box.setAccessibleDescription(text)
            self.override.setVisible(bool(text))
            self.keep_box.setVisible(bool(text))


class SettingsForm(Form):
    """`keep_changed`: the user chose whether to save a value that is of this run alone."""

    keep_changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(SavedSettings, parent)
        self.rows: dict[str, SettingsRow] = {}

    def row(
        self,
        key: str,
        editor: QWidget | None = None,
        *,
        text: str = "",
        example: str = "",
        width: int = CONTROL_WIDTH,
        **options: object,
    ) -> SettingsRow:
        """A row with the texts declared for a setting; `text` replaces its description, `example`
        its bounds."""
        declared = self.declared(key)
        control = editor if editor is not None else self.made(key, **options)
        example = example or f"{declared.bounds_text()}.".removeprefix(".")
        # The API has these words too, with the apostrophes of plain text.
        text = text or f"{declared.help} {example}".strip().replace("'", "’")
        row = self.rows[key] = self.fields[key] = SettingsRow(declared.title, text, control, self, width=width)
        self.bind(key, control)
        row.keep_box.clicked.connect(self.keep_changed)
        return row

    def kept(self) -> list[str]:
        """The settings of this run alone that the user chose to keep."""
        return [key for key, row in self.rows.items() if row.keep_box.isChecked()]


class SettingsSection(QWidget):
    """What is shown of the settings while its `title` is selected in the list of sections."""

    def __init__(self, title: str, parent: QWidget, *rows: QWidget) -> None:
        super().__init__(parent)
        self.title = title
        self.column = vbox(*rows, inside=self, spacing=metrics.SPACE_2, margins=0)
