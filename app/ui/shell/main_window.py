"""The main window: sidebar, pages and message bar."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QCloseEvent, QMoveEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QWidget

from app.core.model import Endpoint
from app.ui.deleting import DeleteChanged, PendingDelete, UndoBar
from app.ui.deliveries.commands import DeliveryCommands
from app.ui.desktop.desktop_integration import Desktop
from app.ui.desktop.notifications import system_service
from app.ui.desktop.tray import SystemTray
from app.ui.endpoints.endpoint_actions import EndpointActions
from app.ui.messages import MessageAction
from app.ui.qt_events import ELSEWHERE_ADVICE, STORAGE_ADVICE, QtEvents
from app.ui.replay.replay_area import ReplayArea
from app.ui.services import Services
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, REFUSED, REPLAYS, TUNNEL, Frame, Sidebar
from app.ui.shell.window_commands import WindowCommands, WindowDialogs
from app.ui.shell.window_state import WindowState
from app.ui.store_commands import StoreCommands, StoreNotices
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.throttle import Pause
from app.ui.tunnel.area import TunnelArea
from app.ui.widgets.dialog import confirm_discard
from app.ui.widgets.fit_screen import Scrolling
from app.ui.widgets.focus import bring_into_view, order_tabs
from app.ui.widgets.layout import vbox
from app.ui.widgets.notices import ErrorBar, Toast

if TYPE_CHECKING:
    from app.ui.dashboard import DashboardPage
    from app.ui.deliveries.page import DeliveriesPage
    from app.ui.refused_page import RefusedPage
    from app.ui.replay.replays_page import ReplaysPage
    from app.ui.requests.page.requests_page import RequestsPage
    from app.ui.tunnel.page import TunnelPage
    from app.ui.widgets.card import Page

MINIMUM = (860, 400)
"""Smaller than the free space of any screen; pages that need more scroll."""
PAGE_MINIMUM = QSize(639, 240)
PLACE_MS = 2_000
"""From when the user went elsewhere or resized something until that is stored, also for a start after the program was
killed."""
ENDPOINT = "endpoint"
"""The stored name of an endpoint's page."""


class MainWindow(QMainWindow):
    """`on_close` is called once the user quits, mostly by closing the window; it must end the program."""

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        on_close: Callable[[], None],
        *,
        tray: SystemTray | None = None,
    ) -> None:
        super().__init__()
        self.pending = PendingDelete(services, tasks, self)
        services = self.services = dataclasses.replace(services, deletes=self.pending)
        self._services, self._theme, self._tasks = self._parts = services, theme, tasks
        self._on_close = on_close
        self._stopped = self._tabs_ordered = False
        theme.body_text.load_from(services.data_folder)
        self._deleted_endpoint_id: int | None = None
        """The deleted endpoint whose page was shown until then; undo shows it again."""
        self.setMinimumSize(*MINIMUM)
        advice = ELSEWHERE_ADVICE if services.is_elsewhere else STORAGE_ADVICE
        self.qt_events = QtEvents(services.bus, tasks.messages, self, storage_advice=advice)
        self._store_notices = StoreNotices(services, tasks, self.qt_events, self)
        for endpoint, use in services.store.limits.reached():
            self.qt_events.show_limit_message(endpoint, use)
        self.pause = Pause(self)
        self._load_history([endpoint.id for endpoint in services.store.endpoints.all()])
        actions = self.endpoint_actions = EndpointActions(services, theme, tasks, self)
        self.stores = StoreCommands(services, theme, tasks, self)
        self.sidebar = Sidebar(services, theme, self.qt_events, actions=actions, stores=self.stores, parent=self)
        self._requests: RequestsPage | None = None
        self.delivery_commands = DeliveryCommands(services, theme, tasks, self)
        self.pages = QStackedWidget(self)
        self.tunnel = TunnelArea(*self._parts, self.qt_events, self)
        self.error_bar = ErrorBar(tasks.messages, theme, self)
        self.undo_bar = UndoBar(self.pending, theme, self)
        self.replays = ReplayArea(services, theme, tasks, self)
        self.desktop = Desktop(
            services,
            theme,
            tasks,
            self,
            qt_events=self.qt_events,
            pause=self.pause,
            lists=self._lists,
            choices=actions.notify,
            tray=tray or SystemTray(self),
            service=system_service(self),
        )
        self.dialogs = WindowDialogs(
            services, theme, tasks, qt_events=self.qt_events, stores=self.stores, desktop=self.desktop, window=self
        )
        self._lay_out()
        self.toast = Toast(theme, self.pages)
        self.commands = WindowCommands(
            services,
            theme,
            tasks,
            actions=actions,
            page=lambda: self.requests,
            dialogs=self.dialogs,
            others=(
                self.undo_bar.command,
                *self.replays.commands.commands,
                self.delivery_commands.retry_all,
                *self.tunnel.actions.commands,
                *self.stores.commands,
            ),
            window=self,
        )
        self._place_changed = QTimer(self, singleShot=True, interval=PLACE_MS)
        self._connect()
        self._window_state = WindowState(services.data_folder)
        self._window_state.restore(self, self._store_soon)
        self._show_last_page()

    @property
    def requests(self) -> RequestsPage:
        """Made when it is first needed, as the other pages are."""
        if self._requests is not None:
            return self._requests
        from app.ui.requests.page.requests_page import RequestsPage  # start-up time, here and below: it shows one page

        page = RequestsPage(*self._parts, self.pause, endpoint_actions=self.endpoint_actions, parent=self)
        self._add_page(page)
        self._window_state.restore_strip(page.activity, self._store_soon)
        for moved in (page.detail.opened, page.detail.closed):
            moved.connect(self._place_changed.start)
        page.filter.bar.changed.connect(self._store_soon)
        page.commands.comparison_requested.connect(self.dialogs.compare_requests)
        for commands in (page.endpoint_commands, page.view_commands):
            self.commands.refreshed.connect(commands.refresh)
        self._requests = page
        return page

    def prepare(self) -> None:
        """Make the page that the user will need first, so that its first endpoint opens as fast as all others."""
        if not self._stopped:
            _ = self.requests

    @cached_property
    def dashboard(self) -> DashboardPage:
        from app.ui.dashboard import DashboardPage  # as above

        return DashboardPage(*self._parts, self.qt_events, actions=self.endpoint_actions, parent=self)

    @cached_property
    def deliveries(self) -> DeliveriesPage:
        from app.ui.deliveries.page import DeliveriesPage  # as above

        return DeliveriesPage(*self._parts, self.qt_events, commands=self.delivery_commands, parent=self)

    @cached_property
    def refused(self) -> RefusedPage:
        from app.ui.refused_page import RefusedPage  # as above

        return RefusedPage(*self._parts, self.qt_events, actions=self.endpoint_actions, parent=self)

    @cached_property
    def replays_page(self) -> ReplaysPage:
        from app.ui.replay.replays_page import ReplaysPage  # as above

        return ReplaysPage(self.replays.commands, *self._parts, self)

    @cached_property
    def tunnel_page(self) -> TunnelPage:
        from app.ui.tunnel.page import TunnelPage  # as above

        return TunnelPage(*self._parts, self.qt_events, actions=self.tunnel.actions, parent=self)

    @Slot(str)
    def show_page(self, name: str) -> None:
        """Show DASHBOARD, ALL_REQUESTS, ALL_DELIVERIES, REPLAYS, REFUSED or TUNNEL, unless it is shown."""
        if not self.commands.is_shown(name):
            self._show(name)
            self.sidebar.select_page(name)

    def _add_page(self, page: QWidget) -> None:
        self.pages.addWidget(page)
        self._window_state.restore_splitters(page, self._store_soon)
        self._tabs_ordered = False

    @Slot(str)
    def enter_page(self, name: str) -> None:
        """Show a page, with the keyboard in its list, or on what the user does first with a tunnel."""
        self.show_page(name)
        if name == TUNNEL:
            self.tunnel_page.take_focus()
        elif name not in (DASHBOARD, REFUSED):
            self._focus_list()

    @Slot(object)
    def show_endpoint(self, endpoint_id: int) -> None:
        """Show an endpoint's requests, unless they are shown."""
        stored = self._services.store.endpoints.by_id(endpoint_id) is not None
        if stored and not self.commands.is_shown(None, endpoint_id):
            self._show(None, endpoint_id)
            self.sidebar.select_endpoint(endpoint_id)

    def _show(self, name: str | None, endpoint_id: int | None = None) -> None:
        """The page of this name, or (None) the requests of this endpoint."""
        self._deleted_endpoint_id = None
        self.commands.show(name, endpoint_id)
        if self.commands.lists_requests:
            self.requests.show_endpoint(endpoint_id)
        page = self._page_of[name or ALL_REQUESTS]()
        if self.pages.indexOf(page) < 0:  # of these few are needed, so each is made when it is shown
            self._add_page(page)
        self.pages.setCurrentWidget(page)
        self.tunnel.set_beside_page(name == TUNNEL)
        self.replays.set_selected((lambda: self.replays_page.current) if name == REPLAYS else None)
        self._place_changed.start()

    @Slot(object)
    def enter_endpoint(self, endpoint_id: int) -> None:
        """Show an endpoint's requests, with the focus in their list, unless it is in the request that is open there."""
        stays = self.commands.is_shown(None, endpoint_id)
        self.show_endpoint(endpoint_id)
        if not (stays and self.requests.detail.isAncestorOf(self.focusWidget())):
            self.requests.take_focus()

    @Slot(str)
    def _offer_plan(self, reason: str) -> None:
        actions = [MessageAction("Plan", partial(self.dialogs.open_settings, "plan"))]
        if not self.commands.is_shown(DASHBOARD):
            actions.insert(0, MessageAction("Manage endpoints", partial(self.show_page, DASHBOARD)))
        self.toast.say(reason, *actions)

    @Slot()
    def bring_to_front(self) -> None:
        """Show the window in front of all others, even if it was hidden or minimized."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def stop(self) -> None:
        """Save the window's state and unsubscribe from events, once. Call it before the window is deleted."""
        if self._stopped:
            return
        self._stopped = True
        self._place_changed.stop()
        self._frame.forget_narrowing()
        self._save_place()
        self._window_state.write()
        self.desktop.stop()
        self.dialogs.closing.emit()
        self.qt_events.stop()
        self._deletes.end()
        self.replays.tracker.stop()
        self._store_notices.stop()
        if self._requests is not None:
            self._requests.stop()

    @Slot()
    def quit(self) -> None:
        """End the program: save the window state and call `on_close`. Asks about unsaved changes."""
        if confirm_discard(self, self.quit):
            self.stop()
            self._on_close()
        else:
            self.bring_to_front()  # the tray may have requested it

    def showEvent(self, event: QShowEvent) -> None:
        """Move the window onto the screen, unless it is only restored after being minimized."""
        if not event.spontaneous():
            self._window_state.geometry.fit(self)
        super().showEvent(event)
        self._frame.fit_sidebar()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._frame.fit_sidebar()
        self._store_soon()

    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self._store_soon()

    def focusNextPrevChild(self, onward: bool) -> bool:
        """Tab leads to nothing that is scrolled out of view. Its order is set when it is first pressed."""
        if not self._tabs_ordered:
            self._tabs_ordered = True
            order_tabs(self._frame)
        moved = super().focusNextPrevChild(onward)
        bring_into_view(self.focusWidget())
        return moved

    def closeEvent(self, event: QCloseEvent) -> None:
        """Quit, or keep running in the tray if the user chose so; never block."""
        if self.desktop.close_to_tray() or not confirm_discard(self, self.quit):
            event.ignore()
        else:
            self.quit()

    def _show_last_page(self) -> None:
        """Show the page shown last, with its filter and the request that was open there, and give it the focus; the
        dashboard if its endpoint was deleted.
        """
        page, slug = self._window_state.page()
        endpoint = self._services.store.endpoints.by_slug(slug) if slug else None
        if endpoint is not None:
            self.show_endpoint(endpoint.id)
        else:
            self.show_page(page if not slug and page in self._page_of else DASHBOARD)
        if self.commands.lists_requests:
            self.requests.opener.reopen(self._window_state.request())
            self.requests.filter.bar.set_text(self._window_state.filter())
        self._focus_list()

    def _focus_list(self) -> None:
        """Put the keyboard into the list of the page that is shown, where Enter starts nothing, or into its first
        control."""
        if self.commands.page == TUNNEL:
            self.tunnel_page.programs.list.setFocus()
        else:
            self._page_of[self.commands.page or ALL_REQUESTS]().take_focus()

    @Slot()
    def _save_place(self) -> None:
        shown = self.commands.endpoint_id
        current = self._services.store.endpoints.by_id(shown) if shown is not None else None
        name = ENDPOINT if current else self.commands.page or DASHBOARD
        lists = self.commands.lists_requests
        request = self.requests.opener.open_id if lists else None
        filter_text = self.requests.filter.bar.line.text() if lists else ""
        self._window_state.save_place(name, current.slug if current else None, request, filter_text)
        self._window_state.save_sizes(self, without=self._frame if self._frame.narrowed else None)
        if self._requests is not None:
            self._window_state.save_strip(self._requests.activity)

    @Slot()
    def _store_soon(self) -> None:
        if not self._stopped:
            self._place_changed.start()

    def _lists(self, endpoint_id: int) -> bool:
        return self.commands.lists_requests and self.commands.endpoint_id in (None, endpoint_id)

    def _lay_out(self) -> None:
        self._page_of: dict[str, Callable[[], Page | RequestsPage]] = {
            DASHBOARD: lambda: self.dashboard,
            ALL_REQUESTS: lambda: self.requests,
            ALL_DELIVERIES: lambda: self.deliveries,
            REPLAYS: lambda: self.replays_page,
            REFUSED: lambda: self.refused,
            TUNNEL: lambda: self.tunnel_page,
        }
        right = QWidget(self)
        vbox(
            self.error_bar,
            self.tunnel.bar,
            (Scrolling(self.pages, PAGE_MINIMUM, right), 1),
            self.replays.bar,
            self.undo_bar,
            inside=right,
            spacing=0,
            margins=0,
        )
        self._frame = Frame(self.sidebar, right, self)
        self.setCentralWidget(self._frame)

    def _connect(self) -> None:
        actions = self.endpoint_actions
        self.sidebar.page_selected.connect(self.show_page)
        self.sidebar.page_entered.connect(self.enter_page)
        self.sidebar.endpoint_selected.connect(self.show_endpoint)
        self.sidebar.endpoint_entered.connect(self.enter_endpoint)
        self.sidebar.settings_button.clicked.connect(partial(self.dialogs.open_settings, ""))
        self.sidebar.about_button.clicked.connect(self.dialogs.open_about)
        self.sidebar.keys_button.clicked.connect(self.commands.open_shortcuts)
        self.sidebar.head.palette_button.clicked.connect(self.commands.open_palette)
        self.commands.palette_opening.connect(self.delivery_commands.refresh)
        self.commands.page_requested.connect(self.enter_page)
        self.commands.endpoint_requested.connect(self.enter_endpoint)
        self.commands.quit_requested.connect(self.quit)
        if sys.platform == "darwin":
            self.menuBar().addMenu("Hookline").addActions([self.stores.open, *self.commands.in_menu])
        self.delivery_commands.open_requested.connect(self.commands.sources.open_deliveries)
        self.delivery_commands.announced.connect(self.toast.say)
        for changed in (self.qt_events.counts_changed, self.qt_events.endpoints_changed, self.pages.currentChanged):
            changed.connect(self.delivery_commands.check_again)
        self.replays.page_requested.connect(self._show_replay)
        self.replays.commands.open_requested.connect(self.commands.sources.open_deliveries)
        self.replays.commands.announced.connect(self.toast.say)
        self.replays.tracker.changed.connect(self._show_replays)
        actions.created.connect(self._endpoint_created)
        actions.open_requested.connect(self.enter_endpoint)
        actions.announced.connect(self.toast.say)
        actions.plan_refused.connect(self._offer_plan)
        actions.compare_requested.connect(self.dialogs.compare)
        actions.tunnel_requested.connect(self.tunnel.actions.start)
        actions.tunnel_page_requested.connect(self.tunnel.page_requested)
        self.tunnel.page_requested.connect(actions.close_qr)  # it would hide half of the page
        self.tunnel.page_requested.connect(partial(self.enter_page, TUNNEL))
        self.tunnel.actions.announced.connect(self.toast.say)
        self.tunnel.notice_ready.connect(self.desktop.show_in_background)
        self.desktop.tunnel_requested.connect(self.tunnel.page_requested)
        self.desktop.quit_requested.connect(self.quit)
        self.pending.endpoint_back.connect(self._endpoint_restored)
        self._deletes = self._services.bus.subscribe(DeleteChanged, self._delete_changed)
        self.qt_events.endpoint_removed.connect(self._removed)
        self.qt_events.settings_changed.connect(self._follow_theme)
        self.qt_events.limit_change_requested.connect(self._change_limit)
        self.qt_events.endpoints_changed.connect(self.commands.refresh)
        self._place_changed.timeout.connect(self._save_place)

    @Slot(str)
    def _show_replay(self, replay_id: str) -> None:
        if not self.commands.is_shown(REPLAYS):
            self.enter_page(REPLAYS)
        self.replays_page.show_replay(replay_id)

    @Slot()
    def _show_replays(self) -> None:
        self.sidebar.show_replays(self.replays.tracker.going_on, self.replays.state)

    @Slot(object)
    def _endpoint_created(self, endpoint: Endpoint) -> None:
        self.enter_endpoint(endpoint.id)
        self.toast.say(f"“{endpoint.name}” is ready to catch requests.")

    @Slot(object)
    def _change_limit(self, endpoint: Endpoint | None) -> None:
        if endpoint is None:
            self.dialogs.open_settings()
        else:
            self.endpoint_actions.edit_limit(endpoint)

    @Slot(object)
    def _removed(self, endpoint: Endpoint) -> None:
        if endpoint.id == self.commands.endpoint_id:
            self.show_page(DASHBOARD)
            self._deleted_endpoint_id = endpoint.id

    @Slot(object)
    def _endpoint_restored(self, endpoint: Endpoint) -> None:
        if endpoint.id == self._deleted_endpoint_id:
            self.show_endpoint(endpoint.id)

    def _delete_changed(self, event: DeleteChanged) -> None:
        if event.state == "undone":
            self._load_history(event.endpoint_ids)

    def _load_history(self, endpoint_ids: Iterable[int]) -> None:
        history = self.qt_events.load_history(self._services.store, endpoint_ids)
        self._tasks.start(history, "dashboard: the last hour", self)

    @Slot()
    def _follow_theme(self) -> None:
        self._theme.set_choice(self._services.settings().theme)
