"""What keeps the window from starting is asked, in words, with ways to go on."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.core.settings import Settings
from app.data_folder.private_files import load_settings
from tests.e2e.program import Program, environment

pytestmark = pytest.mark.slow

DRIVER = Path(__file__).with_name("window_driver.py")
ROOT = DRIVER.parents[2]


def drive(folder: Path, port: int, *answers: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code, and what the window said."""
    env = environment(QT_QPA_PLATFORM="offscreen", PYTHONPATH=str(ROOT))
    command = [sys.executable, str(DRIVER), str(folder), str(port), *answers]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=40, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_a_taken_port_is_named_and_the_next_free_one_offered(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = drive(tmp_path, port, "Try again", "Use port")
    assert code == 0
    assert [str(port) in question["title"] for question in said[:2]] == [True, True]
    chosen = int(said[2]["listening"].rsplit(":", 1)[1])
    assert chosen > port
    assert str(chosen) in said[1]["text"]
    assert load_settings(tmp_path).port == Settings().port


def test_giving_up_on_a_taken_port_ends_with_code_3(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = drive(tmp_path, taken.getsockname()[1], "Quit")
    assert (code, len(said)) == (3, 1)


def test_a_damaged_database_is_set_aside_only_when_the_user_says_so(tmp_path: Path) -> None:
    damaged = b"somebody's precious bytes" * 500
    (tmp_path / "hookline.db").write_bytes(damaged)
    code, said = drive(tmp_path, 0, "Quit")
    assert code == 3
    assert "hookline.db" in said[0]["text"]
    assert (tmp_path / "hookline.db").read_bytes() == damaged
    code, said = drive(tmp_path, 0, "Move it aside")
    assert code == 0
    assert "listening" in said[1]
    assert [path.name for path in tmp_path.iterdir() if path.read_bytes() == damaged]


def test_a_newer_database_is_left_untouched(tmp_path: Path) -> None:
    with Program(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "hookline.db") as database:
        database.execute("INSERT INTO migration VALUES ('9999_from_a_later_version', 0)")
    database.close()
    before = (tmp_path / "hookline.db").read_bytes()
    code, said = drive(tmp_path, 0, "Quit")
    assert code == 3
    assert "newer" in said[0]["text"]
    assert (tmp_path / "hookline.db").read_bytes() == before


def test_a_folder_that_a_headless_program_holds_is_said_to_be_in_use(tmp_path: Path) -> None:
    with Program(tmp_path) as program:
        code, said = drive(tmp_path, 0, "Quit")
    assert code == 3
    assert str(program.process.pid) in said[0]["text"]
