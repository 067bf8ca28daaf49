"""The palette's entries: commands, endpoints, saved filters and requests, and what running them shows."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal

from app.ui.commands.palette_entry import PaletteEntry
from app.ui.commands.palette_sources import commands, endpoints, saved_filters, typed, words
from app.ui.commands.registry import CommandRegistry
from app.ui.latest_only import Latest
from app.ui.messages import Message
from app.ui.requests.page.requests_page import EndpointPage
from app.ui.services import Services
from app.ui.shell.sidebar import ALL_REQUESTS
from app.ui.tasks import Tasks

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
            advice = "It was deleted: by retention, by a storage limit, or by hand."
            text = f"Request {capture_id} is not stored here."
            self._messages.post(Message(text=text, advice=advice, tone="warning", key=NOT_FOUND))
            return
        self._messages.withdraw(NOT_FOUND)
        self.endpoint_wanted.emit(capture.endpoint_id)
        self._page.go_to(capture)
