"""The capture port's reader in the place of aiohttp's parser, so that both ports accept the same heads, and refuse the
others for the same reasons."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import quote

from aiohttp import web
from aiohttp.http import HttpVersion, RawRequestMessage
from aiohttp.streams import EmptyStreamReader, StreamReader
from aiohttp.web_protocol import ERROR, MAX_MSG_QUEUE_SIZE, RequestHandler
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from app.core.model import METHODS
from app.server.api.problems import Problem
from app.server.capture.head import MalformedError
from app.server.capture.limits import Limits
from app.server.capture.reader import Incoming, RequestReader

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
    """Has the methods that aiohttp's protocol calls."""

    def __init__(self, protocol: RequestHandler, loop: asyncio.AbstractEventLoop) -> None:
        self._protocol, self._loop = protocol, loop
        self._reader = RequestReader(self._begin_body, LIMITS.head_bytes)
        self._request: Request | None = None
        self._waiting = 0
        self._discarded: StreamReader | None = None
        self._timed_out = False
        self.refusal: Exception | None = None
        """Why what was received is no request: what follows is discarded."""

    @property
    def unfinished(self) -> int:
        """Bytes of a head that was received in part."""
        return len(self._reader.head)

    def check(self, method: str) -> None:
        """Raise why the current request, of that method, is none."""
        if method == ERROR.method and self.refusal is not None:
            raise self.refusal

    def time_out(self) -> None:
        """Refuse the head that was received in part."""
        self._timed_out = True

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
        if self._timed_out:
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
