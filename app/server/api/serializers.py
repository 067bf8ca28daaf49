"""Makes the API's shapes from the program's records, and drafts from patches."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET

from app.core.clock import rfc3339
from app.core.clock_problem import ClockProblem
from app.core.model import Capture, Counts, Delivery, Endpoint, Refusal, StorageUse, Summary
from app.server.api.schemas import (
    DeliveryOut,
    EndpointOut,
    RefusalOut,
    ReplyOut,
    RequestOut,
    RetentionOut,
    SourceAddress,
    StoredOut,
    SummaryOut,
)

S = TypeVar("S", bound=msgspec.Struct)


def merged(base: S, patch: msgspec.Struct) -> S:
    """`base` with the fields that `patch` sets; objects within are merged the same way."""
    changes = {}
    for name in patch.__struct_fields__:
        value = getattr(patch, name)
        if value is UNSET:
            continue
        changes[name] = merged(getattr(base, name), value) if isinstance(value, msgspec.Struct) else value
    return msgspec.structs.replace(base, **changes)


def endpoint_out(endpoint: Endpoint, url: str, position: int, counts: Counts, use: StorageUse) -> EndpointOut:
    """The shape of `endpoint`, which is at `position` of the list."""
    return EndpointOut(
        slug=endpoint.slug,
        url=url,
        position=position,
        name=endpoint.name,
        description=endpoint.description,
        retention_days=endpoint.retention_days,
        storage_limit=endpoint.storage_limit,
        when_full=endpoint.when_full,
        forward_url=endpoint.forward_url,
        active=endpoint.active,
        reply=endpoint.reply,
        forward=endpoint.forward,
        auth=endpoint.auth,
        created_at=rfc3339(endpoint.created_at),
        request_count=counts.total,
        unread_count=counts.unread,
        last_request_at=_time(counts.last_received_at),
        stored_bytes=counts.stored_bytes,
        storage_limit_reached=use.reached,
    )


def stored_out(use: StorageUse) -> StoredOut:
    """The shape of what all endpoints store."""
    return StoredOut(
        bytes=use.used,
        limit=use.limit,
        when_full=use.when_full,
        limit_reached=use.reached,
        capturing_stopped=use.capturing_stopped,
    )


def summary_out(row: Summary, slug: str) -> SummaryOut:
    """The shape of a list's row."""
    return SummaryOut(
        id=row.id,
        endpoint=slug,
        received_at=rfc3339(row.received_at),
        method=row.method,
        target=row.target,
        size=row.size,
        content_type=row.content_type,
        complete=row.complete,
        reply=ReplyOut(status=row.reply_status, ms=row.reply_ms),
        mirror=row.mirror,
        read=row.read,
        starred=row.starred,
        note=row.note,
        provider=row.provider,
        event=row.event,
        gist=row.gist,
    )


def request_out(capture: Capture, slug: str, deliveries: list[Delivery]) -> RequestOut:
    """The shape of a request in full."""
    return RequestOut(
        id=capture.id,
        endpoint=slug,
        received_at=rfc3339(capture.received_at),
        method=capture.method,
        target=capture.target,
        http_version=capture.http_version,
        headers=capture.headers,
        trailers=capture.trailers,
        size=capture.size,
        sha256=capture.sha256,
        content_type=capture.content_type,
        source=SourceAddress(address=capture.source_address, port=capture.source_port),
        scheme=capture.scheme,
        complete=capture.complete,
        reply=ReplyOut(status=capture.reply_status, ms=capture.reply_ms),
        mirror=capture.mirror,
        read=capture.read,
        starred=capture.starred,
        note=capture.note,
        provider=capture.provider,
        event=capture.event,
        gist=capture.gist,
        delivery_id=capture.delivery_id,
        deliveries=tuple(delivery_out(delivery, slug) for delivery in deliveries),
    )


def delivery_out(delivery: Delivery, slug: str) -> DeliveryOut:
    """The shape of a delivery of a request to the endpoint of this slug."""
    return DeliveryOut(
        id=delivery.id,
        request=delivery.capture_id,
        endpoint=slug,
        url=delivery.request_url,
        state=delivery.state,
        queued_at=rfc3339(delivery.queued_at),
        started_at=_time(delivery.started_at),
        ms=delivery.ms,
        status=delivery.status,
        response_headers=delivery.response_headers,
        response_size=delivery.response_size,
        response_truncated=delivery.response_truncated,
        error=delivery.error,
    )


def refusal_out(refusal: Refusal, endpoint: str | None) -> RefusalOut:
    """The shape of a refused request to the endpoint of this slug."""
    return RefusalOut(
        id=refusal.id,
        at=rfc3339(refusal.at),
        source=SourceAddress(address=refusal.source_address, port=refusal.source_port),
        status=refusal.status,
        reason=refusal.reason,
        method=refusal.method,
        target=refusal.target,
        endpoint=endpoint,
        raw_size=refusal.raw_size,
    )


def retention_out(problem: ClockProblem | None) -> RetentionOut:
    """The shape of what retention waits for."""
    if problem is None:
        return RetentionOut(state="running", reason=None, resumes_in_seconds=None)
    reason = f"{problem.reason} {problem.advice}"
    return RetentionOut(state="waiting", reason=reason, resumes_in_seconds=round(problem.left_us / 1_000_000, 3))


def _time(at_us: int | None) -> str | None:
    return None if at_us is None else rfc3339(at_us)
