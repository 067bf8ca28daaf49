"""The JSON schemas of the local API's calls about replays."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from app.core.record import Headers, Record
from app.core.replay.spec import Faults, ReplayState
from app.server.api.schemas import FullDeliveryOut

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""RFC 3339, with an offset."""
Gaps = Literal["none", "original"]


class ReplayRequestIn(Record, frozen=True):
    """The body of `POST /requests/{id}/replay`. Absent fields: as captured, to the endpoint's targets.

    The captured sub-path and query are added to `url`, as to a target's. `headers` replace all captured ones. The body
    is `body`, or the bytes in `body_base64`. A request that is not complete is only sent with `incomplete`, or with a
    body.
    """

    url: str | None = None
    to_endpoint: str | None = None
    method: str | None = None
    headers: Headers | None = None
    body: str | None = None
    body_base64: bytes | None = None
    incomplete: bool = False


class ReplayEndpointIn(Record, frozen=True):
    """The body of `POST /endpoints/{slug}/replay`: its requests that match `q`, from `after` until before `before`,
    oldest first; to its targets, to `url` or to `to_endpoint`.

    With `gaps` `original`, `scale` multiplies the gaps between requests (0.5: twice as fast). `rate` is requests per
    second. `faults` are probabilities; the same `seed` makes the same faults. Requests that are not complete are left
    out, unless `incomplete` is true.
    """

    q: str = ""
    after: Time | None = None
    before: Time | None = None
    url: str | None = None
    to_endpoint: str | None = None
    gaps: Gaps = "none"
    scale: float | None = None
    longest_gap_ms: int | None = None
    rate: float | None = None
    concurrency: int = 1
    times: int = 1
    faults: Faults = Faults()
    seed: int = 0
    incomplete: bool = False


class EditIn(Record, frozen=True):
    """What is sent in place of what was captured. `url` is requested as given, without the captured sub-path."""

    url: str | None = None
    method: str | None = None
    headers: Headers | None = None
    body: str | None = None
    body_base64: bytes | None = None


class ReplayIn(ReplayEndpointIn, frozen=True):
    """The body of `POST /replays`: the requests in `ids`, otherwise those of `endpoint` (a slug), otherwise all.

    Only one request can be edited.
    """

    ids: tuple[str, ...] | None = None
    endpoint: str | None = None
    edit: EditIn | None = None


class ReplayedOut(FullDeliveryOut, frozen=True):
    """The delivery to the first target; `deliveries` has those to all of them, in order, this one included."""

    deliveries: tuple[FullDeliveryOut, ...]


class ProgressOut(Record, frozen=True):
    """Counts so far. `total` is null until the requests are counted. `sent` counts requests, the `duplicated` included.
    `delivered` and `failed` count deliveries: a request to three targets has three. `incomplete` counts requests
    that were left out because they are not complete, `repeated` deliveries that were sent again because Hookline ended
    during the first time. `rate` is requests per second at present."""

    total: int | None
    sent: int
    delivered: int
    failed: int
    dropped: int
    duplicated: int
    incomplete: int
    repeated: int
    rate: float


class ReplayOut(Record, frozen=True):
    """A replay: what it was asked to do, and how far it is.

    `id_count` is the number of requests it was given by their IDs; null if they were selected by `endpoint` (null: all
    endpoints), `q`, `after` and `before`. `endpoint` is null too if the endpoint was deleted. `problem` says why it
    ended early or what it could not send; `summary` is its report as text once it has ended.
    """

    id: str
    created_at: str
    started_at: str | None
    ended_at: str | None
    state: ReplayState
    progress: ProgressOut
    problem: str | None
    summary: str | None
    id_count: int | None
    endpoint: str | None
    q: str
    after: str | None
    before: str | None
    url: str | None
    to_endpoint: str | None
    gaps: Gaps
    scale: float | None
    longest_gap_ms: int | None
    rate: float | None
    concurrency: int
    times: int
    faults: Faults
    seed: int
    incomplete: bool
    edited: bool


class EditOut(Record, frozen=True):
    """What is sent in place of what was captured; null: as captured."""

    url: str | None
    method: str | None
    headers: Headers | None
    body_base64: bytes | None


class FullReplayOut(ReplayOut, frozen=True):
    """A replay with the IDs it was given, and what was edited."""

    ids: tuple[str, ...] | None
    edit: EditOut | None
