"""Calls of the local API by commands: JSON objects as they come, and each error as the one that ends the command."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import httpx

from app.cli.errors import CliError, Exit, UnavailableError
from hookline.client.errors import ApiError, ProblemError
from hookline.client.transport import (
    NO_READ_TIMEOUT,
    TIMEOUT,
    AsyncTransport,
    Call,
    Params,
    decode_as,
    path_of,
    query_of,
)
from hookline.running import ApiAddress

__all__ = ["NO_READ_TIMEOUT", "Params", "Transport", "path_of", "query_of"]

JsonObject = dict[str, Any]

UNAVAILABLE = 503
CODES = {400: Exit.USAGE, 404: Exit.FAILURE, 422: Exit.USAGE}
"""The exit code for an HTTP status; for all others it is `Exit.ENVIRONMENT`."""


class Transport:
    """One connection to the API. Every method raises CliError for an error response, or when there is none."""

    def __init__(self, address: ApiAddress) -> None:
        self._api = AsyncTransport(address)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._api.aclose()

    async def items(
        self, path: str, query: Params, count: int | None, unexamined: Callable[[int], None] | None = None
    ) -> AsyncIterator[JsonObject]:
        try:
            async for item in self._api.items(path, query, JsonObject, count, unexamined):
                yield item
        except ApiError as error:
            raise _command_error(error) from error

    async def json(
        self,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        params: Params | None = None,
        *,
        timeout: httpx.Timeout = TIMEOUT,
    ) -> JsonObject:
        try:
            return await self._api.send(Call(method, path, decode_as(JsonObject), params, content, timeout))
        except ApiError as error:
            raise _command_error(error) from error

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        params: Params | None = None,
        *,
        timeout: httpx.Timeout = TIMEOUT,
    ) -> AsyncIterator[httpx.Response]:
        try:
            async with self._api.stream(method, path, content, params, timeout=timeout) as response:
                yield response
        except ApiError as error:
            raise _command_error(error) from error


def _command_error(error: ApiError) -> CliError:
    if not isinstance(error, ProblemError) or error.status == UNAVAILABLE:
        return UnavailableError(str(error))
    return CliError(str(error), CODES.get(error.status, Exit.ENVIRONMENT))
