"""What the local API returns, as frozen records.

Times are aware datetimes in UTC. Fields that only a newer program has are left out.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Literal

import msgspec

from hookline.headers import Headers

DeliveryState = Literal["none", "queued", "delivered", "not_sent", "failed"]
ReplayState = Literal["queued", "running", "paused", "done", "cancelled", "interrupted"]
TunnelState = Literal["off", "starting", "checking", "up", "unreachable", "restarting", "failed", "stopping"]
WhenFull = Literal["delete_oldest", "stop_capturing"]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the records."""


class ResponseSettings(Record, frozen=True):
    """The response to captured requests. `body` None is the default JSON body with the request's ID.

    `from_target`: the sender gets the first target's response instead, if that comes within `wait_ms`.
    """

    status: int
    headers: Headers
    body: str | None
    delay_ms: int
    from_target: bool
    wait_ms: int


class Forward(Record, frozen=True):
    """The first target's time limit."""

    timeout_ms: int


class Auth(Record, frozen=True):
    """Credentials that senders need. `name` is the user (basic) or the header's name (header)."""

    kind: Literal["none", "basic", "bearer", "header"]
    name: str
    secret: str


class RetryRule(Record, frozen=True):
    """When and how often a failed attempt is repeated; `on` has kinds of failure and statuses such as `5xx`."""

    retries: int
    on: tuple[str, ...]
    first_delay_ms: int
    longest_delay_ms: int
    total_ms: int


class Target(Record, frozen=True):
    """A URL that an endpoint's requests are forwarded to. `paused` says who paused it; None: it is not paused.
    `last_error` says why the last delivery failed or is retried, None while they succeed. The requests of `deleted`
    deliveries were deleted before they were sent. `parallel` None: one after the other, in order."""

    id: int
    position: int
    url: str
    active: bool
    paused: Literal["user", "failures"] | None
    queued: int
    failures: int
    last_error: str | None
    deleted: int
    append_path: bool
    keep_query: bool
    set_headers: Headers
    add_headers: Headers
    remove_headers: tuple[str, ...]
    attempt_header: str | None
    host: Literal["target", "sender"]
    timeout_ms: int
    verify_tls: bool
    client_certificate: str | None
    client_key: str | None
    ca_certificate: str | None
    follow_redirects: bool
    retry: RetryRule
    parallel: int | None
    rate_limit: float | None
    pause_after: int
    auto_resume: bool


class Endpoint(Record, frozen=True):
    """An endpoint. Senders use `url`; `tunnel` is the state of the tunnel whose URL that begins with, None for any
    other URL; `position` is its place in the list, from 1."""

    slug: str
    url: str
    tunnel: TunnelState | None
    position: int
    name: str
    description: str
    retention_days: int
    storage_limit: int | None
    when_full: WhenFull
    forward_url: str | None
    active: bool
    response: ResponseSettings
    forward: Forward
    auth: Auth
    created_at: datetime
    request_count: int
    unread_count: int
    last_request_at: datetime | None
    stored_bytes: int
    storage_limit_reached: bool
    targets: tuple[Target, ...]


class SentResponse(Record, frozen=True):
    """The response to the sender; `ms` is None until it is sent."""

    status: int
    ms: float | None


class SourceAddress(Record, frozen=True):
    """Where a request came from."""

    address: str
    port: int


class Summary(Record, frozen=True):
    """A captured request as in lists. `endpoint` is a slug, `target` as sent, with `/catch/SLUG` and query.

    `delivery` is the state of its deliveries, `gist` a description in a few words.
    """

    id: str
    endpoint: str
    received_at: datetime
    method: str
    target: str
    size: int
    content_type: str
    complete: bool
    response: SentResponse
    delivery: DeliveryState
    read: bool
    starred: bool
    note: str | None
    provider: str | None
    event: str | None
    gist: str

    @property
    def path(self) -> str:
        """The path below the endpoint's URL, as sent, without the query; `/` for the URL itself."""
        return self.target_below.partition("?")[0]

    @property
    def query(self) -> str:
        """The query, as sent, without the `?`."""
        return self.target_below.partition("?")[2]

    @property
    def target_below(self) -> str:
        """Path and query below the endpoint's URL, as sent."""
        origin, found, below = self.target.partition(f"/catch/{self.endpoint}")
        below = below if found else origin
        return below if below.startswith("/") else f"/{below}"


class Timing(Record, frozen=True):
    """Milliseconds of the parts of an attempt; None for parts it did not have or reach."""

    lookup: float | None
    connect: float | None
    tls: float | None
    first_byte: float | None


class Attempt(Record, frozen=True):
    """One try of a delivery: what was sent and what came back. `failure` is None if it succeeded."""

    number: int
    trigger: str
    started_at: datetime
    ms: float
    method: str
    url: str
    headers: Headers
    size: int
    reused: bool
    timing: Timing
    http_version: str
    status: int | None
    response_headers: Headers
    response_size: int
    response_truncated: bool
    response_removed: bool
    failure: str | None
    error: str | None


class DeliverySummary(Record, frozen=True):
    """A request sent, or to be sent, to one URL, with the result of its last attempt.

    `request` is the request's ID, `endpoint` a slug; `target` is None for a URL that is no target, `replay` unless the
    request was replayed. `next_step` says until when it is retried, or why it is not. `responded`: the sender got this
    response.
    """

    id: str
    request: str
    endpoint: str
    method: str
    url: str
    state: DeliveryState
    queued_at: datetime
    started_at: datetime | None
    ms: float | None
    status: int | None
    error: str | None
    next_step: str | None
    target: int | None
    replay: str | None
    attempt_count: int
    due_at: datetime | None
    responded: bool


class Wait(Record, frozen=True):
    """What a queued delivery waits for, in words (`text`). `request` is the ID of the request whose delivery to the
    same target goes first, if it waits for that."""

    reason: str
    request: str | None
    text: str


class Delivery(DeliverySummary, frozen=True):
    """A delivery with the headers of the last response. `response_size` bytes of its body are kept. `waits_for` is None
    once it has ended."""

    waits_for: Wait | None
    response_headers: Headers
    response_size: int
    response_truncated: bool


class FullDelivery(Delivery, frozen=True):
    """A delivery with its attempts, in order."""

    attempts: tuple[Attempt, ...]


class ReplayedRequest(FullDelivery, frozen=True):
    """The delivery of a replayed request to the first target; `deliveries` has those to all targets."""

    deliveries: tuple[FullDelivery, ...]


class Request(Summary, frozen=True):
    """A captured request in full. `body` is as sent; `decoded_body` is without its content coding (gzip and others),
    None if it cannot be decoded. `damaged`: what is stored does not match `sha256`; None: they were not
    compared, because it is larger than 1 MiB. `get` raises ProblemError for a damaged body."""

    http_version: str
    headers: Headers
    trailers: Headers
    sha256: str
    source: SourceAddress
    scheme: str
    delivery_id: str | None
    deliveries: tuple[Delivery, ...]
    damaged: bool | None = None
    body: bytes = b""
    decoded_body: bytes | None = b""

    @property
    def text(self) -> str:
        """The decoded body as text, in the charset of its content type (else UTF-8); what does not fit is replaced."""
        charset = self._charset() or "utf-8"
        body = self.body if self.decoded_body is None else self.decoded_body
        try:
            return body.decode(charset, "replace")
        except LookupError:
            return body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The decoded body as JSON values; ValueError if it is none."""
        body = self.body if self.decoded_body is None else self.decoded_body
        return json.loads(body)

    def _charset(self) -> str | None:
        for parameter in self.content_type.split(";")[1:]:
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "charset":
                return value.strip().strip('"')
        return None


class Faults(Record, frozen=True):
    """Probabilities, 0 to 1, of faults that a replay makes on purpose."""

    duplicate: float
    swap: float
    drop: float
    delay: float
    delay_max_ms: int
    cut_off: float


class ReplayProgress(Record, frozen=True):
    """Counts so far. `total` is None until the requests are counted. `sent` counts requests; `delivered` and `failed`
    count deliveries: a request to three targets has three. `rate` is requests per second at present."""

    total: int | None
    sent: int
    delivered: int
    failed: int
    dropped: int
    duplicated: int
    incomplete: int
    repeated: int
    rate: float


class Edit(Record, frozen=True):
    """What a replay sends in place of what was captured; None: as captured."""

    url: str | None
    method: str | None
    headers: Headers | None
    body_base64: bytes | None


class Replay(Record, frozen=True):
    """Many requests sent again: what was asked for, and how far it is. `summary` is its report once it has ended."""

    id: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    state: ReplayState
    progress: ReplayProgress
    problem: str | None
    summary: str | None
    id_count: int | None
    endpoint: str | None
    q: str
    after: datetime | None
    before: datetime | None
    url: str | None
    to_endpoint: str | None
    gaps: Literal["none", "original"]
    scale: float | None
    longest_gap_ms: int | None
    rate: float | None
    concurrency: int
    times: int
    faults: Faults
    seed: int
    incomplete: bool
    edited: bool

    @property
    def ended(self) -> bool:
        """Whether nothing more will be sent, unless it is resumed."""
        return self.state in ("done", "cancelled", "interrupted")


class FullReplay(Replay, frozen=True):
    """A replay with the IDs it was given, and what was edited."""

    ids: tuple[str, ...] | None
    edit: Edit | None


class Refusal(Record, frozen=True):
    """A request that was not captured, and why. `endpoint` is a slug, None if it was for none."""

    id: int
    at: datetime
    source: SourceAddress
    status: int
    reason: str
    method: str
    target: str
    endpoint: str | None
    raw_size: int


class EndpointChange(Record, frozen=True):
    """An endpoint that was created, changed or deleted, as it is now or was last."""

    change: Literal["created", "changed", "deleted"]
    slug: str
    url: str
    tunnel: TunnelState | None
    name: str
    active: bool


class TunnelChange(Record, frozen=True):
    """The tunnel as it is now: `url` is its public URL while it has one, and the last one while it is started again;
    `problem` says what went wrong last, and what to do."""

    state: TunnelState
    program: str | None
    url: str | None
    problem: str | None


class Gap(Record, frozen=True):
    """Events of these types may be missing, and cannot be sent any more."""

    types: tuple[str, ...]
    reason: str


class EndpointUsage(Record, frozen=True):
    """How many endpoints there are, and how many the plan allows (None: any number)."""

    held: int
    limit: int | None


class Totals(Record, frozen=True):
    """Requests over all endpoints; `refused` since the program started."""

    requests: int
    unread: int
    refused: int


class Storage(Record, frozen=True):
    """The bytes stored by all endpoints, and their limit (None: none); besides, what targets responded."""

    bytes: int
    limit: int | None
    when_full: WhenFull
    limit_reached: bool
    capturing_stopped: bool
    response_bytes: int
    response_limit: int


class Retention(Record, frozen=True):
    """Whether requests are deleted by age; while that waits, why."""

    state: Literal["running", "waiting"]
    reason: str | None
    resumes_in_seconds: float | None


class Status(Record, frozen=True):
    """The program's status. `storage` is `ok`, or says why storing fails; `warnings` are other problems."""

    version: str
    capture_url: str | None
    base_url: str
    tunnel: TunnelState | None
    plan: Literal["free", "pro"]
    endpoints: EndpointUsage
    counts: Totals
    database_bytes: int | None
    stored: Storage
    uptime_seconds: float
    pid: int
    storage: str
    warnings: tuple[str, ...]
    retention: Retention
