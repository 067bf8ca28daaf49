"""A store in a folder of its own, with a forwarder on it; and a sender without either."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from app.core.delivery import Attempt, Delivery, QueuedDelivery
from app.core.events import Bus, DeliveryChanged
from app.core.model import PART_SIZE, Capture, DeliveryState, Endpoint
from app.core.target import RetryRule
from app.db.deliveries.deliveries import Deliveries
from app.db.sqlite.store import Store
from app.server.capture import CaptureServer, Handler
from app.server.forward import Forwarder
from app.server.refused import RefusedLog
from app.server.target_responses import TargetResponses
from tests import factories
from tests.server.forward.scripted import Desk
from tests.stored import store_request, store_with
from tests.support import current_settings
from tests.tunnels import listening_at


class Stage:
    """A store, its bus, and the outcomes told on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bus = Bus()
        self.told: list[DeliveryChanged] = []
        self._news = asyncio.Event()
        self.bus.subscribe(DeliveryChanged, self._hear)
        self.store: Store
        self.forwarder: Forwarder

    def _hear(self, event: DeliveryChanged) -> None:
        self.told.append(event)
        self._news.set()

    async def open(self) -> None:
        self.store = await Store.open(self.folder, self.bus.publish)
        self.responses = TargetResponses()
        self.forwarder = self.new_forwarder(self.store.deliveries)

    def new_forwarder(self, deliveries: Deliveries) -> Forwarder:
        return Forwarder(store_with(self.store, deliveries=deliveries), self.bus, self.responses)

    async def close(self) -> None:
        await self.forwarder.stop()
        await self.store.close()

    async def endpoint(self, forward_url: str, target: dict[str, Any] | None = None, **fields: Any) -> Endpoint:
        """An endpoint with a target that has these settings, and retries nothing unless they say so."""
        made = await self.store.endpoints.create(factories.draft(forward_url=forward_url, **fields))
        (first,) = made.targets
        settings = {"retry": RetryRule(on=()), **(target or {})}
        await self.store.targets.update(first.id, replace(first.draft(), **settings))
        return self.now(made)

    def now(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint as it is stored now."""
        found = self.store.endpoints.by_id(endpoint.id)
        assert found is not None
        return found

    async def attempts(self, delivery: Delivery) -> list[Attempt]:
        return await self.store.deliveries.attempts(delivery.id)

    async def attempt(self, delivery: Delivery) -> Attempt:
        """The only attempt."""
        (attempt,) = await self.attempts(delivery)
        return attempt

    async def queued(self, endpoint: Endpoint) -> list[QueuedDelivery]:
        return await self.store.deliveries.queued(endpoint.targets[0].id, 100)

    async def capture(self, endpoint: Endpoint, body: bytes = b"{}", **fields: Any) -> Capture:
        """Store a request of `endpoint` with its delivery queued."""
        made = factories.capture(
            body,
            endpoint_id=endpoint.id,
            **{"target": f"/catch/{endpoint.slug}", "delivery": DeliveryState.QUEUED, **fields},
        )
        return await store_request(self.store.captures, made, body, endpoint.targets)

    async def capture_many(self, endpoint: Endpoint, number: int) -> None:
        """So many, queued in the order of their paths, which end in a number from 0."""
        await asyncio.gather(*(self.capture(endpoint, target=f"/catch/s/{each}") for each in range(number)))

    async def outcomes(self, count: int = 1) -> list[Delivery]:
        """Wait for `count` outcomes."""
        async with asyncio.timeout(20):
            while len(self.told) < count:
                self._news.clear()
                await self._news.wait()
        return [event.delivery for event in self.told]

    async def outcome(self, endpoint: Endpoint, body: bytes = b"{}", **fields: Any) -> Delivery:
        """Capture one request and wait for what comes of it."""
        before = len(self.told)
        await self.capture(endpoint, body, **fields)
        return (await self.outcomes(before + 1))[before]


@pytest.fixture
async def capture_port(stage: Stage) -> AsyncIterator[str]:
    """The real capture port on the stage's store; its base URL."""
    server = CaptureServer(
        Handler(
            stage.store,
            RefusedLog(stage.bus.publish),
            current_settings(body_limit=100 * PART_SIZE),
            listening_at(None),
            target_responses=stage.responses,
        )
    )
    await server.start("127.0.0.1", 0)
    yield "http://{}:{}".format(*server.address)
    await server.stop()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path)
    await stage.open()
    yield stage
    await stage.close()


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    yield desk
    await desk.sender.close()
