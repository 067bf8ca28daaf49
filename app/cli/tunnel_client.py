"""The local API's calls about the tunnel."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

from app.cli.replay_client import ReplayClient
from app.cli.transport import path_of
from app.cli.tunnel_views import ProbeView, TunnelProgramView, TunnelUrlView, TunnelView


class TunnelClient(ReplayClient):
    """The calls about the tunnel."""

    async def tunnel(self) -> TunnelView:
        return cast(TunnelView, await self.json("GET", "/tunnel"))

    async def tunnel_programs(self) -> list[TunnelProgramView]:
        return cast(list[TunnelProgramView], (await self.json("GET", "/tunnel/programs"))["items"])

    async def set_tunnel_options(self, program: str, values: dict[str, str]) -> TunnelProgramView:
        """Save options; an empty text removes one."""
        path = path_of("tunnel", "programs", program, "options")
        return cast(TunnelProgramView, await self.json("PUT", path, dict(values)))

    async def start_tunnel(self, program: str) -> TunnelView:
        return cast(TunnelView, await self.json("POST", "/tunnel/start", {"program": program}))

    async def stop_tunnel(self) -> TunnelView:
        return cast(TunnelView, await self.json("POST", "/tunnel/stop"))

    async def probe_tunnel(self) -> ProbeView:
        return cast(ProbeView, await self.json("POST", "/tunnel/probe"))

    async def tunnel_updated(self, slug: str) -> TunnelView:
        """The provider of this endpoint has the new URL."""
        return cast(TunnelView, await self.json("POST", "/tunnel/updated", {"endpoint": slug}))

    async def tunnel_history(self, count: int | None) -> AsyncIterator[TunnelUrlView]:
        """The last `count` public URLs, newest first."""
        async for item in self.items("/tunnel/history", {}, count):
            yield cast(TunnelUrlView, item)
