"""A new version is installed over the running program: it says so, and starts the new one when asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.program import START_S, environment

pytestmark = pytest.mark.slow

DRIVER = Path(__file__).with_name("updated_driver.py")
ROOT = DRIVER.parents[2]
HEADLESS = """
import sys
sys.frozen, sys.executable = True, sys.argv[1]
from pathlib import Path
from app import serve
from app.cli.options import ServeOptions
from app.system import installation
installation.LOOK_S = 0.05
sys.exit(serve.run_headless(ServeOptions(data_dir=Path(sys.argv[2]), port=0, api_port=0)))
"""


def install(path: Path, script: str) -> None:
    """Put a program at `path` as installers do."""
    new = path.with_name("new")
    new.write_text(f"#!/bin/sh\n{script}\n")
    new.chmod(0o755)
    new.rename(path)


@contextmanager
def running(tmp_path: Path, *command: str) -> Iterator[subprocess.Popen[str]]:
    env = environment(QT_QPA_PLATFORM="offscreen", PYTHONPATH=str(ROOT), PYTHONWARNINGS="")
    line = [sys.executable, *command]
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(path: Path) -> str:
    """What was written to `path`, once something was."""
    deadline = time.monotonic() + START_S
    while not (path.is_file() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.02)
    return path.read_text()


def read(process: subprocess.Popen[str]) -> dict[str, str]:
    assert process.stdout is not None
    told: dict[str, str] = json.loads(process.stdout.readline())
    return told


def test_the_window_tells_of_an_update_and_starts_the_new_version_on_the_free_folder(tmp_path: Path) -> None:
    path, folder, out = tmp_path / "hookline", tmp_path / "data", tmp_path / "started"
    install(path, "exit 1")
    with running(tmp_path, str(DRIVER), str(path), str(folder)) as process:
        assert "listening" in read(process)
        install(path, f'ls {folder} > {out}.ls; echo "$@" > {out}')
        assert "updated" in read(process)["text"]
        assert process.wait(START_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert wait_for(out).split() == ["--data-dir", str(folder), "--port", "0", "--api-port", "0"]
    assert "runtime.json" not in Path(f"{out}.ls").read_text()


def test_a_new_version_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    path = tmp_path / "hookline"
    install(path, "exit 1")
    with running(tmp_path, str(DRIVER), str(path), str(tmp_path / "data")) as process:
        read(process)
        path.with_name("new").write_text("no program")
        path.with_name("new").rename(path)
        assert "updated" in read(process)["text"]
        question = read(process)
        assert str(path) in question["text"]
        assert "requests are safe" in question["text"]
        assert process.wait(START_S) == 3


def test_a_removed_program_offers_no_restart(tmp_path: Path) -> None:
    path = tmp_path / "hookline"
    install(path, "exit 1")
    with running(tmp_path, str(DRIVER), str(path), str(tmp_path / "data")) as process:
        read(process)
        path.unlink()
        assert "removed" in read(process)["text"]
        assert process.wait(START_S) == 0


def test_without_a_window_it_is_one_line_on_standard_error_and_capturing_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "hookline"
    install(path, "exit 1")
    with running(tmp_path, "-c", HEADLESS, str(path), str(tmp_path / "data")) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("listening on ")
        install(path, "exit 0")
        assert process.stderr.readline().startswith("hookline: Hookline was updated while it was running.")
        assert process.poll() is None
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(START_S) == 0
