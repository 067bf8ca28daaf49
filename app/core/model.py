"""The records exchanged between all packages. All are frozen: a change makes a new record.

Times are whole microseconds since 1970-01-01 UTC. Headers are ordered `(name, value)` pairs as sent, each byte as one
Latin-1 character.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from app.core.forward_target import forwarded_url

Headers = tuple[tuple[str, str], ...]

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")
"""The methods an endpoint captures (SPEC 4.1)."""

WhenFull = Literal["delete_oldest", "stop_capturing"]
"""What happens at a storage limit."""

PART_SIZE = 1024 * 1024
"""Bodies are stored, read and forwarded in parts of this many bytes; only the last one can be shorter."""

REFUSED_RAW_MAX = 64 * 1024
"""Maximum bytes kept of a refused request."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the frozen records."""


class Plan(StrEnum):
    """The account's plan."""

    FREE = "free"
    PRO = "pro"


class DeliveryState(StrEnum):
    """The state of a capture's latest delivery."""

    NONE = "none"
    QUEUED = "queued"
    DELIVERED = "delivered"
    FAILED = "failed"


class ResponseSettings(Record, frozen=True):
    """The response to a captured request. `body=None` is the default JSON body with the id.

    `from_target`: the sender gets the first target's response instead, if that comes within `wait_ms`.
    """

    status: int = 200
    headers: Headers = ()
    body: str | None = None
    delay_ms: int = 0
    from_target: bool = False
    wait_ms: int = 10_000


class Forward(Record, frozen=True):
    """The first target's time limit, as the endpoint's form has it: `timeout_ms` limits a whole attempt."""

    timeout_ms: int = 10_000


RetryOn = Literal["connection", "timeout", "tls", "protocol", "429", "3xx", "4xx", "5xx"]
"""A result that a retry rule can name: kinds of failure, and statuses."""


class RetryRule(Record, frozen=True):
    """When and how often a failed attempt is repeated.

    The n-th of at most `retries` waits a random time of up to `first_delay_ms` * 2^(n - 1), at most `longest_delay_ms`;
    a `Retry-After` of the target is obeyed. No retry starts later than `total_ms` after the first attempt.
    """

    retries: int = 4
    on: tuple[RetryOn, ...] = ("connection",)
    first_delay_ms: int = 1_000
    longest_delay_ms: int = 60_000
    total_ms: int = 600_000


class TargetDraft(Record, frozen=True):
    """What the user can set on a target.

    `append_path` and `keep_query`: the captured path below the slug, and the query, are added to `url`. `set_headers`
    replace all of their name, `add_headers` come in addition; both after `remove_headers` were removed.
    `client_certificate` and `client_key` are paths of PEM files; the key may be in the certificate's file. `parallel`:
    how many are sent at once, at most; None keeps the order: one after the other, and one that waits for its retry
    holds up those after it. After `pause_after` failed deliveries in a row it is paused (0: never).
    """

    url: str
    active: bool = True
    append_path: bool = True
    keep_query: bool = True
    set_headers: Headers = ()
    add_headers: Headers = ()
    remove_headers: tuple[str, ...] = ()
    host: Literal["target", "sender"] = "target"
    timeout_ms: int = 10_000
    verify_tls: bool = True
    client_certificate: str | None = None
    client_key: str | None = None
    follow_redirects: bool = False
    retry: RetryRule = RetryRule()
    parallel: int | None = None
    pause_after: int = 10

    def request_url(self, captured_target: str) -> str:
        """The URL that a capture with this raw target is sent to."""
        return forwarded_url(self.url, captured_target, append_path=self.append_path, keep_query=self.keep_query)


class PausedBy(StrEnum):
    """Who paused a target: the user, or too many failures in a row."""

    USER = "user"
    FAILURES = "failures"


class Target(TargetDraft, frozen=True, kw_only=True):
    """A stored target of an endpoint. While it is paused, deliveries to it stay queued."""

    id: int
    endpoint_id: int
    paused: PausedBy | None = None

    def draft(self) -> TargetDraft:
        """The settable part."""
        return TargetDraft(**{name: getattr(self, name) for name in TargetDraft.__struct_fields__})


class Auth(Record, frozen=True):
    """Credentials that senders need. `name` is the user (basic) or the header's name (header), and unused otherwise."""

    kind: Literal["none", "basic", "bearer", "header"] = "none"
    name: str = ""
    secret: str = ""


class EndpointDraft(Record, frozen=True):
    """What the user can set on an endpoint.

    `slug=None` generates one; the slug is fixed once created. `storage_limit` is in bytes; None: the endpoint has no
    limit of its own. `forward_url` and `forward` are the first target's; None removes that target.
    """

    name: str
    description: str = ""
    retention_days: int = 7
    storage_limit: int | None = None
    when_full: WhenFull = "delete_oldest"
    forward_url: str | None = None
    slug: str | None = None
    active: bool = True
    reply: ResponseSettings = ResponseSettings()
    forward: Forward = Forward()
    auth: Auth = Auth()


class Endpoint(Record, frozen=True):
    """A stored endpoint: a capture URL and its configuration."""

    id: int
    slug: str
    name: str
    description: str
    retention_days: int
    storage_limit: int | None
    when_full: WhenFull
    active: bool
    reply: ResponseSettings
    auth: Auth
    created_at: int
    targets: tuple[Target, ...] = ()

    @property
    def forward_url(self) -> str | None:
        """The URL of the first target."""
        return self.targets[0].url if self.targets else None

    def target(self, target_id: int | None) -> Target | None:
        """None if it has no such target."""
        return next((one for one in self.targets if one.id == target_id), None)

    @property
    def forward(self) -> Forward:
        return Forward(timeout_ms=self.targets[0].timeout_ms) if self.targets else Forward()

    def draft(self) -> EndpointDraft:
        """The settable part, to be changed with `msgspec.structs.replace` and saved."""
        return EndpointDraft(
            name=self.name,
            description=self.description,
            retention_days=self.retention_days,
            storage_limit=self.storage_limit,
            when_full=self.when_full,
            forward_url=self.forward_url,
            slug=self.slug,
            active=self.active,
            reply=self.reply,
            forward=self.forward,
            auth=self.auth,
        )


class Summary(Record, frozen=True):
    """A captured request as shown in lists: without headers and body.

    `target` is the raw request target. `reply_ms` is None until the response was sent. `provider` is the id of the
    service that sent it, `event` its event type; None if unknown. `gist` describes the request in a few words; None
    until that was done for a request stored by an older version. `note` is None without one.
    """

    id: str
    endpoint_id: int
    received_at: int
    method: str
    target: str
    content_type: str
    size: int
    complete: bool
    reply_status: int
    reply_ms: float | None
    mirror: DeliveryState
    read: bool
    provider: str | None = None
    event: str | None = None
    gist: str | None = None
    starred: bool = False
    note: str | None = None


class Capture(Record, frozen=True):
    """A captured request as sent, with its headers but without its body.

    `id` is a UUIDv7 made from `received_at`, so that ids sort by time of arrival. `seq` numbers captures in this store.
    `size` and `sha256` (hex) are of the body as sent: without transfer coding, with content coding. `delivery_id` is
    the provider's name for this request. Unless `identified`, the provider is identified after storing, which can
    extend the `gist`. `starred` and `note` are set by the user on stored requests only. `trailers` followed a chunked
    body; they are stored like headers, and have no effect.
    """

    seq: int
    id: str
    endpoint_id: int
    received_at: int
    method: str
    target: str
    http_version: str
    headers: Headers
    content_type: str
    size: int
    sha256: str
    source_address: str
    source_port: int
    scheme: str
    complete: bool
    reply_status: int
    reply_ms: float | None = None
    mirror: DeliveryState = DeliveryState.NONE
    read: bool = False
    provider: str | None = None
    event: str | None = None
    gist: str | None = None
    delivery_id: str | None = None
    identified: bool = True
    starred: bool = False
    note: str | None = None
    trailers: Headers = ()

    def summary(self) -> Summary:
        """The short form for lists."""
        return Summary(
            id=self.id,
            endpoint_id=self.endpoint_id,
            received_at=self.received_at,
            method=self.method,
            target=self.target,
            content_type=self.content_type,
            size=self.size,
            complete=self.complete,
            reply_status=self.reply_status,
            reply_ms=self.reply_ms,
            mirror=self.mirror,
            read=self.read,
            provider=self.provider,
            event=self.event,
            gist=self.gist,
            starred=self.starred,
            note=self.note,
        )


class PageKey(Record, frozen=True):
    """A position in a list of captures, newest first: the row with this time and id."""

    received_at: int
    id: str


class Counts(Record, frozen=True):
    """Requests of an endpoint. `last_received_at` is None without any; for `stored_bytes` see `StorageUse`."""

    total: int = 0
    unread: int = 0
    last_received_at: int | None = None
    stored_bytes: int = 0


class SenderCount(Record, frozen=True):
    """How many requests a provider sent with this event type (None: without one)."""

    provider: str
    event: str | None
    count: int


class AttemptTrigger(StrEnum):
    """Why an attempt was made. RESENT: at once and once only, because a reused connection closed without a response."""

    FORWARD = "forward"
    RETRY = "retry"
    MANUAL = "manual"
    RESENT = "resent"
    REPLAY = "replay"


class Delivery(Record, frozen=True):
    """A capture to be sent to one target, with the result of its last attempt.

    `url` is the target's URL until the first attempt (in a replay, the URL it requests), then the URL that the last
    attempt requested; see `request_url`. `target_id` is None
    for a URL that is no target of the endpoint, `replay_id` None unless the user replayed the request. `attempts`
    counts all attempts, `round_attempts` those since it was queued or last retried by the user (`round_started_at`:
    when the first of these started). While queued, the next attempt starts at `due_at` (0: now). Failure is data:
    `error` says what went wrong, `status` is None without a response. `responded`: the sender got this response.
    `captured_method`, `captured_target`, `captured_event` and `captured_gist` are the capture's.
    """

    id: str
    capture_id: str
    endpoint_id: int
    url: str
    state: DeliveryState
    queued_at: int
    target_id: int | None = None
    replay_id: str | None = None
    due_at: int = 0
    attempts: int = 0
    round_attempts: int = 0
    round_started_at: int | None = None
    started_at: int | None = None
    ms: float | None = None
    status: int | None = None
    error: str | None = None
    responded: bool = False
    captured_method: str = ""
    captured_target: str = ""
    captured_event: str | None = None
    captured_gist: str | None = None

    def request_url(self, target: TargetDraft | None) -> str:
        """The URL of the last attempt; before the first one, what it will be as `target`, which it is for, is now."""
        if self.attempts or self.replay_id is not None or target is None:
            return self.url
        return target.request_url(self.captured_target)

    @property
    def next_trigger(self) -> AttemptTrigger:
        """Why its next attempt is made."""
        if self.replay_id is not None:
            return AttemptTrigger.REPLAY
        if self.attempts == 0:
            return AttemptTrigger.FORWARD
        return AttemptTrigger.MANUAL if self.round_attempts == 0 else AttemptTrigger.RETRY


class FailureKind(StrEnum):
    """Why an attempt failed, as retry rules see it. INTERRUPTED: Hookline ended while it was being sent. CUT_OFF: a
    replay closed the connection on purpose."""

    CONNECTION = "connection"
    TIMEOUT = "timeout"
    TLS = "tls"
    PROTOCOL = "protocol"
    STATUS = "status"
    LOOP = "loop"
    NOT_SENT = "not_sent"
    INTERRUPTED = "interrupted"
    CUT_OFF = "cut_off"
    INTERNAL = "internal"


class Timing(Record, frozen=True):
    """Milliseconds of the parts of an attempt, None for parts it did not have or reach."""

    lookup: float | None = None
    connect: float | None = None
    tls: float | None = None
    first_byte: float | None = None
    """From the end of connecting to the first byte of the response."""


class Attempt(Record, frozen=True):
    """One try of a delivery: what was sent to `url`, and what came back.

    `number` counts from 1. `headers` are those sent; the body is the capture's, `size` bytes of it were sent unless the
    replay has its own. `reused`: on a connection that was open already. `response_size` counts the bytes kept of the
    response body (at most `PART_SIZE`); `response_truncated`: there were more. `failure` is None if it succeeded.
    """

    delivery_id: str
    number: int
    trigger: AttemptTrigger
    started_at: int
    ms: float
    method: str
    url: str
    headers: Headers = ()
    size: int = 0
    reused: bool = False
    timing: Timing = Timing()
    http_version: str = ""
    status: int | None = None
    response_headers: Headers = ()
    response_size: int = 0
    response_truncated: bool = False
    failure: FailureKind | None = None
    error: str | None = None


class QueuedDelivery(Record, frozen=True):
    """A delivery that is due, with its capture. `body` is None if it is long: read it in parts then."""

    delivery: Delivery
    capture: Capture
    body: bytes | None


class DeliveryFilter(Record, frozen=True):
    """Which deliveries: all conditions that are not None apply. `replay` True: only replays, False: none.

    `replay_id`: those of one replay. `beginning`: those whose ids begin with it.
    """

    endpoint_id: int | None = None
    target_id: int | None = None
    state: DeliveryState | None = None
    replay: bool | None = None
    replay_id: str | None = None
    capture_ids: tuple[str, ...] | None = None
    delivery_ids: tuple[str, ...] | None = None
    beginning: str | None = None


class RequestEdit(Record, frozen=True):
    """What a replay sends instead of what was captured; None: as captured.

    `headers` are sent as given, except that the body's length is computed and Hookline's loop header is added; the
    target's own rules for headers do not apply to them. A `url` is requested as given.
    """

    method: str | None = None
    url: str | None = None
    headers: Headers | None = None
    body: bytes | None = None


class Refusal(Record, frozen=True):
    """A refused request and the reason. Kept in memory only.

    `id` counts refused requests since the start. `raw_size` bytes of it are kept as received, at most
    `REFUSED_RAW_MAX`.
    """

    at: int
    source_address: str
    source_port: int
    status: int
    reason: str
    method: str = ""
    target: str = ""
    id: int = 0
    raw_size: int = 0


class StorageSize(Record, frozen=True):
    """Bytes on disk, and how many of them the next purge can free. `expired` counts captures past their retention."""

    file_bytes: int
    free_bytes: int
    expired: int


class StorageUse(Record, frozen=True):
    """How much of a storage limit (bytes; None: unlimited) is used, by one endpoint or by all.

    A request counts with its body, headers and target as sent, the responses of its deliveries, 1,000 bytes for
    everything else and 400 more for each delivery. The total includes bodies that are being received or deleted.
    `reached`: the oldest requests are being deleted for the limit, or capturing has stopped.
    """

    used: int
    limit: int | None
    when_full: WhenFull
    reached: bool

    @property
    def capturing_stopped(self) -> bool:
        """Whether senders get a 503 response because of it."""
        return self.reached and self.when_full == "stop_capturing"


class PurgeReport(Record, frozen=True):
    """The result of a retention run: captures deleted by endpoint id, and bytes returned to the file system. Or of a
    storage limit: what was deleted, and how many bytes are free now."""

    at: int
    deleted: dict[int, int]
    freed_bytes: int


class SentTest(Record, frozen=True):
    """A test request that the user sent to an endpoint.

    `status` is Hookline's response. `place` is the public base URL it was sent through, or without one
    the capture port's `host:port`."""

    status: int
    place: str
    public: bool
