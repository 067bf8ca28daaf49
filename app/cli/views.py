"""The local API's JSON objects, as far as commands read them. Times are RFC 3339 texts."""

from __future__ import annotations

from typing import Any, TypedDict


class EndpointResponseView(TypedDict):
    """What senders get; `body` None stands for the default one."""

    status: int
    headers: list[list[str]]
    body: str | None
    delay_ms: int
    from_target: bool
    wait_ms: int


class ForwardView(TypedDict):
    """How requests are forwarded."""

    timeout_ms: int


class RetryView(TypedDict):
    """When a failed attempt is repeated: at most `retries` times, on these results."""

    retries: int
    on: list[str]
    first_delay_ms: int
    longest_delay_ms: int
    total_ms: int


class TargetView(TypedDict):
    """A target of an endpoint. `paused` says who paused it, None: it is not; `queued` deliveries wait for
    it, `failures` failed in a row, and the requests of `deleted` were deleted before they were sent."""

    id: int
    position: int
    url: str
    active: bool
    paused: str | None
    queued: int
    failures: int
    last_error: str | None
    deleted: int
    append_path: bool
    keep_query: bool
    set_headers: list[list[str]]
    add_headers: list[list[str]]
    remove_headers: list[str]
    attempt_header: str | None
    host: str
    timeout_ms: int
    verify_tls: bool
    client_certificate: str | None
    client_key: str | None
    ca_certificate: str | None
    follow_redirects: bool
    retry: RetryView
    parallel: int | None
    rate_limit: float | None
    pause_after: int
    auto_resume: bool


class AuthView(TypedDict):
    """Credentials senders must show."""

    kind: str
    name: str
    secret: str


class EndpointView(TypedDict):
    """An endpoint. `last_request_at` is None while it holds no request; `tunnel` is the state of the tunnel whose URL
    `url` begins with."""

    slug: str
    tunnel: str | None
    position: int
    name: str
    description: str
    retention_days: int
    storage_limit: int | None
    when_full: str
    stored_bytes: int
    storage_limit_reached: bool
    forward_url: str | None
    active: bool
    response: EndpointResponseView
    forward: ForwardView
    auth: AuthView
    url: str
    request_count: int
    unread_count: int
    last_request_at: str | None
    targets: list[TargetView]


class ResponseView(TypedDict):
    """The response to the sender; `ms` is None until it is sent."""

    status: int
    ms: float | None


class SourceView(TypedDict):
    """Where a request came from."""

    address: str
    port: int


class SummaryView(TypedDict):
    """A request in a list; `endpoint` is a slug."""

    id: str
    endpoint: str
    received_at: str
    method: str
    target: str
    content_type: str
    size: int
    complete: bool
    response: ResponseView
    delivery: str
    starred: bool
    note: str | None
    provider: str | None
    event: str | None
    gist: str


class WaitView(TypedDict):
    """What a queued delivery waits for."""

    reason: str
    request: str | None
    text: str


class DeliveryView(TypedDict):
    """One delivery of a request; `error` says why its last attempt failed, `next_step` until when it is
    retried or why it is not, `due_at` when the next one starts. Events have no `waits_for`."""

    id: str
    request: str
    endpoint: str
    queued_at: str
    method: str
    url: str
    state: str
    status: int | None
    ms: float | None
    error: str | None
    next_step: str | None
    target: int | None
    replay: str | None
    attempt_count: int
    due_at: str | None
    responded: bool
    waits_for: WaitView | None


class DifferenceView(TypedDict):
    """One difference between two responses; `text` says it in words."""

    part: str
    where: str
    text: str
    first: str | None
    second: str | None


class ComparedView(TypedDict):
    """What two targets responded to a request; `same` is None if neither responded."""

    request: SummaryView
    first_delivery: str
    second_delivery: str
    first_status: int | None
    second_status: int | None
    first_ms: float | None
    second_ms: float | None
    ms_difference: float | None
    same: bool | None
    differences: list[DifferenceView]
    more: bool
    notes: list[str]


class TimingView(TypedDict):
    """Milliseconds of the parts of an attempt, None for parts it did not have or reach."""

    lookup: float | None
    connect: float | None
    tls: float | None
    first_byte: float | None


class AttemptView(TypedDict):
    """One try of a delivery. `failure` is None if it succeeded."""

    number: int
    trigger: str
    started_at: str
    ms: float
    method: str
    url: str
    headers: list[tuple[str, str]]
    size: int
    reused: bool
    timing: TimingView
    http_version: str
    status: int | None
    response_headers: list[tuple[str, str]]
    response_size: int
    response_truncated: bool
    response_removed: bool
    failure: str | None
    error: str | None


class FullDeliveryView(DeliveryView):
    """A delivery with its attempts, in order."""

    attempts: list[AttemptView]


class RetriedView(TypedDict):
    """How many deliveries were queued again."""

    queued: int


class ReplayProgressView(TypedDict):
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


class ReplayView(TypedDict):
    """A replay. `id_count` is None for one that selects requests of `endpoint` (None: of all) by `q` and times;
    `summary` is its report once it has ended."""

    id: str
    created_at: str
    state: str
    progress: ReplayProgressView
    problem: str | None
    summary: str | None
    id_count: int | None
    endpoint: str | None
    q: str
    url: str | None
    to_endpoint: str | None


class FullReplayView(ReplayView):
    """A replay with the ids it was given."""

    ids: list[str]


class RequestView(SummaryView):
    """A request in full, without its body. Headers as sent, bytes as Latin-1."""

    http_version: str
    headers: list[tuple[str, str]]
    trailers: list[tuple[str, str]]
    sha256: str
    damaged: bool | None
    scheme: str
    source: SourceView
    delivery_id: str | None
    deliveries: list[DeliveryView]


SettingsView = dict[str, Any]
"""Settings by key."""


EndpointFields = dict[str, Any]
"""Settable fields of an endpoint, only those given."""


TargetFields = dict[str, Any]
"""Settable fields of a target, only those given."""


ReplayFields = dict[str, Any]
"""Fields of a replay to start, only those given."""


RequestMarks = dict[str, Any]
"""Changeable fields of a request, only those given: `read`, `starred`, `note`."""


class RetentionView(TypedDict):
    """Whether requests are deleted by age: `running`, or `waiting` for a reason in words."""

    state: str
    reason: str | None
    resumes_in_seconds: float | None


class RefusalView(TypedDict):
    """A request that was not captured, and why."""

    id: int
    at: str
    source: SourceView
    status: int
    reason: str
    method: str
    target: str
    endpoint: str | None


class EndpointUsageView(TypedDict):
    """How many endpoints there are, and how many the plan allows (None: any number)."""

    held: int
    limit: int | None


class AccountView(TypedDict):
    """The plan and what it allows."""

    plan: str
    endpoints: EndpointUsageView


class TotalsView(TypedDict):
    """Requests over all endpoints; `refused` since the program started."""

    requests: int
    unread: int
    refused: int


class StorageView(TypedDict):
    """The bytes that all requests take, and their limit (None: none); besides, what targets responded."""

    bytes: int
    limit: int | None
    limit_reached: bool
    capturing_stopped: bool
    response_bytes: int
    response_limit: int


class StatusView(AccountView):
    """The program's status; `capture_url` is None while nothing is captured. `storage` is `ok`, or says why storing
    fails; `warnings` are other problems. `database_bytes` is None while the database cannot be read."""

    version: str
    capture_url: str | None
    base_url: str
    tunnel: str | None
    retention: RetentionView
    counts: TotalsView
    database_bytes: int | None
    stored: StorageView
    uptime_seconds: float
    pid: int
    storage: str
    warnings: list[str]


class BackupView(TypedDict):
    """A backup. `problem` is set once it has failed; `size` is 0 until it is done."""

    path: str
    state: str
    step: str
    done_bytes: int
    total_bytes: int
    size: int
    damaged_bodies: int
    problem: str | None
