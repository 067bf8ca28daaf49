"""Background work: once for any number of wakes, again when woken meanwhile, never once stopped."""

from __future__ import annotations

import asyncio

from app.core.errors import StorageUnavailableError
from app.db.part import BackgroundWorker


class Work:
    """Counts how often it began, and lasts until it is let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.let_go = asyncio.Semaphore(0)
        self.worker = BackgroundWorker("work", self)

    async def __call__(self) -> None:
        self.begun += 1
        await self.let_go.acquire()

    async def runs_out(self) -> None:
        """Let it go as often as it begins."""
        while not self.worker.is_idle:
            self.let_go.release()
            await asyncio.sleep(0)


async def test_many_wakes_are_one_run_and_one_more_for_those_that_came_meanwhile() -> None:
    work = Work()
    for _ in range(3):
        work.worker.wake()
    await asyncio.sleep(0)
    assert (work.begun, work.worker.is_woken) == (1, False)
    for _ in range(3):
        work.worker.wake()
    assert work.worker.is_woken
    await work.runs_out()
    assert work.begun == 2


async def test_it_can_be_woken_again_once_it_has_ended() -> None:
    work = Work()
    for number in (1, 2):
        work.worker.wake()
        await asyncio.sleep(0)
        await work.runs_out()
        assert work.begun == number


async def test_stopping_ends_it_for_good() -> None:
    work = Work()
    await work.worker.stop()
    work.worker.wake()
    assert work.worker.is_idle
    again = Work()
    again.worker.wake()
    await asyncio.sleep(0)
    again.worker.wake()
    for _ in range(2):
        await again.worker.stop()
    again.worker.wake()
    await asyncio.sleep(0)
    assert again.worker.is_idle
    assert again.begun == 1


async def test_work_that_the_store_prevents_waits_for_the_next_wake() -> None:
    begun = 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise StorageUnavailableError("The disk is full.")

    worker = BackgroundWorker("work", work)
    for number in (1, 2):
        worker.wake()
        for _ in range(3):
            await asyncio.sleep(0)
        assert (begun, worker.is_idle) == (number, True)
