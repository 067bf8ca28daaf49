"""Calls about endpoints: list, create, read, change, delete."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import UNSET

from app.core.errors import InvalidFieldsError
from app.core.model import Endpoint
from app.core.rules import FieldError, position_error
from app.server.api.parameters import PAGING, cursor_of, cursor_text, limit_of
from app.server.api.problems import decoded
from app.server.api.routes import Page, Route, done, endpoint_named, json_response
from app.server.api.schemas import EndpointIn, EndpointOut, EndpointPatch
from app.server.api.serializers import endpoint_out, merged
from app.server.api.services import ApiServices


class _After(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A cursor: the endpoint that ended the page, which was the `place`th."""

    id: int
    place: Annotated[int, msgspec.Meta(ge=1)]


class EndpointCalls:
    """Handlers of `/endpoints`."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services
        self._changing = asyncio.Lock()

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/endpoints", self.list, PAGING),
            Route("POST", "/endpoints", self.create),
            Route("GET", "/endpoints/{slug}", self.read),
            Route("PATCH", "/endpoints/{slug}", self.change),
            Route("DELETE", "/endpoints/{slug}", self.delete),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """In the user's order, new ones last."""
        limit, cursor = limit_of(request), cursor_of(request, _After)
        numbered = list(enumerate(self._services.endpoints.all(), 1))
        begin = 0
        if cursor is not None:
            # Continues after that endpoint wherever it was moved to, and after its old place if it was deleted.
            begin = next((place for place, one in numbered if one.id == cursor.id), cursor.place - 1)
        page = numbered[begin : begin + limit]
        following = cursor_text(_After(page[-1][1].id, page[-1][0])) if len(numbered) > begin + limit else None
        return json_response(Page(tuple(self._out(one, place) for place, one in page), following))

    async def create(self, request: web.Request) -> web.Response:
        """201 with the endpoint; 409 beyond the plan, 422 for fields that break a rule."""
        endpoint = await self._services.endpoints.create(decoded(await request.read(), EndpointIn))
        return json_response(self._out(endpoint), 201, location=f"/endpoints/{endpoint.slug}")

    async def read(self, request: web.Request) -> web.Response:
        """One endpoint."""
        return json_response(self._out(self._named(request)))

    async def change(self, request: web.Request) -> web.Response:
        """Changes the given fields; all others stay."""
        patch = decoded(await request.read(), EndpointPatch)
        async with self._changing:  # two patches at once must not undo each other's fields
            endpoint, position = self._named(request), patch.position
            fields = msgspec.structs.replace(patch, position=UNSET)
            if position is not UNSET:  # before anything is changed
                wrong = position_error(position, len(self._services.endpoints.all()))
                if wrong is not None:
                    raise InvalidFieldsError([FieldError(field="position", message=wrong)])
            if position is UNSET or fields != EndpointPatch():
                endpoint = await self._services.endpoints.update(endpoint.id, merged(endpoint.draft(), fields))
            if position is not UNSET:
                await self._services.endpoints.move(endpoint.id, position)
        return json_response(self._out(endpoint))

    async def delete(self, request: web.Request) -> web.Response:
        """Deletes the endpoint and all its requests."""
        await self._services.endpoints.delete(self._named(request).id)
        return done()

    def _named(self, request: web.Request) -> Endpoint:
        return endpoint_named(self._services.endpoints, request.match_info["slug"])

    def _out(self, endpoint: Endpoint, position: int | None = None) -> EndpointOut:
        services = self._services
        if position is None:
            ids = [one.id for one in services.endpoints.all()]
            position = ids.index(endpoint.id) + 1 if endpoint.id in ids else len(ids)  # deleted just now
        counts, use = services.captures.counts(endpoint.id), services.limits.use_of(endpoint.id)
        return endpoint_out(endpoint, services.endpoint_url(endpoint), position, counts, use)
