"""The fixture's Hookline: the processes of a session share it, and it ends with the last of them, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hookline.client import Client, UnreachableError
from hookline.instance import Instance
from hookline.running import find_running

ROOT = Path(__file__).parents[3]
LIMIT_S = 50.0

HELD = """
import sys, time
from pathlib import Path
from hookline.instance import Instance

instance = Instance(Path(sys.argv[1]))
print(instance.data_dir, flush=True)
time.sleep(600)
"""


@contextmanager
def held(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that has an instance, and the data folder of that."""
    command = [sys.executable, "-c", HELD, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().rstrip("\n"))
        finally:
            process.kill()


def wait_for_end(data: Path) -> None:
    until = time.monotonic() + LIMIT_S
    while (data / "runtime.json").exists():  # removed by a clean stop
        assert time.monotonic() < until, "it goes on"
        time.sleep(0.02)


@pytest.mark.slow
def test_processes_share_one_that_ends_with_the_last_of_them_however_they_end(tmp_path: Path) -> None:
    with held(tmp_path) as (first, data), held(tmp_path) as (second, same):
        assert data == same
        instance = Instance(tmp_path)
        assert (instance.data_dir, instance.running) == (data, True)
        first.kill()  # the one that has started it
        first.wait()
        instance.stop()
        address = find_running(data)
        assert address is not None
        with Client(address.url, address.token) as client:
            assert client.status().pid
        second.kill()
        wait_for_end(data)
    again = Instance(tmp_path)
    assert again.data_dir != data
    again.stop()


def test_it_stops_and_leaves_nothing_behind(tmp_path: Path) -> None:
    instance = Instance(tmp_path)
    address = instance.address
    assert instance.running
    instance.stop()
    instance.stop()
    assert not instance.running
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "started.json"]
    with Client(address.url, address.token) as client, pytest.raises(UnreachableError):
        client.status()


def test_who_has_started_it_may_stop_first(tmp_path: Path) -> None:
    first, second = Instance(tmp_path), Instance(tmp_path)
    first.stop()
    first.stop()
    assert second.running
    assert second.client.status().pid
    second.stop()
    assert not second.data_dir.exists()


@pytest.mark.slow
def test_one_that_has_crashed_is_started_anew(tmp_path: Path) -> None:
    first = Instance(tmp_path)
    os.kill(first.client.status().pid, signal.SIGTERM)
    until = time.monotonic() + LIMIT_S
    while first.running:
        assert time.monotonic() < until
        time.sleep(0.01)
    second = Instance(tmp_path)
    assert second.client.status().pid
    first.stop()
    second.stop()


def test_why_it_does_not_start_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os.write(2, b'no room'); os._exit(1)", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"Hookline did not start\. Its last lines:\nno room"):
        Instance(tmp_path / "session")
    assert [path.name for path in (tmp_path / "session").iterdir()] == ["lock"]
