"""The local API's listener: loopback only, its own port, started and stopped by the application."""

from __future__ import annotations

import asyncio
import errno

from aiohttp import web

from app.core.errors import HooklineError, PortInUseError
from app.server.api.account import AccountCalls
from app.server.api.auth import guard, problems
from app.server.api.deliveries import DeliveryCalls
from app.server.api.endpoints import EndpointCalls
from app.server.api.protocol import ApiProtocol, name_server
from app.server.api.requests import RequestCalls
from app.server.api.routes import register
from app.server.api.services import ApiServices
from app.server.api.settings import SettingsCalls
from app.server.api.status import StateCalls
from app.server.capture.port_holder import find_holder
from app.server.listening import stop_listening

BODY_MAX = 2 * 1024 * 1024
_STOP_S = 1.0
_BACKLOG = 128


class ApiServer:
    """Serves `/api/v1` to those who bear `token`."""

    def __init__(self, services: ApiServices, token: str) -> None:
        self._services = services
        self._token = token
        self._running: tuple[web.AppRunner, asyncio.Server] | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port listened on; RuntimeError before `start`."""
        if self._running is None:
            raise RuntimeError("the local API is not being served")
        host, port = self._running[1].sockets[0].getsockname()[:2]
        return host, port

    async def start(self, host: str, port: int) -> None:
        """Listen (port 0: any free one). PortInUseError when it is taken; then nothing was started."""
        runner = web.AppRunner(self._application(), shutdown_timeout=_STOP_S)
        await runner.setup()
        manager, loop = runner.server, asyncio.get_running_loop()
        assert manager is not None
        try:
            server = await loop.create_server(lambda: ApiProtocol(manager, loop), host, port, backlog=_BACKLOG)
        except OSError as error:
            await runner.cleanup()
            if error.errno == errno.EADDRINUSE:
                holder = await asyncio.to_thread(find_holder, port)
                raise PortInUseError(host, port, holder, "--api-port") from error
            raise HooklineError(
                f"The local API cannot listen on {host}, port {port}: {error.strerror or error}."
                " Choose another port with --api-port."
            ) from error
        self._running = runner, server

    async def stop(self) -> None:
        """Stop listening; calls in hand get a second. Idempotent."""
        running, self._running = self._running, None
        if running is not None:
            runner, server = running
            await stop_listening(server)
            await runner.cleanup()

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[problems, guard(self._token)], client_max_size=BODY_MAX)
        app.on_response_prepare.append(name_server)
        for calls in (StateCalls, AccountCalls, SettingsCalls, EndpointCalls, RequestCalls, DeliveryCalls):
            register(app, calls(self._services).routes())
        return app
