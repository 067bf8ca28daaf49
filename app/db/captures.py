"""Captured requests: stored many at a time, listed by key, read by id, marked as read, with a star or with a note."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from hashlib import sha256

import msgspec
from peewee import JOIN, Database

from app.core.errors import DamagedBodyError, NotAllowedError, NotFoundError, StorageUnavailableError, check_fields
from app.core.events import EndpointRead, RequestsUpdated
from app.core.model import (
    PART_SIZE,
    Capture,
    CaptureWithBody,
    DeliveryState,
    Description,
    Mark,
    MarkedIds,
    PageKey,
    Summary,
)
from app.core.record import Record
from app.core.redaction.secret import SecretHeaders
from app.core.rules import FieldError, note_error, trimmed_note
from app.core.target import Target
from app.db import body_parts, queries
from app.db.counts import request_bytes
from app.db.deleting import Cleanup
from app.db.deliveries.targets import RemovedTargets
from app.db.identification import Identification
from app.db.models import CaptureModel, NoteModel, StarModel, encode_headers
from app.db.part import BackgroundWorker, Part, Shared, endpoint_not_found
from app.db.queries import visible, visible_sql
from app.db.raw_sql import execute, is_missing_reference, newest_seq
from app.db.search.search import Search
from app.db.trash import Trash
from app.db.writer_thread import AdaptiveBatch, WrittenLater

TIMES_AT_ONCE, TIMES_DELAY_S = 256, 1.0
RETRY_S = 2.0
"""Between two attempts to drop parts of bodies."""


def _write_times(database: Database, times: Sequence[tuple[int, float]]) -> None:
    """The milliseconds after which the responses to these requests were sent. Deleted requests are skipped."""
    execute(
        database,
        "INSERT INTO capture_response (capture_seq, ms) SELECT c.seq, CAST(j.value ->> 1 AS DOUBLE PRECISION)"
        " FROM json_each(?) j JOIN capture c ON c.seq = CAST(j.value ->> 0 AS BIGINT) WHERE true"
        " ON CONFLICT (capture_seq) DO UPDATE SET ms = excluded.ms",
        (msgspec.json.encode(times).decode(),),
    )


Marked = dict[int, list[str]]
"""The requests whose mark changed, by endpoint."""


class MarkStep(Record, frozen=True):
    """How many became read, and the place reached (None: all are done)."""

    changed: int
    reached: PageKey | None


START = PageKey(received_at=-1, id="")


def mark_ids(database: Database, ids: Sequence[str], read: bool) -> Marked:
    """Mark those requests that are stored and not marked so already."""
    update = CaptureModel.update(is_read=read).where(
        CaptureModel.id.in_(ids), CaptureModel.is_read != read, visible("capture")
    )
    return _by_endpoint(update.returning(CaptureModel.endpoint, CaptureModel.id).tuples().execute(database))


def star_ids(database: Database, ids: Sequence[str], starred: bool, author: str | None) -> Marked:
    """Star requests, or remove the star, where that changes anything."""
    query = (
        CaptureModel.select(CaptureModel.seq, CaptureModel.endpoint, CaptureModel.id)
        .join(StarModel, JOIN.LEFT_OUTER)
        .where(CaptureModel.id.in_(ids), StarModel.capture.is_null(starred), visible())
    )
    rows = list(query.tuples().execute(database))
    seqs = [seq for seq, _, _ in rows]
    if starred and rows:
        StarModel.insert_many([(seq, author) for seq in seqs], [StarModel.capture, StarModel.author]).execute(database)
    elif rows:
        StarModel.delete().where(StarModel.capture.in_(seqs)).execute(database)
    return _by_endpoint([(endpoint_id, capture_id) for _, endpoint_id, capture_id in rows])


def note_id(database: Database, capture_id: str, note: str | None, author: str | None) -> Marked:
    """Set the request's note, or remove it (None); NotFoundError when the request is not stored."""
    query = (
        CaptureModel.select(CaptureModel.seq, CaptureModel.endpoint, NoteModel.text)
        .join(NoteModel, JOIN.LEFT_OUTER)
        .where((CaptureModel.id == capture_id) & visible())
    )
    row = query.tuples().first(database)
    if row is None:
        raise NotFoundError("This request is no longer stored.")
    seq, endpoint_id, before = row
    if note == before:
        return {}
    if note is None:
        NoteModel.delete().where(NoteModel.capture == seq).execute(database)
    else:
        insert = NoteModel.insert(capture=seq, text=note, author=author)
        written = [NoteModel.text, NoteModel.author]
        insert.on_conflict(conflict_target=[NoteModel.capture], preserve=written).execute(database)
    return {endpoint_id: [capture_id]}


def mark_next_read(
    database: Database,
    limit: int,
    *,
    endpoint_id: int,
    above: PageKey,
    upto_seq: int,
) -> MarkStep:
    """Mark the next `limit` requests above a place read, except those numbered above `upto_seq`."""
    above_it = "endpoint_id = ? AND (received_at, id) > (?, ?) AND seq <= ?"
    values = (endpoint_id, above.received_at, above.id, upto_seq)
    last_at, last_id = execute(
        database,
        "SELECT max(received_at), max(id) FROM (SELECT received_at, id FROM capture"
        f" WHERE {above_it} ORDER BY received_at, id LIMIT ?) AS next",
        (*values, limit),
    ).fetchone()
    if last_at is None:
        return MarkStep(changed=0, reached=None)
    changed = execute(
        database,
        f"UPDATE capture SET is_read = 1 WHERE {above_it} AND is_read = 0 AND (received_at, id) <= (?, ?)"
        f" AND {visible_sql()}",
        (*values, last_at, last_id),
    ).rowcount
    return MarkStep(changed=changed, reached=PageKey(received_at=last_at, id=last_id))


def _by_endpoint(rows: Iterable[tuple[int, str]]) -> Marked:
    marked: Marked = {}
    for endpoint_id, capture_id in rows:
        marked.setdefault(endpoint_id, []).append(capture_id)
    return marked


IDS_PER_STEP = 100


class Captures(Part):
    def __init__(
        self,
        shared: Shared,
        search: Search,
        trash: Trash,
        *,
        cleanup: Cleanup,
        identification: Identification,
        removed_targets: RemovedTargets,
    ) -> None:
        super().__init__(shared)
        self._removed_targets, self._wake_cleanup, self._identification = removed_targets, cleanup.wake, identification
        self._trash, self.search, self.matching = trash, search.search, search.matching
        self._response_times = WrittenLater(
            self._writer, _write_times, "times of responses", delay_s=TIMES_DELAY_S, at_once=TIMES_AT_ONCE
        )
        self._undropped: list[int] = []
        """The keys of bodies whose parts could not be dropped."""
        self._dropping = BackgroundWorker("hookline-drop-parts", self._drop_again)
        self.check_room, self.counts = self._limits.check, self._request_counts.of
        self._loop = asyncio.get_running_loop()

    async def load(self, *, alone: bool) -> None:
        """Find the newest number. `alone`: nobody else receives bodies, so those that are incomplete were left by a
        crash and are marked for deletion.

        StorageUnavailableError when the store cannot write.
        """

        def job(database: Database) -> int:
            if alone:
                body_parts.drop_all(database)
            return newest_seq(database)

        self._request_counts.newest_seq = await self._writer.run(job)
        self._wake_cleanup()

    async def close(self) -> None:
        await self._dropping.stop()
        await self._response_times.close()

    async def add(
        self,
        capture: Capture,
        tail: bytes,
        body_key: int | None = None,
        targets: Sequence[Target] = (),
        version: int | None = None,
    ) -> int:
        """Store a capture, durably, and return its number: the order of numbers is the order of storing. `tail` is its
        body, or with a `body_key` what follows the parts that came by `add_part`.

        A delivery to each of `targets` is queued in the same commit. StorageUnavailableError when it cannot be stored
        now, StorageLimitError when there is no room, NotFoundError when the endpoint is gone, EndpointChangedError when
        it has another `version`.
        """
        if capture.endpoint_id not in self._request_counts:
            raise endpoint_not_found()
        if targets and capture.delivery is not DeliveryState.QUEUED:
            capture = msgspec.structs.replace(capture, delivery=DeliveryState.QUEUED)
        future = self._loop.create_future()
        headers = encode_headers(capture.headers)
        size = request_bytes(capture, headers, deliveries=len(targets))
        if capture.trailers:
            size += len(encode_headers(capture.trailers))
        reserved = size - self._limits.arriving(body_key)
        if not self._limits.reserve(capture.endpoint_id, reserved, size):
            await self._limits.wait_for_room(capture.endpoint_id, reserved, size)
        try:
            # The beginning of a long body may be written again, see `body_parts.complete`.
            cost = reserved if body_key is None else reserved + PART_SIZE
            self._writer.add((future, capture, tail, body_key, targets, version, headers, size, cost))
            seq: int = await future
        except Exception as error:
            self._limits.failed(capture.endpoint_id, reserved)
            if is_missing_reference(error):
                raise endpoint_not_found() from error
            raise
        finally:
            del future  # or its error, and with it the body, would stay until garbage is collected
        if not capture.identified:
            self._identification.wake()
        self._removed_targets.check(target.id for target in targets)
        return seq

    async def add_part(self, body_key: int | None, offset: int, data: bytes, *, endpoint_id: int | None = None) -> int:
        """Store the bytes from `offset` of a long body ahead of its capture, and return the body's key: None for the
        first part, at most `PART_SIZE` bytes. They count towards the limit of the endpoint they are for.
        StorageUnavailableError or StorageLimitError when they cannot be stored."""
        size = len(data)
        request_size = self._limits.arriving(body_key) + size
        if not self._limits.reserve(endpoint_id, size, request_size):
            await self._limits.wait_for_room(endpoint_id, size, request_size)
        job = partial(body_parts.store_part, body_key=body_key, offset=offset, data=data)
        try:
            return await self._writer.run(
                job, lambda stored_key: self._limits.stored_part(endpoint_id, stored_key, size), cost=size
            )
        except Exception:
            self._limits.failed(endpoint_id, size)
            raise

    def responded(self, seq: int, ms: float) -> None:
        """Record that the response to request `seq` was sent, `ms` milliseconds after its head was read."""
        self._response_times.add((seq, ms))

    async def drop_parts(self, body_key: int) -> None:
        """Discard the parts that `add_part` stored of a body; they are deleted in the background.
        StorageUnavailableError when that is impossible now; it is then tried again until it is stored."""
        try:
            await self._drop(body_key)
        except StorageUnavailableError:
            self._undropped.append(body_key)
            self._dropping.wake()
            raise

    async def _drop_again(self) -> None:
        """Until all are dropped, or the role in a team's store does not allow it: then when more are to be dropped."""
        while self._undropped:
            await asyncio.sleep(RETRY_S)
            try:
                while self._undropped:
                    await self._drop(self._undropped[0])
                    del self._undropped[0]
            except NotAllowedError:
                raise
            except StorageUnavailableError:  # the writer has logged why
                pass

    async def _drop(self, body_key: int) -> None:
        def after(_: None) -> None:
            self._limits.dropped(body_key)
            self._wake_cleanup()

        await self._writer.run(partial(body_parts.drop, body_key=body_key), after)

    async def page(
        self,
        endpoint_id: int | None,
        *,
        before: PageKey | None = None,
        after: PageKey | None = None,
        limit: int = 100,
        beginning: str | None = None,
    ) -> list[Summary]:
        """At most `limit` summaries of one endpoint, or of all (None), newest first.

        `before`: the next older than the key. `after`: the next newer than the key. `beginning`: those whose ids begin
        with it.
        """
        if endpoint_id is not None and self._request_counts.has_none(endpoint_id):
            return []  # a reader would pass each of those that are deleted
        return await self._readers.run(
            lambda database: queries.page(database, endpoint_id, before, after, limit, beginning=beginning)
        )

    @property
    def newest_seq(self) -> int:
        """The number of the newest stored request, from memory: later ones have higher numbers, also after a restart.
        Ids do not sort that way, they tell when a request arrived."""
        return self._request_counts.newest_seq

    async def seq_of(self, capture_id: str) -> int | None:
        """The request's number; None when it is not stored."""
        return await self._readers.run(lambda database: queries.seq_of(database, capture_id))

    async def between(self, after: int, upto: int, limit: int) -> Sequence[Summary]:
        """The first `limit` requests numbered above `after` and at most `upto`, in the order of storing."""
        return await self._readers.run(lambda database: queries.between(database, after, upto, limit))

    async def descriptions(self, ids: Collection[str], secret_headers: SecretHeaders) -> dict[str, Description]:
        """Events and gists without secrets, by the ids of the requests that are stored."""

        def job(database: Database) -> dict[str, Description]:
            from app.db.search.redacted import describe  # start-up time, as in `scan.py`

            return describe(database, ids, secret_headers)

        return await self._readers.run(job, slow=True)

    async def get(self, capture_id: str) -> Capture | None:
        """A request with its headers; None when it is not stored."""
        return await self._readers.run(lambda database: queries.get(database, capture_id))

    async def get_with_body(self, capture_id: str) -> CaptureWithBody | None:
        """The same with a body of one part, read at once; without it when that cannot be read."""
        try:
            return await self._readers.run(lambda database: queries.get_with_body(database, capture_id))
        except StorageUnavailableError:
            capture = await self.get(capture_id)
            return None if capture is None else CaptureWithBody(capture=capture, body=None, damaged=None)

    async def body(self, capture_id: str, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of the body as sent, from `offset`, at most `length`; NotFoundError when the request is not stored,
        DamagedBodyError when bytes are missing, or the whole body does not match its SHA-256."""
        return await self._readers.run(lambda database: queries.body(database, capture_id, offset, length))

    async def check_body(self, capture: Capture) -> None:
        """Read the whole body in parts; raises as `body`."""
        digest = sha256()

        def part(database: Database, offset: int) -> None:
            digest.update(queries.body(database, capture.id, offset, PART_SIZE))

        for offset in range(0, capture.size, PART_SIZE):
            await self._readers.run(partial(part, offset=offset))
        if digest.hexdigest() != capture.sha256:
            raise DamagedBodyError

    async def mark_read(self, ids: Sequence[str], read: bool = True) -> None:
        """Mark requests read, or unread; publishes RequestsUpdated with those that changed, as stars and notes do."""

        def after(marked: Marked) -> None:
            for endpoint_id, names in marked.items():
                self._request_counts.add(endpoint_id, unread=-len(names) if read else len(names))
            self._updated(marked, read=read)

        for some in _in_steps(ids):
            await self._writer.run(partial(mark_ids, ids=some, read=read), after)

    async def mark_all_read(self, endpoint_id: int) -> None:
        """Mark every request of the endpoint read, in steps; then publish EndpointRead."""
        upto, batch = self._request_counts.newest_seq, AdaptiveBatch(256)
        place: PageKey | None = START

        def after(step: MarkStep) -> None:
            self._request_counts.add(endpoint_id, unread=-step.changed)

        try:
            while place is not None:
                job = partial(mark_next_read, endpoint_id=endpoint_id, above=place, upto_seq=upto)
                place = (await self._writer.between(job, batch, after)).reached
        except BaseException:  # some are marked, and not counted any more
            self._publish(RequestsUpdated(endpoint_ids=(endpoint_id,), changes={}))
            raise
        self._publish(EndpointRead(endpoint_id=endpoint_id, upto=upto))

    async def star(self, ids: Sequence[str], starred: bool = True) -> None:
        """Star requests, or remove the star. Retention deletes starred requests too."""
        author = self._writer.user
        after = partial(self._updated, starred=starred, starred_by=author if starred else None)
        for some in _in_steps(ids):
            await self._writer.run(partial(star_ids, ids=some, starred=starred, author=author), after)

    async def set_note(self, capture_id: str, note: str) -> None:
        """Set the request's note, trimmed; an empty one removes it.

        InvalidFieldsError for a note that breaks a rule, NotFoundError when the request is not stored.
        """
        message = note_error(note)
        check_fields([FieldError(field="note", message=message)] if message else [])
        kept, author = trimmed_note(note), self._writer.user
        after = partial(self._updated, note=kept, noted_by=author if kept else None)
        await self._writer.run(partial(note_id, capture_id=capture_id, note=kept, author=author), after)

    def _updated(self, marked: Marked, **fields: bool | str | None) -> None:
        """These have other fields now, all the same."""
        if marked:
            changes = dict.fromkeys((name for names in marked.values() for name in names), fields)
            self._publish(RequestsUpdated(endpoint_ids=tuple(marked), changes=changes))

    async def delete(self, ids: Sequence[str]) -> None:
        """Delete requests with bodies and deliveries; publishes RequestsRemoved for each endpoint that lost any."""
        await self._trash.purge_at_once(await self._trash.delete(ids))

    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> None:
        """Delete every request that the endpoint has now, except those with a mark in `keep`; publishes RequestsRemoved
        without ids."""
        await self._trash.purge_at_once(await self._trash.clear(endpoint_id, keep))

    async def marked(self, endpoint_id: int | None) -> MarkedIds:
        """The requests with a star or a note, of an endpoint or of all (None)."""
        return await self._readers.run(lambda database: queries.marked_ids(database, endpoint_id))

    async def stored(self, ids: Collection[str]) -> frozenset[str]:
        """Those of these requests that are stored."""
        return await self._readers.run(lambda database: queries.stored_ids(database, ids))


def _in_steps(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + IDS_PER_STEP] for start in range(0, len(ids), IDS_PER_STEP)]
