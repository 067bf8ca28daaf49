"""The fixture's Hookline: it ends with the process that started it, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hookline.client import Client, UnreachableError
from hookline.running import find_running
from hookline.testing.instance import Instance

ROOT = Path(__file__).parents[3]
LIMIT_S = 50.0

HELD = """
import sys, time
from pathlib import Path
from hookline.testing.instance import Instance

instance = Instance(Path(sys.argv[1]))
print(instance.url, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(os.name == "nt", reason="find_running cannot tell there whether a process has ended")
def test_it_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with subprocess.Popen(
        [sys.executable, "-c", HELD, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline().startswith("http://127.0.0.1:")
        assert find_running(folder) is not None
        parent.kill()
    until = time.monotonic() + LIMIT_S
    while (folder / "runtime.json").exists():  # removed by a clean stop
        assert time.monotonic() < until, "it goes on"
        time.sleep(0.02)


def test_it_stops_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    instance = Instance(folder)
    address = instance.address
    assert instance.running
    instance.stop()
    instance.stop()
    assert not instance.running
    assert not list(tmp_path.iterdir())
    with Client(*address) as client, pytest.raises(UnreachableError):
        client.status()


def test_why_it_does_not_start_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder", "utf-8")
    with pytest.raises(RuntimeError, match=r"Hookline did not start\. Its last lines:\nhookline: .*data"):
        Instance(tmp_path)
