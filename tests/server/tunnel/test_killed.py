"""Nothing is left running after Hookline was killed, on any of its event loops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.tunnels import is_running

ROOT = Path(__file__).parents[3]
SCRIPT = """
import asyncio, json, os, sys
from pathlib import Path
from tests.server.tunnel.conftest import TunnelRig
from tests.tunnels import spec

async def main():
    rig = TunnelRig(Path(sys.argv[1]))
    await rig.open()
    service = await rig.use(spec("leaves children"))
    await service.start("stand-in")
    tunnel = await rig.until(lambda tunnel: tunnel.url is not None and len(tunnel.output) >= 4)
    processes = [int(line.split()[1]) for line in tunnel.output if line.startswith(("child", "me"))]
    folders = [str(folder) for folder in Path(os.environ["TMPDIR"]).glob("hookline-tunnel-*")]
    print(json.dumps([processes, folders]), flush=True)
    if sys.argv[3] == "kill":
        await asyncio.sleep(600)
    await rig.close()

if sys.argv[2] == "asyncio":
    asyncio.run(main())
else:
    from app.ui.loop import run
    from PySide6.QtWidgets import QApplication
    run(QApplication([]), main())
"""


@pytest.mark.parametrize("loop", ["asyncio", "window", "qasync"])
@pytest.mark.parametrize("end", ["kill", "close"])
def test_nothing_is_left(tmp_path: Path, loop: str, end: str) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"}
    if loop == "qasync":
        environment["HOOKLINE_EVENT_LOOP"] = "qasync"
    hookline = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path), loop, end], stdout=subprocess.PIPE, env=environment
    )
    assert hookline.stdout is not None
    with hookline:
        processes, folders = json.loads(hookline.stdout.readline())
        assert len(processes) == 3
        assert len(folders) == 1
        if end == "kill":
            assert all(map(is_running, processes))
            hookline.kill()
    until = time.monotonic() + 60
    while (any(map(is_running, processes)) or Path(folders[0]).exists()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [process for process in processes if is_running(process)]
    assert not list(temporary.iterdir())
