"""The API's side of a connection: aiohttp's, but every error is a problem, and handlers learn when a caller leaves.

Heads are read by the capture port's reader, so that both ports accept the same ones, and refuse the others for the same
reasons.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import quote

from aiohttp import web
from aiohttp.http import HttpVersion, RawRequestMessage
from aiohttp.streams import EmptyStreamReader, StreamReader
from aiohttp.web_protocol import ERROR, MAX_MSG_QUEUE_SIZE, RequestHandler
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from app.core.model import METHODS
from app.server.api.problems import Problem, router_problem
from app.server.capture.head import MalformedError
from app.server.capture.incoming_body import READ_MOST
from app.server.capture.limits import ConnectionEviction, EvictionStage, Limits, Waiting
from app.server.capture.reader import Incoming, RequestReader
from app.server.listening import KeptDescriptors

LIMITS = Limits()
DISCARDED_MAX = 64 * 1024
ALLOWED = "DELETE, GET, HEAD, PATCH, POST, PUT"
_ASCII = "".join(map(chr, range(128)))
_ORIGIN = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
"""Which server is asked: yarl refuses hosts that the reader takes. It is looked for at the beginning alone: a query may
have a URL, and a target of 60,000 letters, tried at each, held up all else for ten seconds."""
Message = tuple[RawRequestMessage, StreamReader]
Request = Incoming[StreamReader]
_READ_BUFFER = 256 * 1024


class WholeBody(EmptyStreamReader):
    """A body that came with its head, or none."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.total_bytes = len(data)

    def read_nowait(self, n: int = -1) -> bytes:
        """All of it at once, then nothing."""
        data, self._data = self._data, b""
        return data

    async def readany(self) -> bytes:
        """The same."""
        return self.read_nowait()


class RequestParser:
    """In the place of aiohttp's: it has the methods that its protocol calls."""

    def __init__(self, protocol: RequestHandler, loop: asyncio.AbstractEventLoop) -> None:
        self._protocol, self._loop = protocol, loop
        self._reader = RequestReader(self._begin_body, LIMITS.head_bytes)
        self._request: Request | None = None
        self._waiting = 0
        self._discarded: StreamReader | None = None
        self.timed_out = False
        """The head that was received in part is refused."""
        self.refusal: Exception | None = None
        """Why what was received is no request: what follows is discarded."""

    @property
    def unfinished(self) -> int:
        """Bytes of a head that was received in part."""
        return len(self._reader.head)

    def feed_data(self, data: bytes) -> tuple[list[Message], bool, bytes]:
        """The requests whose heads `data` completes. None is ever upgraded to another protocol."""
        messages: list[Message] = []
        try:
            while self.refusal is None and (request := self._next(data)) is not None:
                messages.append((_message(request), request.body))
                self._waiting += 1
                data = b""
        except (MalformedError, Problem) as error:
            messages.append(self._refusal(error))
        return messages, False, b""

    def _refusal(self, error: Exception) -> Message:
        """Stands for a request to respond to. Its body never ends, so that aiohttp does not close the connection, and
        with it lose the response, while the caller still sends."""
        self.refusal = error
        self._reader.drop()
        self._discarded = StreamReader(self._protocol, DISCARDED_MAX, loop=self._loop)
        return ERROR, self._discarded

    def message_consumed(self) -> None:
        self._waiting -= 1

    def pause_reading(self) -> None:
        """Nothing is to be paused: what has come is passed on at once."""

    def close(self) -> None:
        """The caller has left."""
        self._reader.close()
        if self._discarded is not None:
            self._discarded.feed_eof()

    def _next(self, data: bytes) -> Request | None:
        """The next request, if the one before it is complete, and `data` or what followed that completes its head."""
        reader, request = self._reader, self._request
        if self.timed_out:
            raise Problem("bad-request", "The request's head did not arrive in time.", status=408)
        if request is not None and not request.body.is_eof():
            reader.read_body(request, data)
            self._check_framing(request)
            if not request.body.is_eof():
                return None
        elif reader.head:
            return self._begin(data) if data else None
        else:
            reader.keep(data)
        return self._begin(b"") if reader.following and self._waiting < MAX_MSG_QUEUE_SIZE else None

    def _begin_body(self, whole: bytes | None) -> StreamReader:
        return WholeBody(whole) if whole is not None else StreamReader(self._protocol, _READ_BUFFER, loop=self._loop)

    def _begin(self, data: bytes) -> Request | None:
        self._request = self._reader.read_head(data)
        if self._request is not None:
            if self._request.head.method not in METHODS:
                detail = f"Hookline does not know this method; use {ALLOWED}."
                raise Problem("method-not-allowed", detail, headers={"Allow": ALLOWED})
            self._check_framing(self._request)
        return self._request

    def _check_framing(self, request: Request) -> None:
        if request.framing_error is not None:
            self.refusal = web.RequestPayloadError(request.framing_error)
            request.body.set_exception(self.refusal)


def _message(request: Request) -> RawRequestMessage:
    """As aiohttp's parser would give it."""
    head = request.head
    target = _ORIGIN.sub("", quote(_text(head.target), _ASCII, errors="surrogateescape"))
    path, _, rest = target.partition("?")
    query, _, fragment = rest.partition("#")
    url = URL.build(path=path or "/", query_string=query, fragment=fragment, encoded=True)
    return RawRequestMessage(
        head.method,
        _text(head.target),
        HttpVersion(*map(int, head.version.split("."))),
        CIMultiDictProxy(CIMultiDict((name, _text(value)) for name, value in head.headers)),
        tuple((name.encode(), value.encode("latin-1")) for name, value in head.headers),
        should_close=head.closes,
        compression=None,
        upgrade=False,
        chunked=head.chunked,
        url=url,
    )


def _text(sent: str) -> str:
    """Decode as aiohttp does."""
    return sent.encode("latin-1").decode("utf-8", "surrogateescape")


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
        if request.method == ERROR.method and self._requests.refusal is not None:
            raise self._requests.refusal

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
            self._requests.timed_out = True
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
