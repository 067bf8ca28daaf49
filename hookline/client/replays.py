"""Calls about replays of many requests. One request is replayed by `client.requests.replay`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict, Unpack

from hookline.calls import Call, decode_as, path_of
from hookline.client.async_transport import AsyncTransport
from hookline.client.records import FullReplay, Replay
from hookline.transport import Transport

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


class Replays:
    """`client.replays`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def start(self, **fields: Unpack[ReplayFields]) -> FullReplay:
        """Begin to send requests again."""
        return self._transport.send(_start(fields))

    def list(self, count: int | None = None) -> Iterator[Replay]:
        """The last `count` replays, or all (None), the last started first."""
        return self._transport.items(PATH, {}, Replay, count)

    def get(self, replay_id: str) -> FullReplay:
        """A replay with its progress."""
        return self._transport.send(_get(replay_id))

    def pause(self, replay_id: str) -> FullReplay:
        return self._transport.send(_change(replay_id, "pause"))

    def resume(self, replay_id: str) -> FullReplay:
        return self._transport.send(_change(replay_id, "resume"))

    def cancel(self, replay_id: str) -> FullReplay:
        """Send no more; what is being sent ends by itself."""
        return self._transport.send(_change(replay_id, "cancel"))


class AsyncReplays:
    """`Replays` for asyncio."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def start(self, **fields: Unpack[ReplayFields]) -> FullReplay:
        """Begin to send requests again."""
        return await self._transport.send(_start(fields))

    def list(self, count: int | None = None) -> AsyncIterator[Replay]:
        """The last `count` replays, or all (None), the last started first."""
        return self._transport.items(PATH, {}, Replay, count)

    async def get(self, replay_id: str) -> FullReplay:
        """A replay with its progress."""
        return await self._transport.send(_get(replay_id))

    async def pause(self, replay_id: str) -> FullReplay:
        return await self._transport.send(_change(replay_id, "pause"))

    async def resume(self, replay_id: str) -> FullReplay:
        return await self._transport.send(_change(replay_id, "resume"))

    async def cancel(self, replay_id: str) -> FullReplay:
        """Send no more; what is being sent ends by itself."""
        return await self._transport.send(_change(replay_id, "cancel"))


def _start(fields: Mapping[str, Any]) -> Call[FullReplay]:
    return Call("POST", PATH, decode_as(FullReplay), content=fields)


def _get(replay_id: str) -> Call[FullReplay]:
    return Call("GET", path_of("replays", replay_id), decode_as(FullReplay))


def _change(replay_id: str, verb: str) -> Call[FullReplay]:
    return Call("POST", path_of("replays", replay_id, verb), decode_as(FullReplay))
