"""Background tasks of the window: named and kept, their errors told, and all of them ended when a page closes."""

from __future__ import annotations

import asyncio
import logging

import pytest
from PySide6.QtWidgets import QApplication

from app.core.errors import StorageUnavailableError
from app.ui.messages import Messages
from app.ui.tasks import Tasks

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
