"""The programs of the catalogue: the list, and the selected one beside it, with what it is good for, what to know
before using it, its options, and how to install it. What is typed for one is kept meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, QRect, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QFont, QPainter, QResizeEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QStackedWidget, QWidget

from app.core.errors import HooklineError, InvalidFieldsError
from app.core.rules import FieldError
from app.core.tunnel import Tunnel
from app.core.tunnel_program import FoundProgram, TunnelOption, TunnelProgram, install_text, is_ssh, option_error
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.tunnel.area import TunnelActions
from app.ui.tunnel.words import RUNNING, is_usable, mark_of, shown
from app.ui.widgets.badge import Pill
from app.ui.widgets.buttons import Button, CopyButton
from app.ui.widgets.card import NoticeBox, line
from app.ui.widgets.fields import ChoiceField, LabeledField
from app.ui.widgets.fit_screen import FormScroll
from app.ui.widgets.labels import ElidedLabel, label, show_or_hide
from app.ui.widgets.layout import Stretch, hbox, vbox
from app.ui.widgets.rows import Column, Index, Rows, RowsList, paint_line
from app.ui.widgets.text_fields import TextField

LIST_WIDTHS = (240, 330)
WIDE = 900
"""Pixels from which the list is wider."""
HEIGHT, HEADING_HEIGHT = 52, 32
READY, NOT_INSTALLED = "READY TO USE", "NOT INSTALLED"
CONTENT_WIDTH = 560
"""The most, in pixels."""
ERROR_ROOM = 48
"""Pixels below a field for an error that was just shown."""
SAVED, REMOVED = "Saved. Type to replace it.", "Removed when you save or start."
NOT_SET, MORE = "Not set", "More options"
ProgramRow = FoundProgram | str
"""A program, or a heading."""


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
        shown_value = "" if self.option.secret else self._saved
        if isinstance(self.editor, ChoiceField) and shown_value not in self.editor.choices:
            shown_value = next(iter(self.editor.choices))
        self.editor.set_value(shown_value)
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
        return self.option.required and not (self.value() or (self.value() is None and self._secret_saved))

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
        return {name: value for name, field in self.fields.items() if (value := field.value()) is not None}

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


class ProgramPane(QWidget):
    def __init__(self, found: FoundProgram, actions: TunnelActions, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions, self.found = actions, found
        self._runs = False
        program = found.program
        self.form = OptionForm(program, theme, self)
        self.state = Pill("", "neutral", self)
        self.kind = Pill("", "neutral", self)
        self.path = ElidedLabel("", "small", self, Qt.TextElideMode.ElideMiddle)
        self.website = Button("Website", theme, self, kind="link", icon="own-window", run=self._open_website)
        self.website.setToolTip(program.website)
        self.warning = NoticeBox("warning", theme, self)
        how = shown(install_text(program))
        self.install = label(how, "", self, wrap=True, selectable=True)
        self.install.setFont(mono_font())
        self.copy = CopyButton(how, "command", theme, self)
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
        runs = running and tunnel.program == self.found.program.id
        if runs and not self._runs:
            self._show_problem("")  # started from elsewhere
        self._runs = runs
        self.start.setText("Restart" if runs else "Use this instead" if running else "Start")
        self.start.set_kind("secondary" if running else "primary")
        self.start.set_icon_name("retry" if runs else "play")
        self.save.setEnabled(self.form.has_changes())
        # While it runs, they are in the first card.
        self.warning.show_text("" if runs else shown("\n".join(self.found.program.warnings)))

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
        advice = f"No program found to open websites. The address is {self.found.program.website}."
        self._show_problem("" if opened else advice)

    def _show_problem(self, text: str) -> None:
        show_or_hide(self.problem, text)
        self._footer.setVisible(is_usable(self.found) or bool(text))

    def _lay_out(self) -> None:
        title = hbox(
            (label(self.found.program.name, "heading", self, wrap=True), 1),
            (self.website, 0, Qt.AlignmentFlag.AlignTop),
            spacing=metrics.SPACE_2,
        )
        install = QFrame(self)
        install.setProperty("part", "field")
        hbox(
            (self.install, 1),
            (self.copy, 0, Qt.AlignmentFlag.AlignTop),
            inside=install,
            margins=(metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_2, metrics.SPACE_2),
        )
        vbox(
            label("Install it", "strong", self),
            install,
            (self.search, 0, Qt.AlignmentFlag.AlignLeft),
            inside=self._install_part,
            spacing=metrics.SPACE_2,
        )
        inside = QWidget(self)
        content = QWidget(inside)  # with a common right edge
        content.setMaximumWidth(CONTENT_WIDTH)
        summary = label(shown(self.found.program.summary), "", content, wrap=True)
        vbox(summary, self.path, self.warning, self._install_part, self.form, inside=content, spacing=metrics.SPACE_3)
        vbox(
            title,
            hbox(self.state, self.kind, Stretch(), spacing=metrics.SPACE_2),
            hbox((content, 1), Stretch(0)),
            Stretch(),
            inside=inside,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_4),
        )
        self._area = FormScroll(inside, self)
        self._footer = QFrame(self)
        self._footer.setProperty("part", "footer")
        hbox(
            (self.problem, 1),
            Stretch(0),
            self.save,
            self.start,
            inside=self._footer,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_5, metrics.SPACE_2, metrics.SPACE_4, metrics.SPACE_2),
        )
        vbox((self._area, 1), self._footer, inside=self, spacing=0)


class ProgramRows(Rows[ProgramRow]):
    """`running` are the ID of the program that is the tunnel, and the icon and colour of the tunnel's state."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__([Column("", self._sentence, _tooltip, self._paint)], parent)
        self._theme = theme
        self._heading_font = ui_font(11, QFont.Weight.DemiBold)
        self._heading_font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.5)
        self.running: tuple[str | None, tuple[str, str] | None] = (None, None)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Headings are neither selected nor enabled."""
        is_heading = not index.isValid() or isinstance(self.record(index.row()), str)
        return Qt.ItemFlag.NoItemFlags if is_heading else super().flags(index)

    def _mark(self, found: FoundProgram) -> tuple[str, str] | None:
        return self.running[1] if found.program.id == self.running[0] else None

    def _sentence(self, row: ProgramRow) -> str:
        """For screen readers."""
        if isinstance(row, str):
            return row.capitalize()
        usable = "ready to use" if is_usable(row) else "not installed"
        return f"{row.program.name}, {'running' if self._mark(row) else usable}. {row.program.summary}"

    def _paint(self, painter: QPainter, place: QRect, row: ProgramRow) -> None:
        tokens = self._theme.tokens
        if isinstance(row, str):
            words, bottom = place.adjusted(metrics.SPACE_3, 0, 0, -4), Qt.AlignmentFlag.AlignBottom
            paint_line(painter, words, row, self._heading_font, tokens.text_faint, align=bottom)
            return
        words, mark = place.adjusted(metrics.SPACE_3, 7, -metrics.SPACE_3, -7), self._mark(row)
        if mark is not None:
            self._theme.icon(*mark).paint(painter, QRect(words.right() - 17, words.top() + 1, 18, 18))
        upper = QRect(words.left(), words.top(), words.width() - (26 if mark else 0), words.height() // 2)
        colour = tokens.text if is_usable(row) else tokens.text_muted
        paint_line(painter, upper, row.program.name, ui_font(BASE, QFont.Weight.DemiBold), colour)
        lower = QRect(words.left(), upper.bottom() + 1, words.width(), upper.height())
        paint_line(painter, lower, shown(row.program.summary), ui_font(SMALL), tokens.text_muted)


def _tooltip(row: ProgramRow) -> str:
    return "" if isinstance(row, str) else shown(row.program.summary)


def _height(row: ProgramRow) -> int:
    return HEADING_HEIGHT if isinstance(row, str) else HEIGHT


class ProgramList(RowsList[ProgramRow]):
    """One is selected as soon as there are any."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self.rows = ProgramRows(theme, parent)
        super().__init__("Tunnel programs", self.rows, _height, theme, parent, rounded=True)

    def show_programs(self, found: Sequence[FoundProgram]) -> None:
        """Show these; the selected one stays selected."""
        current = self.current_id()
        rows: list[ProgramRow] = []
        for heading, installed in ((READY, True), (NOT_INSTALLED, False)):
            of_kind = [one for one in found if is_usable(one) is installed]
            of_kind.sort(key=lambda one: not one.program.executables)  # the user's own command last
            if of_kind:
                rows += [heading, *of_kind]
        self.rows.set_records(rows)
        if (current is None or not self.select(current)) and found:
            # The first that can be started as it is, or else the first.
            usable = (one.program for one in found if is_usable(one))
            ready = (one.id for one in usable if not any(option.required for option in one.options))
            if not self.select(next(ready, "")):
                self.select_row(1)

    def show_tunnel(self, tunnel: Tunnel) -> None:
        """Mark the program that it runs."""
        running = (tunnel.program, mark_of(tunnel)) if tunnel.state in RUNNING else (None, None)
        if running != self.rows.running:
            self.rows.running = running
            self.rows.refresh_cells()

    def current_id(self) -> str | None:
        """The selected program."""
        row = self.current_record()
        return row.program.id if isinstance(row, FoundProgram) else None

    def select(self, program_id: str) -> bool:
        """Select a program; False if it is not in the list."""
        for at, row in enumerate(self.rows.records()):
            if isinstance(row, FoundProgram) and row.program.id == program_id:
                self.select_row(at)
                self.scrollTo(self.currentIndex())
                return True
        return False


class ProgramsView(QWidget):
    """`search_requested`: look for the programs again."""

    search_requested = Signal()

    def __init__(self, actions: TunnelActions, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions, self._theme = actions, theme
        self._refused: tuple[str, HooklineError] | None = None
        """Waits until the programs are known."""
        self.list = ProgramList(theme, self)
        self.panes: dict[str, ProgramPane] = {}
        self._stack = QStackedWidget(self)
        left = vbox(self.list, margins=(metrics.SPACE_2, 0, metrics.SPACE_1, 0))
        hbox(left, line(self, vertical=True), (self._stack, 1), inside=self, spacing=0)
        self.list.selectionModel().currentChanged.connect(self._choose)
        actions.refused.connect(self.show_error)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.list.setFixedWidth(LIST_WIDTHS[self.width() >= WIDE])

    def show_programs(self, found: Sequence[FoundProgram], saved: str | None = None) -> None:
        """Show these, until `show_tunnel` as without a tunnel. The options of the program `saved` have just been
        saved."""
        for one in found:
            pane = self.panes.get(one.program.id)
            if pane is not None:
                pane.show_found(one, reload=one.program.id == saved)
            else:
                self.panes[one.program.id] = self._new_pane(one)
        first = not self.list.rows.rowCount()
        self.list.show_programs(found)
        preferred = self._actions.program_id()
        if first and preferred is not None:
            self.list.select(preferred)
        if self._refused is not None:
            self.show_error(*self._refused)

    def show_tunnel(self, tunnel: Tunnel) -> None:
        self.list.show_tunnel(tunnel)
        for pane in self.panes.values():
            pane.show_tunnel(tunnel)

    @property
    def first(self) -> QWidget:
        """What the user does first: fill in what the selected program needs, or start it; without it choose another."""
        pane = self.panes.get(self.list.current_id() or "")
        if pane is None or not is_usable(pane.found):
            return self.list
        missing = pane.form.missing()
        return pane.form.fields[missing[0].field].control if missing else pane.start

    @Slot(str, object)
    def show_error(self, program_id: str, error: HooklineError) -> None:
        """Select a program and say why it was not saved or started."""
        pane = self.panes.get(program_id)
        self._refused = (program_id, error) if pane is None else None
        if pane is not None:
            self.list.select(program_id)
            pane.show_error(error)

    def _new_pane(self, found: FoundProgram) -> ProgramPane:
        pane = ProgramPane(found, self._actions, self._theme, self._stack)
        pane.search.clicked.connect(self.search_requested)
        self._stack.addWidget(pane)
        return pane

    @Slot()
    def _choose(self) -> None:
        pane = self.panes.get(self.list.current_id() or "")
        if pane is not None:
            self._stack.setCurrentWidget(pane)
