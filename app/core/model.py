"""The records that every room exchanges. All are frozen: a change makes a new record.

Times are whole microseconds since 1970-01-01 UTC. Headers are ordered `(name, value)` pairs as they stood on the
wire, each byte kept as one Latin-1 character.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from app.core.forward_target import forwarded_url

Headers = tuple[tuple[str, str], ...]

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")
"""The methods an endpoint captures, from SPEC 4.1."""

WhenFull = Literal["delete_oldest", "stop_capturing"]
"""What happens where a storage limit is reached."""

PART_SIZE = 1024 * 1024
"""Bodies are stored, read and mirrored in parts of this many bytes; only the last part may be shorter."""

REFUSED_RAW_MAX = 64 * 1024
"""Of a refused request at most this many bytes are kept, as they came."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the frozen records."""


class Plan(StrEnum):
    """The account's plan."""

    FREE = "free"
    PRO = "pro"


class MirrorState(StrEnum):
    """What became of a capture's latest delivery."""

    NONE = "none"
    QUEUED = "queued"
    DELIVERED = "delivered"
    FAILED = "failed"


class Reply(Record, frozen=True):
    """What an endpoint answers to a captured request. `body=None` stands for the default JSON body with the id."""

    status: int = 200
    headers: Headers = ()
    body: str | None = None
    delay_ms: int = 0


class Forward(Record, frozen=True):
    """How an endpoint mirrors: `timeout_ms` bounds one whole delivery."""

    timeout_ms: int = 10_000


class Auth(Record, frozen=True):
    """Credentials a sender must show. `name` is the user (basic) or the header's name (header); unused otherwise."""

    kind: Literal["none", "basic", "bearer", "header"] = "none"
    name: str = ""
    secret: str = ""


class EndpointDraft(Record, frozen=True):
    """What a user may set on an endpoint. `slug=None` lets the program make one; it is fixed once created.

    `storage_limit` is in bytes; None: the endpoint has no limit of its own.
    """

    name: str
    description: str = ""
    retention_days: int = 7
    storage_limit: int | None = None
    when_full: WhenFull = "delete_oldest"
    forward_url: str | None = None
    slug: str | None = None
    active: bool = True
    reply: Reply = Reply()
    forward: Forward = Forward()
    auth: Auth = Auth()


class Endpoint(Record, frozen=True):
    """A capture URL and its configuration, as stored."""

    id: int
    slug: str
    name: str
    description: str
    retention_days: int
    storage_limit: int | None
    when_full: WhenFull
    forward_url: str | None
    active: bool
    reply: Reply
    forward: Forward
    auth: Auth
    created_at: int

    def draft(self) -> EndpointDraft:
        """The settable part, to be changed with `msgspec.structs.replace` and given back."""
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
    """A captured request as lists show it: no headers, no body.

    `target` is the raw request target. `reply_ms` is None until the answer has left. `provider` is the id of
    the service that sent it, `event` what it calls what happened; None where nobody knows. `gist` says in a few words
    what came; None while a request that an older version stored was not looked at. `note` is None where there is none.
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
    mirror: MirrorState
    read: bool
    provider: str | None = None
    event: str | None = None
    gist: str | None = None
    starred: bool = False
    note: str | None = None


class Capture(Record, frozen=True):
    """A captured request with its headers, without its body, exactly as it was sent.

    `id` is a UUIDv7 made of `received_at`, so that ids sort by time of arrival. `seq` numbers captures in this store.
    `size` and `sha256` (hex) are of the body as sent: transfer coding removed, content coding kept. `delivery_id` is
    the provider's own name of this request. Unless `identified`, who sent it is found out after it is stored, and its
    `gist` may then say more. `starred` and `note` are the user's, who can only put them on a request that is stored.
    `trailers` came behind a chunked body; they are kept as headers are, and nothing acts on them.
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
    mirror: MirrorState = MirrorState.NONE
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
    """A place in a list of captures, newest first: the row with this time and id."""

    received_at: int
    id: str


class Counts(Record, frozen=True):
    """How many requests an endpoint holds. `last_received_at` is None while it holds none.

    `stored_bytes` is what they take: see `StorageUse`.
    """

    total: int = 0
    unread: int = 0
    last_received_at: int | None = None
    stored_bytes: int = 0


class SenderCount(Record, frozen=True):
    """How many requests a provider sent that tell of this event (None: of none that has a name)."""

    provider: str
    event: str | None
    count: int


class Delivery(Record, frozen=True):
    """One mirroring of a capture to a URL, with its outcome once there is one.

    `url` is the forward URL as it was when the capture came, `captured_target` the capture's raw target.
    Failure is data: `error` says in words what went wrong, `status` is None when no answer came. `response_size` counts
    the bytes of the answer's body kept (at most `PART_SIZE`); `response_truncated` tells that there were more.
    """

    id: str
    capture_id: str
    endpoint_id: int
    url: str
    state: MirrorState
    queued_at: int
    started_at: int | None = None
    ms: float | None = None
    status: int | None = None
    response_headers: Headers = ()
    response_size: int = 0
    response_truncated: bool = False
    error: str | None = None
    captured_target: str = ""

    @property
    def request_url(self) -> str:
        """The URL that the capture is sent to, sub-path and query included."""
        return forwarded_url(self.url, self.captured_target)


class Refusal(Record, frozen=True):
    """A request that was not captured, and why. Kept in memory only.

    `id` counts refusals since the start. `raw_size` bytes of it are kept as they came, at most `REFUSED_RAW_MAX`.
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
    """Bytes on disk, and how many of them the next purge can give back. `expired` counts captures past their days."""

    file_bytes: int
    free_bytes: int
    expired: int


class StorageUse(Record, frozen=True):
    """How much of a storage limit (bytes; None: there is none) is used, in all or by one endpoint.

    A request takes its body, headers and target as they were sent, what its deliveries brought back, 1,000 bytes for
    all that is kept beside them and 400 more for each delivery. In all, bodies that still arrive, or whose deletion is
    under way, count too. `reached`: the oldest requests are being deleted for it, or capturing has stopped.
    """

    used: int
    limit: int | None
    when_full: WhenFull
    reached: bool

    @property
    def capturing_stopped(self) -> bool:
        """Whether senders are answered 503 because of it."""
        return self.reached and self.when_full == "stop_capturing"


class PurgeReport(Record, frozen=True):
    """What one run of retention did: captures deleted by endpoint id, and bytes given back to the file system.

    Or what was deleted for a storage limit, and how many bytes there is room for now.
    """

    at: int
    deleted: dict[int, int]
    freed_bytes: int
