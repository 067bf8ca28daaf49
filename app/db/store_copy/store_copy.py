"""Copies a store into a new one, of the same engine or the other.

All numbers stay, so the order does. Requests are copied many in a transaction, with all that belongs to them; then the
whole copy is compared with the original. Until that has ended the copy says of itself that it is unfinished, and how
far it has come: no Hookline starts on it, and another run goes on there. If the original was used in between, that run
starts over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from peewee import Database, fn

from app.core.backup import Report
from app.core.errors import HooklineError, StoreCopyError
from app.core.model import Plan
from app.core.store_copy import CopiedStore
from app.db.counts import all_uses
from app.db.deliveries.replays import interrupt
from app.db.endpoints import account_of, unfinished_copy
from app.db.models import (
    ALWAYS_FILLED,
    MODELS,
    AccountModel,
    CaptureModel,
    ClockModel,
    DeletedDeliveryModel,
    DeliveryModel,
    EndpointModel,
    MisdatedModel,
    ReplayModel,
    StoreModel,
    TargetModel,
    TunnelCopyModel,
    TunnelUrlModel,
    UnfinishedCopyModel,
)
from app.db.raw_sql import execute, is_sqlite, newest_number, use_numbers
from app.db.store_copy.comparison import DifferenceError, compare_next
from app.db.store_copy.place import StorePlace, place_of
from app.db.store_copy.requests import copy_next
from app.db.store_copy.rows import insert, number_of, select, table_of

_OF_SEEN = "endpoint_id IN (SELECT id FROM endpoint WHERE trashed IS NULL)"
WHOLE: Mapping[type[StoreModel], str] = {
    EndpointModel: "trashed IS NULL",
    TargetModel: _OF_SEEN,
    DeletedDeliveryModel: _OF_SEEN,
    ReplayModel: "true",
    TunnelUrlModel: "true",
    TunnelCopyModel: _OF_SEEN,
    ClockModel: "true",
    MisdatedModel: "true",
}
"""The tables that are copied at once, and which rows of them; a table comes after those it refers to."""
_END_TUNNELS = """UPDATE tunnel_url
    SET until = (SELECT CASE WHEN since > seen_at THEN since ELSE seen_at END FROM clock) WHERE until IS NULL"""


def copy_store(source: str | Path, target: str | Path, report: Report) -> CopiedStore:
    """Copy the store at `source` to `target`: addresses of teams' stores, or data folders. `report` gets the number of
    requests done, and of all; what it raises ends this run, and the next one goes on there.

    HooklineError when it is impossible, or was interrupted.
    """
    original, copy = place_of(source, read_only=True), place_of(target, read_only=False)
    if copy.name == original.name:
        raise StoreCopyError(f"{copy.name} is both stores. Name another to copy to; nothing was copied.")
    try:
        with original:
            copy.require_room(all_uses(original.database))
            with copy:
                _begin(original, copy)
                total = _count(original.database)
                _copy_requests(original, copy, lambda done: report("copying", done, total))
                found = _compare(original, copy, lambda done: report("checking", done, total))
                _finish(original.database, copy.database)
                return found
    except HooklineError:
        raise
    except Exception as error:
        reason = original.trouble(error) or copy.trouble(error)
        if reason is None:
            raise
        raise StoreCopyError(
            f"Copying {original.name} to {copy.name} stopped. {reason} To go on, run the same command again."
        ) from error


# -- the beginning ---------------------------------------------------------------------------------------------------


def _begin(original: StorePlace, copy: StorePlace) -> None:
    """Begin the copy, unless it has begun."""
    source = account_of(original.database)
    if unfinished_copy(original.database) is not None:
        raise StoreCopyError(f"{original.name} is itself an unfinished copy. Finish that first; nothing was copied.")
    begun = None if copy.is_new else unfinished_copy(copy.database)
    if begun is None and not copy.is_new and _is_used(copy.database):
        raise StoreCopyError(
            f"{copy.name} has been used: only a store that is new can become a copy. Name an empty database or a folder"
            " without Hookline's data; nothing was copied."
        )
    if begun is not None and begun.source != source.instance_id:
        raise StoreCopyError(
            f"{copy.name} is an unfinished copy of another store, {begun.name}. Finish that, or name an empty database"
            " or a folder without Hookline's data; nothing was copied."
        )
    copy.create()
    if begun is not None and begun.used != original.used():
        copy.empty()
        begun = None
    if begun is None:
        with original.database.atomic(), copy.database.atomic():
            UnfinishedCopyModel.insert(
                source=source.instance_id, name=original.name, used=original.used(), reached=0
            ).execute(copy.database)
            _copy_whole(original.database, copy.database, source.plan)


def _copy_whole(source: Database, target: Database, plan: str) -> None:
    if plan == Plan.PRO.value:
        AccountModel.update(plan=plan).execute(target)
    ClockModel.delete().execute(target)
    for model, condition in WHOLE.items():
        insert(target, model, select(source, model, condition))
    # What the last Hookline was at when it was killed; the next one would not know that it is over.
    interrupt(target, ReplayModel.select())
    execute(target, _END_TUNNELS)


def _is_used(database: Database) -> bool:
    """Also if nothing is left: numbers of requests are never used again."""
    return newest_number(database, "capture") > 0 or any(
        model.select().exists(database) for model in MODELS if model not in ALWAYS_FILLED
    )


def _count(database: Database) -> int:
    """About how many requests there are: some may be in the trash."""
    if is_sqlite(database):
        return CaptureModel.select().count(database)
    return int(execute(database, "SELECT coalesce(sum(total), 0) FROM storage_use").fetchone()[0])


# -- requests --------------------------------------------------------------------------------------------------------


def _copy_requests(original: StorePlace, copy: StorePlace, report: Callable[[int], None]) -> None:
    begun = unfinished_copy(copy.database)
    assert begun is not None
    reached, done = begun.reached, _count(copy.database)
    while True:
        report(done)
        with original.database.atomic(), copy.database.atomic():
            seqs = copy_next(original.database, copy, reached)
            if not seqs:
                return
            reached, done = seqs[-1], done + len(seqs)
            UnfinishedCopyModel.update(reached=reached).execute(copy.database)


def _compare(original: StorePlace, copy: StorePlace, report: Callable[[int], None]) -> CopiedStore:
    after = done = 0
    damaged: list[str] = []
    while True:
        report(done)
        try:
            with original.database.atomic(), copy.database.atomic():
                compared, more = compare_next(original.database, copy.database, after)
        except DifferenceError as error:
            UnfinishedCopyModel.update(used="").execute(copy.database)
            raise StoreCopyError(f"{error} Run the same command again, which starts over.") from error
        if not compared:
            break
        after, done = compared[-1].seq, done + len(compared)
        damaged += more
    return CopiedStore(
        endpoints=EndpointModel.select().count(copy.database),
        requests=done,
        queued=DeliveryModel.select().where(DeliveryModel.state == "queued").count(copy.database),
        damaged=tuple(damaged),
    )


# -- the end ---------------------------------------------------------------------------------------------------------


def _finish(source: Database, target: Database) -> None:
    """From now on the copy is a store, whose new rows have higher numbers than any that the original ever had."""
    with source.atomic(), target.atomic():
        for model in MODELS:
            if (number := number_of(model)) is not None:
                table, column = table_of(model), number.column_name
                newest = max(newest_number(source, table, column), model.select(fn.MAX(number)).scalar(target) or 0)
                if newest:
                    use_numbers(target, table, column, newest)
        UnfinishedCopyModel.delete().execute(target)
