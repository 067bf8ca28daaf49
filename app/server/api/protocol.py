"""The API's side of a connection: aiohttp's, but every error is a problem, and handlers learn when a caller leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from aiohttp import web

from app.server.api.problems import Problem, router_problem
from app.server.api.request_parser import LIMITS, RequestParser
from app.server.capture.eviction import ConnectionEviction, EvictionStage, Waiting
from app.server.capture.incoming_body import READ_MOST
from app.server.descriptors import KeptDescriptors

SERVER_NAME = "Hookline"
"""Sent instead of the versions that aiohttp names."""
HEAD_S = 30.0
"""How long a connection may take to send a request's head, and be idle before it."""


class ApiConnections:
    """All connections to one API listener. When there are `most`, a new one replaces one without a call.

    The one open longest that never knew the token goes first, then the one idle longest. A call of a caller who knows
    the token is never ended for that, however long it waits.
    """

    def __init__(self, most: int, kept: KeptDescriptors | None = None) -> None:
        self._most, self._kept = most, kept
        self._connections: dict[ApiProtocol, str] = {}
        self._eviction = ConnectionEviction(self._connections, {}, most)

    def add(self, connection: ApiProtocol) -> bool:
        """Whether there is room for its calls."""
        found = None
        if len(self._connections) >= self._most:
            found = self._eviction.choose("", asyncio.get_running_loop().time())
            if found is not None:
                self._discard(found[1])
                found[1].abort()
        room = len(self._connections) < self._most
        self._connections[connection] = ""
        return room

    def head_grew(self) -> None:
        """When all unfinished heads together take too much memory, the longest is given up."""
        heads = {one: one.unfinished_head for one in self._connections}
        if sum(heads.values()) > LIMITS.head_memory:
            longest = max(heads, key=heads.__getitem__)
            self._discard(longest)
            longest.abort()

    def _discard(self, connection: ApiProtocol) -> None:
        self._connections.pop(connection, None)

    def lost(self, connection: ApiProtocol) -> None:
        """It is about to be closed."""
        self._discard(connection)
        if self._kept is not None:
            self._kept.disconnected()


class ApiProtocol(web.RequestHandler):
    """aiohttp's request handler, but its own errors are problems as well: no plain text, no traceback."""

    def __init__(self, manager: web.Server, connections: ApiConnections, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            manager,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # as web.AppRunner hands it on
            keepalive_timeout=HEAD_S,
            lingering_time=LIMITS.linger_s,
        )
        self._requests = self._parser = RequestParser(self, loop)  # type: ignore[assignment]
        self._connections = connections
        self._stage: EvictionStage | None = EvictionStage.IDLE
        self._since = 0.0
        self.crowded = False
        """There are too many connections: its calls are refused."""
        self.on_lost: Callable[[], None] | None = None
        """Called when the caller has left, for a handler that waits without writing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        cast(Any, transport).max_size = READ_MOST
        self._since = asyncio.get_running_loop().time()
        self.crowded = not self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._requests.unfinished:
            self._connections.head_grew()

    @property
    def unfinished_head(self) -> int:
        """Bytes of a head that was received in part."""
        return self._requests.unfinished

    def waiting_for(self) -> Waiting:
        """The next request; None during a call of a caller who knows the token."""
        return None if self._stage is None else (self._stage, self._since)

    def check_head(self, request: web.BaseRequest) -> None:
        """Raise why what was received is no request."""
        self._requests.check(request.method)

    def authorized(self) -> None:
        """The caller of the current request knows the token."""
        self._stage = None

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._requests.close()
        self._connections.lost(self)
        if self.on_lost is not None:
            self.on_lost()

    def _process_keepalive(self) -> None:
        """As aiohttp's, which closes a connection without a response also when a part of a head was received."""
        waiting = self._waiter is not None and not self._waiter.done()
        if waiting and self._requests.unfinished and self._loop.time() >= self._next_keepalive_close_time:
            self._requests.time_out()
            self.data_received(b"")
        else:
            super()._process_keepalive()

    def log_exception(self, *args: Any, **details: Any) -> None:
        if not isinstance(details.get("exc_info"), web.RequestPayloadError):  # a caller can cause it
            super().log_exception(*args, **details)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        self.logger.error("a call of the API failed", exc_info=exc)
        problem = Problem("internal", "Hookline could not do this because of an internal error; see its log.")
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun already")
        response = problem.response()
        response.headers["Server"] = SERVER_NAME
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        if isinstance(resp, web.HTTPException):  # raised where no middleware is, such as for an unknown Expect
            resp = router_problem(request, resp).response()
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            if self._requests.refusal is not None and self.transport is not None and self.transport.can_write_eof():
                self.transport.write_eof()
            if self._stage is None:
                self._stage, self._since = EvictionStage.ANSWERED, asyncio.get_running_loop().time()
