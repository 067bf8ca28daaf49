"""The options of a tunnel program as a form. Secrets are never shown: a saved one can be replaced or removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from app.core.errors import InvalidFieldsError
from app.core.rules import FieldError
from app.core.tunnel.options import saved_after
from app.core.tunnel.spec import FoundProgram, TunnelOption, TunnelProgram
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import shown
from app.ui.widgets.buttons import Button
from app.ui.widgets.fields import ChoiceField, LabeledField

SAVED, REMOVED = "Saved. Type to replace it.", "Removed when you save or start."
NOT_SET, MORE = "Not set", "More options"


class OptionField(LabeledField):
    """One option. `value` is None for a secret that was left as it is saved."""

    changed = Signal(str)

    def __init__(self, option: TunnelOption, theme: Theme, parent: QWidget) -> None:
        self.choices: ChoiceField | None = None
        self.line = QLineEdit()
        self._texts = list(option.choices)
        if option.choices:
            if not option.required and not option.default:
                self._texts.insert(0, "")
            self.choices = ChoiceField([text or NOT_SET for text in self._texts])
        control: QWidget = self.choices if self.choices is not None else self.line
        self._help_of_option = shown(option.help)
        super().__init__(option.label, control, parent, help_text=self._help_of_option, optional=not option.required)
        self.option = option
        self._saved, self._secret_saved, self._removed = option.default, False, False
        self.line.setPlaceholderText(option.placeholder)
        self.remove = Button("Remove", theme, self, kind="link")
        self.remove.setAccessibleName(f"Remove the saved {option.label}")
        self.remove.hide()
        self.header.addWidget(self.remove)
        if option.secret:
            self.line.setEchoMode(QLineEdit.EchoMode.Password)
        self.line.textEdited.connect(self._edited)
        self.remove.clicked.connect(self._remove)
        if self.choices is not None:
            self.line.setParent(self)
            self.line.hide()
            self.choices.currentIndexChanged.connect(self._edited)

    def load(self, saved: str | None, *, secret_saved: bool) -> None:
        """Show what is saved."""
        self._saved = self.option.default if saved is None else saved
        self._secret_saved, self._removed = secret_saved, False
        if self.choices is not None:
            blocked = self.choices.blockSignals(True)
            self.choices.setCurrentIndex(self._texts.index(self._saved) if self._saved in self._texts else 0)
            self.choices.blockSignals(blocked)
        else:
            self.line.setText("" if self.option.secret else self._saved)
        self._show_secret()

    def value(self) -> str | None:
        if self.choices is not None:
            return self._texts[self.choices.currentIndex()]
        text = self.line.text().strip()
        if self.option.secret and not text:
            return "" if self._removed else None
        return text

    def has_changes(self) -> bool:
        """Whether it differs from what is saved."""
        value = self.value()
        return value is not None if self.option.secret else value != self._saved

    def is_missing(self) -> bool:
        """Whether it is required and has no value."""
        value = self.value()
        return self.option.required and not (self._secret_saved if value is None else value)

    def _show_secret(self) -> None:
        if not self.option.secret:
            return
        self.remove.setVisible(self._secret_saved and not self._removed)
        self.line.setPlaceholderText(
            "••••••••" if self._secret_saved and not self._removed else self.option.placeholder
        )
        state = REMOVED if self._removed else SAVED if self._secret_saved else ""
        self.set_help(" ".join(filter(None, (state, self._help_of_option))))

    @Slot()
    def _edited(self) -> None:
        self._removed = self._removed and not self.line.text()
        self._show_secret()
        self.changed.emit(self.option.name)

    @Slot()
    def _remove(self) -> None:
        self._removed = True
        self.line.clear()
        self.line.setFocus()
        self._show_secret()
        self.changed.emit(self.option.name)


class OptionForm(QWidget):
    """`changed` follows each edit."""

    changed = Signal()

    def __init__(self, program: TunnelProgram, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._program = program
        self.fields = {option.name: OptionField(option, theme, self) for option in program.options}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.SPACE_4)
        for field in self.fields.values():
            column.addWidget(field)
            field.changed.connect(self._edited)
        self._advanced = [field for field in self.fields.values() if field.option.advanced]
        self.more = Button(MORE, theme, self, kind="link")
        self.more.clicked.connect(self._ask_for_more)
        column.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)
        self._show_advanced(not self._advanced)

    def load(self, found: FoundProgram) -> None:
        """Show the saved options."""
        for name, field in self.fields.items():
            field.load(found.values.get(name), secret_saved=name in found.secrets_set)
        if any(field.value() for field in self._advanced):
            self._show_advanced(True)

    def values(self) -> Mapping[str, str]:
        """What to save: all but the secrets that stay as they are."""
        values = {name: field.value() for name, field in self.fields.items()}
        return {name: value for name, value in values.items() if value is not None}

    def has_changes(self) -> bool:
        return any(field.has_changes() for field in self.fields.values())

    def missing(self) -> list[FieldError]:
        """The required options that have no value."""
        return [
            FieldError(field=name, message=f"{field.option.label} is required.")
            for name, field in self.fields.items()
            if field.is_missing()
        ]

    def show_errors(self, errors: Sequence[FieldError]) -> str:
        """Show each error beside its field and go to the first; returns those that have no field here."""
        messages = {error.field: error.message for error in errors}
        if any(field.option.name in messages for field in self._advanced):
            self._show_advanced(True)
        for name, field in self.fields.items():
            field.set_error(shown(messages[name]) if name in messages else None)
        first = next((field for name, field in self.fields.items() if name in messages), None)
        if first is not None:
            first.control.setFocus()
        return " ".join(error.message for error in errors if error.field not in self.fields)

    @Slot()
    def _ask_for_more(self) -> None:
        self._show_advanced(True)
        self._advanced[0].control.setFocus()

    def _show_advanced(self, on: bool) -> None:
        for field in self._advanced:
            field.setVisible(on)
        self.more.setVisible(not on)

    def _error_of(self, name: str) -> str | None:
        try:
            saved_after(self._program, {}, {name: self.fields[name].value() or ""})
        except InvalidFieldsError as error:
            return shown(str(error))
        return None

    @Slot(str)
    def _edited(self, name: str) -> None:
        self.fields[name].set_error(self._error_of(name))
        self.changed.emit()
