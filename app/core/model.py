"""Endpoints, captured and refused requests, what is deleted of them, and the storage that they take: records that all
packages exchange."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Literal

from app.core.record import Field, Headers, Record
from app.core.sizes import GIB, MIB
from app.core.target import Target

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")
"""The methods an endpoint captures (SPEC 4.1)."""

WhenFull = Literal["delete_oldest", "stop_capturing"]
"""What happens at a storage limit."""

STORAGE_LIMIT_MAX = 1024 * 1024 * GIB
"""Bytes, of one endpoint or of all."""

PART_SIZE = 1024 * 1024
"""Bodies are read and forwarded in parts of this many bytes; only the last one can be shorter."""

REFUSED_RAW_MAX = 64 * 1024
"""Maximum bytes kept of a refused request."""


class Plan(StrEnum):
    """The account's plan."""

    FREE = "free"
    PRO = "pro"


class DeliveryState(StrEnum):
    """The state of a delivery, or of a capture's worst one. NOT_SENT: it cannot be sent as it is, so nothing was."""

    NONE = "none"
    QUEUED = "queued"
    DELIVERED = "delivered"
    NOT_SENT = "not_sent"
    FAILED = "failed"


WORST_FIRST = (DeliveryState.FAILED, DeliveryState.NOT_SENT, DeliveryState.QUEUED, DeliveryState.DELIVERED)
"""A request's row shows the first of these that one of its deliveries has."""


class ResponseSettings(Record, frozen=True):
    """The response to a captured request. `body=None` is the default JSON body with the id.

    `from_target`: the sender gets the first target's response instead, if that comes within `wait_ms`.
    """

    status: Annotated[int, Field(title="Response status", help="Status of the response.", low=200, high=599)] = 200
    headers: Annotated[Headers, Field(title="Response headers", help="Header of the response.")] = ()
    body: Annotated[str | None, Field(title="Response body", help="Body of the response.")] = None
    delay_ms: Annotated[
        int,
        Field(title="Response delay", help="Wait this long before responding.", low=0, high=30_000, unit="ms"),
    ] = 0
    from_target: Annotated[
        bool,
        Field(
            title="Respond with the target's response",
            help="Respond with what the first target responds; the response set here is sent only if none comes in"
            " time.",
        ),
    ] = False
    wait_ms: Annotated[
        int,
        Field(
            title="Wait for the target's response",
            help="How long to wait for the target's response.",
            low=100,
            high=30_000,
            unit="ms",
        ),
    ] = 10_000


class Forward(Record, frozen=True):
    """The first target's time limit, as the endpoint's form has it: `timeout_ms` limits a whole attempt."""

    timeout_ms: Annotated[
        int,
        Field(title="Forward timeout", help="Maximum time for one delivery.", low=100, high=600_000, unit="ms"),
    ] = 10_000


class Auth(Record, frozen=True):
    """Credentials that senders need. `name` is the user (basic) or the header's name (header), and unused otherwise."""

    kind: Annotated[
        Literal["none", "basic", "bearer", "header"],
        Field(
            title="Credentials",
            choices=(
                "None (anyone with the URL can send)",
                "Basic: user name and password",
                "Bearer token",
                "A header with a secret value",
            ),
        ),
    ] = "none"
    name: str = ""
    secret: Annotated[str, Field(title="Secret", secret=True)] = ""


class EndpointSettings(Record, frozen=True):
    """What the user can set on an endpoint itself, each a column of its table. `storage_limit` None: no limit of its
    own."""

    name: Annotated[str, Field(title="Name", help="A label.", low=1, high=100)]
    description: Annotated[str, Field(title="Description", help="What the endpoint is for.", low=0, high=2_000)] = ""
    tags: Annotated[
        tuple[str, ...],
        Field(
            title="Tags",
            help="Word to find the endpoint and its requests by, as in tag:shop.",
            low=0,
            high=10,
            item_pattern="[A-Za-z0-9_-]{1,32}",
            item_help="words of 1 to 32 letters a to z, digits, - and _",
        ),
    ] = ()
    retention_days: Annotated[
        int, Field(title="Retention", help="How many days to keep requests.", low=1, high=90, unit="days")
    ] = 7
    storage_limit: Annotated[
        int | None,
        Field(
            title="Storage limit",
            help="How much it may store.",
            low=MIB,
            high=STORAGE_LIMIT_MAX,
            unit="bytes",
        ),
    ] = None
    when_full: Annotated[
        WhenFull,
        Field(
            title="When full",
            help="At its storage limit: delete its oldest requests, starred ones too, or stop capturing (senders get"
            " 503).",
            choices=("Delete its oldest requests", "Stop capturing: senders get 503"),
        ),
    ] = "delete_oldest"
    active: bool = True
    response: ResponseSettings = ResponseSettings()
    auth: Auth = Auth()


class EndpointDraft(EndpointSettings, frozen=True):
    """What the user can set on an endpoint and its first target, whose are `forward_url` and `forward`; None removes
    it. `slug=None` generates one; the slug is fixed once created."""

    forward_url: Annotated[
        str | None,
        Field(
            title="Forward URL",
            help="Forward each request to this URL, such as localhost:3000: the first target's, if there are several.",
        ),
    ] = None
    slug: Annotated[str | None, Field(title="Slug", low=3, high=64)] = None
    forward: Forward = Forward()


class Endpoint(EndpointSettings, frozen=True, kw_only=True):
    """A stored endpoint: a capture URL and its configuration. Each change on any node gives it another `version`; it
    stays 0 where there is one node."""

    id: int
    slug: str
    created_at: int
    targets: tuple[Target, ...] = ()
    version: int = 0

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
        return EndpointDraft(**{name: getattr(self, name) for name in EndpointDraft.__struct_fields__})


class Summary(Record, frozen=True):
    """A captured request as shown in lists: without headers and body.

    `target` is the raw request target. `response_ms` is None until the response was sent. `provider` is the id of the
    service that sent it, `event` its event type; None if unknown. `gist` describes the request in a few words. `note`
    is None without one; `starred_by` and `noted_by` are users of a team's store. `seq` numbers requests in the order of
    storing; it is never used twice.
    """

    seq: int
    id: str
    endpoint_id: int
    received_at: int
    method: str
    target: str
    content_type: str
    size: int
    complete: bool
    response_status: int
    response_ms: float | None
    delivery: DeliveryState
    read: bool
    provider: str | None = None
    event: str | None = None
    gist: str = ""
    starred: bool = False
    note: str | None = None
    starred_by: str | None = None
    noted_by: str | None = None


class Description(Record, frozen=True):
    """`event` and `gist` of a request, made of what is shown without its secrets."""

    event: str | None
    gist: str


class Capture(Summary, frozen=True, kw_only=True):
    """A captured request as sent, with its headers but without its body.

    `id` is a UUIDv7 made from `received_at`, so that ids sort by time of arrival; `seq` is 0 until it is
    stored. `size` and `sha256` (hex) are of the body as sent: without transfer coding, with content coding.
    `delivery_id` is the provider's name for this request. Unless `identified`, the provider is identified after
    storing, which can extend the `gist`. `starred` and `note` are set by the user on stored requests only. `trailers`
    followed a chunked body; they are stored like headers, and have no effect.
    """

    seq: int = 0
    response_ms: float | None = None
    delivery: DeliveryState = DeliveryState.NONE
    read: bool = False
    http_version: str
    headers: Headers
    sha256: str
    source_address: str
    source_port: int
    scheme: str
    delivery_id: str | None = None
    identified: bool = True
    trailers: Headers = ()

    def summary(self, seq: int | None = None) -> Summary:
        """The short form for lists; with a `seq`, of one that was just stored under that number."""
        return Summary(self.seq if seq is None else seq, *_in_lists(self))


_in_lists = attrgetter(*Summary.__struct_fields__[1:])
"""The fields that a summary has too, but for its first, `seq`."""


class CaptureWithBody(Record, frozen=True):
    """A request and its stored body, which is None if it has several parts, cannot be read, or is `damaged`: not what
    was received. `damaged` None: that is not known."""

    capture: Capture
    body: bytes | None
    damaged: bool | None


class PageKey(Record, frozen=True, order=True):
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

    A request counts with its body, headers and target as sent, 1,000 bytes for everything else, 400 more for each
    delivery, and 200 for each attempt with the headers it sent; what targets respond counts by itself. The total
    includes bodies that are being received or deleted. `reached`: the oldest requests are being deleted for the limit,
    or capturing has stopped.
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
    storage limit: what was deleted, and how many bytes are free now. `unsent` counts, by target, the deliveries that
    were deleted before they were sent."""

    at: int
    deleted: dict[int, int]
    freed_bytes: int
    unsent: dict[int, int] = {}


class ClockProblem(Record, frozen=True):
    """Retention waits because the clock is not trusted.

    `ahead` and `behind`: the clock differs by `by_us` from the time the store last saw. `future`: `requests` stored
    requests were received later than the clock says now, the newest by `by_us`. `expired` requests would be deleted
    if the clock were trusted. After `left_us` more of running on this clock, Hookline trusts it by itself.
    """

    kind: Literal["ahead", "behind", "future"]
    by_us: int
    left_us: int
    requests: int = 0
    expired: int = 0


class SentTest(Record, frozen=True):
    """A test request that the user sent to an endpoint.

    `status` is Hookline's response. `place` is the public base URL it was sent through, or without one
    the capture port's `host:port`."""

    status: int
    place: str
    public: bool


Mark = Literal["starred", "noted"]
"""A star or a note can exempt a request from being deleted with all others."""


class MarkedIds(Record, frozen=True):
    """The ids of the requests that have a star, and of those that have a note."""

    starred: frozenset[str] = frozenset()
    noted: frozenset[str] = frozenset()

    @property
    def any(self) -> frozenset[str]:
        """With a star, a note or both."""
        return self.starred | self.noted

    def of(self, marks: Collection[Mark]) -> frozenset[str]:
        """With at least one of these marks."""
        return (self.starred if "starred" in marks else frozenset()) | (self.noted if "noted" in marks else frozenset())


class Deletion(Record, frozen=True):
    """Deleted requests, which can be restored until they are purged: `requests` of them, of `endpoint_ids`.

    `endpoint` is set if it was deleted with them. `kept` counts requests that have a mark and were left.
    """

    number: int
    endpoint_ids: frozenset[int] = frozenset()
    requests: int = 0
    kept: int = 0
    endpoint: Endpoint | None = None
