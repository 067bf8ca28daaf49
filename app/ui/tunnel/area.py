"""Everything of the tunnel that the window holds: the page, the commands, the notices and the bar above the pages."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.tunnel.actions import TunnelActions
from app.ui.tunnel.notices import TunnelNotices
from app.ui.tunnel.outdated import OutdatedBar
from app.ui.tunnel.page import TunnelPage


class TunnelArea(QObject):
    """`page_requested` asks the window to show `page`."""

    page_requested = Signal()

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, qt_events: QtEvents, window: QWidget) -> None:
        super().__init__(window)
        self._services, self._theme, self._tasks = services, theme, tasks
        self._qt_events, self._window = qt_events, window
        self._page: TunnelPage | None = None
        self._tunnels = services.tunnels
        self.actions = TunnelActions(services, theme, tasks, self)
        self.bar = OutdatedBar(services, self.actions, theme, window)
        self.notices = TunnelNotices(services, tasks, self.actions, self)
        self.notices.page_is_shown = self._page_is_shown
        for part in (self.actions, self.bar, self.notices):
            part.page_requested.connect(self.page_requested)
        qt_events.tunnel_changed.connect(self._follow)
        qt_events.endpoints_changed.connect(self._follow)
        self._follow()

    @property
    def page(self) -> TunnelPage:
        """Created when first used, because it would slow down the start of the window."""
        if self._page is None:
            self._page = TunnelPage(
                self._services, self._theme, self._tasks, self._qt_events, actions=self.actions, parent=self._window
            )
        return self._page

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self.notices.stop()

    def watch(self, pages: QStackedWidget) -> None:
        """While `pages` show `page`, nothing is said that it says itself."""
        self._pages = pages
        pages.currentChanged.connect(self._page_changed)

    @Slot()
    def _page_changed(self) -> None:
        shown = self._pages.currentWidget() is self._page
        self.bar.set_beside_page(shown)
        if shown:
            self.notices.page_shown()

    def _page_is_shown(self) -> bool:
        return self._page is not None and self._page.isVisible()

    @Slot()
    def _follow(self) -> None:
        self.actions.refresh()
        self.bar.show_tunnel(self._tunnels.tunnel)
