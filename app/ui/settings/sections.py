"""The form of the settings that are saved with the dialog, its rows, and the sections of the window and the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QAbstractSpinBox, QLabel, QLineEdit, QWidget

from app.core.errors import HooklineError
from app.ui.desktop.desktop_integration import Desktop
from app.ui.desktop.notifications import MENU
from app.ui.services import Services
from app.ui.settings import SavedSettings
from app.ui.tasks import Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import is_usable
from app.ui.widgets.buttons import Button
from app.ui.widgets.fields import CheckField, ChoiceField, LabeledField, Switch
from app.ui.widgets.form import Form
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import Stretch, hbox, keep_room, vbox

if TYPE_CHECKING:
    from app.server.tunnel.service import TunnelService

CONTROL_WIDTH = 240
NOTIFICATIONS_TEXT = f"Choose when to be notified with “{MENU}” in an endpoint’s menu."
NOT_HERE = "This machine does not capture. The menu below the store’s name in the sidebar changes that."
_NONE = "None"
PROXIES_TEXT = "Addresses or networks whose X-Forwarded-For says who sent a request, with commas between them."
PROGRAM_TEXT = "The program that Hookline starts. Its options are on the Tunnel page."
NO_PROGRAM = "Choose a tunnel program first."


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
        vbox(row, of_this_run, self._error, inside=self, spacing=2)

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
        self.column = vbox(*rows, inside=self, spacing=metrics.SPACE_2)


class _NotificationsRow(SettingsRow):
    """Shows a sample notification, or why this system shows none."""

    def __init__(self, theme: Theme, desktop: Desktop, parent: QWidget) -> None:
        self.button = Button("Show test", theme, parent, name="Show a test notification", run=desktop.show_sample)
        super().__init__("Notifications", NOTIFICATIONS_TEXT, self.button, parent, width=0)
        self._desktop = desktop
        desktop.notifier.availability_changed.connect(self._refresh)
        desktop.tray_changed.connect(self._refresh)
        self._refresh()
        desktop.notifier.check()

    @Slot()
    def _refresh(self) -> None:
        reason = self._desktop.notifier.unavailable_reason()
        self.button.set_refusal(reason)
        self.set_help(reason or NOTIFICATIONS_TEXT)


COMMAND_SHOWN = 48
"""Characters of another command that are shown; the tooltip has all of them."""


class WindowSection(SettingsSection):
    """With a `desktop` also what closing does, and notifications. `start_read` follows each reading of the start at
    sign-in, as the system has it; it cannot be switched before the first.
    """

    start_read = Signal()

    def __init__(
        self, form: SettingsForm, services: Services, theme: Theme, tasks: Tasks, desktop: Desktop | None = None
    ) -> None:
        self.start = Switch(form.declared("start_at_sign_in").title, theme, form)
        self.start_row = form.row("start_at_sign_in", self.start, width=0)
        rows = [form.row("theme"), self.start_row]
        if desktop is not None:
            self.notifications = _NotificationsRow(theme, desktop, form)
            self._closing = form.row("on_close")
            rows += [self._closing, self.notifications]
        super().__init__("Window", form, *rows)
        self._autostart, self._desktop = services.autostart(), desktop
        self.starts = False
        """Whether signing in starts Hookline, as last read."""
        if desktop is not None:
            desktop.tray_changed.connect(self._follow_tray)
            self._follow_tray()
        self.start.setEnabled(False)
        tasks.start(self.read_start(), "read the start at sign-in", self)

    async def set_start(self, on: bool) -> None:
        """HooklineError, with nothing changed, when that fails. Also when this is deleted meanwhile; `read_start`
        shows it."""
        await in_thread(self._autostart.set, on)

    async def read_start(self) -> None:
        self.starts, refusal, text, tooltip = False, None, self.start_row.declared_text, ""
        try:
            refusal, self.starts, other = await in_thread(self._start)
        except HooklineError as error:
            text = str(error)
        else:
            if other:
                text, tooltip = _instead(other), other
        self.start.setEnabled(refusal is None)
        self.start_row.set_help(refusal or text, tooltip)
        self.start_read.emit()

    def _start(self) -> tuple[str | None, bool, str | None]:
        autostart = self._autostart
        return autostart.unavailable(), autostart.enabled(), autostart.replaced()

    @Slot()
    def _follow_tray(self) -> None:
        """Without a tray there is nothing to choose, and the reason is said."""
        assert self._desktop is not None
        reason = self._desktop.tray_unavailable()
        self._closing.control.setEnabled(reason is None)
        self._closing.set_help(reason or self._closing.declared_text)


def _instead(command: str) -> str:
    half = COMMAND_SHOWN // 2
    shortened = command if len(command) <= COMMAND_SHOWN else f"{command[:half]}…{command[-half:]}"
    return f"Another command starts at sign-in: {shortened}. Switch this on to start this Hookline instead."


class _TunnelProgramField(ChoiceField):
    """The programs of this computer, listed as soon as they are found, and the chosen one in any case."""

    def __init__(self, tunnels: TunnelService, tasks: Tasks, parent: QWidget) -> None:
        super().__init__({None: _NONE}, parent)
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
        names: dict[str | None, str] = {None: _NONE}
        for one in listed:
            names[one.program.id] = one.program.name + ("" if is_usable(one) else " (not installed)")
        names.setdefault(chosen, f"{chosen} (unknown)")
        self.set_choices(names)


class NetworkSection(SettingsSection):
    def __init__(self, form: SettingsForm, services: Services, theme: Theme, tasks: Tasks) -> None:
        self._program = _TunnelProgramField(services.tunnels, tasks, form)
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
