"""A store, a capture server and a tunnel service on stand-in programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from app.core.events import Bus, TunnelChanged
from app.core.tunnel import Tunnel, TunnelState
from app.core.tunnel_program import ProgramSpec
from app.db.sqlite.store import Store
from app.server.addresses import ProbeKey
from app.server.capture import CaptureServer, Handler
from app.server.refused import RefusedLog
from app.server.tunnel.service import TunnelService
from tests import tunnels
from tests.support import current_settings

PATIENCE_S = 60.0


class TunnelRig:
    """`events` are those of the tunnel, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bus = Bus()
        self.events: list[TunnelChanged] = []
        self._changed = asyncio.Event()
        self.bus.subscribe(TunnelChanged, self._take)
        self.refused = RefusedLog(self.bus.publish)
        self.key = ProbeKey()
        self.store: Store
        self.capture: CaptureServer
        self.tunnels: TunnelService

    def _take(self, event: TunnelChanged) -> None:
        self.events.append(event)
        self._changed.set()

    async def open(self) -> None:
        self.store = await Store.open(self.folder, self.bus.publish)
        self.addresses = tunnels.listening_at(None)
        self.tunnels = tunnels.service(self.store, self.bus, self.folder)
        self.capture = CaptureServer(
            Handler(self.store, self.refused, current_settings(), self.addresses, probe_key=self.key)
        )
        await self.capture.start("127.0.0.1", 0)
        self.addresses.listening = self.capture.address

    async def use(self, *specs: ProgramSpec, **timing: Any) -> TunnelService:
        """The tunnel service with these programs."""
        await self.tunnels.close()
        self.tunnels = tunnels.service(
            self.store,
            self.bus,
            self.folder,
            {one.program.id: one for one in specs},
            addresses=self.addresses,
            timing=tunnels.FAST.__class__(**{**tunnels.FAST.__dict__, **timing}),
            probe_key=self.key,
        )
        self.addresses.tunnel = self.tunnels
        await self.tunnels.load()
        return self.tunnels

    async def until(self, wanted: Callable[[Tunnel], bool]) -> Tunnel:
        """The tunnel once it is so."""
        async with asyncio.timeout(PATIENCE_S):
            while not wanted(self.tunnels.tunnel):
                assert self.tunnels.tunnel.state is not TunnelState.FAILED, self.tunnels.tunnel.problem
                await self._changed.wait()
                self._changed.clear()
        return self.tunnels.tunnel

    async def close(self) -> None:
        await self.tunnels.close()
        await self.capture.stop()
        await self.store.close()


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[TunnelRig]:
    rig = TunnelRig(tmp_path)
    await rig.open()
    yield rig
    await rig.close()
