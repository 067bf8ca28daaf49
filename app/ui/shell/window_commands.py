"""The window's commands and their keys, and the dialogs that they open: settings, about, one comparison of targets for
each endpoint, and the palette and shortcuts dialog, made of the registry of all commands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow

from app.core.bodies.escape import escape
from app.core.links import LinkError, RequestLink, link_to_request, parse_link
from app.core.model import Capture, Endpoint
from app.core.record import fields_of
from app.core.rules import compare_refusal
from app.core.search.field import literal
from app.core.search.parse import parse
from app.core.search.query import Filter, QueryError, flatten
from app.ui.commands.body_text_commands import BodyTextCommands
from app.ui.commands.command import IN_WINDOW, Command, CommandGroup, CommandRegistry, Commands, KeyNames, PaletteEntry
from app.ui.desktop.desktop_integration import Desktop
from app.ui.endpoints.endpoint_actions import EndpointActions
from app.ui.messages import Message
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.settings import BACKUP, RESTORE, SavedSettings, shown_settings
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, REFUSED, REPLAYS, TUNNEL
from app.ui.store_commands import StoreCommands
from app.ui.tasks import Latest, Tasks
from app.ui.theme.theme import Choice, Theme
from app.ui.widgets.dialog import open_once

if TYPE_CHECKING:
    from app.ui.about_dialog import AboutDialog
    from app.ui.commands.palette import Palette
    from app.ui.requests.page.requests_page import RequestsPage
    from app.ui.requests.saved_filters import SavedFilter
    from app.ui.settings.dialog import SettingsDialog

_NUMBERED = 9
"""The number of endpoints with a key of their own."""
_SHOWN_MAX = 200
"""Maximum characters of a filter in a row; more never fit."""
_PALETTE = "command palette"
"""The object name of the command that opens the palette."""
NOT_OPENED = "not opened"
"""The key of the message that what an ID or a link names cannot be shown: the next one that opens removes it."""
GONE_ADVICE = "Its retention is over, or it or its endpoint was deleted."
_ICONS = {
    CommandGroup.REQUEST: "body",
    CommandGroup.LIST: "all",
    CommandGroup.ENDPOINT: "hook",
    CommandGroup.GO_TO: "expand",
    CommandGroup.PROGRAM: "command",
}


class WindowDialogs(QObject):
    """Each is open once. Emit `closing` when the window is closed."""

    closing = Signal()

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        *,
        qt_events: QtEvents,
        stores: StoreCommands,
        desktop: Desktop,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._services, self._theme, self._tasks = services, theme, tasks
        self._qt_events, self._stores, self._desktop, self._window = qt_events, stores, desktop, window

    @Slot()
    @Slot(str)
    def open_settings(self, key: str = "") -> None:
        """Open the settings at one of them or to begin a backup or restore."""
        from app.ui.settings.dialog import SettingsDialog  # start-up time: loaded when it is first opened

        def new() -> SettingsDialog:
            dialog = SettingsDialog(self._services, self._theme, self._tasks, self._window, self._desktop)
            dialog.store_requested.connect(self._stores.show_dialog)
            return dialog

        dialog = open_once(self._window, SettingsDialog, new)
        if key:
            dialog.reveal(key)

    @Slot()
    def open_about(self) -> AboutDialog:
        from app.ui.about_dialog import AboutDialog  # as above

        new = partial(AboutDialog, self._services, self._theme, self._tasks, self._window)
        return open_once(self._window, AboutDialog, new)

    @Slot()
    def copy_diagnostics(self) -> None:
        self.open_about().copy_diagnostics()

    @Slot(object)
    def compare(self, endpoint: Endpoint) -> None:
        """Compare the endpoint's targets."""
        from app.ui.comparison.dialog import ComparisonDialog  # as above

        current = self._services.store.endpoints.by_id(endpoint.id)
        if current is None or compare_refusal(current) is not None:
            return

        def new() -> ComparisonDialog:
            dialog = ComparisonDialog(current, self._services, self._theme, self._tasks, self._window)
            self._qt_events.endpoints_changed.connect(dialog.follow_endpoint)
            self.closing.connect(dialog.reject)
            return dialog

        open_once(self._window, ComparisonDialog, new, str(current.id))

    @Slot(object)
    def compare_requests(self, two: tuple[Capture, Capture]) -> None:
        """Compare two requests, the older one first."""
        from app.ui.comparison.requests_dialog import RequestsDialog  # as above

        def new() -> RequestsDialog:
            dialog = RequestsDialog(two, self._services, self._theme, self._tasks, self._window)
            self.closing.connect(dialog.reject)
            return dialog

        open_once(self._window, RequestsDialog, new, " ".join(request.id for request in two))


class WindowCommands(Commands):
    """`page_requested` carries the name of a page, `endpoint_requested` an endpoint's ID. `page` makes the page of
    requests if it is not there yet, and `others` are the window's commands that are made elsewhere."""

    context = IN_WINDOW
    page_requested = Signal(str)
    endpoint_requested = Signal(object)
    quit_requested = Signal()
    palette_opening = Signal()
    refreshed = Signal()

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        *,
        actions: EndpointActions,
        page: Callable[[], RequestsPage],
        dialogs: WindowDialogs,
        others: Sequence[Command],
        window: QMainWindow,
    ) -> None:
        super().__init__(theme, actions.announced.emit, window)
        self._services, self._tasks, self._dialogs, self._window = services, tasks, dialogs, window
        self._actions, self._page, self._others = actions, page, others
        self.page: str | None = None
        """The name of the one that is shown, None for that of the endpoint `endpoint_id`."""
        self.endpoint_id: int | None = None
        self._body_text = BodyTextCommands(theme, self._say, self)
        self._body_text.add_to(window)
        actions.new.add_to(window)
        self._make_places()
        self._make_program()
        self._listed = tuple(self.commands)
        self.numbers = tuple(self._number(number) for number in range(1, _NUMBERED + 1))
        self.sources = PaletteSources(services, tasks, page, dialogs, self)
        self.refresh()

    @cached_property
    def registry(self) -> CommandRegistry:
        """All commands of the window."""
        page, registry = self._page(), CommandRegistry()
        registry.add(*page.commands.all(), page.panes.back, *page.view_commands.commands, *self._body_text.commands)
        registry.add(self._actions.new, *page.endpoint_commands.for_palette())
        registry.add(*self._listed, *self._others)
        registry.add_series(f"Endpoint 1 to {_NUMBERED}", self.numbers)
        return registry

    @cached_property
    def palette(self) -> Palette:
        """Made when it is first opened: it would slow down the start of the window."""
        from app.ui.commands.palette import Palette, RecentEntries  # as above

        palette = Palette(
            RecentEntries(self._services.data_folder),
            self._theme,
            self._window,
            # Read now: the page of requests, which that makes, refreshes its commands as the palette opens.
            entries=partial(self.sources.entries, self.registry),
            typed_entries=self.sources.typed_entries,
            search_entries=self.sources.search_entries,
        )
        palette.opening.connect(self.refresh)
        palette.opening.connect(self.palette_opening)
        return palette

    @Slot()
    def open_palette(self) -> None:
        self.palette.open()

    @Slot()
    def open_shortcuts(self) -> None:
        """The dialog lists the commands that the registry has now."""
        from app.ui.commands.shortcuts_dialog import ShortcutsDialog  # start-up time

        open_once(self._window, ShortcutsDialog, lambda: ShortcutsDialog(self.registry, self._theme, self._window))

    def show(self, page: str | None, endpoint_id: int | None = None) -> None:
        """The window now shows this page, or (None) the requests of this endpoint."""
        self.page, self.endpoint_id = page, endpoint_id
        self.refresh()

    @property
    def lists_requests(self) -> bool:
        """Whether the window shows those of one endpoint or of all."""
        return self.page == ALL_REQUESTS or self.endpoint_id is not None

    def is_shown(self, page: str | None, endpoint_id: int | None = None) -> bool:
        return (page, endpoint_id) == (self.page, self.endpoint_id)

    @Slot()
    def refresh(self) -> None:
        """Update texts and availability, also those of the page of requests, which follow `refreshed`."""
        self.refreshed.emit()
        super().refresh()

    def _make_places(self) -> None:
        self._page_command("Dashboard", "dashboard", DASHBOARD)
        self._page_command("All requests", "all", ALL_REQUESTS)
        self._page_command("Deliveries", "forward", ALL_DELIVERIES, "Ctrl+Shift+D")
        self._page_command("Replays", "replays", REPLAYS, "Ctrl+Alt+R")
        self._page_command("Refused requests", "refused", REFUSED, synonyms="rejected")
        self._page_command("Tunnel", "tunnel", TUNNEL, "Ctrl+Shift+T")
        place = partial(self._with_keys, group=CommandGroup.GO_TO)
        following, previous = partial(self._step, 1), partial(self._step, -1)
        place("Next endpoint", "down", following, self._no_endpoints, "Ctrl+PgDown")
        place("Previous endpoint", "up", previous, self._no_endpoints, "Ctrl+PgUp")

    def _toggle_palette(self) -> None:
        self.palette.toggle()

    def _page_command(self, text: str, icon: str, page: str, *keys: str, synonyms: str = "") -> None:
        run, unavailable = partial(self.page_requested.emit, page), partial(self._is_open, page)
        self._with_keys(text, icon, run, unavailable, *keys, group=CommandGroup.GO_TO, synonyms=synonyms)

    def _number(self, number: int) -> Command:
        run = partial(self._open_number, number)
        return self._with_keys(f"Endpoint {number}", None, run, None, f"Ctrl+{number}", group=CommandGroup.GO_TO)

    def _with_keys(self, *given: Any, **options: Any) -> Command:
        """A command whose keys work in the whole window."""
        command = self.command(*given, **options)
        if command.shortcuts():
            command.add_to(self._window)
        return command

    def _theme_command(self, text: str, icon: str, choice: Choice) -> None:
        run, unavailable = partial(self._select_theme, choice), partial(self._is_current_theme, choice)
        self.command(text, icon, run, unavailable, synonyms="appearance colours")

    def _make_program(self) -> None:
        palette = self._with_keys("Command palette", "command", self._toggle_palette, None, "Ctrl+K")
        palette.setObjectName(_PALETTE)
        self._with_keys("Keyboard shortcuts", "keyboard", self.open_shortcuts, None, "F1", "?", synonyms="help")
        dialogs, synonyms = self._dialogs, "preferences options"
        settings = self._with_keys("Settings", "settings", dialogs.open_settings, None, "Ctrl+,", synonyms=synonyms)
        self._theme_command("Theme: light", "light", "light")
        self._theme_command("Theme: dark", "theme", "dark")
        self._theme_command("Theme: match system", "system", "system")
        backup, restore = (partial(dialogs.open_settings, key) for key in (BACKUP, RESTORE))
        self.command("Back up…", "download", backup, self._no_backup, synonyms="save archive export")
        self.command("Restore a backup…", "replays", restore, self._no_backup, synonyms="import")
        self.about = self.command("About Hookline", "info", dialogs.open_about, synonyms="version licences help")
        self.command("Copy diagnostics", "copy", dialogs.copy_diagnostics, synonyms="report")
        leave = self._with_keys("Quit Hookline", "quit", self.quit_requested.emit, None, "Ctrl+Q", synonyms="exit")
        # macOS moves these into the application's menu by their role.
        self.about.setMenuRole(QAction.MenuRole.AboutRole)
        settings.setMenuRole(QAction.MenuRole.PreferencesRole)
        leave.setMenuRole(QAction.MenuRole.QuitRole)
        self.in_menu = (self.about, settings, leave)
        for command in self.in_menu:
            command.setIconVisibleInMenu(False)

    def _no_backup(self) -> str | None:
        return None if self._services.store.file is not None else "A team’s store is backed up on its server."

    def _is_current_theme(self, choice: Choice) -> str | None:
        return "This theme is already in use." if choice == self._theme.choice else None

    def _select_theme(self, choice: Choice) -> None:
        """Use it, and save that in the settings."""
        self._theme.set_choice(choice)
        self._tasks.start(self._services.change_settings({"theme": choice}), "save the theme")

    def _open_number(self, number: int) -> None:
        for endpoint in self._services.store.endpoints.all()[number - 1 : number]:
            self.endpoint_requested.emit(endpoint.id)

    def _is_open(self, page: str) -> str | None:
        return "This page is already open." if self.is_shown(page) else None

    def _no_endpoints(self) -> str | None:
        return None if self._services.store.endpoints.all() else "There are no endpoints."

    def _step(self, by: int) -> None:
        """Go to the next or previous endpoint, wrapping around; from another page to the first or last."""
        ids = [endpoint.id for endpoint in self._services.store.endpoints.all()]
        if self.endpoint_id is not None and self.endpoint_id in ids:
            self.endpoint_requested.emit(ids[(ids.index(self.endpoint_id) + by) % len(ids)])
        elif ids:
            self.endpoint_requested.emit(ids[0 if by > 0 else -1])


def command_entries(registry: CommandRegistry) -> list[PaletteEntry]:
    """Every command, except the one that opens the palette."""
    return [_entry(command) for command in registry.all() if command.isVisible() and command.objectName() != _PALETTE]


def _entry(command: Command) -> PaletteEntry:
    return PaletteEntry(
        key=command.objectName() or command.name,
        text=escape(command.name),
        kind=command.group.value,
        run=command.run,
        icon=_ICONS[command.group] if command.icon_name is None else command.icon(),
        reason=command.reason,
        synonyms=command.synonyms,
        key_names=command.key_names,
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


class PaletteSources(QObject):
    """Commands first, then endpoints, saved filters and settings."""

    def __init__(
        self,
        services: Services,
        tasks: Tasks,
        page: Callable[[], RequestsPage],
        dialogs: WindowDialogs,
        commands: WindowCommands,
    ) -> None:
        super().__init__(commands)
        self._services, self._messages = services, tasks.messages
        self._page, self._dialogs, self._commands = page, dialogs, commands
        self._latest = Latest(self, tasks, "open a request", only_reads=False)
        dialogs.closing.connect(self._latest.stop)

    def entries(self, registry: CommandRegistry) -> list[PaletteEntry]:
        keys = (command.key_names for command in self._commands.numbers)
        endpoints = zip(self._services.store.endpoints.all(), chain(keys, repeat(())), strict=False)
        return [
            *command_entries(registry),
            *(self._endpoint(endpoint, keys) for endpoint, keys in endpoints),
            *map(self._saved_filter, self._page().filter.bar.saved.filters.all()),
            *map(self._setting, shown_settings(self._services)),
        ]

    def typed_entries(self, text: str) -> list[PaletteEntry]:
        """What the text itself names: a request by ID or link, or a filter."""
        text = text.strip()
        request = _request_id(text)
        if request is not None:
            run = partial(self.open_request, request)
            return [PaletteEntry("", f"Open request {request}", "Request", run, "body")]
        return [self._search_for(text, escape(text[:_SHOWN_MAX]))] if _is_filter(text) else []

    def search_entries(self, text: str) -> list[PaletteEntry]:
        """A search for the text, word for word; none for an empty text."""
        text = text.strip()
        query = literal(text)
        return [self._search_for(query, f"“{escape(text[:_SHOWN_MAX])}”")] if query else []

    def _endpoint(self, endpoint: Endpoint, key_names: KeyNames) -> PaletteEntry:
        """Found by name and slug."""
        return PaletteEntry(
            key=f"endpoint {endpoint.id}",
            text=escape(endpoint.name),
            kind="Go to endpoint",
            run=partial(self._commands.endpoint_requested.emit, endpoint.id),
            icon="hook",
            detail=endpoint.slug,
            key_names=key_names,
        )

    def _saved_filter(self, one: SavedFilter) -> PaletteEntry:
        """Found by name and text."""
        return PaletteEntry(
            key=f"filter {one.name}",
            text=escape(one.name),
            kind="Saved filter",
            run=partial(self._filter, one.text, of_all=False),
            icon="saved",
            detail=escape(one.text[:_SHOWN_MAX]),
        )

    def _setting(self, key: str) -> PaletteEntry:
        """Found by its title."""
        return PaletteEntry(
            key=f"setting {key}",
            text=fields_of(SavedSettings)[key].title,
            kind="Setting",
            run=partial(self._dialogs.open_settings, key),
            icon="settings",
            synonyms="preferences options",
        )

    def _search_for(self, query: str, shown: str) -> PaletteEntry:
        run = partial(self._filter, query, of_all=True)
        return PaletteEntry("", f"Search all requests for {shown}", "Search", run, "search")

    def _filter(self, text: str, *, of_all: bool) -> None:
        """Filter the requests `of_all` endpoints, or else the list that is visible, if one is."""
        page = self._page()
        if of_all or not page.isVisible():
            self._commands.page_requested.emit(ALL_REQUESTS)
        page.show_list()
        page.filter.bar.set_text(text)
        page.take_focus()

    def open_request(self, capture_id: str, gone: Message | None = None) -> None:
        """Show a request in the list of its endpoint, or say that it is no longer stored, in the words of `gone`."""
        text = f"The request {capture_id} does not exist."
        usual = Message(text=text, advice=GONE_ADVICE, tone="warning", key=NOT_OPENED)
        self._latest.run(partial(self._open_request, capture_id, gone or usual))

    def stop_opening(self) -> None:
        """Something else is shown meanwhile."""
        self._latest.stop()

    @Slot(str)
    def open_deliveries(self, capture_id: str) -> None:
        """Show a request with its deliveries."""
        self._page().detail.show_deliveries_next(capture_id)
        self.open_request(capture_id)

    async def _open_request(self, capture_id: str, gone: Message) -> None:
        capture = await self._services.store.captures.get(capture_id)
        if capture is None:
            self._messages.post(gone)
            return
        self._messages.withdraw(NOT_OPENED)
        self._commands.endpoint_requested.emit(capture.endpoint_id)
        self._page().go_to(capture)
