"""The table of calls: each declares what it takes and what it responds, for validation and for its documentation."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from aiohttp import web

from app.core.errors import NotFoundError
from app.core.model import Capture, Endpoint
from app.server.api.parameters import ENDPOINT, Parameter, check_names
from app.server.api.problems import Problem, decoded, json_text, problem_of
from app.server.api.server import ApiServices

if TYPE_CHECKING:
    from app.db.endpoints import Endpoints

T = TypeVar("T")

Parameters = tuple[Parameter[Any], ...]

PREFIX = "/api/v1"

Handler = Callable[..., Awaitable[msgspec.Struct | web.StreamResponse | None]]
"""Called with the request, and with the decoded body if the route declares one. Returns what is sent as JSON, None for
204 without a body, or a response of its own."""


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list; `next` is the cursor of what follows, null at its end."""

    items: tuple[T, ...]
    next: str | None


@dataclass(frozen=True)
class Returns:
    """A response of a call that succeeded, for the documentation. `shape` is the type of its JSON; None: it has no
    body, unless `media_type` is of another format. `headers` are those that only this call has, with what they say."""

    shape: Any = None
    status: int = 200
    media_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


ATTACHMENT = Returns(media_type="application/octet-stream")
"""A sender's bytes, with `attachment_headers`."""


@dataclass(frozen=True)
class Body:
    """The JSON body of a call, with an example of it. An `optional` one may be absent: then it is `{}`."""

    shape: Any
    example: Mapping[str, Any]
    optional: bool = False


@dataclass(frozen=True)
class Route:
    """One call of the API. A GET handles HEAD too.

    `summary` is a short imperative, unique among all; the handler's docstring is the description. `status` is that of
    what the handler returns, and `location` says where that is. `returns` says what it responds, unless the handler's
    annotation does. `problems` are the kinds that this call has besides those that all calls of its form have
    (`docs/openapi.py`).
    """

    method: str
    path: str
    handler: Handler
    summary: str
    parameters: Parameters = ()
    status: int = 200
    location: str = ""
    returns: Returns | tuple[Returns, ...] | None = None
    body: Body | None = None
    problems: tuple[str, ...] = ()


H = TypeVar("H", bound=Handler)
_DECLARED: dict[Handler, dict[str, Any]] = {}
"""Fields of routes by the methods that handle them."""


def route(method: str, path: str, summary: str, parameters: Parameters = (), **others: Any) -> Callable[[H], H]:
    """Declares which call a method of `Calls` handles. `others` are other fields of the route."""
    return _declared(method=method, path=path, summary=summary, parameters=parameters, **others)


def takes(shape: Any, example: Mapping[str, Any], *, optional: bool = False) -> Callable[[H], H]:
    """Declares the call's body."""
    return _declared(body=Body(shape, example, optional))


def located(path: str) -> Callable[[H], H]:
    """Declares where what the call makes is: a format of the path's parameters and of what was `made`."""
    return _declared(location=path)


def can_fail(*problems: str) -> Callable[[H], H]:
    """Declares the kinds of problems that the call has besides those of all calls."""
    return _declared(problems=problems)


def _declared(**fields: Any) -> Callable[[H], H]:
    def declare(handler: H) -> H:
        _DECLARED.setdefault(handler, {}).update(fields)
        return handler

    return declare


class Calls:
    """The handlers of a resource."""

    def __init__(self, services: ApiServices) -> None:
        self._services, self._store = services, services.store

    def routes(self) -> Iterator[Route]:
        """The calls that its methods declare, in their order."""
        for name, method in vars(type(self)).items():
            if callable(method) and method in _DECLARED:
                yield Route(handler=getattr(self, name), **_DECLARED[method])

    def _endpoint(self, request: web.Request) -> Endpoint:
        """The endpoint that the path names, or a 404 problem."""
        return endpoint_named(self._store.endpoints, request.match_info["slug"])

    def _only_endpoint(self, request: web.Request) -> Endpoint | None:
        """The endpoint that the parameter `endpoint` names, or a 404 problem; None without one."""
        slug = ENDPOINT.of(request)
        return None if slug is None else endpoint_named(self._store.endpoints, slug)


def register(app: web.Application, routes: Iterable[Route], catch_up: Callable[[], Awaitable[bool]]) -> None:
    """Add `routes` under the API's prefix. `catch_up` takes over what other nodes did, if there may be any: what is not
    known here may be known there."""
    routes = tuple(routes)
    paths = {route.path for route in routes}
    for route in routes:
        handler, path = _checked(route, catch_up), PREFIX + _pattern(route.path, paths)
        if route.method == "GET":
            app.router.add_get(path, handler)
        else:
            app.router.add_route(route.method, path, handler)


def _pattern(path: str, paths: Iterable[str]) -> str:
    """`path` for aiohttp's router. Its first placeholder stands for nothing that another path has in its place: a wrong
    method for `/deliveries/retry` is 405, not a delivery with the ID `retry`."""
    before, brace, after = path.partition("{")
    name, _, rest = after.partition("}")
    if not brace:
        return path
    in_place = {other.removeprefix(before).partition("/")[0] for other in paths if other.startswith(before)}
    others = sorted(one for one in in_place if not one.startswith("{"))
    unlike = f"(?!(?:{'|'.join(map(re.escape, others))})(?:/|$))" if others else ""
    return f"{before}{{{name}:{unlike}[^{{}}/]+}}{rest}"


def _checked(
    route: Route, catch_up: Callable[[], Awaitable[bool]]
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        check_names(request, route.parameters)
        given = []
        if route.body is not None:
            data = await request.read()
            given = [decoded(b"{}" if route.body.optional and not data else data, route.body.shape)]
        try:
            return _response(route, request, await route.handler(request, *given))
        except (Problem, NotFoundError) as error:
            unknown = problem_of(error) if isinstance(error, NotFoundError) else error
            if unknown.kind not in ("not-found", "position-unknown") or not await catch_up():
                raise
        return _response(route, request, await route.handler(request, *given))

    return handle


def _response(
    route: Route, request: web.Request, made: msgspec.Struct | web.StreamResponse | None
) -> web.StreamResponse:
    if isinstance(made, web.StreamResponse):
        return made
    if made is None:
        return web.Response(status=204)
    headers = None
    if route.location:
        headers = {"Location": PREFIX + route.location.format(made=made, **request.match_info)}
    return json_response(made, route.status, headers)


def json_response(made: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=json_text(made), status=status, content_type="application/json", headers=headers)


def endpoint_named(endpoints: Endpoints, slug: str) -> Endpoint:
    """The endpoint of that slug, or a 404 problem."""
    endpoint = endpoints.by_slug(slug)
    if endpoint is None:
        raise Problem("not-found", f"No endpoint has the slug {slug!r}.")
    return endpoint


async def stored_request(services: ApiServices, capture_id: str) -> tuple[Capture, Endpoint]:
    """The request and its endpoint, or a 404 problem."""
    capture = await services.store.captures.get(capture_id)
    endpoint = services.store.endpoints.by_id(capture.endpoint_id) if capture is not None else None
    if capture is None or endpoint is None:
        raise not_stored(capture_id)
    return capture, endpoint


def not_stored(capture_id: str) -> Problem:
    return Problem("not-found", f"No request has the ID {capture_id!r}.")


def attachment_headers(name: str) -> dict[str, str]:
    """Headers for a sender's bytes: to be saved as the file `name`, never rendered or run."""
    return {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
