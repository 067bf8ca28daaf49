"""Calls about endpoints: list, create, read, change, delete."""

from __future__ import annotations

import asyncio

from aiohttp import web

from app.core.model import Endpoint
from app.server.api.parameters import PAGING, cursor_of, cursor_text, limit_of
from app.server.api.ports import ApiDoors
from app.server.api.problems import decoded
from app.server.api.routes import Page, Route, answer, done, endpoint_named
from app.server.api.shapes import EndpointIn, EndpointOut, EndpointPatch
from app.server.api.shaping import endpoint_out, merged


class EndpointCalls:
    """Handlers of `/endpoints`."""

    def __init__(self, doors: ApiDoors) -> None:
        self._doors = doors
        self._changing = asyncio.Lock()

    def routes(self) -> list[Route]:
        """The calls of this file."""
        return [
            Route("GET", "/endpoints", self.list, PAGING),
            Route("POST", "/endpoints", self.create),
            Route("GET", "/endpoints/{slug}", self.read),
            Route("PATCH", "/endpoints/{slug}", self.change),
            Route("DELETE", "/endpoints/{slug}", self.delete),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """In order of creation."""
        limit, last = limit_of(request), cursor_of(request, int)
        rest = [endpoint for endpoint in self._doors.endpoints.all() if last is None or endpoint.id > last]
        shown = rest[:limit]
        following = cursor_text(shown[-1].id) if len(rest) > limit else None
        return answer(Page(tuple(map(self._out, shown)), following))

    async def create(self, request: web.Request) -> web.Response:
        """201 with the endpoint; 409 beyond the plan, 422 for fields that break a rule."""
        endpoint = await self._doors.endpoints.create(decoded(await request.read(), EndpointIn))
        return answer(self._out(endpoint), 201, location=f"/endpoints/{endpoint.slug}")

    async def read(self, request: web.Request) -> web.Response:
        """One endpoint."""
        return answer(self._out(self._named(request)))

    async def change(self, request: web.Request) -> web.Response:
        """The fields given are changed, all others stay."""
        patch = decoded(await request.read(), EndpointPatch)
        async with self._changing:  # two patches at once must not undo each other's fields
            endpoint = self._named(request)
            endpoint = await self._doors.endpoints.update(endpoint.id, merged(endpoint.draft(), patch))
        return answer(self._out(endpoint))

    async def delete(self, request: web.Request) -> web.Response:
        """The endpoint and all its requests."""
        await self._doors.endpoints.delete(self._named(request).id)
        return done()

    def _named(self, request: web.Request) -> Endpoint:
        return endpoint_named(self._doors.endpoints, request.match_info["slug"])

    def _out(self, endpoint: Endpoint) -> EndpointOut:
        doors = self._doors
        counts, use = doors.captures.counts(endpoint.id), doors.limits.use_of(endpoint.id)
        return endpoint_out(endpoint, doors.endpoint_url(endpoint), counts, use)
