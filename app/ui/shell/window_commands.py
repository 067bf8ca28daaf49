"""The window's commands and their keys: fills the registry, and opens the palette and shortcuts dialog made of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow

from app.core.settings import Settings
from app.ui.about.dialog import AboutOpener
from app.ui.commands.command import IN_WINDOW, Command, CommandGroup, CommandRegistry
from app.ui.commands.palette import Palette
from app.ui.commands.palette_entry import RecentEntries
from app.ui.commands.shortcuts_dialog import ShortcutsOpener
from app.ui.commands.text_size_commands import BodyTextCommands
from app.ui.endpoints.endpoint_actions import EndpointActions
from app.ui.requests.page.requests_page import RequestsPage
from app.ui.services import Services
from app.ui.shell.palette_sources import PALETTE, PaletteSources
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, REFUSED, TUNNEL
from app.ui.tasks import Tasks
from app.ui.theme.theme import Choice, Theme

NUMBERED = 9
"""The number of endpoints with a key of their own."""


class ThemeCommands(QObject):
    """Select light, dark, or the system's theme, and save that in the settings."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._theme, self._tasks = services, theme, tasks
        choices: tuple[tuple[str, str, Choice], ...] = (
            ("Theme: light", "light", "light"),
            ("Theme: dark", "theme", "dark"),
            ("Theme: match system", "system", "system"),
        )
        self.all = tuple(
            Command(
                text,
                theme,
                self,
                run=partial(self._select, choice),
                icon=icon,
                unavailable=partial(self._is_current, choice),
            )
            for text, icon, choice in choices
        )

    def _is_current(self, choice: Choice) -> str | None:
        return "This theme is already in use." if choice == self._theme.choice else None

    def _select(self, choice: Choice) -> None:
        self._theme.set_choice(choice)
        settings: Settings = replace(self._services.settings(), theme=choice)
        self._tasks.start(self._save(settings), "save the theme")

    async def _save(self, settings: Settings) -> None:
        await self._services.apply_settings(settings)


class WindowCommands(QObject):
    """`registry` holds all. `page_requested` carries the name of a page, `endpoint_requested` an endpoint's
    ID.
    """

    page_requested = Signal(str)
    endpoint_requested = Signal(object)
    settings_requested = Signal()
    quit_requested = Signal()

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        *,
        actions: EndpointActions,
        page: RequestsPage,
        about: AboutOpener,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._services, self._theme, self._window, self._say = services, theme, window, actions.announced.emit
        self._page: str | None = None
        self._endpoint_id: int | None = None
        self.registry = CommandRegistry()
        self.shortcuts = ShortcutsOpener(self.registry, theme, window)
        self.palette = Palette(RecentEntries(services.data_folder), theme, window)
        self._numbers = tuple(self._number(number) for number in range(1, NUMBERED + 1))
        self.sources = PaletteSources(self.registry, services, tasks, page=page, numbers=self._numbers, parent=self)
        self.sources.page_requested.connect(self.page_requested)
        self.sources.endpoint_requested.connect(self.endpoint_requested)
        self.palette.entries, self.palette.typed_entries = self.sources.entries, self.sources.typed_entries
        self.palette.search_entries = self.sources.search_entries
        self.endpoint = page.endpoint_commands
        self._view = page.view_commands
        self._themes = ThemeCommands(services, theme, tasks, self)
        body_text = BodyTextCommands(theme, self._say, self)
        body_text.add_to(window)
        actions.new.add_to(window)
        self.registry.add(*page.commands.all(), *self._view.all, *body_text.commands)
        self.registry.add(actions.new, *self.endpoint.for_palette())
        self._add_places()
        self._add_program(about)
        self.registry.add_series(f"Endpoint 1 to {NUMBERED}", self._numbers)
        self.palette.opening.connect(self.refresh)
        self.refresh()

    def show(self, page: str | None, endpoint_id: int | None = None) -> None:
        """The window now shows this page, or (None) the requests of this endpoint."""
        self._page, self._endpoint_id = page, endpoint_id
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Update texts and availability; the commands of the page refresh themselves."""
        self.endpoint.refresh()
        self._view.refresh()
        for command in (*self._themes.all, *self._places):
            command.refresh()

    def _add_places(self) -> None:
        place = partial(self._command, group=CommandGroup.GO_TO, unavailable=self._no_endpoints)
        steps = (
            place("Next endpoint", partial(self._step, 1), "Ctrl+PgDown", icon="down"),
            place("Previous endpoint", partial(self._step, -1), "Ctrl+PgUp", icon="up"),
        )
        for command in steps:
            command.add_to(self._window)
        self._places = (
            self._page_command("Dashboard", "dashboard", DASHBOARD),
            self._page_command("All requests", "all", ALL_REQUESTS),
            self._page_command("Deliveries", "forward", ALL_DELIVERIES, "Ctrl+Shift+D"),
            self._page_command("Refused requests", "refused", REFUSED),
            self._page_command("Tunnel", "tunnel", TUNNEL, "Ctrl+Shift+T"),
            *steps,
        )
        self.registry.add(*self._places)

    def _page_command(self, text: str, icon: str, page: str, *keys: str) -> Command:
        run, unavailable = partial(self.page_requested.emit, page), partial(self._is_shown, page)
        command = self._command(text, run, *keys, icon=icon, group=CommandGroup.GO_TO, unavailable=unavailable)
        if keys:
            command.add_to(self._window)
        return command

    def _number(self, number: int) -> Command:
        command = self._command(
            f"Endpoint {number}", partial(self._open_number, number), f"Ctrl+{number}", group=CommandGroup.GO_TO
        )
        command.add_to(self._window)
        return command

    def _command(
        self,
        text: str,
        run: Callable[[], object],
        *keys: str,
        icon: str | None = None,
        group: CommandGroup = CommandGroup.PROGRAM,
        unavailable: Callable[[], str | None] | None = None,
    ) -> Command:
        return Command(
            text,
            self._theme,
            self,
            run=run,
            icon=icon,
            keys=keys,
            group=group,
            context=IN_WINDOW,
            unavailable=unavailable,
            say=self._say,
        )

    def _add_program(self, about: AboutOpener) -> None:
        palette = self._command("Command palette", self.palette.toggle, "Ctrl+K", icon="command")
        palette.setObjectName(PALETTE)
        shortcuts = self._command("Keyboard shortcuts", self.shortcuts.open, "F1", "?", icon="keyboard")
        settings = self._command("Settings", self.settings_requested.emit, "Ctrl+,", icon="settings")
        leave = self._command("Quit Hookline", self.quit_requested.emit, "Ctrl+Q", icon="quit")
        settings.setMenuRole(QAction.MenuRole.PreferencesRole)
        leave.setMenuRole(QAction.MenuRole.QuitRole)
        for command in (palette, shortcuts, settings, leave):
            command.add_to(self._window)
        self.registry.add(palette, shortcuts, settings, *self._themes.all, about.command, leave)
        self.in_menu = (about.command, settings, leave)
        for command in self.in_menu:
            command.setIconVisibleInMenu(False)

    def _open_number(self, number: int) -> None:
        for endpoint in self._services.store.endpoints.all()[number - 1 : number]:
            self.endpoint_requested.emit(endpoint.id)

    def _is_shown(self, page: str) -> str | None:
        return "This page is already open." if page == self._page else None

    def _no_endpoints(self) -> str | None:
        return None if self._services.store.endpoints.all() else "There are no endpoints."

    def _step(self, by: int) -> None:
        """Go to the next or previous endpoint, wrapping around; from another page to the first or last."""
        ids = [endpoint.id for endpoint in self._services.store.endpoints.all()]
        if self._endpoint_id is not None and self._endpoint_id in ids:
            self.endpoint_requested.emit(ids[(ids.index(self._endpoint_id) + by) % len(ids)])
        elif ids:
            self.endpoint_requested.emit(ids[0 if by > 0 else -1])
