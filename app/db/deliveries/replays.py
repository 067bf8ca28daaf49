"""The replays that were started, with their progress."""

from __future__ import annotations

from collections import Counter
from functools import partial

import msgspec
from peewee import SQL, Database, ModelSelect, fn

from app.core.delivery import AttemptTrigger
from app.core.model import DeliveryState
from app.core.replay import REPLAYS_KEPT, EarlierResults, Replay, ReplayState
from app.db.models import AttemptModel, CaptureModel, DeliveryModel, ReplayModel
from app.db.part import Part
from app.db.raw_sql import is_sqlite
from hookline.decoding import convert

_REPEATS = fn.EXISTS(
    AttemptModel.select(AttemptModel.seq).where(
        AttemptModel.delivery == DeliveryModel.seq,
        AttemptModel.number == 1,
        AttemptModel.trigger == AttemptTrigger.RESTART.value,
    )
)
"""Whether the delivery repeats one that was interrupted."""


_CHANGING = ("state", "progress", "started_at", "ended_at", "problem", "summary")
"""What changes of a replay."""


class Replays(Part):
    """The replays that were started."""

    async def load(self) -> None:
        """Mark those that were going on when the last run ended as interrupted."""
        await self._writer.run(partial(interrupt, which=ReplayModel.select()))

    async def save(self, replay: Replay) -> None:
        """Store a new replay, or what changed."""
        await self._writer.run(lambda database: _save(database, replay))

    async def get(self, replay_id: str) -> Replay | None:
        query = ReplayModel.select().where(ReplayModel.id == replay_id)
        return await self._readers.run(lambda database: next((_replay(row) for row in query.execute(database)), None))

    async def latest(self, limit: int = 50) -> list[Replay]:
        """The last started first."""
        query = ReplayModel.select().order_by(ReplayModel.id.desc()).limit(limit)
        return await self._readers.run(lambda database: [_replay(row) for row in query.execute(database)])

    async def results(self, replay_id: str) -> EarlierResults:
        """What came of its deliveries so far."""
        query = (
            DeliveryModel.select(
                CaptureModel.id,
                DeliveryModel.target_id,
                DeliveryModel.state,
                DeliveryModel.interrupted,
                _REPEATS,
            )
            .join(CaptureModel)
            .where(DeliveryModel.replay_id == replay_id)
            .order_by(DeliveryModel.seq)
        )

        def job(database: Database) -> EarlierResults:
            ended: dict[tuple[str, int | None], list[DeliveryState]] = {}
            interrupted: Counter[tuple[str, int | None]] = Counter()
            repeated = 0
            for capture_id, target_id, state, cut, repeats in query.tuples().execute(database):
                key = capture_id, target_id
                interrupted[key] -= repeats
                repeated += repeats
                if cut:
                    interrupted[key] += 1
                else:
                    ended.setdefault(key, []).append(DeliveryState(state))
            return EarlierResults(ended=ended, interrupted=dict(+interrupted), repeated=repeated)

        return await self._readers.run(job)


def interrupt(database: Database, which: ModelSelect[ReplayModel]) -> None:
    """Mark those of these that were going on as interrupted."""
    for row in list(which.execute(database)):
        replay = _replay(row)
        if not replay.ended and replay.state is not ReplayState.INTERRUPTED:
            _save(database, msgspec.structs.replace(replay, state=ReplayState.INTERRUPTED))


def _save(database: Database, replay: Replay) -> None:
    changing = {name: getattr(replay, name) for name in _CHANGING}
    row = {
        "id": replay.id,
        "created_at": replay.created_at,
        "spec": msgspec.json.encode(replay.spec).decode(),
        "progress": msgspec.json.encode(changing).decode(),
    }
    others = (ReplayModel.created_at, ReplayModel.spec, ReplayModel.progress)
    # The node that goes on with it is another one than began it.
    own = {} if is_sqlite(database) else {"node": SQL("this_node()")}
    insert = ReplayModel.insert(**row)
    insert.on_conflict(conflict_target=(ReplayModel.id,), preserve=others, update=own).execute(database)
    newest = ReplayModel.select(ReplayModel.id).order_by(ReplayModel.id.desc()).limit(REPLAYS_KEPT)
    ReplayModel.delete().where(ReplayModel.id.not_in(newest)).execute(database)


def _replay(row: ReplayModel) -> Replay:
    fields = {**msgspec.json.decode(row.progress), "spec": msgspec.json.decode(row.spec)}
    return convert({"id": row.id, "created_at": row.created_at, **fields}, Replay)
