"""Maps rows of the database to the records of `core`, by the names of their fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar, get_origin

import msgspec
from peewee import Field

from app.core.delivery import Attempt, AttemptTrigger, Delivery, FailureKind, Timing
from app.core.fields import types_of
from app.core.model import Capture, DeliveryState, Endpoint, EndpointDraft, EndpointSettings, Summary
from app.core.record import Headers
from app.core.target import PausedBy, Target, TargetDraft
from app.db.encoded_headers import decode_headers
from app.db.sqlite.schema import (
    DELIVERY_STATE,
    AttemptModel,
    CaptureModel,
    DeliveryModel,
    EndpointModel,
    NoteModel,
    ResponseTimeModel,
    StarModel,
    TargetModel,
)
from hookline.decoding import convert, decode_json

T = TypeVar("T", bound=msgspec.Struct)
S = TypeVar("S", bound=msgspec.Struct)
Row = tuple[Any, ...]
Columns = dict[str, Field | tuple[Field, Callable[[Any], Any]]]
"""By the name of the field: the column, or the column and what converts its value."""


class RecordMapping(Generic[T]):
    """Which column fills which field of a record, and what converts its value."""

    def __init__(self, record: type[T], columns: Columns) -> None:
        self._record, self._named = record, columns
        pairs = {name: given if isinstance(given, tuple) else (given, None) for name, given in columns.items()}
        self._names = tuple(columns)
        self._conversions = [(name, convert) for name, (_, convert) in pairs.items() if convert is not None]
        self.columns = tuple(column for column, _ in pairs.values())
        """The columns to select. Rows may have more columns after these."""
        self.width = len(self.columns)

    def extended(self, record: type[S], columns: Columns) -> RecordMapping[S]:
        """A mapping of a record with more fields, whose columns come after these."""
        return RecordMapping(record, {**self._named, **columns})

    def position(self, name: str) -> int:
        """The index of this field's column in a row."""
        return self._names.index(name)

    def record(self, row: Row) -> T:
        fields = dict(zip(self._names, row, strict=False))
        for name, conversion in self._conversions:
            fields[name] = conversion(fields[name])
        return self._record(**fields)


def _or_none(value: str | None) -> str | None:
    return value or None


def _is_there(value: object) -> bool:
    return value is not None


def _headers(stored: bytes | None) -> Headers:
    return () if stored is None else decode_headers(stored)


SUMMARY = RecordMapping(
    Summary,
    {
        "seq": CaptureModel.seq,
        "id": CaptureModel.id,
        "endpoint_id": CaptureModel.endpoint,
        "received_at": CaptureModel.received_at,
        "method": CaptureModel.method,
        "target": CaptureModel.target,
        "content_type": CaptureModel.content_type,
        "size": CaptureModel.size,
        "complete": (CaptureModel.complete, bool),
        "response_status": CaptureModel.response_status,
        "response_ms": ResponseTimeModel.ms,
        "delivery": (CaptureModel.delivery, DELIVERY_STATE.__getitem__),
        "read": (CaptureModel.is_read, bool),
        "provider": (CaptureModel.provider, _or_none),
        "event": CaptureModel.event,
        "starred": (StarModel.capture, _is_there),
        "note": NoteModel.text,
        "gist": CaptureModel.gist,
    },
)
CAPTURE = SUMMARY.extended(
    Capture,
    {
        "http_version": CaptureModel.http_version,
        "headers": (CaptureModel.headers, _headers),
        "sha256": CaptureModel.sha256,
        "source_address": CaptureModel.source_address,
        "source_port": CaptureModel.source_port,
        "scheme": CaptureModel.scheme,
        "delivery_id": CaptureModel.delivery_id,
        "trailers": (CaptureModel.trailers, _headers),
        "identified": (CaptureModel.provider, _is_there),
    },
)
DELIVERY = RecordMapping(
    Delivery,
    {
        "id": DeliveryModel.id,
        "capture_id": CaptureModel.id,
        "endpoint_id": DeliveryModel.endpoint_id,
        "url": DeliveryModel.url,
        "state": (DeliveryModel.state, DeliveryState),
        "queued_at": DeliveryModel.queued_at,
        "target_id": DeliveryModel.target_id,
        "replay_id": DeliveryModel.replay_id,
        "due_at": DeliveryModel.due_at,
        "attempts": DeliveryModel.attempts,
        "round_attempts": DeliveryModel.round_attempts,
        "round_ms": DeliveryModel.round_ms,
        "started_at": DeliveryModel.started_at,
        "ms": DeliveryModel.ms,
        "status": DeliveryModel.status,
        "error": DeliveryModel.error,
        "next_step": DeliveryModel.next_step,
        "responded": (DeliveryModel.responded, bool),
        "interrupted": (DeliveryModel.interrupted, bool),
        "captured_method": CaptureModel.method,
        "captured_target": CaptureModel.target,
        "captured_event": CaptureModel.event,
        "captured_gist": CaptureModel.gist,
    },
)


def to_attempt(row: AttemptModel, delivery_id: str) -> Attempt:
    return Attempt(
        delivery_id=delivery_id,
        number=row.number,
        trigger=AttemptTrigger(row.trigger),
        started_at=row.started_at,
        ms=row.ms,
        method=row.method,
        url=row.url,
        headers=_headers(row.headers),
        size=row.size,
        reused=row.reused,
        timing=Timing(lookup=row.lookup_ms, connect=row.connect_ms, tls=row.tls_ms, first_byte=row.first_byte_ms),
        http_version=row.http_version,
        status=row.status,
        response_headers=_headers(row.response_headers),
        response_size=row.response_size,
        response_truncated=row.response_truncated,
        response_removed=row.response_removed and row.status is not None,
        failure=None if row.failure is None else FailureKind(row.failure),
        error=row.error,
    )


_SETTINGS = types_of(EndpointSettings)
"""Columns of an endpoint, each with a field's value; those of no plain type hold it as JSON."""


def to_endpoint(row: EndpointModel, targets: tuple[Target, ...]) -> Endpoint:
    fields = {
        name: decode_json(getattr(row, name), kind) if _is_json(kind) else getattr(row, name)
        for name, kind in _SETTINGS.items()
    }
    return Endpoint(id=row.id, slug=row.slug, created_at=row.created_at, targets=targets, **fields)


def from_draft(draft: EndpointDraft) -> dict[str, Any]:
    """The columns that a draft sets, except the slug."""
    values = {
        name: msgspec.json.encode(getattr(draft, name)).decode() if _is_json(kind) else getattr(draft, name)
        for name, kind in _SETTINGS.items()
    }
    return values | {"name": draft.name.strip()}


def _is_json(kind: Any) -> bool:
    """Whether a column holds a field of this type as JSON."""
    return kind not in (int, str, bool) and get_origin(kind) is not Literal


_TARGET_COLUMNS = ("url", "active")
"""Columns of a target that hold a field of its draft unchanged; `settings` has the others as JSON."""


def to_target(row: TargetModel) -> Target:
    draft = convert({**msgspec.json.decode(row.settings), "url": row.url, "active": row.active}, TargetDraft)
    paused = None if row.paused is None else PausedBy(row.paused)
    fields = {name: getattr(draft, name) for name in TargetDraft.__struct_fields__}
    endpoint_id: int = row.__data__["endpoint"]  # `row.endpoint` would read it from the database
    return Target(id=row.id, endpoint_id=endpoint_id, paused=paused, **fields)


def from_target_draft(draft: TargetDraft) -> dict[str, Any]:
    """The columns that a draft sets."""
    others = {name: getattr(draft, name) for name in TargetDraft.__struct_fields__ if name not in _TARGET_COLUMNS}
    settings = msgspec.json.encode(others).decode()
    return {"settings": settings, **{name: getattr(draft, name) for name in _TARGET_COLUMNS}}
