"""Which endpoints notify, and the menu that sets it. Stored by slug in `window.ini` in the data folder.

A new endpoint does not notify: one that gets a request every few seconds would be a nuisance from its first minute, and
there is the unread count.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from app.core.model import Endpoint
from app.ui.window_file import WindowFile


class NotifyWhen(StrEnum):
    """When requests to an endpoint are notified."""

    OFF = "off"
    IN_BACKGROUND = "behind"
    """While no window of Hookline is active."""
    ON = "on"
    """Also while one is active, unless it shows the endpoint's list."""


MENU = "Notify"
TEXTS = {
    NotifyWhen.OFF: "Off",
    NotifyWhen.IN_BACKGROUND: "While Hookline is in the background",
    NotifyWhen.ON: "Always",
}


class NotificationSettings(QObject):
    """The settings by slug. `unavailable_reason` says why the system shows no notifications; None if it does, or if
    that is unknown.
    """

    changed = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._file = WindowFile(folder)
        self._kept: dict[str, NotifyWhen] = {}
        self.unavailable_reason: str | None = None
        self._file.beginGroup("notify")
        for slug in self._file.childKeys():
            text = self._file.text(slug)
            if text in set(NotifyWhen):
                self._kept[slug] = NotifyWhen(text)
        self._file.endGroup()

    def any(self) -> bool:
        """Whether any endpoint notifies."""
        return bool(self._kept)

    def of(self, slug: str) -> NotifyWhen:
        return self._kept.get(slug, NotifyWhen.OFF)

    def set(self, slug: str, when: NotifyWhen) -> None:
        """Store the setting; OFF is the default and is not stored."""
        if when is self.of(slug):
            return
        if when is NotifyWhen.OFF:
            del self._kept[slug]
            self._file.remove(f"notify/{slug}")
        else:
            self._kept[slug] = when
            self._file.setValue(f"notify/{slug}", when.value)
        self._file.sync()
        self.changed.emit()

    @Slot(object)
    def forget(self, endpoint: Endpoint) -> None:
        """The endpoint was deleted."""
        self.set(endpoint.slug, NotifyWhen.OFF)


class NotifyMenu(QMenu):
    """The endpoint's notification setting as a menu, which says so if the system shows no notifications."""

    def __init__(self, choices: NotificationSettings, parent: QMenu, slug: str = "") -> None:
        super().__init__(MENU, parent)
        self.slug = slug
        self._choices = choices
        group = QActionGroup(self)
        for when, text in TEXTS.items():
            action = self.addAction(text)
            action.setData(when)
            action.setCheckable(True)
            group.addAction(action)
        self._reason_entry = self.addAction("")
        self._reason_entry.setEnabled(False)
        self.aboutToShow.connect(self._refresh)
        group.triggered.connect(self._triggered)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        for action in self.actions():
            action.setChecked(action.data() == self._choices.of(self.slug))
        self._reason_entry.setText(self._choices.unavailable_reason or "")
        self._reason_entry.setVisible(self._choices.unavailable_reason is not None)

    @Slot(QAction)
    def _triggered(self, action: QAction) -> None:
        self._choices.set(self.slug, NotifyWhen(action.data()))
