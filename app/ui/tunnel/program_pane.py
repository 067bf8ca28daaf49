"""One tunnel program: what it is good for, what to know before using it, its options, and how to install it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from app.core.errors import HooklineError, InvalidFieldsError
from app.core.rules import FieldError
from app.core.tunnel.program import FoundProgram, TunnelOption, TunnelProgram, install_text, is_ssh, option_error
from app.core.tunnel.tunnel import Tunnel
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.tunnel.area import TunnelActions
from app.ui.tunnel.words import RUNNING, is_usable, shown
from app.ui.widgets.badge import Pill
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import NoticeBox
from app.ui.widgets.copy_field import CopyButton
from app.ui.widgets.fields import ChoiceField, LabeledField
from app.ui.widgets.fit_screen import FormScroll
from app.ui.widgets.labels import ElidedLabel, label, show_or_hide
from app.ui.widgets.layout import Stretch, hbox, vbox
from app.ui.widgets.text_fields import TextField

CONTENT_WIDTH = 560
"""The most, in pixels."""
ERROR_ROOM = 48
"""Pixels below a field for an error that was just shown."""
NOT_OPENED = "No program found to open websites."


SAVED, REMOVED = "Saved. Type to replace it.", "Removed when you save or start."
NOT_SET, MORE = "Not set", "More options"


class OptionField(LabeledField):
    """One option. A secret is never shown: a saved one can be replaced or removed, and `value` is None for one that was
    left as it is.
    """

    changed = Signal(str)

    def __init__(self, option: TunnelOption, theme: Theme, parent: QWidget) -> None:
        self.option = option
        self.editor = self._editor()
        super().__init__(option.label, self.editor, parent, help_text=shown(option.help), optional=not option.required)
        self._saved, self._secret_saved, self._removed = option.default, False, False
        self.remove = Button("Remove", theme, self, kind="link", name=f"Remove the saved {option.label}")
        self.remove.hide()
        self.header.addWidget(self.remove)
        self.editor.changed.connect(self._edited)
        self.remove.clicked.connect(self._remove)

    def load(self, saved: str | None, *, secret_saved: bool) -> None:
        """Show what is saved."""
        self._saved = self.option.default if saved is None else saved
        self._secret_saved, self._removed = secret_saved, False
        self.editor.blockSignals(True)
        if isinstance(self.editor, ChoiceField):
            choices = self.editor.choices
            self.editor.set_value(self._saved if self._saved in choices else next(iter(choices)))
        else:
            self.editor.set_value("" if self.option.secret else self._saved)
        self.editor.blockSignals(False)
        self._show_secret()

    def value(self) -> str | None:
        text: str = self.editor.value()
        return None if self.option.secret and not text and not self._removed else text

    def has_changes(self) -> bool:
        """Whether it differs from what is saved."""
        value = self.value()
        return value is not None if self.option.secret else value != self._saved

    def is_missing(self) -> bool:
        """Whether it is required and has no value."""
        value = self.value()
        return self.option.required and not (self._secret_saved if value is None else value)

    def _editor(self) -> ChoiceField | TextField:
        option = self.option
        if option.choices:
            unset = {"": NOT_SET} if not option.required and not option.default else {}
            return ChoiceField(unset | {text: text or NOT_SET for text in option.choices})
        line = TextField(placeholder=option.placeholder)
        if option.secret:
            line.setEchoMode(QLineEdit.EchoMode.Password)
        return line

    def _show_secret(self) -> None:
        if self.option.secret and isinstance(self.editor, TextField):
            kept = self._secret_saved and not self._removed
            self.remove.setVisible(kept)
            self.editor.setPlaceholderText("••••••••" if kept else self.option.placeholder)
            state = REMOVED if self._removed else SAVED if kept else ""
            self.set_help(" ".join(filter(None, (state, shown(self.option.help)))))

    @Slot()
    def _edited(self) -> None:
        self._removed = self._removed and not self.editor.value()
        self._show_secret()
        self.changed.emit(self.option.name)

    @Slot()
    def _remove(self) -> None:
        self._removed = True
        self.editor.clear()
        self.editor.setFocus()
        self._edited()


class OptionForm(QWidget):
    """`changed` follows each edit."""

    changed = Signal()

    def __init__(self, program: TunnelProgram, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.fields = {option.name: OptionField(option, theme, self) for option in program.options}
        column = vbox(inside=self, spacing=metrics.SPACE_4)
        for field in self.fields.values():
            column.addWidget(field)
            field.changed.connect(self._edited)
        self._advanced = [field for field in self.fields.values() if field.option.advanced]
        self.more = Button(MORE, theme, self, kind="link", run=self._ask_for_more)
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

    @Slot(str)
    def _edited(self, name: str) -> None:
        field = self.fields[name]
        field.set_error(shown(option_error(field.option, field.value() or "") or ""))
        self.changed.emit()


class InstallBox(QFrame):
    """How to install the program: a command, or where to get it."""

    def __init__(self, how: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "field")
        self.text = label(how, "", self, wrap=True, selectable=True)
        self.text.setFont(mono_font())
        self.copy = CopyButton(how, "command", theme, self)
        hbox(
            (self.text, 1),
            (self.copy, 0, Qt.AlignmentFlag.AlignTop),
            inside=self,
            margins=(metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_2, metrics.SPACE_2),
        )


class ProgramPane(QWidget):
    def __init__(self, found: FoundProgram, actions: TunnelActions, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions, self._theme = actions, theme
        self.found = found
        self._runs = False
        program = found.program
        self.form = OptionForm(program, theme, self)
        self.state = Pill("", "neutral", self)
        self.kind = Pill("", "neutral", self)
        self.path = ElidedLabel("", "small", self, Qt.TextElideMode.ElideMiddle)
        self.website = Button("Website", theme, self, kind="link", icon="own-window", run=self._open_website)
        self.website.setToolTip(program.website)
        self.warning = NoticeBox("warning", theme, self)
        self.install = InstallBox(shown(install_text(program)), theme, self)
        self.search = Button("Look again", theme, self, icon="retry")
        self.problem = label("", "error", self, wrap=True)
        self.save = Button("Save", theme, self, run=self._save)
        self.start = Button("Start", theme, self, kind="primary", icon="play", run=self._start)
        self._install_part = QWidget(self)
        self._lay_out()
        self.form.load(found)
        self.form.changed.connect(self._edited)
        self.show_found(found)

    def show_found(self, found: FoundProgram, *, reload: bool = False) -> None:
        """The program was looked for again, or (`reload`) its options were saved; other edits are kept, and what is
        said of the last start."""
        was_usable, self.found = is_usable(self.found), found
        if reload or not self.form.has_changes():
            self.form.load(found)
        installed = is_usable(found)
        ready = "Via ssh" if found.path is not None and is_ssh(found.path) else "Installed"
        self.state.show_state(ready if installed else "Not installed", "success" if installed else "neutral")
        show_or_hide(self.path, found.path or "")
        self._install_part.setVisible(not installed)
        self.form.setVisible(installed and bool(found.program.options))
        self.save.setVisible(installed and bool(found.program.options))
        self.start.setVisible(installed)
        self._show_problem(self.problem.text() if installed is was_usable else "")
        self._show_edits()

    def show_tunnel(self, tunnel: Tunnel) -> None:
        """What Start does now."""
        running = tunnel.state in RUNNING
        own = tunnel.program == self.found.program.id
        if running and own and not self._runs:
            self._show_problem("")  # started from elsewhere
        self._runs = running and own
        self.start.setText("Restart" if running and own else "Use this instead" if running else "Start")
        self.start.set_kind("secondary" if running else "primary")
        self.start.set_icon_name("retry" if running and own else "play")
        self.save.setEnabled(self.form.has_changes())
        # While it runs, they are in the first card.
        self.warning.show_text("" if running and own else shown("\n".join(self.found.program.warnings)))

    def show_error(self, error: HooklineError) -> None:
        """Why it was not saved or started: beside its field where it has one."""
        errors: Sequence[FieldError] = error.errors if isinstance(error, InvalidFieldsError) else ()
        self._show_errors(errors, "" if errors else str(error))

    def _show_errors(self, errors: Sequence[FieldError], text: str = "") -> None:
        self._show_problem(shown(text or self.form.show_errors(errors)))
        broken = next((field for field in self.form.fields.values() if field.error()), None)
        if broken is not None:
            self._area.ensureWidgetVisible(broken, 0, ERROR_ROOM)

    @Slot()
    def _edited(self) -> None:
        self._show_problem("")
        self._show_edits()

    def _show_edits(self) -> None:
        fixed = self.found.program.keeps_url(self.form.values())
        self.kind.show_state("Same URL each time" if fixed else "New URL each time", "accent" if fixed else "neutral")
        self.save.setEnabled(self.form.has_changes())

    @Slot()
    def _start(self) -> None:
        missing = self.form.missing()
        self._show_errors(missing)
        if not missing:
            self._actions.start_program(self.found.program.id, self.form.values())

    @Slot()
    def _save(self) -> None:
        self._show_errors(())
        self._actions.save(self.found.program.id, self.form.values())

    @Slot()
    def _open_website(self) -> None:
        opened = QDesktopServices.openUrl(QUrl(self.found.program.website))
        self._show_problem("" if opened else f"{NOT_OPENED} The address is {self.found.program.website}.")

    def _show_problem(self, text: str) -> None:
        show_or_hide(self.problem, text)
        self._footer.setVisible(is_usable(self.found) or bool(text))

    def _content(self, parent: QWidget) -> QHBoxLayout:
        """All below the title, with a common right edge."""
        content = QWidget(parent)
        content.setMaximumWidth(CONTENT_WIDTH)
        summary = label(shown(self.found.program.summary), "", content, wrap=True)
        vbox(summary, self.path, self.warning, self._install_part, self.form, inside=content, spacing=metrics.SPACE_3)
        return hbox((content, 1), Stretch(0))

    def _lay_out(self) -> None:
        title = hbox(
            (label(self.found.program.name, "heading", self, wrap=True), 1),
            (self.website, 0, Qt.AlignmentFlag.AlignTop),
            spacing=metrics.SPACE_2,
        )
        states = hbox(self.state, self.kind, Stretch(), spacing=metrics.SPACE_2)
        vbox(
            label("Install it", "strong", self),
            self.install,
            (self.search, 0, Qt.AlignmentFlag.AlignLeft),
            inside=self._install_part,
            spacing=metrics.SPACE_2,
        )
        inside = QWidget(self)
        vbox(
            title,
            states,
            self._content(inside),
            Stretch(),
            inside=inside,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_4),
        )
        self._area = FormScroll(inside, self)
        footer = QFrame(self)
        footer.setProperty("part", "footer")
        hbox(
            (self.problem, 1),
            Stretch(0),
            self.save,
            self.start,
            inside=footer,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_5, metrics.SPACE_2, metrics.SPACE_4, metrics.SPACE_2),
        )
        vbox((self._area, 1), footer, inside=self, spacing=0)
        self._footer = footer
