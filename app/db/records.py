"""From rows of the database to the records of `core`."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from app.core.model import (
    Auth,
    Capture,
    Delivery,
    Endpoint,
    EndpointDraft,
    Forward,
    MirrorState,
    Reply,
    Summary,
    WhenFull,
)
from app.db.insert import decode_headers
from app.db.schema import (
    MIRROR_STATE,
    CaptureModel,
    DeliveryModel,
    EndpointModel,
    NoteModel,
    ResponseTimeModel,
    StarModel,
)

SUMMARY = (
    CaptureModel.id,
    CaptureModel.endpoint,
    CaptureModel.received_at,
    CaptureModel.method,
    CaptureModel.target,
    CaptureModel.content_type,
    CaptureModel.size,
    CaptureModel.complete,
    CaptureModel.reply_status,
    ResponseTimeModel.ms,
    CaptureModel.mirror,
    CaptureModel.is_read,
    CaptureModel.provider,
    CaptureModel.event,
    StarModel.capture,
    NoteModel.text,
    CaptureModel.gist,
)
"""The columns `to_summary` expects."""

CAPTURE = (
    *SUMMARY,
    CaptureModel.seq,
    CaptureModel.http_version,
    CaptureModel.headers,
    CaptureModel.sha256,
    CaptureModel.source_address,
    CaptureModel.source_port,
    CaptureModel.scheme,
    CaptureModel.delivery_id,
    CaptureModel.trailers,
)
"""The columns `to_capture` expects."""

DELIVERY = (
    DeliveryModel.id,
    CaptureModel.id,
    DeliveryModel.endpoint_id,
    DeliveryModel.url,
    DeliveryModel.state,
    DeliveryModel.queued_at,
    DeliveryModel.started_at,
    DeliveryModel.ms,
    DeliveryModel.status,
    DeliveryModel.response_headers,
    DeliveryModel.response_size,
    DeliveryModel.response_truncated,
    DeliveryModel.error,
    CaptureModel.target,
)
"""The columns `to_delivery` expects."""


def to_summary(row: tuple[Any, ...]) -> Summary:
    """A row of `SUMMARY` columns as a record."""
    return Summary(**_summary_fields(row))


def to_capture(row: tuple[Any, ...]) -> Capture:
    """A row of `CAPTURE` columns as a record."""
    return Capture(
        **_summary_fields(row),
        seq=row[17],
        http_version=row[18],
        headers=decode_headers(row[19]),
        sha256=row[20],
        source_address=row[21],
        source_port=row[22],
        scheme=row[23],
        delivery_id=row[24],
        trailers=() if row[25] is None else decode_headers(row[25]),
        identified=row[12] is not None,
    )


def _summary_fields(row: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "id": row[0],
        "endpoint_id": row[1],
        "received_at": row[2],
        "method": row[3],
        "target": row[4],
        "content_type": row[5],
        "size": row[6],
        "complete": bool(row[7]),
        "reply_status": row[8],
        "reply_ms": row[9],
        "mirror": MIRROR_STATE[row[10]],
        "read": bool(row[11]),
        "provider": row[12] or None,
        "event": row[13],
        "starred": row[14] is not None,
        "note": row[15],
        "gist": row[16],
    }


def to_delivery(row: tuple[Any, ...]) -> Delivery:
    """A row of `DELIVERY` columns as a record."""
    return Delivery(
        id=row[0],
        capture_id=row[1],
        endpoint_id=row[2],
        url=row[3],
        state=MirrorState(row[4]),
        queued_at=row[5],
        started_at=row[6],
        ms=row[7],
        status=row[8],
        response_headers=() if row[9] is None else decode_headers(row[9]),
        response_size=row[10],
        response_truncated=bool(row[11]),
        error=row[12],
        captured_target=row[13],
    )


def to_endpoint(row: EndpointModel) -> Endpoint:
    """A model row as a record."""
    return Endpoint(
        id=row.id,
        slug=row.slug,
        name=row.name,
        description=row.description,
        retention_days=row.retention_days,
        storage_limit=row.storage_limit,
        when_full=cast(WhenFull, row.when_full),
        forward_url=row.forward_url,
        active=row.active,
        reply=msgspec.json.decode(row.reply, type=Reply),
        forward=msgspec.json.decode(row.forward, type=Forward),
        auth=msgspec.json.decode(row.auth, type=Auth),
        created_at=row.created_at,
    )


def from_draft(draft: EndpointDraft) -> dict[str, Any]:
    """The columns a draft sets, all but the slug."""
    return {
        "name": draft.name.strip(),
        "description": draft.description,
        "retention_days": draft.retention_days,
        "storage_limit": draft.storage_limit,
        "when_full": draft.when_full,
        "forward_url": draft.forward_url,
        "active": draft.active,
        "reply": msgspec.json.encode(draft.reply).decode(),
        "forward": msgspec.json.encode(draft.forward).decode(),
        "auth": msgspec.json.encode(draft.auth).decode(),
    }
