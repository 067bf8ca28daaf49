"""The local API's client for commands: typed responses, and each error response as the error that ends the command."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import quote

import httpx

from app.cli.errors import CliError, Exit
from app.cli.services import ApiAddress
from app.cli.views import (
    AccountView,
    DeliveryView,
    EndpointFields,
    EndpointView,
    RefusalView,
    RequestMarks,
    RequestView,
    RetentionView,
    SettingsView,
    StatusView,
    SummaryView,
)

TIMEOUT = httpx.Timeout(60, connect=5)
NO_READ_TIMEOUT = httpx.Timeout(None, connect=5)
PAGE = 500
"""The largest page of a list."""

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


class ApiClient:
    """One connection to the API. Every method raises CliError for an error response, or when there is none."""

    def __init__(self, address: ApiAddress) -> None:
        self._http = http_client(address, TIMEOUT)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def status(self) -> StatusView:
        return cast(StatusView, await self._json("GET", "/status"))

    async def resume_retention(self) -> RetentionView:
        """Accept the clock, so that requests are deleted by age again."""
        return cast(RetentionView, await self._json("POST", "/retention/resume"))

    async def settings(self) -> SettingsView:
        return await self._json("GET", "/settings")

    async def change_settings(self, changed: SettingsView) -> SettingsView:
        """Change the given settings; returns all of them."""
        return await self._json("PATCH", "/settings", changed)

    async def endpoints(self) -> list[EndpointView]:
        """All endpoints, in the user's order."""
        return [cast(EndpointView, item) async for item in self._items("/endpoints", {}, None)]

    async def endpoint(self, slug: str) -> EndpointView:
        return cast(EndpointView, await self._json("GET", _path("endpoints", slug)))

    async def create(self, fields: EndpointFields) -> EndpointView:
        return cast(EndpointView, await self._json("POST", "/endpoints", fields))

    async def change(self, slug: str, fields: EndpointFields) -> EndpointView:
        """Change the given fields; returns the endpoint."""
        return cast(EndpointView, await self._json("PATCH", _path("endpoints", slug), fields))

    async def remove(self, slug: str) -> None:
        """Delete an endpoint with all its requests."""
        async with self._stream("DELETE", _path("endpoints", slug)):
            pass

    async def requests(
        self, slug: str | None, count: int, query: str = "", beginning: str = ""
    ) -> AsyncIterator[SummaryView]:
        """The newest `count` requests of an endpoint, or of all (None), that match the search, newest first.

        With `beginning`, in place of a search, those whose ids begin with it.
        """
        params = _query_of(endpoint=slug, q=query, id=beginning)
        async for item in self._items("/requests", params, count):
            yield cast(SummaryView, item)

    async def request(self, request_id: str) -> RequestView:
        return cast(RequestView, await self._json("GET", _path("requests", request_id)))

    async def mark(self, request_id: str, marks: RequestMarks) -> RequestView:
        """Change the given marks; returns the request."""
        return cast(RequestView, await self._json("PATCH", _path("requests", request_id), marks))

    async def delete(self, request_id: str) -> None:
        """Delete a request with its body and deliveries."""
        async with self._stream("DELETE", _path("requests", request_id)):
            pass

    async def clear(self, slug: str, keep: Sequence[str] = ()) -> None:
        """Delete all requests of an endpoint, except `starred` or `noted` ones if `keep` names them."""
        path = _path("endpoints", slug) + "/requests"
        # takes minutes for a million
        async with self._stream("DELETE", path, params=_query_of(keep=",".join(keep)), timeout=NO_READ_TIMEOUT):
            pass

    async def deliveries(self, slug: str | None, count: int, state: str | None) -> AsyncIterator[DeliveryView]:
        """The latest `count` deliveries of an endpoint, or of all (None), in one state or any (None)."""
        async for item in self._items("/deliveries", _query_of(endpoint=slug, state=state), count):
            yield cast(DeliveryView, item)

    async def refused(self, count: int) -> AsyncIterator[RefusalView]:
        """The newest `count` refused requests."""
        async for item in self._items("/refused", {}, count):
            yield cast(RefusalView, item)

    async def account(self) -> AccountView:
        return cast(AccountView, await self._json("GET", "/account"))

    async def set_plan(self, plan: str) -> AccountView:
        """Change the plan; returns the account."""
        return cast(AccountView, await self._json("PATCH", "/account", {"plan": plan}))

    async def bytes_of(self, *path: str) -> AsyncGenerator[bytes, None]:
        """The bytes of `requests`, ID, `body`, or of `refused`, ID, `raw`: as sent, piece by piece."""
        async with self._stream("GET", _path(*path)) as response:
            # aiter_raw: a body sent in gzip stays in gzip
            async for piece in response.aiter_raw():
                yield piece

    async def _items(self, path: str, query: dict[str, str], count: int | None) -> AsyncIterator[dict[str, Any]]:
        cursor: str | None = None
        while count is None or count > 0:
            limit = PAGE if count is None else min(count, PAGE)
            params = {**query, "limit": str(limit), **({"cursor": cursor} if cursor else {})}
            page = await self._json("GET", path, params=params)
            for item in page["items"]:
                yield item
            cursor = page["next"]
            if cursor is None:
                return
            count = None if count is None else count - len(page["items"])

    async def _json(
        self, method: str, path: str, content: dict[str, Any] | None = None, params: dict[str, str] | None = None
    ) -> dict[str, Any]:
        async with self._stream(method, path, content, params) as response:
            await response.aread()
            return cast(dict[str, Any], response.json())

    @asynccontextmanager
    async def _stream(
        self,
        method: str,
        path: str,
        content: dict[str, Any] | None = None,
        params: dict[str, str] | None = None,
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
            raise CliError(
                f"Hookline at {self._http.base_url} does not respond. Try again.", Exit.ENVIRONMENT
            ) from error
        except httpx.TransportError as error:
            text = f"Hookline at {self._http.base_url} cannot be reached: {error}. Is it still running?"
            raise CliError(text, Exit.ENVIRONMENT) from error


def _query_of(**params: str | None) -> dict[str, str]:
    return {name: value for name, value in params.items() if value}


def _path(*parts: str) -> str:
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
    return CliError(message, CODES.get(response.status_code, Exit.ENVIRONMENT))
