"""Calls of the local API over HTTP, sync and async: typed results, and each error response as an `ApiError`."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote

import httpx
import msgspec

from hookline.client.errors import ApiError, FieldProblem, NotFoundError, ProblemError, UnreachableError
from hookline.client.headers import Headers
from hookline.running import ApiAddress

T = TypeVar("T")

Params = Mapping[str, str | Sequence[str]]
"""Query parameters; a list gives one several times."""

TIMEOUT = httpx.Timeout(60, connect=5)
NO_READ_TIMEOUT = httpx.Timeout(None, connect=5)
PAGE = 500
"""The largest page of a list."""
KIND = "urn:hookline:problem:"


@dataclass(frozen=True)
class Call(Generic[T]):
    """One call of the API, not yet made. `decode` makes its result of a successful response, which was read."""

    method: str
    path: str
    decode: Callable[[httpx.Response], T]
    params: Params | None = None
    content: Mapping[str, Any] | None = None
    timeout: httpx.Timeout = field(default_factory=lambda: TIMEOUT)


Steps = Generator[Call[Any], Any, T]
"""Calls made one after the other: each `yield` gets a call's result, or its ApiError. Returns the result of all."""


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list; `next` is the cursor of what follows. `unexamined` counts requests that a search leaves out
    although they may match."""

    items: tuple[T, ...]
    next: str | None
    unexamined: int = 0


class Transport:
    """Connections to the API, kept between calls. Every method raises ApiError."""

    def __init__(self, address: ApiAddress) -> None:
        self._http = httpx.Client(**_options(address, TIMEOUT))

    def close(self) -> None:
        self._http.close()

    def send(self, call: Call[T]) -> T:
        """The result of a call."""
        with self.stream(call.method, call.path, call.content, call.params, timeout=call.timeout) as response:
            response.read()
            return call.decode(response)

    def run(self, steps: Steps[T]) -> T:
        """Make the calls of `steps`; returns their result."""
        __tracebackhide__ = True  # of pytest: a failure raised by the steps is the fixture's
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

    def items(self, path: str, params: Params, kind: type[T], count: int | None = None) -> Iterator[T]:
        """The first `count` items of a list, or all (None), page by page."""
        cursor: str | None = None
        while count is None or count > 0:
            page = self.send(page_call(path, params, kind, count, cursor))
            yield from page.items
            cursor = page.next
            if cursor is None:
                return
            count = None if count is None else count - len(page.items)

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        params: Params | None = None,
        *,
        timeout: httpx.Timeout = TIMEOUT,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[httpx.Response]:
        """A successful response whose body is still to be read."""
        with _as_api_errors(str(self._http.base_url)):
            request = self._http.build_request(method, path, params=params, timeout=timeout, **_sent(content, headers))
            response = self._http.send(request, stream=True)
            try:
                if not response.is_success:
                    response.read()
                    raise problem_of(response)
                yield response
            finally:
                response.close()


class AsyncTransport:
    """`Transport` for asyncio."""

    def __init__(self, address: ApiAddress) -> None:
        self._http = async_http(address, TIMEOUT)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """The result of a call."""
        async with self.stream(call.method, call.path, call.content, call.params, timeout=call.timeout) as response:
            await response.aread()
            return call.decode(response)

    async def run(self, steps: Steps[T]) -> T:
        """Make the calls of `steps`; returns their result."""
        __tracebackhide__ = True  # of pytest: a failure raised by the steps is the fixture's
        try:
            call = next(steps)
            while True:
                try:
                    result = await self.send(call)
                except ApiError as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(result)
        except StopIteration as end:
            return cast(T, end.value)

    async def items(
        self,
        path: str,
        params: Params,
        kind: type[T],
        count: int | None = None,
        unexamined: Callable[[int], None] | None = None,
    ) -> AsyncIterator[T]:
        """The first `count` items of a list, or all (None), page by page. `unexamined` gets each page's number."""
        cursor: str | None = None
        while count is None or count > 0:
            page = await self.send(page_call(path, params, kind, count, cursor))
            if unexamined is not None:
                unexamined(page.unexamined)
            for item in page.items:
                yield item
            cursor = page.next
            if cursor is None:
                return
            count = None if count is None else count - len(page.items)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        params: Params | None = None,
        *,
        timeout: httpx.Timeout = TIMEOUT,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """A successful response whose body is still to be read."""
        with _as_api_errors(str(self._http.base_url)):
            request = self._http.build_request(method, path, params=params, timeout=timeout, **_sent(content, headers))
            response = await self._http.send(request, stream=True)
            try:
                if not response.is_success:
                    await response.aread()
                    raise problem_of(response)
                yield response
            finally:
                await response.aclose()


def async_http(address: ApiAddress, timeout: httpx.Timeout) -> httpx.AsyncClient:
    """An HTTP client of the API at `address`."""
    return httpx.AsyncClient(**_options(address, timeout))


def decode_as(kind: type[T]) -> Callable[[httpx.Response], T]:
    """Decodes a response's JSON as `kind`; ApiError for what is not such JSON."""

    return lambda response: decoded(response.content, kind)


def decoded(text: bytes, kind: type[T]) -> T:
    """JSON as `kind`; ApiError for what is not such JSON."""
    try:
        return msgspec.json.decode(text, type=kind, dec_hook=_decoded)
    except msgspec.DecodeError as error:
        message = f"Hookline's response is not understood: {error}. Its version may not fit this library's."
        raise ApiError(message) from error


def nothing(_: httpx.Response) -> None:
    """Decodes a response without a body."""


def page_call(path: str, params: Params, kind: type[T], count: int | None, cursor: str | None) -> Call[Page[T]]:
    """The call for the part of a list from `cursor` on, of at most `count` items."""
    limit = PAGE if count is None else min(count, PAGE)
    given = {**params, "limit": str(limit), **({"cursor": cursor} if cursor else {})}
    return Call("GET", path, decode_as(Page[kind]), given)  # type: ignore[valid-type]


def query_of(**params: str | None) -> dict[str, str]:
    """The query parameters that are given."""
    return {name: value for name, value in params.items() if value}


def path_of(*parts: str) -> str:
    return "".join("/" + quote(part, safe="") for part in parts)


def problem_of(response: httpx.Response) -> ProblemError:
    """The error for a problem document (RFC 9457); the messages of its fields are more specific than its summary."""
    status = response.status_code
    try:
        problem = msgspec.json.decode(response.content, type=_Problem)
    except msgspec.DecodeError:
        text = f"{response.request.url} responded with {status}, but not as Hookline does."
        return ProblemError(status, "", f"{text} Check which program runs there.")
    messages = " ".join(error.message for error in problem.errors)
    kind = NotFoundError if status == 404 else ProblemError
    return kind(
        status,
        problem.type.removeprefix(KIND),
        messages or problem.detail or problem.title,
        fields=problem.errors,
        span=problem.span,
        suggestion=problem.suggestion,
    )


class _Problem(msgspec.Struct, frozen=True):
    title: str
    type: str = ""
    detail: str = ""
    errors: tuple[FieldProblem, ...] = ()
    span: tuple[int, int] | None = None
    suggestion: str | None = None


@contextmanager
def _as_api_errors(url: str) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise UnreachableError(f"Hookline at {url} does not respond. Try again.") from error
    except httpx.TransportError as error:
        raise UnreachableError(f"Hookline at {url} cannot be reached: {error}. Is it still running?") from error


def _options(address: ApiAddress, timeout: httpx.Timeout) -> dict[str, Any]:
    """The options of an HTTP client of the API, which is plain HTTP on this machine."""
    return {
        "base_url": f"{address.url}/api/v1",
        "headers": {"Authorization": f"Bearer {address.token}"},
        "timeout": timeout,
        "trust_env": False,  # no proxy between two programs of this machine
        "verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # trusts no certificate: loading them would take longest
    }


def _sent(content: Mapping[str, Any] | None, headers: Mapping[str, str] | None) -> dict[str, Any]:
    """The arguments of httpx for headers and a JSON body."""
    if content is None:
        return {"headers": headers}
    body = msgspec.json.encode(content, enc_hook=_encoded)
    return {"headers": {**(headers or {}), "Content-Type": "application/json"}, "content": body}


def _decoded(kind: type[Any], value: Any) -> Any:
    if kind is Headers:
        return Headers(value)
    raise NotImplementedError(kind)


def _encoded(value: Any) -> Any:
    if isinstance(value, Headers):
        return value.pairs
    raise NotImplementedError(type(value))
