"""Tells where notifications are chosen, and lets the user see one, or says why this system shows none."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.ui.desktop.desktop_integration import Desktop
from app.ui.desktop.notification_settings import MENU
from app.ui.settings.section import SettingsRow
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button

TEXT = f"Choose when to be notified with “{MENU}” in an endpoint’s menu."


class NotificationsRow(SettingsRow):
    """Asks the system anew each time it is made."""

    def __init__(self, theme: Theme, desktop: Desktop, parent: QWidget) -> None:
        self.button = Button("Show test", theme, parent)
        self.button.setAccessibleName("Show a test notification")
        super().__init__("Notifications", TEXT, self.button, parent, width=0)
        self._desktop = desktop
        self.button.clicked.connect(desktop.try_notification)
        desktop.notifier.availability_changed.connect(self._refresh)
        desktop.tray_changed.connect(self._refresh)
        self._refresh()
        desktop.notifier.look()

    @Slot()
    def _refresh(self) -> None:
        reason = self._desktop.notifier.why_not()
        self.button.set_refusal(reason)
        self.text.setText(reason or TEXT)
