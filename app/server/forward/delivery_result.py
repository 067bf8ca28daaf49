"""What becomes of a delivery after an attempt."""

from __future__ import annotations

import random

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.delivery import Attempt, AttemptTrigger, Delivery, FailureKind, ended_state
from app.core.model import DeliveryState
from app.core.retry import next_attempt, next_step, uses_retry
from app.core.target import Target

Made = list[tuple[Attempt, bytes]]
"""The attempts made at once, one or two, each with the body of its response."""


def after(delivery: Delivery, made: Made, target: Target) -> Delivery:
    """The delivery after its attempt: queued for its next attempt, or ended."""
    last = made[-1][0]
    round_attempts = delivery.round_attempts + (1 if uses_retry(last) or len(made) > 1 else 0)
    round_ms = delivery.round_ms or 0.0
    for attempt, _ in made:
        round_ms += attempt.ms
    state, wait_us, step = DeliveryState.DELIVERED, None, None
    if last.failure is not None:
        wait_us = next_attempt(
            target.retry,
            last,
            round_attempts=round_attempts,
            round_ms=round_ms,
            random=random.random,
        )
        state = ended_state(last.failure) if wait_us is None else DeliveryState.QUEUED
        step = next_step(target.retry, last, round_attempts=round_attempts, retried=wait_us is not None)
    return replace(
        delivery,
        url=last.url,
        state=state,
        due_at=0 if wait_us is None else last.ended_at + wait_us,
        attempts=last.number,
        round_attempts=round_attempts,
        round_ms=round_ms + (wait_us or 0) / 1_000,
        started_at=last.started_at,
        ms=last.ms,
        status=last.status,
        error=last.error,
        next_step=step,
        interrupted=False,
    )


def internal_failure(delivery: Delivery, target: Target, method: str, error: Exception) -> Attempt:
    """An attempt that failed by an error in this program, so that it is visible and does not block the next."""
    return Attempt(
        delivery_id=delivery.id,
        number=delivery.attempts + 1,
        trigger=delivery.next_trigger if delivery.attempts else AttemptTrigger.FORWARD,
        started_at=now_us(),
        ms=0.0,
        method=method,
        url=delivery.request_url(target),
        failure=FailureKind.INTERNAL,
        error=f"Hookline could not forward this request because of an internal error: {type(error).__name__}: {error}",
    )
