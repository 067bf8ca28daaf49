"""The table of calls: method, path, handler and the query parameters it accepts. Responses are JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

import msgspec
from aiohttp import web

from app.core.model import Capture, Endpoint
from app.core.repositories import EndpointRepository
from app.server.api.parameters import check_names
from app.server.api.problems import Problem
from app.server.api.services import ApiServices

PREFIX = "/api/v1"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Page(msgspec.Struct, frozen=True):
    """A part of a list; `next` is the cursor of what follows, null at its end."""

    items: tuple[msgspec.Struct, ...]
    next: str | None


@dataclass(frozen=True)
class Route:
    """One call of the API. A GET handles HEAD too. `repeatable` parameters may be given several times."""

    method: str
    path: str
    handler: Handler
    parameters: tuple[str, ...] = ()
    repeatable: tuple[str, ...] = ()


def register(app: web.Application, routes: Iterable[Route]) -> None:
    """Add `routes` under the API's prefix."""
    for route in routes:
        handler = _checked(route)
        if route.method == "GET":
            app.router.add_get(PREFIX + route.path, handler)
        else:
            app.router.add_route(route.method, PREFIX + route.path, handler)


def _checked(route: Route) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        check_names(request, route.parameters, route.repeatable)
        return await route.handler(request)

    return handle


def json_response(shape: msgspec.Struct, status: int = 200, location: str | None = None) -> web.Response:
    headers = {"Location": PREFIX + location} if location else None
    body = msgspec.json.encode(shape)
    return web.Response(body=body, status=status, content_type="application/json", headers=headers)


def done() -> web.Response:
    """204 without a body."""
    return web.Response(status=204)


def endpoint_named(endpoints: EndpointRepository, slug: str) -> Endpoint:
    """The endpoint of that slug, or a 404 problem."""
    endpoint = endpoints.by_slug(slug)
    if endpoint is None:
        raise Problem(404, "not-found", f"No endpoint has the slug {slug!r}.")
    return endpoint


async def stored_request(services: ApiServices, capture_id: str) -> tuple[Capture, str]:
    """The request and its endpoint's slug, or a 404 problem."""
    capture = await services.captures.get(capture_id)
    endpoint = services.endpoints.by_id(capture.endpoint_id) if capture is not None else None
    if capture is None or endpoint is None:
        raise Problem(404, "not-found", f"No request has the ID {capture_id!r}.")
    return capture, endpoint.slug
