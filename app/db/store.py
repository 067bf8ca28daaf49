"""What the stores of both engines have: the same parts, on another writer, search and retention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self

from app.core.events import Event
from app.core.model import Counts
from app.core.providers import Identify
from app.core.team import Role
from app.db.captures import Captures
from app.db.deleting import Cleanup, IsDamage, Purging, StorageEviction
from app.db.deliveries.deliveries import Deliveries
from app.db.deliveries.replays import Replays
from app.db.deliveries.response_pairs import ResponsePairReader
from app.db.deliveries.targets import RemovedTargets, Targets
from app.db.endpoints import Account, Endpoints, Tunnels
from app.db.identification import Identification
from app.db.part import Shared
from app.db.queries import Activity, ProviderStats
from app.db.search.search import Search
from app.db.trash import Trash
from app.db.writer_thread import WriterThread

if TYPE_CHECKING:
    from app.db.search.background_index import BackgroundIndex
    from app.db.sqlite.backups import Backups
    from app.db.sqlite.damage import IntegrityCheck


class DatabaseFile(Protocol):
    """What a store can do whose database is a file of this machine."""

    backups: Backups
    integrity: IntegrityCheck

    def keep_reserve(self) -> None:
        """Create the disk reserve's file; a command that opens the store only briefly needs none."""
        ...


class Store:
    """All that is stored, and how this program uses it. Its public methods, and those of its parts, are called on the
    loop's thread."""

    place: str
    """The file's path, or the database's address without anything secret."""
    slow_search: str | None = None
    """Why searches are slow, and what helps, in sentences; None if they are not."""

    _publish: Callable[[Event], None]
    _writer: WriterThread
    _index: BackgroundIndex

    def __init__(
        self,
        shared: Shared,
        search: Search,
        cleanup: Cleanup,
        retention: Purging,
        identify: Identify | None,
        *,
        is_damage: IsDamage = lambda _: False,
    ) -> None:
        """`identify` finds the provider of a request; `is_damage` as in `Purging`."""
        self._request_counts = shared.counts
        self.limits, self.nodes, self.retention, self._cleanup = shared.limits, shared.nodes, retention, cleanup
        self._eviction = StorageEviction(shared, cleanup, is_damage)
        self._identification = Identification(shared, identify)
        self._removed_targets = RemovedTargets(shared)
        self.trash = Trash(shared, cleanup)
        self.account = Account(shared, self.trash)
        self.endpoints = Endpoints(shared, self._removed_targets, self.trash, retention.purge_soon)
        self.targets = Targets(shared, self._removed_targets)
        self.captures = Captures(
            shared,
            search,
            self.trash,
            cleanup=cleanup,
            identification=self._identification,
            removed_targets=self._removed_targets,
        )
        self.deliveries = Deliveries(shared, self.targets, self._removed_targets)
        self.replays = Replays(shared)
        self.tunnels = Tunnels(shared)
        self.response_pairs = ResponsePairReader(shared)
        self.activity = Activity(shared)
        self.senders = ProviderStats(shared)

    @classmethod
    async def open(cls, *given: Any, **options: Any) -> Self:
        """Open the store that these arguments of the constructor describe, created or upgraded if need be. If it cannot
        be used it is left unchanged."""
        store = cls(*given, **options)
        try:
            await store._load()
        except BaseException:
            await store.close()
            raise
        return store

    async def _load(self) -> None:
        raise NotImplementedError

    def _publish_and_index(self, event: Event) -> None:
        self._index.handle_event(event)
        self._publish(event)

    def _limit_exceeded(self) -> None:
        self._eviction.wake()

    def _count(self, counts: Mapping[int, Counts]) -> None:
        """Start with what is stored: of each endpoint, and the bytes of the other owners."""
        self.limits.load(counts)
        for endpoint in self.endpoints.all():
            self._request_counts.start(endpoint.id, counts[endpoint.id])
            self.limits.follow(endpoint)

    @property
    def file(self) -> DatabaseFile | None:
        """None where the database is on a server."""
        return None

    @property
    def role(self) -> Role:
        """What this program may do; everything else raises NotAllowedError."""
        return self._writer.role

    @property
    def works(self) -> bool:
        """Whether it does the work that one node does for all: forwarding, retention, storage limits."""
        return True

    def begin_shutdown(self) -> None:
        """Stop waiting for a lock that another program holds: Hookline is about to exit."""
        self._writer.begin_shutdown()

    async def close(self) -> None:
        """Stop background work, write what is queued, close all connections. Twice is harmless."""
        raise NotImplementedError

    async def _stop_work(self) -> None:
        """What works in the background; then write what waits."""
        await self._eviction.stop()
        await self._removed_targets.stop()
        await self.trash.stop()
        await self._cleanup.stop()
        await self._identification.stop()
        await self._index.stop()
        await self.captures.close()
