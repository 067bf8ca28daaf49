"""One request in its own window: it keeps showing the request, whatever is selected in the list."""

from __future__ import annotations

from PySide6.QtCore import QObject, QSize, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.core.events import EndpointSaved, Subscriptions
from app.core.model import Summary
from app.core.text import name_of
from app.ui.commands.body_text_commands import BodyTextCommands
from app.ui.commands.command import Command
from app.ui.deleting import DeleteChanged
from app.ui.inspector.request_pane import NOT_STORED, RequestPane
from app.ui.requests.request_actions import RequestActions, RequestCommands
from app.ui.requests.select_all import BatchJob, SelectedRequests, selected_requests
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.fit_screen import StoredGeometry
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.layout import vbox
from app.ui.widgets.notices import Toast
from app.ui.window_file import WindowFile

SIZE, MINIMUM = (720, 640), (420, 320)
CASCADE = 32
"""The offset in pixels from the window opened before."""
TITLE_MAX = 80


class OwnWindow(QWidget):
    """A window with the detail pane of one request, and its keys. `closed` is emitted as it closes."""

    closed = Signal(str)

    def __init__(self, summary: Summary, services: Services, theme: Theme, tasks: Tasks) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("part", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumSize(*MINIMUM)
        self._summary, self._services = summary, services
        self.geometry_stored = StoredGeometry(WindowFile(services.data_folder), "request")
        self._show_title()
        self.detail = RequestPane(services, theme, tasks, self)
        self.detail.placeholder.say("Opening…", "")
        self._subscriptions = Subscriptions(services.bus)
        vbox(self.detail, inside=self, margins=0)
        self._actions = RequestActions(services, theme, tasks, self, Toast(theme, self), batch=BatchJob(self))
        self._actions.show_deliveries = self.detail.show_deliveries
        self.commands = RequestCommands(self._opened, self._actions, tasks, theme, self)
        self.detail.changed.connect(self.commands.refresh)
        offered = [command for command in self.commands.with_keys() if command is not self.commands.own_window]
        self.commands.show_in(self.detail.header, offered)
        find = Command("Find in body", theme, self, run=self.detail.open_find, keys=("Ctrl+F",))
        close = Command("Close", theme, self, run=self.close, keys=("Ctrl+W",))
        for command in (*offered, find, close):
            # Nothing has the focus until the user clicks into the window, but its keys must work.
            command.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            command.add_to(self)
        BodyTextCommands(theme, self._actions.say, self).add_to(self)
        order_tabs(self)
        self.detail.body.loader.begun.connect(self._focus_body)
        self._subscriptions.add(DeleteChanged, self._delete_changed)
        self._subscriptions.add(EndpointSaved, lambda _: self._show_title())
        self.detail.show_request(summary.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc closes the window, unless a widget inside uses the key."""
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Move the window onto the screen, unless it is only restored after being minimized."""
        if not event.spontaneous():
            self.geometry_stored.fit(self)
        super().showEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop loading, and unsubscribe from the bus."""
        self._subscriptions.end()
        self.detail.stop()
        self.closed.emit(self._summary.id)
        super().closeEvent(event)

    def _show_title(self) -> None:
        endpoint = self._services.store.endpoints.by_id(self._summary.endpoint_id)
        of = f" · {escape(endpoint.name)}" if endpoint else ""
        self.setWindowTitle(f"{name_of(self._summary)[:TITLE_MAX]}{of}")

    @Slot()
    def _focus_body(self) -> None:
        """The body gets the focus at first; later the focus stays where it is."""
        self.detail.body.loader.begun.disconnect(self._focus_body)
        self.detail.take_focus()

    def _opened(self) -> SelectedRequests:
        current = self.detail.summary
        return selected_requests((current,) if current is not None else (), self.detail.deleted)

    def _delete_changed(self, event: DeleteChanged) -> None:
        """The user deletes the request shown here, or undoes that."""
        if event.hides is not None and event.hides(self._summary.endpoint_id, self._summary.id):
            self.detail.clear()
            self.detail.placeholder.say(NOT_STORED, "You deleted it.")
        elif event.state == "undone":
            self.detail.show_request(self._summary.id, mark_read=False)  # It may have been marked unread.


class OwnWindows(QObject):
    """Opens at most one window per request, at the last window's position; call `close_all` before the program ends."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._theme, self._tasks = services, theme, tasks
        self.open_now: dict[str, OwnWindow] = {}

    @Slot(object)
    def open(self, summary: Summary) -> None:
        """Show a request in its own window; if it has one, that comes to the front."""
        window = self.open_now.get(summary.id)
        if window is None:
            window = OwnWindow(summary, self._services, self._theme, self._tasks)
            self._place(window)
            self.open_now[summary.id] = window
            window.closed.connect(self._forget)
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.show()
        window.raise_()
        window.activateWindow()

    def close_all(self) -> None:
        for window in tuple(self.open_now.values()):
            window.close()

    def _place(self, window: OwnWindow) -> None:
        last = next(reversed(self.open_now.values()), None)
        if last is not None:
            window.resize(last.size())
            window.move(last.x() + CASCADE, last.y() + CASCADE)
        else:
            window.geometry_stored.restore(window, QSize(*SIZE))

    @Slot(str)
    def _forget(self, capture_id: str) -> None:
        window = self.open_now.pop(capture_id, None)
        if window is not None:
            window.geometry_stored.save(window)
