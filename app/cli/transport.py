"""Calls of the local API over HTTP: typed responses, and each error response as the error that ends the command."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import quote

import httpx

from app.cli.errors import CliError, Exit, UnavailableError
from app.cli.services import ApiAddress

Params = Mapping[str, str | Sequence[str]]
"""Query parameters; a list gives one several times."""

TIMEOUT = httpx.Timeout(60, connect=5)
NO_READ_TIMEOUT = httpx.Timeout(None, connect=5)
PAGE = 500
"""The largest page of a list."""

UNAVAILABLE = 503
CODES = {400: Exit.USAGE, 404: Exit.FAILURE, 422: Exit.USAGE}
"""The exit code for an HTTP status; for all others it is `Exit.ENVIRONMENT`."""


def http_client(address: ApiAddress, timeout: httpx.Timeout) -> httpx.AsyncClient:
    """An HTTP client of the API at `address`, which is plain HTTP on this machine."""
    return httpx.AsyncClient(
        base_url=f"{address.url}/api/v1",
        headers={"Authorization": f"Bearer {address.token}"},
        timeout=timeout,
        trust_env=False,  # no proxy between two programs of this machine
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # trusts no certificate: loading them would take longest
    )


class Transport:
    """One connection to the API. Every method raises CliError for an error response, or when there is none."""

    def __init__(self, address: ApiAddress) -> None:
        self._http = http_client(address, TIMEOUT)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def items(self, path: str, query: Params, count: int | None) -> AsyncIterator[dict[str, Any]]:
        cursor: str | None = None
        while count is None or count > 0:
            limit = PAGE if count is None else min(count, PAGE)
            params = {**query, "limit": str(limit), **({"cursor": cursor} if cursor else {})}
            page = await self.json("GET", path, params=params)
            for item in page["items"]:
                yield item
            cursor = page["next"]
            if cursor is None:
                return
            count = None if count is None else count - len(page["items"])

    async def json(
        self,
        method: str,
        path: str,
        content: dict[str, Any] | None = None,
        params: Params | None = None,
        *,
        timeout: httpx.Timeout = TIMEOUT,
    ) -> dict[str, Any]:
        async with self.stream(method, path, content, params, timeout=timeout) as response:
            await response.aread()
            return cast(dict[str, Any], response.json())

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        content: dict[str, Any] | None = None,
        params: Params | None = None,
        *,
        timeout: httpx.Timeout = TIMEOUT,
    ) -> AsyncIterator[httpx.Response]:
        try:
            async with self._http.stream(method, path, json=content, params=params, timeout=timeout) as response:
                if not response.is_success:
                    await response.aread()
                    raise _refusal(response)
                yield response
        except httpx.TimeoutException as error:
            raise UnavailableError(f"Hookline at {self._http.base_url} does not respond. Try again.") from error
        except httpx.TransportError as error:
            text = f"Hookline at {self._http.base_url} cannot be reached: {error}. Is it still running?"
            raise UnavailableError(text) from error


def query_of(**params: str | None) -> dict[str, str]:
    return {name: value for name, value in params.items() if value}


def path_of(*parts: str) -> str:
    return "".join("/" + quote(part, safe="") for part in parts)


def _refusal(response: httpx.Response) -> CliError:
    """The error for a problem document (RFC 9457); the messages of its fields are more specific than its summary."""
    try:
        problem = response.json()
        messages = [error["message"] for error in problem.get("errors", ())]
        message = " ".join(messages) or problem.get("detail") or problem["title"]
    except (ValueError, KeyError, TypeError, AttributeError):
        text = f"{response.request.url} responded with {response.status_code}, but not as Hookline does."
        message = f"{text} Check which program runs there."
    if response.status_code == UNAVAILABLE:
        return UnavailableError(message)
    return CliError(message, CODES.get(response.status_code, Exit.ENVIRONMENT))
