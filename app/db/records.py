"""Maps rows of the database to the records of `core`, by the names of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeVar, get_origin

import msgspec
from msgspec.structs import replace
from peewee import SQL

from app.core.delivery import Attempt, AttemptTrigger, Delivery, FailureKind, Timing
from app.core.model import Capture, DeliveryState, Endpoint, EndpointDraft, EndpointSettings, Summary
from app.core.record import Headers, Record, types_of
from app.core.target import Target, TargetDraft
from app.db.models import (
    DELIVERY_STATE,
    AttemptModel,
    CaptureModel,
    DeletedDeliveryModel,
    DeliveryModel,
    EndpointModel,
    NoteModel,
    ResponseTimeModel,
    StarModel,
    StoreModel,
    TargetModel,
    decode_headers,
)
from hookline.decoding import convert, decode_json

T = TypeVar("T", bound=Record)
Row = tuple[Any, ...]


class RecordMapping(Generic[T]):
    """Which column fills which field of a record: that of its name in `model`, unless `others` have one, alone or with
    what converts its value. A field without a column keeps its default."""

    def __init__(self, record: type[T], model: type[StoreModel], others: Mapping[str, Any]) -> None:
        kinds, known = types_of(record), {**model._meta.combined, **others}
        named = {name: known[name] for name in kinds if name in known}  # in the record's order, the fastest to fill
        pairs = {
            name: given if isinstance(given, tuple) else (given, _CONVERSIONS.get(kinds[name]))
            for name, given in named.items()
        }
        self._record, self._names = record, tuple(named)
        self._conversions = [(name, convert) for name, (_, convert) in pairs.items() if convert is not None]
        self.columns = tuple(column for column, _ in pairs.values())
        """The columns to select. Rows may have more columns after these."""
        self.width = len(self.columns)

    def position(self, name: str) -> int:
        """The index of this field's column in a row."""
        return self._names.index(name)

    def record(self, row: Row) -> T:
        fields = dict(zip(self._names, row, strict=False))
        for name, conversion in self._conversions:
            fields[name] = conversion(fields[name])
        return self._record(**fields)


def _is_there(value: object) -> bool:
    return value is not None


_CONVERSIONS: dict[Any, Callable[[Any], Any]] = {
    bool: bool,
    Headers: lambda stored: () if stored is None else decode_headers(stored),
    DeliveryState: DeliveryState,
    AttemptTrigger: AttemptTrigger,
    FailureKind: lambda value: None if value is None else FailureKind(value),
}
"""By the type of the field."""

_OF_CAPTURE = {
    "response_ms": ResponseTimeModel.ms,
    "delivery": (CaptureModel.delivery, DELIVERY_STATE.__getitem__),
    "read": CaptureModel.is_read,
    "provider": (CaptureModel.provider, lambda name: name or None),
    "starred": (StarModel.capture, _is_there),
    "note": NoteModel.text,
    "starred_by": StarModel.author,
    "noted_by": NoteModel.author,
}
SUMMARY = RecordMapping(Summary, CaptureModel, _OF_CAPTURE)
CAPTURE = RecordMapping(Capture, CaptureModel, {**_OF_CAPTURE, "identified": (CaptureModel.provider, _is_there)})
_CAPTURED = {f"captured_{name}": getattr(CaptureModel, name) for name in ("method", "target", "event", "gist")}
DELIVERY = RecordMapping(Delivery, DeliveryModel, {"capture_id": CaptureModel.id, **_CAPTURED})
_BEHIND = SQL(
    "CASE WHEN t1.state = 'queued' THEN (SELECT CASE WHEN first.seq < t1.seq THEN first_request.id END"
    " FROM delivery AS first JOIN capture AS first_request ON first_request.seq = first.capture_seq"
    " WHERE first.target_id BETWEEN t1.target_id AND t1.target_id AND first.state = 'queued'"
    " AND first.replay_id IS NULL ORDER BY first.target_id, first.seq LIMIT 1) END"
)
LISTED = RecordMapping(Delivery, DeliveryModel, {"capture_id": CaptureModel.id, **_CAPTURED, "behind": _BEHIND})
"""A delivery as lists have it."""
DELETED = RecordMapping(
    Delivery,
    DeletedDeliveryModel,
    {
        **{name: getattr(DeletedDeliveryModel, name.removeprefix("captured_")) for name in _CAPTURED},
        "state": (SQL(f"'{DeliveryState.NOT_SENT.value}'"), DeliveryState),
        "deleted": (SQL("1"), bool),
    },
)
"""One that was deleted before it was sent."""
_TIMING = RecordMapping(
    Timing, AttemptModel, {name: getattr(AttemptModel, f"{name}_ms") for name in Timing.__struct_fields__}
)
_ATTEMPT = RecordMapping(
    Attempt,
    AttemptModel,
    {
        "delivery_id": DeliveryModel.id,
        "response_removed": ((AttemptModel.response_removed == 1) & AttemptModel.status.is_null(False), bool),
    },
)
ATTEMPT_COLUMNS = (*_ATTEMPT.columns, *_TIMING.columns)


def to_attempt(row: Row) -> Attempt:
    return replace(_ATTEMPT.record(row), timing=_TIMING.record(row[_ATTEMPT.width :]))


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
    # `row.endpoint` would read it from the database
    own = {"id": row.id, "endpoint_id": row.__data__["endpoint"], "paused": row.paused}
    return convert({**msgspec.json.decode(row.settings or "{}"), "url": row.url, "active": row.active, **own}, Target)


def from_target_draft(draft: TargetDraft) -> dict[str, Any]:
    """The columns that a draft sets."""
    others = {name: getattr(draft, name) for name in TargetDraft.__struct_fields__ if name not in _TARGET_COLUMNS}
    settings = msgspec.json.encode(others).decode()
    return {"settings": settings, **{name: getattr(draft, name) for name in _TARGET_COLUMNS}}
