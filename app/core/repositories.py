"""What the window is handed: the doors to store, settings and server, typed by what the window needs of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.core.about import Component, Fact
from app.core.activity.bar import Bar
from app.core.clock_problem import ClockProblem
from app.core.deletion import Clearing, Hidden, Mark, MarkedIds, StoredIds
from app.core.events import Bus
from app.core.model import (
    Capture,
    Counts,
    Delivery,
    Endpoint,
    EndpointDraft,
    MirrorState,
    PageKey,
    Plan,
    PurgeReport,
    Refusal,
    SenderCount,
    StorageSize,
    StorageUse,
    Summary,
)
from app.core.providers.service import ProviderMark
from app.core.search.query import Query
from app.core.settings import Settings
from app.core.test_result import SentTest


class EndpointRepository(Protocol):
    """The directory of endpoints; the writing calls raise `HooklineError`s."""

    def all(self) -> tuple[Endpoint, ...]: ...
    def by_id(self, endpoint_id: int) -> Endpoint | None: ...
    def by_slug(self, slug: str) -> Endpoint | None: ...
    async def create(self, draft: EndpointDraft) -> Endpoint: ...
    async def update(self, endpoint_id: int, draft: EndpointDraft) -> Endpoint: ...
    async def move(self, endpoint_id: int, position: int) -> None: ...
    async def delete(self, endpoint_id: int) -> None: ...


class BulkDeleteRepository(Protocol):
    """Deletes all of an endpoint's requests later than it is asked for: what is stored meanwhile stays."""

    async def begin(self, endpoint_id: int, keep: Collection[Mark]) -> Clearing: ...
    async def finish(self, clearing: Clearing) -> None: ...
    def give_up(self, clearing: Clearing) -> None: ...
    async def marked(self, endpoint_id: int | None) -> MarkedIds: ...
    async def stored(self, ids: Sequence[str]) -> dict[int, StoredIds]: ...


class CaptureRepository(Protocol):
    """The stored requests. Those `hidden` are left out of pages and searches.

    `set_note` raises InvalidFieldsError (field `note`), NotFoundError when the request is not stored any more. `star`
    and `set_note` publish RequestsStarred and RequestNoted.
    """

    @property
    def clearings(self) -> BulkDeleteRepository: ...
    async def page(
        self,
        endpoint_id: int | None,
        *,
        before: PageKey | None = None,
        after: PageKey | None = None,
        limit: int = 100,
        hidden: Hidden | None = None,
    ) -> list[Summary]: ...
    def search(
        self,
        query: Query,
        endpoint_id: int | None,
        *,
        before: PageKey | None = None,
        limit: int = 100,
        searched: Callable[[int], None] | None = None,
        hidden: Hidden | None = None,
    ) -> AsyncGenerator[list[Summary], None]: ...
    async def get(self, capture_id: str) -> Capture | None: ...
    async def body(self, capture_id: str, offset: int = 0, length: int | None = None) -> bytes: ...
    async def mark_read(self, ids: Sequence[str], read: bool = True) -> None: ...
    async def mark_all_read(self, endpoint_id: int, *, hidden: Hidden | None = None) -> None: ...
    async def star(self, ids: Sequence[str], starred: bool = True) -> None: ...
    async def set_note(self, capture_id: str, note: str) -> None: ...
    async def delete(self, ids: Sequence[str]) -> None: ...
    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> None: ...
    def counts(self, endpoint_id: int) -> Counts: ...


class ActivityRepository(Protocol):
    """Requests over time."""

    async def bars(
        self, endpoint_id: int | None, edges: Sequence[int], *, hidden: Hidden | None = None
    ) -> list[Bar]: ...
    async def oldest(self, endpoint_id: int | None) -> int | None: ...
    async def last_outcomes(self) -> dict[int, MirrorState]: ...


class ProviderStatsRepository(Protocol):
    """Who sent the newest requests of an endpoint, or of all (None), and which events; the most frequent first."""

    async def lately(self, endpoint_id: int | None) -> Sequence[SenderCount]: ...


class DeliveryRepository(Protocol):
    """What became of mirrored requests."""

    async def of_capture(self, capture_id: str) -> list[Delivery]: ...
    async def response_body(self, delivery_id: str) -> bytes: ...


class AccountRepository(Protocol):
    """The one account of the data folder."""

    @property
    def plan(self) -> Plan: ...
    async def set_plan(self, plan: Plan) -> None: ...


class RetentionRepository(Protocol):
    """Deletes what has passed its days; tells how big the store is. `problem`: why nothing is deleted by age now."""

    @property
    def problem(self) -> ClockProblem | None: ...
    async def resume(self) -> None: ...

    @property
    def last_report(self) -> PurgeReport | None: ...
    @property
    def next_run_at(self) -> int | None: ...
    async def purge(self) -> PurgeReport: ...
    async def size(self) -> StorageSize: ...


class StorageLimitRepository(Protocol):
    """How much of the storage limits is used, and which are reached: of which endpoint, or of all (None)."""

    def use(self) -> StorageUse: ...
    def use_of(self, endpoint_id: int) -> StorageUse: ...
    def reached(self) -> Sequence[tuple[Endpoint | None, StorageUse]]: ...


class RefusedRepository(Protocol):
    """The requests that were not captured, newest first, the last 1,000."""

    @property
    def total(self) -> int: ...
    def newest(self) -> list[Refusal]: ...
    def raw(self, refusal_id: int) -> bytes | None: ...
    def clear(self) -> None: ...


class AboutService(Protocol):
    """What the program tells of itself. `runs` says how it is run; capture URLs start with `base_url`.

    `diagnostics` is the text for a bug report, without any secret, made with what the window knows of itself.
    """

    @property
    def runs(self) -> str: ...
    @property
    def base_url(self) -> str: ...
    def versions(self) -> Sequence[Fact]: ...
    async def licences(self) -> Sequence[Component]: ...
    async def diagnostics(self, window: Sequence[Fact]) -> str: ...


class AutostartService(Protocol):
    """The start at sign-in. All calls may block, so they belong on a thread; they raise `HooklineError`s.

    `unavailable` says why it cannot be switched, `replaced` which other command it is that signing in starts now.
    """

    def enabled(self) -> bool: ...
    def set(self, on: bool) -> None: ...
    def unavailable(self) -> str | None: ...
    def replaced(self) -> str | None: ...


@dataclass(frozen=True)
class Services:
    """Everything the window may call.

    `capture_url` gives an endpoint's public URL. `providers` names services by id, `provider_marks` has their marks.
    `listening` is the capture port's `host:port`, None while it is not accepting. `apply_settings` raises
    InvalidFieldsError or PortInUseError and then changes nothing. `send_test` posts a small request to the endpoint's
    capture URL, and raises a HooklineError unless it arrived and was answered.
    """

    endpoints: EndpointRepository
    captures: CaptureRepository
    activity: ActivityRepository
    senders: ProviderStatsRepository
    deliveries: DeliveryRepository
    account: AccountRepository
    retention: RetentionRepository
    limits: StorageLimitRepository
    refused: RefusedRepository
    bus: Bus
    capture_url: Callable[[Endpoint], str]
    providers: Mapping[str, str]
    provider_marks: Mapping[str, ProviderMark]
    own_bases: Callable[[], Sequence[str]]
    listening: Callable[[], str | None]
    settings: Callable[[], Settings]
    apply_settings: Callable[[Settings], Awaitable[None]]
    send_test: Callable[[Endpoint], Awaitable[SentTest]]
    about: AboutService
    autostart: AutostartService
    data_folder: Path
    version: str
