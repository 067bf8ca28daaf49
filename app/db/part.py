"""What the parts of a store share: the threads that write and read, what is in memory, and who is told of changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.core.events import Event
from app.db.counts import RequestCounts
from app.db.endpoint_directory import EndpointDirectory
from app.db.readers import Readers
from app.db.storage_limits import StorageLimits
from app.db.writer_thread import WriterThread


class Shared(NamedTuple):
    """`own_bases` returns the base URLs of Hookline itself, `clock` the time in microseconds, `author` the user of a
    team's store."""

    writer: WriterThread
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
