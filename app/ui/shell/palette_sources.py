"""What the palette finds: commands, endpoints, saved filters, and what was typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.core.bodies.escape import escape
from app.core.fields import fields_of
from app.core.links import LinkError, RequestLink, link_to_request, parse_link
from app.core.model import Endpoint
from app.core.search.format import literal
from app.core.search.parse import parse
from app.core.search.query import Filter, QueryError, flatten
from app.ui.commands.command import Command, CommandGroup, CommandRegistry
from app.ui.commands.key_caps import KeyNames, key_names_of
from app.ui.commands.palette_rows import PaletteEntry
from app.ui.messages import Message
from app.ui.services import Services
from app.ui.settings.saved_settings import SavedSettings, shown_settings
from app.ui.shell.sidebar import ALL_REQUESTS
from app.ui.tasks import Latest, Tasks

if TYPE_CHECKING:
    from app.ui.requests.filter.saved import SavedFilter
    from app.ui.requests.page.requests_page import RequestsPage

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
    """Every command, except the one that opens the palette."""
    return [_entry(command) for command in registry.all() if command.isVisible() and command.objectName() != PALETTE]


def _entry(command: Command) -> PaletteEntry:
    return PaletteEntry(
        key=command.objectName() or command.name,
        text=escape(command.name),
        kind=command.group.value,
        run=command.run,
        icon=_ICONS[command.group] if command.icon_name is None else command.icon(),
        reason=command.reason,
        synonyms=command.synonyms,
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
    """Commands first, then endpoints, saved filters and settings; `numbers` open the first endpoints. The signals
    request what the window should show.
    """

    page_requested = Signal(str)
    endpoint_requested = Signal(object)
    setting_requested = Signal(str)

    def __init__(
        self,
        services: Services,
        tasks: Tasks,
        *,
        page: Callable[[], RequestsPage],
        numbers: Sequence[Command],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._services, self._page, self._messages = services, page, tasks.messages
        self._endpoint_keys = [key_names_of(command.shortcut()) for command in numbers]
        self._latest = Latest(self, tasks, "palette: open a request", only_reads=False)
        self.stop = self._latest.stop
        """Open no request any more: the window closes."""

    def entries(self, registry: CommandRegistry) -> list[PaletteEntry]:
        endpoints = zip(self._services.store.endpoints.all(), chain(self._endpoint_keys, repeat(())), strict=False)
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
        return [self._search_for(text, escape(text[:SHOWN_MAX]))] if _is_filter(text) else []

    def search_entries(self, text: str) -> list[PaletteEntry]:
        """A search for the text, word for word; none for an empty text."""
        text = text.strip()
        query = literal(text, self._page().filter.bar.line.maxLength())
        return [self._search_for(query, f"“{escape(text[:SHOWN_MAX])}”")] if query else []

    def _endpoint(self, endpoint: Endpoint, key_names: KeyNames) -> PaletteEntry:
        """Found by name and slug."""
        return PaletteEntry(
            key=f"endpoint {endpoint.id}",
            text=escape(endpoint.name),
            kind="Go to endpoint",
            run=partial(self.endpoint_requested.emit, endpoint.id),
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
            run=partial(self._filter, one.text),
            icon="saved",
            detail=escape(one.text[:SHOWN_MAX]),
        )

    def _setting(self, key: str) -> PaletteEntry:
        """Found by its title."""
        return PaletteEntry(
            key=f"setting {key}",
            text=fields_of(SavedSettings)[key].title,
            kind="Setting",
            run=partial(self.setting_requested.emit, key),
            icon="settings",
            synonyms="preferences options",
        )

    def _search_for(self, query: str, shown: str) -> PaletteEntry:
        return PaletteEntry("", f"Search all requests for {shown}", "Search", partial(self._search, query), "search")

    def _filter(self, text: str) -> None:
        """Filter the visible list, or all requests."""
        if not self._page().isVisible():
            self.page_requested.emit(ALL_REQUESTS)
        self._set_filter(text)

    def _search(self, text: str) -> None:
        self.page_requested.emit(ALL_REQUESTS)
        self._set_filter(text)

    def _set_filter(self, text: str) -> None:
        page = self._page()
        page.show_list()
        page.filter.bar.set_text(text)
        page.take_focus()

    def open_request(self, capture_id: str) -> None:
        """Show a request in the list of its endpoint, or say that it is no longer stored."""
        self._latest.run(partial(self._open_request, capture_id))

    @Slot(str)
    def open_deliveries(self, capture_id: str) -> None:
        """Show a request with its deliveries."""
        self._page().detail.show_deliveries_next(capture_id)
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
        self._page().go_to(capture)
