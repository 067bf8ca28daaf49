"""A store, a capture server and a tunnel service on stand-in programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from app.core.events import Bus, TunnelChanged
from app.core.tunnel.spec import ProgramSpec
from app.core.tunnel.tunnel import Tunnel, TunnelState
from app.db.sqlite.store import Store
from app.server.capture import CaptureServer
from app.server.capture.tunnel_client import tunnel_client
from app.server.probe_key import ProbeKey
from app.server.refused import RefusedLog
from app.server.tunnel.service import TunnelService
from tests import tunnels

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
        self.tunnels = tunnels.service(self.store, self.bus, self.folder)
        self.capture = CaptureServer(
            self.store.endpoints,
            self.store.captures,
            self.refused,
            body_limit=lambda: 1_000_000,
            instance_id=self.store.account.instance_id,
            tunnel_client=tunnel_client(lambda: self.tunnels.address_header),
            probe_key=self.key,
        )
        await self.capture.start("127.0.0.1", 0)

    async def use(self, *specs: ProgramSpec, **timing: Any) -> TunnelService:
        """The tunnel service with these programs."""
        await self.tunnels.close()
        self.tunnels = tunnels.service(
            self.store,
            self.bus,
            self.folder,
            {one.program.id: one for one in specs},
            addresses=tunnels.listening_at(self.folder, self.capture.address),
            timing=tunnels.FAST.__class__(**{**tunnels.FAST.__dict__, **timing}),
            probe_key=self.key,
        )
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
