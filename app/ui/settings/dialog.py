"""The settings dialog: made from the declarations in `core.settings`, with the account and the store below."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget
from shiboken6 import isValid

from app.core.errors import HooklineError, InvalidFieldsError, PortInUseError
from app.core.settings import Settings, check
from app.ui.about.dialog import AboutDialog
from app.ui.desktop.presence import Desktop
from app.ui.limit_question import may_limit
from app.ui.ports import Doors
from app.ui.settings.account import AccountSection
from app.ui.settings.network import NetworkSection
from app.ui.settings.section import SettingsSection
from app.ui.settings.storage import StorageSection
from app.ui.settings.window import WindowSection
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import line
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.labels import label


class SettingsDialog(Dialog):
    """Theme and plan take effect at once, what the fields of network and storage say when saved. `applied` follows a
    successful save."""

    applied = Signal()

    def __init__(
        self, doors: Doors, theme: Theme, tasks: Tasks, parent: QWidget | None, desktop: Desktop | None = None
    ) -> None:
        super().__init__("Settings", theme, parent)
        self._doors, self._tasks = doors, tasks
        self._busy = False
        self._focused: QWidget | None = None
        """What had the keyboard when a save began: fields that are disabled meanwhile lose it."""
        self.window_section = WindowSection(doors, theme, tasks, self, desktop=desktop)
        self.network = NetworkSection(doors.settings(), self)
        self.account = AccountSection(doors, theme, tasks, self)
        self.storage = StorageSection(doors, theme, tasks, self)
        self.problem = label("", "error", self, wrap=True)
        self.problem.hide()
        self.about_button = Button(f"About Hookline {doors.version}", theme, self, kind="link")
        self.close_button = Button("Close", theme, self)
        self.save_button = Button("Save", theme, self, kind="primary")
        self._lay_out()
        self.about_button.clicked.connect(self.show_about)
        self.close_button.clicked.connect(self.reject)
        self.save_button.clicked.connect(self.save)
        self.network.changed.connect(self._refresh)
        self.storage.changed.connect(self._refresh)
        self._refresh()
        self.resize(self.sizeHint())

    def sizeHint(self) -> QSize:
        """Never taller than the window it stands on."""
        parent = self.parentWidget()
        return QSize(640, min(720, parent.height() - 48) if parent else 720)

    def wanted(self) -> Settings:
        """The settings in force with what the fields say."""
        return self.storage.value(self.network.value(self._doors.settings()))

    def is_idle(self) -> bool:
        """While nothing is to be saved."""
        return not self._busy and self.wanted() == self._doors.settings()

    @Slot()
    def save(self) -> None:
        """Apply what the fields say."""
        if self.save_button.isEnabled():
            self._focused = self.focusWidget()
            self._busy = True
            self._refresh()
            self._tasks.start(self._save(self.wanted()), "apply settings")

    @Slot()
    def show_about(self) -> None:
        """Open the About dialog above this one."""
        AboutDialog(self._doors, self.theme, self._tasks, self).open()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter in a field saves, as in the form of an endpoint; Esc closes."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.save()
        else:
            super().keyPressEvent(event)

    async def _save(self, wanted: Settings) -> None:
        try:
            use = self._doors.limits.use()
            if not await may_limit(self, self.theme, use, wanted.storage_limit, wanted.when_full):
                return
            await self._doors.apply_settings(wanted)
        except HooklineError as error:
            if not isValid(self):
                raise
            self._show_failure(error, wanted)
        else:
            if isValid(self):
                self.problem.hide()
                self.storage.limit.show_use(self._doors.limits.use())
                self.applied.emit()
        finally:
            if isValid(self):
                self._busy = False
                self._refresh()
                if self._focused is not None:
                    self._focused.setFocus()

    def _show_failure(self, error: HooklineError, wanted: Settings) -> None:
        if isinstance(error, InvalidFieldsError):
            self.network.refuse({broken.field: broken.message for broken in error.errors})
        elif isinstance(error, PortInUseError):
            field = "api_port" if error.port == wanted.api_port != wanted.port else "port"
            by = f" by {error.holder}" if error.holder else ""
            self.network.refuse({field: f"Port {error.port} is already in use{by}. Choose another port."})
        else:
            self.problem.setText(str(error))
            self.problem.show()

    @Slot()
    def _refresh(self) -> None:
        wanted = self.wanted()
        errors = {error.field: error.message for error in check(wanted)}
        self.network.show_errors(errors)
        self.storage.limit.show_errors(errors)
        blocked = bool(errors) or self.network.has_errors() or self.storage.limit.has_errors()
        self.save_button.setEnabled(not self._busy and not blocked and wanted != self._doors.settings())
        self.network.setEnabled(not self._busy)

    def _lay_out(self) -> None:
        inside = QWidget(self)
        inside.setProperty("ground", True)
        column = QVBoxLayout(inside)
        column.setContentsMargins(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5)
        column.setSpacing(metrics.SPACE_5)
        sections: list[SettingsSection] = [self.window_section, self.network, self.account, self.storage]
        for place, section in enumerate(sections):
            if place:
                column.addWidget(line(inside))
            column.addWidget(section)
        column.addWidget(self.about_button, 0, Qt.AlignmentFlag.AlignLeft)
        scroll = QScrollArea(self)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(inside)
        self.body.setContentsMargins(0, metrics.SPACE_4, 0, 0)
        self.body.setSpacing(0)
        self.body.addWidget(line(self))
        self.body.addWidget(scroll, 1)
        self.footer.addWidget(self.problem, 1)
        self.footer.addStretch(0)
        self.footer.addWidget(self.close_button)
        self.footer.addWidget(self.save_button)
