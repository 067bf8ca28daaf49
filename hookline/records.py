"""What the local API sends, as frozen records: the server encodes them and describes them in its OpenAPI document, and
clients decode them.

Times are aware datetimes in UTC. Fields that only a newer program has are left out.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from hookline.headers import Headers

Plan = Literal["free", "pro"]
DeliveryState = Annotated[
    Literal["none", "queued", "delivered", "not_sent", "failed"],
    Meta(description="The state of a delivery, or of a request's worst one. `not_sent`: it cannot be sent as it is."),
]
ReplayState = Annotated[
    Literal["queued", "running", "paused", "done", "cancelled", "interrupted"],
    Meta(description="`queued`: another replay runs before it. `interrupted`: Hookline ended before it did."),
]
TunnelState = Annotated[
    Literal["off", "starting", "checking", "up", "unreachable", "restarting", "failed", "stopping"],
    Meta(
        description="`starting`: its program runs and has no public URL yet. `checking`: it has one, through which"
        " nothing has arrived yet. `up`: the last probe arrived. `unreachable`: it did not. `restarting`: the program"
        " ended by itself and is started again at `restart_at`. `failed`: it does not start again by itself."
        " `stopping`: its program is being ended."
    ),
]
# Of these a newer program may have more.
AttemptTrigger = Annotated[
    str,
    Meta(
        description="Why an attempt was made. `restart`: Hookline had ended during the one before. `resent`: at once"
        " and once only, because a reused connection closed without a response.",
        extra_json_schema={"enum": ["forward", "manual", "replay", "resent", "restart", "retry"]},
    ),
]
FailureKind = Annotated[
    str,
    Meta(
        description="Why an attempt failed, as retry rules see it. `connection`: there was none, or it closed without a"
        " response. `not_sent`: the request cannot be sent as it is. `interrupted`: Hookline ended while it was being"
        " sent. `cut_off`: a replay closed the connection on purpose.",
        extra_json_schema={
            "enum": [
                *("connection", "cut_off", "internal", "interrupted", "loop"),
                *("not_sent", "protocol", "status", "timeout", "tls"),
            ]
        },
    ),
]
WaitReason = Annotated[
    str,
    Meta(
        description="`next`: for nothing, it is sent as soon as its target has room. `order`: for an older delivery to"
        " the same target.",
        extra_json_schema={"enum": ["next", "off", "order", "paused", "rate", "retry", "sending"]},
    ),
]
WhenFull = Literal["delete_oldest", "stop_capturing"]
EventType = Literal["captured", "delivered", "endpoint", "refused", "replay", "tunnel"]
"""`captured`: a request was stored (`Summary`). `delivered`: an attempt of a delivery ended, or it was queued again
(`DeliverySummary`). `endpoint`: an endpoint was created, changed or deleted (`EndpointChange`). `refused`: a request
was refused (`Refusal`). `replay`: a replay began, went on or ended (`Replay`). `tunnel`: the tunnel's state, program,
URL or problem changed (`TunnelChange`)."""


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
    """A URL that an endpoint's requests are forwarded to. `position` is its place among the endpoint's targets, from 1.
    `paused` says who paused it, None: it is not paused. `queued` counts the deliveries that wait for it, `failures`
    those that failed in a row; `last_error` says why the last one failed or is retried, None while they succeed.
    `deleted` counts those whose requests a storage limit or retention deleted before they were sent, until a day passes
    without one. `parallel` None: one after the other, in order. Of certificate and key it has only the paths."""

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
    """An endpoint with its capture URL and its counts. `tunnel` is the state of the tunnel whose URL `url` begins with,
    None for any other URL: it works only while that is `up`. `position` is its place in the list, from 1.
    `storage_limit_reached`: its oldest requests are being deleted for its limit, or capturing has stopped, as
    `when_full` says."""

    slug: str
    url: str
    tunnel: TunnelState | None
    position: int
    name: str
    description: str
    tags: tuple[str, ...]
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
    """A captured request as in lists. `endpoint` is a slug, `target` as sent, with `/catch/SLUG` and query. `delivery`
    is the state of its deliveries. `provider` and `event` are None where they are unknown. `gist` is a short
    description."""

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
    """One try of a delivery: what was sent, how long each part took (milliseconds, None for parts that it did not have
    or reach) and what came back. `failure` is None if it succeeded. `GET /deliveries/{id}/attempts/{number}/body` has
    the first `response_size` bytes of the response's body; `response_truncated`: there were more. `response_removed`:
    headers and body of the response were removed to make room for newer ones."""

    number: int
    trigger: AttemptTrigger
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
    failure: FailureKind | None
    error: str | None


class DeliverySummary(Record, frozen=True):
    """One delivery of a request and the result of its last attempt, without the response. `request` is the request's
    ID, `endpoint` a slug, `method` the captured request's, `url` the requested URL with sub-path and query. `target`
    and `replay` are ids: `target` is None for a URL that is no target, `replay` unless the user replayed the request.
    `due_at` is when the next attempt starts; None: not by a time, or never. `next_step` says until when it is retried,
    or why it is not. `responded`: the sender got this response."""

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
    """What a queued delivery waits for: `next` is nothing but its turn, `order` the delivery of `request` (an ID) to
    the same target. `text` says it in words."""

    reason: WaitReason
    request: str | None
    text: str


class Delivery(DeliverySummary, frozen=True):
    """One delivery of a request and the result of its last attempt, with the response's headers. `response_size` bytes
    of its body are kept. `waits_for` is None once it has ended."""

    waits_for: Wait | None
    response_headers: Headers
    response_size: int
    response_truncated: bool


class FullDelivery(Delivery, frozen=True):
    """A delivery with its attempts, in order."""

    attempts: tuple[Attempt, ...]


class ReplayedRequest(FullDelivery, frozen=True):
    """The delivery to the first target; `deliveries` has those to all of them, in order, this one included."""

    deliveries: tuple[FullDelivery, ...]


class RequestHead(Summary, frozen=True):
    """A captured request in full. `trailers` follow a chunked body; they are not forwarded.
    `damaged`: the stored body does not match `sha256`, which is of the body as it was received; None: they were not
    compared, because the body is larger than 1 MiB or cannot be read. Downloading it compares them.
    `starred_by` and `noted_by` are users of a team's store.
    `body_base64` is there if it was asked for, unless the body is larger than 64 KiB, damaged or cannot be read."""

    http_version: str
    headers: Headers
    trailers: Headers
    sha256: str
    source: SourceAddress
    scheme: str
    delivery_id: str | None
    deliveries: tuple[Delivery, ...]
    damaged: bool | None
    starred_by: str | None = None
    noted_by: str | None = None
    body_base64: bytes | UnsetType = UNSET


class Request(RequestHead, frozen=True):
    """A captured request with its body. `body` is as sent; `decoded_body` is without its content coding (gzip and
    others), None if it cannot be decoded. `get` raises ProblemError for a damaged body."""

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


class ReplayTarget(Record, frozen=True):
    """What came of a replay's deliveries to one target so far. `url` is empty for requests without a target. `failed`
    leaves out `not_sent`, which a rule kept back. `per_second` and the times count what was sent since the replay was
    last resumed after an end of Hookline; the times are None without any."""

    url: str
    delivered: int
    failed: int
    not_sent: int
    per_second: float
    median_ms: float | None
    p95_ms: float | None


class ReplayProgress(Record, frozen=True):
    """Counts so far. `total` is None until the requests are counted. `sent` counts requests, the `duplicated` included.
    `delivered` and `failed` count deliveries: a request to three targets has three. `incomplete` counts requests that
    were left out because they are not complete, `repeated` deliveries that were sent again because Hookline ended
    during the first time. `rate` is requests per second at present. `targets` has the deliveries by target."""

    total: int | None
    sent: int
    delivered: int
    failed: int
    dropped: int
    duplicated: int
    incomplete: int
    repeated: int
    rate: float
    targets: tuple[ReplayTarget, ...]


class Edit(Record, frozen=True):
    """What a replay sends in place of what was captured; None: as captured."""

    url: str | None
    method: str | None
    headers: Headers | None
    body_base64: bytes | None


class Replay(Record, frozen=True):
    """A replay: what it was asked to do, and how far it is.

    `id_count` is the number of requests it was given by their IDs; None if they were selected by `endpoint` (None: all
    endpoints), `q`, `after` and `before`. `endpoint` is None too if the endpoint was deleted. `problem` says why it
    ended early or what it could not send; `summary` is its report as text once it has ended.
    """

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
    """A refused request, and why. `endpoint` is the slug of the endpoint it was for, None if there is none. `GET
    /refused/{id}/raw` has its first `raw_size` bytes as received."""

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
    """An endpoint that was created, changed or deleted, as it is now or was last. `tunnel` as in `Endpoint`."""

    change: Literal["created", "changed", "deleted"]
    slug: str
    url: str
    tunnel: TunnelState | None
    name: str
    active: bool


class TunnelChange(Record, frozen=True):
    """The tunnel as it is now; see `Tunnel`, which has more."""

    state: TunnelState
    program: str | None
    url: str | None
    problem: str | None


class Gap(Record, frozen=True):
    """The event `gap`: events of these types may be missing here, and cannot be sent any more."""

    types: tuple[EventType, ...]
    reason: str


class Position(Record, frozen=True):
    """The first event of a stream, `position`: what follows is newer than this."""

    position: str


class Difference(Record, frozen=True):
    """One difference; `text` says it in words. `where` is the header's name, the JSON path, or lines of the body. The
    values are quoted, maybe cut; None: not in that response."""

    part: Literal["status", "headers", "body"]
    where: str
    text: str
    first: str | None
    second: str | None


class ComparedRequest(Record, frozen=True):
    """The responses of two targets to a request, and how long each attempt took: `ms_difference` is how much longer the
    second one took. A status and a time are None without a response; `same` is None if neither target responded.
    `more`: there are other differences than these. `notes` say what was not compared."""

    request: Summary
    first_delivery: str
    second_delivery: str
    first_status: int | None
    second_status: int | None
    first_ms: float | None
    second_ms: float | None
    ms_difference: float | None
    same: bool | None
    differences: tuple[Difference, ...]
    more: bool
    notes: tuple[str, ...]


class Probe(Record, frozen=True):
    """A request of Hookline's own through the public URL: how long it took, or why it did not come back."""

    at: datetime
    ms: float | None
    problem: str | None


class OutdatedUrl(Record, frozen=True):
    """A capture URL that was copied and no longer works; the provider needs `new_url`, None while there is none."""

    endpoint: str
    url: str
    new_url: str | None
    copied_at: datetime


class Tunnel(Record, frozen=True):
    """The tunnel. It is `checking` from when it has a URL until a first probe arrives through that, `up` while the last
    one arrived, else `unreachable`. `url` is its public URL in these states, and the last one while it is
    `restarting` at `restart_at`.

    `problem` says what went wrong last, and what to do; that it is unreachable, once two probes in a row have failed.
    `output` are the last lines of the program.
    """

    state: TunnelState
    program: str | None
    url: str | None
    started_at: datetime | None
    up_since: datetime | None
    restart_at: datetime | None
    restarts: int
    problem: str | None
    probe: Probe | None
    outdated: tuple[OutdatedUrl, ...]
    output: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why it is not up, "" if that is not known."""
        return self.problem or (self.probe.problem if self.probe is not None else None) or ""


class TunnelOption(Record, frozen=True):
    """An option of a program. `value` is None if none is saved, and for a secret; `is_set` says whether there is one.
    Its text must match `pattern`, or be one of `choices`."""

    name: str
    label: str
    help: str
    required: bool
    secret: bool
    default: str
    placeholder: str
    pattern: str
    choices: tuple[str, ...]
    value: str | None
    is_set: bool


class TunnelProgram(Record, frozen=True):
    """A tunnel program. `path` is None if it is not installed; `install` says how to. `fixed_url`: with
    the options that are saved, its URL is the same the next time."""

    id: str
    name: str
    summary: str
    website: str
    path: str | None
    install: str
    fixed_url: bool
    warnings: tuple[str, ...]
    options: tuple[TunnelOption, ...]


class TunnelUrl(Record, frozen=True):
    """A public URL that the tunnel had; `until` is None while it has it."""

    url: str
    program: str
    since: datetime
    until: datetime | None


class Retried(Record, frozen=True):
    """How many deliveries were queued again."""

    queued: int


class Backup(Record, frozen=True):
    """The last backup of this run of the program. `problem` is set once it has failed; `size` is the file's, 0 until
    it is done; `total_bytes` is 0 until it is known. `damaged_bodies` do not match their SHA-256: they were damaged
    before."""

    path: str
    state: Literal["running", "done", "failed", "cancelled"]
    step: Literal["copying", "checking"]
    done_bytes: int
    total_bytes: int
    size: int
    damaged_bodies: int
    problem: str | None


class EndpointUsage(Record, frozen=True):
    """How many endpoints there are, and how many the plan allows (None: any number)."""

    held: int
    limit: int | None


class Account(Record, frozen=True):
    """The account of this data folder."""

    plan: Plan
    endpoints: EndpointUsage


class Node(Record, frozen=True):
    """A program that runs on the store, which is a team's if there are several. `current`: it is the one that answers.
    `seen_at` is when it last said that it lives. `jobs` are what it does for all of them, such as `target 3`: sending
    to that target."""

    number: int
    version: str
    started_at: datetime
    seen_at: datetime
    current: bool
    jobs: tuple[str, ...]


class Totals(Record, frozen=True):
    """Requests over all endpoints; `refused` since the program started."""

    requests: int
    unread: int
    refused: int


class Storage(Record, frozen=True):
    """The bytes stored by all endpoints, and their limit (None: none). `limit_reached`: the oldest requests are being
    deleted for it, or capturing has stopped, as `when_full` says. `response_bytes` are those of what targets responded,
    besides, with a limit of their own."""

    bytes: int
    limit: int | None
    when_full: WhenFull
    limit_reached: bool
    capturing_stopped: bool
    response_bytes: int
    response_limit: int


class Retention(Record, frozen=True):
    """Whether requests are deleted by age. While that waits: why, and after how many seconds of running it resumes."""

    state: Literal["running", "waiting"]
    reason: str | None
    resumes_in_seconds: float | None


class Status(Record, frozen=True):
    """The program's status. `storage` is `ok`, or says why storing fails; `warnings` are other problems, such as paused
    targets. `tunnel` is the state of the tunnel whose URL `base_url` is, None if it is another.

    `store` is the file's path, or the address of a team's store without its password. `captures` says whether this
    program captures, or another node does. `database_bytes` is None while the database cannot be read.
    """

    version: str
    store: str
    captures: bool
    capture_url: str | None
    base_url: str
    tunnel: TunnelState | None
    plan: Plan
    endpoints: EndpointUsage
    counts: Totals
    database_bytes: int | None
    stored: Storage
    uptime_seconds: float
    pid: int
    storage: str
    warnings: tuple[str, ...]
    retention: Retention
