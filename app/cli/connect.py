"""Connects a command to the store: through the running program's API, else through one opened for the command."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from app.cli.blocking import run_blocking
from app.cli.call import CliServices
from app.cli.client import ApiClient
from app.cli.errors import CliError, Exit
from app.core.errors import FolderInUseError
from hookline.calls import Call, nothing
from hookline.errors import NoResponseError
from hookline.running import FOLDER_VARIABLE, ApiAddress, find_running

DATABASE = "hookline.db"
PATIENCE_S, PAUSE_S, RESPONSE_S = 10.0, 0.05, 5.0


@asynccontextmanager
async def connect(
    folder: Path, services: CliServices, *, create: bool, without_data: bool = False
) -> AsyncIterator[ApiClient]:
    """A client of the API that serves `folder`. HooklineError when the folder cannot be opened.

    A folder without data is created, or gets some, only with `create`. The call that can do `without_data` gets an
    empty store in its place.
    """
    from tempfile import TemporaryDirectory  # start-up time: few commands need it

    async with AsyncExitStack() as stack:
        if without_data and running_api(folder) is None and _has_no_data(folder, services):
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="hookline-")))
            create = True
        address = await _find_or_open_api(folder, services, stack, create)
        yield await stack.enter_async_context(ApiClient(address))


async def _find_or_open_api(folder: Path, services: CliServices, stack: AsyncExitStack, create: bool) -> ApiAddress:
    """The running program's API, else one opened on the stack."""
    import asyncio  # start-up time, see `app.cli.blocking`

    wait_until = time.monotonic() + PATIENCE_S
    while True:
        address = running_api(folder)
        if address is not None and await responds(address):
            return address
        if not create and _has_no_data(folder, services):
            services.require_database(folder)
            raise CliError(
                f"There is no Hookline data in {folder}. Check --data-dir and {FOLDER_VARIABLE}, or create an endpoint"
                " first: hookline endpoint add NAME",
                Exit.ENVIRONMENT,
            )
        try:
            return await stack.enter_async_context(services.open_api(folder))
        except FolderInUseError:
            # Another command has it, which soon ends, or a program that is just starting.
            if time.monotonic() > wait_until:
                raise
        await asyncio.sleep(PAUSE_S)


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


async def responds(address: ApiAddress) -> bool:
    """Whether the API accepts the token; CliError if it is busy."""
    async with ApiClient(address) as api:
        return await accepts(api)


async def accepts(api: ApiClient) -> bool:
    """As `responds`. `/account` comes from memory; `/status` counts expired requests."""
    try:
        await api.send(Call("GET", "/account", nothing, timeout_s=RESPONSE_S))
    except CliError as error:
        if isinstance(error.__cause__, NoResponseError):
            text = f"Hookline at {api.address.url} is busy and does not respond. Try again."
            raise CliError(text, Exit.ENVIRONMENT) from error
        return False
    return True


def blocking_client(folder: Path) -> ApiClient | None:
    """A client of the running program for `run_blocking`; None if none runs."""
    address = running_api(folder)
    if address is None:
        return None
    api = ApiClient(address, blocking=True)
    if run_blocking(accepts(api)):
        return api
    run_blocking(api.close())
    return None
