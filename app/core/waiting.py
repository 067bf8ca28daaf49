"""What a queued delivery waits for, and why it cannot be sent now: for window, API and command line."""

from __future__ import annotations

from enum import StrEnum

from app.core.delivery import Delivery
from app.core.model import DeliveryState
from app.core.record import Record
from app.core.target import Target


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
        return _TEXTS[self.reason]


_TEXTS = {
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


def no_send_now(delivery: Delivery, target: Target | None, now_us: int) -> str | None:
    """Why it cannot be made due at once; None if it can."""
    wait = wait_of(delivery, target, now_us)
    return "Only a delivery that waits can be sent now." if wait is None else _NOT_NOW.get(wait.reason)
