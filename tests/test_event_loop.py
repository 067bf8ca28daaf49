"""What is opened on an event loop in another thread is closed in order, however the caller ends."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager

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
        await asyncio.sleep(0.05)
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
def test_ctrl_c_while_it_is_opened_closes_it_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    cancel = Future.cancel

    def cancelled(future: Future[object]) -> bool:
        """The loop may be as fast as it can."""
        done = cancel(future)
        time.sleep(0.02)
        return done

    monkeypatch.setattr(Future, "cancel", cancelled)
    told: list[str] = []
    opening = threading.Event()
    caller = threading.get_ident()

    def interrupt() -> None:
        opening.wait()
        signal.pthread_kill(caller, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt), opened_on_thread(lambda: resource(told, opening)):
        pass
    assert told == ["closed"]
