"""What the local API needs from the rest of the program."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.core.clock_problem import ClockProblem
from app.core.deletion import Mark
from app.core.model import (
    Capture,
    Counts,
    Delivery,
    Endpoint,
    EndpointDraft,
    MirrorState,
    PageKey,
    Plan,
    Refusal,
    StorageSize,
    StorageUse,
    Summary,
)
from app.core.search.query import Query
from app.core.settings import Settings


class EndpointsDoor(Protocol):
    """The endpoints: read from memory, changed in the store."""

    def all(self) -> tuple[Endpoint, ...]: ...

    def by_slug(self, slug: str) -> Endpoint | None: ...

    def by_id(self, endpoint_id: int) -> Endpoint | None: ...

    async def create(self, draft: EndpointDraft) -> Endpoint: ...

    async def update(self, endpoint_id: int, draft: EndpointDraft) -> Endpoint: ...

    async def move(self, endpoint_id: int, position: int) -> None: ...

    async def delete(self, endpoint_id: int) -> None: ...


class CapturesDoor(Protocol):
    """The stored requests."""

    async def page(
        self,
        endpoint_id: int | None,
        *,
        before: PageKey | None = None,
        after: PageKey | None = None,
        limit: int = 100,
        beginning: str | None = None,
    ) -> list[Summary]: ...

    def search(
        self, query: Query, endpoint_id: int | None, *, before: PageKey | None = None, limit: int = 100
    ) -> AsyncGenerator[list[Summary], None]: ...

    async def get(self, capture_id: str) -> Capture | None: ...

    async def body(self, capture_id: str, offset: int = 0, length: int | None = None) -> bytes: ...

    async def mark_read(self, ids: Sequence[str], read: bool = True) -> None: ...

    async def star(self, ids: Sequence[str], starred: bool = True) -> None: ...

    async def set_note(self, capture_id: str, note: str) -> None: ...

    async def delete(self, ids: Sequence[str]) -> None: ...

    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> None: ...

    def counts(self, endpoint_id: int) -> Counts: ...


class DeliveriesDoor(Protocol):
    """What became of mirrored requests."""

    async def of_capture(self, capture_id: str) -> list[Delivery]: ...

    async def page(
        self,
        endpoint_id: int | None = None,
        state: MirrorState | None = None,
        *,
        before: int | None = None,
        limit: int = 100,
    ) -> list[tuple[int, Delivery]]: ...


class RefusedDoor(Protocol):
    """Requests that were not captured."""

    total: int

    def newest(self) -> list[Refusal]: ...

    def raw(self, refusal_id: int) -> bytes | None: ...


class AccountDoor(Protocol):
    """The account's plan."""

    @property
    def plan(self) -> Plan: ...

    async def set_plan(self, plan: Plan) -> None: ...


class RetentionDoor(Protocol):
    """The database's size, and what keeps requests from being deleted by age."""

    @property
    def problem(self) -> ClockProblem | None: ...

    async def resume(self) -> None: ...

    async def size(self) -> StorageSize: ...


class LimitsDoor(Protocol):
    """How much of the storage limits is used."""

    def use(self) -> StorageUse: ...

    def use_of(self, endpoint_id: int) -> StorageUse: ...


@dataclass(frozen=True)
class ApiServices:
    """Everything handed to the API. The callables are asked at each request, so that changed settings show at once."""

    endpoints: EndpointsDoor
    captures: CapturesDoor
    deliveries: DeliveriesDoor
    refused: RefusedDoor
    account: AccountDoor
    retention: RetentionDoor
    limits: LimitsDoor
    version: str
    base_url: Callable[[], str]
    """What capture URLs start with: the public base URL, or the capture port's own address."""
    capture_url: Callable[[], str | None]
    """The capture port's own address; None while it is closed."""
    endpoint_url: Callable[[Endpoint], str]
    """The URL to give to senders."""
    storage_trouble: Callable[[], str | None]
    """Why storing fails now, in words; None when it works."""
    warnings: Callable[[], tuple[str, ...]]
    """What else is wrong, in words, though storing works."""
    uptime_s: Callable[[], float]
    settings: Callable[[], Settings]
    apply_settings: Callable[[Settings], Awaitable[None]]
    """Puts other settings into force; InvalidFieldsError or PortInUseError changes nothing."""
