"""Deletes requests in steps so small that captures never wait long for one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from peewee import SQL, Field, SqliteDatabase, fn

from app.core.record import Record
from app.db.counts import LOOSE, RESPONSES, SIZE, Freed, Removed, all_uses, freed_since
from app.db.raw_sql import raw, sql_list
from app.db.schema import CaptureModel, EndpointModel
from app.db.unsent import BY_LIMIT, Unsent, keep_unsent, keep_unsent_of


class Deleted(Record, frozen=True):
    """Deleted requests by endpoint: the totals and the ids."""

    removed: dict[int, Removed]
    ids: dict[int, list[str]]


class MadeRoom(Record, frozen=True):
    """The totals of deleted requests by endpoint, how many of the candidates were examined, and what was to be sent of
    the deleted ones."""

    removed: dict[int, Removed]
    examined: int
    unsent: Unsent


def delete_oldest(
    database: SqliteDatabase,
    limit: int,
    *,
    endpoint_id: int,
    before: int | None = None,
    upto_id: str | None = None,
    kept: str = "[]",
    unsent_error: str | None = None,
) -> Removed:
    """Delete at most `limit` requests of an endpoint, oldest first, that were received before `before`, have ids up to
    `upto_id`, and are not in the JSON list `kept`. What was still to be sent of them is kept with the error
    `unsent_error`, unless that is None."""
    connection = raw(database)
    selected = (
        "FROM capture WHERE endpoint_id = :endpoint AND received_at < :before AND id <= :upto"
        " AND id NOT IN (SELECT value FROM json_each(:kept)) ORDER BY received_at, id LIMIT :limit"
    )
    values = {
        "endpoint": endpoint_id,
        "before": 2**63 - 1 if before is None else before,
        "upto": "~" if upto_id is None else upto_id,
        "kept": kept,
        "limit": limit,
    }
    total, unread = connection.execute(
        f"SELECT count(*), count(*) - coalesce(sum(is_read), 0) FROM (SELECT is_read {selected})", values
    ).fetchone()
    freed, unsent = Freed(bytes=0), Unsent()
    if total:
        if unsent_error is not None:
            unsent = keep_unsent(connection, f"SELECT seq {selected}", values, unsent_error)
        uses = all_uses(database)
        connection.execute(f"DELETE FROM capture WHERE seq IN (SELECT seq {selected})", values)
        freed = freed_since(database, uses, endpoint_id)
    last = newest_received_at(database, endpoint_id)
    return Removed(total=total, unread=unread, last_received_at=last, freed=freed, unsent=unsent)


_SENT = (
    "(delivery IN ('n', 'd') OR NOT EXISTS"
    " (SELECT 1 FROM delivery INDEXED BY delivery_capture WHERE capture_seq = capture.seq AND state = 'queued'))"
)


def oldest(database: SqliteDatabase, limit: int, *, endpoint_id: int | None, sent: bool = False) -> list[int]:
    """The numbers of the requests that arrived first, of an endpoint or of all (None), whatever time the clock showed.
    With `sent`, only those that wait for no target."""
    condition = _SENT if sent else "1"
    if endpoint_id is None:
        query, values = f"SELECT seq FROM capture WHERE {condition} ORDER BY seq LIMIT ?", [limit]
    else:
        # The plus keeps SQLite from scanning all other endpoints' requests: the list's index has the numbers.
        own = "SELECT seq FROM capture WHERE endpoint_id = ? ORDER BY +seq LIMIT -1"
        query = f"SELECT capture.seq FROM ({own}) AS own CROSS JOIN capture USING (seq) WHERE {condition} LIMIT ?"
        values = [endpoint_id, limit]
    return [seq for (seq,) in raw(database).execute(query, values).fetchall()]


def make_room(database: SqliteDatabase, limit: int, *, seqs: Sequence[int], needed: int) -> MadeRoom:
    """Delete the first of these requests, at most `limit`, until `needed` bytes are freed. What was still to be sent of
    them is kept."""
    candidates = seqs[:limit]
    sizes = CaptureModel.select(CaptureModel.seq, SQL(SIZE)).where(CaptureModel.seq.in_(sql_list(candidates)))
    selected: list[int] = []
    for seq, size in sizes.order_by(CaptureModel.seq).tuples().execute(database):
        selected.append(seq)
        needed -= size
        if needed <= 0:
            break
    examined = candidates.index(selected[-1]) + 1 if needed <= 0 and selected else len(candidates)
    unsent = keep_unsent_of(raw(database), selected, BY_LIMIT)
    deleted = _delete(database, CaptureModel.seq, selected)
    return MadeRoom(removed=deleted.removed, examined=examined, unsent=unsent)


def delete_ids(database: SqliteDatabase, ids: Iterable[str]) -> Deleted:
    return _delete(database, CaptureModel.id, list(ids))


def _delete(database: SqliteDatabase, column: Field, values: Sequence[str] | Sequence[int]) -> Deleted:
    before = all_uses(database)
    deletion = CaptureModel.delete().where(column.in_(sql_list(values)))
    rows = deletion.returning(CaptureModel.endpoint, CaptureModel.id, CaptureModel.is_read).tuples().execute(database)
    rows = list(rows)
    after = all_uses(database)
    loose, responses = after[LOOSE] - before[LOOSE], before[RESPONSES] - after[RESPONSES]
    deleted: dict[int, list[str]] = {}
    unread: dict[int, int] = {}
    for endpoint_id, capture_id, is_read in rows:
        deleted.setdefault(endpoint_id, []).append(capture_id)
        unread[endpoint_id] = unread.get(endpoint_id, 0) + (not is_read)
    removed = {}
    for endpoint_id, names in deleted.items():
        removed[endpoint_id] = Removed(
            total=len(names),
            unread=unread[endpoint_id],
            last_received_at=newest_received_at(database, endpoint_id),
            freed=Freed(bytes=before[endpoint_id] - after[endpoint_id], loose=loose, responses=responses),
        )
        loose = responses = 0  # counted once; the endpoint does not matter
    return Deleted(removed=removed, ids=deleted)


def newest_received_at(database: SqliteDatabase, endpoint_id: int) -> int | None:
    query = CaptureModel.select(fn.MAX(CaptureModel.received_at)).where(CaptureModel.endpoint == endpoint_id)
    ((found,),) = query.tuples().execute(database)
    return cast("int | None", found)


def delete_removed_endpoint(database: SqliteDatabase, limit: int) -> Freed | None:
    """Delete at most `limit` requests of a removed endpoint, and the endpoint if it had fewer; None when there is no
    removed endpoint."""
    removed = EndpointModel.select(EndpointModel.id).where(EndpointModel.removed).limit(1)
    number = next((found for (found,) in removed.tuples().execute(database)), None)
    if number is None:
        return None
    deleted = delete_oldest(database, limit, endpoint_id=number)
    if deleted.total < limit:
        EndpointModel.delete().where(EndpointModel.id == number).execute(database)
    return deleted.freed
