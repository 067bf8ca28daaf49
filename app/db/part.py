"""What the parts of a store share: the threads that write and read, the endpoints and what else is in memory, who is
told of changes, and how they work in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from app import __version__
from app.core.errors import NotFoundError, StorageUnavailableError
from app.core.events import Event
from app.core.model import Endpoint
from app.core.target import Target
from app.core.team import Node, OtherNodes
from app.db.counts import RequestCounts
from app.db.readers import Readers
from app.db.storage_limits import StorageLimits
from app.db.writer_thread import WriterThread

log = logging.getLogger(__name__)


class EndpointDirectory:
    """Every stored endpoint with its targets, in the user's order, in memory: capturing reads one for each request.
    Changes must be applied in the order of commits."""

    def __init__(self) -> None:
        self._by_id: dict[int, Endpoint] = {}
        self._by_slug: dict[str, Endpoint] = {}
        self._targets: dict[int, Target] = {}
        self._trashed: dict[str, Endpoint] = {}
        """The deleted endpoints that can still be restored, by slug."""
        self._stopped: set[int] = set()

    def all(self) -> tuple[Endpoint, ...]:
        return tuple(self._by_id.values())

    def by_slug(self, slug: str) -> Endpoint | None:
        return self._by_slug.get(slug)

    def capturing(self, slug: str) -> Endpoint | None:
        """The endpoint that answers senders: one that can still be restored is switched off."""
        endpoint = self._by_slug.get(slug) or self._trashed.get(slug)
        return replace(endpoint, active=False) if endpoint is not None and endpoint.id in self._stopped else endpoint

    def by_id(self, endpoint_id: int) -> Endpoint | None:
        return self._by_id.get(endpoint_id)

    def target(self, target_id: int | None) -> Target | None:
        """None if there is no such target, or none is named."""
        return None if target_id is None else self._targets.get(target_id)

    def require(self, endpoint_id: int) -> Endpoint:
        """Raises NotFoundError."""
        endpoint = self._by_id.get(endpoint_id)
        if endpoint is None:
            raise endpoint_not_found()
        return endpoint

    def keep(self, endpoint: Endpoint) -> None:
        """Add it, or put it in the place of its old version."""
        self._forget_targets(endpoint.id)
        self._by_id[endpoint.id] = self._by_slug[endpoint.slug] = endpoint
        self._targets |= {target.id: target for target in endpoint.targets}

    def stop_capturing(self, endpoint_id: int) -> None:
        """It is about to be deleted."""
        self._stopped.add(endpoint_id)

    def resume_capturing(self, endpoint_id: int) -> None:
        """It is not deleted, as far as is known."""
        if endpoint_id in self._by_id:
            self._stopped.discard(endpoint_id)

    def trash(self, endpoint: Endpoint) -> None:
        """It was deleted, and can be restored."""
        self._forget_targets(endpoint.id)
        del self._by_id[endpoint.id], self._by_slug[endpoint.slug]
        self._trashed[endpoint.slug] = endpoint
        self._stopped.add(endpoint.id)

    def restore(self, endpoint: Endpoint, order: Sequence[int]) -> None:
        """`order` is that of all ids."""
        self.forget(endpoint)
        self.keep(endpoint)
        self.reorder(order)

    def forget(self, endpoint: Endpoint) -> None:
        """It can no longer be restored."""
        self._stopped.discard(endpoint.id)
        self._trashed.pop(endpoint.slug, None)

    def reorder(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Bring the endpoints into this order; those not named come last. Returns all ids in the new order."""
        known = self._by_id
        order = [number for number in ids if number in known]
        order += [number for number in known if number not in ids]
        self._by_id = {number: known[number] for number in order}
        return tuple(order)

    def _forget_targets(self, endpoint_id: int) -> None:
        old = self._by_id.get(endpoint_id)
        for target in old.targets if old is not None else ():
            self._targets.pop(target.id, None)


def endpoint_not_found() -> NotFoundError:
    return NotFoundError("This endpoint no longer exists.")


class Nodes:
    """The programs that run on the store: this one alone, where no other engine says otherwise."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock, self._started_at = clock, clock()
        self.others = OtherNodes()
        """When they change, NodesChanged is published."""

    async def catch_up(self) -> bool:
        """Take over what other nodes have done by now; False where there are none. Raises StorageUnavailableError."""
        return False

    async def all(self) -> Sequence[Node]:
        """Those that are alive, by number. Raises StorageUnavailableError."""
        now = self._clock()
        return [Node(number=1, version=__version__, started_at=self._started_at, seen_at=now, current=True)]

    async def claim(self, job: str) -> bool | None:
        """Whether this node does the job: True if it has just become the owner, None if it was that already."""
        return None

    def has_lost(self, job: str) -> bool:
        """Whether other nodes may do the job that this one did, and that it has not claimed since."""
        return False


class Shared(NamedTuple):
    """`own_bases` returns the base URLs of Hookline itself, `clock` the time in microseconds."""

    writer: WriterThread
    readers: Readers
    directory: EndpointDirectory
    counts: RequestCounts
    limits: StorageLimits
    nodes: Nodes
    publish: Callable[[Event], None]
    own_bases: Callable[[], Sequence[str]]
    clock: Callable[[], int]


class Part:
    """A part of the store. All public methods are called on the loop's thread; those that read or write raise
    StorageUnavailableError when the file cannot be used, or the store is closed."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._writer, self._readers, self._directory = shared.writer, shared.readers, shared.directory
        self._request_counts, self._limits, self._publish = shared.counts, shared.limits, shared.publish


class BackgroundWorker:
    """Calls `work` once for any number of wakes, and again when woken meanwhile. Used on the loop's thread.

    When the store is not available, the work waits for the next wake.
    """

    def __init__(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """`name` is the name of the task."""
        self._name, self._work = name, work
        self._task: asyncio.Task[None] | None = None
        self._stopped = False
        self.is_woken = False
        """Whether it was woken since the current work began."""

    @property
    def is_idle(self) -> bool:
        return self._task is None or self._task.done()

    def wake(self) -> None:
        """Ignored once stopped."""
        self.is_woken = not self._stopped
        if self.is_woken and self.is_idle:
            self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        """Stop for good after the current step. Twice is harmless."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while self.is_woken:
            self.is_woken = False
            try:
                await self._work()
            except StorageUnavailableError as error:
                log.debug("%s is put off: %s", self._name, error)  # the writer has logged why
