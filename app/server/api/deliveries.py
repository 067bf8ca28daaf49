"""Calls about deliveries: of one request, or the latest of all."""

from __future__ import annotations

from aiohttp import web

from app.core.model import DeliveryState
from app.server.api.parameters import PAGING, cursor_of, cursor_text, limit_of, wrong_cursor
from app.server.api.problems import parameter_problem
from app.server.api.routes import Page, Route, endpoint_named, json_response, stored_request
from app.server.api.serializers import delivery_out
from app.server.api.services import ApiServices

STATES = tuple(state.value for state in DeliveryState if state is not DeliveryState.NONE)


class DeliveryCalls:
    """Handlers of `/deliveries`."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        return [Route("GET", "/deliveries", self.list, ("request", "endpoint", "state", *PAGING))]

    async def list(self, request: web.Request) -> web.Response:
        """Deliveries of one request, oldest first; otherwise last queued first, of an endpoint or all, in one state or
        any."""
        of_request = request.query.get("request")
        if of_request is None:
            return await self._latest(request)
        for other in ("endpoint", "state"):
            if other in request.query:
                raise parameter_problem(other, f"request and {other} cannot be combined.")
        return await self._of_request(request, of_request)

    async def _of_request(self, request: web.Request, capture_id: str) -> web.Response:
        limit, last = limit_of(request), cursor_of(request, str)
        capture, slug = await stored_request(self._services, capture_id)
        rows = await self._services.deliveries.of_capture(capture.id)
        ids = [row.id for row in rows]
        if last is not None and last not in ids:
            raise wrong_cursor()
        rest = rows if last is None else rows[ids.index(last) + 1 :]
        following = cursor_text(rest[limit - 1].id) if len(rest) > limit else None
        return json_response(Page(tuple(delivery_out(row, slug) for row in rest[:limit]), following))

    async def _latest(self, request: web.Request) -> web.Response:
        limit, before, state = limit_of(request), cursor_of(request, int), _state_of(request)
        endpoints, slug = self._services.endpoints, request.query.get("endpoint")
        endpoint_id = None if slug is None else endpoint_named(endpoints, slug).id
        rows = await self._services.deliveries.page(endpoint_id, state, before=before, limit=limit + 1)
        following = cursor_text(rows[limit - 1][0]) if len(rows) > limit else None
        found = ((row, endpoints.by_id(row.endpoint_id)) for _, row in rows[:limit])
        return json_response(
            Page(tuple(delivery_out(row, one.slug) for row, one in found if one is not None), following)
        )


def _state_of(request: web.Request) -> DeliveryState | None:
    text = request.query.get("state")
    if text is None:
        return None
    if text not in STATES:
        raise parameter_problem("state", f"state must be {', '.join(STATES)}, not {text!r}.")
    return DeliveryState(text)
