"""Deletes requests, each call as many as one step may: captures never wait long for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from peewee import SQL, Database

from app.db.counts import LOOSE, RESPONSES, SIZE, Deleted, Removed, Tally, all_uses
from app.db.deliveries.unsent import BY_LIMIT, Unsent, keep_unsent
from app.db.models import CaptureModel
from app.db.queries import newest_received_at, trashed_sql
from app.db.raw_sql import execute, execute_many, json_list, sql_list

LONG_SPAN = 10_000
"""Numbers. Of a shorter span all rows are read, whichever endpoint's they are."""


def delete_selected(
    database: Database, selected: str, values: Mapping[str, Any], *, unsent_error: str | None = None
) -> Deleted:
    """Delete the requests whose numbers the query `selected` gives. What was still to be sent of them is kept with the
    error `unsent_error`, unless that is None."""
    tallies: dict[int, dict[int | None, Tally]] = {}
    for endpoint_id, deletion, total, unread in execute(
        database,
        f"SELECT endpoint_id, {trashed_sql()} AS deletion, count(*), count(*) - sum(is_read) FROM capture"
        f" WHERE seq IN ({selected}) GROUP BY 1, 2",
        values,
    ).fetchall():
        tallies.setdefault(endpoint_id, {})[deletion] = (total, unread)
    if not tallies:
        return Deleted()
    unsent = Unsent() if unsent_error is None else keep_unsent(database, selected, values, unsent_error)
    before = all_uses(database)
    execute(database, f"DELETE FROM capture WHERE seq IN ({selected})", values)
    after = all_uses(database)
    removed = {}
    for endpoint_id, by_deletion in tallies.items():
        seen = by_deletion.get(None, (0, 0))
        removed[endpoint_id] = Removed(
            total=sum(total for total, _ in by_deletion.values()),
            seen=seen,
            trashed={number: tally for number, tally in by_deletion.items() if number is not None},
            last_received_at=newest_received_at(database, endpoint_id) if seen[0] else None,
            bytes=before[endpoint_id] - after[endpoint_id],
        )
    loose, responses = after[LOOSE] - before[LOOSE], before[RESPONSES] - after[RESPONSES]
    return Deleted(removed=removed, loose=loose, responses=responses, unsent=unsent)


def delete_oldest(
    database: Database, limit: int, *, endpoint_id: int, before: int = 2**63 - 1, unsent_error: str | None = None
) -> Deleted:
    """Delete at most `limit` requests of an endpoint, oldest first, that were received before `before`; the rest as
    `delete_selected`."""
    selected = (
        "SELECT seq FROM capture WHERE endpoint_id = :endpoint AND received_at < :before"
        " ORDER BY received_at, id LIMIT :limit"
    )
    values = {"endpoint": endpoint_id, "before": before, "limit": limit}
    return delete_selected(database, selected, values, unsent_error=unsent_error)


def delete_trashed(database: Database, limit: int, *, deletion: int) -> Deleted | None:
    """Delete at most `limit` of the requests that a deletion hides; None when none are left."""
    query = (
        "SELECT endpoint_id, first_seq, last_seq FROM trash WHERE deletion = ? ORDER BY endpoint_id, last_seq LIMIT ?"
    )
    spans = execute(database, query, (deletion, limit)).fetchall()
    seqs: list[int] = []
    done = []
    for endpoint_id, first, last in spans:
        wanted = limit - len(seqs)
        within = _OF_SHORT_SPAN if last - first < LONG_SPAN else _OF_LONG_SPAN
        found = execute(database, within, (endpoint_id, first, last, wanted)).fetchall()
        seqs += (seq for (seq,) in found)
        if len(found) == wanted:
            break  # there may be more of it
        done.append((endpoint_id, last))
    deleted = delete_numbers(database, seqs)
    execute_many(database, "DELETE FROM trash WHERE endpoint_id = ? AND last_seq = ?", done)
    return deleted if spans else None


# The plus keeps SQLite from the other index.
_OF_SHORT_SPAN = "SELECT seq FROM capture WHERE +endpoint_id = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?"
_OF_LONG_SPAN = (
    "SELECT seq FROM capture WHERE endpoint_id = ? AND +seq BETWEEN ? AND ? ORDER BY received_at, id LIMIT ?"
)


def delete_numbers(database: Database, seqs: Sequence[int], *, unsent_error: str | None = None) -> Deleted:
    """As `delete_selected`."""
    values = {"seqs": json_list(seqs)}
    return delete_selected(database, "SELECT value FROM numbers(:seqs)", values, unsent_error=unsent_error)


SENT = (
    "(delivery IN ('n', 'd') OR NOT EXISTS"
    " (SELECT 1 FROM delivery INDEXED BY delivery_capture WHERE capture_seq = capture.seq AND state = 'queued'))"
)
"""The condition for requests that wait for no target."""


def oldest(database: Database, limit: int, *, endpoint_id: int | None, sent: bool = False) -> list[int]:
    """The numbers of the requests that arrived first, of an endpoint or of all (None), whatever time the clock showed.
    With `sent`, only those that wait for no target."""
    condition = SENT if sent else "true"
    if endpoint_id is None:
        query, values = f"SELECT seq FROM capture WHERE {condition} ORDER BY seq LIMIT ?", [limit]
    else:
        # The plus keeps SQLite from scanning all other endpoints' requests: the list's index has the numbers.
        own = f"SELECT seq FROM capture WHERE endpoint_id = ? ORDER BY +seq LIMIT {2**63 - 1}"
        query = f"SELECT capture.seq FROM ({own}) AS own CROSS JOIN capture USING (seq) WHERE {condition} LIMIT ?"
        values = [endpoint_id, limit]
    return [seq for (seq,) in execute(database, query, values).fetchall()]


def make_room(database: Database, limit: int, *, seqs: Sequence[int], needed: int) -> tuple[int, Deleted]:
    """Delete the first of these requests, at most `limit`, until `needed` bytes are freed; how many were examined, and
    what was deleted. What was still to be sent of them is kept."""
    candidates = seqs[:limit]
    sizes = CaptureModel.select(CaptureModel.seq, SQL(SIZE)).where(CaptureModel.seq.in_(sql_list(candidates)))
    selected: list[int] = []
    for seq, size in sizes.order_by(CaptureModel.seq).tuples().execute(database):
        selected.append(seq)
        needed -= size
        if needed <= 0:
            break
    examined = candidates.index(selected[-1]) + 1 if needed <= 0 and selected else len(candidates)
    return examined, delete_numbers(database, selected, unsent_error=BY_LIMIT)


def delete_removed_endpoints(database: Database, limit: int) -> Deleted | None:
    """Delete at most `limit` requests of removed endpoints, and if they had fewer, these endpoints, as many at most;
    None when there are no removed endpoints."""
    rows = execute(database, "SELECT id FROM endpoint WHERE removed = 1 LIMIT ?", (limit,)).fetchall()
    if not rows:
        return None
    ids = json_list([number for (number,) in rows])
    # In no order: to sort the requests of several endpoints, each step would read all of them.
    query = "SELECT seq FROM capture WHERE endpoint_id IN numbers(?) LIMIT ?"
    seqs = [seq for (seq,) in execute(database, query, (ids, limit)).fetchall()]
    deleted = delete_numbers(database, seqs)
    if len(seqs) < limit:
        for table, column in (("trash", "endpoint_id"), ("endpoint", "id")):
            execute(database, f"DELETE FROM {table} WHERE {column} IN numbers(?)", (ids,))
    return deleted
