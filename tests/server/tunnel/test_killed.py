"""Nothing is left running after Hookline was killed, on any of its event loops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.tunnels import is_running

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SCRIPT = """
import asyncio, json, os, sys
from pathlib import Path
from tests.server.tunnel.conftest import TunnelRig
from tests.tunnels import spec

async def main():
    rig = TunnelRig(Path(sys.argv[1]))
    await rig.open()
    service = await rig.use(spec(sys.argv[4]))
    await service.start("stand-in")
    tunnel = await rig.until(lambda tunnel: any("your url" in line for line in tunnel.output))
    processes = [int(line.split()[1]) for line in tunnel.output if line.startswith(("child", "me"))]
    folders = [str(folder) for folder in Path(os.environ["TMPDIR"]).glob("hookline-tunnel-*")]
    cgroup = service._session._run._process._cgroup
    print(json.dumps([processes, folders, cgroup and str(cgroup)]), flush=True)
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


@pytest.mark.parametrize(
    ("loop", "mode"),
    [
        *((loop, "leaves children") for loop in ("asyncio", "window")),
        pytest.param("qasync", "leaves children", marks=pytest.mark.long),
        pytest.param("asyncio", "hides children", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("end", ["kill", "close"])
def test_nothing_is_left(tmp_path: Path, loop: str, mode: str, end: str) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"}
    if loop == "qasync":
        environment["HOOKLINE_EVENT_LOOP"] = "qasync"
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), loop, end, mode]
    hookline = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    assert hookline.stdout is not None
    with hookline:
        processes, folders, cgroup = json.loads(hookline.stdout.readline())
        assert len(processes) == (3 if mode == "leaves children" else 2)
        assert len(folders) == 1
        if end == "kill":
            assert all(map(is_running, processes))
            hookline.kill()
    if mode == "hides children" and cgroup is None:
        os.kill(processes[0], signal.SIGKILL)
        pytest.skip("Hookline may not make control groups here")
    left = [Path(folder) for folder in (*folders, cgroup) if folder]
    until = time.monotonic() + 60
    while (any(map(is_running, processes)) or any(one.exists() for one in left)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [process for process in processes if is_running(process)]
    assert not list(temporary.iterdir())
    assert not any(one.exists() for one in left)
