"""The window: puts sidebar, pages and message bar together."""

from __future__ import annotations

import sys
from collections.abc import Callable

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QMainWindow, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from app.core.model import Endpoint
from app.ui.about.opener import AboutOpener
from app.ui.dashboard.page import DashboardPage
from app.ui.desktop.notifier import system_service
from app.ui.desktop.presence import Desktop
from app.ui.desktop.tray import SystemTray, Tray
from app.ui.frame.actions import EndpointActions
from app.ui.frame.keys import FrameCommands
from app.ui.frame.remembered import Remembered
from app.ui.frame.sidebar import ALL_REQUESTS, DASHBOARD, REFUSED, Sidebar
from app.ui.news import News
from app.ui.pause import Pause
from app.ui.ports import Doors
from app.ui.refused.page import RefusedPage
from app.ui.requests.endpoint_page import EndpointPage
from app.ui.retention_notice import RetentionNotice
from app.ui.settings.dialog import SettingsDialog
from app.ui.tasks import Tasks
from app.ui.theme.icons import app_icon
from app.ui.theme.metrics import SIDEBAR_WIDTH
from app.ui.theme.theme import Theme
from app.ui.widgets.error_bar import ErrorBar
from app.ui.widgets.tab_order import order_tabs
from app.ui.widgets.toast import Toast

MINIMUM = (960, 600)


class MainWindow(QMainWindow):
    """`on_close` is called once the user quits, mostly by closing the window; whoever made it then ends the program."""

    def __init__(
        self, doors: Doors, theme: Theme, tasks: Tasks, on_close: Callable[[], None], *, tray: Tray | None = None
    ) -> None:
        super().__init__()
        self._doors, self._theme, self._tasks, self._on_close = doors, theme, tasks, on_close
        self._shown_endpoint: int | None = None
        self._settings: SettingsDialog | None = None
        self.setWindowIcon(app_icon())
        self.setMinimumSize(*MINIMUM)
        self.news = News(doors.bus, tasks.messages, self)
        self._retention_notice = RetentionNotice(doors, tasks, self)
        for endpoint, use in doors.limits.reached():
            self.news.tell_limit(endpoint, use)
        self.pause = Pause(self)
        endpoints = [endpoint.id for endpoint in doors.endpoints.all()]
        tasks.start(self.news.recall(doors.activity, endpoints), "dashboard: the last hour")
        self.actions_on_endpoints = EndpointActions(doors, theme, tasks, self)
        self.about = AboutOpener(doors, theme, tasks, self)
        self.sidebar = Sidebar(doors, theme, self.news, self.actions_on_endpoints, self)
        self.dashboard = DashboardPage(doors, theme, tasks, self.news, actions=self.actions_on_endpoints, parent=self)
        self.requests = EndpointPage(doors, theme, tasks, self.pause, self)
        self.refused = RefusedPage(doors, theme, tasks, self.news, self)
        self.error_bar = ErrorBar(tasks.messages, theme, self)
        self.desktop = self._make_desktop(tray or SystemTray(self))
        self.pages = QStackedWidget(self)
        self._lay_out()
        self.toast = Toast(theme, self.pages)
        self.commands = FrameCommands(
            doors,
            theme,
            tasks,
            actions=self.actions_on_endpoints,
            page=self.requests,
            about=self.about,
            window=self,
        )
        self._connect()
        order_tabs(self._frame)
        self._remembered = Remembered(doors.data_folder)
        self._remembered.restore(self)
        self.show_page(DASHBOARD)

    @Slot(str)
    def show_page(self, name: str) -> None:
        """Show DASHBOARD, ALL_REQUESTS or REFUSED."""
        self._shown_endpoint = None
        self.commands.show(name)
        pages: dict[str, QWidget] = {DASHBOARD: self.dashboard, ALL_REQUESTS: self.requests, REFUSED: self.refused}
        if name == ALL_REQUESTS:
            self.requests.show_endpoint(None)
        self.pages.setCurrentWidget(pages[name])
        self.sidebar.select_page(name)

    @Slot(str)
    def enter_page(self, name: str) -> None:
        """Show a page; where it is a list of requests, with the keyboard in it."""
        self.show_page(name)
        if name == ALL_REQUESTS:
            self.requests.list.setFocus()

    @Slot(object)
    def show_endpoint(self, endpoint_id: int) -> None:
        """Show an endpoint's requests."""
        if self._doors.endpoints.by_id(endpoint_id) is None:
            return
        self._shown_endpoint = endpoint_id
        self.commands.show(None, endpoint_id)
        self.requests.show_endpoint(endpoint_id)
        self.pages.setCurrentWidget(self.requests)
        self.sidebar.select_endpoint(endpoint_id)

    @Slot(object)
    def enter_endpoint(self, endpoint_id: int) -> None:
        """Show an endpoint's requests, with the keyboard in their list."""
        self.show_endpoint(endpoint_id)
        self.requests.list.setFocus()

    @Slot()
    def open_settings(self) -> None:
        """Open the settings, once."""
        if self._settings is None:
            self._settings = SettingsDialog(self._doors, self._theme, self._tasks, self, self.desktop)
            self._settings.applied.connect(self._settings_applied)
            self._settings.finished.connect(self._settings_closed)
            self._settings.open()

    @Slot()
    def bring_to_front(self) -> None:
        """Show the window above all others, wherever it was."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def stop(self) -> None:
        """Remember the window and hear no more of what happens; before it is deleted."""
        self._remembered.save(self)
        self.desktop.stop()
        self.news.stop()
        self._retention_notice.stop()
        self.requests.stop()

    @Slot()
    def quit(self) -> None:
        """End the program: remember the window, and tell whoever waits for its end."""
        self.stop()
        self._on_close()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Quit, or go on in the tray if the user chose so; never block."""
        if self.desktop.take_close():
            event.ignore()
        else:
            event.accept()
            self.quit()

    def _make_desktop(self, tray: Tray) -> Desktop:
        choices = self.actions_on_endpoints.notify
        self.requests.header.offer_notifications(choices)
        return Desktop(
            self._doors,
            self._tasks,
            self,
            news=self.news,
            pause=self.pause,
            page=self.requests,
            choices=choices,
            tray=tray,
            service=system_service(self),
        )

    def _lay_out(self) -> None:
        for page in (self.dashboard, self.requests, self.refused):
            self.pages.addWidget(page)
        right = QWidget(self)
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.error_bar)
        column.addWidget(self.pages, 1)
        frame = QSplitter(Qt.Orientation.Horizontal, self)
        frame.setObjectName("frame")
        frame.setChildrenCollapsible(False)
        frame.setHandleWidth(1)
        frame.addWidget(self.sidebar)
        frame.addWidget(right)
        frame.setStretchFactor(1, 1)
        frame.setSizes([SIDEBAR_WIDTH, 1280 - SIDEBAR_WIDTH])
        self._frame = frame
        self.setCentralWidget(frame)

    def _connect(self) -> None:
        actions = self.actions_on_endpoints
        self.sidebar.page_chosen.connect(self.show_page)
        self.sidebar.page_entered.connect(self.enter_page)
        self.sidebar.endpoint_chosen.connect(self.show_endpoint)
        self.sidebar.endpoint_entered.connect(self.enter_endpoint)
        self.sidebar.settings_wanted.connect(self.open_settings)
        self.sidebar.about_wanted.connect(self.about.open)
        self.sidebar.keys_wanted.connect(self.commands.sheet.open)
        self.sidebar.palette_wanted.connect(self.commands.palette.open)
        self.commands.page_wanted.connect(self.enter_page)
        self.commands.endpoint_wanted.connect(self.enter_endpoint)
        self.commands.settings_wanted.connect(self.open_settings)
        self.commands.quit_wanted.connect(self.quit)
        if sys.platform == "darwin":
            self.menuBar().addMenu("Hookline").addActions(self.commands.in_menu)
        self.dashboard.opened.connect(self.enter_endpoint)
        self.requests.edit_requested.connect(actions.edit)
        self.requests.test_requested.connect(actions.send_test)
        self.requests.switch_requested.connect(actions.set_active)
        self.requests.delete_requested.connect(actions.delete)
        actions.made.connect(self._made)
        actions.open_wanted.connect(self.enter_endpoint)
        actions.said.connect(self._say)
        self.desktop.quit_asked.connect(self.quit)
        self.news.endpoint_removed.connect(self._removed)
        self.news.settings_changed.connect(self._follow_theme)
        self.news.limit_wanted.connect(self._change_limit)
        self.news.endpoints_changed.connect(self.commands.refresh)

    @Slot(object)
    def _made(self, endpoint: Endpoint) -> None:
        self.enter_endpoint(endpoint.id)
        self._say(f"“{endpoint.name}” is ready to catch requests.")

    @Slot(object)
    def _change_limit(self, endpoint: Endpoint | None) -> None:
        if endpoint is None:
            self.open_settings()
        else:
            self.actions_on_endpoints.edit_limit(endpoint)

    @Slot(object)
    def _removed(self, endpoint: Endpoint) -> None:
        if endpoint.id == self._shown_endpoint:
            self.show_page(DASHBOARD)

    @Slot(str)
    def _say(self, text: str) -> None:
        self.toast.say(text)

    @Slot()
    def _follow_theme(self) -> None:
        self._theme.set_choice(self._doors.settings().theme)

    @Slot()
    def _settings_applied(self) -> None:
        self._say("Settings saved.")

    @Slot()
    def _settings_closed(self) -> None:
        self._settings = None
