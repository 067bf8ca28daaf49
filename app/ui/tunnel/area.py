"""Everything of the tunnel that the window holds: the page, the commands, the notices and the bar above the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.bodies.escape import escape
from app.core.text import shortened
from app.core.tunnel.tunnel import CONNECTED, Tunnel, TunnelState
from app.ui.desktop.text import TUNNEL_KEY, Notice
from app.ui.messages import Message, MessageAction, MessageTone
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.tunnel.actions import TunnelActions
from app.ui.tunnel.outdated import OutdatedBar
from app.ui.tunnel.words import host_of, shown

if TYPE_CHECKING:
    from app.ui.tunnel.page import TunnelPage

KEY = "tunnel"
TEXT_MAX = 200
NAMES_MAX = 3
_FAILED, _RESTARTS = "The tunnel failed.", "The tunnel ended by itself and is being restarted."
_UNREACHABLE = "The tunnel is unreachable."


class TunnelArea(QObject):
    """`page_requested` asks the window to show `page` among `pages`; meanwhile there is neither bar nor message, since
    the page says the same. `notice_ready` carries a `Notice` for the desktop.
    """

    page_requested = Signal()
    notice_ready = Signal(object)

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        qt_events: QtEvents,
        *,
        pages: QStackedWidget,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._parts, self._window, self._pages = (services, theme, tasks, qt_events), window, pages
        self._services, self._messages = services, tasks.messages
        self._page: TunnelPage | None = None
        self._last_url: str | None = services.tunnels.tunnel.url
        self._interrupted = False
        """It ended by itself since it was last up."""
        self._before = Tunnel()
        self.actions = TunnelActions(services, theme, tasks, self)
        self.bar = OutdatedBar(services, self.actions, theme, window)
        for part in (self.actions, self.bar):
            part.page_requested.connect(self.page_requested)
        pages.currentChanged.connect(self._page_changed)
        qt_events.tunnel_changed.connect(self._follow)
        qt_events.endpoints_changed.connect(self._follow)
        self._follow()

    @property
    def page(self) -> TunnelPage:
        """Created when first used, because it would slow down the start of the window."""
        if self._page is None:
            from app.ui.tunnel.page import TunnelPage  # as the page itself

            self._page = TunnelPage(*self._parts, actions=self.actions, parent=self._window)
        return self._page

    @Slot()
    def _page_changed(self) -> None:
        shown = self._pages.currentWidget() is self._page
        self.bar.set_beside_page(shown)
        if shown:
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
        if self._page is not None and self._page.isVisible():
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
