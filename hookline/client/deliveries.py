"""Calls about deliveries: what was forwarded to targets, and retries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from hookline.calls import Call, decode_as, path_of, query_of
from hookline.client.async_transport import AsyncTransport
from hookline.client.records import Delivery, FullDelivery
from hookline.transport import Transport

PATH = "/deliveries"

SettledState = Literal["queued", "delivered", "not_sent", "failed"]


class Deliveries:
    """`client.deliveries`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        request: str | None = None,
        endpoint: str | None = None,
        target: int | None = None,
        state: SettledState | None = None,
        order: Literal["newest", "oldest"] | None = None,
        count: int | None = None,
    ) -> Iterator[Delivery]:
        """Deliveries of one request (its ID), oldest first; otherwise the newest first unless `order` is oldest: of an
        endpoint, to a target, in a state, or all. `count` None: as many as there are."""
        return self._transport.items(PATH, _filters(request, endpoint, target, state, order), Delivery, count)

    def get(self, delivery_id: str) -> FullDelivery:
        """A delivery with its attempts."""
        return self._transport.send(_get(delivery_id))

    def retry(self, delivery_id: str) -> FullDelivery:
        """Queue a failed delivery again."""
        return self._transport.send(_retry(delivery_id))

    def send_now(self, delivery_id: str) -> FullDelivery:
        """Make a delivery that waits for its retry due at once."""
        return self._transport.send(_send_now(delivery_id))

    def retry_failed(self, *, endpoint: str | None = None, target: int | None = None) -> int:
        """Queue failed deliveries again, of an endpoint, to a target, or all; returns how many."""
        return self._transport.send(_retry_failed(endpoint, target))


class AsyncDeliveries:
    """`Deliveries` for asyncio."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        request: str | None = None,
        endpoint: str | None = None,
        target: int | None = None,
        state: SettledState | None = None,
        order: Literal["newest", "oldest"] | None = None,
        count: int | None = None,
    ) -> AsyncIterator[Delivery]:
        """Deliveries of one request (its ID), oldest first; otherwise the newest first unless `order` is oldest: of an
        endpoint, to a target, in a state, or all. `count` None: as many as there are."""
        return self._transport.items(PATH, _filters(request, endpoint, target, state, order), Delivery, count)

    async def get(self, delivery_id: str) -> FullDelivery:
        """A delivery with its attempts."""
        return await self._transport.send(_get(delivery_id))

    async def retry(self, delivery_id: str) -> FullDelivery:
        """Queue a failed delivery again."""
        return await self._transport.send(_retry(delivery_id))

    async def send_now(self, delivery_id: str) -> FullDelivery:
        """Make a delivery that waits for its retry due at once."""
        return await self._transport.send(_send_now(delivery_id))

    async def retry_failed(self, *, endpoint: str | None = None, target: int | None = None) -> int:
        """Queue failed deliveries again, of an endpoint, to a target, or all; returns how many."""
        return await self._transport.send(_retry_failed(endpoint, target))


def _filters(
    request: str | None, endpoint: str | None, target: int | None, state: str | None, order: str | None
) -> dict[str, str]:
    number = None if target is None else str(target)
    return query_of(request=request, endpoint=endpoint, target=number, state=state, order=order)


def _get(delivery_id: str) -> Call[FullDelivery]:
    return Call("GET", path_of("deliveries", delivery_id), decode_as(FullDelivery))


def _retry(delivery_id: str) -> Call[FullDelivery]:
    return Call("POST", path_of("deliveries", delivery_id, "retry"), decode_as(FullDelivery))


def _send_now(delivery_id: str) -> Call[FullDelivery]:
    return Call("POST", path_of("deliveries", delivery_id, "send-now"), decode_as(FullDelivery))


def _retry_failed(endpoint: str | None, target: int | None) -> Call[int]:
    which = {"endpoint": endpoint, "target": target}
    decode = decode_as(dict[str, int])
    # takes minutes for a million
    return Call("POST", f"{PATH}/retry", lambda response: decode(response)["queued"], content=which, timeout_s=None)
