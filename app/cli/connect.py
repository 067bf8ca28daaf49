"""Connects a command to the store: through the running program's API, else through one opened for the command."""

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

from app.cli.client import ApiClient
from app.cli.errors import CliError, Exit
from app.cli.options import FOLDER_VARIABLE
from app.cli.services import ApiAddress, CliServices
from app.cli.transport import http_client
from app.core.errors import FolderInUseError

DATABASE = "hookline.db"
PATIENCE_S, PAUSE_S = 10.0, 0.05


class Running(msgspec.Struct, frozen=True):
    """The part of `runtime.json` that commands need."""

    pid: int
    api_url: str


@asynccontextmanager
async def connect(folder: Path, services: CliServices, *, create: bool) -> AsyncIterator[ApiClient]:
    """A client of the API that serves `folder`. HooklineError when the folder cannot be opened.

    A folder without data is created, or gets some, only with `create`.
    """
    async with AsyncExitStack() as stack:
        address = await _find_or_open_api(folder, services, stack, create)
        yield await stack.enter_async_context(ApiClient(address))


async def _find_or_open_api(folder: Path, services: CliServices, stack: AsyncExitStack, create: bool) -> ApiAddress:
    """The running program's API, else one opened on the stack."""
    wait_until = time.monotonic() + PATIENCE_S
    while True:
        address = find_running(folder)
        if address is not None and await responds(address):
            return address
        if not create and _has_no_data(folder):
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


def find_running(folder: Path) -> ApiAddress | None:
    """The address of the program that has `folder` open; None when there is none, or its process has ended."""
    try:
        running = msgspec.json.decode((folder / "runtime.json").read_bytes(), type=Running)
        token = (folder / "api-token").read_text("ascii").strip()
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    except (OSError, ValueError) as error:
        raise CliError(f"The data folder {folder} cannot be read: {error}.", Exit.ENVIRONMENT) from error
    usable = _is_own_process(running.pid) and _is_local(running.api_url)
    return ApiAddress(url=running.api_url, token=token) if usable else None


def _has_no_data(folder: Path) -> bool:
    """Whether `folder` has no database; False when that is unknown, so that opening it reports the error."""
    try:
        (folder / DATABASE).stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _is_local(url: str) -> bool:
    """Whether the token may be sent there: to a port of this machine."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return (parts.scheme, parts.hostname) == ("http", "127.0.0.1") and port is not None


def _is_own_process(pid: int) -> bool:
    """Whether a process of this user has this id: after a crash the port, and the token, might go to someone else."""
    if sys.platform == "win32":
        return True  # signal 0 would end the process there; that the port responds has to do
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError, OverflowError):
        return False
    return True


async def responds(address: ApiAddress) -> bool:
    """Whether the API accepts the token. `/account` comes from memory; `/status` counts expired requests."""
    try:
        async with http_client(address, httpx.Timeout(5)) as http:
            return (await http.get("/account")).is_success
    except httpx.TimeoutException as error:
        raise CliError(
            f"Hookline at {address.url} is busy and does not respond. Try again.", Exit.ENVIRONMENT
        ) from error
    except httpx.TransportError:
        return False
