"""The dialogs that the window opens: settings, about, and one comparison of targets per endpoint."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QMainWindow

from app.core.model import Endpoint
from app.ui.about.dialog import AboutDialog
from app.ui.comparison.choice import compare_refusal
from app.ui.comparison.dialog import ComparisonDialog
from app.ui.desktop.desktop_integration import Desktop
from app.ui.services import Services
from app.ui.settings.dialog import SettingsDialog
from app.ui.stores.store_commands import StoreCommands
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import open_once


class WindowDialogs(QObject):
    """Each is open once."""

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        *,
        stores: StoreCommands,
        desktop: Desktop,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._services, self._theme, self._tasks = services, theme, tasks
        self._stores, self._desktop, self._window = stores, desktop, window

    @Slot()
    @Slot(str)
    def open_settings(self, key: str = "") -> None:
        """Open the settings at one of them or to begin a backup or restore."""

        def new() -> SettingsDialog:
            dialog = SettingsDialog(self._services, self._theme, self._tasks, self._window, self._desktop)
            dialog.store_requested.connect(self._stores.show_dialog)
            return dialog

        dialog = open_once(self._window, SettingsDialog, new)
        if key:
            dialog.reveal(key)

    @Slot()
    def open_about(self) -> AboutDialog:
        new = partial(AboutDialog, self._services, self._theme, self._tasks, self._window)
        return open_once(self._window, AboutDialog, new)

    @Slot()
    def copy_diagnostics(self) -> None:
        self.open_about().copy_diagnostics()

    @Slot(object)
    def compare(self, endpoint: Endpoint) -> None:
        """Compare the endpoint's targets."""
        current = self._services.store.endpoints.by_id(endpoint.id)
        if current is not None and compare_refusal(current) is None:
            new = partial(ComparisonDialog, current, self._services, self._theme, self._tasks, self._window)
            open_once(self._window, ComparisonDialog, new, str(current.id))

    @Slot()
    def follow_compared(self) -> None:
        """Endpoints were changed or deleted."""
        for dialog in self._window.findChildren(ComparisonDialog):
            dialog.follow_endpoint()

    def close_comparisons(self) -> None:
        for dialog in self._window.findChildren(ComparisonDialog):
            dialog.reject()
