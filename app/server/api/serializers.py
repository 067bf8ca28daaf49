"""Makes the API's JSON objects from the program's records, and drafts from patches. Fields of one name have one
value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from app.core.clock import now_us, rfc3339
from app.core.delivery import Attempt, Delivery, wait_of
from app.core.model import Capture, ClockProblem, DeliveryState, Endpoint, Refusal, StorageUse, Summary
from app.core.raw_request import slug_of
from app.core.record import Record
from app.core.target import Target, TargetCounts
from app.core.text import clock_text
from hookline import records

if TYPE_CHECKING:
    from app.db.endpoints import Endpoints

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


def target_out(target: Target, position: int, counts: Mapping[int, TargetCounts]) -> records.Target:
    """`target`, which is at `position` among its endpoint's."""
    own = counts.get(target.id, TargetCounts())
    return made(records.Target, target, position=position, **msgspec.structs.asdict(own))


def stored_out(use: StorageUse, responses: StorageUse) -> records.Storage:
    return made(
        records.Storage,
        use,
        bytes=use.used,
        limit_reached=use.reached,
        response_bytes=responses.used,
        response_limit=responses.limit or 0,
    )


def summary_out(row: Summary, slug: str) -> records.Summary:
    """`slug` is the endpoint's. Field by field: each captured event needs it."""
    kind: Any = records.Summary  # as `made` fills it
    summary: records.Summary = kind(
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
    return summary


def request_out(
    capture: Capture,
    endpoint: Endpoint,
    deliveries: Sequence[Delivery],
    last: Mapping[str, Attempt],
    *,
    damaged: bool | None,
    body: bytes | UnsetType,
) -> records.RequestHead:
    """`last` has the last attempts of the deliveries, by their ids."""
    return made(
        records.RequestHead,
        capture,
        endpoint=endpoint.slug,
        source=_source(capture),
        response=_response(capture),
        damaged=damaged,
        body_base64=body,
        deliveries=tuple(delivery_out(delivery, endpoint, last.get(delivery.id)) for delivery in deliveries),
    )


def delivery_out(delivery: Delivery, endpoint: Endpoint, last: Attempt | None) -> records.Delivery:
    """`last` is the delivery's last attempt."""
    return _delivery(records.Delivery, delivery, endpoint, last)


def full_delivery_out(delivery: Delivery, endpoint: Endpoint, attempts: Sequence[Attempt]) -> records.FullDelivery:
    tries = tuple(made(records.Attempt, attempt) for attempt in attempts)
    return _delivery(records.FullDelivery, delivery, endpoint, attempts[-1] if attempts else None, attempts=tries)


def delivery_summary_out(delivery: Delivery, endpoint: Endpoint | None) -> records.DeliverySummary:
    """`endpoint`: None if it was deleted meanwhile."""
    return _delivery_summary(records.DeliverySummary, delivery, endpoint)


def _delivery(shape: type[S], delivery: Delivery, endpoint: Endpoint, last: Attempt | None, **others: Any) -> S:
    wait = wait_of(delivery, endpoint.target(delivery.target_id), now_us())
    return _delivery_summary(
        shape,
        delivery,
        endpoint,
        waits_for=None if wait is None else made(records.Wait, wait, text=wait.text()),
        response_headers=() if last is None else last.response_headers,
        response_size=0 if last is None else last.response_size,
        response_truncated=last is not None and last.response_truncated,
        **others,
    )


def _delivery_summary(shape: type[S], delivery: Delivery, endpoint: Endpoint | None, **others: Any) -> S:
    target = None if endpoint is None else endpoint.target(delivery.target_id)
    waits = delivery.state is DeliveryState.QUEUED and delivery.wait_us(now_us()) > 0
    return made(
        shape,
        delivery,
        request=delivery.capture_id,
        endpoint="?" if endpoint is None else endpoint.slug,
        method=delivery.captured_method,
        url=delivery.request_url(target),
        target=delivery.target_id,
        replay=delivery.replay_id,
        attempt_count=delivery.attempts,
        due_at=delivery.due_at if waits else None,
        **others,
    )


def refusal_out(refusal: Refusal, endpoints: Endpoints) -> records.Refusal:
    slug = slug_of(refusal.target)
    known = slug if slug and endpoints.by_slug(slug) is not None else None
    return made(records.Refusal, refusal, endpoint=known, source=_source(refusal))


def retention_out(problem: ClockProblem | None) -> records.Retention:
    if problem is None:
        return records.Retention(state="running", reason=None, resumes_in_seconds=None)
    return records.Retention(
        state="waiting",
        reason=" ".join(clock_text(problem)),
        resumes_in_seconds=round(problem.left_us / 1_000_000, 3),
    )


def made(kind: type[S], record: object, /, **others: Any) -> S:
    """The API's record `kind` with the fields of the same name in `record`, and `others`. Times are microseconds here.

    What it holds is for the encoder alone: times as texts, for the API writes all their decimals, headers as pairs, and
    the program's enums in place of their values.
    """
    names, values_of, times = _fields(kind, frozenset(others))
    values = dict(zip(names, values_of(record), strict=True)) | others
    for name in times:
        values[name] = None if values[name] is None else rfc3339(values[name])
    return kind(**values)


@cache
def _fields(
    kind: type[msgspec.Struct], others: frozenset[str]
) -> tuple[Sequence[str], Callable[[object], Iterable[Any]], Sequence[str]]:
    """The fields that a record has too, what reads all of them, and which are times. Cached: each event needs it."""
    names = [name for name in kind.__struct_fields__ if name not in others]
    types = get_type_hints(kind)
    times = [name for name in kind.__struct_fields__ if datetime in (types[name], *get_args(types[name]))]
    # Of a single one, attrgetter makes no tuple.
    read = attrgetter(*names) if len(names) > 1 else lambda record: [getattr(record, name) for name in names]
    return names, read, times


def _response(request: Capture | Summary) -> records.SentResponse:
    return records.SentResponse(status=request.response_status, ms=request.response_ms)


def _source(request: Capture | Refusal) -> records.SourceAddress:
    return records.SourceAddress(address=request.source_address, port=request.source_port)


NESTED = "Absent fields stay."


def patch_of(record: type[Record], about: str, **others: Any) -> Any:
    """A struct with the fields of `record` and `others` (by type), all optional; records within become patches too.
    `about` is its docstring."""
    types = {**get_type_hints(record), **others}
    fields = [(name, _patch_type(kind) | UnsetType, UNSET) for name, kind in types.items()]
    return msgspec.defstruct(
        f"{record.__name__.removesuffix('Draft')}Patch",
        fields,
        bases=(Record,),
        namespace={"__doc__": about},
        frozen=True,
        omit_defaults=True,
    )


def _patch_type(kind: Any) -> Any:
    return patch_of(kind, NESTED) if isinstance(kind, type) and issubclass(kind, Record) else kind
