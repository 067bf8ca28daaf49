"""The settings dialog: made from the declarations in `core.settings`, with the account and the store below."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.errors import HooklineError, InvalidFieldsError, PlanLimitError, PortInUseError
from app.core.model import Plan
from app.core.settings import Settings, check, field_of, override_text
from app.core.sizes import exact_size
from app.ui.about.dialog import AboutDialog
from app.ui.desktop.desktop_integration import Desktop
from app.ui.services import Services
from app.ui.settings.account import AccountSection
from app.ui.settings.network import NetworkSection
from app.ui.settings.section import SettingsRow, SettingsSection
from app.ui.settings.storage import WHEN_FULL, StorageSettings
from app.ui.settings.window import WindowSection
from app.ui.tasks import Tasks, unless_cancelled
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import line
from app.ui.widgets.fit_screen import FormScroll, bounded
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import label, restyle
from app.ui.widgets.storage_limit import confirm_storage_limit
from app.ui.widgets.unsaved import EditDialog

_DETAILED_MAX = 2
"""Above this number of changes only names are listed."""


def changes_text(old: Settings, new: Settings, old_plan: Plan, new_plan: Plan, kept: Collection[str] = ()) -> str:
    """`Saved. Capture port: 9000.` `kept` are settings that were saved with the value they had."""
    changed = {
        field_of(key).title: _value(key, getattr(new, key))
        for key in Settings.__struct_fields__
        if key in kept or getattr(old, key) != getattr(new, key)
    }
    if old_plan is not new_plan:
        changed["Plan"] = new_plan.value.capitalize()
    if len(changed) > _DETAILED_MAX:
        return f"Saved {len(changed)} settings: {', '.join(changed)}."
    return " ".join(("Saved.", *(f"{title}: {value}." for title, value in changed.items())))


def _value(key: str, value: object) -> str:
    if value is None:
        return "none" if key in ("base_url", "tunnel_program") else "no limit"
    if isinstance(value, bool):
        return "on" if value else "off"
    if field_of(key).unit == "bytes":
        assert isinstance(value, int)
        return exact_size(value)
    return dict(WHEN_FULL)[value] if key == "when_full" else str(value)  # type: ignore[index]


class SettingsDialog(EditDialog):
    """The window's settings take effect at once, the others when saved; then the dialog says what changed."""

    unsaved = "Your changes to the settings have not been saved."

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget | None, desktop: Desktop | None = None
    ) -> None:
        super().__init__("Settings", theme, parent)
        self._services, self._tasks = services, tasks
        self._busy = False
        self._focused: QWidget | None = None
        """The widget with the focus when saving began: fields that are disabled meanwhile lose it."""
        self.window_section = WindowSection(services, theme, tasks, self, desktop=desktop)
        self.network = NetworkSection(services, theme, tasks, self)
        self.account = AccountSection(services, self)
        self.storage = StorageSettings(services, theme, tasks, self)
        self.status = label("", "error", self, wrap=True)
        self.about_button = Button(f"About Hookline {services.version}", theme, self, kind="link")
        self.about_button.align_left()
        self.close_button = Button("Close", theme, self)
        self.save_button = Button("Save", theme, self, kind="primary")
        self._lay_out()
        order_tabs(self)
        self.about_button.clicked.connect(self.show_about)
        self.close_button.clicked.connect(self.reject)
        self.save_button.clicked.connect(self.save)
        for section in (self.network, self.account, self.storage):
            section.changed.connect(self._edited)
        for row in self._rows().values():
            row.keep_changed.connect(self._edited)
        self._refresh()
        self.resize(self.sizeHint())

    def sizeHint(self) -> QSize:
        return bounded(self, QSize(640, 720))

    def edited(self) -> Settings:
        """The current settings with the values of the fields."""
        return self.storage.value(self.network.value(self._services.settings()))

    def kept(self) -> list[str]:
        """The settings of this run alone that the user chose to keep."""
        return [key for key, row in self._rows().items() if row.keep_box.isChecked()]

    def has_changes(self) -> bool:
        """Whether any field differs from the current settings, valid or not."""
        return not self._busy and self._differs()

    def is_idle(self) -> bool:
        """Whether there is nothing to save."""
        return not self._busy and not self._differs()

    def discard(self) -> None:
        """Restore what took effect at once."""
        self.window_section.restore()

    @Slot()
    def save(self) -> None:
        """Save the values of the fields, or focus the first invalid one."""
        broken = next((row for row in self._rows().values() if row.error()), None)
        if broken is not None and not self._busy:
            self._area.ensureWidgetVisible(broken)
            broken.control.setFocus()
        elif self.save_button.isEnabled():
            self._focused = self.focusWidget()
            self._busy = True
            self._refresh()
            self._tasks.start(self._save(self.edited(), self.account.value(), self.kept()), "apply settings")

    @Slot()
    def show_about(self) -> None:
        """Open the About dialog above this one."""
        AboutDialog(self._services, self.theme, self._tasks, self).open()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter in a field saves; Esc closes."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.save()
        else:
            super().keyPressEvent(event)

    async def _save(self, edited: Settings, plan: Plan, kept: Collection[str]) -> None:
        old, old_plan = self._services.settings(), self._services.store.account.plan
        with unless_cancelled(self._saving_ended):
            try:
                use = self._services.store.limits.use()
                if not await confirm_storage_limit(self, self.theme, use, edited.storage_limit, edited.when_full):
                    return
                settings = edited if edited != old or kept else None
                await self._tasks.complete(self._apply(settings, kept, plan), self)
            except HooklineError as error:
                self._show_failure(error, edited)
            else:
                self.window_section.keep()
                self._say(changes_text(old, edited, old_plan, plan, kept), "success")
                self.storage.limit.show_use(self._services.store.limits.use())

    async def _apply(self, settings: Settings | None, kept: Collection[str], plan: Plan) -> None:
        """With None the settings stay."""
        if settings is not None:
            await self._services.apply_settings(settings, kept)
        if plan is not self._services.store.account.plan:
            await self._services.store.account.set_plan(plan)

    def _saving_ended(self) -> None:
        self._busy = False
        self._refresh()
        if self._focused is not None:
            self._focused.setFocus()

    def _show_failure(self, error: HooklineError, edited: Settings) -> None:
        if isinstance(error, InvalidFieldsError):
            self.network.refuse({broken.field: broken.message for broken in error.errors})
        elif isinstance(error, PortInUseError):
            field = "api_port" if error.port == edited.api_port != edited.port else "port"
            by = f" by {error.holder}" if error.holder else ""
            self.network.refuse({field: f"Port {error.port} is already in use{by}. Choose another port."})
        elif isinstance(error, PlanLimitError):
            self.account.refuse(str(error))
        else:
            self._say(str(error), "error")

    def _say(self, text: str, kind: str) -> None:
        self.status.setProperty("kind", kind)
        restyle(self.status)
        self.status.setText(text)
        self.save_button.setAccessibleDescription(text)

    def _differs(self) -> bool:
        return (
            self.edited() != self._services.settings()
            or bool(self.kept())
            or self.account.has_changes()
            or any(any(section.problems().values()) for section in (self.network, self.storage))
        )

    def _rows(self) -> dict[str, SettingsRow]:
        return {**self.network.rows, **self.account.rows, **self.storage.rows}

    @Slot()
    def _edited(self) -> None:
        self._say("", "success")
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        self._show_overrides()
        errors: dict[str, str | None] = {error.field: error.message for error in check(self.edited())}
        for section in (self.network, self.account, self.storage):
            errors.update({key: message for key, message in section.problems().items() if message})
        for key, row in self._rows().items():
            row.set_error(errors.get(key))
        self.account.refresh()
        self.save_button.setEnabled(not self._busy and not errors and self._differs())
        for section in (self.network, self.account):
            section.setEnabled(not self._busy)

    def _show_overrides(self) -> None:
        """Say below each field which value is saved, while it has the one of this run alone."""
        now, edited, overridden = self._services.settings(), self.edited(), self._services.overridden()
        for key, row in self._rows().items():
            is_shown = key in overridden and getattr(edited, key) == getattr(now, key)
            saved = overridden.get(key)
            row.set_override(override_text(None if saved is None else _value(key, saved)) if is_shown else None)

    def _lay_out(self) -> None:
        inside = QWidget(self)
        inside.setProperty("transparent", True)
        column = QVBoxLayout(inside)
        column.setContentsMargins(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5)
        column.setSpacing(metrics.SPACE_5)
        sections: list[SettingsSection] = [self.window_section, self.network, self.account, self.storage]
        for place, section in enumerate(sections):
            if place:
                column.addWidget(line(inside))
            column.addWidget(section)
        column.addWidget(self.about_button, 0, Qt.AlignmentFlag.AlignLeft)
        self._area = FormScroll(inside, self)
        self.body.setContentsMargins(0, metrics.SPACE_4, 0, 0)
        self.body.setSpacing(0)
        self.body.addWidget(line(self))
        self.body.addWidget(self._area, 1)
        self.footer.addWidget(self.status, 1)
        self.footer.addWidget(self.close_button)
        self.footer.addWidget(self.save_button)
