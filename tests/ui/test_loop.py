"""Callbacks, timers and threads on the Qt-driven loop, as asyncio promises them."""

from __future__ import annotations

import asyncio
import gc
import random
import threading

import pytest

from app.ui.loop import QtEventLoop
from tests.ui.from_qt import Caller
from tests.ui.stock_qasync import not_on_stock_qasync

pytestmark = pytest.mark.smoke


def live_handles() -> int:
    return sum(isinstance(thing, asyncio.Handle) for thing in gc.get_objects())


def test_callbacks_run_in_the_order_they_were_asked_for(run, loop):
    seen = []

    async def main():
        done = loop.create_future()
        for number in range(1000):
            loop.call_soon(seen.append, number)
            if number % 100 == 0:
                await asyncio.sleep(0)
        loop.call_soon(done.set_result, None)
        await done

    run(main())
    assert seen == list(range(1000))


def test_callbacks_asked_for_by_qt_keep_their_order_too(run, loop):
    seen = []

    async def main():
        done = loop.create_future()

        def from_qt():
            for number in range(100):
                loop.call_soon(seen.append, number)
            loop.call_soon(done.set_result, None)

        caller = Caller(from_qt)
        await asyncio.wait_for(done, 5)
        assert caller

    run(main())
    assert seen == list(range(100))


def test_a_timer_asked_for_by_qt_wakes_an_idle_loop(run, loop):
    async def main():
        done = loop.create_future()
        caller = Caller(lambda: loop.call_later(0.01, done.set_result, None))
        await asyncio.wait_for(done, 5)
        assert caller

    run(main())


@not_on_stock_qasync("fires timers up to 5 % early")
def test_timers_are_never_early_and_keep_their_order(run, loop):
    delays = [random.Random(7).uniform(0, 0.4) for _ in range(40)]
    fired = []

    async def main():
        start = loop.time()
        for delay in delays:
            loop.call_at(start + delay, lambda due: fired.append((due, loop.time())), start + delay)
        await asyncio.sleep(0.45)

    run(main())
    assert len(fired) == len(delays)
    assert all(at >= due for due, at in fired)
    assert [due for due, _ in fired] == sorted(due for due, _ in fired)


def test_a_shorter_timer_overtakes_a_longer_one_that_waits(run, loop):
    async def main():
        loop.call_later(30, print)
        start = loop.time()
        await asyncio.sleep(0.02)
        return loop.time() - start

    assert run(main()) < 5


@not_on_stock_qasync("keeps cancelled timers until their deadline")
def test_cancelled_timers_leave_nothing_behind(run, loop):
    async def main():
        for _ in range(100):
            for _ in range(100):
                loop.call_later(3600, print).cancel()
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)

    before = live_handles()
    run(main())
    assert live_handles() - before < 300


def test_other_threads_wake_an_idle_loop(run, loop):
    seen: dict[int, list[int]] = {name: [] for name in range(4)}

    async def main():
        done = [loop.create_future() for _ in seen]

        def work(name: int) -> None:
            for number in range(500):
                loop.call_soon_threadsafe(seen[name].append, number)
            loop.call_soon_threadsafe(done[name].set_result, None)

        threads = [threading.Thread(target=work, args=(name,)) for name in seen]
        await asyncio.sleep(0.05)
        for thread in threads:
            thread.start()
        await asyncio.wait_for(asyncio.gather(*done), 5)
        for thread in threads:
            thread.join()

    run(main())
    assert all(numbers == list(range(500)) for numbers in seen.values())


def test_what_threads_ask_for_between_two_runs_happens_in_the_next(run, loop):
    seen = []
    run(asyncio.sleep(0))
    thread = threading.Thread(target=loop.call_soon_threadsafe, args=(seen.append, 1))
    thread.start()
    thread.join()
    assert seen == []
    run(asyncio.sleep(0))
    assert seen == [1]


def test_threads_that_call_while_the_loop_closes_get_an_error_and_no_crash(qapp):
    for _ in range(20):
        loop = QtEventLoop(qapp)
        refused = threading.Event()

        def work(loop=loop, refused=refused):
            try:
                while True:
                    loop.call_soon_threadsafe(int)
            except RuntimeError:
                refused.set()

        thread = threading.Thread(target=work)
        thread.start()
        loop.run_until_complete(asyncio.sleep(0.002))
        loop.close()
        assert refused.wait(5)
        thread.join()
