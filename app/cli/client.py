"""The local API's client for commands: `hookline.client`, with each error as the one that ends the command, and with
the JSON of an answer as it came.

A command that makes one call of the running program after the other runs without an event loop, over blocking
connections: loading asyncio and httpx takes longer than all else that it does.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self

import msgspec

from app import __version__
from app.cli.errors import CliError, Exit, UnavailableError
from hookline.calls import TIMEOUT_S, Call, Pages, Params, Response, Steps, T, decoded, path_of
from hookline.client.client import AsyncCalls
from hookline.errors import ApiError, ProblemError, UnreachableError
from hookline.records import Endpoint
from hookline.running import ApiAddress
from hookline.transport import Transport

if TYPE_CHECKING:
    from hookline.client.async_transport import AsyncTransport

UNAVAILABLE = 503
CODES = {400: Exit.USAGE, 404: Exit.FAILURE, 422: Exit.USAGE}
"""The exit code for an HTTP status; for all others it is `Exit.ENVIRONMENT`."""
NO_ENDPOINT = "No endpoint has the slug"
"""Begins what the API says of a wrong slug."""


class Answer(Generic[T]):
    """What the API answered: `json` has the fields of a newer program too, `value` those that commands know."""

    def __init__(self, content: bytes, decode: Callable[[], T]) -> None:
        self._content, self._decode = content, decode

    @classmethod
    def of(cls, content: bytes, kind: type[T]) -> Answer[T]:
        """A record in JSON."""
        return Answer(content, partial(decoded, content, kind))

    @cached_property
    def json(self) -> Any:
        return json.loads(self._content)

    @cached_property
    def value(self) -> T:
        """CliError for what is not understood."""
        with _as_command_errors():
            return self._decode()


class ApiClient(AsyncCalls):
    """All calls that commands make. Every method raises CliError for an error response, or when there is none.

    Made with `blocking` it needs no event loop, see `app.cli.client`.
    """

    def __init__(self, address: ApiAddress, *, blocking: bool = False) -> None:
        self.address = address
        self._connections = _CommandTransport(_BlockingTransport(address) if blocking else _async_transport(address))
        super().__init__(self._connections)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
        if self.address.version in (None, __version__) or isinstance(error, UnavailableError):
            return
        if isinstance(error, CliError):
            text = (
                f"{error} The running Hookline is version {self.address.version}, and this command {__version__}."
                " Restart Hookline to run this version, or use the hookline command of the other."
            )
            raise CliError(text, error.code) from error

    async def close(self) -> None:
        await self._connections.aclose()

    async def answer(self, call: Call[T]) -> Answer[T]:
        """Make a call, such as `Endpoints.get("orders")`."""

        def read(response: Response) -> Answer[T]:
            return Answer(response.content, lambda: call.decode(response))

        return await self.send(call._replace(decode=read))  # type: ignore[arg-type]  # a call of another result

    async def answers(
        self, pages: Pages[T], unexamined: Callable[[int], None] | None = None
    ) -> AsyncGenerator[Answer[T], None]:
        """Read a list, such as `Requests.list("orders")`. `unexamined` gets each page's number."""
        raw = Pages(pages.path, msgspec.Raw, pages.params, pages.count)
        async for item in self._connections.items(raw, unexamined):
            yield Answer.of(bytes(item), pages.kind)

    async def all_endpoints(self) -> list[Endpoint]:
        """In the user's order."""
        return [one async for one in self.endpoints.list()]

    def bytes_of(self, *path: str, **params: str) -> AsyncGenerator[bytes, None]:
        """The bytes of `requests`, ID, `body`, of `refused`, ID, `raw`, or of another such path: as sent, piece by
        piece."""
        return self.pieces(path_of(*path), params)

    def pieces(
        self, path: str, params: Params | None = None, *, timeout_s: float | None = TIMEOUT_S
    ) -> AsyncGenerator[bytes, None]:
        """What GET returns, piece by piece."""
        return self._connections.pieces(path, params, timeout_s)


class _CommandTransport:
    """Makes calls, with the errors of commands."""

    def __init__(self, api: AsyncTransport | _BlockingTransport) -> None:
        self._api = api

    async def aclose(self) -> None:
        await self._api.aclose()

    async def run(self, steps: Call[T] | Steps[T]) -> T:
        with _as_command_errors():
            return await self._api.run(steps)

    async def items(self, pages: Pages[T], unexamined: Callable[[int], None] | None = None) -> AsyncIterator[T]:
        with _as_command_errors():
            async for item in self._api.items(pages, unexamined):
                yield item

    async def pieces(self, path: str, params: Params | None, timeout_s: float | None) -> AsyncGenerator[bytes, None]:
        with _as_command_errors():
            async with self._api.stream(path, params, timeout_s=timeout_s) as pieces:
                async for piece in pieces:
                    yield piece


def _async_transport(address: ApiAddress) -> AsyncTransport:
    from hookline.client.async_transport import AsyncTransport  # start-up time: most commands need neither

    return AsyncTransport(address)


@contextmanager
def _as_command_errors() -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        raise _command_error(error) from error


def _command_error(error: ApiError) -> CliError:
    if isinstance(error, ProblemError) and error.status != UNAVAILABLE:
        fields = tuple((one.field, one.message) for one in error.fields)
        hint = " See hookline endpoint list." if str(error).startswith(NO_ENDPOINT) else ""
        return CliError(f"{error}{hint}", CODES.get(error.status, Exit.ENVIRONMENT), fields=fields)
    if isinstance(error, (ProblemError, UnreachableError)):
        return UnavailableError(str(error))
    return CliError("Its response is not understood.", Exit.ENVIRONMENT)


class _BlockingTransport:
    """The calls of `AsyncTransport` over blocking connections: none waits for anything else."""

    def __init__(self, address: ApiAddress) -> None:
        self._api = Transport(address)

    async def aclose(self) -> None:
        self._api.close()

    async def run(self, steps: Call[T] | Steps[T]) -> T:
        return self._api.run(steps)

    def items(self, pages: Pages[T], unexamined: Callable[[int], None] | None = None) -> AsyncIterator[T]:
        return _each(self._api.items(pages, unexamined))

    @asynccontextmanager
    async def stream(
        self, path: str, params: Params | None, *, timeout_s: float | None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        with self._api.stream(path, params, timeout_s=timeout_s) as pieces:
            yield _each(pieces)


async def _each(values: Iterable[T]) -> AsyncIterator[T]:
    for value in values:
        yield value


def run_blocking(command: Coroutine[Any, Any, T]) -> T:
    """The result of a command that waits for nothing but a client made with `blocking`."""
    try:
        command.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    command.close()
    raise RuntimeError(f"{command} waits for an event loop")
