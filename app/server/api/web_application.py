"""What answers the calls of the local API, and whom: programs on this machine that know the token in the data folder,
and no browser; and the probes, which anybody may call. `server.py` loads it only then: it takes as long as a tenth of a
start."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from app.core.errors import StorageUnavailableError
from app.core.files import resource
from app.core.own_urls import ALL_ADDRESSES
from app.server.api.deliveries import DeliveryCalls
from app.server.api.endpoints import ComparisonCalls, EndpointCalls, TargetCalls
from app.server.api.events import Followers, FollowingCalls
from app.server.api.problems import Problem, problems
from app.server.api.protocol import SERVER_NAME, ApiConnections, ApiProtocol
from app.server.api.replays import ReplayCalls
from app.server.api.requests import RequestCalls
from app.server.api.routes import Calls, Returns, Route, register, route
from app.server.api.server import ApiServices
from app.server.api.status import AccountCalls, BackupCalls, SettingsCalls, StateCalls
from app.server.api.tunnel import TunnelCalls

T = TypeVar("T")

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


async def running(services: ApiServices, token: str, host: str) -> web.AppRunner:
    """Answers `/api/v1` to callers with `token`, and the probes to all; until its cleanup, in which running calls get a
    second."""
    followers = Followers(services.events)
    app = web.Application(middlewares=[problems, guard(token, host)], client_max_size=BODY_MAX)
    app.on_response_prepare.append(_name_server)
    app.on_shutdown.append(followers.stop)
    register(app, routes_of(services, followers), services.store.nodes.catch_up)
    Probes(services, followers).add_to(app)
    runner = web.AppRunner(app, shutdown_timeout=_STOP_S)
    await runner.setup()
    return runner


def routes_of(services: ApiServices, followers: Followers) -> tuple[Route, ...]:
    """All calls, in the order of the documentation."""
    calls = (*(calls(services) for calls in CALLS), FollowingCalls(services, followers), DocumentCalls(services))
    return tuple(route for one in calls for route in one.routes())


class DocumentCalls(Calls):
    """Handler of `/openapi.json`."""

    @route("GET", "/openapi.json", "Read this document", returns=Returns(dict[str, Any]))
    async def read(self, request: web.Request) -> web.Response:
        """The OpenAPI 3.1 document of this API."""
        body = await asyncio.to_thread(resource("openapi.json").read_bytes)
        return web.Response(body=body, content_type="application/json")


PATHS = HEALTH, READY, METRICS = "/healthz", "/readyz", "/metrics"
READ_S = 3.0
"""The longest that what is read from the store may take; it is left out then."""
LACKING = "Metrics need prometheus-client. Install it: pip install 'hookline[team]'"


class Probes:
    """Handlers outside the API's prefix, of what a load balancer, an orchestrator or Prometheus asks without a token:
    whether the program lives, whether it can capture, and its metrics. No response says anything about requests,
    endpoints or targets."""

    def __init__(self, services: ApiServices, followers: Followers) -> None:
        self._services, self._followers = services, followers

    def add_to(self, app: web.Application) -> None:
        app.router.add_get(HEALTH, self._health)
        app.router.add_get(READY, self._ready)
        app.router.add_get(METRICS, self._metrics)

    async def _health(self, request: web.Request) -> web.Response:
        """The loop turns: nothing else answers."""
        return _plain("ok")

    async def _ready(self, request: web.Request) -> web.Response:
        """Whether a sender would be answered with 2xx, as far as this program can tell."""
        if self._services.addresses.listening is None:
            return _plain("The capture port is closed.", 503)
        trouble = self._services.troubles.storage
        return _plain("ready") if trouble is None else _plain(trouble, 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        """In Prometheus' text format; no label names an endpoint or a target."""
        try:  # now, for the library takes time to load and may be missing
            exposition = await asyncio.to_thread(import_module, "app.server.api.exposition")
        except ImportError:
            return _plain(LACKING, 501)
        services, store = self._services, self._services.store
        endpoints = store.endpoints.all()
        queued, nodes = await asyncio.gather(
            self._read(store.deliveries.target_counts()), self._read(store.nodes.all())
        )
        use = store.limits.use()
        gauges = {
            "endpoints": len(endpoints),
            "stored_requests": sum(store.captures.counts(endpoint.id).total for endpoint in endpoints),
            "stored_bytes": use.used,
            "storage_limit_bytes": use.limit,
            "stored_response_bytes": store.limits.use_of_responses().used,
            "storage_trouble": services.troubles.storage is not None,
            "queued_deliveries": None if queued is None else sum(count.queued for count in queued.values()),
            "nodes": None if nodes is None else len(nodes),
            "event_readers": len(self._followers),
        }
        body = await asyncio.to_thread(exposition.text, services.version, services.counts, gauges)
        return web.Response(
            body=body, headers={"Content-Type": exposition.CONTENT_TYPE_LATEST, "Cache-Control": "no-store"}
        )

    async def _read(self, reading: Awaitable[T]) -> T | None:
        """None while the store cannot be read."""
        try:
            async with asyncio.timeout(READ_S):
                return await reading
        except (StorageUnavailableError, TimeoutError):
            return None


def _plain(text: str, status: int = 200) -> web.Response:
    """A line that nobody may cache."""
    return web.Response(text=f"{text}\n", status=status, headers={"Cache-Control": "no-store"})


def protocol_of(runner: web.AppRunner, connections: ApiConnections) -> Callable[[], asyncio.Protocol]:
    """Makes what each of these connections is answered by."""
    manager, loop = runner.server, asyncio.get_running_loop()
    assert manager is not None
    return lambda: ApiProtocol(manager, connections, loop)


async def _name_server(_: web.BaseRequest, response: web.StreamResponse) -> None:
    """Signal handler that sets the Server header of all other responses."""
    response.headers["Server"] = SERVER_NAME


_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?", re.IGNORECASE)


def guard(token: str, host: str) -> Middleware:
    """Middleware that requires a loopback Host or `host`, no Origin, and `token` as bearer token. Probes may have any
    Host, and no token."""
    expected = token.encode("utf-8")

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        protocol = request.protocol
        assert isinstance(protocol, ApiProtocol)
        protocol.check_head(request)
        is_probe = request.path in PATHS
        called = request.headers.get("Host", "")
        if not is_probe and _LOOPBACK.fullmatch(called) is None and not _is(host, called):
            raise Problem("forbidden-host", "Call this API at a loopback address, such as 127.0.0.1 or localhost.")
        if "Origin" in request.headers:
            raise Problem("forbidden-origin", "This API is for programs; requests from web pages are refused.")
        if is_probe:
            return await handler(request)
        if not hmac.compare_digest(_bearer(request), expected):
            detail = "Send the header Authorization: Bearer followed by the token in the data folder's api-token file."
            raise Problem("unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="hookline"'})
        protocol.authorized()
        if protocol.crowded:
            detail = "All connections to this API have a call in progress; end some of them."
            raise Problem("too-many-connections", detail, headers={"Connection": "close"})
        return await handler(request)

    return check


def _bearer(request: web.Request) -> bytes:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip().encode("utf-8", "surrogateescape") if scheme.lower() == "bearer" else b""


def _is(host: str, called: str) -> bool:
    """Whether a Host header says this address, with a port or without. An address that stands for all is none."""
    name, colon, port = called.rpartition(":")
    name = name if colon and port.isdecimal() and not name.endswith(":") else called
    return host not in ALL_ADDRESSES and name.removeprefix("[").removesuffix("]").lower() == host.lower()
