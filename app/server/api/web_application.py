"""What answers the calls of the local API. `server.py` loads it only then: it takes as long as a tenth of a start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web

from app.server.api.auth import guard
from app.server.api.comparison import ComparisonCalls
from app.server.api.deliveries import DeliveryCalls
from app.server.api.endpoints import EndpointCalls, TargetCalls
from app.server.api.events import EventCalls, WaitCalls
from app.server.api.follower import Followers
from app.server.api.openapi import documented
from app.server.api.probes import Probes
from app.server.api.problems import problems
from app.server.api.protocol import SERVER_NAME, ApiConnections, ApiProtocol
from app.server.api.replays import ReplayCalls
from app.server.api.requests import RequestCalls
from app.server.api.routes import Route, register
from app.server.api.services import ApiServices
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
    following = (WaitCalls(services, followers), EventCalls(services, followers))
    calls = (*(calls(services) for calls in CALLS), *following)
    return documented(route for one in calls for route in one.routes())


def protocol_of(runner: web.AppRunner, connections: ApiConnections) -> Callable[[], asyncio.Protocol]:
    """Makes what each of these connections is answered by."""
    manager, loop = runner.server, asyncio.get_running_loop()
    assert manager is not None
    return lambda: ApiProtocol(manager, connections, loop)


async def _name_server(_: web.BaseRequest, response: web.StreamResponse) -> None:
    """Signal handler that sets the Server header of all other responses."""
    response.headers["Server"] = SERVER_NAME
