"""Calls of the local API by commands: JSON objects as they come, and each error as the one that ends the command."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from app import __version__
from app.cli.blocking import BlockingTransport
from app.cli.errors import CliError, Exit, UnavailableError
from hookline.calls import TIMEOUT_S, Call, Pages, Params, T, decode_as, nothing, path_of, query_of
from hookline.errors import ApiError, ProblemError
from hookline.running import ApiAddress

if TYPE_CHECKING:
    from hookline.client.async_transport import AsyncTransport

__all__ = ["Params", "Transport", "path_of", "query_of"]

JsonObject = dict[str, Any]

UNAVAILABLE = 503
CODES = {400: Exit.USAGE, 404: Exit.FAILURE, 422: Exit.USAGE}
"""The exit code for an HTTP status; for all others it is `Exit.ENVIRONMENT`."""


class Transport:
    """Connections to the API. Every method raises CliError for an error response, or when there is none.

    Made with `blocking` it needs no event loop, see `app.cli.blocking`.
    """

    def __init__(self, address: ApiAddress, *, blocking: bool = False) -> None:
        self.address = address
        self._api = BlockingTransport(address) if blocking else _async_transport(address)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._api.aclose()
        if self.address.version in (None, __version__) or isinstance(error, UnavailableError):
            return
        if isinstance(error, (CliError, LookupError)):
            said = str(error) if isinstance(error, CliError) else "Its response is not understood."
            text = (
                f"{said} The running Hookline is version {self.address.version}, and this command {__version__}."
                " Restart Hookline to run this version, or use the hookline command of the other."
            )
            raise CliError(text, error.code if isinstance(error, CliError) else Exit.ENVIRONMENT) from error

    async def items(
        self, path: str, query: Params, count: int | None, unexamined: Callable[[int], None] | None = None
    ) -> AsyncIterator[JsonObject]:
        try:
            async for item in self._api.items(Pages(path, JsonObject, query, count), unexamined):
                yield item
        except ApiError as error:
            raise _command_error(error) from error

    async def send(self, call: Call[T]) -> T:
        try:
            return await self._api.send(call)
        except ApiError as error:
            raise _command_error(error) from error

    async def json(
        self,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        params: Params | None = None,
        *,
        timeout_s: float | None = TIMEOUT_S,
    ) -> JsonObject:
        return await self.send(Call(method, path, decode_as(JsonObject), params, content, timeout_s))

    async def order(
        self, method: str, path: str, params: Params | None = None, *, timeout_s: float | None = TIMEOUT_S
    ) -> None:
        """A call that returns nothing."""
        await self.send(Call(method, path, nothing, params, timeout_s=timeout_s))

    async def pieces(
        self, path: str, params: Params | None = None, *, timeout_s: float | None = TIMEOUT_S
    ) -> AsyncGenerator[bytes, None]:
        """What GET returns, piece by piece."""
        try:
            async with self._api.stream(path, params, timeout_s=timeout_s) as pieces:
                async for piece in pieces:
                    yield piece
        except ApiError as error:
            raise _command_error(error) from error


def _async_transport(address: ApiAddress) -> AsyncTransport:
    from hookline.client.async_transport import AsyncTransport  # start-up time: most commands need neither

    return AsyncTransport(address)


def _command_error(error: ApiError) -> CliError:
    if not isinstance(error, ProblemError) or error.status == UNAVAILABLE:
        return UnavailableError(str(error))
    return CliError(str(error), CODES.get(error.status, Exit.ENVIRONMENT))
