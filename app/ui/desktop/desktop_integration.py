"""Hookline's integration into the desktop: tray, badge, title and notifications of one window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QMainWindow

from app.core.errors import HooklineError
from app.core.links import EndpointLink, LaunchAction, RequestLink
from app.core.model import Endpoint
from app.core.tunnel import DOWN
from app.core.worst_state import GOOD, State, worst
from app.ui.desktop.notifications import Notifications, NotificationSettings, Notifier, WindowFocus
from app.ui.desktop.tray import (
    IS_MAC,
    TUNNEL_KEY,
    Notice,
    SystemTray,
    TrayMenu,
    badge_text,
    tooltip,
    tray_icon,
    unread_requests,
    window_title,
)
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.state_look import LOOKS, state_of
from app.ui.tasks import Latest, Tasks
from app.ui.theme.theme import Theme
from app.ui.throttle import Pause
from app.ui.widgets.dialog import DialogOption, choose
from app.ui.window_file import WindowFile

if TYPE_CHECKING:
    from app.ui.desktop.freedesktop import Freedesktop

WATCH_MS = 3_000
MISSES = 2
"""The window is shown again after this many checks without a tray in a row: desktops restart their tray within a
moment.
"""
BADGE_MAX = 99_999
_TOLD = "tray/told"
"""Whether the user knows what closing the window does; kept in `window.ini`."""
NO_TRAY = "There is no system tray, so closing the window quits Hookline."
STILL_RUNNING = Notice(
    key="closed to the tray",
    title="Hookline keeps running",
    text="It keeps capturing in the tray. Use the tray menu to quit.",
)
KEEP_CAPTURING, QUIT = DialogOption("Keep capturing", "primary"), DialogOption("Quit")
KEEP_CAPTURING_TEXT = (
    "Hookline can keep capturing in the tray while its window is closed. You can change this in the settings."
)
SAMPLE = Notice(key="trial", title="Hookline", text="This is what a notification looks like.")


class Desktop(QObject):
    """`launch_requested` carries what a click in tray or notification requests: a `LaunchAction` or a link.

    Without a tray, only the count in the title is shown. Nothing is available in the tray alone.
    """

    launch_requested = Signal(object)
    quit_requested = Signal()
    tunnel_requested = Signal()
    """A notification about the tunnel was clicked."""
    tray_changed = Signal()

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        window: QMainWindow,
        *,
        qt_events: QtEvents,
        pause: Pause,
        lists: Callable[[int], bool],
        choices: NotificationSettings,
        tray: SystemTray,
        service: Freedesktop | None = None,
    ) -> None:
        super().__init__(window)
        self._services, self._window, self._pause, self._tray = services, window, pause, tray
        self._theme, self._asking = theme, Latest(self, tasks, "ask what closing does", only_reads=False)
        self._memory = WindowFile(services.data_folder)
        self._session_stats = qt_events.session_stats
        self._badge, self._icon = 0, QIcon()
        self._shown: tuple[tuple[str, bool, bool], str] | None = None
        """What the tray's icon and tooltip say."""
        self._has_tray, self._misses, self._awaiting_tray = False, 0, False
        self.choices = choices
        self.menu = TrayMenu(services.store, pause, window)
        self.window_focus = WindowFocus(window, lists, self)
        self.notifier = Notifier(tray, tasks, service, self)
        choices.unavailable_reason = self.notifier.unavailable_reason
        self.notices = Notifications(services, choices, self.window_focus, pause, self)
        self._timer = QTimer(self, interval=WATCH_MS)
        self._connect(qt_events)
        tray.menu = self.menu
        self.check_tray()
        self._timer.start()
        self.notifier.check()
        self.refresh()

    def tray_unavailable(self) -> str | None:
        """Why closing cannot keep Hookline in the tray; None if it can."""
        return None if self._has_tray else NO_TRAY

    def start_minimized(self) -> None:
        """Show the window minimized, or not at all if closing it would keep Hookline in the tray."""
        wants_tray = self._services.settings().on_close == "tray"
        if not (wants_tray and self._has_tray):
            self._window.showMinimized()
            self._awaiting_tray = wants_tray

    def close_to_tray(self) -> bool:
        """The window is being closed: hide it if Hookline keeps running in the tray. The first time, say so, or ask
        whether it should. Returns whether the window is not closed now.
        """
        self.check_tray()
        if not self._has_tray or self._misses:
            return False
        knows = self._memory.flag(_TOLD, False)
        if self._services.settings().on_close == "tray":
            self._window.hide()
            if not knows:
                self._memory.setValue(_TOLD, True)
                self.notifier.show(STILL_RUNNING)
            return True
        if not knows and not self._asking.running:
            self._asking.run(self._ask)
        return not knows

    async def _ask(self) -> None:
        options = (QUIT, KEEP_CAPTURING)
        chosen = await choose("Keep capturing?", KEEP_CAPTURING_TEXT, options, self._theme, self._window)
        if chosen is not None:
            try:
                await self._services.change_settings({"on_close": "tray" if chosen is KEEP_CAPTURING else "quit"})
            except HooklineError:
                if chosen is KEEP_CAPTURING:
                    raise  # the window stays, and says so
            self._memory.setValue(_TOLD, True)
            self._window.close()

    def stop(self) -> None:
        """Remove tray icon, badge and notifications."""
        self._timer.stop()
        self._has_tray = False
        self.notices.stop()
        self._tray.hide()
        set_badge(0)

    @Slot()
    def show_sample(self) -> None:
        """Show a notification whatever the settings are."""
        self.notifier.show(SAMPLE)

    @Slot(object)
    def show_in_background(self, notice: Notice) -> None:
        """Show a notification unless one of Hookline's windows is active, which says the same."""
        if not self.window_focus.in_front():
            self.notifier.show(notice)

    @Slot()
    def check_tray(self) -> None:
        """React to a tray that appeared or disappeared. The check is cheap: Qt watches for the tray."""
        there = self._tray.available()
        self._misses = 0 if there else self._misses + 1
        if there and not self._has_tray:
            self._has_tray = True
            self.refresh()
            # At sign-in the tray may start after Hookline: a minimized window that was not used yet is hidden now.
            if self._awaiting_tray and self._window.isMinimized():
                self._window.hide()
            self._awaiting_tray = False
            self.tray_changed.emit()
        elif self._has_tray and self._misses >= MISSES:
            self._has_tray, self._shown = False, None
            self._tray.hide()
            if not self._window.isVisible():
                self._window.show()
            self.tray_changed.emit()

    @Slot()
    def refresh(self) -> None:
        """Show the count in badge, title, icon and menu."""
        unread = sum(count for _, count in unread_requests(self._services.store))
        self._window.setWindowTitle(window_title(unread))
        if self._badge != min(unread, BADGE_MAX):
            self._badge = min(unread, BADGE_MAX)
            set_badge(self._badge)
        self.menu.refresh()
        if self._has_tray:
            paused, wrong, tunnel = self._pause.on, self._wrong(), self._services.tunnels.tunnel.state
            sign = wrong is not None or tunnel in DOWN
            state = (badge_text(unread), paused, sign)
            if self._shown is None or self._shown[0] != state:
                self._icon = tray_icon(unread, paused=paused, wrong=sign, mask=IS_MAC)
            place, others = self._services.listening(), self._services.store.nodes.others
            nodes = others.capturing if self._services.is_elsewhere else None
            text = tooltip(unread, place, tunnel, paused=paused, nodes=nodes, wrong=wrong)
            if self._shown != (state, text):
                self._shown = (state, text)
                self._tray.show(self._icon, text)

    def _wrong(self) -> tuple[Endpoint, str] | None:
        """The endpoint in the worst state, and its words; None while all are well, or wait."""
        found = {
            state_of(one, self._services, self._session_stats): one for one in self._services.store.endpoints.all()
        }
        state = worst(found)
        return None if state in (State.WAITING, *GOOD) else (found[state], LOOKS[state].words)

    def _connect(self, qt_events: QtEvents) -> None:
        self._timer.timeout.connect(self.check_tray)
        self._tray.clicked.connect(self._show_window)
        for changed in (
            qt_events.counts_changed,
            qt_events.endpoints_changed,
            qt_events.capture_urls_changed,
            qt_events.tunnel_changed,
            self._pause.changed,
        ):
            changed.connect(self.refresh)
        qt_events.endpoint_removed.connect(self.choices.forget)
        qt_events.endpoint_removed.connect(self.notices.endpoint_deleted)
        self.menu.show_window.triggered.connect(self._show_window)
        self.menu.endpoint_requested.connect(self._open_endpoint)
        self.menu.new_endpoint.triggered.connect(self._new_endpoint)
        self.menu.quit.triggered.connect(self.quit_requested)
        self.notices.notice_ready.connect(self.notifier.show)
        self.notifier.clicked.connect(self._open)
        self.notifier.dismissed.connect(self.notices.dismissed)
        self.window_focus.activated.connect(self._window_activated)

    @Slot()
    def _window_activated(self) -> None:
        self._awaiting_tray = False

    @Slot()
    def _show_window(self) -> None:
        self.launch_requested.emit(LaunchAction.SHOW)

    @Slot()
    def _new_endpoint(self) -> None:
        self.launch_requested.emit(LaunchAction.NEW_ENDPOINT)

    @Slot(str)
    def _open_endpoint(self, slug: str) -> None:
        self.launch_requested.emit(EndpointLink(slug=slug))

    @Slot(object)
    def _open(self, notice: Notice) -> None:
        if notice.capture_id is not None:
            self.launch_requested.emit(RequestLink(id=notice.capture_id))
        elif notice in (STILL_RUNNING, SAMPLE):
            self._show_window()
        elif notice.key == TUNNEL_KEY:
            self._show_window()
            self.tunnel_requested.emit()
        else:
            self._open_endpoint(notice.key)


def set_badge(number: int) -> None:
    """Show the number at the program's icon: in the Dock on macOS, in the taskbar on Windows, and on Linux in docks
    that support Unity's launcher protocol (those of Ubuntu and KDE). 0 removes it.
    """
    app = QGuiApplication.instance()
    if isinstance(app, QGuiApplication):
        app.setBadgeNumber(number)
