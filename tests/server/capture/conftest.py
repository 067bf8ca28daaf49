"""The capture server on a free port, with an endpoint directory and a store held in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.server.capture.support import Clock, OwnLoop, Rig


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A started server; `rig.restart(...)` starts it with other limits."""
    rig = Rig()
    await rig.start()
    yield rig
    await rig.close()


@pytest.fixture
async def clock() -> Clock:
    """The time as the server of `rig` sees it."""
    return Clock(asyncio.get_running_loop())


@pytest.fixture(scope="module")
def own_loop() -> Iterator[OwnLoop]:
    """A server with short limits for tests that are no coroutines, as hypothesis wants them."""
    own_loop = OwnLoop()
    yield own_loop
    own_loop.close()
