"""What answers the calls of the local API, and whom: programs on this machine that know the token in the data folder,
and no browser. `server.py` loads it only then: it takes as long as a tenth of a start."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Callable
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from app.core.files import resource
from app.core.own_urls import ALL_ADDRESSES
from app.server.api.deliveries import DeliveryCalls
from app.server.api.endpoints import ComparisonCalls, EndpointCalls, TargetCalls
from app.server.api.events import Followers, FollowingCalls
from app.server.api.probes import PATHS, Probes
from app.server.api.problems import Problem, problems
from app.server.api.protocol import SERVER_NAME, ApiConnections, ApiProtocol
from app.server.api.replays import ReplayCalls
from app.server.api.requests import RequestCalls
from app.server.api.routes import Calls, Returns, Route, register, route
from app.server.api.server import ApiServices
from app.server.api.status import AccountCalls, BackupCalls, SettingsCalls, StateCalls
from app.server.api.tunnel import TunnelCalls

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
    probes = Probes(services, followers.__len__)
    app = web.Application(middlewares=[problems, guard(token, host)], client_max_size=BODY_MAX)
    app.on_response_prepare.append(_name_server)
    app.on_shutdown.append(followers.stop)
    register(app, routes_of(services, followers), services.store.nodes.catch_up)
    probes.add_to(app)
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
        if not is_probe and not _is_loopback(called) and not _is(host, called):
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


def _is_loopback(host: str) -> bool:
    return _LOOPBACK.fullmatch(host) is not None
