"""Attempts of deliveries, stored as if they had been made."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from app.core.model import Attempt, AttemptTrigger, Delivery, DeliveryState, FailureKind
from app.db.store import Store
from tests import factories

REFUSED: dict[str, Any] = {"status": None, "failure": FailureKind.CONNECTION, "error": "Nothing listens there."}
STATUS_500: dict[str, Any] = {"status": 500, "failure": FailureKind.STATUS, "error": "The target responded with 500."}


def attempt(delivery: Delivery, number: int = 1, **fields: Any) -> Attempt:
    """A successful one unless `fields` say otherwise."""
    usual: dict[str, Any] = {
        "delivery_id": delivery.id,
        "number": number,
        "trigger": AttemptTrigger.FORWARD if number == 1 else AttemptTrigger.RETRY,
        "started_at": delivery.queued_at + number,
        "ms": 12.0,
        "method": "POST",
        "url": factories.request_url(delivery),
        "headers": (("X-Sent", "1"),),
        "size": 7,
        "http_version": "1.1",
        "status": 200,
    }
    return Attempt(**{**usual, **fields})


async def finish(
    store: Store, delivery: Delivery, state: DeliveryState, *made: Attempt, body: bytes = b"", **fields: Any
) -> Delivery:
    """Store these attempts, the last with `body` as response, and the delivery's state; returns the delivery."""
    last = made[-1]
    changed = {
        "state": state,
        "url": last.url,
        "attempts": last.number,
        "round_attempts": last.number,
        "started_at": last.started_at,
        "ms": last.ms,
        "status": last.status,
        "error": last.error,
    }
    after = replace(delivery, **{**changed, **fields})
    bodies = [b""] * (len(made) - 1) + [body]
    pairs = [(replace(one, response_size=len(data)), data) for one, data in zip(made, bodies, strict=True)]
    await store.deliveries.finish(after, pairs)
    return after
