"""The local API's calls about targets, deliveries and retries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

from app.cli.transport import Params, Transport, path_of, query_of
from app.cli.views import ComparedView, DeliveryView, FullDeliveryView, RetriedView, TargetFields, TargetView


class DeliveryClient(Transport):
    """The calls about what is forwarded."""

    async def create_target(self, slug: str, fields: TargetFields) -> TargetView:
        return cast(TargetView, await self.json("POST", path_of("endpoints", slug, "targets"), fields))

    async def change_target(self, slug: str, target_id: int, fields: TargetFields) -> TargetView:
        """Change the given fields; returns the target."""
        return cast(TargetView, await self.json("PATCH", _target(slug, target_id), fields))

    async def pause_target(self, slug: str, target_id: int) -> TargetView:
        return cast(TargetView, await self.json("POST", _target(slug, target_id) + "/pause"))

    async def resume_target(self, slug: str, target_id: int) -> TargetView:
        return cast(TargetView, await self.json("POST", _target(slug, target_id) + "/resume"))

    async def remove_target(self, slug: str, target_id: int) -> None:
        await self.order("DELETE", _target(slug, target_id))

    async def deliveries(
        self,
        slug: str | None,
        count: int,
        *,
        state: str | None = None,
        target: int | None = None,
        replay: str | None = None,
        beginning: str | None = None,
        oldest: bool = False,
    ) -> AsyncIterator[DeliveryView]:
        """The latest `count` deliveries, or the first queued ones (`oldest`): of an endpoint, or of all (None), in one
        state or any (None), to a target or all (None), of the replay with this ID or all (None), whose ids begin with
        `beginning`."""
        number = None if target is None else str(target)
        query = query_of(endpoint=slug, state=state, target=number, replay=replay, id=beginning)
        query |= query_of(order="oldest" if oldest else None)
        async for item in self.items("/deliveries", query, count):
            yield cast(DeliveryView, item)

    async def compared(
        self,
        slug: str,
        count: int,
        *,
        targets: tuple[int, int] | None,
        headers: list[str],
        paths: list[str],
        all_headers: bool,
    ) -> AsyncIterator[ComparedView]:
        """The newest `count` requests that both targets (None: the endpoint's first two) responded to, with what
        differs but for these headers and JSON paths."""
        which = () if targets is None else zip(("first", "second"), map(str, targets), strict=True)
        ignored = {"ignore_header": headers, "ignore_path": paths}
        query: Params = {**dict(which), **ignored, **query_of(all_headers="true" if all_headers else None)}
        async for item in self.items(path_of("endpoints", slug, "compare"), query, count):
            yield cast(ComparedView, item)

    async def delivery(self, delivery_id: str) -> FullDeliveryView:
        return cast(FullDeliveryView, await self.json("GET", path_of("deliveries", delivery_id)))

    async def retry(self, delivery_id: str) -> FullDeliveryView:
        """Queue a failed delivery again."""
        return cast(FullDeliveryView, await self.json("POST", path_of("deliveries", delivery_id, "retry")))

    async def send_now(self, delivery_id: str) -> FullDeliveryView:
        """Make a delivery that waits for its retry due at once."""
        return cast(FullDeliveryView, await self.json("POST", path_of("deliveries", delivery_id, "send-now")))

    async def retry_failed(self, *, endpoint: str | None = None, target: int | None = None) -> RetriedView:
        """Queue failed deliveries again: of an endpoint, to a target, or all."""
        which = {"endpoint": endpoint, "target": target}
        # takes minutes for a million
        return cast(RetriedView, await self.json("POST", "/deliveries/retry", which, timeout_s=None))


def _target(slug: str, target_id: int) -> str:
    return path_of("endpoints", slug, "targets", str(target_id))
