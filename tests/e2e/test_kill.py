"""Promise 1: whatever was answered with 2xx is there after the program was killed at any moment."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from pathlib import Path

import pytest

from tests.e2e.program import Program
from tests.e2e.senders import Load

pytestmark = pytest.mark.slow

KILLS = 6


@pytest.mark.timeout(180)
def test_six_kills_under_load_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    moments, acknowledged = random.Random(2026), []
    for number in range(KILLS):
        program = Program(tmp_path, "--endpoint", "Killed")
        program.wait_ready()
        url = program.line("Killed: ").removeprefix("Killed: ")
        load = Load(url, f"run{number}")
        load.start()
        load.wait_acknowledged()
        time.sleep(0.15 + moments.random() * 0.35)
        program.kill()
        load.join()
        assert load.acknowledged, "no request was acknowledged before the kill: the test shows nothing"
        acknowledged += load.acknowledged
    with Program(tmp_path):
        pass  # one start and clean stop after the last kill, so that recovery is Hookline's own
    with sqlite3.connect(tmp_path / "hookline.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        stored = {json.loads(body)["token"] for (body,) in database.execute("SELECT data FROM capture_body")}
        rows = database.execute("SELECT count(*) FROM capture").fetchone()[0]
    database.close()
    assert set(acknowledged) <= stored
    assert rows == len(stored)
    print(f"\n{len(acknowledged)} acknowledged over {KILLS} kills, {rows} stored, none lost")
