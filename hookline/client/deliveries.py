"""Calls about deliveries: what was forwarded to targets, and retries."""

from __future__ import annotations

from typing import Literal

from hookline.calls import Call, Pages, Response, decode_as, path_of, query_of
from hookline.client.methods import Asynchronous, Blocking, ListMethod, Method
from hookline.records import Delivery, FullDelivery

PATH = "/deliveries"

SettledState = Literal["queued", "delivered", "not_sent", "failed"]


class _Calls:
    @ListMethod
    def list(
        self,
        *,
        request: str | None = None,
        endpoint: str | None = None,
        target: int | None = None,
        state: SettledState | None = None,
        order: Literal["newest", "oldest"] | None = None,
        count: int | None = None,
        replay: str | None = None,
        id_start: str | None = None,
    ) -> Pages[Delivery]:
        """Deliveries of one request (its ID), oldest first; otherwise the newest first unless `order` is oldest: of an
        endpoint, to a target, in a state, of a replay (its ID), or all; whose IDs begin with `id_start`. `count` None:
        as many as there are."""
        number = None if target is None else str(target)
        params = query_of(request=request, endpoint=endpoint, target=number, state=state, order=order)
        return Pages(PATH, Delivery, params | query_of(replay=replay, id=id_start), count)

    @Method
    def get(self, delivery_id: str) -> Call[FullDelivery]:
        """A delivery with its attempts."""
        return Call("GET", path_of("deliveries", delivery_id), decode_as(FullDelivery))

    @Method
    def retry(self, delivery_id: str) -> Call[FullDelivery]:
        """Queue a failed delivery again."""
        return Call("POST", path_of("deliveries", delivery_id, "retry"), decode_as(FullDelivery))

    @Method
    def send_now(self, delivery_id: str) -> Call[FullDelivery]:
        """Make a delivery that waits for its retry due at once."""
        return Call("POST", path_of("deliveries", delivery_id, "send-now"), decode_as(FullDelivery))

    @Method
    def retry_failed(self, *, endpoint: str | None = None, target: int | None = None) -> Call[int]:
        """Queue failed deliveries again, of an endpoint, to a target, or all; returns how many."""
        which = {"endpoint": endpoint, "target": target}
        # takes minutes for a million
        return Call("POST", f"{PATH}/retry", _queued, content=which, timeout_s=None)


class Deliveries(_Calls, Blocking):
    """`client.deliveries`."""


class AsyncDeliveries(_Calls, Asynchronous):
    """`Deliveries` for asyncio."""


def _queued(response: Response) -> int:
    return decode_as(dict[str, int])(response)["queued"]
