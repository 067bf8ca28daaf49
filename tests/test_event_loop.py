"""What is opened on an event loop in another thread is closed in order, however the caller ends."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from app.event_loop import opened_on_thread


@asynccontextmanager
async def resource(told: list[str], opening: threading.Event | None = None) -> AsyncIterator[str]:
    try:
        if opening is not None:
            opening.set()
            await asyncio.sleep(60)
        yield "open"
    finally:
        await asyncio.sleep(0.01)
        told.append("closed")


def test_it_is_closed_at_the_end_and_after_an_error() -> None:
    told: list[str] = []
    with opened_on_thread(lambda: resource(told)) as opened:
        assert (opened, told) == ("open", [])
    assert told == ["closed"]
    with pytest.raises(ZeroDivisionError), opened_on_thread(lambda: resource(told)):
        raise ZeroDivisionError
    assert told == ["closed", "closed"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals a thread")
def test_ctrl_c_while_it_is_opened_closes_it_in_order() -> None:
    assert _interrupted() == ["closed"]


def test_ctrl_c_just_as_its_thread_starts_is_raised_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        try:
            raise KeyboardInterrupt
        finally:
            threading.Lock().release()  # as Event.wait does when it is interrupted before it has its lock again

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt), opened_on_thread(lambda: resource(told)):
        pass
    assert told in ([], ["closed"])


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals a thread")
def test_ctrl_c_may_come_at_any_moment(request: pytest.FixtureRequest) -> None:
    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-6)  # threads take turns at every step
    assert [_interrupted() for _ in range(60)] == [["closed"]] * 60


def _interrupted() -> list[str]:
    """What was told of a resource that Ctrl-C interrupted while it was opened."""
    told: list[str] = []
    opening, caller = threading.Event(), threading.get_ident()

    def interrupt() -> None:
        opening.wait()
        signal.pthread_kill(caller, signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt), opened_on_thread(lambda: resource(told, opening)):
        pass
    thread.join()
    return told


def test_what_cannot_be_opened_or_closed_is_told() -> None:
    @asynccontextmanager
    async def broken(*, opens: bool) -> AsyncIterator[str]:
        if not opens:
            raise ZeroDivisionError
        yield "open"
        raise ZeroDivisionError

    for opens in (False, True):
        with pytest.raises(ZeroDivisionError), opened_on_thread(lambda: broken(opens=opens)):  # noqa: B023 - as above
            assert opens
