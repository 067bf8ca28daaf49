"""The dialogs that the window opens: settings, about, and one comparison of targets per endpoint."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QMainWindow

from app.core.model import Endpoint
from app.core.rules import compare_refusal
from app.ui.desktop.desktop_integration import Desktop
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.stores.store_commands import StoreCommands
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import open_once

if TYPE_CHECKING:
    from app.ui.about_dialog import AboutDialog
    from app.ui.settings.dialog import SettingsDialog


class WindowDialogs(QObject):
    """Each is open once. Emit `closing` when the window is closed."""

    closing = Signal()

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        *,
        qt_events: QtEvents,
        stores: StoreCommands,
        desktop: Desktop,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._services, self._theme, self._tasks = services, theme, tasks
        self._qt_events, self._stores, self._desktop, self._window = qt_events, stores, desktop, window

    @Slot()
    @Slot(str)
    def open_settings(self, key: str = "") -> None:
        """Open the settings at one of them or to begin a backup or restore."""
        from app.ui.settings.dialog import SettingsDialog  # start-up time: loaded when it is first opened

        def new() -> SettingsDialog:
            dialog = SettingsDialog(self._services, self._theme, self._tasks, self._window, self._desktop)
            dialog.store_requested.connect(self._stores.show_dialog)
            return dialog

        dialog = open_once(self._window, SettingsDialog, new)
        if key:
            dialog.reveal(key)

    @Slot()
    def open_about(self) -> AboutDialog:
        from app.ui.about_dialog import AboutDialog  # as above

        new = partial(AboutDialog, self._services, self._theme, self._tasks, self._window)
        return open_once(self._window, AboutDialog, new)

    @Slot()
    def copy_diagnostics(self) -> None:
        self.open_about().copy_diagnostics()

    @Slot(object)
    def compare(self, endpoint: Endpoint) -> None:
        """Compare the endpoint's targets."""
        from app.ui.comparison.dialog import ComparisonDialog  # as above

        current = self._services.store.endpoints.by_id(endpoint.id)
        if current is None or compare_refusal(current) is not None:
            return

        def new() -> ComparisonDialog:
            dialog = ComparisonDialog(current, self._services, self._theme, self._tasks, self._window)
            self._qt_events.endpoints_changed.connect(dialog.follow_endpoint)
            self.closing.connect(dialog.reject)
            return dialog

        open_once(self._window, ComparisonDialog, new, str(current.id))
