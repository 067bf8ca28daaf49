"""The palette's entries: commands, endpoints, saved filters, and what the typed text itself names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QKeySequence

from app.core.bodies.escape import escape
from app.core.links import LinkError, RequestLink, link_to_request, parse_link
from app.core.model import Endpoint
from app.core.search.format import literal
from app.core.search.parse import parse
from app.core.search.query import Filter, QueryError
from app.core.search.walk import walk
from app.ui.commands.command import Command, CommandGroup, CommandRegistry
from app.ui.commands.key_caps import caps_of
from app.ui.commands.palette_entry import PaletteEntry
from app.ui.latest_only import Latest
from app.ui.messages import Message
from app.ui.requests.filter.line import LENGTH_MAX
from app.ui.requests.filter.saved import SavedFilter
from app.ui.requests.page.requests_page import EndpointPage
from app.ui.services import Services
from app.ui.shell.sidebar import ALL_REQUESTS
from app.ui.tasks import Tasks

SHOWN_MAX = 200
"""Characters of a filter that a row shows: more never fit."""
PALETTE = "command palette"
"""The object name of the command that opens it."""
NUMBERED = 9
"""The number of endpoints with a key of their own, `number_keys`."""
_ICONS = {
    CommandGroup.REQUEST: "body",
    CommandGroup.LIST: "all",
    CommandGroup.ENDPOINT: "hook",
    CommandGroup.GO_TO: "expand",
    CommandGroup.PROGRAM: "command",
}


def number_keys(number: int) -> QKeySequence:
    """The keys that lead to the endpoint of this number, counted from 1."""
    return QKeySequence(f"Ctrl+{number}")


def commands(registry: CommandRegistry) -> list[PaletteEntry]:
    """Every command that can be run now or gives its reason, except the one that opens the palette."""
    return [
        _entry(command)
        for command in registry.all()
        if (command.isEnabled() or command.always_listed) and command.isVisible() and command.objectName() != PALETTE
    ]


def endpoints(all_endpoints: Sequence[Endpoint], go: Callable[[int], object]) -> list[PaletteEntry]:
    """Opens each endpoint, found by name and slug."""
    return [
        PaletteEntry(
            key=f"endpoint {endpoint.id}",
            text=escape(endpoint.name),
            kind="Go to endpoint",
            run=partial(go, endpoint.id),
            icon="hook",
            detail=endpoint.slug,
            caps=caps_of(number_keys(number)) if number <= NUMBERED else (),
        )
        for number, endpoint in enumerate(all_endpoints, 1)
    ]


def saved_filters(filters: Sequence[SavedFilter], use: Callable[[str], object]) -> list[PaletteEntry]:
    """Each saved filter, found by name and by its text."""
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


def typed(text: str, open_request: Callable[[str], object], search: Callable[[str], object]) -> list[PaletteEntry]:
    """What can be done with a text that is a request's id, a link to a request, or a filter."""
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


def words(text: str, search: Callable[[str], object]) -> list[PaletteEntry]:
    """A search for what is typed, word for word; none for nothing."""
    text = text.strip()
    query = literal(text, LENGTH_MAX)
    if not query:
        return []
    shown = f"Search all requests for “{escape(text[:SHOWN_MAX])}”"
    return [PaletteEntry("", shown, "Search", partial(search, query), "search")]


def _entry(command: Command) -> PaletteEntry:
    return PaletteEntry(
        key=command.objectName() or command.name,
        text=escape(command.name),
        kind=command.group.value,
        run=command.run,
        icon=_ICONS[command.group] if command.icon_name is None else command.icon(),
        detail=command.reason,
        caps=caps_of(command.shortcut()),
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
    """Whether the search language understands it and finds a filter in it; bare words are for commands."""
    try:
        return any(isinstance(leaf.term, Filter) for leaf in flatten(parse(text).terms))
    except QueryError:
        return False


NOT_FOUND = "no such request"
"""The message's key: the next request that opens removes it."""


class PaletteSources(QObject):
    """Commands first, then endpoints, then saved filters. The signals say what the window is to show."""

    page_wanted = Signal(str)
    endpoint_wanted = Signal(object)

    def __init__(
        self, registry: CommandRegistry, services: Services, tasks: Tasks, *, page: EndpointPage, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._registry, self._services, self._page, self._messages = registry, services, page, tasks.messages
        self._latest = Latest(tasks, "palette: open a request")

    def entries(self) -> list[PaletteEntry]:
        """All entries there are now."""
        return [
            *commands(self._registry),
            *endpoints(self._services.endpoints.all(), self.endpoint_wanted.emit),
            *saved_filters(self._page.filter.bar.saved.filters.all(), self._filter),
        ]

    def typed(self, text: str) -> list[PaletteEntry]:
        """What can be done with the text itself."""
        return typed(text, self._open, self._search)

    def words(self, text: str) -> list[PaletteEntry]:
        """A search for the words of the text."""
        return words(text, self._search)

    def _filter(self, text: str) -> None:
        """Filter the list that is shown, or that of all requests."""
        if not self._page.isVisible():
            self.page_wanted.emit(ALL_REQUESTS)
        self._page.filter.bar.set_text(text)
        self._page.take_focus()

    def _search(self, text: str) -> None:
        self.page_wanted.emit(ALL_REQUESTS)
        self._page.filter.bar.set_text(text)
        self._page.take_focus()

    def _open(self, capture_id: str) -> None:
        self._latest.run(partial(self._open_request, capture_id))

    async def _open_request(self, capture_id: str) -> None:
        capture = await self._services.captures.get(capture_id)
        if self._latest.superseded:
            return
        if capture is None:
            advice = "Its retention time is over, or someone deleted it or its endpoint."
            text = f"The request {capture_id} is not here."
            self._messages.post(Message(text=text, advice=advice, tone="warning", key=NOT_FOUND))
            return
        self._messages.withdraw(NOT_FOUND)
        self.endpoint_wanted.emit(capture.endpoint_id)
        self._page.go_to(capture)
