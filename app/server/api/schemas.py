"""The JSON schemas of the local API, which validate what comes in and describe what goes out."""

from __future__ import annotations

from typing import Any, Literal, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from app.core.backup import Backup
from app.core.delivery import AttemptTrigger, FailureKind, Timing
from app.core.model import Auth, DeliveryState, EndpointDraft, Forward, Plan, ResponseSettings, WhenFull
from app.core.record import Headers, Record
from app.core.target import PausedBy, TargetDraft
from app.core.tunnel.tunnel import TunnelState
from app.core.waiting import WaitReason

EndpointIn = EndpointDraft
"""The body of `POST /endpoints` is the draft itself."""


NESTED = "Absent fields stay."


def patch_of(record: type[Record], about: str, **others: Any) -> Any:
    """A struct with the fields of `record` and `others` (by type), all optional; records within become patches too.
    `about` is its docstring."""
    types = {**get_type_hints(record), **others}
    fields = [(name, _patch_type(kind) | UnsetType, UNSET) for name, kind in types.items()]
    return msgspec.defstruct(
        patch_name(record),
        fields,
        bases=(Record,),
        namespace={"__doc__": about},
        frozen=True,
        omit_defaults=True,
    )


def patch_name(record: type[Record]) -> str:
    """`EndpointPatch` for `EndpointDraft`."""
    return f"{record.__name__.removesuffix('Draft')}Patch"


def _patch_type(kind: Any) -> Any:
    return patch_of(kind, NESTED) if isinstance(kind, type) and issubclass(kind, Record) else kind


EndpointPatch = patch_of(
    EndpointDraft,
    "The body of `PATCH /endpoints/{slug}`: absent fields stay; null clears `forward_url` and `storage_limit`."
    " `position` is the place in the list of endpoints, from 1.",
    slug=str,
    position=int,
)


TargetIn = TargetDraft
"""The body of `POST /endpoints/{slug}/targets` is the draft itself."""

TargetPatch = patch_of(
    TargetDraft,
    "The body of `PATCH /endpoints/{slug}/targets/{id}`: absent fields stay; null clears `client_certificate` and"
    " `client_key`. `position` is the place among the endpoint's targets, from 1.",
    position=int,
)


class RequestPatch(Record, frozen=True, omit_defaults=True):
    """The body of `PATCH /requests/{id}`: absent fields stay; `"note": null` removes the note."""

    read: bool | UnsetType = UNSET
    starred: bool | UnsetType = UNSET
    note: str | UnsetType | None = UNSET


class RetryIn(Record, frozen=True):
    """The body of `POST /deliveries/retry`: failed deliveries of this endpoint (a slug) or target (an id), otherwise
    all."""

    endpoint: str | None = None
    target: int | None = None


class RetriedOut(Record, frozen=True):
    """How many deliveries were queued again."""

    queued: int


class TargetOut(TargetDraft, frozen=True, kw_only=True):
    """A target of an endpoint. `position` is its place among them, from 1. `paused` says who paused it, null: it is not
    paused. `queued` counts the deliveries that wait for it, `failures` those that failed in a row; `last_error` says
    why the last one failed or is retried, null while they succeed. `deleted` counts those whose requests a storage
    limit or retention deleted before they were sent, until a day passes without one. Of certificate and key it has only
    the paths."""

    id: int
    position: int
    paused: PausedBy | None
    queued: int
    failures: int
    last_error: str | None
    deleted: int


class EndpointOut(Record, frozen=True):
    """An endpoint with its capture URL and its counts. `tunnel` is the state of the tunnel whose URL `url` begins with,
    null for any other URL: it works only while that is `up`. `position` is its place in the list, from 1.
    `storage_limit_reached`: its oldest requests are being deleted for its limit, or capturing has stopped, as
    `when_full` says."""

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
    created_at: str
    request_count: int
    unread_count: int
    last_request_at: str | None
    stored_bytes: int
    storage_limit_reached: bool
    targets: tuple[TargetOut, ...]


class ResponseOut(Record, frozen=True):
    """The response to the sender; `ms` is null until it is sent."""

    status: int
    ms: float | None


class SourceAddress(Record, frozen=True):
    """Where a request came from."""

    address: str
    port: int


class SummaryOut(Record, frozen=True):
    """A captured request in a list. `provider` and `event` are null where they are unknown. `gist` is a short
    description."""

    id: str
    endpoint: str
    received_at: str
    method: str
    target: str
    size: int
    content_type: str
    complete: bool
    response: ResponseOut
    delivery: DeliveryState
    read: bool
    starred: bool
    note: str | None
    provider: str | None
    event: str | None
    gist: str


class WaitOut(Record, frozen=True):
    """What a queued delivery waits for: `next` is nothing but its turn, `order` the delivery of `request` (an ID) to
    the same target. `text` says it in words."""

    reason: WaitReason
    request: str | None
    text: str


class DeliverySummaryOut(Record, frozen=True):
    """One delivery of a request and the result of its last attempt, without the response; `endpoint` is a slug,
    `method` the captured request's, `url` the requested URL with sub-path and query. `target` and `replay` are ids:
    `target` is null for a URL that is no target, `replay` unless the user replayed the request. `due_at` is when the
    next attempt starts; null: not by a time, or never. `next_step` says until when it is retried, or why it is not.
    `responded`: the sender got this response."""

    id: str
    request: str
    endpoint: str
    method: str
    url: str
    state: DeliveryState
    queued_at: str
    started_at: str | None
    ms: float | None
    status: int | None
    error: str | None
    next_step: str | None
    target: int | None
    replay: str | None
    attempt_count: int
    due_at: str | None
    responded: bool


class DeliveryOut(DeliverySummaryOut, frozen=True):
    """One delivery of a request and the result of its last attempt, with the response's headers. `waits_for` is null
    once it has ended."""

    waits_for: WaitOut | None

    response_headers: Headers
    response_size: int
    response_truncated: bool


class AttemptOut(Record, frozen=True):
    """One try of a delivery: what was sent, how long each part took (milliseconds, null for parts that it did not have
    or reach) and what came back. `failure` is null if it succeeded. `GET /deliveries/{id}/attempts/{number}/body` has
    the first `response_size` bytes of the response's body; `response_truncated`: there were more. `response_removed`:
    headers and body of the response were removed to make room for newer ones."""

    number: int
    trigger: AttemptTrigger
    started_at: str
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
    failure: FailureKind | None
    error: str | None


class FullDeliveryOut(DeliveryOut, frozen=True):
    """A delivery with its attempts, in order."""

    attempts: tuple[AttemptOut, ...]


class RequestOut(SummaryOut, frozen=True):
    """A captured request in full, without its body. `trailers` follow a chunked body; they are not forwarded.
    `damaged`: the stored body does not match `sha256`, which is of the body as it was received; null: they were not
    compared, because the body is larger than 1 MiB or cannot be read. Downloading it compares them."""

    http_version: str
    headers: Headers
    trailers: Headers
    sha256: str
    damaged: bool | None
    source: SourceAddress
    scheme: str
    delivery_id: str | None
    deliveries: tuple[DeliveryOut, ...]


class DifferenceOut(Record, frozen=True):
    """One difference; `text` says it in words. `where` is the header's name, the JSON path, or lines of the body. The
    values are quoted, maybe cut; null: not in that response."""

    part: Literal["status", "headers", "body"]
    where: str
    text: str
    first: str | None
    second: str | None


class ComparedOut(Record, frozen=True):
    """The responses of two targets to a request, and how long each attempt took: `ms_difference` is how much longer the
    second one took. A status and a time are null without a response; `same` is null if neither target
    responded. `more`: there are other differences than these. `notes` say what was not compared."""

    request: SummaryOut
    first_delivery: str
    second_delivery: str
    first_status: int | None
    second_status: int | None
    first_ms: float | None
    second_ms: float | None
    ms_difference: float | None
    same: bool | None
    differences: tuple[DifferenceOut, ...]
    more: bool
    notes: tuple[str, ...]


class RequestPage(Record, frozen=True):
    """A part of a list of requests; `next` is the cursor of what follows, null at its end. `unexamined` counts requests
    that a search leaves out although they may match: what their compressed bodies unpack to is too long."""

    items: tuple[SummaryOut, ...]
    next: str | None
    unexamined: int


class ComparedTargets(Record, frozen=True):
    """The IDs of the targets whose responses are compared."""

    first: int
    second: int


class ComparisonPage(Record, frozen=True):
    """A part of a comparison; `compared` requests were compared for it, of which the `items` are shown."""

    targets: ComparedTargets
    compared: int
    items: tuple[ComparedOut, ...]
    next: str | None


class RefusalOut(Record, frozen=True):
    """A refused request, and why. `endpoint` is the slug of the endpoint it was for, null if there is none. `GET
    /refused/{id}/raw` has its first `raw_size` bytes as received."""

    id: int
    at: str
    source: SourceAddress
    status: int
    reason: str
    method: str
    target: str
    endpoint: str | None
    raw_size: int


class EndpointUsage(Record, frozen=True):
    """How many endpoints there are, and how many the plan allows (null: any number)."""

    held: int
    limit: int | None


class AccountOut(Record, frozen=True):
    """The account of this data folder."""

    plan: Plan
    endpoints: EndpointUsage


class AccountPatch(Record, frozen=True):
    """The body of `PATCH /account`."""

    plan: Plan


class Totals(Record, frozen=True):
    """Requests over all endpoints; `refused` since the program started."""

    requests: int
    unread: int
    refused: int


class RetentionOut(Record, frozen=True):
    """Whether requests are deleted by age. While that waits: why, and after how many seconds of running it resumes."""

    state: Literal["running", "waiting"]
    reason: str | None
    resumes_in_seconds: float | None


class StoredOut(Record, frozen=True):
    """The bytes stored by all endpoints, and their limit (null: none). `limit_reached`: the oldest requests are being
    deleted for it, or capturing has stopped, as `when_full` says. `response_bytes` are those of what targets responded,
    besides, with a limit of their own."""

    bytes: int
    limit: int | None
    when_full: WhenFull
    limit_reached: bool
    capturing_stopped: bool
    response_bytes: int
    response_limit: int


class BackupIn(Record, frozen=True):
    """The body of `POST /backup`. `path` is absolute, on the machine that Hookline runs on. An existing file is
    replaced only with `overwrite`."""

    path: str
    overwrite: bool = False


BackupOut = Backup
"""The response of `/backup` is the record itself."""


class StatusOut(Record, frozen=True):
    """The program's status. `storage` is `ok`, or says why storing fails; `warnings` are other problems,
    such as paused targets. `tunnel` is the state of the tunnel whose URL `base_url` is, null if it is another.

    `database_bytes` is null while the database cannot be read.
    """

    version: str
    capture_url: str | None
    base_url: str
    tunnel: TunnelState | None
    plan: Plan
    endpoints: EndpointUsage
    counts: Totals
    database_bytes: int | None
    stored: StoredOut
    uptime_seconds: float
    pid: int
    storage: str
    warnings: tuple[str, ...]
    retention: RetentionOut
