"""Copies a store into a new one, of the same engine or the other.

All numbers stay, so the order does. Requests are copied many in a transaction, with all that belongs to them; then the
whole copy is compared with the original. Until that has ended the copy says of itself that it is unfinished, and how
far it has come: no Hookline starts on it, and another run goes on there. If the original was used in between, that run
starts over.
"""

from __future__ import annotations

import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from peewee import AutoField, Database, SqliteDatabase, fn

from app.core.backup import CopiedStore, Report
from app.core.errors import FolderInUseError, HooklineError, StoreCopyError
from app.core.model import Plan
from app.core.sizes import MIB, exact_size
from app.core.text import size_text
from app.data_folder.database_files import (
    FILE_NAME,
    companions,
    remove_database,
    require_database,
    reserve_size,
    size_of,
    size_on_disk,
)
from app.data_folder.folder_lock import FolderLock, lock_folder
from app.data_folder.private_files import SETTINGS_NAME, load_settings
from app.db.body_parts import keys_of
from app.db.counts import RECOUNT, RESPONSES, all_uses
from app.db.deliveries.replays import interrupt
from app.db.endpoints import END_TUNNELS, account_of, unfinished_copy
from app.db.models import (
    ALWAYS_FILLED,
    MODELS,
    AccountModel,
    AttemptModel,
    BodyModel,
    CaptureModel,
    ClockModel,
    DeletedDeliveryModel,
    DeliveryModel,
    EndpointModel,
    MisdatedModel,
    NoteModel,
    ReplayModel,
    ResponseTimeModel,
    StarModel,
    StoreModel,
    TargetModel,
    TunnelCopyModel,
    TunnelUrlModel,
    UnfinishedCopyModel,
)
from app.db.queries import visible_sql
from app.db.raw_sql import execute, execute_many, is_sqlite, json_list, newest_number, raw, stream, use_numbers
from app.db.sqlite.connection import open_writer, quiet_uri, trouble
from app.db.sqlite.schema import MIGRATIONS, applied

if TYPE_CHECKING:
    from app.db.postgres.store_place import TeamStore

StorePlace: TypeAlias = "DataFolder | TeamStore"

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


def copy_store(source: str | Path, target: str | Path, report: Report) -> CopiedStore:
    """Copy the store at `source` to `target`: addresses of teams' stores, or data folders. `report` gets the number of
    requests done, and of all; what it raises ends this run, and the next one goes on there.

    HooklineError when it is impossible, or was interrupted.
    """
    original, copy = _place_of(source, read_only=True), _place_of(target, read_only=False)
    if copy.name == original.name:
        raise StoreCopyError(f"{copy.name} is both stores. Name another to copy to; nothing was copied.")
    try:
        with original.opened():
            copy.require_room(all_uses(original.database))
            with copy.opened():
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


# -- the beginning -----------------------------------------------------------------------------------------------------


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
    execute(target, END_TUNNELS)


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


# -- requests ----------------------------------------------------------------------------------------------------------


def _copy_requests(original: StorePlace, copy: StorePlace, report: Callable[[int], None]) -> None:
    begun = unfinished_copy(copy.database)
    assert begun is not None
    reached, done = begun.reached, _count(copy.database)
    while True:
        report(done)
        with original.database.atomic(), copy.database.atomic():
            seqs = _copy_next(original.database, copy, reached)
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
                compared, more = _compare_next(original.database, copy.database, after)
        except _DifferenceError as error:
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


# -- the end -----------------------------------------------------------------------------------------------------------


def _finish(source: Database, target: Database) -> None:
    """From now on the copy is a store, whose new rows have higher numbers than any that the original ever had."""
    with source.atomic(), target.atomic():
        for model in MODELS:
            if (number := _number_of(model)) is not None:
                table, column = table_of(model), number.column_name
                newest = max(newest_number(source, table, column), model.select(fn.MAX(number)).scalar(target) or 0)
                if newest:
                    use_numbers(target, table, column, newest)
        execute(target, RECOUNT)
        UnfinishedCopyModel.delete().execute(target)


# -- where the stores are ----------------------------------------------------------------------------------------------


class DataFolder:
    """A folder's database: what a copy asks of a place, as of a team's store."""

    trouble = staticmethod(trouble)
    """Why it cannot be read or written, in sentences; None for an error of something else."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.name, self._folder, self._read_only = str(folder), folder, read_only
        """The first is what messages call it."""
        self._path = folder / FILE_NAME
        self.database, self.is_new = SqliteDatabase(str(self._path), autoconnect=False), True
        """`is_new`: there are no tables yet."""

    @contextmanager
    def opened(self) -> Iterator[None]:
        """No Hookline can use it meanwhile. StoreCopyError, DataFolderError or StoreAddressError if that is impossible;
        one that is only read has to be there, and of this version."""
        if self._read_only and not size_of(self._path):
            raise StoreCopyError(f"There is no Hookline data in {self.name}. Check the folder; nothing was copied.")
        with ExitStack() as held:
            lock = self._lock()
            held.callback(lambda: lock.release(unchecked=lock.was_unclean))
            held.callback(self._close)
            require_database(self._folder)
            self._used = " ".join(map(_last_change, (self._path, companions(self._path)[0])))
            if size_of(self._path):
                self._connect(SqliteDatabase(quiet_uri(self._path), uri=True, autoconnect=False))
                self._check_version()
            yield

    def used(self) -> str:
        """What has changed once a Hookline has used it."""
        return self._used

    def require_room(self, uses: Mapping[int, int]) -> None:
        """StoreCopyError if it cannot hold so many bytes, by owner. Before it is open."""
        if self._folder.exists() and not self._folder.is_dir():
            raise StoreCopyError(f"{self.name} is a file. Name the data folder that it is in; nothing was copied.")
        settings, has_limit = load_settings(self._folder), (self._folder / SETTINGS_NAME).exists()
        responses = uses[RESPONSES]
        stored = sum(uses.values()) - responses
        disk = shutil.disk_usage(next(one for one in (self._folder, *self._folder.parents) if one.exists()))
        free = disk.free - reserve_size(settings.disk_reserve, disk.total) + size_on_disk(self._path)
        if free < stored + responses:
            raise StoreCopyError(
                f"The copy takes about {size_text(stored + responses)}, and the disk of {self.name} has"
                f" {size_text(max(0, free))} for it. Free some space; nothing was copied."
            )
        for setting, limit, needed in (
            ("storage_limit", settings.storage_limit if has_limit else None, stored),
            ("response_limit", settings.response_limit, responses),
        ):
            if limit is not None and needed > limit:
                raise StoreCopyError(
                    f"The copy takes {size_text(needed)}, more than the {setting} of {self.name},"
                    f" {exact_size(limit)}. Raise that setting there; nothing was copied."
                )

    def create(self) -> None:
        """Make `database` one that can be written to, with the tables of this version."""
        self._close()
        self._connect(open_writer(self._path))

    def make_place(self, seqs: Sequence[int]) -> None:
        """Requests with these numbers are about to be stored: a table has it."""

    def empty(self) -> None:
        """Delete the unfinished copy that it holds."""
        self._close()
        remove_database(self._path)
        self.create()

    def _lock(self) -> FolderLock:
        try:
            return lock_folder(self._folder)
        except FolderInUseError as error:
            who = f"process {error.pid}" if error.pid else "another process"
            raise StoreCopyError(
                f"{self.name} is in use by Hookline ({who}). Close it first; nothing was copied."
            ) from error

    def _check_version(self) -> None:
        known = [name for name, _ in MIGRATIONS]
        names = applied(raw(self.database), self._path, known)
        self.is_new = not names
        if self._read_only and set(known) - set(names):
            raise StoreCopyError(
                f"{self.name} was written by an older Hookline. Start this one on it once; nothing was copied."
            )

    def _connect(self, database: SqliteDatabase) -> None:
        self.database = database
        if database.is_closed():
            database.connect()

    def _close(self) -> None:
        self.database.close()


def _last_change(file: Path) -> str:
    """Without a byte, a log is none."""
    return f"{file.stat().st_mtime_ns}" if size_of(file) else ""


def _place_of(address: str | Path, *, read_only: bool) -> StorePlace:
    """A folder's file, or a team's store."""
    if isinstance(address, Path):
        return DataFolder(address, read_only=read_only)
    from app.db.postgres.store_place import TeamStore  # psycopg is an extra

    return TeamStore(address, read_only=read_only)


# -- rows, whichever engine has them -----------------------------------------------------------------------------------

_Row = Sequence[Any]
_AT_ONCE, _LARGE_AT_ONCE = 500, 8
"""Rows that a server sends at a time; of those that may have a megabyte each."""


def table_of(model: type[StoreModel]) -> str:
    return str(model._meta.table_name)


def columns_of(model: type[StoreModel]) -> tuple[str, ...]:
    return tuple(model._meta.columns)


def _number_of(model: type[StoreModel]) -> AutoField | None:
    """The field that the database numbers."""
    key = model._meta.primary_key
    return key if isinstance(key, AutoField) else None


def select(
    database: Database, model: type[StoreModel], condition: str, values: _Row = (), *, at_once: int = _AT_ONCE
) -> Iterator[_Row]:
    """All columns of the rows that meet the condition, read as they are taken, so many `at_once`; within a
    transaction."""
    text = f"SELECT {', '.join(columns_of(model))} FROM {table_of(model)} WHERE {condition}"
    with closing(stream(database, text, values, at_once=at_once)) as rows:
        yield from rows


def insert(database: Database, model: type[StoreModel], rows: Iterable[_Row]) -> None:
    """Insert rows with all columns of the model; within a transaction."""
    table, columns = table_of(model), columns_of(model)
    names = ", ".join(columns)
    if is_sqlite(database):
        execute_many(database, f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})", rows)
    else:
        with raw(database).cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


# -- a step of copying -------------------------------------------------------------------------------------------------

ROWS, BYTES = 1_000, 16 * MIB
"""The most requests in a step, and bytes of their bodies; a longer one is a step of its own."""

_OF_REQUESTS = "capture_seq IN numbers(?)"
BELONGING: Mapping[type[StoreModel], str] = {
    ResponseTimeModel: _OF_REQUESTS,
    StarModel: _OF_REQUESTS,
    NoteModel: _OF_REQUESTS,
    DeliveryModel: _OF_REQUESTS,
    AttemptModel: f"delivery_seq IN (SELECT seq FROM delivery WHERE {_OF_REQUESTS})",
}
"""The tables with rows of requests, and the condition on those of some; a table comes after those it refers to."""
_NEXT_COPIED = f"seq > ? AND {visible_sql()} ORDER BY seq LIMIT ?"
_PLACE = {name: place for place, name in enumerate(columns_of(CaptureModel))}
_SEQ, _SIZE, _BODY_KEY = (_PLACE[name] for name in ("seq", "size", "body_key"))


def _copy_next(source: Database, target: StorePlace, after: int) -> Sequence[int]:
    """Copy the next requests numbered above `after`; their numbers, none if there are no more. Within a transaction of
    both."""
    captures = list(select(source, CaptureModel, _NEXT_COPIED, (after, ROWS), at_once=ROWS))
    captures = captures[: bisect_right(list(accumulate(row[_SIZE] for row in captures)), BYTES) or 1]
    seqs = [row[_SEQ] for row in captures]
    if not seqs:
        return seqs
    target.make_place(seqs)
    insert(target.database, CaptureModel, captures)
    _copy_bodies(source, target.database, captures)
    for model, condition in BELONGING.items():
        at_once = _LARGE_AT_ONCE if model is AttemptModel else ROWS
        insert(target.database, model, select(source, model, condition, (json_list(seqs),), at_once=at_once))
    return seqs


def _copy_bodies(source: Database, target: Database, captures: Sequence[_Row]) -> None:
    short = [row[_SEQ] for row in captures if row[_BODY_KEY] is None and row[_SIZE]]
    insert(target, BodyModel, select(source, BodyModel, "key IN numbers(?)", (json_list(short),), at_once=ROWS))
    for row in captures:
        if row[_BODY_KEY] is not None:
            keys = keys_of(row[_SEQ], row[_BODY_KEY])
            insert(target, BodyModel, select(source, BodyModel, "key BETWEEN ? AND ?", keys, at_once=_LARGE_AT_ONCE))


# -- a step of comparing -----------------------------------------------------------------------------------------------


class _Compared(NamedTuple):
    """What is compared of a request."""

    seq: int
    id: str
    endpoint_id: int
    size: int
    sha256: str
    body_key: int | None


class _DifferenceError(StoreCopyError):
    """The copy is not what the original is."""


_NEXT_COMPARED = (
    f"SELECT {', '.join(_Compared._fields)} FROM capture WHERE seq > ? AND {visible_sql()} ORDER BY seq LIMIT ?"
)
_NO_BODY_SHA256 = sha256().hexdigest()
_BODIES = "SELECT key, data FROM capture_body WHERE key"


def _compare_next(source: Database, target: Database, after: int) -> tuple[Sequence[_Compared], list[str]]:
    """Compare the next requests numbered above `after`, none if there are no more; also the ids of those whose bodies
    do not match their SHA-256 in either. Raises _DifferenceError. Within a transaction of both."""
    originals, copies = (
        [_Compared(*row) for row in execute(database, _NEXT_COMPARED, (after, ROWS))] for database in (source, target)
    )
    if originals != copies:
        raise _DifferenceError("The requests in the copy are not those of the original.")
    values = (json_list([one.seq for one in copies]),)
    for model, condition in BELONGING.items():
        count = f"SELECT count(*) FROM {table_of(model)} WHERE {condition}"
        if execute(source, count, values).fetchone() != execute(target, count, values).fetchone():
            raise _DifferenceError(f"The copy has not as many rows of {table_of(model)} as the original.")
    digests = dict(_digests(target, copies))
    damaged = [one for one in copies if digests[one.seq] != one.sha256]
    for seq, digest in _digests(source, damaged):
        if digest != digests[seq]:
            raise _DifferenceError("A body in the copy is not that of the original.")
    return copies, [one.id for one in damaged]


def _digests(database: Database, requests: Sequence[_Compared]) -> Iterator[tuple[int, str]]:
    """The SHA-256 of each body as it is stored."""
    short = [one for one in requests if one.body_key is None]
    found = dict.fromkeys((one.seq for one in short), _NO_BODY_SHA256)
    at_once = max(1, min(ROWS, BYTES // max((one.size for one in short), default=1)))
    with closing(stream(database, f"{_BODIES} IN numbers(?)", (json_list(found),), at_once=at_once)) as bodies:
        found.update((key, sha256(data).hexdigest()) for key, data in bodies)
    yield from found.items()
    for one in requests:
        if one.body_key is not None:
            digest, keys = sha256(), keys_of(one.seq, one.body_key)
            with closing(
                stream(database, f"{_BODIES} BETWEEN ? AND ? ORDER BY key", keys, at_once=_LARGE_AT_ONCE)
            ) as parts:
                for _, data in parts:
                    digest.update(data)
            yield one.seq, digest.hexdigest()
