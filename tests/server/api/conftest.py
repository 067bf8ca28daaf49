"""The local API on a real store, and a client that calls it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from app.core.errors import InvalidFieldsError, PortInUseError
from app.core.events import Bus
from app.core.model import Capture, Endpoint
from app.core.settings import check
from app.current_settings import CurrentSettings
from app.db.sqlite.store import Store
from app.server.addresses import Addresses
from app.server.api.event_log import EventLog
from app.server.api.events import Followers
from app.server.api.server import ApiServer, ApiServices
from app.server.api.web_application import routes_of
from app.server.node_counts import NodeCounts
from app.server.refused import RefusedLog
from app.server.replay_service import ReplayService
from app.troubles import Troubles
from tests import factories, tunnels
from tests.stored import store_request

TOKEN = "a-token-for-tests-only"


class PublicAddresses(Addresses):
    """Those of a Hookline that the internet reaches."""

    def public_base(self) -> str:
        return "https://hooks.example"


class Desk:
    """A store, the API in front of it, and the values that the application would hand in."""

    def __init__(self, store: Store, bus: Bus, folder: Path) -> None:
        self.store = store
        self.refused = RefusedLog(bus.publish)
        self.events = EventLog(bus, store.captures)
        self.settings = CurrentSettings(folder, {})
        self.addresses = PublicAddresses(self.settings)
        self.addresses.listening = "127.0.0.1", 8787
        self.replays = ReplayService(store, bus, self.addresses)
        programs = {"stand-in": tunnels.spec("in pieces")}
        self.tunnels = self.addresses.tunnel = tunnels.service(store, bus, folder, programs, addresses=self.addresses)
        self.troubles = Troubles(bus)
        self.counts = NodeCounts(bus)
        self.kept: list[str] = []
        self.taken_port = 9999
        self.server = ApiServer(self.services(), TOKEN)
        self.routes = routes_of(self.services(), Followers(self.events))
        self.client: httpx.AsyncClient

    def services(self) -> ApiServices:
        return ApiServices(
            store=self.store,
            events=self.events,
            replays=self.replays,
            tunnels=self.tunnels,
            refused=self.refused,
            version="1.2.3",
            addresses=self.addresses,
            troubles=self.troubles,
            counts=self.counts,
            uptime_s=lambda: 1.5,
            settings=self.settings,
            change_settings=self.change_settings,
        )

    async def change_settings(self, changes: Mapping[str, Any]) -> None:
        new = replace(self.settings.now, **changes)
        if errors := check(new):
            raise InvalidFieldsError(errors)
        if new.port == self.taken_port:
            raise PortInUseError("127.0.0.1", new.port)
        await self.settings.save(changes)
        self.kept = list(changes)
        self.store.limits.set_limit(new.storage_limit, new.when_full)

    async def endpoint(self, **fields: Any) -> Endpoint:
        return await self.store.endpoints.create(factories.draft(**fields))

    async def capture(self, endpoint: Endpoint, body: bytes = b"{}", **fields: Any) -> Capture:
        made = factories.capture(body, endpoint_id=endpoint.id, **fields)
        return await store_request(self.store.captures, made, body)


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
async def desk(tmp_path: Path, bus: Bus) -> AsyncIterator[Desk]:
    store = await Store.open(tmp_path, bus.publish)
    desk = Desk(store, bus, tmp_path)
    await desk.server.start("127.0.0.1", 0)
    host, port = desk.server.address
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(
        base_url=f"http://{host}:{port}/api/v1", headers=headers, trust_env=False, verify=False
    ) as client:
        desk.client = client
        yield desk
    await desk.tunnels.close()
    await desk.replays.stop()
    await desk.server.stop()
    desk.events.close()
    await store.close()


def problem(response: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    """The problem in `response`, after a look at what all problems share."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = response.json()
    assert (told["type"], told["status"]) == (f"urn:hookline:problem:{kind}", status)
    assert told["title"]
    assert told["detail"]
    return told


def fields(response: httpx.Response, status: int = 422, kind: str = "invalid-fields") -> list[str]:
    """The fields that a problem names; each has a message."""
    errors = problem(response, status, kind)["errors"]
    assert all(error["message"] for error in errors)
    return [error["field"] for error in errors]
