"""Makes calls of the local API over blocking connections.

On sockets, because to load httpx, `http.client` or h11 takes as long as all else that a command does. What is read is
the HTTP/1.1 of Hookline's own API: a body has a length or chunks.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from hookline.calls import (
    CONNECT_TIMEOUT_S,
    PATH,
    TIMEOUT_S,
    Call,
    Pages,
    Params,
    Response,
    Steps,
    T,
    body_of,
    headers_of,
    nothing,
    problem_of,
)
from hookline.errors import ApiError, NoResponseError, UnreachableError
from hookline.running import ApiAddress

_PIECE = _LINE_MAX = 64 * 1024
_POLL_S = 0.25


class Transport:
    """Connections to the API, kept between calls. Every method raises ApiError. Threads may share it."""

    def __init__(self, address: ApiAddress) -> None:
        self._address = address
        self._idle: list[_Connection] = []
        self.while_waiting: Callable[[], object] | None = None
        """Called every quarter of a second while a response is awaited; what it raises ends the call."""

    def close(self) -> None:
        while (connection := self._take()) is not None:
            connection.close()

    def send(self, call: Call[T]) -> T:
        """The result of a call."""
        with self._exchange(call) as response:
            return call.decode(response.read())

    def run(self, steps: Call[T] | Steps[T]) -> T:
        """Make the calls of `steps`; returns their result."""
        __tracebackhide__ = True  # of pytest: a failure raised by the steps is the fixture's
        if isinstance(steps, Call):
            return cast(T, self.send(steps))
        try:
            call = next(steps)
            while True:
                try:
                    result = self.send(call)
                except ApiError as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(result)
        except StopIteration as end:
            return cast(T, end.value)

    def items(self, pages: Pages[T], unexamined: Callable[[int], None] | None = None) -> Iterator[T]:
        """The items of a list, page by page. `unexamined` gets each page's number."""
        rest: Pages[T] | None = None if pages.count == 0 else pages
        while rest is not None:
            page = self.send(rest.first())
            if unexamined is not None:
                unexamined(page.unexamined)
            yield from page.items
            rest = rest.after(page)

    @contextmanager
    def stream(
        self,
        path: str,
        params: Params | None = None,
        *,
        timeout_s: float | None = TIMEOUT_S,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[Iterator[bytes]]:
        """The body of a successful response to GET, piece by piece."""
        with self._exchange(Call("GET", path, nothing, params, timeout_s=timeout_s), headers) as response:
            yield response.pieces()

    @contextmanager
    def _exchange(self, call: Call[Any], headers: Mapping[str, str] | None = None) -> Iterator[_Connection]:
        """A connection with a successful response whose body is still to be read."""
        query = f"?{urlencode(call.params, doseq=True, quote_via=quote)}" if call.params else ""
        body = body_of(call.content)
        fields = headers_of(self._address.token, headers, body)
        connection = self._request(call.method, f"{PATH}{call.path}{query}", fields, body or b"", call.timeout_s)
        try:
            if not 200 <= connection.status < 300:
                raise problem_of(connection.read())
            yield connection
        finally:
            if connection.is_reusable():
                self._idle.append(connection)
            else:
                connection.close()

    def _request(
        self, method: str, target: str, headers: dict[str, str], body: bytes, timeout_s: float | None
    ) -> _Connection:
        """A connection on which the response has begun."""
        connection = self._take()
        while connection is not None and not connection.is_open():
            connection.close()
            connection = self._take()
        connection = connection or _Connection(self._address.url)
        connection.while_waiting = self.while_waiting
        try:
            connection.request(method, target, headers, body, timeout_s)
        except BaseException:
            connection.close()
            raise
        return connection

    def _take(self) -> _Connection | None:
        """An idle connection, which no other thread has then."""
        try:
            return self._idle.pop()
        except IndexError:
            return None


class _Connection:
    """Every method raises ApiError. `status` and `headers` are those of the response that has begun, the names in lower
    case."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._url, self._host = url, parts.netloc
        with _as_api_errors(url):
            self._socket = socket.create_connection((parts.hostname, parts.port), CONNECT_TIMEOUT_S)
        self.while_waiting: Callable[[], object] | None = None
        self._timeout_s: float | None = None
        self._received = b""
        self._at_end = False
        self.status, self.headers = 0, dict[str, str]()

    def close(self) -> None:
        self._socket.close()

    def is_open(self) -> bool:
        """Whether Hookline has not closed it meanwhile."""
        self._socket.setblocking(False)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False  # nothing was asked for, so what came is the end

    def is_reusable(self) -> bool:
        """Whether the response was read to its end, and another request may follow."""
        return self._at_end and self.headers.get("connection", "").lower() != "close"

    def request(self, method: str, target: str, headers: dict[str, str], body: bytes, timeout_s: float | None) -> None:
        """Send a request, and receive the head of its response."""
        self._timeout_s = timeout_s
        self._socket.settimeout(timeout_s)
        fields = {"Host": self._host, "Content-Length": str(len(body)), **headers}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        with _as_api_errors(self._url):
            self._socket.sendall("\r\n".join(lines).encode("latin-1") + body)
        self._at_end = False
        version, _, rest = self._line().partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
            raise UnreachableError(f"{self._url} responded {version[:40]!r}, which is not HTTP. Check what runs there.")
        self.status = int(rest[:3])
        pairs = (line.partition(":") for line in iter(self._line, ""))
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}

    def pieces(self) -> Iterator[bytes]:
        """The body of the response, as it comes."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := self._chunk_size():
                yield from self._bytes(size)
                self._line()
            while self._line():
                pass  # trailers
        else:
            yield from self._bytes(int(self.headers.get("content-length", "0")))
        self._at_end = True

    def read(self) -> Response:
        """The whole response."""
        return Response(self._url, self.status, self.headers, b"".join(self.pieces()))

    def _chunk_size(self) -> int:
        with _as_api_errors(self._url):
            return int(self._line().partition(";")[0], 16)

    def _line(self) -> str:
        with _as_api_errors(self._url):
            while b"\n" not in self._received:
                if len(self._received) >= _LINE_MAX:
                    raise ConnectionError("a line of its response has no end")
                self._received += self._receive()
            line, _, self._received = self._received.partition(b"\n")
            return line.decode("latin-1").rstrip("\r")

    def _bytes(self, size: int) -> Iterator[bytes]:
        while size:
            with _as_api_errors(self._url):
                data = self._received or self._receive()
            data, self._received = data[:size], data[size:]
            yield data
            size -= len(data)

    def _receive(self) -> bytes:
        # Ctrl-C ends no recv on Windows; so it is noticed soon.
        polls = sys.platform == "win32" or self.while_waiting is not None
        left_s, data = self._timeout_s, None
        while data is None:
            wait_s = min(_POLL_S, left_s or _POLL_S) if polls else left_s
            self._socket.settimeout(wait_s)
            try:
                data = self._socket.recv(_PIECE)
            except TimeoutError:
                left_s = None if left_s is None or wait_s is None else left_s - wait_s
                if left_s is not None and left_s <= 0:
                    raise
                if self.while_waiting is not None:
                    self.while_waiting()
        if not data:
            raise ConnectionError("it closed the connection")
        return data


@contextmanager
def _as_api_errors(url: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise NoResponseError(f"Hookline at {url} does not respond. Try again.") from error
    except (OSError, ValueError) as error:
        raise UnreachableError(f"Hookline at {url} cannot be reached: {error}. Is it still running?") from error
