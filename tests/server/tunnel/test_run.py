"""One run of a program, seen from the loop."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from threading import Event as Flag

import pytest

from app.core.tunnel_program import OutputReader, Reading
from app.server.tunnel.guarded_process import GuardedProcess, new_folder
from app.server.tunnel.launch import Launch, Started
from app.server.tunnel.session import TunnelRun
from tests.tunnels import spec

LAUNCH = Launch(spec("silent"), sys.executable, {}, Path())
PATIENCE_S = 60.0
PRINT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); print('one')"
"""Stopped while it ends, Python would print where it was interrupted."""


async def test_what_is_read_after_the_stop_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[str, ...]] = []
    process = GuardedProcess([sys.executable, "-c", PRINT], os.environ, new_folder())
    run = TunnelRun(LAUNCH, Started(process, {}), publish_output=shown.append, publish_s=0.01)
    await run.stop()
    before = list(shown)
    run._take("stdout", ["late"])
    await asyncio.sleep(0.1)
    assert shown == before


async def test_the_loop_does_not_wait_for_lines_that_are_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    began, go = Flag(), Flag()

    def read(reader: OutputReader, stream: str, line: str) -> Reading:
        began.set()
        go.wait(PATIENCE_S)
        return reader.reading

    monkeypatch.setattr(OutputReader, "read", read)
    process = GuardedProcess([sys.executable, "-c", PRINT], os.environ, new_folder())
    run = TunnelRun(LAUNCH, Started(process, {}), publish_output=lambda _: None, publish_s=0.01)
    try:
        assert await asyncio.to_thread(began.wait, PATIENCE_S)
        assert run.output == ()
    finally:
        go.set()
        await run.stop()
    assert run.output == ("one",)
