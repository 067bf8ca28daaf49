"""Background tasks of the window: named and kept, their errors told, and ended with the widget that waits for them."""

from __future__ import annotations

import asyncio
import logging
import threading
from functools import partial

import pytest
import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from shiboken6 import isValid

from app.core.errors import NotAllowedError, NotFoundError, StorageUnavailableError
from app.ui.messages import UNAVAILABLE_KEY, Messages
from app.ui.tasks import Latest, Tasks, cancel_unless_there, in_thread, unless_cancelled
from tests.ui.waiting import settle, until

# A `cancel_all` that spins gives the loop no turn, so no time limit of asyncio's would end the test.
pytestmark = [pytest.mark.smoke, pytest.mark.timeout(10)]


@pytest.fixture
def tasks(qapp: QApplication) -> Tasks:
    return Tasks(Messages())


def texts(tasks: Tasks) -> list[str]:
    return [message.text for message in tasks.messages.waiting()]


async def ended(task: asyncio.Task[None]) -> None:
    """Wait until `task` has ended and its callbacks have run."""
    await asyncio.wait([task])


async def nothing() -> None:
    """Ends in its first step."""


async def test_a_task_is_named_and_kept_while_it_runs(tasks: Tasks) -> None:
    task = tasks.start(nothing(), "do nothing")
    assert task.get_name() == "do nothing"
    assert tasks.running() == 1
    await ended(task)
    assert tasks.running() == 0


async def test_an_error_of_the_users_world_is_said_in_its_words(tasks: Tasks) -> None:
    async def fail() -> None:
        raise StorageUnavailableError("The disk is full.")

    await ended(tasks.start(fail(), "fail"))
    assert tasks.running() == 0
    assert texts(tasks) == ["The disk is full."]


async def test_a_bug_is_logged_with_its_traceback_and_said(tasks: Tasks, caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ZeroDivisionError("oops")

    with caplog.at_level(logging.ERROR, logger="app.ui.tasks"):
        await ended(tasks.start(fail(), "the work"))
    assert texts(tasks) == ["Something went wrong in Hookline: ZeroDivisionError: oops"]
    assert "the work" in caplog.text
    assert "Traceback" in caplog.text


async def test_cancelling_all_ends_what_waits_and_says_nothing_of_it(tasks: Tasks) -> None:
    sleeping = [tasks.start(asyncio.sleep(60), f"sleep {number}") for number in range(3)]
    await tasks.cancel_all()
    assert all(task.cancelled() for task in sleeping)
    assert tasks.running() == 0
    assert texts(tasks) == []


async def test_cancelling_all_with_no_task_returns(tasks: Tasks) -> None:
    await tasks.cancel_all()
    assert tasks.running() == 0


async def test_cancelling_all_returns_when_a_task_ends_in_that_very_turn(tasks: Tasks) -> None:
    task = tasks.start(nothing(), "ends at once")
    await tasks.cancel_all()
    assert task.done()
    assert not task.cancelled()
    assert tasks.running() == 0


async def test_the_error_of_a_task_that_ends_in_that_very_turn_is_said(tasks: Tasks) -> None:
    async def fail() -> None:
        raise StorageUnavailableError("The disk is full.")

    tasks.start(fail(), "fails at once")
    await tasks.cancel_all()
    assert texts(tasks) == ["The disk is full."]


async def test_cancelling_all_ends_what_an_ending_task_starts(tasks: Tasks) -> None:
    async def start_another() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            tasks.start(asyncio.sleep(60), "started late")

    tasks.start(start_another(), "starts another")
    await tasks.cancel_all()
    assert tasks.running() == 0


async def test_what_was_just_started_takes_its_first_step_before_it_is_cancelled(tasks: Tasks) -> None:
    steps: list[str] = []

    async def save() -> None:
        steps.append("handed over")
        await asyncio.sleep(60)
        steps.append("never")

    tasks.start(save(), "save a note")
    await tasks.cancel_all()
    assert steps == ["handed over"]


async def delete(owner: QObject) -> None:
    """Delete it as Qt deletes a dialog that was closed."""
    owner.deleteLater()
    await until(lambda: not isValid(owner))


class Gate:
    """A read that waits for `open`, then notes its name in `shown`."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.begun: list[str] = []
        self.shown: list[str] = []

    async def read(self, name: str) -> None:
        self.begun.append(name)
        await self.open.wait()
        self.shown.append(name)


@pytest.fixture
def owner(qapp: QApplication) -> QObject:
    return QObject()


@pytest.fixture
def latest(owner: QObject, tasks: Tasks) -> Latest:
    return Latest(owner, tasks, "read")


@pytest.mark.parametrize("kind", [QObject, QWidget, QDialog])
async def test_a_task_ends_with_its_owner(tasks: Tasks, kind: type[QObject]) -> None:
    gate, owner = Gate(), kind()
    task = tasks.start(gate.read("a"), "read", owner)
    await until(lambda: gate.begun)
    await delete(owner)
    await ended(task)
    assert task.cancelled()
    assert tasks.running() == 0
    assert texts(tasks) == []


async def test_a_task_ends_with_the_window_of_its_owner(tasks: Tasks) -> None:
    gate, window = Gate(), QWidget()
    task = tasks.start(gate.read("a"), "read", QObject(window))
    await until(lambda: gate.begun)
    await delete(window)
    await ended(task)
    assert task.cancelled()


async def test_a_result_that_is_there_when_the_owner_is_deleted_is_dropped(tasks: Tasks, owner: QObject) -> None:
    gate = Gate()
    task = tasks.start(gate.read("a"), "read", owner)
    await until(lambda: gate.begun)
    gate.open.set()
    shiboken6.delete(owner)
    await ended(task)
    assert gate.shown == []


async def test_a_task_that_has_ended_is_no_longer_tied_to_its_owner(tasks: Tasks, owner: QObject) -> None:
    tied = []
    for _ in range(3):
        await ended(tasks.start(nothing(), "do nothing", owner))
        tied.append(owner.receivers("2destroyed(QObject*)"))
    assert tied[0] == tied[-1]


class TestLatest:
    async def test_the_newest_is_shown(self, tasks: Tasks, latest: Latest) -> None:
        gate = Gate()
        for name in "abc":
            latest.run(partial(gate.read, name))
        gate.open.set()
        await until(lambda: not tasks.running())
        assert gate.begun == gate.shown == ["c"]

    async def test_a_newer_one_ends_the_one_that_is_read(self, tasks: Tasks, latest: Latest) -> None:
        gate = Gate()
        latest.run(partial(gate.read, "a"))
        await until(lambda: gate.begun)
        latest.run(partial(gate.read, "b"))
        gate.open.set()
        await until(lambda: not tasks.running())
        assert gate.begun == ["a", "b"]
        assert gate.shown == ["b"]

    async def test_the_one_before_has_ended_when_the_next_begins(self, tasks: Tasks, latest: Latest) -> None:
        go, computing, most = threading.Event(), 0, 0
        begun = threading.Event()

        def compute() -> None:
            nonlocal computing, most
            computing += 1
            most = max(most, computing)
            begun.set()
            go.wait(20)
            computing -= 1

        async def work() -> None:
            await in_thread(compute)

        latest.run(work)
        await until(begun.is_set)
        for _ in range(3):
            latest.run(work)
            await asyncio.sleep(0)
        go.set()
        await until(lambda: not tasks.running())
        assert most == 1

    async def test_stopping_ends_it(self, tasks: Tasks, latest: Latest) -> None:
        gate = Gate()
        latest.run(partial(gate.read, "a"))
        await until(lambda: gate.begun)
        assert latest.running
        latest.stop()
        assert not latest.running
        gate.open.set()
        await until(lambda: not tasks.running())
        assert gate.shown == []

    async def test_it_ends_with_its_owner(self, tasks: Tasks, owner: QObject, latest: Latest) -> None:
        gate = Gate()
        latest.run(partial(gate.read, "a"))
        await until(lambda: gate.begun)
        await delete(owner)
        gate.open.set()
        await until(lambda: not tasks.running())
        assert gate.shown == []

    async def test_it_may_start_the_next_itself(self, tasks: Tasks, latest: Latest) -> None:
        gate = Gate()
        gate.open.set()

        async def first() -> None:
            latest.run(partial(gate.read, "next"))

        latest.run(first)
        await until(lambda: gate.shown)
        assert gate.shown == ["next"]

    @pytest.mark.parametrize(
        ("error", "told"),
        [
            (NotFoundError("This request is no longer stored."), []),
            (NotAllowedError("Your role may not."), ["Your role may not."]),
        ],
    )
    async def test_what_was_deleted_while_it_was_read_is_no_error(
        self, tasks: Tasks, latest: Latest, error: Exception, told: list[str]
    ) -> None:
        gate = Gate()
        gate.open.set()

        async def fails() -> None:
            raise error

        latest.run(fails)
        await until(lambda: not latest.running)
        latest.run(partial(gate.read, "next"))
        await until(lambda: gate.shown)
        assert texts(tasks) == told

    async def test_what_cannot_be_read_now_is_read_again_and_told_once(
        self, tasks: Tasks, latest: Latest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.ui.tasks.AGAIN_S", 0.01)
        failures, seen = [1, 2, 3], list[list[str]]()

        async def read() -> None:
            seen.append(texts(tasks))
            if failures:
                raise StorageUnavailableError(f"The server is gone: {failures.pop()}.")

        latest.run(read)
        await until(lambda: not latest.running)
        assert seen == [[], *[["The server is gone: 3."]] * 3]
        assert texts(tasks) == []

    @pytest.mark.parametrize("first", ["list", "body"])
    async def test_what_cannot_be_read_is_told_until_that_is_read(
        self, tasks: Tasks, owner: QObject, monkeypatch: pytest.MonkeyPatch, first: str
    ) -> None:
        """Two of them, of which one can be read first."""
        monkeypatch.setattr("app.ui.tasks.AGAIN_S", 0.01)
        readable = set[str]()

        async def read(name: str) -> None:
            if name not in readable:
                raise StorageUnavailableError(f"The {name} cannot be read.")

        reads = {name: Latest(owner, tasks, f"read the {name}") for name in ("list", "body")}
        for name, latest in reads.items():
            latest.run(partial(read, name))
            await until(lambda name=name: texts(tasks) == [f"The {name} cannot be read."])
        (second,) = reads.keys() - {first}
        readable.add(first)
        await until(lambda: not reads[first].running)
        assert texts(tasks) == [f"The {second} cannot be read."]
        readable.add(second)
        await until(lambda: not reads[second].running)
        assert texts(tasks) == []

    async def test_a_message_that_was_closed_does_not_come_back_for_another_read(
        self, tasks: Tasks, owner: QObject, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.ui.tasks.AGAIN_S", 0.01)
        readable = set[int]()

        async def read(number: int) -> None:
            if number not in readable:
                raise StorageUnavailableError("The server is gone.")

        reads = [Latest(owner, tasks, "read") for _ in range(2)]
        for number, latest in enumerate(reads):
            latest.run(partial(read, number))
        await until(lambda: texts(tasks) == ["The server is gone."])
        await settle()
        tasks.messages.withdraw(UNAVAILABLE_KEY)
        readable.add(0)
        await until(lambda: not reads[0].running)
        assert texts(tasks) == []
        reads[1].stop()
        await until(lambda: not tasks.running())

    @pytest.mark.parametrize("end", ["superseded", "stopped", "deleted"])
    async def test_nothing_is_told_of_what_is_no_longer_read(self, tasks: Tasks, latest: Latest, end: str) -> None:
        errors: list[Exception] = [NotFoundError("It was deleted."), StorageUnavailableError("The server is gone.")]

        async def read() -> None:
            raise errors.pop()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("app.ui.tasks.AGAIN_S", 0.01 if end == "deleted" else 60)
            latest.run(read)
            await until(lambda: texts(tasks))
            if end == "stopped":
                latest.stop()
            elif end == "superseded":
                latest.run(partial(asyncio.sleep, 0))
            await until(lambda: not tasks.running())
        assert texts(tasks) == []

    @pytest.mark.parametrize("stopped", [False, True])
    async def test_what_is_next_begins_once_the_one_before_has_ended(self, latest: Latest, stopped: bool) -> None:
        gate = Gate()
        latest.run_next(partial(gate.read, "a"))
        await until(lambda: gate.begun)
        for name in ("b", "c"):
            latest.run_next(partial(gate.read, name))
        await settle()
        assert gate.begun == ["a"]
        if stopped:
            latest.stop()
        gate.open.set()
        await until(lambda: not latest.running)
        await settle()
        assert (gate.begun, gate.shown) == ((["a"], []) if stopped else (["a", "c"], ["a", "c"]))

    async def test_what_does_more_than_read_is_not_done_again(self, tasks: Tasks, owner: QObject) -> None:
        latest, done = Latest(owner, tasks, "send", only_reads=False), list[int]()

        async def send() -> None:
            done.append(1)
            raise StorageUnavailableError("The server is gone.")

        latest.run(send)
        await until(lambda: not latest.running)
        assert (done, texts(tasks)) == ([1], ["The server is gone."])


class TestCompleting:
    async def test_it_returns_what_the_work_returns(self, tasks: Tasks, owner: QObject) -> None:
        async def work() -> int:
            return 3

        assert await tasks.complete(work(), owner) == 3

    async def test_its_error_is_the_callers(self, tasks: Tasks, owner: QObject) -> None:
        async def fail() -> None:
            raise StorageUnavailableError("The disk is full.")

        with pytest.raises(StorageUnavailableError):
            await tasks.complete(fail(), owner)
        assert texts(tasks) == []

    async def test_it_goes_on_when_the_owner_is_deleted(self, tasks: Tasks, owner: QObject) -> None:
        gate, after = Gate(), False

        async def save() -> None:
            nonlocal after
            await tasks.complete(gate.read("saved"), owner)
            after = True

        task = tasks.start(save(), "save")
        await until(lambda: gate.begun)
        await delete(owner)
        gate.open.set()
        await ended(task)
        assert gate.shown == ["saved"]
        assert not after
        assert task.cancelled()

    async def test_its_error_is_said_when_the_owner_is_deleted(self, tasks: Tasks, owner: QObject) -> None:
        go = asyncio.Event()

        async def fail() -> None:
            await go.wait()
            raise StorageUnavailableError("The disk is full.")

        task = tasks.start(tasks.complete(fail(), owner), "save")
        await delete(owner)
        go.set()
        await ended(task)
        assert texts(tasks) == ["The disk is full."]
        assert task.cancelled()


async def test_what_has_no_window_any_more_is_cancelled(tasks: Tasks, owner: QObject) -> None:
    async def ask() -> None:
        cancel_unless_there(owner)

    there = tasks.start(ask(), "ask")
    await ended(there)
    assert not there.cancelled()
    await delete(owner)
    gone = tasks.start(ask(), "ask")
    await ended(gone)
    assert gone.cancelled()
    assert texts(tasks) == []


@pytest.mark.parametrize(("error", "calls"), [(None, 1), (ZeroDivisionError(), 1), (asyncio.CancelledError(), 0)])
def test_what_follows_in_any_case_does_not_follow_a_cancelled_task(error: BaseException | None, calls: int) -> None:
    called: list[int] = []

    def work() -> None:
        with unless_cancelled(called.append, 1):
            if error is not None:
                raise error

    if error is None:
        work()
    else:
        with pytest.raises(type(error)):
            work()
    assert called == [1] * calls


async def test_a_thread_that_has_not_begun_never_does_when_its_task_is_cancelled(tasks: Tasks) -> None:
    go, called = threading.Event(), []
    loop = asyncio.get_running_loop()
    busy = [loop.run_in_executor(None, go.wait, 20) for _ in range(40)]
    task = tasks.start(in_thread(called.append, 1), "compute")
    await asyncio.sleep(0)
    task.cancel()
    await ended(task)
    go.set()
    await asyncio.gather(*busy)
    assert called == []


async def test_the_error_of_a_thread_whose_task_is_cancelled_is_not_said(tasks: Tasks) -> None:
    go, begun = threading.Event(), threading.Event()

    def fail() -> None:
        begun.set()
        go.wait(20)
        raise ZeroDivisionError

    task = tasks.start(in_thread(fail), "compute")
    await until(begun.is_set)
    task.cancel()
    go.set()
    await ended(task)
    assert task.cancelled()
    assert texts(tasks) == []
