"""Filters saved by name in `window.ini` in the data folder, and the menu that lists them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLineEdit, QMenu, QWidget

from app.core.bodies.escape import escape
from app.ui.commands.command import menu_of, menu_text
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.dialog import Dialog, result_of
from app.ui.widgets.fields import LabeledField
from app.ui.widgets.layout import Stretch, fill
from app.ui.window_file import WindowFile

KEY = "filters/saved"
NAME_MAX = 60
SAVED_MAX = 100


class SavedFilter(msgspec.Struct, frozen=True):
    """A filter's text and the name the user gave it."""

    name: str
    text: str


class SavedFilters:
    """All saved filters; names are unique. Invalid entries in the file are ignored."""

    def __init__(self, folder: Path) -> None:
        self._file = WindowFile(folder)

    def all(self) -> list[SavedFilter]:
        """Sorted by name."""
        found = self._file.decoded(KEY, list[SavedFilter]) or []
        return sorted(found, key=lambda one: one.name.casefold())

    def save(self, name: str, text: str) -> None:
        """Save `text` as `name`, replacing a filter of that name."""
        self._write([*(one for one in self.all() if one.name != name), SavedFilter(name, text)])

    def delete(self, name: str) -> None:
        """Delete the filter of that name."""
        self._write([one for one in self.all() if one.name != name])

    def _write(self, filters: list[SavedFilter]) -> None:
        self._file.set_encoded(KEY, filters)
        self._file.sync()


class SavedButton(IconButton):
    """Opens the menu: the saved filters, Save filter…, and Delete. `filter_selected` carries a filter's text."""

    filter_selected = Signal(str)
    save_requested = Signal()

    def __init__(self, saved: SavedFilters, theme: Theme, parent: QWidget) -> None:
        super().__init__("saved", "Saved filters", theme, parent)
        self.filters = saved
        self.current = ""
        """The current filter, which Save filter… would save; empty if there is none."""
        self.clicked.connect(self.open_menu)

    def menu_now(self) -> QMenu:
        """The menu's current contents."""
        menu = menu_of(self)
        filters = self.filters.all()
        for one in filters:
            action = menu.addAction(menu_text(one.name), partial(self.filter_selected.emit, one.text))
            action.setCheckable(True)
            action.setChecked(one.text == self.current)
        if filters:
            menu.addSeparator()
        save = menu.addAction("Save filter…")
        save.setEnabled(bool(self.current) and len(filters) < SAVED_MAX)
        save.triggered.connect(self.save_requested)
        if filters:
            delete_menu = menu.addMenu("Delete")
            for one in filters:
                delete_menu.addAction(menu_text(one.name), partial(self.filters.delete, one.name))
        return menu

    @Slot()
    def open_menu(self) -> None:
        menu = self.menu_now()
        place = self.mapToGlobal(self.rect().bottomRight())
        place.setX(place.x() - menu.sizeHint().width())
        menu.popup(place)


class NameDialog(Dialog):
    """Asks for the name of a filter."""

    def __init__(self, text: str, taken: set[str], theme: Theme, parent: QWidget) -> None:
        super().__init__("Save filter", theme, parent)
        self._taken = taken
        self.entered: str | None = None
        self.name = QLineEdit(self)
        self.name.setMaxLength(NAME_MAX)
        self.name.setPlaceholderText("Failed payments")
        self.field = LabeledField("Name", self.name, self, help_text=escape(text[:200]))
        self.body.addWidget(self.field)
        self.cancel = self.make_close_button("Cancel")
        self.confirm = Button("Save", theme, self, kind="primary")
        fill(self.footer, Stretch(), self.cancel, self.confirm)
        self.confirm.clicked.connect(self._accept)
        self.confirm.setDefault(True)
        self.name.textChanged.connect(self._check)
        self._check()
        self.name.setFocus()
        self.setFixedWidth(440)

    @Slot()
    def _accept(self) -> None:
        self.entered = self.name.text().strip()
        self.accept()

    @Slot()
    def _check(self) -> None:
        name = self.name.text().strip()
        self.confirm.set_refusal(None if name else "Give the filter a name.")
        self.confirm.setText("Replace" if name in self._taken else "Save")


async def ask_name(text: str, taken: set[str], theme: Theme, over: QWidget) -> str | None:
    """The name the user entered; None if they cancelled."""
    dialog = NameDialog(text, taken, theme, over)
    await result_of(dialog)
    return dialog.entered
