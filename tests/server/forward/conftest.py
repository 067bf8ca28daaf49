"""A store in a folder of its own, with a forwarder on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.core.events import Bus, DeliveryChanged
from app.core.model import PART_SIZE, Capture, Delivery, DeliveryState, Endpoint
from app.db.store import Store
from app.server.capture import CaptureServer
from app.server.forward import Forwarder
from app.server.refused import RefusedLog
from tests import factories


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
        account = self.store.account
        self.forwarder = Forwarder(
            self.store.captures, self.store.deliveries, self.store.endpoints, self.bus, account.instance_id
        )

    async def close(self) -> None:
        await self.forwarder.stop()
        await self.store.close()

    async def endpoint(self, forward_url: str, **fields: Any) -> Endpoint:
        return await self.store.endpoints.create(factories.draft(forward_url=forward_url, **fields))

    async def capture(self, endpoint: Endpoint, body: bytes = b"{}", **fields: Any) -> Capture:
        """Store a request of `endpoint` with its delivery queued."""
        made = factories.capture(
            body,
            endpoint_id=endpoint.id,
            seq=self.store.captures.new_seq(),
            mirror=DeliveryState.QUEUED,
            **{"target": f"/catch/{endpoint.slug}", **fields},
        )
        parts = [body[at : at + PART_SIZE] for at in range(0, len(body), PART_SIZE)] or [b""]
        for number, part in enumerate(parts[:-1]):
            await self.store.captures.add_part(made.seq, number, part)
        await self.store.captures.add(made, parts[-1], len(parts) - 1, forward_url=endpoint.forward_url)
        return made

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
        stage.store.endpoints,
        stage.store.captures,
        RefusedLog(stage.bus.publish),
        body_limit=lambda: 100 * PART_SIZE,
        instance_id=stage.store.account.instance_id,
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
