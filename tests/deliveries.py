"""Deliveries in a real store without anything being sent: requests to be forwarded, and what their attempts gave."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from app.core.model import (
    Attempt,
    AttemptTrigger,
    Delivery,
    DeliveryState,
    Endpoint,
    FailureKind,
    Headers,
    TargetDraft,
)
from app.db.store import Store
from tests import factories

URL = "http://127.0.0.1:9/in"
REFUSED = "Nothing is listening at 127.0.0.1:9 (connection refused)."
BODY = b'{"hello":"world"}'


async def queued(store: Store, endpoint: Endpoint, **fields: Any) -> list[Delivery]:
    """Store a request to the endpoint; what is queued for its targets."""
    capture = factories.capture(
        BODY, endpoint_id=endpoint.id, seq=store.captures.new_seq(), mirror=DeliveryState.QUEUED, **fields
    )
    await store.captures.add(capture, BODY, targets=endpoint.targets)
    return await store.deliveries.of_capture(capture.id)


def attempt(delivery: Delivery, number: int = 1, **fields: Any) -> Attempt:
    """One that failed, as nothing listens there, unless `fields` say otherwise."""
    sent: dict[str, Any] = {
        "trigger": AttemptTrigger.FORWARD if number == 1 else AttemptTrigger.RETRY,
        "started_at": delivery.queued_at + number * 1_000_000,
        "ms": 2.5,
        "method": "POST",
        "url": delivery.url
        if delivery.attempts
        else TargetDraft(url=delivery.url).request_url(delivery.captured_target),
        "headers": (("Host", "127.0.0.1:9"), ("X-Dup", "1"), ("x-dup", "2")),
        "size": len(BODY),
        "failure": FailureKind.CONNECTION,
        "error": REFUSED,
    }
    return Attempt(delivery_id=delivery.id, number=number, **{**sent, **fields})


def after(delivery: Delivery, last: Attempt, state: DeliveryState, **fields: Any) -> Delivery:
    """The delivery after its last attempt."""
    made = {"attempts": last.number, "round_attempts": last.number, "started_at": last.started_at}
    result = {"url": last.url, "ms": last.ms, "status": last.status, "error": last.error}
    return replace(delivery, state=state, **{**made, **result, **fields})


async def fail(store: Store, delivery: Delivery, attempts: int = 1) -> Delivery:
    """Let this many attempts fail, and the delivery with them."""
    made = [attempt(delivery, number) for number in range(1, attempts + 1)]
    failed = after(delivery, made[-1], DeliveryState.FAILED)
    await store.deliveries.finish(failed, [(one, b"") for one in made])
    return failed


async def deliver(store: Store, delivery: Delivery, body: bytes = b"fine") -> Delivery:
    """Let the first attempt succeed; the target responds with 200 and `body`."""
    made = attempt(
        delivery,
        status=200,
        failure=None,
        error=None,
        http_version="1.1",
        response_headers=(("X-A", "\xff"), ("x-a", "2")),
        response_size=len(body),
    )
    delivered = after(delivery, made, DeliveryState.DELIVERED)
    await store.deliveries.finish(delivered, [(made, body)])
    return delivered


async def respond(
    store: Store,
    delivery: Delivery,
    status: int = 200,
    body: bytes = b"fine",
    headers: Headers = (("Content-Type", "application/json"),),
    *,
    truncated: bool = False,
) -> Delivery:
    """Let the target respond like this."""
    ok = status < 400
    made = attempt(
        delivery,
        status=status,
        failure=None if ok else FailureKind.STATUS,
        error=None if ok else f"Response {status}.",
        http_version="1.1",
        response_headers=headers,
        response_size=len(body),
        response_truncated=truncated,
    )
    ended = after(delivery, made, DeliveryState.DELIVERED if ok else DeliveryState.FAILED)
    await store.deliveries.finish(ended, [(made, body)])
    return ended


async def two_targets(store: Store, **fields: Any) -> Endpoint:
    """An endpoint with the targets `/in` and `/new`."""
    endpoint = await store.endpoints.create(factories.draft(**{"forward_url": URL, **fields}))
    await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/new"))
    found = store.endpoints.by_id(endpoint.id)
    assert found is not None
    return found
