"""Makes the API's JSON objects from the program's records, and drafts from patches. Fields of one name have one
value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from app.core.clock import now_us, rfc3339
from app.core.clock_problem import ClockProblem
from app.core.delivery import Attempt, Delivery
from app.core.model import Capture, Counts, DeliveryState, Endpoint, Refusal, StorageUse, Summary
from app.core.target import Target, TargetCounts
from app.core.tunnel.tunnel import Tunnel, TunnelState
from app.core.waiting import wait_of
from app.server.api.event_schemas import TunnelChangeOut
from app.server.api.schemas import (
    AttemptOut,
    DeliveryOut,
    DeliverySummaryOut,
    EndpointOut,
    FullDeliveryOut,
    RefusalOut,
    RequestOut,
    ResponseOut,
    RetentionOut,
    SourceAddress,
    StoredOut,
    SummaryOut,
    TargetOut,
    WaitOut,
)

S = TypeVar("S", bound=msgspec.Struct)


def merged(base: S, patch: msgspec.Struct) -> S:
    """`base` with the fields that `patch` sets; nested objects are merged the same way."""
    changes = {}
    for name in patch.__struct_fields__:
        value = getattr(patch, name)
        if value is UNSET:
            continue
        changes[name] = merged(getattr(base, name), value) if isinstance(value, msgspec.Struct) else value
    return msgspec.structs.replace(base, **changes)


def endpoint_out(
    endpoint: Endpoint,
    url: str,
    position: int,
    counts: Counts,
    use: StorageUse,
    *,
    tunnel: TunnelState | None,
    of_targets: Mapping[int, TargetCounts],
) -> EndpointOut:
    """`endpoint`, which is at `position` in the list. `tunnel` is the state of
    the tunnel that `url` begins with, `of_targets` has the counts of its targets."""
    return _from_record(
        EndpointOut,
        endpoint,
        url=url,
        tunnel=tunnel,
        position=position,
        request_count=counts.total,
        unread_count=counts.unread,
        last_request_at=_time(counts.last_received_at),
        stored_bytes=counts.stored_bytes,
        storage_limit_reached=use.reached,
        targets=tuple(target_out(one, place, of_targets) for place, one in enumerate(endpoint.targets, 1)),
    )


def target_out(target: Target, position: int, counts: Mapping[int, TargetCounts]) -> TargetOut:
    """`target`, which is at `position` among its endpoint's."""
    own = counts.get(target.id, TargetCounts())
    return _from_record(
        TargetOut,
        target,
        position=position,
        queued=own.queued,
        failures=own.failures,
        last_error=own.last_error,
        deleted=own.deleted,
    )


def stored_out(use: StorageUse, responses: StorageUse) -> StoredOut:
    return _from_record(
        StoredOut,
        use,
        bytes=use.used,
        limit_reached=use.reached,
        response_bytes=responses.used,
        response_limit=responses.limit or 0,
    )


def summary_out(row: Summary, slug: str) -> SummaryOut:
    """`slug` is the endpoint's. Field by field: each captured event needs it."""
    return SummaryOut(
        id=row.id,
        endpoint=slug,
        received_at=rfc3339(row.received_at),
        method=row.method,
        target=row.target,
        size=row.size,
        content_type=row.content_type,
        complete=row.complete,
        response=_response(row),
        delivery=row.delivery,
        read=row.read,
        starred=row.starred,
        note=row.note,
        provider=row.provider,
        event=row.event,
        gist=row.gist,
    )


def request_out(
    capture: Capture,
    endpoint: Endpoint,
    deliveries: Sequence[Delivery],
    last: Mapping[str, Attempt],
    *,
    damaged: bool | None,
) -> RequestOut:
    """`last` has the last attempts of the deliveries, by their ids."""
    return _from_record(
        RequestOut,
        capture,
        endpoint=endpoint.slug,
        source=_source(capture),
        response=_response(capture),
        damaged=damaged,
        deliveries=tuple(delivery_out(delivery, endpoint, last.get(delivery.id)) for delivery in deliveries),
    )


def delivery_out(delivery: Delivery, endpoint: Endpoint, last: Attempt | None) -> DeliveryOut:
    """`last` is the delivery's last attempt."""
    return _delivery(DeliveryOut, delivery, endpoint, last)


def full_delivery_out(delivery: Delivery, endpoint: Endpoint, attempts: Sequence[Attempt]) -> FullDeliveryOut:
    made = tuple(_from_record(AttemptOut, attempt) for attempt in attempts)
    return _delivery(FullDeliveryOut, delivery, endpoint, attempts[-1] if attempts else None, attempts=made)


def delivery_summary_out(delivery: Delivery, endpoint: Endpoint) -> DeliverySummaryOut:
    return _delivery_summary(DeliverySummaryOut, delivery, endpoint)


def _delivery(shape: type[S], delivery: Delivery, endpoint: Endpoint, last: Attempt | None, **others: Any) -> S:
    return _delivery_summary(
        shape,
        delivery,
        endpoint,
        waits_for=_wait(delivery, endpoint),
        response_headers=() if last is None else last.response_headers,
        response_size=0 if last is None else last.response_size,
        response_truncated=last is not None and last.response_truncated,
        **others,
    )


def _wait(delivery: Delivery, endpoint: Endpoint) -> WaitOut | None:
    wait = wait_of(delivery, endpoint.target(delivery.target_id), now_us())
    return None if wait is None else WaitOut(reason=wait.reason, request=wait.request, text=wait.text())


def _delivery_summary(shape: type[S], delivery: Delivery, endpoint: Endpoint, **others: Any) -> S:
    waits = delivery.state is DeliveryState.QUEUED and delivery.wait_us(now_us()) > 0
    return _from_record(
        shape,
        delivery,
        request=delivery.capture_id,
        endpoint=endpoint.slug,
        method=delivery.captured_method,
        url=delivery.request_url(endpoint.target(delivery.target_id)),
        target=delivery.target_id,
        replay=delivery.replay_id,
        attempt_count=delivery.attempts,
        due_at=_time(delivery.due_at) if waits else None,
        **others,
    )


def refusal_out(refusal: Refusal, endpoint: str | None) -> RefusalOut:
    """`endpoint` is the slug of an endpoint that exists."""
    return _from_record(RefusalOut, refusal, endpoint=endpoint, source=_source(refusal))


def tunnel_change_out(tunnel: Tunnel) -> TunnelChangeOut:
    return _from_record(TunnelChangeOut, tunnel)


def retention_out(problem: ClockProblem | None) -> RetentionOut:
    if problem is None:
        return RetentionOut(state="running", reason=None, resumes_in_seconds=None)
    reason = f"{problem.reason} {problem.advice}"
    return RetentionOut(state="waiting", reason=reason, resumes_in_seconds=round(problem.left_us / 1_000_000, 3))


def _from_record(shape: type[S], record: msgspec.Struct, **others: Any) -> S:
    """A `shape` with the fields of the same name in `record`, times (`…_at`, `at`) as RFC 3339, and `others`."""
    names, values_of, times = _shared_fields(shape, frozenset(others))
    values = dict(zip(names, values_of(record), strict=True))
    for name in times:
        values[name] = _time(values[name])
    return shape(**values, **others)


@cache
def _shared_fields(shape: type[msgspec.Struct], others: frozenset[str]) -> tuple[Sequence[str], Any, Sequence[str]]:
    """The fields that a record has too, what reads all of them, and which are times. Cached: each event needs it."""
    names = [name for name in shape.__struct_fields__ if name not in others]
    assert len(names) > 1  # of a single one, attrgetter makes no tuple
    return names, attrgetter(*names), [name for name in names if name == "at" or name.endswith("_at")]


def _response(request: Capture | Summary) -> ResponseOut:
    return ResponseOut(status=request.response_status, ms=request.response_ms)


def _source(request: Capture | Refusal) -> SourceAddress:
    return SourceAddress(address=request.source_address, port=request.source_port)


def _time(at_us: int | None) -> str | None:
    return None if at_us is None else rfc3339(at_us)
