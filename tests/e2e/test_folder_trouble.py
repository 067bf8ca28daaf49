"""A data folder that may no longer be written or read, or that has lost its database."""

from __future__ import annotations

import filecmp
import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.program import Program, api, hookline
from tests.e2e.senders import post
from tests.e2e.test_window_trouble import drive

pytestmark = pytest.mark.slow

RIGHTS = "-dac_override,-dac_read_search"
AS_OTHERS = ("setpriv", f"--inh-caps={RIGHTS}", f"--bounding-set={RIGHTS}") if os.geteuid() == 0 else ()
"""Before a command: root may write wherever it likes, unless it gives up that right."""


@pytest.mark.skipif(bool(AS_OTHERS) and not shutil.which("setpriv"), reason="root needs setpriv to be refused anything")
@pytest.mark.parametrize("mode", [0o500, 0], ids=["read-only", "forbidden"])
def test_it_answers_and_ends_in_a_folder_that_is_closed_to_it(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "data"
    with Program(folder, "--endpoint", "Closed", prefix=AS_OTHERS) as program:
        url = program.line("Closed: ").removeprefix("Closed: ")
        assert post(url, b"before").status == 200
        folder.chmod(mode)
        try:
            answers = {post(url, b"x" * 100_000).status for _ in range(3)}
            assert answers <= {200, 503}
            status, told = api(program, "GET", "/status")
            assert status == 200
            assert told["counts"]["requests"] >= 1
            if not mode:
                assert answers == {503}
                assert "cannot be reached: Permission denied" in told["storage"]
            assert program.stop() == 0
        finally:
            folder.chmod(0o700)
    assert not any("Traceback" in line for line in program.errors), program.errors
    assert len(program.errors) <= 1, program.errors
    with Program(folder) as program:
        assert api(program, "GET", "/status")[1]["counts"]["requests"] == told["counts"]["requests"]


def test_the_size_of_a_database_that_cannot_be_read_is_null(tmp_path: Path) -> None:
    with Program(tmp_path, "--endpoint", "Torn") as program:
        url = program.line("Torn: ").removeprefix("Torn: ")
        assert post(url, b"x").status == 200
        for name in ("hookline.db", "hookline.db-wal"):
            os.truncate(tmp_path / name, 0)
        status, told = api(program, "GET", "/status")
        assert (status, told["counts"]["requests"]) == (200, 1)
        assert told["database_bytes"] is None
        assert program.stop() == 0
    assert not any("Traceback" in line for line in program.errors), program.errors


def test_a_database_that_another_is_copied_over_is_said_everywhere(tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    for folder in (other, data):
        with Program(folder, "--endpoint", folder.name) as program:
            url = program.line(f"{folder.name}: ").removeprefix(f"{folder.name}: ")
            assert [post(url, b"x").status for _ in range(3)] == [200] * 3
            if folder is other:
                continue
            shutil.copyfile(other / "hookline.db", data / "hookline.db")
            assert [post(url, b"lost").status for _ in range(3)] == [503] * 3
            storage = api(program, "GET", "/status")[1]["storage"]
            # Seen while it was being copied, it is not known to be another database.
            assert "hookline.db was overwritten" in storage
            doctor = hookline(data, "doctor")
            assert doctor.returncode == 1
            assert "but it stores nothing, and senders get 503" in doctor.stdout
            assert program.stop() == 0
    assert sum("storing fails" in line and "was overwritten" in line for line in program.errors) == 1, program.errors
    assert not any("Traceback" in line for line in program.errors), program.errors
    assert filecmp.cmp(data / "hookline.db", other / "hookline.db", shallow=False)
    (kept,) = (name for name in os.listdir(data) if ".rescued-" in name)
    restored = hookline(data, "restore", str(data / kept), "--yes")
    assert "1 endpoint and 3 requests" in restored.stdout


def test_a_missing_database_is_said_before_a_new_one_is_made(tmp_path: Path) -> None:
    with Program(tmp_path, "--endpoint", "Lost") as program:
        assert post(program.line("Lost: ").removeprefix("Lost: "), b"x").status == 200
    (tmp_path / "hookline.db").rename(tmp_path / "elsewhere.db")
    before = sorted(path.name for path in tmp_path.iterdir())
    for command in (("serve", "--port", "0", "--api-port", "0"), ("endpoint", "list")):
        refused = hookline(tmp_path, *command)
        assert refused.returncode == 3
        assert refused.stderr.count("\n") == 1
        assert f"{tmp_path / 'hookline.db'} is missing" in refused.stderr
        assert ("--new-database" in refused.stderr) == (command[0] == "serve")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    with Program(tmp_path, "--new-database") as program:
        assert api(program, "GET", "/status")[1]["endpoints"]["held"] == 0


def test_a_missing_database_is_a_question_in_the_window(tmp_path: Path) -> None:
    (tmp_path / "hookline.reserve").touch()
    code, said = drive(tmp_path, 0, "Try again", "Quit")
    assert (code, len(said)) == (3, 2)
    assert said[0]["title"] == "The database is missing"
    assert "hookline.reserve" in said[0]["text"]
    assert not (tmp_path / "hookline.db").exists()
    code, said = drive(tmp_path, 0, "Start with an empty database")
    assert code == 0
    assert "listening" in said[1]
