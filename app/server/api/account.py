"""Calls about the account: its plan."""

from __future__ import annotations

from aiohttp import web

from app.core.model import Plan
from app.core.rules import FREE_ENDPOINTS
from app.server.api.inputs import AccountPatch
from app.server.api.routes import Body, Returns, Route, json_response
from app.server.api.serializers import made
from app.server.api.services import ApiServices
from hookline import records


class AccountCalls:
    """Handlers of `/account`."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        returns, body = Returns(records.Account), Body(AccountPatch, {"plan": "pro"})
        return [
            Route("GET", "/account", self.read, "Read the account", returns),
            Route("PATCH", "/account", self.change, "Change the plan", returns, body=body, problems=("plan-limit",)),
        ]

    async def read(self, request: web.Request) -> web.Response:
        """The plan, and the endpoints it allows."""
        plan = self._services.store.account.plan
        return json_response(made(records.Account, None, plan=plan, endpoints=endpoint_usage(self._services, plan)))

    async def change(self, request: web.Request, patch: AccountPatch) -> web.Response:
        """Changes the plan; 409 while more endpoints exist than it allows."""
        await self._services.store.account.set_plan(patch.plan)
        return await self.read(request)


def endpoint_usage(services: ApiServices, plan: Plan) -> records.EndpointUsage:
    """How many endpoints there are, and how many the plan allows."""
    return records.EndpointUsage(
        held=len(services.store.endpoints.all()), limit=FREE_ENDPOINTS if plan is Plan.FREE else None
    )
