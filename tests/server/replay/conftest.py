"""A store in a folder of its own, with a forwarder and a replay service on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from app.core.events import ReplayChanged
from app.core.model import Capture, DeliveryState, Endpoint
from app.core.replay import Replay, ReplaySpec, ReplayState
from app.server.addresses import Addresses
from app.server.replay_service import ReplayService
from tests.server.forward.conftest import Stage, capture_port  # noqa: F401 - a fixture
from tests.server.forward.targets import Received
from tests.support import current_settings


class ReplayStage(Stage):
    """A store with a replay service, and what it announced."""

    replays: ReplayService

    async def open(self) -> None:
        await super().open()
        self.announced: list[Replay] = []
        self._progress = asyncio.Event()
        self.addresses = Addresses(current_settings())
        self.replays = ReplayService(self.store, self.bus, self.addresses)
        self.bus.subscribe(ReplayChanged, self._changed)

    def _changed(self, event: ReplayChanged) -> None:
        self.announced.append(event.replay)
        self._progress.set()

    async def close(self) -> None:
        await self.replays.stop()
        await super().close()

    async def until(self, replay_id: str, *states: ReplayState) -> Replay:
        """Wait until a replay is in one of these states."""
        async with asyncio.timeout(30):
            while True:
                for replay in reversed(self.announced):
                    if replay.id == replay_id:
                        if replay.state in states:
                            return replay
                        break
                self._progress.clear()
                await self._progress.wait()

    async def replay(self, source: Any, **fields: Any) -> Replay:
        """Run a replay to its end."""
        started = await self.replays.start(ReplaySpec(source=source, **fields))
        return await self.until(started.id, ReplayState.DONE, ReplayState.CANCELLED)

    async def captures(self, endpoint: Endpoint, count: int) -> list[Capture]:
        """Requests that were not queued for any target."""
        bare = replace(endpoint, targets=())
        adds = (
            self.capture(bare, b"%d" % n, target=f"/catch/{endpoint.slug}/{n}", delivery=DeliveryState.NONE)
            for n in range(count)
        )
        return await asyncio.gather(*adds)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[ReplayStage]:
    stage = ReplayStage(tmp_path)
    await stage.open()
    yield stage
    await stage.close()


def paths(received: list[Received]) -> list[str]:
    return [one.line.split()[1] for one in received]
