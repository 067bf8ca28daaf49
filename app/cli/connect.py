"""How a command reaches the store: through the running program's API, else through one opened for the command."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import msgspec

from app.cli.client import ApiClient, http_client
from app.cli.errors import CliError, Exit
from app.cli.options import FOLDER_VARIABLE
from app.cli.services import ApiAddress, CliServices
from app.core.errors import FolderInUseError

DATABASE = "hookline.db"
PATIENCE_S, PAUSE_S = 10.0, 0.05


class Running(msgspec.Struct, frozen=True):
    """What `runtime.json` says about the program that has the data folder open."""

    pid: int
    api_url: str


@asynccontextmanager
async def connect(folder: Path, services: CliServices, *, create: bool) -> AsyncIterator[ApiClient]:
    """A client of the API that serves `folder`. HooklineError when the folder cannot be opened.

    A folder without data is made, or given some, only with `create`.
    """
    async with AsyncExitStack() as opened:
        address = await _serving(folder, services, opened, create)
        yield await opened.enter_async_context(ApiClient(address))


async def _serving(folder: Path, services: CliServices, opened: AsyncExitStack, create: bool) -> ApiAddress:
    """The running program's API, else one opened in `opened`."""
    patient_until = time.monotonic() + PATIENCE_S
    while True:
        address = find_running(folder)
        if address is not None and await _responds(address):
            return address
        if not create and _has_no_data(folder):
            services.require_database(folder)
            raise CliError(
                f"There is no Hookline data in {folder}. Check --data-dir and {FOLDER_VARIABLE}, or create an endpoint"
                " first: hookline endpoint add NAME",
                Exit.CANNOT,
            )
        try:
            return await opened.enter_async_context(services.open_api(folder))
        except FolderInUseError:
            # By another command, which soon ends, or by a program that is just starting.
            if time.monotonic() > patient_until:
                raise
        await asyncio.sleep(PAUSE_S)


def find_running(folder: Path) -> ApiAddress | None:
    """Where the program that has `folder` open says it is; None when none says so, or its process has ended."""
    try:
        running = msgspec.json.decode((folder / "runtime.json").read_bytes(), type=Running)
        token = (folder / "api-token").read_text("ascii").strip()
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    except (OSError, ValueError) as error:
        raise CliError(f"The data folder {folder} cannot be read: {error}.", Exit.CANNOT) from error
    usable = _is_ours(running.pid) and _is_local(running.api_url)
    return ApiAddress(url=running.api_url, token=token) if usable else None


def _has_no_data(folder: Path) -> bool:
    """Whether `folder` holds no database; False where that cannot be looked up, so that opening it says why."""
    try:
        (folder / DATABASE).stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _is_local(url: str) -> bool:
    """Whether the token may go there: a port of this machine."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return (parts.scheme, parts.hostname) == ("http", "127.0.0.1") and port is not None


def _is_ours(pid: int) -> bool:
    """Whether a process of this user has this id: after a crash the port, and the token, might go to somebody else."""
    if sys.platform == "win32":
        return True  # signal 0 would end the process there; that the port responds has to do
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError, OverflowError):
        return False
    return True


async def _responds(address: ApiAddress) -> bool:
    """Whether the API accepts the token. `/account` comes from memory; `/status` counts expired requests."""
    try:
        async with http_client(address, httpx.Timeout(5)) as http:
            return (await http.get("/account")).is_success
    except httpx.TimeoutException as error:
        raise CliError(f"Hookline at {address.url} is busy and does not respond. Try again.", Exit.CANNOT) from error
    except httpx.TransportError:
        return False
