"""The store of a team: builds its parts, opens them in order and closes them in reverse order. Its retention goes by
the server's clock: those of the nodes differ."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace
from peewee import Database

from app.core.clock import now_us
from app.core.errors import NotAllowedError, StorageUnavailableError
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
from app.core.model import Endpoint, StorageSize
from app.core.providers import Identify
from app.core.team import Role
from app.db.counts import SIZE, RequestCounts
from app.db.deleting import LIMITS, Cleanup, Purging, count_expired
from app.db.models import KEYS_PER_BODY
from app.db.part import EndpointDirectory, Shared
from app.db.postgres.database import SCHEMA, PostgresDatabase, is_lost, shown, trouble
from app.db.postgres.follow import NOTICES_S, SHARED_EVENTS, Changes, Follower, Listener, write_notice
from app.db.postgres.nodes import Beat, TeamNodes
from app.db.postgres.roles import not_allowed
from app.db.postgres.schema import drop_partition, emptied_partitions
from app.db.postgres.search import MISSING, Index, Search, operators_of
from app.db.postgres.writer import CLOSING_PATIENCE_S, Writer
from app.db.raw_sql import execute
from app.db.readers import Readers
from app.db.storage_limits import StorageLimits
from app.db.store import Store as AnyStore
from app.db.writer_thread import WrittenLater

DELETIONS = 1 << 32
"""Numbers for the deletions of each run of a node: those of two never meet, and tell which run began a deletion."""


class Store(AnyStore):
    """A node's way to the store."""

    nodes: TeamNodes
    _writer: Writer
    _index: Index

    def __init__(
        self,
        url: str,
        publish: Callable[[Event], None],
        own_bases: Callable[[], Sequence[str]] = tuple,
        *,
        clock: Callable[[], int] = now_us,
        identify: Identify | None = None,
        works: bool = True,
        base_url: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`identify` finds the provider of a request. With `works` it captures, and does what one node does for all, as
        far as its role allows; `base_url` is what its capture URLs begin with."""
        self._publish, self.place, self._may_work = publish, shown(url), works
        self._taking_over: asyncio.Task[None] | None = None
        self._reading_plan: asyncio.Task[None] | None = None
        self._looking_again: asyncio.Task[None] | None = None
        self._closing = asyncio.Lock()
        self._deleted: set[int] = set()
        """Endpoints that other nodes have deleted, and may restore."""
        counts, self._directory = RequestCounts(for_all_nodes=True), EndpointDirectory()
        limits = StorageLimits(publish, counts, self._limit_exceeded)
        self._follower = Follower()
        self._writer = Writer(
            url,
            self._follower,
            counts,
            limits,
            self._tell,
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
        nodes = TeamNodes(
            self._writer,
            self._readers,
            self._follower,
            publish,
            on_beat=self._node_changed,
            captures=works,
            base_url=base_url,
        )
        self._listener = Listener(url, self._follower, self._writer.follow)
        self._notices = WrittenLater(self._writer, write_notice, "events for other nodes", delay_s=NOTICES_S)
        shared = Shared(
            self._writer,
            self._readers,
            self._directory,
            counts,
            limits,
            nodes,
            self._tell,
            own_bases,
            clock,
        )
        cleanup = Cleanup(shared, rows=256, parts=4)
        super().__init__(shared, Search(shared), cleanup, Retention(shared, cleanup), identify)

    @property
    def works(self) -> bool:
        return self._may_work and self.role is Role.MEMBER

    async def close(self) -> None:
        self.begin_shutdown()
        cutting = asyncio.get_running_loop().call_later(CLOSING_PATIENCE_S, self._cut_readers)
        async with self._closing:
            await self._listener.stop()
            await self.retention.stop()
            await self._stop_work()
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
        self._count(await self._writer.run(self._follower.counts))
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
            await self.nodes.claim(LIMITS)  # unless another node has it
            self._index.start(self._request_counts.newest_seq)
        if await self._readers.run(operators_of) is None:
            self.slow_search = MISSING
        self._listener.start()

    def _refused(self, error: NotAllowedError) -> None:
        self.nodes.refused(error)

    def _trouble_changed(self, reason: str | None) -> None:
        self._publish(StorageTrouble(reason=reason))
        if reason is None and self.role is not Role.READER:
            self._looking_again = asyncio.get_running_loop().create_task(self._look_again(), name="hookline-look-again")

    async def _look_again(self) -> None:
        """A commit whose outcome nobody knew may have stored part of a body, queued deliveries or removed a target."""
        with contextlib.suppress(StorageUnavailableError):
            await self.nodes.catch_up()
            for body_key in await self._writer.run(_arriving):
                if not self.limits.arriving(body_key):
                    await self.captures.drop_parts(body_key)
            if self.works:
                await self._removed_targets.load()
            if self.role is Role.MEMBER and (targets := await self.deliveries.targets_with_queued()):
                self._tell(DeliveriesQueued(target_ids=tuple(targets), shown={}))

    # -- what other nodes did ------------------------------------------------------------------------------------

    def _tell(self, event: Event) -> None:
        if isinstance(event, SHARED_EVENTS):
            self._notices.add(event)
        self._publish_and_index(event)

    def _node_changed(self, beat: Beat) -> None:
        """Let the forwarder take what nobody sends, and end what nobody can."""
        self.trash.restore_failed()
        self._removed_targets.resume()
        gone = [number for number in beat.free_targets if self.targets.by_id(number) is None]
        free = tuple(number for number in beat.free_targets if number not in gone)
        if free:
            self._publish(DeliveriesQueued(target_ids=free, shown={}))
        if beat.dead:
            self._writer.follow()  # which tells what is restored
        if beat.dead or gone:
            self.retention.purge_soon()
            self._eviction.wake()
            self._cleanup.wake()
            self._taking_over = asyncio.get_running_loop().create_task(self._end(gone), name="hookline-take-over")

    async def _end(self, gone: Sequence[int]) -> None:
        """Nobody sends what is queued for these targets, which are gone: their nodes died before they could end it."""
        with contextlib.suppress(StorageUnavailableError):
            for target_id in gone:
                if await self.deliveries.claim(target_id):
                    self._removed_targets.check([target_id])

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


def _arriving(database: Database) -> list[int]:
    """The keys of the bodies that this node is receiving."""
    query = f"SELECT -number * {KEYS_PER_BODY} FROM loose_body WHERE dropped = 0 AND node = this_node()"
    return [key for (key,) in execute(database, query).fetchall()]


_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = ? AND relkind = 'r'"""


def server_time(database: Database) -> int:
    """In microseconds."""
    return int(execute(database, _NOW).fetchone()[0])


class Retention(Purging):
    """`problem` stays None: no clock is doubted but a node's own, which retention does not ask."""

    def __init__(self, shared: Shared, cleanup: Cleanup) -> None:
        super().__init__(shared, cleanup, rows=256)

    async def _purge(self) -> tuple[dict[int, int], int]:
        """As in `Purging`, and drop the tables that are empty now."""
        deleted = await self._purge_until(await self._readers.run(server_time))
        await self._cleanup.run()
        # A table whose requests are all deleted makes each query longer, until it is dropped.
        for first in await self._readers.run(emptied_partitions, slow=True):
            await self._writer.run(partial(drop_partition, first=first))
        return deleted, 0

    async def size(self) -> StorageSize:
        cutoffs = self._cutoffs(await self._readers.run(server_time))

        def job(database: Database) -> StorageSize:
            (size,) = execute(database, _SIZE, (SCHEMA,)).fetchone()
            expired, free = count_expired(database, cutoffs, size=SIZE)
            return StorageSize(file_bytes=size, free_bytes=free, expired=expired)

        return await self._readers.run(job)
