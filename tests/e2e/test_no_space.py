"""A disk that fills up: senders get 503 and may retry, and all goes on by itself once there is space again."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.program import Program, environment
from tests.e2e.senders import Answer, Load, post

if sys.platform != "linux":
    pytest.skip("limits a running process's file size, which is Linux's prlimit", allow_module_level=True)

import resource

pytestmark = pytest.mark.slow

BODY = b"x" * 20_000


def _limit_files(program: Program, size: int) -> None:
    _, hard = resource.prlimit(program.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(program.process.pid, resource.RLIMIT_FSIZE, (size, hard))


def test_a_full_disk_refuses_with_503_and_recovers_without_a_restart(tmp_path: Path) -> None:
    with Program(tmp_path, "--endpoint", "Full") as program:
        url = program.line("Full: ").removeprefix("Full: ")
        acknowledged = [json.loads(post(url, BODY).body)["id"] for _ in range(3)]
        largest = max(path.stat().st_size for path in tmp_path.glob("hookline.db*"))
        _limit_files(program, largest + 50_000)
        refused = _until_refused(url, acknowledged)
        assert refused.headers["retry-after"]
        assert json.loads(refused.body) == {"error": "storage_unavailable"}
        assert program.process.poll() is None
        _limit_files(program, resource.RLIM_INFINITY)
        acknowledged.append(json.loads(_until_taken(url).body)["id"])
    assert any("storing fails" in line for line in program.errors)
    assert not any("Traceback" in line for line in program.errors)
    with sqlite3.connect(tmp_path / "hookline.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        stored = {row[0] for row in database.execute("SELECT id FROM capture")}
    database.close()
    assert stored == set(acknowledged)


@pytest.mark.parametrize("room", [0, *(pytest.param(room, marks=pytest.mark.long) for room in (8, 100, 4_000)), 30_000])
def test_a_start_without_room_is_refused_in_one_line(tmp_path: Path, room: int) -> None:
    """`room` bytes per file: what is written first at a start, and what is written last, may not fit."""
    command = [sys.executable, "-m", "hookline", "serve", "--port", "0", "--api-port", "0", "--data-dir", str(tmp_path)]
    started = subprocess.run(
        ["prlimit", f"--fsize={room}", *command], env=environment(), capture_output=True, text=True, check=False
    )
    assert started.returncode == 3
    assert started.stderr.startswith("hookline: ")
    assert started.stderr.count("\n") == 1
    assert str(tmp_path) in started.stderr
    with Program(tmp_path):
        pass  # what a failed start leaves behind is in nobody's way


def _until_refused(url: str, acknowledged: list[str]) -> Answer:
    for _ in range(500):
        answer = post(url, BODY)
        if answer.status == 503:
            return answer
        acknowledged.append(json.loads(answer.body)["id"])
    raise AssertionError("500 requests fitted into a file that may not grow")


def _until_taken(url: str) -> Answer:
    for _ in range(100):
        answer = post(url, BODY)
        if answer.status == 200:
            return answer
        time.sleep(0.1)
    raise AssertionError("storing did not recover within 10 s of space being there again")


def test_a_locked_database_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    with Program(tmp_path, "--endpoint", "Locked") as program:
        url = program.line("Locked: ").removeprefix("Locked: ")
        other = sqlite3.connect(tmp_path / "hookline.db", isolation_level=None)
        load = Load(url, "stop", threads=8)
        load.start()
        load.wait_acknowledged()
        time.sleep(0.3)
        other.execute("BEGIN IMMEDIATE")
        time.sleep(0.3)
        assert program.stop() == 0
        load.join()
        assert not any("Traceback" in line for line in program.errors)
        other.execute("ROLLBACK")
        stored = {json.loads(body)["token"] for (body,) in other.execute("SELECT data FROM capture_body")}
        other.close()
    assert set(load.acknowledged) <= stored
    assert load.acknowledged


def test_a_locked_database_refuses_with_503_and_recovers(tmp_path: Path) -> None:
    with Program(tmp_path, "--endpoint", "Locked") as program:
        url = program.line("Locked: ").removeprefix("Locked: ")
        other = sqlite3.connect(tmp_path / "hookline.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert post(url, b"held up").status == 503
        other.execute("ROLLBACK")
        other.close()
        assert _until_taken(url).status == 200
