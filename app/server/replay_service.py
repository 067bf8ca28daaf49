"""Starts, pauses and cancels replays: those of several requests one after the other, one request at once."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.delivery import Delivery
from app.core.errors import (
    HooklineError,
    InvalidFieldsError,
    NotAllowedError,
    NotFoundError,
    StorageUnavailableError,
)
from app.core.events import Bus, ReplayChanged
from app.core.ids import uuid7
from app.core.replay import (
    ChosenRequests,
    EarlierResults,
    OtherEndpoint,
    Replay,
    ReplayProgress,
    ReplaySource,
    ReplaySpec,
    ReplayState,
    received_until,
    replay_errors,
    with_full_urls,
)
from app.core.replay_summary import endpoint_name, replay_summary
from app.core.rules import FieldError
from app.server.addresses import Addresses
from app.server.forward.lazy_sender import LazySender, end, stored
from app.server.replay_runner import ReplayRunner, select

if TYPE_CHECKING:
    from app.db.store import Store

log = logging.getLogger(__name__)

_PUBLISH_S, _SAVE_EVERY = 0.1, 10


class ReplayService:
    """Replays, and what can be done with them. Each change publishes `ReplayChanged`; changes and reads
    raise StorageUnavailableError. Everything runs on the loop's thread."""

    def __init__(self, store: Store, bus: Bus, addresses: Addresses) -> None:
        self._store, self._endpoints, self._replays = store, store.endpoints, store.replays
        self._bus, self._addresses = bus, addresses
        self._sender = LazySender(store, bus.publish)
        self._runners: dict[str, ReplayRunner] = {}
        self._waiting: dict[str, Replay] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()
        self._stopping = False

    async def start(self, spec: ReplaySpec) -> Replay:
        """Begin a replay, or queue it behind the one that runs.

        Raises InvalidFieldsError or StorageUnavailableError.
        """
        spec = with_full_urls(spec)
        errors = replay_errors(spec, self._addresses.own_bases())
        if isinstance(spec.destination, OtherEndpoint) and self._endpoints.by_slug(spec.destination.slug) is None:
            text = f"No endpoint has the slug {spec.destination.slug!r}."
            errors.append(FieldError(field="destination.slug", message=text))
        if errors:
            raise InvalidFieldsError(errors)
        at = now_us()
        replay = Replay(id=uuid7(at), created_at=at, spec=spec)
        await self._replays.save(replay)
        self._go_on(replay)
        return replay

    async def count(self, source: ReplaySource) -> int:
        """How many requests there are now. Raises QueryError or StorageUnavailableError."""
        if isinstance(source, ChosenRequests):
            return len(source.ids)
        if source.query.strip():
            return len(await select(source, self._store.captures))
        if source.narrowed:
            after, before = source.received_after or 0, source.received_before
            bars = await self._store.activity.bars(source.endpoint_id, [after, 2**62 if before is None else before])
            return sum(bar.total for bar in bars)
        ids = [one.id for one in self._endpoints.all()] if source.endpoint_id is None else [source.endpoint_id]
        return sum(self._store.captures.counts(endpoint_id).total for endpoint_id in ids)

    async def pause(self, replay_id: str) -> Replay:
        """Begin no further send until `resume`. Raises NotFoundError unless it is running."""
        runner = self._runners.get(replay_id)
        if runner is None:
            raise _not_running()
        runner.pause()
        return await self._store_state(runner, ReplayState.PAUSED)

    async def resume(self, replay_id: str) -> Replay:
        """Resume a paused replay, or one that was interrupted when Hookline ended. Raises NotFoundError."""
        runner = self._runners.get(replay_id)
        if runner is not None:
            runner.resume()
            return await self._store_state(runner, ReplayState.RUNNING)
        replay = await self._replays.get(replay_id)
        if replay is None or replay.state is not ReplayState.INTERRUPTED:
            raise _not_running()
        if replay_id in self._tasks:  # resumed already
            return self._present(replay)
        replay = replace(replay, state=ReplayState.QUEUED)
        self._go_on(replay)
        return replay

    async def cancel(self, replay_id: str) -> Replay:
        """End a replay; what is being sent ends by itself. Raises NotFoundError if it has ended."""
        runner = self._runners.get(replay_id)
        if runner is not None:
            runner.cancel()
            return runner.replay
        replay = self._waiting.pop(replay_id, None)
        if replay is not None:
            self._tasks[replay_id].cancel()
        else:
            replay = await self._replays.get(replay_id)
        if replay is None or replay.ended:
            raise _not_running()
        return await self._save(replace(replay, state=ReplayState.CANCELLED, ended_at=now_us()))

    async def wait(self, replay_id: str) -> None:
        """Return once it has ended, or Hookline ends."""
        if replay_id in self._tasks:
            await asyncio.wait([self._tasks[replay_id]])

    async def result(self, replay_id: str, capture_id: str) -> tuple[Replay | None, list[Delivery]]:
        """A replay of this one request, once it has ended or Hookline ends, with its deliveries. Raises
        StorageUnavailableError."""
        await self.wait(replay_id)
        replay = await self.get(replay_id)
        deliveries = await self._store.deliveries.of_capture(capture_id)
        return replay, [one for one in deliveries if one.replay_id == replay_id]

    async def latest(self, limit: int = 50) -> list[Replay]:
        """The last started first, with their present progress. Raises StorageUnavailableError."""
        return [self._present(replay) for replay in await self._replays.latest(limit)]

    async def get(self, replay_id: str) -> Replay | None:
        """Raises StorageUnavailableError."""
        replay = await self._replays.get(replay_id)
        return None if replay is None else self._present(replay)

    async def stop(self) -> None:
        """Let what is being sent end within half a second; replays can be resumed at the next start. Idempotent."""
        self._stopping = True
        for runner in self._runners.values():
            runner.cancel()
        await end(tuple(self._tasks.values()))
        await self._sender.close()

    def _present(self, replay: Replay) -> Replay:
        runner = self._runners.get(replay.id)
        if runner is None:
            return self._waiting.get(replay.id, replay)
        return replace(runner.replay, progress=runner.progress)

    def _go_on(self, replay: Replay) -> None:
        self._waiting[replay.id] = replay
        task = asyncio.create_task(self._run(replay), name=f"replay-{replay.id}")
        self._tasks[replay.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(replay.id, None))

    async def _run(self, replay: Replay) -> None:
        try:
            if isinstance(replay.spec.source, ChosenRequests) and len(replay.spec.source.ids) == 1:
                await self._run_now(replay)
            else:
                async with self._turn:
                    await self._run_now(replay)
        except Exception as error:
            self._waiting.pop(replay.id, None)
            if not isinstance(error, HooklineError):
                log.exception("replay %s failed", replay.id)
            present = self._present(replay)
            problem = f"The replay stopped: {error}"
            cancelled = replace(present, state=ReplayState.CANCELLED, ended_at=now_us(), problem=problem)
            await self._save_ended(cancelled)

    async def _run_now(self, replay: Replay) -> None:
        """It can be cancelled as a waiting one until its requests are known."""
        if self._stopping:
            return
        source, before = replay.spec.source, EarlierResults()
        if replay.started_at is not None:
            before = await self._replays.results(replay.id)
            source = received_until(source, replay.started_at)
        selection = await select(source, self._store.captures)
        started = replace(replay, state=ReplayState.RUNNING, started_at=replay.started_at or now_us())
        runner = ReplayRunner(started, selection, before, self._store, sender=self._sender, addresses=self._addresses)
        del self._waiting[replay.id]
        self._runners[replay.id] = runner
        publishing = asyncio.create_task(self._publish(runner), name=f"replay-progress-{replay.id}")
        try:
            await self._save(replace(started, progress=runner.progress))
            await runner.run()
        finally:
            publishing.cancel()
            del self._runners[replay.id]
            if self._stopping:
                interrupted = replace(runner.replay, state=ReplayState.INTERRUPTED, progress=runner.progress)
                with suppress(HooklineError):  # then the progress of a second ago stays
                    await self._replays.save(interrupted)
        if not self._stopping:
            ended = _ended(runner, endpoint_name(replay.spec.source, self._endpoints.by_id))
            await self._save_ended(ended)

    async def _publish(self, runner: ReplayRunner) -> None:
        """Ten times a second, and once a second to the store."""
        turn, before = 0, _counts(runner.progress)
        while True:
            await asyncio.sleep(_PUBLISH_S)
            turn += 1
            runner.replay = replace(runner.replay, problem=runner.problem)
            present = replace(runner.replay, progress=runner.progress)
            if (counts := _counts(present.progress)) != before:
                before = counts
                self._bus.publish(ReplayChanged(replay=present))
                if turn % _SAVE_EVERY == 0:
                    with suppress(StorageUnavailableError):
                        await self._replays.save(present)

    async def _store_state(self, runner: ReplayRunner, state: ReplayState) -> Replay:
        """Paused or running, a replay is interrupted at the next start: it does not matter if this cannot be stored."""
        replay = replace(runner.replay, state=state, progress=runner.progress)
        try:
            return await self._save(replay)
        except StorageUnavailableError:
            self._bus.publish(ReplayChanged(replay=replay))
            return replay

    async def _save_ended(self, replay: Replay) -> None:
        try:
            await stored(lambda: self._save(replay))
        except NotAllowedError:  # for others it is interrupted when this program ends
            self._bus.publish(ReplayChanged(replay=replay))

    async def _save(self, replay: Replay) -> Replay:
        runner = self._runners.get(replay.id)
        if runner is not None:
            runner.replay = replay
        await self._replays.save(replay)
        self._bus.publish(ReplayChanged(replay=replay))
        return replay


def _counts(progress: ReplayProgress) -> ReplayProgress:
    """Without what changes with time alone."""
    return replace(progress, targets=())


def _ended(runner: ReplayRunner, endpoint: str | None) -> Replay:
    state, counts = ReplayState.CANCELLED if runner.cancelled else ReplayState.DONE, runner.counts
    ended = replace(runner.replay, state=state, progress=runner.progress, ended_at=now_us(), problem=runner.problem)
    summary = replay_summary(ended, counts.latencies, counts.results, resumed=runner.resumed, endpoint=endpoint)
    return replace(ended, summary=summary)


def _not_running() -> NotFoundError:
    return NotFoundError("This replay is not running.")
