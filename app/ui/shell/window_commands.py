"""The window's commands and their keys: fills the registry, and opens the palette and shortcuts dialog made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow

from app.core.bodies.escape import escape
from app.core.links import LinkError, RequestLink, link_to_request, parse_link
from app.core.model import Endpoint
from app.core.search.format import literal
from app.core.search.parse import parse
from app.core.search.query import Filter, QueryError, flatten
from app.core.settings import Settings
from app.ui.commands.command import IN_WINDOW, Command, CommandGroup, CommandRegistry, Commands
from app.ui.commands.key_caps import KeyNames, key_names_of
from app.ui.commands.palette import Palette
from app.ui.commands.palette_rows import PaletteEntry, RecentEntries
from app.ui.commands.shortcuts_dialog import ShortcutsDialog
from app.ui.commands.text_size_commands import BodyTextCommands
from app.ui.endpoints.endpoint_actions import EndpointActions
from app.ui.inspector.tabs.tabs import DELIVERIES
from app.ui.messages import Message
from app.ui.requests.filter.line import LENGTH_MAX
from app.ui.requests.filter.saved import SavedFilter
from app.ui.requests.page.requests_page import RequestsPage
from app.ui.services import Services
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, REFUSED, TUNNEL
from app.ui.tasks import Latest, Tasks
from app.ui.theme.theme import Choice, Theme
from app.ui.widgets.dialog import open_once

SHOWN_MAX = 200
"""Maximum characters of a filter in a row; more never fit."""
PALETTE = "command palette"
"""The object name of the command that opens the palette."""
_ICONS = {
    CommandGroup.REQUEST: "body",
    CommandGroup.LIST: "all",
    CommandGroup.ENDPOINT: "hook",
    CommandGroup.GO_TO: "expand",
    CommandGroup.PROGRAM: "command",
}


def command_entries(registry: CommandRegistry) -> list[PaletteEntry]:
    """Every command that can be run now or gives its reason, except the one that opens the palette."""
    return [
        _entry(command)
        for command in registry.all()
        if (command.isEnabled() or command.always_listed) and command.isVisible() and command.objectName() != PALETTE
    ]


def endpoint_entries(
    all_endpoints: Sequence[Endpoint], go: Callable[[int], object], keys: Iterable[KeyNames] = ()
) -> list[PaletteEntry]:
    """One for each endpoint, found by name and slug; `keys` are those of the first endpoints."""
    return [
        PaletteEntry(
            key=f"endpoint {endpoint.id}",
            text=escape(endpoint.name),
            kind="Go to endpoint",
            run=partial(go, endpoint.id),
            icon="hook",
            detail=endpoint.slug,
            key_names=key_names,
        )
        for endpoint, key_names in zip(all_endpoints, chain(keys, repeat(())), strict=False)
    ]


def filter_entries(filters: Sequence[SavedFilter], use: Callable[[str], object]) -> list[PaletteEntry]:
    """One for each saved filter, found by name and text."""
    return [
        PaletteEntry(
            key=f"filter {one.name}",
            text=escape(one.name),
            kind="Saved filter",
            run=partial(use, one.text),
            icon="saved",
            detail=escape(one.text[:SHOWN_MAX]),
        )
        for one in filters
    ]


def typed_entries(
    text: str, open_request: Callable[[str], object], search: Callable[[str], object]
) -> list[PaletteEntry]:
    """What the text itself names: a request by ID or link, or a filter."""
    text = text.strip()
    request = _request_id(text)
    if request is not None:
        return [PaletteEntry("", f"Open request {request}", "Request", partial(open_request, request), "body")]
    if _is_filter(text):
        return [
            PaletteEntry(
                "", f"Search all requests for {escape(text[:SHOWN_MAX])}", "Search", partial(search, text), "search"
            )
        ]
    return []


def search_entries(text: str, search: Callable[[str], object]) -> list[PaletteEntry]:
    """A search for the text, word for word; none for an empty text."""
    text = text.strip()
    query = literal(text, LENGTH_MAX)
    if not query:
        return []
    title = f"Search all requests for “{escape(text[:SHOWN_MAX])}”"
    return [PaletteEntry("", title, "Search", partial(search, query), "search")]


def _entry(command: Command) -> PaletteEntry:
    return PaletteEntry(
        key=command.objectName() or command.name,
        text=escape(command.name),
        kind=command.group.value,
        run=command.run,
        icon=_ICONS[command.group] if command.icon_name is None else command.icon(),
        detail=command.reason,
        key_names=key_names_of(command.shortcut()),
    )


def _request_id(text: str) -> str | None:
    for link in (text, link_to_request(text)):
        try:
            target = parse_link(link)
        except LinkError:
            continue
        if isinstance(target, RequestLink):
            return target.id
    return None


def _is_filter(text: str) -> bool:
    """Whether it is a query with at least one filter; plain words are for commands."""
    try:
        return any(isinstance(leaf.term, Filter) for leaf in flatten(parse(text).terms))
    except QueryError:
        return False


NOT_FOUND = "no such request"
"""The message's key: the next request that opens removes it."""


class PaletteSources(QObject):
    """Commands first, then endpoints, then saved filters; `numbers` open the first endpoints. The signals request what
    the window should show.
    """

    page_requested = Signal(str)
    endpoint_requested = Signal(object)

    def __init__(
        self,
        registry: CommandRegistry,
        services: Services,
        tasks: Tasks,
        *,
        page: RequestsPage,
        numbers: Sequence[Command],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._registry, self._services, self._page, self._messages = registry, services, page, tasks.messages
        self._endpoint_keys = [key_names_of(command.shortcut()) for command in numbers]
        self._latest = Latest(self, tasks, "palette: open a request")

    def entries(self) -> list[PaletteEntry]:
        return [
            *command_entries(self._registry),
            *endpoint_entries(self._services.store.endpoints.all(), self.endpoint_requested.emit, self._endpoint_keys),
            *filter_entries(self._page.filter.bar.saved.filters.all(), self._filter),
        ]

    def typed_entries(self, text: str) -> list[PaletteEntry]:
        return typed_entries(text, self.open_request, self._search)

    def search_entries(self, text: str) -> list[PaletteEntry]:
        return search_entries(text, self._search)

    def _filter(self, text: str) -> None:
        """Filter the visible list, or all requests."""
        if not self._page.isVisible():
            self.page_requested.emit(ALL_REQUESTS)
        self._set_filter(text)

    def _search(self, text: str) -> None:
        self.page_requested.emit(ALL_REQUESTS)
        self._set_filter(text)

    def _set_filter(self, text: str) -> None:
        self._page.filter.bar.set_text(text)
        self._page.take_focus()

    def open_request(self, capture_id: str) -> None:
        """Show a request in the list of its endpoint, or say that it is no longer stored."""
        self._latest.run(partial(self._open_request, capture_id))

    @Slot(str)
    def open_deliveries(self, capture_id: str) -> None:
        """Show a request with its deliveries."""
        self._page.detail.show_tab_of(capture_id, DELIVERIES)
        self.open_request(capture_id)

    async def _open_request(self, capture_id: str) -> None:
        capture = await self._services.store.captures.get(capture_id)
        if capture is None:
            advice = "Its retention is over, or it or its endpoint was deleted."
            text = f"The request {capture_id} does not exist."
            self._messages.post(Message(text=text, advice=advice, tone="warning", key=NOT_FOUND))
            return
        self._messages.withdraw(NOT_FOUND)
        self.endpoint_requested.emit(capture.endpoint_id)
        self._page.go_to(capture)


NUMBERED = 9
"""The number of endpoints with a key of their own."""


class WindowCommands(Commands):
    """`registry` holds all. `page_requested` carries the name of a page, `endpoint_requested` an endpoint's
    ID.
    """

    context = IN_WINDOW
    page_requested = Signal(str)
    endpoint_requested = Signal(object)
    settings_requested = Signal()
    about_requested = Signal()
    quit_requested = Signal()

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        *,
        actions: EndpointActions,
        page: RequestsPage,
        window: QMainWindow,
    ) -> None:
        super().__init__(theme, actions.announced.emit, window)
        self._services, self._tasks, self._window = services, tasks, window
        self._page: str | None = None
        self._endpoint_id: int | None = None
        self.registry = CommandRegistry()
        self.palette = Palette(RecentEntries(services.data_folder), theme, window)
        self._numbers = tuple(self._number(number) for number in range(1, NUMBERED + 1))
        self.sources = PaletteSources(self.registry, services, tasks, page=page, numbers=self._numbers, parent=self)
        self.sources.page_requested.connect(self.page_requested)
        self.sources.endpoint_requested.connect(self.endpoint_requested)
        self.palette.entries, self.palette.typed_entries = self.sources.entries, self.sources.typed_entries
        self.palette.search_entries = self.sources.search_entries
        self.endpoint = page.endpoint_commands
        self._view = page.view_commands
        body_text = BodyTextCommands(theme, self._say, self)
        body_text.add_to(window)
        actions.new.add_to(window)
        self.registry.add(*page.commands.all(), *self._view.commands, *body_text.commands)
        self.registry.add(actions.new, *self.endpoint.for_palette())
        self._add_places()
        self._add_program()
        self.registry.add_series(f"Endpoint 1 to {NUMBERED}", self._numbers)
        self.palette.opening.connect(self.refresh)
        self.refresh()

    @Slot()
    def open_shortcuts(self) -> None:
        """The dialog lists the commands that the registry has now."""
        open_once(self._window, ShortcutsDialog, lambda: ShortcutsDialog(self.registry, self._theme, self._window))

    def show(self, page: str | None, endpoint_id: int | None = None) -> None:
        """The window now shows this page, or (None) the requests of this endpoint."""
        self._page, self._endpoint_id = page, endpoint_id
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Update texts and availability; the commands of the page refresh themselves."""
        self.endpoint.refresh()
        self._view.refresh()
        super().refresh()

    def _add_places(self) -> None:
        pages = [
            self._page_command("Dashboard", "dashboard", DASHBOARD),
            self._page_command("All requests", "all", ALL_REQUESTS),
            self._page_command("Deliveries", "forward", ALL_DELIVERIES, "Ctrl+Shift+D"),
            self._page_command("Refused requests", "refused", REFUSED),
            self._page_command("Tunnel", "tunnel", TUNNEL, "Ctrl+Shift+T"),
        ]
        place = partial(self._with_keys, group=CommandGroup.GO_TO)
        following, previous = partial(self._step, 1), partial(self._step, -1)
        self.registry.add(
            *pages,
            place("Next endpoint", "down", following, self._no_endpoints, "Ctrl+PgDown"),
            place("Previous endpoint", "up", previous, self._no_endpoints, "Ctrl+PgUp"),
        )

    def _page_command(self, text: str, icon: str, page: str, *keys: str) -> Command:
        run, unavailable = partial(self.page_requested.emit, page), partial(self._is_shown, page)
        return self._with_keys(text, icon, run, unavailable, *keys, group=CommandGroup.GO_TO)

    def _number(self, number: int) -> Command:
        run = partial(self._open_number, number)
        return self._with_keys(f"Endpoint {number}", None, run, None, f"Ctrl+{number}", group=CommandGroup.GO_TO)

    def _with_keys(self, *given: Any, **options: Any) -> Command:
        """A command whose keys work in the whole window."""
        command = self.command(*given, **options)
        if command.shortcuts():
            command.add_to(self._window)
        return command

    def _theme_command(self, text: str, icon: str, choice: Choice) -> Command:
        return self.command(text, icon, partial(self._select_theme, choice), partial(self._is_current_theme, choice))

    def _add_program(self) -> None:
        palette = self._with_keys("Command palette", "command", self.palette.toggle, None, "Ctrl+K")
        palette.setObjectName(PALETTE)
        shortcuts = self._with_keys("Keyboard shortcuts", "keyboard", self.open_shortcuts, None, "F1", "?")
        settings = self._with_keys("Settings", "settings", self.settings_requested.emit, None, "Ctrl+,")
        self.about = self.command("About Hookline", "info", self.about_requested.emit)
        leave = self._with_keys("Quit Hookline", "quit", self.quit_requested.emit, None, "Ctrl+Q")
        self.about.setMenuRole(QAction.MenuRole.AboutRole)
        settings.setMenuRole(QAction.MenuRole.PreferencesRole)
        leave.setMenuRole(QAction.MenuRole.QuitRole)
        self.registry.add(
            *(palette, shortcuts, settings),
            self._theme_command("Theme: light", "light", "light"),
            self._theme_command("Theme: dark", "theme", "dark"),
            self._theme_command("Theme: match system", "system", "system"),
            *(self.about, leave),
        )
        self.in_menu = (self.about, settings, leave)
        for command in self.in_menu:
            command.setIconVisibleInMenu(False)

    def _is_current_theme(self, choice: Choice) -> str | None:
        return "This theme is already in use." if choice == self._theme.choice else None

    def _select_theme(self, choice: Choice) -> None:
        """Use it, and save that in the settings."""
        self._theme.set_choice(choice)
        settings: Settings = replace(self._services.settings(), theme=choice)
        self._tasks.start(self._save(settings), "save the theme")

    async def _save(self, settings: Settings) -> None:
        await self._services.apply_settings(settings)

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
