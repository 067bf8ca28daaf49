"""Makes calls of the local API from asyncio."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import httpx

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


class AsyncTransport:
    """`Transport` for asyncio."""

    def __init__(self, address: ApiAddress) -> None:
        self._address = address
        self._http = httpx.AsyncClient(
            base_url=f"{address.url}{PATH}",
            trust_env=False,  # no proxy between two programs of this machine
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # trusts no certificate: loading them would take longest
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """The result of a call."""
        async with self._exchange(call) as response:
            return call.decode(await _read(response))

    async def run(self, steps: Call[T] | Steps[T]) -> T:
        """Make the calls of `steps`; returns their result."""
        __tracebackhide__ = True  # of pytest: a failure raised by the steps is the fixture's
        if isinstance(steps, Call):
            return await self.send(steps)
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

    async def items(self, pages: Pages[T], unexamined: Callable[[int], None] | None = None) -> AsyncIterator[T]:
        """The items of a list, page by page. `unexamined` gets each page's number."""
        rest: Pages[T] | None = None if pages.count == 0 else pages
        while rest is not None:
            page = await self.send(rest.first())
            if unexamined is not None:
                unexamined(page.unexamined)
            for item in page.items:
                yield item
            rest = rest.after(page)

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        params: Params | None = None,
        *,
        timeout_s: float | None = TIMEOUT_S,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body of a successful response to GET, piece by piece."""
        async with self._exchange(Call("GET", path, nothing, params, timeout_s=timeout_s), headers) as response:
            yield response.aiter_raw()

    @asynccontextmanager
    async def _exchange(
        self, call: Call[Any], headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[httpx.Response]:
        """A successful response whose body is still to be read."""
        body = body_of(call.content)
        with _as_api_errors(self._address.url):
            request = self._http.build_request(
                call.method,
                call.path,
                params=call.params,
                content=body,
                headers=headers_of(self._address.token, headers, body),
                timeout=httpx.Timeout(call.timeout_s, connect=CONNECT_TIMEOUT_S),
            )
            response = await self._http.send(request, stream=True)
            try:
                if not response.is_success:
                    raise problem_of(await _read(response))
                yield response
            finally:
                await response.aclose()


async def _read(response: httpx.Response) -> Response:
    content = await response.aread()
    return Response(str(response.request.url), response.status_code, dict(response.headers), content)


@contextmanager
def _as_api_errors(url: str) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise NoResponseError(f"Hookline at {url} does not respond. Try again.") from error
    except httpx.TransportError as error:
        raise UnreachableError(f"Hookline at {url} cannot be reached: {error}. Is it still running?") from error
