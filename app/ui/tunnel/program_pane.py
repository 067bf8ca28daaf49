"""One tunnel program: what it is good for, what to know before using it, its options, and how to install it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.core.errors import HooklineError, InvalidFieldsError
from app.core.rules import FieldError
from app.core.tunnel.spec import FoundProgram, install_text, is_ssh
from app.core.tunnel.tunnel import Tunnel
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.tunnel.option_form import OptionForm
from app.ui.tunnel.words import RUNNING, is_usable, shown
from app.ui.widgets.badge import Pill
from app.ui.widgets.buttons import Button
from app.ui.widgets.copy_field import CopyButton
from app.ui.widgets.fit_screen import FormScroll
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.notice_box import NoticeBox

CONTENT_WIDTH = 560
"""The most, in pixels."""
ERROR_ROOM = 48
"""Pixels below a field for an error that was just shown."""
NOT_OPENED = "No program found to open websites."


class InstallBox(QFrame):
    """How to install the program: a command, or where to get it."""

    def __init__(self, how: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "field")
        self.text = label(how, "", self, wrap=True)
        self.text.setFont(mono_font())
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.copy = CopyButton(how, "command", theme, self)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_2, metrics.SPACE_2)
        row.addWidget(self.text, 1)
        row.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignTop)


class ProgramPane(QWidget):
    """`start_requested` and `save_requested` carry the pane; `search_requested`: look for the program again."""

    start_requested = Signal(object)
    save_requested = Signal(object)
    search_requested = Signal()

    def __init__(self, found: FoundProgram, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.found = found
        program = found.program
        self.form = OptionForm(program, theme, self)
        self.state = Pill("", "neutral", self)
        self.kind = Pill("", "neutral", self)
        self.path = ElidedLabel("", "small", self, Qt.TextElideMode.ElideMiddle)
        self.website = Button("Website", theme, self, kind="link", icon="own-window")
        self.website.setToolTip(program.website)
        self.warning = NoticeBox("warning", theme, self)
        self.install = InstallBox(shown(install_text(program)), theme, self)
        self.search = Button("Look again", theme, self, icon="retry")
        self.problem = label("", "error", self, wrap=True)
        self.save = Button("Save", theme, self)
        self.start = Button("Start", theme, self, kind="primary", icon="play")
        self._install_part = QWidget(self)
        self._lay_out()
        self.form.load(found)
        self.form.changed.connect(self._edited)
        self.website.clicked.connect(self._open_website)
        self.search.clicked.connect(self.search_requested)
        self.save.clicked.connect(self._save)
        self.start.clicked.connect(self._start)
        self.show_found(found)

    def show_found(self, found: FoundProgram, *, reload: bool = False) -> None:
        """The program was looked for again, or (`reload`) its options were saved; other edits are kept."""
        self.found = found
        if reload or not self.form.has_changes():
            self.form.load(found)
        installed = is_usable(found)
        ready = "Via ssh" if found.path is not None and is_ssh(found.path) else "Installed"
        self.state.show_state(ready if installed else "Not installed", "success" if installed else "neutral")
        self.path.setText(found.path or "")
        self.path.setVisible(found.path is not None)
        self._install_part.setVisible(not installed)
        self.form.setVisible(installed and bool(found.program.options))
        self.save.setVisible(installed and bool(found.program.options))
        self._footer.setVisible(installed)
        self._edited()

    def show_tunnel(self, tunnel: Tunnel) -> None:
        """What Start does now."""
        running = tunnel.state in RUNNING
        own = tunnel.program == self.found.program.id
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
        text = shown(text or self.form.show_errors(errors))
        self.problem.setText(text)
        self.problem.setVisible(bool(text))
        broken = next((field for field in self.form.fields.values() if field.error()), None)
        if broken is not None:
            self._area.ensureWidgetVisible(broken, 0, ERROR_ROOM)

    @Slot()
    def _edited(self) -> None:
        fixed = self.found.program.keeps_url(self.form.values())
        self.kind.show_state("Same URL each time" if fixed else "New URL each time", "accent" if fixed else "neutral")
        self.problem.hide()
        self.save.setEnabled(self.form.has_changes())

    @Slot()
    def _start(self) -> None:
        missing = self.form.missing()
        self._show_errors(missing)
        if not missing:
            self.start_requested.emit(self)

    @Slot()
    def _save(self) -> None:
        self._show_errors(())
        self.save_requested.emit(self)

    @Slot()
    def _open_website(self) -> None:
        opened = QDesktopServices.openUrl(QUrl(self.found.program.website))
        self.problem.setText("" if opened else f"{NOT_OPENED} The address is {self.found.program.website}.")
        self.problem.setVisible(not opened)

    def _content(self, parent: QWidget) -> QHBoxLayout:
        """All below the title, with a common right edge."""
        content = QWidget(parent)
        content.setMaximumWidth(CONTENT_WIDTH)
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.SPACE_3)
        summary = label(shown(self.found.program.summary), "", content, wrap=True)
        for widget in (summary, self.path, self.warning, self._install_part, self.form):
            column.addWidget(widget)
        row = QHBoxLayout()
        row.addWidget(content, 1)
        row.addStretch(0)
        return row

    def _lay_out(self) -> None:
        title = QHBoxLayout()
        title.setSpacing(metrics.SPACE_2)
        title.addWidget(label(self.found.program.name, "heading", self, wrap=True), 1)
        title.addWidget(self.website, 0, Qt.AlignmentFlag.AlignTop)
        states = QHBoxLayout()
        states.setSpacing(metrics.SPACE_2)
        states.addWidget(self.state)
        states.addWidget(self.kind)
        states.addStretch(1)
        install = QVBoxLayout(self._install_part)
        install.setContentsMargins(0, 0, 0, 0)
        install.setSpacing(metrics.SPACE_2)
        install.addWidget(label("Install it", "strong", self))
        install.addWidget(self.install)
        install.addWidget(self.search, 0, Qt.AlignmentFlag.AlignLeft)
        inside = QWidget(self)
        inside.setProperty("transparent", True)
        column = QVBoxLayout(inside)
        column.setContentsMargins(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_4)
        column.setSpacing(metrics.SPACE_3)
        column.addLayout(title)
        column.addLayout(states)
        column.addLayout(self._content(inside))
        column.addStretch(1)
        self._area = FormScroll(inside, self)
        footer = QFrame(self)
        footer.setProperty("part", "footer")
        buttons = QHBoxLayout(footer)
        buttons.setContentsMargins(metrics.SPACE_5, metrics.SPACE_2, metrics.SPACE_4, metrics.SPACE_2)
        buttons.setSpacing(metrics.SPACE_2)
        buttons.addWidget(self.problem, 1)
        buttons.addStretch(0)
        buttons.addWidget(self.save)
        buttons.addWidget(self.start)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self._area, 1)
        outer.addWidget(footer)
        self._footer = footer
