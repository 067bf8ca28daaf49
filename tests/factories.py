"""Sample records with sensible defaults: a test states only what matters to it."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import Any

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.delivery import Attempt, AttemptTrigger, Delivery, FailureKind, QueuedDelivery
from app.core.events import RequestsUpdated
from app.core.ids import uuid7
from app.core.model import Capture, DeliveryState, EndpointDraft
from app.core.target import Target, TargetDraft

_numbers = count(1)


def draft(**fields: Any) -> EndpointDraft:
    """A valid endpoint draft with a name of its own."""
    return EndpointDraft(**{"name": f"Endpoint {next(_numbers)}", **fields})


def capture(body: bytes = b'{"hello":"world"}', **fields: Any) -> Capture:
    """A complete POST of `body`; its `id` is fresh unless given."""
    received_at = fields.pop("received_at", None) or now_us()
    defaults: dict[str, Any] = {
        "id": uuid7(received_at),
        "endpoint_id": 1,
        "received_at": received_at,
        "method": "POST",
        "target": "/catch/sample/orders?x=1",
        "http_version": "1.1",
        "headers": (("Host", "127.0.0.1:8787"), ("Content-Type", "application/json"), ("x-dup", "1"), ("X-Dup", "2")),
        "content_type": "application/json",
        "size": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "source_address": "127.0.0.1",
        "source_port": 50_000,
        "scheme": "http",
        "complete": True,
        "response_status": 200,
        "delivery": DeliveryState.NONE,
    }
    return Capture(**{**defaults, **fields})


def updated(capture_id: str, **fields: bool | str | None) -> RequestsUpdated:
    """What the store tells once these fields of a request's summary have changed."""
    return RequestsUpdated(endpoint_ids=(1,), changes={capture_id: fields})


def request_url(delivery: Delivery) -> str:
    """What the next attempt requests if its target is set as new ones are."""
    return delivery.request_url(TargetDraft(url=delivery.url))


def attempt(delivery: Delivery, number: int | None = None, **fields: Any) -> Attempt:
    """The next attempt of a delivery, or the one of this number, which got a 200 response unless told otherwise."""
    following = delivery.attempts + 1
    defaults: dict[str, Any] = {
        "delivery_id": delivery.id,
        "number": number or following,
        "trigger": delivery.next_trigger if number in (None, following) else AttemptTrigger.RETRY,
        "started_at": delivery.queued_at + (number or following),
        "ms": 12.0,
        "method": "POST",
        "url": request_url(delivery),
        "headers": (("X-Sent", "1"),),
        "size": 7,
        "http_version": "1.1",
        "status": 200,
    }
    return Attempt(**{**defaults, **fields})


def after(delivery: Delivery, last: Attempt, state: DeliveryState, due_at: int = 0, **fields: Any) -> Delivery:
    """The delivery after its last attempt, in `state`."""
    made: dict[str, Any] = {
        "url": last.url,
        "state": state,
        "due_at": due_at,
        "attempts": last.number,
        "round_attempts": delivery.round_attempts + last.number - delivery.attempts,
        "round_ms": (delivery.round_ms or 0) + last.ms,
        "started_at": last.started_at,
        "ms": last.ms,
        "status": last.status,
        "error": last.error,
        "next_step": None,
        "interrupted": last.failure is FailureKind.INTERRUPTED,
    }
    return replace(delivery, **{**made, **fields})


def target(url: str, **fields: Any) -> Target:
    """A stored target of endpoint 1."""
    return Target(**{"id": next(_numbers), "endpoint_id": 1, "url": url, **fields})


def queued(
    body: bytes | None = b'{"hello":"world"}', url: str = "http://target.invalid", **fields: Any
) -> QueuedDelivery:
    """A queued delivery of a capture with `fields`; `body=None` needs a `size`."""
    made = capture(body or b"", **fields)
    delivery = Delivery(
        id=uuid7(made.received_at),
        capture_id=made.id,
        endpoint_id=made.endpoint_id,
        url=url,
        state=DeliveryState.QUEUED,
        queued_at=made.received_at,
    )
    return QueuedDelivery(delivery=delivery, capture=made, body=body)
