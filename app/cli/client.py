"""The local API's client for commands: `hookline.client`, with each error as the one that ends the command, and with
the JSON of an answer as it came.

It is the blocking one, also where a command waits: loading asyncio and httpx takes longer than all else that most of
them do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Generic, Self

import msgspec

from app import __version__
from app.cli.errors import CliError, Exit, UnavailableError
from hookline.calls import TIMEOUT_S, Call, Pages, Params, Response, Steps, T, decoded, path_of
from hookline.client.client import BlockingCalls
from hookline.errors import ApiError, ProblemError, UnreachableError
from hookline.records import Endpoint
from hookline.running import ApiAddress
from hookline.transport import Transport

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


class ApiClient(BlockingCalls):
    """All calls that commands make. Every method raises CliError for an error response, or when there is none."""

    def __init__(self, address: ApiAddress) -> None:
        self.address, self._connections = address, _CommandTransport(address)
        super().__init__(self._connections)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if self.address.version in (None, __version__) or isinstance(error, UnavailableError):
            return
        if isinstance(error, CliError):
            text = (
                f"{error} The running Hookline is version {self.address.version}, and this command {__version__}."
                " Restart Hookline to run this version, or use the hookline command of the other."
            )
            raise CliError(text, error.code) from error

    def while_waiting(self, check: Callable[[], object]) -> None:
        """Call `check` again and again while a response is awaited; what it raises ends the call."""
        self._connections.while_waiting = check

    def answer(self, call: Call[T]) -> Answer[T]:
        """Make a call, such as `Endpoints.get("orders")`."""

        def read(response: Response) -> Answer[T]:
            return Answer(response.content, lambda: call.decode(response))

        return self.send(call._replace(decode=read))  # type: ignore[arg-type]  # a call of another result

    def answers(self, pages: Pages[T], unexamined: Callable[[int], None] | None = None) -> Iterator[Answer[T]]:
        """Read a list, such as `Requests.list("orders")`. `unexamined` gets each page's number."""
        raw = Pages(pages.path, msgspec.Raw, pages.params, pages.count)
        for item in self._connections.items(raw, unexamined):
            yield Answer.of(bytes(item), pages.kind)

    def all_endpoints(self) -> list[Endpoint]:
        """In the user's order."""
        return list(self.endpoints.list())

    def bytes_of(self, *path: str, **params: str) -> Iterator[bytes]:
        """The bytes of `requests`, ID, `body`, of `refused`, ID, `raw`, or of another such path: as sent, piece by
        piece."""
        return self.pieces(path_of(*path), params)

    def pieces(
        self, path: str, params: Params | None = None, *, timeout_s: float | None = TIMEOUT_S
    ) -> Iterator[bytes]:
        """What GET returns, piece by piece."""
        with self._connections.stream(path, params, timeout_s=timeout_s) as pieces:
            yield from pieces


class _CommandTransport(Transport):
    """Raises the errors of commands."""

    def run(self, steps: Call[T] | Steps[T]) -> T:
        with _as_command_errors():
            return super().run(steps)

    def items(self, pages: Pages[T], unexamined: Callable[[int], None] | None = None) -> Iterator[T]:
        with _as_command_errors():
            yield from super().items(pages, unexamined)

    @contextmanager
    def stream(self, *args: Any, **kwargs: Any) -> Iterator[Iterator[bytes]]:
        with _as_command_errors(), super().stream(*args, **kwargs) as pieces:
            yield pieces


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
