"""Deliveries: a captured request on its way to one target, what it waits for, its attempts, and what came of each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from app.core.model import Capture, DeliveryState
from app.core.record import Headers, Record
from app.core.target import Target, TargetDraft


class AttemptTrigger(StrEnum):
    """Why an attempt was made. RESTART: Hookline had ended during the one before. RESENT: at once and once only,
    because a reused connection closed without a response."""

    FORWARD = "forward"
    RETRY = "retry"
    MANUAL = "manual"
    RESTART = "restart"
    RESENT = "resent"
    REPLAY = "replay"


class Delivery(Record, frozen=True):
    """A capture to be sent to one target, with the result of its last attempt. `seq` numbers deliveries in the order in
    which they were queued; it is 0 until it is stored.

    `url` is the target's URL until the first attempt (in a replay, the URL it requests), then the URL that the last
    attempt requested; see `request_url`. `target_id` is None for a URL that is no target of the endpoint, `replay_id`
    None unless the user replayed the request. `attempts` counts all attempts, `round_attempts` those that use up a
    retry since it was queued or last retried by the user; `round_ms` is how long this round and its waits take so far
    (None before its first attempt). While queued, the next attempt starts at `due_at` (0: now). Failure is data:
    `error` says what went wrong, `next_step` until when it is retried or why it is not, `status` is None without a
    response. `responded`: the sender got this response. `interrupted`: Hookline ended during the last attempt, or,
    before the first one of a replay, during that of the delivery it repeats. `deleted`: its request was deleted before
    it was sent, and so is this delivery, except that lists name it.
    Lists say of one that is queued when the attempt that is being made began (`sending_at`), and which request's
    delivery to the same target was queued first (`behind`; None: this one).
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
    round_ms: float | None = None
    started_at: int | None = None
    ms: float | None = None
    status: int | None = None
    error: str | None = None
    next_step: str | None = None
    responded: bool = False
    interrupted: bool = False
    deleted: bool = False
    sending_at: int | None = None
    behind: str | None = None
    captured_method: str = ""
    captured_target: str = ""
    captured_event: str | None = None
    captured_gist: str | None = None
    seq: int = 0

    def wait_us(self, now_us: int) -> int:
        """How long until it is due, never longer than it was after the last attempt. If that lies in the future, the
        clock was set back since: it is due."""
        return 0 if self.started_at is not None and self.started_at > now_us else max(0, self.due_at - now_us)

    def request_url(self, target: TargetDraft | None) -> str:
        """The URL of the last attempt; before the first one, what it will be as `target`, which it is for, is now."""
        if self.attempts or self.replay_id is not None or target is None:
            return self.url
        return target.request_url(self.captured_target)

    @property
    def next_trigger(self) -> AttemptTrigger:
        """Why its next attempt is made."""
        if self.replay_id is not None:
            return AttemptTrigger.RESTART if self.interrupted else AttemptTrigger.REPLAY
        if self.attempts == 0:
            return AttemptTrigger.FORWARD
        if self.interrupted:
            return AttemptTrigger.RESTART
        return AttemptTrigger.MANUAL if self.round_ms is None else AttemptTrigger.RETRY


class FailureKind(StrEnum):
    """Why an attempt failed, as retry rules see it. CONNECTION: there was none, or it closed without a response.
    NOT_SENT: the request cannot be sent as it is. INTERRUPTED: Hookline ended while it was being sent. CUT_OFF: a
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


def ended_state(failure: FailureKind | None) -> DeliveryState:
    """The state of a delivery whose last attempt ended like this."""
    if failure is None:
        return DeliveryState.DELIVERED
    return DeliveryState.NOT_SENT if failure is FailureKind.NOT_SENT else DeliveryState.FAILED


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
    response body (at most `PART_SIZE`); `response_truncated`: there were more; `response_removed`: its headers and body
    made room for newer responses. `failure` is None if it succeeded.
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
    response_removed: bool = False
    failure: FailureKind | None = None
    error: str | None = None

    @property
    def could_not_connect(self) -> bool:
        """Whether it failed before anything was sent."""
        return self.failure is FailureKind.CONNECTION and not self.headers

    @property
    def ended_at(self) -> int:
        return self.started_at + round(self.ms * 1_000)


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


FAILURES = {
    FailureKind.CONNECTION: "Could not connect",
    FailureKind.TIMEOUT: "Timed out",
    FailureKind.TLS: "TLS failed",
    FailureKind.PROTOCOL: "Invalid response",
    FailureKind.STATUS: "Failed",
    FailureKind.LOOP: "Would loop",
    FailureKind.NOT_SENT: "Not sent",
    FailureKind.INTERRUPTED: "Interrupted",
    FailureKind.CUT_OFF: "Cut off on purpose",
    FailureKind.INTERNAL: "Internal error",
}
RESPONSE_REMOVED = "Its headers and body were removed to make room for newer responses."
TRIGGERS: Mapping[str, str] = {
    AttemptTrigger.FORWARD: "forwarded",
    AttemptTrigger.RETRY: "retry",
    AttemptTrigger.MANUAL: "retried by you",
    AttemptTrigger.RESTART: "after a restart",
    AttemptTrigger.RESENT: "sent again because the open connection had closed",
    AttemptTrigger.REPLAY: "replay",
}


def trigger_text(attempt: Attempt) -> str:
    """Why it was made; empty for a request that was never forwarded."""
    never = attempt.trigger is AttemptTrigger.FORWARD and attempt.failure is FailureKind.NOT_SENT
    return "" if never else TRIGGERS[attempt.trigger]


def result_text(failure: FailureKind | None, status: int | None) -> str:
    """`200`, `500`, `Timed out`: the same for all attempts that ended the same way. Nothing in it comes from a sender
    or a target."""
    if failure in (None, FailureKind.STATUS) and status is not None:
        return str(status)
    return FAILURES[failure or FailureKind.STATUS]


def reason_text(error: str | None, next_step: str | None) -> str:
    """Why a delivery's last attempt failed, and until when it is retried or why it is not; empty if it did not fail."""
    return " ".join(filter(None, (error, next_step)))


class WaitReason(StrEnum):
    """NEXT: for nothing, it is sent as soon as its target has room. ORDER: for an older delivery to the same target."""

    SENDING = "sending"
    OFF = "off"
    PAUSED = "paused"
    ORDER = "order"
    RETRY = "retry"
    RATE = "rate"
    NEXT = "next"


class Wait(Record, frozen=True):
    """`request` is the ID of the one whose delivery goes first."""

    reason: WaitReason
    request: str | None = None

    def text(self, request: str | None = None) -> str:
        """`waits for request 0198…, in order`; `request` names that one in other words."""
        if self.reason is WaitReason.ORDER:
            return f"waits for {request or f'request {self.request}'}, in order"
        return _WAIT_TEXTS[self.reason]


_WAIT_TEXTS = {
    WaitReason.SENDING: "sending",
    WaitReason.OFF: "target is off",
    WaitReason.PAUSED: "target is paused",
    WaitReason.RETRY: "waits for its retry",
    WaitReason.RATE: "rate limit",
    WaitReason.NEXT: "now",
}
_NOT_NOW = {
    WaitReason.SENDING: "It is being sent now.",
    WaitReason.OFF: "Its target is off. What waits is sent once it is on.",
    WaitReason.PAUSED: "Its target is paused. What waits is sent once it is resumed.",
    WaitReason.ORDER: "It waits for an older request, in order: send that one now.",
    WaitReason.RATE: "It is due already, and waits for its target's rate limit.",
    WaitReason.NEXT: "It is due already.",
}


def wait_of(delivery: Delivery, target: Target | None, now_us: int) -> Wait | None:
    """`target` is the one that it is for; None if the delivery has ended."""
    if delivery.state is not DeliveryState.QUEUED:
        return None
    reason = WaitReason.RETRY if delivery.wait_us(now_us) else WaitReason.NEXT
    if delivery.sending_at is not None:
        reason = WaitReason.SENDING
    elif target is not None and not target.active:
        reason = WaitReason.OFF
    elif target is not None and target.paused is not None:
        reason = WaitReason.PAUSED
    elif target is not None and target.parallel is None and delivery.behind is not None:
        return Wait(reason=WaitReason.ORDER, request=delivery.behind)
    elif target is not None and target.rate_limit is not None and reason is WaitReason.NEXT:
        reason = WaitReason.RATE
    return Wait(reason=reason)


def no_retry(delivery: Delivery, target: Target | None) -> str | None:
    """Why the user cannot retry it; None if it can be retried. `target` is the one that it is for, if that is still
    there."""
    if delivery.deleted:
        return "Its request was deleted."
    if delivery.replay_id is not None:
        return "It is part of a replay. Replay the request again instead."
    if delivery.state not in (DeliveryState.FAILED, DeliveryState.NOT_SENT):
        return f"Only a delivery that failed or was not sent can be retried; this one is {delivery.state.value}."
    return "Its target was removed." if target is None else None


def no_send_now(delivery: Delivery, target: Target | None, now_us: int) -> str | None:
    """Why it cannot be made due at once; None if it can."""
    wait = wait_of(delivery, target, now_us)
    return "Only a delivery that waits can be sent now." if wait is None else _NOT_NOW.get(wait.reason)
