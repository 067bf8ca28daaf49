"""Hookline's integration into the desktop: tray, badge, title and notifications of one window."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, QSettings, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from app.core.clock import now_us
from app.core.events import Captured, Subscriptions, TargetChanged
from app.core.launch_request import LaunchAction
from app.core.links import EndpointLink, RequestLink
from app.core.model import Endpoint, Summary
from app.core.record import Record
from app.core.target import PausedBy, Target
from app.core.tunnel.tunnel import DOWN, TunnelState
from app.core.worst_state import GOOD, State, worst
from app.ui.desktop.notifier import NotificationService, Notifier
from app.ui.desktop.text import TUNNEL_KEY, Notice, badge_text, notice_for, paused_notice, tooltip, window_title
from app.ui.desktop.tray import IS_MAC, Tray, TrayMenu, UnreadCount, tray_icon
from app.ui.endpoints.notification_settings import NotificationSettings, NotifyWhen
from app.ui.pause import Pause
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.state_look import LOOKS, state_of
from app.ui.tasks import Latest, Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import DialogOption, choose


class ListingPage(Protocol):
    """A page that lists the requests of one endpoint, or of all (None)."""

    @property
    def endpoint_id(self) -> int | None: ...
    def isVisible(self) -> bool: ...


class WindowFocus(QObject):
    """`activated` follows when one of Hookline's windows becomes active after another program's."""

    activated = Signal()

    def __init__(self, window: QWidget, page: ListingPage, parent: QObject) -> None:
        super().__init__(parent)
        self._window, self._page = window, page
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.applicationStateChanged.connect(self._changed)

    def in_front(self) -> bool:
        """Whether a window of Hookline is active, including dialogs."""
        active = QApplication.activeWindow()
        # A window that is hidden while it is being activated stays the active one.
        return active is not None and active.isVisible()

    def shows(self, endpoint_id: int) -> bool:
        """Whether the window is active and lists this endpoint's requests."""
        visible = self._page.isVisible() and not self._window.isMinimized()
        return self.in_front() and visible and self._page.endpoint_id in (None, endpoint_id)

    @Slot(Qt.ApplicationState)
    def _changed(self, state: Qt.ApplicationState) -> None:
        if state is Qt.ApplicationState.ApplicationActive:
            self.activated.emit()


class NotificationTiming(Record, frozen=True):
    """Milliseconds: how long the first request waits for the rest of its burst, then the shortest and longest pause
    between two notifications of an endpoint. The pause doubles as long as requests keep arriving.
    """

    gather_ms: int = 300
    quiet_ms: int = 5_000
    longest_ms: int = 300_000


class Notifications(QObject):
    """`notice_ready` carries each `Notice` to show.

    A target that failures have paused is notified while Hookline is in the background, whatever the settings are: its
    requests wait until the user resumes it. For new requests there is no notification while paused, for a request
    received before the start, or for one that the user sees in the list. Each notification continues the count of the
    previous one until the user returns to Hookline or dismisses it.
    """

    notice_ready = Signal(object)

    def __init__(
        self,
        services: Services,
        choices: NotificationSettings,
        window_focus: WindowFocus,
        pause: Pause,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._services, self._choices, self._window_focus, self._pause = services, choices, window_focus, pause
        self.timing = NotificationTiming()
        self._began = now_us()
        self._batches: dict[int, NotificationBatch] = {}
        self._paused = {
            target.id for one in services.store.endpoints.all() for target in one.targets if _paused_by_failures(target)
        }
        subscriptions = Subscriptions(services.bus)
        subscriptions.add(Captured, self._captured)
        subscriptions.add(TargetChanged, self._target_changed)
        self.stop = subscriptions.end
        pause.changed.connect(self.forget)
        window_focus.activated.connect(self.forget)

    @Slot()
    def forget(self) -> None:
        """The user has seen, or does not want to see, the requests counted so far."""
        for batch in self._batches.values():
            batch.clear()

    @Slot(object)
    def dismissed(self, notice: Notice) -> None:
        """The user dismissed this notification."""
        endpoint = self._services.store.endpoints.by_slug(notice.key)
        if endpoint is not None and endpoint.id in self._batches:
            self._batches[endpoint.id].clear()

    @Slot(object)
    def endpoint_deleted(self, endpoint: Endpoint) -> None:
        """The endpoint was deleted."""
        batch = self._batches.pop(endpoint.id, None)
        if batch is not None:
            batch.deleteLater()

    def _captured(self, event: Captured) -> None:
        if self._pause.on or not self._choices.any():
            return
        by_endpoint: dict[int, list[Summary]] = {}
        for summary in event.summaries:
            by_endpoint.setdefault(summary.endpoint_id, []).append(summary)
        for endpoint_id, summaries in by_endpoint.items():
            if self._should_notify(endpoint_id):
                self._add(endpoint_id, (one for one in summaries if one.received_at >= self._began))

    def _target_changed(self, event: TargetChanged) -> None:
        target = event.target
        if not _paused_by_failures(target):
            self._paused.discard(target.id)
        elif target.id not in self._paused:
            self._paused.add(target.id)
            endpoint = self._services.store.endpoints.by_id(target.endpoint_id)
            if endpoint is not None and not self._window_focus.in_front():
                self.notice_ready.emit(paused_notice(endpoint, target))

    def _add(self, endpoint_id: int, summaries: Iterable[Summary]) -> None:
        for summary in summaries:
            batch = self._batches.get(endpoint_id)
            if batch is None:
                batch = self._batches[endpoint_id] = NotificationBatch(endpoint_id, self.timing, self)
                batch.due.connect(self._notify)
            batch.add(summary)

    def _should_notify(self, endpoint_id: int) -> bool:
        endpoint = self._services.store.endpoints.by_id(endpoint_id)
        when = self._choices.of(endpoint.slug) if endpoint else NotifyWhen.OFF
        if when is NotifyWhen.IN_BACKGROUND:
            return not self._window_focus.in_front()
        return when is NotifyWhen.ON and not self._window_focus.shows(endpoint_id)

    @Slot(object)
    def _notify(self, batch: NotificationBatch) -> None:
        endpoint = self._services.store.endpoints.by_id(batch.endpoint_id)
        if endpoint is None or batch.newest is None or not self._should_notify(endpoint.id):
            batch.clear()
            return
        self.notice_ready.emit(notice_for(endpoint, batch.newest, batch.count, self._services.providers))


def _paused_by_failures(target: Target) -> bool:
    return target.paused is PausedBy.FAILURES


class NotificationBatch(QObject):
    """The requests of one endpoint that have not been notified yet. `due` carries the batch itself."""

    due = Signal(object)

    def __init__(self, endpoint_id: int, timing: NotificationTiming, parent: QObject) -> None:
        super().__init__(parent)
        self.endpoint_id = endpoint_id
        self._timing = timing
        self.newest: Summary | None = None
        self.count = 0
        self.wait_ms = timing.quiet_ms
        self._fresh = self._notified = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._over)

    def add(self, summary: Summary) -> None:
        self.newest, self._fresh = summary, True
        self.count += 1
        if not self._timer.isActive():
            self._timer.start(self._timing.gather_ms)

    def clear(self) -> None:
        """Restart the count. The next request is notified like the first one, after at most the shortest pause."""
        self.newest, self._fresh, self._notified = None, False, False
        self.count, self.wait_ms = 0, self._timing.quiet_ms
        if self._timer.remainingTime() > self.wait_ms:
            self._timer.start(self.wait_ms)

    @Slot()
    def _over(self) -> None:
        if not self._fresh:
            self._notified, self.wait_ms = False, self._timing.quiet_ms
            return
        self.wait_ms = min(self._timing.longest_ms, self.wait_ms * 2) if self._notified else self._timing.quiet_ms
        self._fresh, self._notified = False, True
        self._timer.start(self.wait_ms)
        self.due.emit(self)


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
        page: ListingPage,
        choices: NotificationSettings,
        tray: Tray,
        service: NotificationService | None = None,
    ) -> None:
        super().__init__(window)
        self._services, self._window, self._pause, self._tray = services, window, pause, tray
        self._theme, self._asking = theme, Latest(self, tasks, "ask what closing does", only_reads=False)
        self._memory = QSettings(_file(services.data_folder), QSettings.Format.IniFormat)
        self._session_stats = qt_events.session_stats
        self._shown_state: tuple[int, bool, TunnelState, tuple[Endpoint, str] | None] | None = None
        self._icon, self._icon_state = QIcon(), ("", False, False)
        self._has_tray, self._misses, self._awaiting_tray = False, 0, False
        self.choices = choices
        self.unread = UnreadCount(services.store.endpoints, services.store.captures, qt_events, self)
        self.menu = TrayMenu(self.unread, pause, window)
        self.window_focus = WindowFocus(window, page, self)
        self.notifier = Notifier(tray, tasks, service, self)
        self.notices = Notifications(services, choices, self.window_focus, pause, self)
        self._timer = QTimer(self)
        self._timer.setInterval(WATCH_MS)
        self._connect(qt_events)
        tray.open(self.menu, self._show_window, self.notifier.tray_clicked)
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
        told, keeps = bool(self._memory.value(_TOLD, False, type=bool)), self._services.settings().on_close == "tray"
        if not keeps and not told and not self._asking.running:
            self._asking.run(self._ask)
        elif keeps:
            self._window.hide()
            if not told:
                self._memory.setValue(_TOLD, True)
                self.notifier.show(STILL_RUNNING)
        return keeps or not told

    async def _ask(self) -> None:
        options = (QUIT, KEEP_CAPTURING)
        chosen = await choose("Keep capturing?", KEEP_CAPTURING_TEXT, options, self._theme, self._window)
        if chosen is not None:
            self._memory.setValue(_TOLD, True)
            await self._services.change_settings({"on_close": "tray" if chosen is KEEP_CAPTURING else "quit"})
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
            self._show_icon()
            self._hide_minimized()
            self._tray_changed()
        elif self._has_tray and self._misses >= MISSES:
            self._has_tray = False
            self._tray.hide()
            if not self._window.isVisible():
                self._window.show()
            self._tray_changed()

    @Slot()
    def refresh(self) -> None:
        """Show the count in badge, title and icon."""
        shown_state = (self.unread.total, self._pause.on, self._services.tunnels.tunnel.state, self._wrong())
        if shown_state != self._shown_state:
            self._shown_state = shown_state
            self._window.setWindowTitle(window_title(self.unread.total))
            set_badge(min(self.unread.total, BADGE_MAX))
            self._show_icon()

    @Slot()
    def _show_icon(self) -> None:
        if self._has_tray:
            unread, paused, wrong = self.unread.total, self._pause.on, self._wrong()
            tunnel = self._services.tunnels.tunnel.state
            sign = wrong is not None or tunnel in DOWN
            state = (badge_text(unread), paused, sign)
            if self._icon.isNull() or state != self._icon_state:
                self._icon, self._icon_state = tray_icon(unread, paused=paused, wrong=sign, mask=IS_MAC), state
            place, others = self._services.listening(), self._services.store.nodes.others
            nodes = others.capturing if self._services.is_elsewhere else None
            self._tray.show(self._icon, tooltip(unread, place, tunnel, paused=paused, nodes=nodes, wrong=wrong))

    def _wrong(self) -> tuple[Endpoint, str] | None:
        """The endpoint in the worst state, and its words; None while all are well, or wait."""
        found = {
            state_of(one, self._services, self._session_stats): one for one in self._services.store.endpoints.all()
        }
        state = worst(found)
        return None if state in (State.WAITING, *GOOD) else (found[state], LOOKS[state].words)

    def _hide_minimized(self) -> None:
        """At sign-in the tray may start after Hookline: a minimized window that was not used yet is hidden now."""
        if self._awaiting_tray and self._window.isMinimized():
            self._window.hide()
        self._awaiting_tray = False

    def _tray_changed(self) -> None:
        self._update_unavailable_reason()
        self.tray_changed.emit()

    def _connect(self, qt_events: QtEvents) -> None:
        self._timer.timeout.connect(self.check_tray)
        self.unread.changed.connect(self.refresh)
        self._pause.changed.connect(self.refresh)
        qt_events.settings_changed.connect(self._show_icon)
        qt_events.capture_urls_changed.connect(self._show_icon)
        qt_events.tunnel_changed.connect(self.refresh)
        qt_events.endpoint_removed.connect(self.choices.forget)
        qt_events.endpoint_removed.connect(self.notices.endpoint_deleted)
        self.menu.show_requested.connect(self._show_window)
        self.menu.endpoint_requested.connect(self._open_endpoint)
        self.menu.new_endpoint_requested.connect(self._new_endpoint)
        self.menu.quit_requested.connect(self.quit_requested)
        self.notices.notice_ready.connect(self.notifier.show)
        self.notifier.clicked.connect(self._open)
        self.notifier.dismissed.connect(self.notices.dismissed)
        self.notifier.availability_changed.connect(self._update_unavailable_reason)
        self.window_focus.activated.connect(self._window_activated)

    @Slot()
    def _update_unavailable_reason(self) -> None:
        self.choices.unavailable_reason = self.notifier.unavailable_reason()

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


def _file(folder: Path) -> str:
    return str(folder / "window.ini")
