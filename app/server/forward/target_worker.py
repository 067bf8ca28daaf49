"""Sends what is queued for one target: in order, or several at once."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.errors import StorageUnavailableError
from app.core.model import Attempt, AttemptTrigger, Delivery, DeliveryState, FailureKind, QueuedDelivery, Target
from app.core.repositories import DeliveryRepository, TargetRepository
from app.core.retry import next_attempt, uses_retry
from app.server.forward.lazy_sender import LazySender
from app.server.target_responses import TargetResponses

log = logging.getLogger(__name__)
T = TypeVar("T")
Made = list[tuple[Attempt, bytes]]

_BATCH, _LOW = 50, 20
"""How many deliveries are read at once, and how few are left when the next are read."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.25, 30.0


class TargetWorker:
    """Sends deliveries until none is queued, the target is paused, off or gone, or `stop_after_current` is called.

    With `parallel` 1 a delivery that waits for its retry holds up those after it, so that they keep their order;
    otherwise the others go on. `unstorable` outlives the worker: ids of deliveries that were sent and whose result
    cannot be stored.
    """

    def __init__(
        self,
        target_id: int,
        targets: TargetRepository,
        queue: DeliveryRepository,
        sender: LazySender,
        *,
        responses: TargetResponses,
        unstorable: set[str],
    ) -> None:
        self._target_id, self._targets, self._queue, self._sender = target_id, targets, queue, sender
        self._responses, self._unstorable = responses, unstorable
        self._woken = asyncio.Event()
        self._requeued = False
        self._stopping = False
        self._next: deque[QueuedDelivery] = deque()
        self._reading: asyncio.Task[None] | None = None
        """Adds to `_next`."""
        self._may_have_more = False
        self._sending: set[str] = set()
        """Ids of those that have begun or are about to, until their result is stored."""
        self._lanes: set[asyncio.Task[None]] = set()
        self._others: set[asyncio.Task[Any]] = set()

    def wake(self, *, requeued: bool = False) -> None:
        """Look at the target and at the queue again. `requeued`: not only at its end."""
        self._requeued |= requeued
        self._woken.set()

    def stop_after_current(self) -> None:
        """End after the current attempts; the rest stays queued."""
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        """Work until there is nothing to do."""
        try:
            while (target := self._usable()) is not None or self._lanes:
                if target is None:
                    self._responses.give_up(self._target_id)
                    await self._change()
                elif not await self._work(target):
                    return
        finally:
            for task in (*self._lanes, *self._others):
                task.cancel()

    async def _work(self, target: Target) -> bool:
        """Begin a lane if there is something to send, or wait for a change; False when nothing is queued."""
        self._woken.clear()
        if self._requeued:
            self._requeued = False
            self._forget_next()
        due_at = None
        if len(self._lanes) < target.parallel:
            queued, due_at = await self._take(target)
            if queued is not None:
                send = self._send_in_order if target.parallel == 1 else self._send_one_by_one
                lane = asyncio.create_task(send(queued), name=f"forward-{self._target_id}")
                self._lanes.add(lane)
                lane.add_done_callback(lambda _: self._woken.set())
                return True
        if self._lanes:
            await self._change(due_at)
        elif not self._woken.is_set():
            if due_at is None:
                return False
            if target.parallel == 1:
                await self._wait_until(due_at, or_requeued=True)
            else:
                await self._change(due_at)
        return True

    async def _change(self, due_at: int | None = None) -> None:
        """Wait until then or until something changes, and remove the lanes that have ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(None if due_at is None else max(0.001, (due_at - now_us()) / 1_000_000)):
                await self._woken.wait()
        self._woken.clear()
        for lane in [lane for lane in self._lanes if lane.done()]:
            self._lanes.remove(lane)
            lane.result()

    async def _send_one_by_one(self, first: QueuedDelivery) -> None:
        """Send one delivery after the other; each begins with the commit of the one before."""
        begun = bool(await self._stored(lambda: self._queue.begin([first.delivery.id])))
        current: QueuedDelivery | None = first
        while current is not None:
            target = self._usable()
            if not begun or target is None:
                await self._release(current)
                return
            made = await self._attempt(current, target)
            following = self._following(target)
            begun = await self._finish(self._after(current, made, target), made, following)
            current = following

    async def _send_in_order(self, first: QueuedDelivery) -> None:
        """Send one delivery after the other, each until it has ended and that is stored.

        The next begins in the commit that stores the result of the one before, so that no more than one has begun: only
        that one is repeated if Hookline is killed.
        """
        begun = await self._stored(lambda: self._queue.begin([first.delivery.id]))
        current = self._if_begun(first, begun)
        while current is not None and (target := self._usable()) is not None:
            made = await self._attempt(current, target)
            after = self._after(current, made, target)
            if after.state is DeliveryState.QUEUED:
                await self._finish(after, made, None)
                current = await self._wait_for_retry(replace(current, delivery=after))
                continue
            following = self._following(target)
            has_begun = await self._finish(after, made, following)
            current = self._if_begun(following, {following.delivery.id} if following and has_begun else set())
        await self._release(current)

    async def _wait_for_retry(self, queued: QueuedDelivery) -> QueuedDelivery | None:
        """Wait until it is due. None if it cannot begin."""
        self._forget_next()
        delivery = queued.delivery
        self._sending.add(delivery.id)
        await self._wait_until(delivery.due_at)
        begun: set[str] = set()
        if self._usable() is not None:
            begun = await self._stored(lambda: self._queue.begin([delivery.id]))
        return self._if_begun(queued, begun)

    def _if_begun(self, queued: QueuedDelivery | None, begun: set[str]) -> QueuedDelivery | None:
        if queued is None or queued.delivery.id in begun:
            return queued
        self._sending.discard(queued.delivery.id)
        return None

    async def _release(self, *begun: QueuedDelivery | None) -> None:
        """Queue again what has begun and is not sent."""
        ids = [one.delivery.id for one in begun if one is not None]
        if ids:
            await self._stored(lambda: self._queue.release(ids))
            self._sending.difference_update(ids)

    async def _attempt(self, queued: QueuedDelivery, target: Target) -> Made:
        delivery = queued.delivery

        async def keep(attempt: Attempt) -> None:
            await self._stored(lambda: self._queue.add_attempt(delivery, attempt))

        while True:
            try:
                return await self._sender.attempt(
                    queued, target, delivery.next_trigger, delivery.attempts + 1, before_resend=keep
                )
            except StorageUnavailableError:
                await asyncio.sleep(_FIRST_WAIT_S)
            except Exception as error:
                log.exception("forwarding of %s failed", delivery.capture_id)
                return [(_internal_failure(delivery, target, queued.capture.method, error), b"")]

    async def _finish(self, after: Delivery, made: Made, following: QueuedDelivery | None) -> bool:
        """Retry until it is stored: a delivery that was sent must not be sent again because the disk is full. Returns
        whether the next has begun."""
        then_begin = following.delivery.id if following is not None else None
        try:
            return await self._stored(lambda: self._queue.finish(after, made, then_begin=then_begin))
        except Exception:
            log.exception("the result of delivery %s could not be stored", after.id)
            self._unstorable.add(after.id)
            return then_begin is not None and bool(await self._stored(lambda: self._queue.begin([then_begin])))
        finally:
            self._sending.discard(after.id)

    async def _take(self, target: Target) -> tuple[QueuedDelivery | None, int | None]:
        """The next delivery to send, or when the next one is due (None: there is none)."""
        ordered = target.parallel == 1
        if not self._next and self._reading is not None:
            await self._reading
        if not self._next:  # what was read before may be too old to know of the newest
            await self._read(target)
            if not self._next and not ordered:
                without = (*self._sending, *self._unstorable)
                return None, await self._stored(lambda: self._queue.next_due_at(target.id, without=without))
        if self._next and (due_at := self._next[0].delivery.due_at) > now_us():
            self._forget_next()
            return None, due_at
        return self._following(target), None

    def _following(self, target: Target) -> QueuedDelivery | None:
        """The next delivery that was read already; None if it has to wait."""
        if self._may_have_more and len(self._next) < _LOW and self._reading is None:
            self._read(target)
        if not self._next or self._stopping or len(self._lanes) > target.parallel:
            return None
        if self._next[0].delivery.due_at > now_us():
            return None
        queued = self._next.popleft()
        self._sending.add(queued.delivery.id)
        return queued

    def _read(self, target: Target) -> asyncio.Task[None]:
        """Read the next deliveries while others are being sent."""

        async def read() -> None:
            without = (*self._sending, *self._unstorable, *(one.delivery.id for one in self._next))
            due_at = None if target.parallel == 1 else now_us()
            found = await self._stored(lambda: self._queue.queued(target.id, _BATCH, due_at=due_at, without=without))
            if self._reading is reading:
                self._reading = None
                self._next.extend(found)
                self._may_have_more = len(found) == _BATCH

        reading = self._reading = self._task(read())
        return reading

    def _forget_next(self) -> None:
        """Read the queue again before anything else is sent."""
        self._next.clear()
        self._reading, self._may_have_more = None, False

    def _task(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work, name=f"forward-{self._target_id}")
        self._others.add(task)
        task.add_done_callback(self._others.discard)
        return task

    def _usable(self) -> Target | None:
        """The target, if deliveries may be sent to it now."""
        target = self._targets.by_id(self._target_id)
        return target if target is not None and target.active and target.paused is None and not self._stopping else None

    def _after(self, queued: QueuedDelivery, made: Made, target: Target) -> Delivery:
        """The delivery after its attempt, whose response the sender gets if it waits for it."""
        after = _after(queued.delivery, made, target)
        if queued.delivery.attempts or not self._responses.announce(queued.capture.id, self._target_id, *made[-1]):
            return after
        return replace(after, responded=True)

    async def _wait_until(self, due_at: int, *, or_requeued: bool = False) -> None:
        """Until then, or until the target cannot be used any more."""
        while (left := (due_at - now_us()) / 1_000_000) > 0 and self._usable() is not None:
            if or_requeued and self._requeued:
                return
            self._woken.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._woken.wait()

    async def _stored(self, call: Callable[[], Awaitable[T]]) -> T:
        """The result of `call`, repeated while the store is unavailable."""
        wait = _FIRST_WAIT_S
        while True:
            try:
                return await call()
            except StorageUnavailableError:
                await asyncio.sleep(wait)
                wait = min(wait * 2, _LONGEST_WAIT_S)


def _after(delivery: Delivery, made: Made, target: Target) -> Delivery:
    """The delivery after its attempt: delivered, queued for its next attempt, or failed."""
    last = made[-1][0]
    round_attempts = delivery.round_attempts + (1 if uses_retry(last) or len(made) > 1 else 0)
    round_started_at = delivery.round_started_at or made[0][0].started_at
    state, due_at = DeliveryState.DELIVERED, None
    if last.failure is not None:
        due_at = next_attempt(
            target.retry,
            last,
            round_attempts=round_attempts,
            round_started_at=round_started_at,
            now_us=now_us(),
            random=random.random,
        )
        state = DeliveryState.FAILED if due_at is None else DeliveryState.QUEUED
    return replace(
        delivery,
        url=last.url,
        state=state,
        due_at=due_at or 0,
        attempts=last.number,
        round_attempts=round_attempts,
        round_started_at=round_started_at,
        started_at=last.started_at,
        ms=last.ms,
        status=last.status,
        error=last.error,
    )


def _internal_failure(delivery: Delivery, target: Target, method: str, error: Exception) -> Attempt:
    """An attempt that failed by an error in this program, so that it is visible and does not block the next."""
    return Attempt(
        delivery_id=delivery.id,
        number=delivery.attempts + 1,
        trigger=delivery.next_trigger if delivery.attempts else AttemptTrigger.FORWARD,
        started_at=now_us(),
        ms=0.0,
        method=method,
        url=delivery.request_url(target),
        failure=FailureKind.INTERNAL,
        error=f"Hookline could not forward this request because of an internal error: {type(error).__name__}: {error}",
    )
