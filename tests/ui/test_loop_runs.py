"""How a run of the Qt-driven loop begins, ends, fails and is closed."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.ui import loop as loop_module
from app.ui.loop import QtEventLoop
from tests.ui.from_qt import Caller
from tests.ui.stock_qasync import not_on_stock_qasync

pytestmark = pytest.mark.smoke


def test_run_until_complete_can_be_called_again_and_again(loop):
    assert [loop.run_until_complete(asyncio.sleep(0, number)) for number in range(50)] == list(range(50))


def test_a_run_inside_a_run_is_refused(run, loop):
    async def main():
        inner = asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="already running"):
            loop.run_until_complete(inner)
        inner.close()

    run(main())


@not_on_stock_qasync("does not notice")
def test_a_run_inside_qts_own_loop_is_refused(qapp, loop):
    errors = []

    def start():
        try:
            loop.run_forever()
        except RuntimeError as error:
            errors.append(str(error))
        qapp.exit()

    caller = Caller(start)
    qapp.exec()
    assert caller
    assert errors == ["Qt's event loop is running already; start this one outside of it"]
    loop.run_until_complete(asyncio.sleep(0))


def test_stop_from_a_slot_ends_the_run(loop):
    caller = Caller(loop.stop, after_ms=10)
    loop.run_forever()
    assert caller
    assert not loop.is_running()


@not_on_stock_qasync("forgets a stop before the run")
def test_stop_before_the_run_lets_one_iteration_happen(loop):
    seen = []
    loop.call_soon(seen.append, 1)
    loop.stop()
    loop.run_forever()
    assert seen == [1]


def test_quitting_the_application_stops_the_run_and_the_clean_up_still_happens(qapp):
    cleaned = []

    async def main():
        try:
            caller = Caller(qapp.quit)
            await asyncio.sleep(60)
            assert caller
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(True)

    with pytest.raises(RuntimeError, match="stopped before Future completed"):
        loop_module.run(qapp, main())
    assert cleaned == [True]


def test_an_exception_in_a_callback_reaches_the_handler_and_the_loop_goes_on(run, loop):
    contexts = []
    loop.set_exception_handler(lambda _, context: contexts.append(context["exception"]))

    def fail():
        raise ValueError("boom")

    async def main():
        loop.call_soon(fail)
        loop.call_later(0.001, fail)
        await asyncio.sleep(0.02)
        return "alive"

    assert run(main()) == "alive"
    assert [str(error) for error in contexts] == ["boom", "boom"]


def test_an_exception_of_the_main_coroutine_is_raised_by_run(run):
    async def main():
        await asyncio.sleep(0)
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        run(main())


@not_on_stock_qasync("leaves exits to Qt, which prints them")
@pytest.mark.parametrize("exit_type", [SystemExit, KeyboardInterrupt])
def test_exits_leave_through_the_run_and_the_loop_can_run_again(loop, exit_type):
    def leave():
        raise exit_type(3)

    loop.call_later(0.001, leave)
    with pytest.raises(exit_type):
        loop.run_forever()
    assert loop.run_until_complete(asyncio.sleep(0, "again")) == "again"


@not_on_stock_qasync("does not know of async generators")
def test_run_returns_the_result_cancels_leftovers_and_closes_generators(qapp):
    ended = []

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("task")

    async def numbers() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            ended.append("generator")

    async def main():
        task = asyncio.create_task(forever(), name="left over")
        generator = numbers()
        await anext(generator)
        await asyncio.to_thread(int)
        return task.get_name(), generator

    name, _ = loop_module.run(qapp, main())
    assert name == "left over"
    assert ended == ["task", "generator"]


def test_closing_twice_is_fine_and_gives_every_descriptor_back(qapp):
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    def one_life() -> None:
        loop = QtEventLoop(qapp)
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        loop.close()
        with pytest.raises(RuntimeError, match="closed"):
            loop.call_soon(print)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    one_life()
    before = descriptors()
    for _ in range(50):
        one_life()
    assert descriptors() == before


@not_on_stock_qasync("takes calls from other threads")
def test_debug_mode_names_slow_callbacks_and_refuses_calls_from_other_threads(run, loop, caplog):
    import time

    async def main():
        loop.slow_callback_duration = 0.01
        loop.call_soon(time.sleep, 0.03)
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="Non-thread-safe"):
            await asyncio.to_thread(loop.call_soon, print)

    loop.set_debug(True)
    with caplog.at_level(logging.WARNING, "asyncio"):
        run(main())
    assert any("sleep" in record.getMessage() and "took" in record.getMessage() for record in caplog.records)


def test_the_last_window_does_not_end_the_program(run, qapp: QApplication):
    assert run(asyncio.sleep(0, "ran")) == "ran"
    assert not qapp.quitOnLastWindowClosed()
