"""Follows a running Hookline: its address, its events, and what to do while it is restarted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path

from app.cli.client import ApiClient
from app.cli.connect import responds, running_api
from app.cli.errors import CliError, Exit, UnavailableError
from app.cli.output import Output
from hookline.client.events import EventParser, ServerEvent
from hookline.running import ApiAddress

RETRY_S, START_S = 0.5, 0.1
"""Between two looks whether it is back, or has started."""
PATIENCE_S = 45.0
"""Three heartbeats: a connection that brings none is dead."""


class RunningProgram:
    """The Hookline that has a data folder open, found again after each restart."""

    def __init__(self, folder: Path, out: Output) -> None:
        self._folder, self._out = folder, out
        self._lost = False
        self.address: ApiAddress | None = None
        """Where it was last found."""

    async def require(self, command: str) -> ApiAddress:
        """Its address; CliError when none runs."""
        address = await self._find()
        if address is None:
            raise CliError(
                f"No Hookline is running on {self._folder}, and {command} follows one that captures. Start it first:"
                " hookline serve, or the window.",
                Exit.ENVIRONMENT,
            )
        return address

    async def capturing(self, until: float) -> ApiAddress | None:
        """Its address once its capture port is open; None if it is not until the monotonic time `until`."""
        while True:
            if (address := await self._find()) is not None:
                with suppress(UnavailableError):  # it is just stopping
                    async with ApiClient(address) as api:
                        if (await api.status()).capture_url is not None:
                            return address
            left_s = until - time.monotonic()
            if left_s <= 0:
                return None
            await asyncio.sleep(min(START_S, left_s))

    async def again(self, until: float | None = None) -> ApiAddress | None:
        """Its address once it runs again; None if it does not until the monotonic time `until`."""
        if not self._lost:
            self._lost = True
            self._out.message("Hookline does not respond. Waiting until it is back.")
        while until is None or time.monotonic() < until:
            await asyncio.sleep(RETRY_S)
            if (address := await self._find()) is not None:
                return address
        return None

    def connected(self) -> None:
        """Report that it is back, if it was lost."""
        if self._lost:
            self._lost = False
            self._out.message("Hookline is back. Nothing it stored is left out.")

    async def _find(self) -> ApiAddress | None:
        address = running_api(self._folder)
        self.address = address if address is not None and await responds(address) else None
        return self.address


async def events(
    program: RunningProgram, address: ApiAddress, params: dict[str, str]
) -> AsyncGenerator[ServerEvent, None]:
    """Events without end, across restarts. CliError when the API refuses to send them."""
    found: ApiAddress | None = address
    parser = EventParser()
    while found is not None:
        parser.restart()
        after = {"after": parser.last_id} if parser.last_id else {}
        try:
            async with (
                ApiClient(found) as api,
                aclosing(api.pieces("/events", {**params, **after}, timeout_s=PATIENCE_S)) as pieces,
            ):
                async for piece in pieces:
                    program.connected()
                    for event in parser.feed(piece):
                        yield event
        except UnavailableError:
            pass
        found = await program.again()
