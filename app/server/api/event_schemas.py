"""What `GET /events` sends: the `data` of each type of event."""

from __future__ import annotations

from typing import Literal

from app.core.record import Record
from app.core.tunnel.tunnel import TunnelState

EventType = Literal["captured", "delivered", "endpoint", "refused", "replay", "tunnel"]
"""`captured`: a request was stored (SummaryOut). `delivered`: an attempt of a delivery ended, or it was queued again
(DeliverySummaryOut). `endpoint`: an endpoint was created, changed or deleted (EndpointChangeOut). `refused`: a request
was refused (RefusalOut). `replay`: a replay began, went on or ended (ReplayOut). `tunnel`: the tunnel's state,
program, URL or problem changed (TunnelChangeOut)."""


class PositionOut(Record, frozen=True):
    """The first event of a stream, `position`: what follows is newer than this."""

    position: str


class GapOut(Record, frozen=True):
    """The event `gap`: events of these types may be missing here, and cannot be sent any more."""

    types: tuple[EventType, ...]
    reason: str


class EndpointChangeOut(Record, frozen=True):
    """An endpoint that was created, changed or deleted, as it is now or was last. `tunnel` as in EndpointOut."""

    change: Literal["created", "changed", "deleted"]
    slug: str
    url: str
    tunnel: TunnelState | None
    name: str
    active: bool


class TunnelChangeOut(Record, frozen=True):
    """The tunnel as it is now; see `TunnelOut`, which has more."""

    state: TunnelState
    program: str | None
    url: str | None
    problem: str | None
