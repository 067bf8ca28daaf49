"""The local API's listener: on loopback, and on another address if that is set; started and stopped by the
application."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence

from aiohttp import web

from app.core.errors import HooklineError, PortInUseError
from app.server.addresses import LOOPBACK
from app.server.api.auth import guard
from app.server.api.comparison import ComparisonCalls
from app.server.api.deliveries import DeliveryCalls
from app.server.api.endpoints import EndpointCalls, TargetCalls
from app.server.api.events import EventCalls, WaitCalls
from app.server.api.follower import Followers
from app.server.api.openapi import documented
from app.server.api.probes import Probes
from app.server.api.problems import problems
from app.server.api.protocol import SERVER_NAME, ApiConnections, ApiProtocol, affordable_connections
from app.server.api.replays import ReplayCalls
from app.server.api.requests import RequestCalls
from app.server.api.routes import register
from app.server.api.services import ApiServices
from app.server.api.status import AccountCalls, BackupCalls, SettingsCalls, StateCalls
from app.server.api.tunnel import TunnelCalls
from app.server.descriptors import KeptDescriptors
from app.server.listening import find_holder, listen, stop_listening


async def name_server(_: web.BaseRequest, response: web.StreamResponse) -> None:
    """Signal handler that sets the Server header of all other responses."""
    response.headers["Server"] = SERVER_NAME


CALLS = (
    StateCalls,
    AccountCalls,
    SettingsCalls,
    EndpointCalls,
    TargetCalls,
    RequestCalls,
    DeliveryCalls,
    ReplayCalls,
    TunnelCalls,
    ComparisonCalls,
    BackupCalls,
)
"""The classes with handlers that need the services alone, in the order of the documentation."""

BODY_MAX = 2 * 1024 * 1024
_STOP_S = 1.0
_BACKLOG = 128


class ApiServer:
    """Serves `/api/v1` to callers with `token`, and the probes to all."""

    def __init__(self, services: ApiServices, token: str, descriptors: KeptDescriptors | None = None) -> None:
        self._descriptors = descriptors
        self._services = services
        self._token = token
        self._followers = Followers(services.events)
        self._probes = Probes(services, self._followers.__len__)
        following = (WaitCalls(services, self._followers), EventCalls(services, self._followers))
        calls = (*(calls(services) for calls in CALLS), *following)
        self.routes = documented(route for one in calls for route in one.routes())
        """All calls, in the order of the documentation."""
        self._running: tuple[web.AppRunner, Sequence[asyncio.Server]] | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of this machine alone that it listens on; RuntimeError before `start`."""
        if self._running is None:
            raise RuntimeError("the local API is not being served")
        return LOOPBACK, self._running[1][0].sockets[0].getsockname()[1]

    async def start(self, host: str, port: int) -> None:
        """Listen on loopback and `host` (port 0: any free one). PortInUseError when it is in use; then nothing was
        started."""
        runner = web.AppRunner(self._application(host), shutdown_timeout=_STOP_S)
        await runner.setup()
        manager, loop = runner.server, asyncio.get_running_loop()
        assert manager is not None
        connections = ApiConnections(affordable_connections(), self._descriptors)
        servers: list[asyncio.Server] = []
        try:
            for one in _hosts(host):
                server = await listen(
                    lambda: ApiProtocol(manager, connections, loop), one, port, _BACKLOG, self._descriptors
                )
                servers.append(server)
                port = server.sockets[0].getsockname()[1]
        except OSError as error:
            for server in servers:
                await stop_listening(server)
            await runner.cleanup()
            if error.errno == errno.EADDRINUSE:
                holder = await asyncio.to_thread(find_holder, port)
                raise PortInUseError(host, port, holder, "--api-port") from error
            raise HooklineError(
                f"The local API cannot listen on {host}, port {port}: {error.strerror or error}."
                " Choose another port with --api-port, or another address with --api-host."
            ) from error
        self._running = runner, servers

    async def stop(self) -> None:
        """Stop listening; running calls get a second. Idempotent."""
        running, self._running = self._running, None
        if running is not None:
            runner, servers = running
            try:
                for server in servers:
                    await stop_listening(server)
            finally:
                for server in servers:
                    server.close()
            await runner.cleanup()

    def _application(self, host: str) -> web.Application:
        app = web.Application(middlewares=[problems, guard(self._token, host)], client_max_size=BODY_MAX)
        app.on_response_prepare.append(name_server)
        app.on_shutdown.append(self._followers.stop)
        register(app, self.routes, self._services.store.nodes.catch_up)
        self._probes.add_to(app)
        return app


def _hosts(host: str) -> Sequence[str]:
    """Where to listen, so that commands of this machine reach the API in any case."""
    if host in ("", "0.0.0.0"):  # all of IPv4, loopback too
        return (host or "0.0.0.0",)
    return tuple(dict.fromkeys((LOOPBACK, LOOPBACK if host == "localhost" else host)))
