"""The responses of two targets to the same requests, read page by page."""

from __future__ import annotations

from collections.abc import Sequence

from peewee import SQL, Database, ModelSelect, Tuple

from app.core.comparison import ComparedResponse, ResponsePair, ResponsePairs
from app.core.delivery import Attempt
from app.core.model import PageKey
from app.db import queries
from app.db.deliveries import delivery_results
from app.db.models import CaptureModel, DeliveryModel
from app.db.part import Part
from app.db.raw_sql import sql_list

EXAMINED_MAX = 1_000
"""Requests looked at in one read: most may have gone to one of the targets only."""
BODIES_MAX = 8 * 1024 * 1024
"""Bytes of response bodies in one page, plus those of one pair."""
_COUNTS = SQL(
    "(state <> 'queued' AND (replay_id IS NULL OR EXISTS (SELECT 1 FROM replay WHERE replay.id = replay_id"
    " AND json_extract(spec, '$.edit') IS NULL"
    " AND coalesce(CAST(json_extract(spec, '$.faults.cut_off') AS DOUBLE PRECISION), 0) = 0)))"
)
"""A replay counts if it sent the request as it was captured; of one that is no longer listed, this is not known."""


class ResponsePairReader(Part):
    """What two targets of an endpoint responded to the same requests."""

    async def page(
        self,
        endpoint_id: int,
        first_target: int,
        second_target: int,
        *,
        before: PageKey | None = None,
        limit: int = 100,
        capture_ids: Sequence[str] | None = None,
    ) -> ResponsePairs:
        """At most `limit` requests older than `before` with ended deliveries to both targets, newest first; fewer if
        their responses are large, or if most requests went to one of the targets only. Only `capture_ids`, unless None.

        A replay's delivery counts like any other, so the newest response is compared, unless the replay changed the
        request or cut connections off on purpose.
        """

        def job(database: Database) -> ResponsePairs:
            with database.atomic():  # one snapshot: nothing is purged between the statements
                rows = _candidates(database, endpoint_id, (first_target, second_target), before, capture_ids)
                return _pairs(database, endpoint_id, rows, limit)

        return await self._readers.run(job)


_Candidate = tuple[PageKey, str | None, str | None]
"""A request, and its latest ended delivery to each of the targets."""


def _candidates(
    database: Database,
    endpoint_id: int,
    targets: tuple[int, int],
    before: PageKey | None,
    capture_ids: Sequence[str] | None,
) -> list[_Candidate]:
    place = (CaptureModel.received_at, CaptureModel.id)
    query = CaptureModel.select(*place, *map(_latest, targets)).where(
        CaptureModel.endpoint == endpoint_id, queries.visible()
    )
    if before is not None:
        query = query.where(Tuple(*place) < (before.received_at, before.id))
    if capture_ids is not None:
        query = query.where(CaptureModel.id.in_(sql_list(capture_ids)))
    query = query.order_by(*(column.desc() for column in place)).limit(EXAMINED_MAX)
    rows = query.tuples().execute(database)
    return [(PageKey(received_at=at, id=name), first, second) for at, name, first, second in rows]


def _latest(target: int) -> ModelSelect[DeliveryModel]:
    """The id of the latest ended delivery to it."""
    query = DeliveryModel.select(DeliveryModel.id).where(DeliveryModel.capture == CaptureModel.seq)
    query = query.where(DeliveryModel.target_id == target, _COUNTS)
    return query.order_by(DeliveryModel.seq.desc()).limit(1)


def _pairs(database: Database, endpoint_id: int, rows: Sequence[_Candidate], limit: int) -> ResponsePairs:
    """The pairs among the candidates, until there are `limit` or their bodies are large."""
    both = [(key, first, second) for key, first, second in rows if first is not None and second is not None][:limit]
    last = delivery_results.last_of(database, [name for _, *names in both for name in names])
    summaries = {one.id: one.summary() for one in queries.by_ids(database, [key.id for key, *_ in both])}
    pairs: list[ResponsePair] = []
    size = 0
    for key, *names in both:
        request, tried = summaries.get(key.id), [last.get(name) for name in names]
        responses = [_response(database, one) for one in tried]
        if request is not None:
            pairs.append(
                ResponsePair(
                    request=request,
                    first_delivery=names[0],
                    second_delivery=names[1],
                    first=responses[0],
                    second=responses[1],
                )
            )
        size += sum(len(one.body) for one in responses)
        if size > BODIES_MAX or len(pairs) == limit:
            return _page(pairs, rows, key)
    return _page(pairs, rows, rows[-1][0] if rows else None)


def _page(pairs: list[ResponsePair], rows: Sequence[_Candidate], end: PageKey | None) -> ResponsePairs:
    """The page that ends with the candidate `end`."""
    examined = next((count for count, row in enumerate(rows, 1) if row[0] == end), 0)
    ended = examined == len(rows) < EXAMINED_MAX
    return ResponsePairs(pairs=tuple(pairs), examined=examined, next=None if ended else end)


def _response(database: Database, attempt: Attempt | None) -> ComparedResponse:
    if attempt is None or attempt.status is None:
        failure = attempt.error if attempt is not None else None
        return ComparedResponse(status=None, failure=failure or "No response")
    if attempt.response_removed:
        return ComparedResponse(status=None, failure="Response removed to make room", complete=False)
    return ComparedResponse(
        status=attempt.status,
        headers=attempt.response_headers,
        body=delivery_results.response_body(database, attempt.delivery_id, attempt.number),
        complete=not attempt.response_truncated,
        ms=attempt.ms,
    )
