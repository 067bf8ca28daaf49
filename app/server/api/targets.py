"""Calls about the targets of an endpoint: list, create, read, change, pause, resume, delete."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web
from msgspec import UNSET

from app.core.errors import InvalidFieldsError
from app.core.model import Endpoint
from app.core.rules import FieldError, position_error
from app.core.target import Target
from app.server.api.inputs import TargetIn, TargetPatch
from app.server.api.parameters import After, ordered_page, paging
from app.server.api.problems import Problem
from app.server.api.routes import LOCATED, NO_CONTENT, Body, Page, Returns, Route, done, endpoint_named, json_response
from app.server.api.serializers import merged, target_out
from app.server.api.services import ApiServices
from hookline import records

ALL = "/endpoints/{slug}/targets"
ONE = f"{ALL}/{{id}}"


class TargetCalls:
    """Handlers of `/endpoints/{slug}/targets`."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        returns, created = Returns(records.Target), Returns(records.Target, 201, headers=LOCATED)
        draft = Body(TargetIn, {"url": "http://localhost:3001/hooks", "retry": {"retries": 2}})
        changes = Body(TargetPatch, {"timeout_ms": 5_000, "position": 1})
        return [
            Route("GET", ALL, self.list, "List an endpoint's targets", Returns(Page[records.Target]), paging(After)),
            Route("POST", ALL, self.create, "Create a target", created, body=draft),
            Route("GET", ONE, self.read, "Read a target", returns),
            Route("PATCH", ONE, self.change, "Change a target", returns, body=changes),
            Route("DELETE", ONE, self.delete, "Delete a target", NO_CONTENT),
            Route("POST", f"{ONE}/pause", self.pause, "Pause a target", returns),
            Route("POST", f"{ONE}/resume", self.resume, "Resume a target", returns),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """In the user's order, new ones last."""
        counts = await self._services.store.deliveries.target_counts()
        page, following = ordered_page(request, self._endpoint(request).targets)
        items = (target_out(one, place, counts) for place, one in page)
        return json_response(Page(tuple(items), following))

    async def create(self, request: web.Request, draft: TargetIn) -> web.Response:
        """201 with the target; 422 for fields that break a rule."""
        endpoint = self._endpoint(request)
        target = await self._services.store.targets.create(endpoint.id, draft)
        location = f"/endpoints/{endpoint.slug}/targets/{target.id}"
        return json_response(await self._out(target), 201, location=location)

    async def read(self, request: web.Request) -> web.Response:
        """One target."""
        return json_response(await self._out(self._named(request)))

    async def change(self, request: web.Request, patch: Any) -> web.Response:
        """Changes the given fields; all others stay."""
        async with self._services.changing:
            target, position = self._named(request), patch.position
            fields = msgspec.structs.replace(patch, position=UNSET)
            if position is not UNSET:  # before anything is changed
                wrong = position_error(position, len(self._endpoint(request).targets))
                if wrong is not None:
                    raise InvalidFieldsError([FieldError(field="position", message=wrong)])
            if position is UNSET or fields != TargetPatch():
                target = await self._services.store.targets.update(target.id, merged(target.draft(), fields))
            if position is not UNSET:
                await self._services.store.targets.move(target.id, position)
        return json_response(await self._out(target))

    async def delete(self, request: web.Request) -> web.Response:
        """Deletes the target; deliveries queued for it are not sent, and have failed if there was an attempt."""
        await self._services.store.targets.delete(self._named(request).id)
        return done()

    async def pause(self, request: web.Request) -> web.Response:
        """Keeps deliveries to it queued."""
        return json_response(await self._out(await self._services.store.targets.pause(self._named(request).id)))

    async def resume(self, request: web.Request) -> web.Response:
        """Sends the queued deliveries."""
        return json_response(await self._out(await self._services.store.targets.resume(self._named(request).id)))

    def _endpoint(self, request: web.Request) -> Endpoint:
        return endpoint_named(self._services.store.endpoints, request.match_info["slug"])

    def _named(self, request: web.Request) -> Target:
        text = request.match_info["id"]
        endpoint = self._endpoint(request)
        for target in endpoint.targets:
            if str(target.id) == text:
                return target
        raise Problem(404, "not-found", f"Endpoint {endpoint.slug!r} has no target {text!r}.")

    async def _out(self, target: Target) -> records.Target:
        counts = await self._services.store.deliveries.target_counts()
        endpoint = self._services.store.endpoints.by_id(target.endpoint_id)
        ids = [one.id for one in endpoint.targets] if endpoint is not None else []
        position = ids.index(target.id) + 1 if target.id in ids else len(ids) + 1  # deleted just now
        return target_out(target, position, counts)
