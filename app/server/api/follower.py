"""A caller that waits for events: it wakes up for new ones, when the caller leaves, and when the API stops."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from aiohttp import web

from app.server.api.event_log import EventLog
from app.server.api.problems import RETRY_AFTER_S, Problem
from app.server.api.protocol import ApiProtocol

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
