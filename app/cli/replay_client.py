"""The local API's calls about replays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

from app.cli.delivery_client import DeliveryClient
from app.cli.transport import path_of
from app.cli.views import FullReplayView, ReplayFields, ReplayView


class ReplayClient(DeliveryClient):
    """The calls about what is sent again."""

    async def start_replay(self, fields: ReplayFields) -> FullReplayView:
        """Begin to send the requests that the fields select."""
        return cast(FullReplayView, await self.json("POST", "/replays", fields))

    async def replays(self, count: int | None = None) -> AsyncIterator[ReplayView]:
        """The last `count` replays, or all (None), the last started first."""
        async for item in self.items("/replays", {}, count):
            yield cast(ReplayView, item)

    async def replay(self, replay_id: str) -> FullReplayView:
        return cast(FullReplayView, await self.json("GET", path_of("replays", replay_id)))

    async def change_replay(self, replay_id: str, verb: str) -> FullReplayView:
        """`pause`, `resume` or `cancel` it."""
        return cast(FullReplayView, await self.json("POST", path_of("replays", replay_id, verb)))
