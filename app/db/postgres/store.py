"""The store of a team: builds its parts, opens them in order and closes them in reverse order."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial

from msgspec.structs import replace
from peewee import Database

from app.core.clock import now_us
from app.core.delivery import QueuedDelivery
from app.core.errors import StorageUnavailableError
from app.core.events import (
    Captured,
    DeletionUndone,
    DeliveriesQueued,
    EndpointRemoved,
    EndpointSaved,
    EndpointsReordered,
    Event,
    PlanChanged,
    StorageTrouble,
)
from app.core.model import Endpoint
from app.core.providers import Identify
from app.core.role import Role
from app.db.captures import Captures
from app.db.counts import RequestCounts
from app.db.deleting import Cleanup
from app.db.deliveries.deliveries import Deliveries
from app.db.deliveries.replays import Replays
from app.db.deliveries.response_pairs import ResponsePairReader
from app.db.deliveries.targets import RemovedTargets, Targets
from app.db.endpoint_directory import EndpointDirectory
from app.db.endpoints import Account, Endpoints, Tunnels
from app.db.eviction import StorageEviction
from app.db.identification import Identification
from app.db.part import Shared
from app.db.postgres.database import PostgresDatabase, is_lost, shown, trouble
from app.db.postgres.follow import Changes, Follower, Listener, Notices
from app.db.postgres.nodes import Beat, Nodes
from app.db.postgres.retention import Retention
from app.db.postgres.roles import not_allowed
from app.db.postgres.search.indexing import MISSING, Index, operators_of
from app.db.postgres.search.search import Search
from app.db.postgres.writer import CLOSING_PATIENCE_S, Writer
from app.db.queries import Activity, ProviderStats
from app.db.raw_sql import execute
from app.db.readers import Readers
from app.db.storage_limits import StorageLimits
from app.db.trash import Trash
from app.db.writer_thread import Inserts

PURGE_INTERVAL_S = 900.0
DELETIONS = 1 << 32
"""Numbers for the deletions of each run of a node: those of two never meet, and tell which run began a deletion."""
LIMITS = "storage limits"
"""The job of keeping below them."""


class Store:
    """A node's way to the store. Its public methods, and those of its repositories, are called on the loop's thread."""

    def __init__(
        self,
        url: str,
        publish: Callable[[Event], None],
        own_bases: Callable[[], Sequence[str]],
        *,
        clock: Callable[[], int],
        purge_interval_s: float,
        identify: Identify | None,
        works: bool,
        base_url: Callable[[], str | None],
    ) -> None:
        self.place, self._publish, self._may_work = shown(url), publish, works
        self._evicting: asyncio.Task[None] | None = None
        self._taking_over: asyncio.Task[None] | None = None
        self._reading_plan: asyncio.Task[None] | None = None
        self.slow_search: str | None = None
        """Why searches are slow, and what helps, in sentences."""
        self._closing = asyncio.Lock()
        self._deleted: set[int] = set()
        """Endpoints that other nodes have deleted, and may restore."""
        self._request_counts, self._directory = RequestCounts(for_all_nodes=True), EndpointDirectory()
        self.limits = StorageLimits(publish, self._request_counts, self._limit_exceeded)
        self._follower = Follower()
        self._writer = Writer(
            url,
            Inserts(self._request_counts, self.limits, self._tell),
            self._follower,
            on_trouble=self._trouble_changed,
            on_changes=self._follow,
            on_refused=self._refused,
        )
        self._reading = PostgresDatabase(url, read_only=True), PostgresDatabase(url)
        """What nothing is lost with: those of the readers and of the index."""
        self._readers = Readers(
            self._reading[0], trouble, is_lost=is_lost, not_allowed=lambda error: not_allowed(error, self.role)
        )
        self._index = Index(self._reading[1])
        self.nodes = Nodes(
            self._writer,
            self._readers,
            self._follower,
            publish,
            on_beat=self._node_changed,
            look=self._writer.look,
            captures=works,
            base_url=base_url,
        )
        self._listener = Listener(url, self._follower, self._writer.follow)
        self._notices = Notices(self._writer)
        shared = Shared(
            self._writer,
            self._readers,
            self._directory,
            self._request_counts,
            self.limits,
            self._tell,
            own_bases,
            clock,
            lambda: self._writer.user,
        )
        self._cleanup = Cleanup(shared, rows=256, parts=4)
        self._eviction = StorageEviction(shared, self._cleanup)
        self._identification = Identification(shared, identify)
        self.retention = Retention(shared, self._cleanup, self.nodes, interval_s=purge_interval_s)
        self.trash = Trash(shared, self._cleanup)
        self.account = Account(shared, self.trash)
        self._removed_targets = RemovedTargets(shared)
        self.endpoints = _Endpoints(
            shared, self._removed_targets, self.trash, self.retention.purge_soon, self._writer.look
        )
        self.targets = Targets(shared, self._removed_targets)
        self.captures = Captures(
            shared,
            Search(shared),
            self.trash,
            cleanup=self._cleanup,
            identification=self._identification,
            removed_targets=self._removed_targets,
        )
        self.deliveries = _Deliveries(shared, self.targets, self._removed_targets, self.nodes)
        self.replays = Replays(shared)
        self.tunnels = Tunnels(shared)
        self.response_pairs = ResponsePairReader(shared)
        self.activity = Activity(shared)
        self.senders = ProviderStats(shared)

    @classmethod
    async def open(
        cls,
        url: str,
        publish: Callable[[Event], None],
        own_bases: Callable[[], Sequence[str]] = tuple,
        *,
        clock: Callable[[], int] = now_us,
        purge_interval_s: float = PURGE_INTERVAL_S,
        identify: Identify | None = None,
        works: bool = True,
        base_url: Callable[[], str | None] = lambda: None,
    ) -> Store:
        """Open the store at `url`, created or upgraded if need be. `identify` finds the provider of a request. With
        `works` it captures, and does what one node does for all, as far as its role allows; `base_url` is what its
        capture URLs begin with.

        StoreAddressError when it cannot be used; then it is left unchanged.
        """
        store = cls(
            url,
            publish,
            own_bases,
            clock=clock,
            purge_interval_s=purge_interval_s,
            identify=identify,
            works=works,
            base_url=base_url,
        )
        try:
            await store._load()
        except BaseException:
            await store.close()
            raise
        return store

    @property
    def file(self) -> None:
        """It is the server's."""

    @property
    def role(self) -> Role:
        return self._writer.role

    @property
    def works(self) -> bool:
        return self._may_work and self.role is Role.MEMBER

    def begin_shutdown(self) -> None:
        self._writer.begin_shutdown()

    async def close(self) -> None:
        self._writer.begin_shutdown()
        cutting = asyncio.get_running_loop().call_later(CLOSING_PATIENCE_S, self._cut_readers)
        async with self._closing:
            await self._listener.stop()
            await self.retention.stop()
            await self._eviction.stop()
            await self._removed_targets.stop()
            await self._cleanup.stop()
            await self._identification.stop()
            await self._index.stop()
            await self.captures.close()
            await self.trash.stop()
            await self.trash.undo_all()
            self._notices.flush()
            await self.nodes.stop()
            await self._readers.close()
            await self._writer.close()
        cutting.cancel()

    def _cut_readers(self) -> None:
        for database in self._reading:
            database.cut(closing=True)

    async def _load(self) -> None:
        await self._writer.start()
        await self._readers.connect()
        await self.nodes.start(self.role, works=self.works)
        reads = self.role is not Role.CAPTURE
        await self._writer.run(partial(self._follower.start, reads=reads))
        await self.account.load()
        await self.endpoints.load(secrets=reads)
        counts = await self._writer.run(self._follower.counts)
        self.limits.load(counts)
        for endpoint in self.endpoints.all():
            self._request_counts.start(endpoint.id, counts[endpoint.id])
            self.limits.follow(endpoint)
        if self.role is not Role.MEMBER:
            await self._cleanup.stop()
        if not self.works:
            await self._identification.stop()
            await self._index.stop()
        await self.captures.load(alone=False)
        self.trash.number_from(self.nodes.number * DELETIONS + 1)
        if self.works:
            self._identification.wake()
            await self._removed_targets.load()
            await self.nodes.claim(LIMITS)
            self._index.start(self._request_counts.newest_seq)
        if await self._readers.run(operators_of) is None:
            self.slow_search = MISSING
        self._listener.start()

    def _publish_and_index(self, event: Event) -> None:
        self._index.handle_event(event)
        self._publish(event)

    def _limit_exceeded(self) -> None:
        if self.nodes.owns(LIMITS):
            self._eviction.wake()
            return
        self._evicting = asyncio.get_running_loop().create_task(self._evict(), name="hookline-limits")

    async def _evict(self) -> None:
        with contextlib.suppress(StorageUnavailableError):
            if await self.nodes.claim(LIMITS) is not False:
                self._eviction.wake()

    def _trouble_changed(self, reason: str | None) -> None:
        self._publish(StorageTrouble(reason=reason))

    def _refused(self) -> None:
        self.nodes.refused()

    # -- what other nodes did ------------------------------------------------------------------------------------

    def _tell(self, event: Event) -> None:
        self._notices.add(event)
        self._publish_and_index(event)

    def _node_changed(self, beat: Beat) -> None:
        """Tell what is restored, let the forwarder take what nobody sends, and end what nobody can."""
        self.trash.restore_failed()
        self._removed_targets.resume()
        for event in beat.undone:
            self._tell(event)
        gone = [number for number in beat.free_targets if self.targets.by_id(number) is None]
        free = tuple(number for number in beat.free_targets if number not in gone)
        if free:
            self._publish(DeliveriesQueued(target_ids=free, shown={}))
        if beat.dead or gone:
            self.retention.purge_soon()
            self._cleanup.wake()
            self._taking_over = asyncio.get_running_loop().create_task(self._end(gone), name="hookline-take-over")

    async def _end(self, gone: Sequence[int]) -> None:
        with contextlib.suppress(StorageUnavailableError):
            await self.deliveries.end_removed(gone)

    def _follow(self, changes: Changes) -> None:
        """Take over what other nodes changed, and tell about it."""
        known = {endpoint.id: endpoint for endpoint in self._directory.all()}
        changed = []
        for endpoint in changes.changed:
            before = known.get(endpoint.id)
            self._directory.forget(endpoint)  # it may have been deleted, and restored elsewhere
            self._directory.keep(endpoint)
            if before is None or replace(before, version=endpoint.version) != endpoint:
                changed.append(endpoint)
                self.limits.follow(endpoint)
        self.limits.follow_all(changes.counts)
        for number in known.keys() - set(changes.order):
            self._forget(known[number])
        for endpoint in self._directory.all():
            if endpoint.id in changes.counts:
                self._request_counts.start(endpoint.id, changes.counts[endpoint.id])
        for endpoint in changed:
            is_new = endpoint.id not in known and endpoint.id not in self._deleted
            self._publish(EndpointSaved(endpoint=endpoint, created=is_new))
        if tuple(endpoint.id for endpoint in self._directory.all()) != changes.order:
            self._publish(EndpointsReordered(endpoint_ids=self._directory.reorder(changes.order)))
        if changes.stored:
            self._request_counts.newest_seq = changes.stored[-1].seq
            self._identification.wake()  # a node that may only capture identifies no long body
            self._publish_and_index(Captured(summaries=changes.stored))
        for event in changes.events:
            self._heard(event)

    def _heard(self, event: Event) -> None:
        if isinstance(event, PlanChanged):
            self._reading_plan = asyncio.get_running_loop().create_task(self._read_plan(), name="hookline-plan")
            return
        if isinstance(event, DeletionUndone):
            self.trash.was_restored(event.number)
        self._publish_and_index(event)

    async def _read_plan(self) -> None:
        with contextlib.suppress(StorageUnavailableError):
            await self.account.load()
            self._publish(PlanChanged())

    def _forget(self, endpoint: Endpoint) -> None:
        self._deleted.add(endpoint.id)
        self._directory.trash(endpoint)
        self._directory.forget(endpoint)
        self._request_counts.forget(endpoint.id)
        self.limits.forget(endpoint.id)
        self._publish(EndpointRemoved(endpoint=endpoint))


_VERSION = "SELECT id, version FROM endpoint WHERE slug = ? AND trashed IS NULL"


class _Endpoints(Endpoints):
    """Other nodes change them, too."""

    def __init__(
        self,
        shared: Shared,
        removed_targets: RemovedTargets,
        trash: Trash,
        retention_changed: Callable[[], None],
        look: Callable[[], Awaitable[None]],
    ) -> None:
        """`look` takes over what other nodes changed."""
        super().__init__(shared, removed_targets, trash, retention_changed)
        self._look = look

    async def look_again(self, slug: str) -> bool:
        """A single read, of what is about to be refused: so a flood of requests to unknown paths stays cheap."""

        def job(database: Database) -> tuple[int, int] | None:
            found: tuple[int, int] | None = execute(database, _VERSION, (slug,)).fetchone()
            return found

        known = self.by_slug(slug)
        stored = await self._readers.run(job)
        if stored == (None if known is None else (known.id, known.version)):
            return False
        await self._look()
        return True


class _Deliveries(Deliveries):
    """Any node may send them, each target's by one of them."""

    def __init__(self, shared: Shared, targets: Targets, removed_targets: RemovedTargets, nodes: Nodes) -> None:
        super().__init__(shared, targets, removed_targets)
        self._nodes = nodes
        self._unmarked: set[int] = set()
        """Targets that were claimed, and what was being sent to them is not marked yet."""

    async def claim(self, target_id: int) -> bool:
        """What the node that had the target before was sending may have been received: that is marked."""
        claimed = await self._nodes.claim(f"target {target_id}")
        if claimed:
            self._unmarked.add(target_id)
        if claimed is not False and target_id in self._unmarked:
            await self.interrupt(target_id)
            self._unmarked.discard(target_id)
        return claimed is not False

    async def queued(
        self, target_id: int, limit: int, *, due_at: int | None = None, without: Collection[str] = ()
    ) -> list[QueuedDelivery]:
        """Empty after other nodes took this one for dead: its sender then stops, and claims the target again."""
        if self._nodes.has_lost(f"target {target_id}"):
            return []
        return await super().queued(target_id, limit, due_at=due_at, without=without)

    async def next_due_at(self, target_id: int, *, without: Collection[str] = ()) -> int | None:
        if self._nodes.has_lost(f"target {target_id}"):
            return None
        return await super().next_due_at(target_id, without=without)

    async def end_removed(self, target_ids: Iterable[int]) -> None:
        """Nobody sends what is queued for these, which are gone: their nodes died before they could end it."""
        for target_id in target_ids:
            if await self.claim(target_id):
                self._removed_targets.check([target_id])
