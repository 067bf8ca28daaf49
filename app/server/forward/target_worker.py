"""Sends what is queued for one target, in order or several at once: it is read ahead, begun before it is sent, and
stored with its results.

Whatever the store cannot take is tried again until it can, or until the role in a team's store does not allow it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.delivery import Delivery, QueuedDelivery
from app.core.errors import NotAllowedError, StorageUnavailableError
from app.core.model import DeliveryState
from app.core.retry import after
from app.core.target import PausedBy, Target
from app.server.forward.lazy_sender import LazySender, Made, stored
from app.server.target_responses import TargetResponses

if TYPE_CHECKING:
    from app.db.deliveries.deliveries import Deliveries
    from app.db.store import Store

log = logging.getLogger(__name__)


_BATCH, _LOW = 200, 150
"""How many deliveries are read at once, and how few are left when the next are read."""


class TargetQueue:
    """`taken` has the ids of those that have begun or are about to, until their result is stored.

    `unstorable` outlives it: ids of deliveries that were sent, or may have been, and whose result cannot be stored,
    until the store tells something of them, such as that they were interrupted.
    """

    def __init__(self, target_id: int, repository: Deliveries, unstorable: set[str]) -> None:
        self._target_id, self._repository, self._unstorable = target_id, repository, unstorable
        self.taken: set[str] = set()
        self._next: deque[QueuedDelivery] = deque()
        self._reading: asyncio.Task[None] | None = None
        """Adds to `_next`."""
        self._readings: set[asyncio.Task[None]] = set()
        self._may_have_more = False

    def close(self) -> None:
        for task in self._readings:
            task.cancel()

    def give_up_taken(self) -> None:
        """Their results are not stored: what may have been sent is not sent again."""
        self._unstorable |= self.taken

    # -- reading -------------------------------------------------------------------------------------------------

    async def next_wait_us(self, *, ordered: bool) -> int | None:
        """How long until the next delivery may be sent, None if none is queued; 0 if `take` has it. `ordered`: the
        first one counts, otherwise the earliest."""
        if not self._next and self._reading is not None:
            await self._reading
        if not self._next:  # what was read before may be too old to know of the newest
            await self._read(ordered=ordered)
        if self._next:
            wait_us = self._next[0].delivery.wait_us(now_us())
            if wait_us:
                self.forget_next()
            return wait_us
        if ordered:
            return None
        without = (*self.taken, *self._unstorable)
        due_at = await stored(lambda: self._repository.next_due_at(self._target_id, without=without))
        return None if due_at is None else max(1, due_at - now_us())

    def take(self, most: int, *, ordered: bool) -> list[QueuedDelivery]:
        """The next deliveries that were read already and are due. They belong to the caller until `finish` or
        `release`."""
        if self._may_have_more and len(self._next) < _LOW and self._reading is None:
            self._read(ordered=ordered)
        taken: list[QueuedDelivery] = []
        now = now_us()
        while self._next and len(taken) < most and not self._next[0].delivery.wait_us(now):
            queued = self._next.popleft()
            self.taken.add(queued.delivery.id)
            taken.append(queued)
        return taken

    async def take_first(self) -> list[QueuedDelivery]:
        """The first delivery, also one that waits for its retry; none if none is queued. As `take`."""
        self.forget_next()
        await self._read(ordered=True)
        first = [self._next.popleft()] if self._next else []
        self.forget_next()
        self.taken.update(queued.delivery.id for queued in first)
        return first

    def forget_next(self) -> None:
        """Read the queue again before anything else is taken."""
        self._next.clear()
        self._reading, self._may_have_more = None, False

    def _read(self, *, ordered: bool) -> asyncio.Task[None]:
        """Read the next deliveries while others are being sent."""

        async def read() -> None:
            without = (*self.taken, *self._unstorable, *(one.delivery.id for one in self._next))
            due_at = None if ordered else now_us()
            found = await stored(
                lambda: self._repository.queued(self._target_id, _BATCH, due_at=due_at, without=without)
            )
            if self._reading is reading:
                self._reading = None
                self._next.extend(found)
                self._may_have_more = len(found) == _BATCH

        reading = self._reading = asyncio.create_task(read(), name=f"forward-{self._target_id}")
        self._readings.add(reading)
        reading.add_done_callback(self._readings.discard)
        return reading

    # -- storing -------------------------------------------------------------------------------------------------

    async def begin(self, queued: Sequence[QueuedDelivery]) -> list[QueuedDelivery]:
        """Mark taken deliveries as being sent; those that are still stored."""
        ids = [one.delivery.id for one in queued]
        try:
            begun = await stored(lambda: self._repository.begin(ids)) if ids else set[str]()
        except Exception:
            self._begun(queued, set())
            raise
        return self._begun(queued, begun)

    async def release(self, queued: Sequence[QueuedDelivery]) -> None:
        """Queue again what has begun and is not sent."""
        ids = [one.delivery.id for one in queued]
        if ids:
            await stored(lambda: self._repository.release(ids))
            self.taken.difference_update(ids)

    async def finish(
        self, ended: Sequence[tuple[Delivery, Made]], following: Sequence[QueuedDelivery] = ()
    ) -> list[QueuedDelivery]:
        """Store results and begin the following deliveries in one commit; which of these have begun. A result is tried
        until it is stored: a delivery that was sent must not be sent again because the disk is full."""
        if len(ended) == 1 and len(following) <= 1:
            return await self._finish_one(*ended[0], following)
        try:
            begun = await self._repository.finish_all(ended, then_begin=[one.delivery.id for one in following])
        except Exception as error:
            if not isinstance(error, StorageUnavailableError):
                log.exception("results of target %s could not be stored together", self._target_id)
            for one in ended:
                await self._finish_one(*one)
            return await self.begin(following)
        self.taken.difference_update(delivery.id for delivery, _ in ended)
        return self._begun(following, begun)

    async def _finish_one(
        self, after: Delivery, made: Made, following: Sequence[QueuedDelivery] = ()
    ) -> list[QueuedDelivery]:
        then_begin = following[0].delivery.id if following else None
        try:
            begun = await stored(lambda: self._repository.finish(after, made, then_begin=then_begin))
        except Exception as error:
            if isinstance(error, NotAllowedError):
                log.warning("the result of delivery %s could not be stored: %s", after.id, error)
            else:
                log.exception("the result of delivery %s could not be stored", after.id)
            self._unstorable.add(after.id)
            return await self.begin(following)
        finally:
            self.taken.discard(after.id)
        return self._begun(following, {then_begin} if then_begin and begun else set())

    def _begun(self, queued: Sequence[QueuedDelivery], begun: set[str]) -> list[QueuedDelivery]:
        """Those that have begun; the others are no longer stored."""
        self.taken.difference_update(one.delivery.id for one in queued if one.delivery.id not in begun)
        return [one for one in queued if one.delivery.id in begun]


class RateLimit:
    """`clock` counts seconds. A rate is requests a second, None: any number."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._next = clock, 0.0

    def wait_us(self, rate: float | None) -> int:
        """How long until the next request may leave."""
        if rate is None:
            return 0
        # The rate may have been lower when the last one left.
        return max(0, round(min(self._next - self._clock(), 1 / rate) * 1_000_000))

    def use(self, rate: float | None) -> None:
        """One leaves now. One that leaves a little late does not delay those after it."""
        if rate is not None:
            now = self._clock()
            late = 0 <= now - self._next < 1 / rate
            self._next = (self._next if late else now) + 1 / rate


_AHEAD, _AHEAD_MAX = 8, 64
"""How many deliveries may have begun and have no stored result: a multiple of `parallel`, and at most."""
_PROBE_S, _PROBE_MAX_S = 30.0, 600.0
"""A target that failures paused is tried again after the first, then after twice as long each time, up to the other."""
_GATHER_S = 0.01
"""How long a result may wait for others, while lanes have more to send."""


class TargetWorker:
    """Sends deliveries until none is queued, the target is paused, off or gone, or `stop_after_current` is called.

    In order, a delivery is sent once the result of the one before is stored, and one that waits for its retry holds up
    those after it. Otherwise the others go on, and results are stored together.
    """

    def __init__(
        self,
        target_id: int,
        store: Store,
        sender: LazySender,
        responses: TargetResponses,
        unstorable: set[str],
    ) -> None:
        """`unstorable`: see `TargetQueue`."""
        self._target_id, self._targets, self._sender, self._responses = target_id, store.targets, sender, responses
        self._queue = TargetQueue(target_id, store.deliveries, unstorable)
        self._loop = asyncio.get_running_loop()
        self._rate_limit = RateLimit(self._loop.time)
        self._probe_s = _PROBE_S
        self._probe_at: float | None = None
        """When the target is tried again while it is paused, on the loop's clock."""
        self._woken = asyncio.Event()
        self._requeued = False
        self._changes = 0
        """How often the target or what is queued for it has changed: a retry waits only until the next time."""
        self._stopping = False
        self._lanes: set[asyncio.Task[None]] = set()
        """Send one delivery after the other: one lane in order, or up to `parallel`."""
        self._ready: deque[QueuedDelivery] = deque()
        """What has begun and waits for a lane, unless sent in order."""
        self._ended: list[tuple[Delivery, Made]] = []
        """What the lanes have sent and is not yet stored, unless sent in order."""
        self._store_by = 0.0
        """When `_ended` is to be stored, on the loop's clock."""

    def wake(self, *, requeued: bool = False, removed: bool = False) -> None:
        """Look at the target and at the queue again. `requeued`: not only at its end. `removed`: deliveries may have
        been deleted."""
        self._requeued |= requeued
        self._changes += requeued or removed
        self._woken.set()

    def stop_after_current(self) -> None:
        """End after the current attempts; the rest stays queued."""
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        """Work until there is nothing to do."""
        try:
            while await self._turn():
                self._woken.clear()
                for lane in [lane for lane in self._lanes if lane.done()]:
                    self._lanes.remove(lane)
                    lane.result()
        except Exception:
            self._queue.give_up_taken()
            raise
        finally:
            self._queue.close()
            for task in self._lanes:
                task.cancel()

    async def _turn(self) -> bool:
        """Do what can be done, or else wait for a change; False when there is nothing to do."""
        target = self._usable()
        if target is None:
            self._responses.give_up(self._target_id)
            if not (self._lanes or self._ready or self._ended):
                return await self._probe()
        if target is None or (target.parallel is None and (self._ready or self._ended)):
            await self._end_sending_at_once()
            return True
        self._probe_at, self._probe_s = None, _PROBE_S
        if self._requeued:
            self._requeued = False
            self._queue.forget_next()
        if target.parallel is None:
            return await self._work_in_order(target)
        return await self._work_at_once(target, target.parallel)

    async def _change(self, within_s: float | None = None) -> None:
        """Wait until something changes, or for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._woken.wait()

    # -- several at once -----------------------------------------------------------------------------------------

    async def _work_at_once(self, target: Target, parallel: int) -> bool:
        """Store what has ended and begin the next in one commit, or wait for a change; False when nothing is queued."""
        for _ in range(min(len(self._ready), parallel - len(self._lanes))):
            self._add_lane(self._send_ready())
        # Fast lanes and the writer's thread would take the interpreter's lock from each other at every call of the
        # system, which costs more than taking turns.
        if self._ended and self._ready and (left := self._store_by - self._loop.time()) > 0:
            await self._change(left)
            return True
        # Twice as many as ended, so that the lanes have enough while results gather; few for a slow target.
        most = min(parallel + 2 * len(self._ended), _AHEAD * parallel, _AHEAD_MAX)
        room = most - (len(self._queue.taken) - len(self._ended))
        limited_us = self._rate_limit.wait_us(target.rate_limit)
        if target.rate_limit is not None:
            room = min(room, int(not limited_us and len(self._lanes) + len(self._ready) < parallel))
        following = self._queue.take(room, ordered=False)
        if following:
            self._rate_limit.use(target.rate_limit)
        if following or self._ended:
            ended, self._ended = self._ended, []
            self._ready += await self._queue.finish(ended, following)
            return True
        if limited_us:
            await self._change(limited_us / 1_000_000)
            return True
        wait_us = await self._queue.next_wait_us(ordered=False) if room > 0 else None
        if wait_us != 0:
            if wait_us is None and not self._lanes and not self._ended and not self._woken.is_set():
                return False
            await self._change(None if wait_us is None else max(0.001, wait_us / 1_000_000))
        return True

    async def _send_ready(self) -> None:
        """Send what is ready, one delivery after the other."""
        while (
            self._ready
            and (target := self._usable()) is not None
            and target.parallel is not None
            and target.parallel >= len(self._lanes)
        ):
            queued = self._ready.popleft()
            made = await self._sender.attempts(queued, target)
            self._ended.append((self._after(queued, made, target), made))
            if len(self._ended) == 1:
                self._store_by = self._loop.time() + _GATHER_S
            if len(self._ended) == 1 or not self._ready:
                self._woken.set()

    async def _end_sending_at_once(self) -> None:
        """Send nothing more of what is ready, and store what has ended."""
        ready, self._ready = self._ready, deque()
        await self._queue.release(ready)
        ended, self._ended = self._ended, []
        if ended:
            await self._queue.finish(ended)
        elif not ready:
            await self._change()

    # -- in order ------------------------------------------------------------------------------------------------

    async def _work_in_order(self, target: Target) -> bool:
        """Begin to send, or wait for a change; False when nothing is queued."""
        if self._lanes:
            await self._change()
            return True
        changes = self._changes
        wait_us = await self._queue.next_wait_us(ordered=True)
        if wait_us is None:
            return self._woken.is_set()
        if wait_us := max(wait_us, self._rate_limit.wait_us(target.rate_limit)):
            await self._wait(wait_us, changes)
            return True
        for first in self._queue.take(1, ordered=True):
            self._rate_limit.use(target.rate_limit)
            self._add_lane(self._send_in_order(first))
        return True

    async def _send_in_order(self, first: QueuedDelivery) -> None:
        """Send one delivery after the other, each until it has ended and that is stored.

        The next begins in the commit that stores the result of the one before, so that no more than one has begun: only
        that one is repeated if Hookline is killed.
        """
        begun = await self._queue.begin([first])
        while begun and (target := self._usable()) is not None:
            (current,) = begun
            changes = self._changes
            made = await self._sender.attempts(current, target)
            after = self._after(current, made, target)
            if after.state is DeliveryState.QUEUED:
                await self._queue.finish([(after, made)])
                begun = await self._wait_for_retry(replace(current, delivery=after), target, changes)
            else:
                begun = await self._queue.finish([(after, made)], self._following(target))
        await self._queue.release(begun)

    def _following(self, target: Target) -> list[QueuedDelivery]:
        """The next delivery in order, if it can begin now."""
        if self._stopping or target.parallel is not None or self._rate_limit.wait_us(target.rate_limit):
            return []
        following = self._queue.take(1, ordered=True)
        if following:
            self._rate_limit.use(target.rate_limit)
        return following

    async def _wait_for_retry(self, queued: QueuedDelivery, target: Target, changes: int) -> list[QueuedDelivery]:
        """Wait until it is due; empty if it cannot begin, or if the queue is to be read again because something has
        changed since there were `changes`."""
        self._queue.forget_next()
        self._queue.taken.add(queued.delivery.id)
        await self._wait(queued.delivery.wait_us(now_us()), changes)
        await self._wait(self._rate_limit.wait_us(target.rate_limit), changes)
        if self._changes == changes and self._usable() is not None:
            self._rate_limit.use(target.rate_limit)
            return await self._queue.begin([queued])
        self._queue.taken.discard(queued.delivery.id)
        return []

    async def _wait(self, wait_us: int, changes: int) -> None:
        """For so long, whatever the clock does meanwhile, unless something has changed since there were `changes`, or
        until the target cannot be used any more."""
        end = self._loop.time() + wait_us / 1_000_000
        while (left := end - self._loop.time()) > 0 and self._usable() is not None and self._changes == changes:
            self._woken.clear()
            await self._change(left)

    # -- a target that failures paused --------------------------------------------------------------------------

    async def _probe(self) -> bool:
        """Send the first delivery from time to time, even if it waits for its retry, and resume the target once that
        works; False when there is nothing to do. One that fails stays the first, and uses up nothing of its rule."""
        target = self._paused_by_failures()
        if target is None:
            return False
        if self._probe_at is None:
            self._probe_at = self._loop.time() + self._probe_s
        if (left := self._probe_at - self._loop.time()) > 0:
            await self._change(left)
            return True
        self._probe_at, self._probe_s = None, min(2 * self._probe_s, _PROBE_MAX_S)
        first = await self._queue.take_first()
        if not first:
            return self._woken.is_set()
        for queued in await self._queue.begin(first):
            made = await self._sender.attempts(queued, target)
            ended = self._after(queued, made, target)
            if ended.state not in (DeliveryState.DELIVERED, DeliveryState.NOT_SENT):
                before = queued.delivery
                ended = replace(
                    ended,
                    state=DeliveryState.QUEUED,
                    due_at=0,
                    round_attempts=before.round_attempts,
                    round_ms=before.round_ms or 0.0,
                    next_step="Tried again from time to time while the target is paused.",
                )
            await self._queue.finish([(ended, made)])
            if ended.state is DeliveryState.DELIVERED and self._paused_by_failures() is not None:
                await stored(lambda: self._targets.resume(self._target_id))
            elif ended.state is DeliveryState.NOT_SENT:  # which says nothing of the target
                self._probe_at = self._loop.time()
        return True

    def _paused_by_failures(self) -> Target | None:
        """The target, if it is to be tried again now and then."""
        target = self._targets.by_id(self._target_id)
        if target is None or not target.active or self._stopping:
            return None
        return target if target.paused is PausedBy.FAILURES and target.auto_resume else None

    # -- for both ------------------------------------------------------------------------------------------------

    def _add_lane(self, send: Coroutine[Any, Any, None]) -> None:
        lane = asyncio.create_task(send, name=f"forward-{self._target_id}")
        self._lanes.add(lane)
        lane.add_done_callback(lambda _: self._woken.set())

    def _usable(self) -> Target | None:
        """The target, if deliveries may be sent to it now."""
        target = self._targets.by_id(self._target_id)
        return target if target is not None and target.active and target.paused is None and not self._stopping else None

    def _after(self, queued: QueuedDelivery, made: Made, target: Target) -> Delivery:
        """The delivery after its attempt, whose response the sender gets if it waits for it."""
        ended = after(queued.delivery, made, target.retry)
        if ended.state is DeliveryState.QUEUED:
            changed = self._targets.by_id(self._target_id)
            if changed is not None and changed is not target and changed.draft() != target.draft():
                ended = replace(ended, due_at=0)  # as if it had waited already when that was saved
        if queued.delivery.attempts or not self._responses.announce(queued.capture.id, self._target_id, *made[-1]):
            return ended
        return replace(ended, responded=True)
