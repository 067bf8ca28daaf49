"""The local API's listener: loopback only, its own port, started and stopped by the application."""

from __future__ import annotations

import asyncio
import errno

from aiohttp import web

from app.core.errors import HooklineError, PortInUseError
from app.server.api.endpoints import EndpointCalls
from app.server.api.guard import guard, problems
from app.server.api.ports import ApiDoors
from app.server.api.requests import RequestCalls
from app.server.api.routes import register
from app.server.api.state import StateCalls
from app.server.capture.port_holder import find_holder

BODY_MAX = 2 * 1024 * 1024
_STOP_S = 1.0


class ApiServer:
    """Serves `/api/v1` to those who bear `token`."""

    def __init__(self, doors: ApiDoors, token: str) -> None:
        self._doors = doors
        self._token = token
        self._runner: web.AppRunner | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port listened on; RuntimeError before `start`."""
        if self._runner is None or not self._runner.addresses:
            raise RuntimeError("the local API is not being served")
        host, port = self._runner.addresses[0][:2]
        return str(host), int(port)

    async def start(self, host: str, port: int) -> None:
        """Listen (port 0: any free one). PortInUseError when it is taken; then nothing was started."""
        runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=_STOP_S)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            await runner.cleanup()
            if error.errno == errno.EADDRINUSE:
                holder = await asyncio.to_thread(find_holder, port)
                raise PortInUseError(host, port, holder, "--api-port") from error
            raise HooklineError(
                f"The local API cannot listen on {host}, port {port}: {error.strerror or error}."
                " Choose another port with --api-port."
            ) from error
        self._runner = runner

    async def stop(self) -> None:
        """Stop listening; calls in hand get a second. Idempotent."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[problems, guard(self._token)], client_max_size=BODY_MAX)
        for calls in (StateCalls(self._doors), EndpointCalls(self._doors), RequestCalls(self._doors)):
            register(app, calls.routes())
        return app
