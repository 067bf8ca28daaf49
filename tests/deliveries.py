"""Deliveries in a real store without anything being sent: requests to be forwarded, and what their attempts gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from app.core.clock import DAY_US, now_us
from app.core.delivery import Attempt, AttemptTrigger, Delivery, FailureKind, RequestEdit
from app.core.ids import uuid7
from app.core.model import Capture, DeliveryState, Endpoint
from app.core.record import Headers
from app.core.replay import ChosenRequests, Replay, ReplaySpec, ReplayState
from app.core.target import TargetDraft
from app.core.text import count_of
from app.db.sqlite.store import Store
from tests import factories

CLIENT_CERTIFICATE = Path(__file__).with_name("client_certificate.pem")
"""With its key."""
OTHER_CLIENT_KEY = Path(__file__).with_name("other_client_key.pem")
URL = "http://127.0.0.1:9/in"
REFUSED = "Nothing is listening at 127.0.0.1:9 (connection refused)."
NOT_SENT = "The path /../admin would leave the forward URL's path."
NO_CONNECTION: dict[str, Any] = {"status": None, "failure": FailureKind.CONNECTION, "error": "Nothing listens there."}
STATUS_500: dict[str, Any] = {"status": 500, "failure": FailureKind.STATUS, "error": "The target responded with 500."}
"""Fields of attempts that failed."""
BODY = b'{"hello":"world"}'


async def queued(store: Store, endpoint: Endpoint, **fields: Any) -> list[Delivery]:
    """Store a request to the endpoint; what is queued for its targets."""
    capture = factories.capture(BODY, endpoint_id=endpoint.id, delivery=DeliveryState.QUEUED, **fields)
    await store.captures.add(capture, BODY, targets=endpoint.targets)
    return await store.deliveries.of_capture(capture.id)


def attempt(delivery: Delivery, number: int | None = None, **fields: Any) -> Attempt:
    """One that failed, as nothing listens there, unless `fields` say otherwise."""
    sent: dict[str, Any] = {
        "ms": 2.5,
        "headers": (("Host", "127.0.0.1:9"), ("X-Dup", "1"), ("x-dup", "2")),
        "size": len(BODY),
        "http_version": "",
        "status": None,
        "failure": FailureKind.CONNECTION,
        "error": REFUSED,
    }
    return factories.attempt(delivery, number, **{**sent, **fields})


async def expired(store: Store, endpoint: Endpoint, number: int = 1) -> list[Delivery]:
    """Deliveries that were deleted before they were sent, because their requests were past retention."""
    long_ago = now_us() - 100 * DAY_US
    made = [(await queued(store, endpoint, received_at=long_ago))[0] for _ in range(number)]
    await store.retention.purge()
    return made


async def finish(
    store: Store, delivery: Delivery, state: DeliveryState, *made: Attempt, body: bytes = b"", **fields: Any
) -> Delivery:
    """Store these attempts, the last with `body` as response, and the delivery's state; returns the delivery."""
    ended = factories.after(delivery, made[-1], state, **fields)
    bodies = [b""] * (len(made) - 1) + [body]
    pairs = [(replace(one, response_size=len(data)), data) for one, data in zip(made, bodies, strict=True)]
    await store.deliveries.finish(ended, pairs)
    return ended


def gave_up(attempts: int) -> str:
    return f"Gave up after {count_of(attempts, 'attempt')}."


async def fail(store: Store, delivery: Delivery, attempts: int = 1) -> Delivery:
    """Let this many attempts fail, and the delivery with them."""
    made = [attempt(delivery, number) for number in range(1, attempts + 1)]
    return await finish(store, delivery, DeliveryState.FAILED, *made, next_step=gave_up(attempts))


async def not_sent(store: Store, delivery: Delivery, error: str = NOT_SENT) -> Delivery:
    """End it: its path would leave the target's."""
    made = attempt(delivery, status=None, failure=FailureKind.NOT_SENT, error=error)
    return await finish(store, delivery, DeliveryState.NOT_SENT, made)


async def fail_replay(store: Store, capture: Capture, edit: RequestEdit | None = None, *, size: int = 0) -> Delivery:
    """Let a replay of the request fail after `size` bytes of its body were sent."""
    spec = ReplaySpec(source=ChosenRequests(ids=(capture.id,)), edit=edit)
    replay = Replay(id=uuid7(now_us()), created_at=now_us(), spec=spec, state=ReplayState.DONE)
    await store.replays.save(replay)
    delivery = Delivery(
        id=uuid7(now_us()),
        capture_id=capture.id,
        endpoint_id=capture.endpoint_id,
        url="http://127.0.0.1:9/",
        state=DeliveryState.QUEUED,
        queued_at=now_us(),
        replay_id=replay.id,
    )
    await store.deliveries.add_replay(delivery)
    made = attempt(delivery, trigger=AttemptTrigger.REPLAY, size=size, **NO_CONNECTION)
    return await finish(store, delivery, DeliveryState.FAILED, made)


async def deliver(store: Store, delivery: Delivery, body: bytes = b"fine") -> Delivery:
    """Let the first attempt succeed; the target responds with 200 and `body`."""
    return await respond(store, delivery, body=body, headers=(("X-A", "\xff"), ("x-a", "2")))


async def respond(
    store: Store,
    delivery: Delivery,
    status: int = 200,
    body: bytes = b"fine",
    headers: Headers = (("Content-Type", "application/json"),),
    *,
    truncated: bool = False,
    ms: float = 2.5,
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
        response_truncated=truncated,
        ms=ms,
    )
    return await finish(store, delivery, DeliveryState.DELIVERED if ok else DeliveryState.FAILED, made, body=body)


async def two_targets(store: Store, **fields: Any) -> Endpoint:
    """An endpoint with the targets `/in` and `/new`."""
    endpoint = await store.endpoints.create(factories.draft(**{"forward_url": URL, **fields}))
    await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/new"))
    found = store.endpoints.by_id(endpoint.id)
    assert found is not None
    return found
