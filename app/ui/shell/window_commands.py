"""The window's commands and their keys: puts the book together, opens palette and cheat sheet made of it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMainWindow

from app.ui.about.opener import AboutOpener
from app.ui.commands.palette import Palette
from app.ui.commands.palette_recent import Recent
from app.ui.commands.palette_sources import NUMBERED, PALETTE, number_keys
from app.ui.commands.registry import CommandGroup, CommandRegistry, command
from app.ui.commands.shortcuts_opener import ShortcutsOpener
from app.ui.commands.text_size_commands import BodyTextCommands
from app.ui.requests.page.requests_page import EndpointPage
from app.ui.services import Services
from app.ui.shell.endpoint_actions import EndpointActions
from app.ui.shell.endpoint_commands import EndpointCommands
from app.ui.shell.page_commands import PageWays
from app.ui.shell.palette_search import PaletteSources
from app.ui.shell.sidebar import ALL_REQUESTS, DASHBOARD, REFUSED
from app.ui.shell.theme_commands import ThemeCommands
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme


class FrameCommands(QObject):
    """`book` holds them all. `page_wanted` carries the name of a page, `endpoint_wanted` an endpoint's id."""

    page_wanted = Signal(str)
    endpoint_wanted = Signal(object)
    settings_wanted = Signal()
    quit_wanted = Signal()

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        *,
        actions: EndpointActions,
        page: EndpointPage,
        about: AboutOpener,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._services, self._window = services, window
        self._page: str | None = None
        self.book = CommandRegistry()
        self.sheet = ShortcutsOpener(self.book, theme, window)
        self.palette = Palette(Recent(services.data_folder), theme, window)
        self.sources = PaletteSources(self.book, services, tasks, page=page, parent=self)
        self.sources.page_wanted.connect(self.page_wanted)
        self.sources.endpoint_wanted.connect(self.endpoint_wanted)
        self.palette.entries, self.palette.typed = self.sources.entries, self.sources.typed
        self.palette.words = self.sources.words
        self.endpoint = EndpointCommands(services, actions, page, self)
        self._requests = page
        self._page_ways = PageWays(page, self)
        self._themes = ThemeCommands(services, theme, tasks, self)
        self._body_text = BodyTextCommands(theme.body_text, self)
        self._add_places(actions)
        self._add_program(about)
        self._add_numbers()
        self.palette.opening.connect(self.refresh)
        self.refresh()

    def show(self, page: str | None, endpoint_id: int | None = None) -> None:
        """The window shows this page now, or (None) the requests of this endpoint."""
        self._page = page
        self.endpoint.show(endpoint_id)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Offer what can be done now."""
        self.endpoint.refresh()
        self._page_ways.refresh()
        self._themes.refresh()
        some = bool(self._services.endpoints.all())
        for name, action in self._pages.items():
            action.setEnabled(name != self._page)
        self._next.setEnabled(some)
        self._previous.setEnabled(some)

    def _add_places(self, actions: EndpointActions) -> None:
        new = command("New endpoint", "add", actions.create, self, "Ctrl+N")
        self._next = command("Next endpoint", "down", self._go_down, self, "Ctrl+PgDown")
        self._previous = command("Previous endpoint", "up", self._go_up, self, "Ctrl+PgUp")
        for group, action in self._requests.commands.offered():
            self.book.add(group, action)
        self.book.add(CommandGroup.REQUEST, *self._page_ways.of_request)
        self.book.add(CommandGroup.REQUEST, *self._body_text.actions)
        self.book.add(CommandGroup.LIST, *self._page_ways.of_list)
        self.book.add(CommandGroup.ENDPOINT, new, *self.endpoint.actions)
        self._pages = {
            DASHBOARD: command("Dashboard", "dashboard", self._go_to_dashboard, self),
            ALL_REQUESTS: command("All requests", "all", self._go_to_all, self),
            REFUSED: command("Refused requests", "refused", self._go_to_refused, self),
        }
        self.book.add(CommandGroup.GO_TO, *self._pages.values(), self._next, self._previous)
        self._window.addActions([new, self._next, self._previous, *self._body_text.actions])

    def _add_program(self, about: AboutOpener) -> None:
        palette = command("Command palette", "command", self.palette.toggle, self, "Ctrl+K")
        palette.setObjectName(PALETTE)
        sheet = command("Keyboard shortcuts", "keyboard", self.sheet.open, self, "F1", "?")
        settings = command("Settings", "settings", self.settings_wanted.emit, self, "Ctrl+,")
        leave = command("Quit Hookline", "quit", self.quit_wanted.emit, self, "Ctrl+Q")
        about.action.setProperty("glyph", "info")
        settings.setMenuRole(QAction.MenuRole.PreferencesRole)
        leave.setMenuRole(QAction.MenuRole.QuitRole)
        self.book.add(CommandGroup.PROGRAM, palette, sheet, settings, *self._themes.actions, about.action, leave)
        self._window.addActions([palette, sheet, settings, leave])
        self.in_menu = (about.action, settings, leave)

    def _add_numbers(self) -> None:
        numbers = QActionGroup(self)
        for number in range(1, NUMBERED + 1):
            action = numbers.addAction(f"Endpoint {number}")
            action.setShortcut(number_keys(number))
            action.setData(number)
            self._window.addAction(action)
        numbers.triggered.connect(self._go_to_number)

    @Slot(object)
    def _go_to_number(self, action: QAction) -> None:
        endpoints = self._services.endpoints.all()
        place = int(action.data()) - 1
        if place < len(endpoints):
            self.endpoint_wanted.emit(endpoints[place].id)

    @Slot()
    def _go_down(self) -> None:
        self._step(1)

    @Slot()
    def _go_up(self) -> None:
        self._step(-1)

    def _step(self, by: int) -> None:
        """To the neighbour of the endpoint shown, and round; from elsewhere to the first or the last."""
        ids = [endpoint.id for endpoint in self._services.endpoints.all()]
        shown = self.endpoint.shown
        if shown is not None and shown.id in ids:
            self.endpoint_wanted.emit(ids[(ids.index(shown.id) + by) % len(ids)])
        elif ids:
            self.endpoint_wanted.emit(ids[0 if by > 0 else -1])

    @Slot()
    def _go_to_dashboard(self) -> None:
        self.page_wanted.emit(DASHBOARD)

    @Slot()
    def _go_to_all(self) -> None:
        self.page_wanted.emit(ALL_REQUESTS)

    @Slot()
    def _go_to_refused(self) -> None:
        self.page_wanted.emit(REFUSED)
