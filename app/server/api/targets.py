"""Calls about the targets of an endpoint: list, create, read, change, pause, resume, delete."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from app.core.target import Target
from app.server.api.inputs import TargetIn, TargetPatch, without_position
from app.server.api.parameters import After, ordered_page, paging
from app.server.api.problems import Problem
from app.server.api.routes import (
    LOCATED,
    NO_CONTENT,
    Calls,
    Page,
    Returns,
    done,
    json_response,
    route,
    takes,
)
from app.server.api.serializers import merged, target_out
from hookline import records

LIST = Returns(Page[records.Target])


class TargetCalls(Calls):
    """Handlers of `/endpoints/{slug}/targets`."""

    @route("GET", "/endpoints/{slug}/targets", "List an endpoint's targets", LIST, paging(After))
    async def list(self, request: web.Request) -> web.Response:
        """In the user's order, new ones last."""
        counts = await self._services.store.deliveries.target_counts()
        page, following = ordered_page(request, self._endpoint(request).targets)
        items = (target_out(one, place, counts) for place, one in page)
        return json_response(Page(tuple(items), following))

    @route("POST", "/endpoints/{slug}/targets", "Create a target", Returns(records.Target, 201, headers=LOCATED))
    @takes(TargetIn, {"url": "http://localhost:3001/hooks", "retry": {"retries": 2}})
    async def create(self, request: web.Request, draft: TargetIn) -> web.Response:
        """201 with the target; 422 for fields that break a rule."""
        endpoint = self._endpoint(request)
        target = await self._services.store.targets.create(endpoint.id, draft)
        location = f"/endpoints/{endpoint.slug}/targets/{target.id}"
        return json_response(await self._out(target), 201, location=location)

    @route("GET", "/endpoints/{slug}/targets/{id}", "Read a target", Returns(records.Target))
    async def read(self, request: web.Request) -> web.Response:
        """One target."""
        return json_response(await self._out(self._named(request)))

    @route("PATCH", "/endpoints/{slug}/targets/{id}", "Change a target", Returns(records.Target))
    @takes(TargetPatch, {"timeout_ms": 5000, "position": 1})
    async def change(self, request: web.Request, patch: Any) -> web.Response:
        """Changes the given fields; all others stay."""
        async with self._services.changing:
            target = self._named(request)
            fields, position = without_position(patch, len(self._endpoint(request).targets))
            if position is None or fields != TargetPatch():
                target = await self._services.store.targets.update(target.id, merged(target.draft(), fields))
            if position is not None:
                await self._services.store.targets.move(target.id, position)
        return json_response(await self._out(target))

    @route("DELETE", "/endpoints/{slug}/targets/{id}", "Delete a target", NO_CONTENT)
    async def delete(self, request: web.Request) -> web.Response:
        """Deletes the target; deliveries queued for it are not sent, and have failed if there was an attempt."""
        await self._services.store.targets.delete(self._named(request).id)
        return done()

    @route("POST", "/endpoints/{slug}/targets/{id}/pause", "Pause a target", Returns(records.Target))
    async def pause(self, request: web.Request) -> web.Response:
        """Keeps deliveries to it queued."""
        return json_response(await self._out(await self._services.store.targets.pause(self._named(request).id)))

    @route("POST", "/endpoints/{slug}/targets/{id}/resume", "Resume a target", Returns(records.Target))
    async def resume(self, request: web.Request) -> web.Response:
        """Sends the queued deliveries."""
        return json_response(await self._out(await self._services.store.targets.resume(self._named(request).id)))

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
