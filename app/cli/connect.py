"""Connects a command to the store: through the running program's API, else through one opened for the command; and
follows a running program: its address, its events, and what to do while it is restarted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from app.cli.call import CliServices
from app.cli.client import ApiClient
from app.cli.errors import CliError, Exit, UnavailableError
from app.cli.output import Output
from app.core.errors import FolderInUseError
from hookline.calls import Call, nothing
from hookline.client.events import EventParser, ServerEvent
from hookline.errors import NoResponseError
from hookline.running import FOLDER_VARIABLE, ApiAddress, find_running

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
