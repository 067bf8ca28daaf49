"""What the parts of a store share: the threads that write and read, what is in memory, and who is told of changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from peewee import Database

from app.core.events import Event
from app.db.counts import RequestCounts
from app.db.endpoint_directory import EndpointDirectory
from app.db.storage_limits import StorageLimits
from app.db.write_jobs import AdaptiveBatch, Add, Job

T = TypeVar("T")


def nothing(_: object) -> None:
    """The default for writes that nothing in memory depends on."""


class Writer(Protocol):
    """Commits what waits, all of it in one transaction. All methods are called on the loop's thread, and raise
    StorageUnavailableError when nothing can be stored."""

    def add(self, capture: Add) -> None:
        """Queue a capture."""
        ...

    def put(self, job: Job) -> None:
        """Queue a job."""
        ...

    async def run(self, job: Callable[[Database], T], after: Callable[[T], None] = nothing, *, cost: int = 0) -> T:
        """The result of `job`, once it is committed. It may run twice, the first time rolled back, and may raise.

        `cost` is how many bytes senders make it store; it is refused when the disk has no room for them.
        """
        ...

    async def between(
        self, step: Callable[[Database, int], T], batch: AdaptiveBatch, after: Callable[[T], None] = nothing
    ) -> T:
        """Run a step of background work when no capture waits; `batch` says how many rows it may touch, and adapts."""
        ...


class Readers(Protocol):
    """Reads from snapshots, on threads of its own."""

    async def run(self, job: Callable[[Database], T], *, slow: bool = False) -> T:
        """What `job` returns; raises StorageUnavailableError. Jobs that are not `slow` never wait for those that
        are."""
        ...


class Shared(NamedTuple):
    """`own_bases` returns the base URLs of Hookline itself, `clock` the time in microseconds, `author` the user of a
    team's store."""

    writer: Writer
    readers: Readers
    directory: EndpointDirectory
    counts: RequestCounts
    limits: StorageLimits
    publish: Callable[[Event], None]
    own_bases: Callable[[], Sequence[str]]
    clock: Callable[[], int]
    author: Callable[[], str | None] = lambda: None


class Part:
    """A part of the store. All public methods are called on the loop's thread; those that read or write raise
    StorageUnavailableError when the file cannot be used, or the store is closed."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._writer, self._readers, self._directory = shared.writer, shared.readers, shared.directory
        self._request_counts, self._limits, self._publish = shared.counts, shared.limits, shared.publish
