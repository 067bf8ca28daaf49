"""The local API for commands: its client, which is `hookline.client` with each error as the one that ends the command,
and with the JSON of an answer as it came; how a command finds the API of the running program, or else has one opened;
and how it follows a running program: its address, its events, and what to do while it is restarted.

The client is the blocking one, also where a command waits: loading asyncio and httpx takes longer than all else that
most commands do.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self

import msgspec

from app import __version__
from app.cli.errors import CliError, Exit, UnavailableError
from app.cli.options import CliServices
from app.cli.output import Output
from app.core.errors import FolderInUseError
from hookline.calls import TIMEOUT_S, Call, Pages, Params, Response, Steps, T, decoded, nothing, path_of
from hookline.client.client import BlockingCalls
from hookline.client.events import EventParser, ServerEvent
from hookline.errors import ApiError, NoResponseError, ProblemError, UnreachableError
from hookline.records import Endpoint
from hookline.running import FOLDER_VARIABLE, ApiAddress, find_running
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


DATABASE = "hookline.db"
PATIENCE_S, PAUSE_S, RESPONSE_S = 10.0, 0.05, 5.0


@contextmanager
def connect(folder: Path, services: CliServices, *, create: bool, without_data: bool = False) -> Iterator[ApiClient]:
    """A client of the API that serves `folder`. HooklineError when the folder cannot be opened.

    A folder without data is created, or gets some, only with `create`. The call that can do `without_data` gets an
    empty store in its place.
    """
    with ExitStack() as stack:
        if without_data and running_api(folder) is None and _has_no_data(folder, services):
            from tempfile import TemporaryDirectory  # start-up time: few commands need it

            folder = Path(stack.enter_context(TemporaryDirectory(prefix="hookline-")))
            create = True
        address = _find_or_open_api(folder, services, stack, create)
        yield stack.enter_context(ApiClient(address))


def _find_or_open_api(folder: Path, services: CliServices, stack: ExitStack, create: bool) -> ApiAddress:
    """The running program's API, else one opened on the stack."""
    wait_until = time.monotonic() + PATIENCE_S
    while True:
        if (address := responding_api(folder)) is not None:
            return address
        if not create and _has_no_data(folder, services):
            services.require_database(folder)
            raise CliError(
                f"There is no Hookline data in {folder}. Check --data-dir and {FOLDER_VARIABLE}, or create an endpoint"
                " first: hookline endpoint add NAME",
                Exit.ENVIRONMENT,
            )
        try:
            return stack.enter_context(services.open_api(folder))
        except FolderInUseError:
            # Another command has it, which soon ends, or a program that is just starting.
            if time.monotonic() > wait_until:
                raise
        time.sleep(PAUSE_S)


def running_api(folder: Path) -> ApiAddress | None:
    """As `find_running`, but a folder that cannot be read is a CliError."""
    try:
        return find_running(folder)
    except (OSError, ValueError) as error:
        raise CliError(
            f"The data folder {folder} cannot be read: {getattr(error, 'strerror', error)}.", Exit.ENVIRONMENT
        ) from error


def _has_no_data(folder: Path, services: CliServices) -> bool:
    """Whether `folder` has no database, and names no team's store; False when that is unknown, so that opening it
    reports the error."""
    try:
        (folder / DATABASE).stat()
    except FileNotFoundError:
        return not services.names_team_store(folder)
    except OSError:
        return False
    return False


def responding_api(folder: Path) -> ApiAddress | None:
    """As `running_api`, but None unless it `responds`."""
    address = running_api(folder)
    return address if address is not None and responds(address) else None


def responds(address: ApiAddress) -> bool:
    """Whether the API accepts the token; CliError if it is busy."""
    with ApiClient(address) as api:
        try:  # `/account` comes from memory; `/status` counts expired requests
            api.send(Call("GET", "/account", nothing, timeout_s=RESPONSE_S))
        except CliError as error:
            if isinstance(error.__cause__, NoResponseError):
                text = f"Hookline at {address.url} is busy and does not respond. Try again."
                raise CliError(text, Exit.ENVIRONMENT) from error
            return False
    return True


RETRY_S, START_S = 0.5, 0.1
"""Between two looks whether it is back, or has started."""
SILENCE_S = 45.0
"""Three heartbeats: a connection that brings none is dead."""


class RunningProgram:
    """The Hookline that has a data folder open, found again after each restart."""

    def __init__(self, folder: Path, out: Output, address: ApiAddress | None = None) -> None:
        self._folder, self._out = folder, out
        self._lost = False
        self._address = address
        """Where it was last found."""

    def require(self, command: str) -> None:
        """CliError when none runs."""
        if not self._find():
            raise CliError(
                f"No Hookline is running on {self._folder}, and {command} follows one that captures. Start it first:"
                " hookline serve, or the window.",
                Exit.ENVIRONMENT,
            )

    def captures(self, until: float) -> bool:
        """Whether its capture port is open, or is opened until the monotonic time `until`."""
        while True:
            if self._find():
                with suppress(UnavailableError), self.client() as api:  # it is just stopping
                    if api.status().capture_url is not None:
                        return True
            left_s = until - time.monotonic()
            if left_s <= 0:
                return False
            time.sleep(min(START_S, left_s))

    def again(self, until: float | None = None) -> bool:
        """Whether it runs again, until the monotonic time `until`."""
        if not self._lost:
            self._lost = True
            self._out.message("Hookline does not respond. Waiting until it is back.")
        while until is None or time.monotonic() < until:
            time.sleep(RETRY_S)
            if self._find():
                return True
        return False

    def connected(self) -> None:
        """Report that it is back, if it was lost."""
        if self._lost:
            self._lost = False
            self._out.message("Hookline is back. Nothing it stored is left out.")

    def _find(self) -> bool:
        self._address = responding_api(self._folder)
        return self._address is not None

    def client(self) -> ApiClient:
        """A client of the program where it was last found; UnavailableError if it was not."""
        if self._address is None:
            raise UnavailableError("Hookline does not respond.")
        return ApiClient(self._address)

    def events(self, params: dict[str, str]) -> Iterator[ServerEvent]:
        """Events without end, across restarts. CliError when the API refuses to send them."""
        parser = EventParser()
        while True:
            parser.restart()
            after = {"after": parser.last_id} if parser.last_id else {}
            with suppress(UnavailableError), self.client() as api:
                for piece in api.pieces("/events", {**params, **after}, timeout_s=SILENCE_S):
                    self.connected()
                    yield from parser.feed(piece)
            self.again()
