"""What the window holds of the tunnel beside its page: the commands, the copied capture URLs that no longer work, and
what is said when it fails, restarts or has a new URL."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.errors import InvalidFieldsError, NotFoundError
from app.core.model import Endpoint
from app.core.team import NOT_CAPTURING
from app.core.text import ago, count_of, shortened
from app.core.tunnel import CONNECTED, OutdatedUrl, Tunnel, TunnelState, url_mark
from app.ui.commands.command import Commands
from app.ui.desktop.tray import TUNNEL_KEY, Notice
from app.ui.messages import Message, MessageAction, MessageTone
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.throttle import WhileShown
from app.ui.tunnel.words import RUNNING, host_of, probed_text, shown
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.fit_screen import Scrolling
from app.ui.widgets.labels import ElidedLabel, IconLabel, restyle
from app.ui.widgets.layout import hbox, vbox

KEY = "tunnel"
TEXT_MAX = 200
NAMES_MAX = 3
_FAILED, _RESTARTS = "The tunnel failed.", "The tunnel ended by itself and is being restarted."
_UNREACHABLE = "The tunnel is unreachable."
ROW = 40
ROWS_MAX = 4
"""More of them scroll."""
BAR_ROWS = 3
ADVICE = "Give each provider the new URL. Until then its requests do not arrive."
LATER_ADVICE = "Once the tunnel has a URL, give each provider the new URL. Until then its requests do not arrive."
NOT_UP = "The tunnel has no URL."


class TunnelActions(Commands):
    """`changed` follows when `checking` changed. `page_requested`: the user has to choose or complete
    something on the page. `refused` carries a program's ID and the error that kept it from being saved or started.
    """

    changed = Signal()
    page_requested = Signal()
    saved = Signal(str)
    refused = Signal(str, object)

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QObject) -> None:
        super().__init__(theme, None, parent)
        self._services, self._tunnels, self._tasks = services, services.tunnels, tasks
        self._task: asyncio.Task[Any] | None = None
        """Saves or starts a program."""
        self.checking = False
        self.start_command = self.command("Start tunnel", "play", self.start, self._is_running)
        self.stop_command = self.command("Stop tunnel", "stop", self.stop, self._is_off)
        self.check_command = self.command("Check tunnel", "retry", self.check, self._cannot_check)
        self.refresh()

    def program_id(self) -> str | None:
        """The program that `start` starts."""
        return self._services.settings().tunnel_program or self._tunnels.tunnel.program

    @Slot()
    def start(self) -> None:
        """Start the program of the settings, or the last one; without one request the page."""
        program_id = self.program_id()
        if program_id is None:
            self.page_requested.emit()
        else:
            self.start_program(program_id)

    def start_program(self, program_id: str, values: Mapping[str, str] | None = None) -> None:
        """Save `values`, the program's options, and start it; it is then the program of the settings."""
        self._begin(self._start(program_id, values), "start the tunnel")

    def save(self, program_id: str, values: Mapping[str, str]) -> None:
        """Save the options of a program."""
        self._begin(self._save(program_id, values), "save options of the tunnel")

    @Slot()
    def stop(self) -> None:
        """Stop it, or end its start."""
        self._tasks.start(self._tunnels.stop(), "stop the tunnel")

    @Slot()
    def check(self) -> None:
        """Send a request through it, and say what came of it."""
        if not self.checking:
            self.checking = True
            self.changed.emit()
            self._tasks.start(self._check(), "check the tunnel")

    @Slot(bool)
    def set_autostart(self, on: bool) -> None:
        """Whether the program that `start` starts is started with Hookline."""
        changes = {"tunnel_autostart": on, "tunnel_program": self.program_id()}
        self._tasks.start(self._services.change_settings(changes), "save the autostart")

    def copy_url(self, endpoint: Endpoint) -> None:
        """Copy the capture URL that an endpoint has now."""
        QGuiApplication.clipboard().setText(self._services.capture_url(endpoint))
        self._tasks.start(self._tunnels.copied(endpoint.id), "note a copied URL")
        mark = url_mark(self._tunnels.url_state)
        advice = f"It may not work now ({mark})." if mark else "Give it to the provider, then press Done."
        self.announced.emit(f"Copied the new URL of “{endpoint.name}”. {advice}")

    def mark_updated(self, endpoint_id: int) -> None:
        """The provider has the new URL."""
        self._tasks.start(self._tunnels.updated(endpoint_id), "note an updated URL")

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        if self._task is None or self._task.done():
            self._task = self._tasks.start(work, name)
        else:
            work.close()

    async def _start(self, program_id: str, values: Mapping[str, str] | None) -> None:
        try:
            if values is not None:
                await self._tunnels.configure(program_id, values)
                self.saved.emit(program_id)
            await self._tunnels.start(program_id)
            if self._services.settings().tunnel_program != program_id:
                await self._services.change_settings({"tunnel_program": program_id})
        except (InvalidFieldsError, NotFoundError) as error:
            self.page_requested.emit()
            self.refused.emit(program_id, error)

    async def _save(self, program_id: str, values: Mapping[str, str]) -> None:
        try:
            await self._tunnels.configure(program_id, values)
            self.saved.emit(program_id)
        except InvalidFieldsError as error:
            self.refused.emit(program_id, error)

    async def _check(self) -> None:
        try:
            self.announced.emit(probed_text(await self._tunnels.probe()))
        finally:
            self.checking = False
            self.changed.emit()

    def _is_running(self) -> str | None:
        if self._services.is_elsewhere:
            return f"{NOT_CAPTURING}, so a tunnel would lead nowhere."
        state = self._tunnels.tunnel.state
        if state is TunnelState.STOPPING:
            return "The tunnel is being stopped."
        return "The tunnel is already running." if state in RUNNING else None

    def _is_off(self) -> str | None:
        return None if self._tunnels.tunnel.state in RUNNING else "The tunnel is not running."

    def _cannot_check(self) -> str | None:
        return None if self._tunnels.tunnel.state in CONNECTED else NOT_UP


def title_text(count: int, *, up: bool) -> str:
    """`The tunnel’s URL changed: 2 URLs that you copied no longer work`; without a tunnel there is no new URL yet."""
    which = "a URL that you copied no longer works" if count == 1 else f"{count} URLs that you copied no longer work"
    return f"{'The tunnel’s URL changed' if up else 'The tunnel has no URL'}: {which}"


class OutdatedRow(QWidget):
    """One endpoint."""

    def __init__(
        self, endpoint: Endpoint, url: OutdatedUrl, actions: TunnelActions, theme: Theme, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._url = url
        self.setFixedHeight(ROW)
        name = escape(endpoint.name)
        self.name = ElidedLabel(name, "strong", self)
        self.facts = ElidedLabel("", "small", self)
        self.copy = Button("Copy new URL", theme, self, icon="copy", name=f"Copy new URL of {name}", compact=True)
        done = f"Done: the provider has the new URL of {name}"
        self.done = Button("Done", theme, self, icon="check", name=done, compact=True)
        hbox(self.name, (self.facts, 1), self.copy, self.done, inside=self, spacing=metrics.SPACE_2)
        self.name.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.copy.clicked.connect(partial(actions.copy_url, endpoint))
        self.done.clicked.connect(partial(actions.mark_updated, endpoint.id))
        self.show_age(now_us())

    def show_age(self, now_us: int) -> None:
        text = f"copied {ago(self._url.copied_at, now_us)} as {escape(self._url.url)}"
        if text != self.facts.text():
            self.facts.setText(text)


class _OutdatedBox(QFrame):
    """The outdated URLs as the bar and the card have them: at most `most` rows, None for all. `count` is the number of
    all. Hidden while there are none.
    """

    def __init__(
        self, services: Services, actions: TunnelActions, theme: Theme, parent: QWidget, *, most: int | None = None
    ) -> None:
        super().__init__(parent)
        self._services, self._actions, self._theme, self._most = services, actions, theme, most
        self._shown: tuple[object, ...] | None = None
        self.count = 0
        self.rows: list[OutdatedRow] = []
        self._icon = IconLabel(18, theme, self, "warning", "warning")
        self.title = ElidedLabel("", "strong", self)
        self.advice = ElidedLabel("", "muted", self)
        self._list = QWidget(self)
        self._column = vbox(inside=self._list, spacing=0)
        WhileShown(self, self._show_ages)
        self.hide()

    def show_tunnel(self, tunnel: Tunnel) -> None:
        """Show the outdated URLs of endpoints that still exist."""
        known = [(one, self._services.store.endpoints.by_id(one.endpoint_id)) for one in tunnel.outdated]
        there = [(url, endpoint) for url, endpoint in known if endpoint is not None]
        up = tunnel.state in CONNECTED
        shown = (up, *((url, endpoint.name) for url, endpoint in there))
        if shown == self._shown:
            return
        self._shown, self.count = shown, len(there)
        self._rebuild(there[: self._most], up=up)
        self.title.setText(title_text(self.count, up=up))
        self.advice.setText(ADVICE if up else LATER_ADVICE)
        self.setAccessibleName(f"{self.title.text()}. {self.advice.text()}")
        self._fit(tunnel)

    @Slot()
    def _show_ages(self) -> None:
        now = now_us()
        for row in self.rows:
            row.show_age(now)

    def _rebuild(self, there: Sequence[tuple[OutdatedUrl, Endpoint]], *, up: bool) -> None:
        focus = self.window().focusWidget()
        focused = next((place for place, row in enumerate(self.rows) if row.isAncestorOf(focus)), None)
        for row in self.rows:
            row.hide()
            row.deleteLater()
        self.rows = []
        for url, endpoint in there:
            row = OutdatedRow(endpoint, url, self._actions, self._theme, self._list)
            row.copy.set_refusal(None if up else NOT_UP)
            self._column.addWidget(row)
            self.rows.append(row)
        if focused is not None and self.rows:
            self.rows[min(focused, len(self.rows) - 1)].done.setFocus()
        self._list.updateGeometry()

    def _fit(self, tunnel: Tunnel) -> None:
        """The rows have changed."""
        raise NotImplementedError


class OutdatedCard(_OutdatedBox):
    """All of them, on the tunnel's page."""

    def __init__(self, services: Services, actions: TunnelActions, theme: Theme, parent: QWidget) -> None:
        super().__init__(services, actions, theme, parent)
        self.setProperty("part", "card")
        self._area = Scrolling(self._list, QSize(0, ROW), self)
        top = hbox(self._icon, (self.title, 1), spacing=metrics.SPACE_2)
        vbox(top, self.advice, self._area, inside=self, spacing=metrics.SPACE_2, margins=metrics.SPACE_4)

    def _fit(self, tunnel: Tunnel) -> None:
        self._area.setFixedHeight(ROW * min(ROWS_MAX, max(1, len(self.rows))))
        self.setVisible(bool(self.count))


class OutdatedBar(_OutdatedBox):
    """The first of them, above every other page, until dismissed; more of them bring it back."""

    page_requested = Signal()

    def __init__(self, services: Services, actions: TunnelActions, theme: Theme, parent: QWidget) -> None:
        super().__init__(services, actions, theme, parent, most=BAR_ROWS)
        self._dismissed: frozenset[OutdatedUrl] = frozenset()
        self._outdated: frozenset[OutdatedUrl] = frozenset()
        self.beside_page = False
        self.setProperty("part", "bar")
        self.setProperty("tone", "warning")
        self.more = Button("", theme, self, kind="link")
        self.more.align_left()
        self.dismiss = IconButton("close", "Dismiss", theme, self, run=self._dismiss)
        words = vbox(self.title, self.advice, spacing=2)
        top = hbox(self._icon, (words, 1), (self.dismiss, 0, Qt.AlignmentFlag.AlignTop), spacing=metrics.SPACE_3)
        below = vbox(
            self._list,
            (self.more, 0, Qt.AlignmentFlag.AlignLeft),
            spacing=0,
            margins=(18 + metrics.SPACE_3, 0, 28 + metrics.SPACE_3, 0),
        )
        vbox(
            top,
            below,
            inside=self,
            spacing=metrics.SPACE_1,
            margins=(metrics.SPACE_5, metrics.SPACE_2, metrics.SPACE_4, metrics.SPACE_2),
        )
        self.more.clicked.connect(self.page_requested)

    def set_beside_page(self, beside: bool) -> None:
        """Whether the tunnel's page, which has all of them, is shown."""
        self.beside_page = beside
        self._follow()

    def _fit(self, tunnel: Tunnel) -> None:
        self._outdated = frozenset(tunnel.outdated)
        more = self.count - len(self.rows)
        self.more.setText(f"Show {count_of(more, 'other')}")
        self.more.setVisible(more > 0)
        self._follow()

    @Slot()
    def _dismiss(self) -> None:
        self._dismissed = self._outdated
        self._follow()

    def _follow(self) -> None:
        new = self._outdated - self._dismissed
        self.setVisible(bool(self.count and new) and not self.beside_page)
        restyle(self)


class TunnelArea(QObject):
    """`page_requested` asks the window to show the tunnel's page, beside which there is neither bar nor message: it
    says the same. `notice_ready` carries a `Notice` for the desktop.
    """

    page_requested = Signal()
    notice_ready = Signal(object)

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, qt_events: QtEvents, window: QWidget) -> None:
        super().__init__(window)
        self._services, self._messages, self._window = services, tasks.messages, window
        self._last_url: str | None = services.tunnels.tunnel.url
        self._interrupted = False
        """It ended by itself since it was last up."""
        self._before = Tunnel()
        self.actions = TunnelActions(services, theme, tasks, self)
        self.bar = OutdatedBar(services, self.actions, theme, window)
        for part in (self.actions, self.bar):
            part.page_requested.connect(self.page_requested)
        qt_events.tunnel_changed.connect(self._follow)
        qt_events.endpoints_changed.connect(self._follow)
        self._follow()

    def set_beside_page(self, beside: bool) -> None:
        """Whether the window shows the tunnel's page."""
        self.bar.set_beside_page(beside)
        if beside:
            self._messages.withdraw(KEY)

    @Slot()
    def _follow(self) -> None:
        tunnel = self._services.tunnels.tunnel
        self.actions.refresh()
        self.bar.show_tunnel(tunnel)
        before, self._before = self._before, tunnel
        news = _said_of(tunnel) != _said_of(before)
        if tunnel.state in CONNECTED:
            moved = self._last_url is not None and tunnel.url != self._last_url
            self._last_url = tunnel.url
            if news or moved:
                self._connected(tunnel, moved=moved, renamed=moved and before.state in CONNECTED)
            if tunnel.url != before.url and tunnel.outdated:
                self._tell_outdated(tunnel)
        elif news:
            self._down(tunnel)

    def _connected(self, tunnel: Tunnel, *, moved: bool, renamed: bool) -> None:
        """It has a URL, another one than before (`moved`), which it got while it had that (`renamed`)."""
        host = host_of(tunnel.url or "")
        interrupted, self._interrupted = self._interrupted, False
        if _is_alarm(tunnel):
            self._post(_UNREACHABLE, tunnel.problem, "warning")
            self._notify(_UNREACHABLE.rstrip("."), tunnel.problem or _UNREACHABLE)
        elif tunnel.outdated:
            self._messages.withdraw(KEY)  # the bar with the outdated URLs says it
        elif interrupted and not moved:
            self._post("The tunnel was restarted. Its URL is unchanged.", host, "info")
        elif interrupted or renamed:
            self._post("The tunnel has a new URL.", host, "info")
        else:
            self._messages.withdraw(KEY)

    def _down(self, tunnel: Tunnel) -> None:
        self._interrupted = tunnel.state is TunnelState.RESTARTING or (
            self._interrupted and tunnel.state is TunnelState.STARTING
        )
        if tunnel.state is TunnelState.FAILED:
            again = MessageAction("Start again", self.actions.start)
            self._post(_FAILED, tunnel.problem, "danger", again)
            self._notify("The tunnel failed", tunnel.problem or "Providers no longer reach your endpoints.")
        elif tunnel.state is TunnelState.RESTARTING:
            self._post(_RESTARTS, tunnel.problem, "warning")
            self._notify("The tunnel is being restarted", tunnel.problem or _RESTARTS)
        elif tunnel.state is not TunnelState.STARTING:
            self._messages.withdraw(KEY)

    def _tell_outdated(self, tunnel: Tunnel) -> None:
        """Name the endpoints whose URL was copied before the change."""
        known = (self._services.store.endpoints.by_id(one.endpoint_id) for one in tunnel.outdated)
        names = [f"“{escape(endpoint.name)}”" for endpoint in known if endpoint is not None]
        if names:
            more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
            self._notify(
                "The tunnel’s URL changed", f"Update it at the provider of {', '.join(names[:NAMES_MAX])}{more}."
            )

    def _post(self, text: str, advice: str | None, tone: MessageTone, *actions: MessageAction) -> None:
        if self.bar.beside_page and self._window.isVisible():
            self._messages.withdraw(KEY)
            return
        show = MessageAction("Show tunnel", self.page_requested.emit)
        message = Message(text=text, advice=shown(advice or ""), tone=tone, actions=(*actions, show), key=KEY)
        self._messages.post(message)

    def _notify(self, title: str, text: str) -> None:
        self.notice_ready.emit(Notice(key=TUNNEL_KEY, title=title, text=shortened(shown(text), TEXT_MAX)))


def _is_alarm(tunnel: Tunnel) -> bool:
    """Whether more than one probe in a row did not arrive."""
    return tunnel.state is TunnelState.UNREACHABLE and tunnel.problem is not None


def _said_of(tunnel: Tunnel) -> str:
    """What is news if it is another than before; one failed probe is none."""
    if tunnel.state in CONNECTED:
        return "alarm" if _is_alarm(tunnel) else "connected"
    return tunnel.state
