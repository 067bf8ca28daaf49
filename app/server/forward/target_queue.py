"""What is queued for one target: read ahead, begun before it is sent, and stored with its results.

Whatever the store cannot take is tried again until it can, or until the role in a team's store does not allow it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.delivery import Delivery, QueuedDelivery, ended_state
from app.core.errors import NotAllowedError, StorageUnavailableError
from app.core.model import DeliveryState
from app.core.retry import next_attempt, next_step, uses_retry
from app.core.target import RetryRule
from app.server.forward.lazy_sender import Made, stored

if TYPE_CHECKING:
    from app.db.deliveries.deliveries import Deliveries

log = logging.getLogger(__name__)


def after(delivery: Delivery, made: Made, retry: RetryRule | None) -> Delivery:
    """The delivery after its attempt: queued for its next attempt by the rule, or ended."""
    last = made[-1][0]
    round_attempts = delivery.round_attempts + (1 if uses_retry(last) or len(made) > 1 else 0)
    round_ms = delivery.round_ms or 0.0
    for attempt, _ in made:
        round_ms += attempt.ms
    wait_us, step = None, None
    if last.failure is not None and retry is not None:
        wait_us = next_attempt(retry, last, round_attempts=round_attempts, round_ms=round_ms, random=random.random)
        step = next_step(retry, last, round_attempts=round_attempts, retried=wait_us is not None)
    return replace(
        delivery,
        url=last.url,
        state=ended_state(last.failure) if wait_us is None else DeliveryState.QUEUED,
        due_at=0 if wait_us is None else last.ended_at + wait_us,
        attempts=last.number,
        round_attempts=round_attempts,
        round_ms=round_ms + (wait_us or 0) / 1_000,
        started_at=last.started_at,
        ms=last.ms,
        status=last.status,
        error=last.error,
        next_step=step,
        interrupted=False,
    )


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
