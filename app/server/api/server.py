"""The local API's listener, on loopback, and on another address if that is set, started and stopped by the application;
and what the API needs of that."""

from __future__ import annotations

import asyncio
import errno
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from app.core.errors import HooklineError, PortInUseError
from app.server.addresses import LOOPBACK, Addresses
from app.server.api.event_log import EventLog
from app.server.listening import KeptDescriptors, bind, file_limit, find_holder, stop_listening
from app.server.node_counts import NodeCounts
from app.server.refused import RefusedLog
from app.server.replay_service import ReplayService
from app.server.tunnel.service import TunnelService

if TYPE_CHECKING:
    from aiohttp import web

    from app.current_settings import CurrentSettings
    from app.db.store import Store
    from app.troubles import Troubles


CONNECTIONS_MAX = 640
"""More than `FOLLOWERS_MAX` callers that wait for events."""
_AT_ONCE = 16
"""Connections that are accepted at once above the limit."""
_BACKLOG = 128
_LOADING = threading.Lock()


def affordable_connections() -> int:
    """`CONNECTIONS_MAX`, or an eighth of the files this process may open where that is less."""
    return min(CONNECTIONS_MAX, file_limit() // 8)


def kept_descriptors() -> int:
    """How many descriptors are kept for the API."""
    return affordable_connections() + _AT_ONCE


@dataclass(frozen=True)
class ApiServices:
    """What the local API needs of the running program."""

    store: Store
    events: EventLog
    replays: ReplayService
    tunnels: TunnelService
    refused: RefusedLog
    version: str
    addresses: Addresses
    troubles: Troubles
    counts: NodeCounts
    uptime_s: Callable[[], float]
    settings: CurrentSettings
    change_settings: Callable[[Mapping[str, Any]], Awaitable[None]]
    """Applies and saves these, by name; InvalidFieldsError or PortInUseError changes nothing."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while an endpoint or target is patched: two patches at once must not undo each other's fields."""


class ApiServer:
    """Serves `/api/v1` to callers with `token`, and the probes to all.

    From `listen` on it has its port, and callers wait; `serve` loads what answers them, which a window need not wait
    for.
    """

    def __init__(self, services: ApiServices, token: str, descriptors: KeptDescriptors | None = None) -> None:
        self._services, self._token, self._descriptors = services, token, descriptors
        self._host = LOOPBACK
        self._listening: list[asyncio.Server] = []
        self._runner: web.AppRunner | None = None
        self._protocol: Callable[[], asyncio.Protocol]
        self._turn = asyncio.Lock()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of this machine alone that it listens on; RuntimeError before `listen`."""
        if not self._listening:
            raise RuntimeError("the local API is not being served")
        return LOOPBACK, self._listening[0].sockets[0].getsockname()[1]

    async def start(self, host: str, port: int) -> None:
        """`listen` and `serve`."""
        await self.listen(host, port)
        await self.serve()

    async def listen(self, host: str, port: int) -> None:
        """Listen on loopback and `host` (port 0: any free one). PortInUseError when it is in use; then nothing was
        started."""
        servers: list[asyncio.Server] = []
        try:
            for one in _hosts(host):
                servers.append(await bind(self._connected, one, port, _BACKLOG, self._descriptors))
                port = servers[0].sockets[0].getsockname()[1]
        except OSError as error:
            for server in servers:
                server.close()
            if error.errno == errno.EADDRINUSE:
                holder = await asyncio.to_thread(find_holder, port)
                raise PortInUseError(host, port, holder, "--api-port") from error
            raise HooklineError(
                f"The local API cannot listen on {host}, port {port}: {error.strerror or error}."
                " Choose another port with --api-port, or another address with --api-host."
            ) from error
        self._host, self._listening = host, servers

    def _connected(self) -> asyncio.Protocol:
        return self._protocol()

    async def serve(self) -> None:
        """Answer those that wait, and all later ones."""
        async with self._turn:
            if self._runner is not None or not self._listening:
                return
            loaded = await asyncio.to_thread(load_web_application)
            self._runner = await loaded.running(self._services, self._token, self._host)
            connections = loaded.ApiConnections(affordable_connections(), self._descriptors)
            self._protocol = loaded.protocol_of(self._runner, connections)
            for server in self._listening:
                await server.start_serving()

    async def stop(self) -> None:
        """Stop listening; running calls get a second. Idempotent."""
        async with self._turn:
            servers, self._listening = self._listening, []
            runner, self._runner = self._runner, None
            try:
                for server in servers:
                    await stop_listening(server)
            finally:
                for server in servers:
                    server.close()
            if runner is not None:
                await runner.cleanup()


def load_web_application() -> ModuleType:
    """What answers the callers.

    aiohttp's client makes two TLS contexts when it is loaded, and to read the system's authorities into them takes a
    fifth of the processor time of a start. Hookline uses its server alone: the contexts trust nobody. Those that other
    threads make meanwhile trust whom the system trusts. One thread at a time loads it: each restores what it found.
    """
    with _LOADING:
        return _load_web_application()


def _load_web_application() -> ModuleType:
    context: Any = ssl.SSLContext
    here, load = threading.get_ident(), context.load_default_certs

    def elsewhere(method: Callable[..., None]) -> Callable[..., None]:
        return lambda *arguments: None if threading.get_ident() == here else method(*arguments)

    context.load_default_certs = elsewhere(load)
    context.set_default_verify_paths = elsewhere(context.set_default_verify_paths)
    try:
        return import_module("app.server.api.web_application")
    finally:
        context.load_default_certs = load
        del context.set_default_verify_paths  # which is that of its base class


def _hosts(host: str) -> Sequence[str]:
    """Where to listen, so that commands of this machine reach the API in any case."""
    if host in ("", "0.0.0.0"):  # all of IPv4, loopback too
        return (host or "0.0.0.0",)
    return tuple(dict.fromkeys((LOOPBACK, LOOPBACK if host == "localhost" else host)))
