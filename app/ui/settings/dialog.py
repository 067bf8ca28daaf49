"""The settings dialog: made from the declarations in `core.settings`, with the account and the store below."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QPointF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.core.errors import HooklineError, InvalidFieldsError, PlanLimitError, PortInUseError
from app.core.events import EndpointRemoved, EndpointSaved, Event, PlanChanged, SettingsChanged, Subscriptions
from app.core.model import Plan
from app.core.record import choice_words, fields_of
from app.core.rules import FREE_ENDPOINTS, FieldError, plan_refusal
from app.core.settings import Settings, check, override_text
from app.core.sizes import exact_size
from app.core.text import count_of
from app.ui.about_dialog import AboutDialog
from app.ui.deleting import confirm_storage_limit
from app.ui.desktop.desktop_integration import Desktop
from app.ui.services import Services
from app.ui.settings import BACKUP, RESTORE, SavedSettings, saved_settings
from app.ui.settings.sections import NetworkSection, SettingsForm, SettingsSection, WindowSection
from app.ui.settings.storage import StorageSection
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import SubmitDialog
from app.ui.widgets.fields import ChoiceField
from app.ui.widgets.fit_screen import FormScroll, bounded
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import label, plain_tooltip, style
from app.ui.widgets.layout import Stretch, fill, vbox
from app.ui.widgets.rows import Index

_DETAILED_MAX = 2
"""Above this number of changes only names are listed."""
_DOT_RADIUS = 3
_UNSAVED = Qt.ItemDataRole.UserRole
_DESCRIPTIONS = {
    (False, False): "",
    (True, False): "Has unsaved changes",
    (False, True): "Has an error",
    (True, True): "Has unsaved changes and an error",
}


def changes_text(saved: SavedSettings, changed: Collection[str]) -> str:
    """`Saved. Capture port: 9000.`"""
    declared = {key: field.title for key, field in fields_of(SavedSettings).items() if key in changed}
    if len(declared) > _DETAILED_MAX:
        return f"Saved {len(declared)} settings: {', '.join(declared.values())}."
    values = (f"{title}: {_value(key, getattr(saved, key))}." for key, title in declared.items())
    return " ".join(("Saved.", *values))


def _value(key: str, value: Any) -> str:
    if value is None:
        return "none" if key in ("base_url", "proxies", "store", "tunnel_program") else "no limit"
    if isinstance(value, bool):
        return "on" if value else "off"
    if key == "plan":
        return str(value.capitalize())
    if fields_of(SavedSettings)[key].unit == "bytes":
        return exact_size(value)
    return choice_words(SavedSettings, key).get(value, str(value))


SECTIONS_WIDTH = 176
_ICONS = {"Window": "own-window", "Network": "tunnel", "Account": "key", "Storage": "store"}


class SettingsDialog(SubmitDialog):
    """Shows one of its `sections`. What is chosen is saved together, and the dialog says what changed. A theme that is
    not saved is seen until the dialog is closed."""

    unsaved = "Your changes to the settings have not been saved."
    store_requested = Signal()
    """The user wants to open another store."""

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget | None, desktop: Desktop | None = None
    ) -> None:
        super().__init__("Settings", theme, tasks, parent)
        self._services = services
        self.form = SettingsForm(self)
        self.window_section = WindowSection(self.form, services, theme, tasks, desktop)
        self.network = NetworkSection(self.form, services, theme, tasks)
        read_only = services.read_only
        plans = {Plan.FREE: f"Free: up to {FREE_ENDPOINTS} endpoints", Plan.PRO: "Pro: unlimited endpoints"}
        self.account = SettingsSection("Account", self.form, self.form.row("plan", ChoiceField(plans, self.form)))
        self.form["plan"].setEnabled(read_only is None)
        self.form["plan"].setToolTip(plain_tooltip(read_only or ""))
        self.storage = StorageSection(self.form, services, theme, tasks)
        self._loaded = self._in_force()
        """Those in force when the fields were loaded, or last changed, here or by others."""
        self.form.load(self._loaded)
        self.form.touched.update(self.form.fields)  # a change of one port may be wrong for the other
        self.status = label("", "error", self, wrap=True)
        self.about_button = Button(f"About Hookline {services.version}", theme, self, kind="link", run=self.show_about)
        self.about_button.align_left()
        self.close_button = self.make_close_button("Close")
        self.save_button = self.make_submit_button("Save")
        self._pages = (self.window_section, self.network, self.account, self.storage)
        self.sections = _SectionList({page.title: _ICONS[page.title] for page in self._pages}, theme, self)
        self._scroll = self._lay_out()
        order_tabs(self)
        self.storage.open_button.clicked.connect(self._open_store)
        self.form.changed.connect(self._edited)
        self.form.keep_changed.connect(self._edited)
        self._subscriptions = Subscriptions(services.bus)
        for kind in (SettingsChanged, PlanChanged, EndpointSaved, EndpointRemoved):
            self._subscriptions.add(kind, self._follow)
        self.window_section.start_read.connect(self._follow)
        self.sections.currentRowChanged.connect(self._show_section)
        self.sections.setCurrentRow(0)
        self.sections.setFocus()
        self.refresh()
        self.resize(self.sizeHint())

    def sizeHint(self) -> QSize:
        return bounded(self, QSize(SECTIONS_WIDTH + 640, 720))

    def has_changes(self) -> bool:
        """Whether any field differs from the current settings, valid or not."""
        return not self.busy and bool(self._changed())

    def is_idle(self) -> bool:
        """Whether there is nothing to save."""
        return not self.busy and not self._changed()

    def reveal_errors(self) -> bool:
        self.form.refused.clear()  # what refused them may be gone
        self.refresh()
        errors = self._errors()
        if errors:
            self.reveal(errors[0].field)
        return bool(errors)

    def done(self, result: int) -> None:
        """Stop following the settings, and show the theme that is saved."""
        self._subscriptions.end()
        self.theme.preview(None)
        super().done(result)

    def reveal(self, key: str) -> None:
        """Show a setting and focus it, or begin a BACKUP or RESTORE."""
        row = self.form.rows.get(key, self.storage)
        self.sections.setCurrentRow([_is_in(row, page) for page in self._pages].index(True))
        if key in (BACKUP, RESTORE):
            self.storage.backup.begin(key)
        else:
            self.form.reveal(key)

    @Slot()
    def show_about(self) -> None:
        """Open the About dialog above this one."""
        AboutDialog(self._services, self.theme, self._tasks, self).open()

    @Slot(int)
    def _show_section(self, row: int) -> None:
        for number, page in enumerate(self._pages):
            page.setVisible(number == row)
        self._scroll.verticalScrollBar().setValue(0)

    @Slot()
    def _open_store(self) -> None:
        """Ask for another store, instead of this dialog."""
        if self.has_changes():
            self.ask_to_discard(self.store_requested.emit)
        else:
            self.reject()
            self.store_requested.emit()

    def edited(self) -> tuple[SavedSettings, set[str]]:
        return self._edited_settings(), self._changed()

    async def store(self) -> None:
        """The dialog stays open."""
        old, (edited, changed) = self._in_force(), self.submitted
        use = self._services.store.limits.use()
        if not await confirm_storage_limit(self, self.theme, use, edited.storage_limit, edited.when_full):
            return
        await self._tasks.complete(self._apply(old, edited, changed), self)
        if edited.start_at_sign_in is not old.start_at_sign_in:
            await self.window_section.read_start()
        self._loaded = self._in_force()
        self._say(changes_text(edited, changed), "success")
        self.storage.show_use()

    async def _apply(self, old: SavedSettings, edited: SavedSettings, changed: Collection[str]) -> None:
        changes = {key: getattr(edited, key) for key in Settings.__struct_fields__ if key in changed}
        if changes:
            await self._services.change_settings(changes)
        if edited.plan is not old.plan:
            await self._services.store.account.set_plan(edited.plan)
        if edited.start_at_sign_in is not old.start_at_sign_in:
            try:
                await self.window_section.set_start(edited.start_at_sign_in)
            except HooklineError as error:
                raise InvalidFieldsError([FieldError(field="start_at_sign_in", message=str(error))]) from error

    def show_failure(self, error: HooklineError) -> None:
        edited, _ = self.submitted
        if isinstance(error, InvalidFieldsError):
            self._say(self.form.refuse(error.errors), "error")
        elif isinstance(error, PortInUseError):
            field = "api_port" if error.port == edited.api_port != edited.port else "port"
            by = f" by {error.holder}" if error.holder else ""
            self.form.refused[field] = f"Port {error.port} is already in use{by}. Choose another port."
        elif isinstance(error, PlanLimitError):
            self.form.refused["plan"] = str(error)
        else:
            self._say(str(error), "error")
        refused = next((key for key in self.form.refused if key in self.form.rows), None)
        if refused is not None:
            self.reveal(refused)

    def _say(self, text: str, kind: str) -> None:
        style(self.status, "kind", kind)
        self.status.setText(text)
        self.save_button.setAccessibleDescription(text)

    def _edited_settings(self) -> SavedSettings:
        """Those in force with the edited values. Without a tunnel program nothing is said of its start."""
        now, filled = self._in_force(), self.form.filled(self._loaded)
        values = {key: getattr(filled, key) for key in self.form.rows}
        edited = replace(now, **{key: value for key, value in values.items() if value != getattr(self._loaded, key)})
        return edited if edited.tunnel_program is not None else replace(edited, tunnel_autostart=now.tunnel_autostart)

    def _in_force(self) -> SavedSettings:
        return saved_settings(self._services, starts=self.window_section.starts)

    def _changed(self) -> set[str]:
        """The settings whose fields have something to save, valid or not."""
        now, edited = self._in_force(), self._edited_settings()
        changed = {key for key in self.form.rows if getattr(edited, key) != getattr(now, key)}
        return changed.union(self.form.kept(), (error.field for error in self.form.problems()))

    def _errors(self) -> list[FieldError]:
        edited = self._edited_settings()
        errors = check(edited)
        refusal = plan_refusal(edited.plan, len(self._services.store.endpoints.all()))
        if refusal is not None and edited.plan is not self._services.store.account.plan:
            errors.append(FieldError(field="plan", message=refusal))
        return self.form.errors_with(errors)

    @Slot()
    def _follow(self, _: Event | None = None) -> None:
        """Show what others changed in fields that are not edited, and their theme in any case: it was to be seen."""
        now, before = self._in_force(), self._loaded
        self._loaded = self.form.follow(before, now)
        if now.theme != before.theme:
            self.form.show_values({"theme": now.theme})
        self.refresh()

    @Slot()
    def _edited(self) -> None:
        self.form.refused.clear()  # a port may have been refused for another address
        self._say("", "success")
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        now, edited, errors, changed = self._in_force(), self._edited_settings(), self._errors(), self._changed()
        overridden = self._services.overridden()
        for key, row in self.form.rows.items():
            # While the field has the value of this run alone, the saved one is said below it.
            is_shown = key in overridden and getattr(edited, key) == getattr(now, key)
            saved = overridden.get(key)
            text = override_text(None if saved is None else _value(key, saved)) if is_shown else ""
            row.set_override(text, keeps_room=key in overridden)
        self.form.show_errors(errors)
        endpoints = count_of(len(self._services.store.endpoints.all()), "endpoint")
        self.form.rows["plan"].set_help(f"{endpoints} in use.")
        self.network.refresh()
        broken = {error.field for error in errors}
        self.save_button.setEnabled(not self.busy and bool(changed) and broken <= self.form.refused.keys())
        for number, page in enumerate(self._pages):
            keys = {key for key, row in self.form.rows.items() if _is_in(row, page)}
            self.sections.mark(number, unsaved=not keys.isdisjoint(changed), wrong=not keys.isdisjoint(broken))
        self.theme.preview(edited.theme if edited.theme != now.theme else None)

    def _lay_out(self) -> QScrollArea:
        # The first row is in line with the first section.
        margins = (metrics.SPACE_5, metrics.SPACE_3, metrics.SPACE_5, metrics.SPACE_5)
        vbox(*self._pages, Stretch(), inside=self.form, spacing=0, margins=margins)
        self.sections.setFixedWidth(SECTIONS_WIDTH - metrics.SPACE_4 - metrics.SPACE_3)
        left = vbox(
            (self.sections, 1),
            self.about_button,
            margins=(metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_3, metrics.SPACE_3),
        )
        scroll = FormScroll(self.form, self)
        self.fill_columns(left, vbox(scroll))
        fill(self.footer, (self.status, 1), self.close_button, self.save_button)
        return scroll


def _is_in(widget: QWidget, page: QWidget) -> bool:
    return page is widget or page.isAncestorOf(widget)


class _SectionList(QListWidget):
    """`icons` has each section's icon by its title."""

    def __init__(self, icons: Mapping[str, str], theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self._icons = theme, icons
        self.setAccessibleName("Sections")
        self.setIconSize(QSize(metrics.ICON, metrics.ICON))
        self.setItemDelegate(_MarkedRows(theme, self))
        for title in icons:
            QListWidgetItem(title, self).setSizeHint(QSize(0, metrics.ROW))

    def mark(self, row: int, *, unsaved: bool, wrong: bool) -> None:
        """Show whether the section has unsaved changes or an error, also to screen readers."""
        item, description = self.item(row), _DESCRIPTIONS[unsaved, wrong]
        item.setIcon(self._theme.icon("warning", "danger") if wrong else self._theme.icon(self._icons[item.text()]))
        item.setData(_UNSAVED, unsaved)
        item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, description)
        item.setToolTip(plain_tooltip(description))


class _MarkedRows(QStyledItemDelegate):
    """A dot at the end of a row whose changes are not saved."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        if index.data(_UNSAVED):
            place = option.rect
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.tokens.accent))
            middle = QPointF(place.right() - metrics.SPACE_3 - _DOT_RADIUS, place.center().y() + 0.5)
            painter.drawEllipse(middle, _DOT_RADIUS, _DOT_RADIUS)
            painter.restore()
