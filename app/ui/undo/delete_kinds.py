"""Pending deletions: of requests by ID, of all requests of an endpoint, or of an endpoint with its requests."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from itertools import count

from msgspec.structs import replace

from app.core.deletion import Clearing
from app.core.errors import HooklineError, NotFoundError
from app.core.events import RequestsRemoved
from app.core.model import Endpoint, Summary
from app.core.text import count_of
from app.ui.services import Services

_numbers = count(1)


class WaitingDelete:
    """`remaining_ms` is the time left, None until everything is hidden. `text` tells the user what is deleted."""

    span: Clearing | None = None
    """The range it hides, if it does not list IDs."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.remaining_ms: float | None = None
        self.finishing = False
        """Whether the store is deleting it or it was undone: too late to undo."""
        self.undone = False
        self.some_kept = False
        """Whether requests that it hid are still stored after all."""

    @property
    def text(self) -> str:
        """What is deleted, as a sentence."""
        raise NotImplementedError

    @property
    def endpoint_ids(self) -> frozenset[int]:
        """The endpoints affected."""
        raise NotImplementedError

    def hides(self, endpoint_id: int, capture_id: str) -> bool:
        """Whether it hides this request. Called on any thread."""
        raise NotImplementedError

    async def finish(self, services: Services) -> None:
        """Delete from the store. After a HooklineError, what has not been deleted yet is kept."""
        raise NotImplementedError

    def hides_endpoint(self, endpoint_id: int) -> bool:
        """Whether it hides this endpoint."""
        return False

    def hidden(self, endpoint_id: int) -> tuple[int, int]:
        """How many stored requests of the endpoint it hides, and how many of those are unread."""
        return 0, 0

    def request_stored(self, summary: Summary) -> None:
        """A request that it hides was stored only now: it was being received when the deletion began."""

    def removed(self, event: RequestsRemoved) -> None:
        """Requests were deleted from the store, by this deletion or otherwise."""

    def ends_with(self, event: RequestsRemoved) -> bool:
        """Whether this event of the store completes it."""
        return False

    async def give_up(self, services: Services) -> None:
        """Undo it."""


class WaitingRequests(WaitingDelete):
    """Requests by ID: hidden at once, then counted as they are found in the store."""

    def __init__(self) -> None:
        super().__init__()
        self._ids: set[str] = set()
        self._counts: dict[int, tuple[int, int]] = {}
        self._ordered: list[str] = []

    @property
    def text(self) -> str:
        """`Request deleted.`, `12 requests deleted.`"""
        many = len(self._ordered)
        return "Request deleted." if many == 1 else f"{count_of(many, 'request')} deleted."

    @property
    def endpoint_ids(self) -> frozenset[int]:
        return frozenset(self._counts)

    def hide(self, ids: Collection[str]) -> None:
        """Hide these requests, whether they are stored or not."""
        self._ids.update(ids)

    def add(self, endpoint_id: int, ids: Collection[str], unread: int) -> None:
        """Count these requests, which are stored; `unread` of them are unread."""
        self._ordered += ids
        total, before = self._counts.get(endpoint_id, (0, 0))
        self._counts[endpoint_id] = (total + len(ids), before + unread)

    def hides(self, endpoint_id: int, capture_id: str) -> bool:
        return capture_id in self._ids

    def hidden(self, endpoint_id: int) -> tuple[int, int]:
        """The requests that are not deleted yet."""
        return self._counts.get(endpoint_id, (0, 0))

    def removed(self, event: RequestsRemoved) -> None:
        """Stop counting requests that were deleted."""
        total, unread = self._counts.get(event.endpoint_id, (0, 0))
        if event.ids is None:
            self._counts.update({event.endpoint_id: (0, 0)} if total else {})
        elif total and (removed_count := sum(name in self._ids for name in event.ids)):
            less = event.unread if removed_count == len(event.ids) else min(removed_count, event.unread)
            self._counts[event.endpoint_id] = (max(0, total - removed_count), max(0, unread - less))

    async def finish(self, services: Services) -> None:
        await services.captures.delete(self._ordered)


class WaitingClearing(WaitingDelete):
    """All requests that an endpoint had when the deletion began, except those kept."""

    def __init__(self, clearing: Clearing, kept: int) -> None:
        super().__init__()
        self.span = self.clearing = clearing
        self._kept = kept
        self._deleted_elsewhere = 0

    @property
    def text(self) -> str:
        """`1,204 requests deleted.`, and how many are kept."""
        kept = f" {self._kept:,} kept." if self._kept else ""
        return f"{count_of(self.clearing.total, 'request')} deleted.{kept}"

    @property
    def endpoint_ids(self) -> frozenset[int]:
        return frozenset((self.clearing.endpoint_id,))

    def hides(self, endpoint_id: int, capture_id: str) -> bool:
        return self.clearing.has(endpoint_id, capture_id)

    def hidden(self, endpoint_id: int) -> tuple[int, int]:
        one = self.clearing
        if endpoint_id != one.endpoint_id:
            return 0, 0
        return max(0, one.total - one.deleted - self._deleted_elsewhere), max(0, one.unread - one.deleted_unread)

    def request_stored(self, summary: Summary) -> None:
        self.clearing.total += 1
        self.clearing.unread += not summary.read

    def removed(self, event: RequestsRemoved) -> None:
        """Stop counting requests that were deleted elsewhere."""
        if event.endpoint_id == self.clearing.endpoint_id and event.ids is not None:
            self._deleted_elsewhere += sum(self.clearing.has(event.endpoint_id, name) for name in event.ids)

    def ends_with(self, event: RequestsRemoved) -> bool:
        """Events do not identify the deletion, so compare its progress."""
        return (event.endpoint_id, event.upto) == (self.clearing.endpoint_id, self.clearing.upto)

    async def finish(self, services: Services) -> None:
        await services.captures.clearings.finish(self.clearing)
        self.some_kept = self.clearing.marked_late

    async def give_up(self, services: Services) -> None:
        services.captures.clearings.give_up(self.clearing)


class WaitingEndpoint(WaitingDelete):
    """An endpoint with all its requests. It is disabled meanwhile, so that no request is accepted only to be deleted.
    If Hookline is killed during that time, the endpoint is complete but disabled at the next start.
    """

    def __init__(self, endpoint: Endpoint, requests: int) -> None:
        super().__init__()
        self.endpoint = endpoint
        self.span = Clearing(endpoint.id)
        self._requests = requests

    @property
    def text(self) -> str:
        """Its name, and how many requests are deleted with it."""
        with_them = f" with {count_of(self._requests, 'request')}" if self._requests else ""
        return f"“{self.endpoint.name}” deleted{with_them}."

    @property
    def endpoint_ids(self) -> frozenset[int]:
        return frozenset((self.endpoint.id,))

    def hides(self, endpoint_id: int, capture_id: str) -> bool:
        return endpoint_id == self.endpoint.id

    def hides_endpoint(self, endpoint_id: int) -> bool:
        return endpoint_id == self.endpoint.id

    async def switch_off(self, services: Services) -> None:
        if self.endpoint.active:
            await services.endpoints.update(self.endpoint.id, replace(self.endpoint.draft(), active=False))

    async def finish(self, services: Services) -> None:
        """If a script enabled the endpoint again, it may have captured more requests: then it is kept."""
        current = services.endpoints.by_id(self.endpoint.id)
        if current is not None and current.active:
            raise HooklineError(f"“{current.name}” was switched on again, so it was not deleted.")
        with contextlib.suppress(NotFoundError):  # A script deleted it first.
            await services.endpoints.delete(self.endpoint.id)

    async def give_up(self, services: Services) -> None:
        """Enable it again if it was enabled, keeping what a script changed meanwhile."""
        current = services.endpoints.by_id(self.endpoint.id)
        if current is not None and self.endpoint.active and not current.active:
            await services.endpoints.update(current.id, replace(current.draft(), active=True))
