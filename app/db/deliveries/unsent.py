"""Deliveries that are deleted with their request before they were sent: counted by target, and the newest kept.

A delivery's row goes with its request. What is kept of it is in a table of its own, so that neither the deliveries that
are sent nor their indexes carry it. Only what a storage limit or retention deletes is counted, not what the user does.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from peewee import Database, ModelSelect, fn

from app.core.clock import DAY_US, now_us
from app.core.delivery import DeliveryFilter
from app.core.model import DeliveryState
from app.core.text import count_of
from app.db import queries
from app.db.models import DeletedDeliveryModel, encode_headers
from app.db.raw_sql import execute, sql_list

log = logging.getLogger(__name__)

KEPT = 1_000
"""How many deleted deliveries are kept, of all endpoints together."""
TARGET_MAX = 1_000
"""Characters of a request's target that are kept."""
LOG_S = 60.0

BY_LIMIT = "Request deleted before it was sent: a storage limit was reached."
BY_AGE = "Request deleted before it was sent: its retention ended."

_UNSENT = (
    "FROM delivery INDEXED BY delivery_capture WHERE capture_seq IN numbers(:requests) AND state = 'queued'"
    " AND sending_at IS NULL AND target_id IS NOT NULL AND replay_id IS NULL AND (attempts = 0 OR NOT EXISTS"
    " (SELECT 1 FROM attempt WHERE delivery_seq = delivery.seq"
    f" AND (length(headers) > {len(encode_headers(()))} OR failure = 'interrupted')))"
)
"""Not those of which an attempt was written, or may have been: only then it has headers, or was interrupted."""
_COUNT = f"SELECT target_id, count(*), max(seq) {_UNSENT} GROUP BY target_id"
_KEEP = f"""INSERT INTO deleted_delivery
    SELECT sent.seq, sent.id, capture.id, sent.endpoint_id, target_id, url, queued_at, attempts, started_at, :error,
        method, substr(target, 1, {TARGET_MAX}), event, gist
    FROM (SELECT * {_UNSENT} ORDER BY seq DESC LIMIT {KEPT}) AS sent JOIN capture ON capture.seq = sent.capture_seq"""
_FORGET = f"""DELETE FROM deleted_delivery
    WHERE seq <= (SELECT seq FROM deleted_delivery ORDER BY seq DESC LIMIT 1 OFFSET {KEPT})"""
_ADD = f"""UPDATE target SET deleted_at = :at,
        deleted = CASE WHEN deleted_at > :at - {DAY_US} THEN deleted ELSE 0 END + :count
    WHERE id = :target"""

Unsent = dict[int, int]
"""How many deliveries were deleted before they were sent, by target."""


def keep_unsent(database: Database, requests: str, error: str) -> Unsent:
    """Count and keep what is still to be sent of these requests, a list of numbers as JSON, which are about to be
    deleted; `error` says why. Runs on the writer's thread."""
    counts = execute(database, _COUNT, {"requests": requests}).fetchall()
    if counts:
        execute(database, _KEEP, {"requests": requests, "error": error})
        execute(database, _FORGET)
        at = now_us()
        for target_id, count, _ in counts:
            execute(database, _ADD, {"at": at, "count": count, "target": target_id})
    return {target_id: count for target_id, count, _ in counts}


def deleted(which: DeliveryFilter, *columns: Any) -> ModelSelect[DeletedDeliveryModel] | None:
    """These columns of those that are kept; None when no deleted delivery can meet the filter."""
    if which.state not in (None, DeliveryState.NOT_SENT) or which.replay or which.replay_id is not None:
        return None
    query = narrowed(DeletedDeliveryModel.select(*columns), DeletedDeliveryModel, which)
    query = query.where(queries.of_visible_endpoint())
    if which.capture_ids is not None:
        query = query.where(DeletedDeliveryModel.capture_id.in_(sql_list(which.capture_ids)))
    return query


def count_deleted(database: Database, which: DeliveryFilter) -> int:
    """How many of those that are kept."""
    query = deleted(which, fn.COUNT(DeletedDeliveryModel.seq))
    return 0 if query is None else int(query.scalar(database))


def narrowed(query: ModelSelect[Any], model: Any, which: DeliveryFilter) -> ModelSelect[Any]:
    """By the conditions on columns that deliveries have, and those that were deleted."""
    if which.endpoint_id is not None:
        query = query.where(model.endpoint_id == which.endpoint_id)
    if which.target_id is not None:
        query = query.where(model.target_id == which.target_id)
    if which.delivery_ids is not None:
        query = query.where(model.id.in_(sql_list(which.delivery_ids)))
    if which.beginning is not None:
        query = query.where((model.id >= which.beginning) & (model.id < which.beginning + "g"))
    return query


class UnsentReport:
    """What was deleted since it was last taken, and logged: at once, then at most once a minute."""

    def __init__(self) -> None:
        self._fresh: Counter[int] = Counter()
        self._unlogged: Counter[int] = Counter()
        self._next = 0.0

    def add(self, unsent: Mapping[int, int]) -> None:
        self._fresh.update(unsent)
        self._unlogged.update(unsent)

    def take(self) -> Unsent:
        """What was added since the last call."""
        if self._unlogged and time.monotonic() >= self._next:
            self.log()
        taken, self._fresh = dict(self._fresh), Counter()
        return taken

    def log(self) -> None:
        for target_id, count in self._unlogged.items():
            log.warning("%s deleted before being sent to target %d", count_of(count, "request"), target_id)
        self._unlogged.clear()
        self._next = time.monotonic() + LOG_S
