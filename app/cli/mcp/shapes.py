"""What the tools return. Times are RFC 3339 texts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StatusShape:
    """`running`: whether Hookline runs and captures requests. `capture_url` is None while it does not."""

    version: str
    running: bool
    capture_url: str | None
    base_url: str
    tunnel: str | None
    plan: str
    requests: int
    problems: list[str]


@dataclass(frozen=True)
class EndpointShape:
    """An endpoint. Requests to `url` are captured while it is `active`, and forwarded to the `targets`. If `url` begins
    with a tunnel's URL, `tunnel` is its state, and the URL works only while that is up."""

    slug: str
    name: str
    description: str
    tags: list[str]
    url: str
    tunnel: str | None
    active: bool
    retention_days: int
    request_count: int
    last_request_at: str | None
    targets: list[str]


@dataclass(frozen=True)
class FoundEndpoints:
    """Endpoints in the user's order. `more`: there are others."""

    endpoints: list[EndpointShape]
    more: bool


@dataclass(frozen=True)
class SummaryShape:
    """A request in a list. `response_status` is what its sender got, `delivery` the state of its deliveries (none,
    queued, delivered, not_sent or failed), `summary` what it holds in a few words, `note` the user's note."""

    id: str
    endpoint: str
    received_at: str
    method: str
    target: str
    content_type: str
    size: int
    response_status: int
    delivery: str
    provider: str | None
    event: str | None
    summary: str | None
    note: str | None


@dataclass(frozen=True)
class FoundRequests:
    """Requests, newest first. `more`: there are older ones that match. `unexamined` counts requests that may match and
    are left out: what their compressed bodies unpack to is too long."""

    requests: list[SummaryShape]
    more: bool
    unexamined: int = 0


@dataclass(frozen=True)
class BodyShape:
    """A part of a body. `text` is None if it is not text; `base64` then holds it. `size` is the whole body's, in bytes
    as sent; `next_offset` is where the rest begins, None at the end. `note` says what is missing, and why."""

    size: int
    offset: int
    text: str | None
    base64: str | None
    next_offset: int | None
    note: str | None


@dataclass(frozen=True)
class DeliveryShape:
    """A delivery of a request to one target, with the result of its last attempt. `ms` is its duration in
    milliseconds."""

    id: str
    request: str
    endpoint: str
    url: str
    state: str
    attempts: int
    status: int | None
    ms: float | None
    error: str | None
    replay: bool
    queued_at: str
    next_attempt_at: str | None


@dataclass(frozen=True)
class FoundDeliveries:
    """Deliveries, newest first. `more`: there are older ones."""

    deliveries: list[DeliveryShape]
    more: bool


@dataclass(frozen=True)
class AttemptShape:
    """One try of a delivery: what was sent, and what came back. `error` is None if it succeeded."""

    number: int
    trigger: str
    started_at: str
    ms: float
    method: str
    url: str
    headers: list[tuple[str, str]]
    status: int | None
    response_headers: list[tuple[str, str]]
    response_size: int
    error: str | None


@dataclass(frozen=True)
class FullDelivery:
    """A delivery with its last 5 attempts, and the start of the last response's body."""

    delivery: DeliveryShape
    attempts: list[AttemptShape]
    response_body: BodyShape | None


@dataclass(frozen=True)
class ReplayResults:
    """The deliveries of a replay, one to each target."""

    deliveries: list[FullDelivery]


@dataclass(frozen=True)
class RequestShape:
    """A request in full, with the last 20 of its deliveries. `response_status` is what its sender got; it is not
    `complete` if the sender disconnected within the body; `note` is the user's. `redacted`: secrets in it were replaced
    by `[redacted]`."""

    id: str
    endpoint: str
    received_at: str
    method: str
    target: str
    http_version: str
    source_address: str
    complete: bool
    headers: list[tuple[str, str]]
    body: BodyShape
    response_status: int
    provider: str | None
    event: str | None
    note: str | None
    delivery_count: int
    deliveries: list[DeliveryShape]
    redacted: bool


@dataclass(frozen=True)
class WaitResult:
    """`request` is None when none came within the time. Wait again with `position` as `after`."""

    request: SummaryShape | None
    position: str


@dataclass(frozen=True)
class SentShape:
    """What Hookline responded to a request that was sent to an endpoint, with the start of the body."""

    url: str
    status: int
    body: BodyShape
