"""Which endpoints notify, and the menu that sets it; which requests and paused targets are notified, when, and how: by
the system's service or as the tray's message. What senders wrote is shown plain, escaped and shortened.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.events import Captured, Subscriptions, TargetChanged
from app.core.model import Endpoint, Summary
from app.core.raw_request import below_slug
from app.core.record import Record
from app.core.target import PausedBy, Target
from app.core.target_text import paused_text
from app.core.text import count_of, sender_line, shortened
from app.ui.desktop.tray import NAME_MAX, Notice, SystemTray
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.throttle import Pause
from app.ui.window_file import WindowFile

if TYPE_CHECKING:
    from app.ui.desktop.freedesktop import Freedesktop

NONE_HERE = "Notifications are not available: this system has no tray."
NONE_ON_LINUX = "Notifications are not available: this desktop has neither a notification service nor a tray."
METHOD_MAX, PATH_MAX, SENDER_MAX, PAUSED_MAX = 20, 80, 60, 200
"""Maximum characters of a notification's parts: servers cut longer texts, each in its own way."""


def notice_for(endpoint: Endpoint, newest: Summary, count: int, providers: Mapping[str, str]) -> Notice:
    """`POST /orders · invoice.paid · Stripe`, `POST · JSON · id, total`; for several `37 new requests`."""
    name = shortened(escape(endpoint.name), NAME_MAX)
    if count > 1:
        return Notice(key=endpoint.slug, title=name, text=count_of(count, "new request"))
    path = shortened(escape(below_slug(newest.target[: 4 * PATH_MAX])), PATH_MAX)
    sender = sender_line(newest.provider, newest.event, providers) or escape(newest.gist)
    method = shortened(escape(newest.method), METHOD_MAX)
    line = method if path == "/" and sender else f"{method} {path}"
    text = f"{line} · {shortened(sender, SENDER_MAX)}" if sender and sender != path else line
    return Notice(key=endpoint.slug, title=name, text=text, capture_id=newest.id)


def paused_notice(endpoint: Endpoint, target: Target) -> Notice:
    """Failures have paused `target`."""
    text = shortened(paused_text([target], None), PAUSED_MAX)
    return Notice(key=endpoint.slug, title=shortened(escape(endpoint.name), NAME_MAX), text=text)


class WindowFocus(QObject):
    """`activated` follows when one of Hookline's windows becomes active after another program's. `lists` tells whether
    the page of `window` lists an endpoint's requests."""

    activated = Signal()

    def __init__(self, window: QWidget, lists: Callable[[int], bool], parent: QObject) -> None:
        super().__init__(parent)
        self._window, self._lists = window, lists
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
        visible = self._window.isVisible() and not self._window.isMinimized()
        return self.in_front() and visible and self._lists(endpoint_id)

    @Slot(Qt.ApplicationState)
    def _changed(self, state: Qt.ApplicationState) -> None:
        if state is Qt.ApplicationState.ApplicationActive:
            self.activated.emit()


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
    """By slug, in `window.ini` in the data folder. A new endpoint does not notify: one that gets a request every few
    seconds would be a nuisance from its first minute, and there is the unread count.

    `unavailable_reason` says why the system shows no notifications; None if it does, or if that is unknown.
    """

    changed = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._file = WindowFile(folder)
        self.unavailable_reason: Callable[[], str | None] = lambda: None

    def of(self, slug: str) -> NotifyWhen:
        text = self._file.text(f"notify/{slug}")
        return NotifyWhen(text) if text in set(NotifyWhen) else NotifyWhen.OFF

    def set(self, slug: str, when: NotifyWhen) -> None:
        """Store the setting; OFF is the default and is not stored."""
        if when is self.of(slug):
            return
        if when is NotifyWhen.OFF:
            self._file.remove(f"notify/{slug}")
        else:
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
        reason = self._choices.unavailable_reason()
        self._reason_entry.setText(reason or "")
        self._reason_entry.setVisible(reason is not None)

    @Slot(QAction)
    def _triggered(self, action: QAction) -> None:
        self._choices.set(self.slug, NotifyWhen(action.data()))


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
        if self._pause.on:
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
        self._timer = QTimer(self, singleShot=True)
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


class Notifier(QObject):
    """`clicked` and `dismissed` carry the notice; `availability_changed` follows each check of the service."""

    clicked = Signal(object)
    dismissed = Signal(object)
    availability_changed = Signal()

    def __init__(self, tray: SystemTray, tasks: Tasks, service: Freedesktop | None, parent: QObject) -> None:
        super().__init__(parent)
        self._tray, self._tasks, self._service = tray, tasks, service
        self._by_tray: Notice | None = None
        self._answers: bool | None = None if service else False
        tray.message_clicked.connect(self._tray_clicked)
        if service is not None:
            service.clicked.connect(self.clicked)
            service.dismissed.connect(self.dismissed)

    def unavailable_reason(self) -> str | None:
        """Why no notification would be shown; None if it would, or if that is not known yet."""
        if self._answers is not False or self._tray.can_show_message():
            return None
        return NONE_ON_LINUX if self._service else NONE_HERE

    @Slot(object)
    def show(self, notice: Notice) -> None:
        """Show the notice, replacing an earlier one with the same key if the system can do that."""
        self._tasks.start(self._show(notice), "show a notification")

    @Slot()
    def check(self) -> None:
        """Check whether notifications can be shown."""
        if self._service is None:
            self.availability_changed.emit()
        else:
            self._tasks.start(self._check(self._service), "look for a notification service")

    @Slot()
    def _tray_clicked(self) -> None:
        """The tray's message was clicked: it is always the last one."""
        if self._by_tray is not None:
            self.clicked.emit(self._by_tray)

    async def _check(self, service: Freedesktop) -> None:
        self._answers = await service.check()
        self.availability_changed.emit()

    async def _show(self, notice: Notice) -> None:
        if self._service is not None:
            self._answers = await self._service.show(notice)
        if not self._answers and self._tray.can_show_message():
            self._by_tray = notice
            self._tray.show_message(notice.title, notice.text)


def system_service(parent: QObject) -> Freedesktop | None:
    """The desktop's notification service, on Linux with a display. Elsewhere the tray's messages are."""
    if not sys.platform.startswith("linux") or QGuiApplication.platformName() not in ("xcb", "wayland"):
        return None
    # Qt's D-Bus module is not part of the packages for other systems.
    from PySide6.QtDBus import QDBusConnection

    from app.ui.desktop.freedesktop import Freedesktop  # as above

    return Freedesktop(QDBusConnection.sessionBus(), parent)
