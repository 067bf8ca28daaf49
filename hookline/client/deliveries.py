"""Calls about deliveries: what was forwarded to targets, and retries; and about replays of many requests. One request
is replayed by `client.requests.replay`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypedDict, Unpack

from hookline.calls import Call, Pages, Response, decode_as, path_of, query_of
from hookline.client.methods import Asynchronous, Blocking, ListMethod, Method
from hookline.records import Delivery, FullDelivery, FullReplay, Replay

SettledState = Literal["queued", "delivered", "not_sent", "failed"]


class _DeliveryCalls:
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
        return Pages("/deliveries", Delivery, params | query_of(replay=replay, id=id_start), count)

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
        return Call("POST", "/deliveries/retry", _queued, content=which, timeout_s=None)


class Deliveries(_DeliveryCalls, Blocking):
    """`client.deliveries`."""


class AsyncDeliveries(_DeliveryCalls, Asynchronous):
    """`Deliveries` for asyncio."""


def _queued(response: Response) -> int:
    return decode_as(dict[str, int])(response)["queued"]


class FaultFields(TypedDict, total=False):
    """Probabilities, 0 to 1, of faults made on purpose."""

    duplicate: float
    swap: float
    drop: float
    delay: float
    delay_max_ms: int
    cut_off: float


class EditFields(TypedDict, total=False):
    """What is sent in place of what was captured; for one request only. `url` is requested as given."""

    url: str
    method: str
    headers: Sequence[tuple[str, str]]
    body: str
    body_base64: bytes


class ReplayFields(TypedDict, total=False):
    """Which requests, oldest first: those in `ids`, otherwise those of `endpoint` (a slug) or all that match `q`, from
    `after` until before `before`. Where to: their targets, `url` or `to_endpoint`. When: one after the other, at `rate`
    requests per second, or with their original `gaps`, which `scale` multiplies."""

    ids: Sequence[str]
    endpoint: str
    q: str
    after: datetime
    before: datetime
    url: str
    to_endpoint: str
    gaps: Literal["none", "original"]
    scale: float
    longest_gap_ms: int
    rate: float
    concurrency: int
    times: int
    faults: FaultFields
    seed: int
    incomplete: bool
    edit: EditFields


class _ReplayCalls:
    @Method
    def start(self, **fields: Unpack[ReplayFields]) -> Call[FullReplay]:
        """Begin to send requests again."""
        return Call("POST", "/replays", decode_as(FullReplay), content=fields)

    @ListMethod
    def list(self, count: int | None = None) -> Pages[Replay]:
        """The last `count` replays, or all (None), the last started first."""
        return Pages("/replays", Replay, {}, count)

    @Method
    def get(self, replay_id: str) -> Call[FullReplay]:
        """A replay with its progress."""
        return Call("GET", path_of("replays", replay_id), decode_as(FullReplay))

    @Method
    def pause(self, replay_id: str) -> Call[FullReplay]:
        return _change(replay_id, "pause")

    @Method
    def resume(self, replay_id: str) -> Call[FullReplay]:
        return _change(replay_id, "resume")

    @Method
    def cancel(self, replay_id: str) -> Call[FullReplay]:
        """Send no more; what is being sent ends by itself."""
        return _change(replay_id, "cancel")


class Replays(_ReplayCalls, Blocking):
    """`client.replays`."""


class AsyncReplays(_ReplayCalls, Asynchronous):
    """`Replays` for asyncio."""


def _change(replay_id: str, verb: str) -> Call[FullReplay]:
    return Call("POST", path_of("replays", replay_id, verb), decode_as(FullReplay))
