"""Calls about replays of many requests. One request is replayed by `client.requests.replay`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypedDict, Unpack

from hookline.calls import Call, Pages, decode_as, path_of
from hookline.client.methods import Asynchronous, Blocking, ListMethod, Method
from hookline.records import FullReplay, Replay

PATH = "/replays"


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


class _Calls:
    @Method
    def start(self, **fields: Unpack[ReplayFields]) -> Call[FullReplay]:
        """Begin to send requests again."""
        return Call("POST", PATH, decode_as(FullReplay), content=fields)

    @ListMethod
    def list(self, count: int | None = None) -> Pages[Replay]:
        """The last `count` replays, or all (None), the last started first."""
        return Pages(PATH, Replay, {}, count)

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


class Replays(_Calls, Blocking):
    """`client.replays`."""


class AsyncReplays(_Calls, Asynchronous):
    """`Replays` for asyncio."""


def _change(replay_id: str, verb: str) -> Call[FullReplay]:
    return Call("POST", path_of("replays", replay_id, verb), decode_as(FullReplay))
