"""A caller that waits for events: it wakes up for new ones, when the caller leaves, and when the API stops."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence

from aiohttp import web

from app.core.model import Summary
from app.core.redaction.secret import SecretHeaders
from app.core.search.query import Query
from app.core.store import CaptureRepository
from app.server.api.event_log import EventLog, Position, stored_position
from app.server.api.problems import RETRY_AFTER_S, Problem
from app.server.api.protocol import ApiProtocol

FIRST_BATCH, BATCH = 8, 500
"""The first one is small, because a caller that is behind often wants only the next capture."""


class CaptureFilter:
    """Which captures a caller wants: of an endpoint (None: of any), matching a query (None: all), with `secret_headers`
    without their secrets."""

    def __init__(
        self,
        captures: CaptureRepository,
        endpoint_id: int | None,
        query: Query | None,
        secret_headers: SecretHeaders | None = None,
    ) -> None:
        self._captures, self.endpoint_id, self._query = captures, endpoint_id, query
        self._secret_headers = secret_headers

    @property
    def has_query(self) -> bool:
        return self._query is not None

    async def wanted(self, summaries: Sequence[Summary]) -> set[str]:
        """The ids of those wanted, at most `BATCH`."""
        ids = {one.id for one in summaries if self.endpoint_id in (None, one.endpoint_id)}
        if self._query is None or not ids:
            return ids
        return await self._captures.matching(self._query, ids, self._secret_headers)


class NewCaptures:
    """Captures after `position`, which moves on with each batch: in the order of storing, none left out and none twice,
    first those stored since, then as they come."""

    def __init__(self, log: EventLog, captures: CaptureRepository, start: Position) -> None:
        self._log, self._captures, self.position = log, captures, start
        self._batch = FIRST_BATCH

    async def next(self) -> Sequence[tuple[Position, Summary]]:
        """The next batch, each with its position; empty while there are no new ones."""
        newest = self._log.newest()
        if self._log.holds(self.position):
            return self._from_log()
        while self.position.capture < newest.capture:
            batch = await self._captures.between(self.position.capture, newest.capture, self._batch)
            found = [(stored_position(summary.seq), summary) for summary in batch]
            self.position = found[-1][0] if len(batch) == self._batch else newest
            self._batch = min(4 * self._batch, BATCH)
            if found:
                return found
        self.position = newest
        # What came while the store was read may have pushed this position out of the log: the store has it next time.
        return self._from_log() if self._log.holds(newest) else ()

    def _from_log(self) -> Sequence[tuple[Position, Summary]]:
        while events := self._log.since(self.position.number, self._batch, shown=False):
            self.position = self._log.position_of(events[-1])
            self._batch = min(4 * self._batch, BATCH)
            found = [(self._log.position_of(event), event.what) for event in events if isinstance(event.what, Summary)]
            if found:
                return found
        return ()


FOLLOWERS_MAX = 500
STALL_S = 20.0
"""A caller that reads nothing for so long is dropped."""


class Follower:
    """What keeps it apart from the log is its caller's own place; it holds no events."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._writing = False
        self.wake = asyncio.Event()
        self.left = False
        """The caller has left."""
        self.stopping = False
        """The API is about to stop."""

    @property
    def ended(self) -> bool:
        return self.left or self.stopping

    def leave(self) -> None:
        self.left = True
        self.wake.set()

    def stop(self) -> None:
        self.stopping = True
        self.wake.set()
        if self._writing:
            self._abort()

    async def sleep(self, seconds: float) -> None:
        """Until something happens, or for so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        self.wake.clear()

    async def write(self, response: web.StreamResponse, data: bytes) -> None:
        """ConnectionError when the caller has left, or reads nothing."""
        self._writing = True
        try:
            async with asyncio.timeout(STALL_S):
                await response.write(data)
        except TimeoutError:
            self._abort()
            raise ConnectionResetError("The caller reads nothing.") from None
        finally:
            self._writing = False

    def _abort(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()


class Followers:
    """Those of one API listener."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._followers: set[Follower] = set()

    def __len__(self) -> int:
        return len(self._followers)

    @contextlib.contextmanager
    def follow(self, request: web.Request) -> Iterator[Follower]:
        """A Problem when there are too many."""
        if len(self._followers) >= FOLLOWERS_MAX:
            detail = f"{FOLLOWERS_MAX} callers follow events or wait for requests already; end some of them."
            raise Problem("too-many-followers", detail, headers={"Retry-After": str(RETRY_AFTER_S)})
        follower, protocol = Follower(request), request.protocol
        assert isinstance(protocol, ApiProtocol)
        protocol.on_lost = follower.leave
        if request.transport is None:  # it left before
            follower.leave()
        self._followers.add(follower)
        self._log.follow(follower.wake)
        try:
            yield follower
        finally:
            self._log.unfollow(follower.wake)
            self._followers.discard(follower)
            protocol.on_lost = None

    async def stop(self, _: web.Application) -> None:
        """The API stops: end all of them."""
        for follower in self._followers:
            follower.stop()
