"""Which nodes there are, and which of them does the work that one node does.

A node says every one and a half seconds that it lives. One that has not said so for a while is dead: what it owned is
free, what it was receiving is dropped, what it had deleted but not purged is restored, and its replays are interrupted,
with what they were sending. Only a node that could say so itself all that time may judge: when the server rests, all of
them are silent. One that only hung notices that it is gone: it registers again, and owns nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from peewee import SQL, Database

from app import __version__
from app.core.errors import NotAllowedError, StorageUnavailableError
from app.core.events import DeletionUndone, Event, NodesChanged
from app.core.record import Record
from app.core.team import Node, OtherNodes, Role
from app.db.deliveries.deliveries import interrupt
from app.db.part import Nodes
from app.db.postgres.follow import Follower, tell_all
from app.db.raw_sql import execute
from app.db.readers import Readers
from app.db.writer_thread import WriterThread

log = logging.getLogger(__name__)

BEAT_S = 1.5
DEAD_S = 5.0
LATE_S = 1.0
"""A beat may take so much longer; after a later one, what was seen of others counts from then."""
KEPT_S = 600.0
"""How long notices are kept."""
TRIM_EACH = 40
"""Beats."""

_REGISTER = "INSERT INTO node (version, captures) VALUES (?, ?) RETURNING number"
_USE = "SELECT set_config('hookline.node', ?, false)"
_BEAT = "UPDATE node SET seen_at = clock_timestamp() WHERE number = ?"
_ANNOUNCE = "UPDATE node SET base_url = ? WHERE number = ? AND base_url IS DISTINCT FROM ?"
_SEEN = """SELECT number, extract(epoch FROM seen_at)::float8,
    captures = 1 AND seen_at >= clock_timestamp() - make_interval(secs => ?), base_url FROM node ORDER BY number"""
_END = "DELETE FROM node WHERE number = ? AND extract(epoch FROM seen_at)::float8 = ?"
_LEAVE = "DELETE FROM node WHERE number = ?"
_OF_NOBODY = "NOT IN (SELECT number FROM node)"
_GOES_ON = "progress::jsonb ->> 'state' IN ('queued', 'running', 'paused')"
_RESTORE = f"""WITH restored AS (DELETE FROM trash WHERE node {_OF_NOBODY} RETURNING deletion, endpoint_id)
    SELECT deletion, array_agg(DISTINCT endpoint_id) FROM restored GROUP BY deletion"""
_CLEAR_UP = (
    f"UPDATE endpoint SET trashed = NULL WHERE removed = 0 AND trashed IS NOT NULL AND trashed_by {_OF_NOBODY}",
    f"""UPDATE tunnel_url SET until = greatest(since, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
        WHERE until IS NULL AND node {_OF_NOBODY}""",
    f"UPDATE loose_body SET dropped = 1 WHERE dropped = 0 AND node {_OF_NOBODY}",
    f"""UPDATE replay SET progress = jsonb_set(progress::jsonb, '{{state}}', '"interrupted"')::text
        WHERE node {_OF_NOBODY} AND {_GOES_ON}""",
)
_OF_ENDED_REPLAY = SQL(
    "t1.sending_at IS NOT NULL AND t1.replay_id IS NOT NULL"
    f" AND NOT EXISTS (SELECT 1 FROM replay WHERE replay.id = t1.replay_id AND {_GOES_ON})"
)
"""What a replay was sending when its node ended."""
_FREE = """SELECT id FROM target WHERE NOT EXISTS (SELECT 1 FROM owner WHERE job = 'target ' || target.id)
        AND EXISTS (SELECT 1 FROM delivery WHERE target_id = target.id AND state = 'queued' AND replay_id IS NULL)
    UNION SELECT DISTINCT target_id FROM delivery WHERE sending_at IS NOT NULL AND replay_id IS NULL
        AND state = 'queued' AND NOT EXISTS (SELECT 1 FROM owner WHERE job = 'target ' || target_id)"""
"""Also targets that are gone: what was being sent to them."""
_CLAIM = "INSERT INTO owner (job, node) VALUES (?, ?) ON CONFLICT (job) DO NOTHING"
_DISOWN = "DELETE FROM owner WHERE node = ?"
_TRIM = "DELETE FROM notice WHERE at < clock_timestamp() - make_interval(secs => ?)"
_OWNER = "SELECT node FROM owner WHERE job = ?"
_LIVING = "SELECT count(*) FROM node WHERE seen_at >= clock_timestamp() - make_interval(secs => ?)"
_ALL = """SELECT number, version, (extract(epoch FROM started_at) * 1000000)::bigint,
    (extract(epoch FROM seen_at) * 1000000)::bigint,
    (SELECT json_agg(job ORDER BY job) FROM owner WHERE node = number)
    FROM node WHERE seen_at >= clock_timestamp() - make_interval(secs => ?) OR number = ? ORDER BY number"""


class Beat(Record, frozen=True):
    """What a node has learned: how many others it has found dead, and the targets with queued deliveries that nobody
    owns."""

    dead: int
    free_targets: tuple[int, ...]


class Seen(NamedTuple):
    """A node, when it last said that it lives, and what it says of itself."""

    number: int
    at: float
    captures: bool
    base_url: str | None


class TeamNodes(Nodes):
    """This node among the others. Used on the loop's thread."""

    def __init__(
        self,
        writer: WriterThread,
        readers: Readers,
        follower: Follower,
        publish: Callable[[Event], None],
        *,
        on_beat: Callable[[Beat], None],
        captures: bool,
        base_url: Callable[[], str | None],
    ) -> None:
        """`on_beat` is called when a node has died, a target has nobody, or the role is given back. `base_url` is what
        this node tells the others of itself."""
        self._writer, self._readers, self._follower, self._publish = writer, readers, follower, publish
        self._on_beat, self._captures, self._base_url = on_beat, captures, base_url
        self.number = 0
        self.others = OtherNodes()
        self._owned: set[str] = set()
        self._lost: set[str] = set()
        self._denied: dict[str, float] = {}
        """The jobs that others own, and until when that is not asked again."""
        self._watched: dict[int, tuple[float, float]] = {}
        """When the others last said that they live, and since when that is known here."""
        self._task: asyncio.Task[None] | None = None
        self._works, self._judges = False, False
        self._is_refused = False
        """Whether the role in the store was taken away, at least for a moment, since the last sign of life."""
        self._refusal, self._refusals = "", set[str]()
        """Why a write was refused last, and what of that the log has already."""

    async def start(self, role: Role, *, works: bool) -> None:
        """Register, and say that it lives from now on; unless it `works`, it claims no job. One that only captures
        judges nobody, and one that only reads is no node."""
        self._works, self._judges = works, role is Role.MEMBER
        if role is not Role.READER:
            await self._writer.run(self._register, self._use)
        if role is not Role.CAPTURE:
            self._notice(await self._readers.run(_seen))
        self._task = asyncio.get_running_loop().create_task(self._live(), name="hookline-node")

    async def stop(self) -> None:
        """Leave: what it owned is free at once."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            with contextlib.suppress(StorageUnavailableError):
                if self.number:
                    await self._writer.run(partial(_leave if self._judges else _fall_silent, number=self.number))

    def has_lost(self, job: str) -> bool:
        """Whether it was taken for dead, or refused a write, while it did the job, and has not claimed it since."""
        return job in self._lost

    def refused(self, error: NotAllowedError) -> None:
        """The role did not allow a write: own nothing until the next sign of life, which frees in the store what this
        node owned. The next owner of a target marks what was being sent to it. One that only captures owns nothing,
        and may not say so either."""
        if self._judges:
            self._is_refused, self._refusal = True, str(error)
            self._lose_jobs()

    async def all(self) -> Sequence[Node]:
        values = DEAD_S, self.number
        rows = await self._readers.run(lambda database: execute(database, _ALL, values).fetchall())
        return [
            Node(
                number=number,
                version=version,
                started_at=started_at,
                seen_at=seen_at,
                current=number == self.number,
                jobs=tuple(jobs or ()),
            )
            for number, version, started_at, seen_at, jobs in rows
        ]

    async def catch_up(self) -> bool:
        await self._writer.look()
        return True

    async def claim(self, job: str) -> bool | None:
        if job in self._owned:
            return None
        if not self._works or self._is_refused:
            return False
        if time.monotonic() < self._denied.get(job, 0.0):
            return False
        owner = await self._writer.run(partial(_claim, job=job, number=self.number))
        if self._is_refused:  # by now: what it owns in the store is given up once it may say again that it lives
            return False
        if owner != self.number:
            self._denied[job] = time.monotonic() + BEAT_S  # it may be asked for each request that arrives
            return False
        if job in self._owned:
            return None
        # It may have been so since an earlier try of which nobody knew that it was stored.
        self._owned.add(job)
        self._lost.discard(job)
        return True

    async def _live(self) -> None:
        beats, last, told = 0, time.monotonic(), False
        while True:
            await asyncio.sleep(BEAT_S)
            with contextlib.suppress(StorageUnavailableError):  # the writer has logged why
                if not self.number:  # one that only reads sees who captures
                    self._notice(await self._readers.run(_seen))
                    continue
                trim, frees = self._judges and beats % TRIM_EACH == 0, self._is_refused
                try:
                    number = await self._writer.run(partial(self._beat, number=self.number, trim=trim, frees=frees))
                except NotAllowedError as error:
                    if not told:
                        log.warning("this node leaves all work to others: %s", error)
                    told = True
                    raise
                told = False
                if number != self.number:
                    log.warning("other nodes took this one for dead; it registers again")
                    self._use(number)
                    self._lose_jobs()
                if frees:
                    self._go_on()
                beats, before, last = beats + 1, last, time.monotonic()
                if not self._judges:
                    continue
                if last - before > BEAT_S + LATE_S:
                    self._watched.clear()
                seen, free = await self._readers.run(_survey)
                self._notice(seen)
                silent = self._silent(seen, time.monotonic())
                dead = await self._writer.run(partial(_bury, silent=silent)) if silent else 0
                if dead or free or frees:
                    self._denied.clear()
                    self._on_beat(Beat(dead=dead, free_targets=free))

    def _go_on(self) -> None:
        """It may say that it lives, and takes work again: a missing table has that refused again and again."""
        self._is_refused = False
        if self._refusal not in self._refusals:
            self._refusals.add(self._refusal)
            log.warning("this node keeps working, although the store refused it something: %s", self._refusal)

    def _lose_jobs(self) -> None:
        self._lost |= self._owned
        self._owned.clear()

    def _use(self, number: int) -> None:
        self.number = self._follower.number = number

    def _register(self, database: Database) -> int:
        (number,) = execute(database, _REGISTER, (__version__, self._captures)).fetchone()
        use_number(database, number)
        self._announce(database, number)
        return int(number)

    def _beat(self, database: Database, *, number: int, trim: bool, frees: bool) -> int:
        """The node's number from now on. `frees`: it gives up what it owns."""
        if trim:
            execute(database, _TRIM, (KEPT_S,))
        if not touch(database, number):
            return self._register(database)
        if frees:
            execute(database, _DISOWN, (number,))
        self._announce(database, number)
        return number

    def _announce(self, database: Database, number: int) -> None:
        """One that only captures may not: whoever broke into it could have requests sent elsewhere."""
        if self._judges:
            base_url = self._base_url()
            execute(database, _ANNOUNCE, (base_url, number, base_url))

    def _notice(self, seen: Sequence[Seen]) -> None:
        """What the others say of themselves."""
        capturing = [one for one in seen if one.captures and one.number != self.number]
        base_url = next((one.base_url for one in capturing if one.base_url), self.others.base_url)
        others = OtherNodes(capturing=len(capturing), base_url=base_url)
        if others != self.others:
            self.others = others
            self._publish(NodesChanged())

    def _silent(self, seen: Sequence[Seen], now: float) -> list[tuple[int, float]]:
        """Those that have not said for long enough that they live."""
        before, self._watched = self._watched, {}
        for number, at, *_ in seen:
            known = before.get(number)
            self._watched[number] = known if known is not None and known[0] == at else (at, now)
        return [
            (number, at)
            for number, (at, since) in self._watched.items()
            if number != self.number and now - since >= DEAD_S
        ]


def touch(database: Database, number: int) -> bool:
    """Say that the node lives; False if it is gone."""
    return bool(execute(database, _BEAT, (number,)).rowcount)


def living(database: Database) -> int:
    """How many nodes said lately that they live."""
    (number,) = execute(database, _LIVING, (DEAD_S,)).fetchone()
    return int(number)


def use_number(database: Database, number: int) -> None:
    """What this connection writes is that node's."""
    execute(database, _USE, (str(number),))


def _seen(database: Database) -> list[Seen]:
    return [Seen(*row) for row in execute(database, _SEEN, (DEAD_S,)).fetchall()]


def _survey(database: Database) -> tuple[list[Seen], tuple[int, ...]]:
    """All nodes, and the targets that nobody sends to."""
    return _seen(database), tuple(one for (one,) in execute(database, _FREE).fetchall())


def _bury(database: Database, silent: Sequence[tuple[int, float]]) -> int:
    """How many of those that are silent still were."""
    dead = [number for number, at in silent if execute(database, _END, (number, at)).rowcount]
    if dead:
        log.warning("node %s has died", ", ".join(map(str, dead)))
        _clear_up(database)
    return len(dead)


def _leave(database: Database, number: int) -> None:
    execute(database, _LEAVE, (number,))
    _clear_up(database)


def _fall_silent(database: Database, number: int) -> None:
    """One that may delete nothing leaves that to those who judge."""
    execute(database, "UPDATE node SET seen_at = '-infinity' WHERE number = ?", (number,))


def _clear_up(database: Database) -> None:
    """End or undo what nodes that are gone had begun. All nodes are told in the same transaction which deletions are
    undone: this one may never learn that its commit succeeded."""
    restored = execute(database, _RESTORE).fetchall()
    for text in _CLEAR_UP:
        execute(database, text)
    interrupt(database, _OF_ENDED_REPLAY, lambda _: None)
    if restored:
        tell_all(database, [DeletionUndone(number=number, endpoint_ids=frozenset(ids)) for number, ids in restored])


def _claim(database: Database, job: str, number: int) -> int:
    """Who has the job now: this node, if nobody had it."""
    execute(database, _CLAIM, (job, number))
    (owner,) = execute(database, _OWNER, (job,)).fetchone()
    return int(owner)
