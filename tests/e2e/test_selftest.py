"""`hookline selftest` as a process: it passes where the program works, says what fails, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import environment

pytestmark = [pytest.mark.smoke, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def selftest(
    folder: Path, *arguments: str, before: Callable[[], None] | None = None, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run it with its temporary files in `folder`; `before` is called in the child."""
    command = [sys.executable, "-m", "hookline", "selftest", *arguments]
    env = environment(TMPDIR=str(folder), HOOKLINE_DATA_DIR=str(folder / "none"), PYTHONWARNINGS="", **extra)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=50, check=False, preexec_fn=before)


def failed(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The failed checks of a JSON report, by name."""
    told: dict[str, Any] = json.loads(done.stdout)
    assert not told["passed"]
    return {check["name"]: check["detail"] for check in told["checks"] if not check["passed"]}


def test_it_passes_with_the_window_and_leaves_nothing_behind(tmp_path: Path) -> None:
    begun = time.monotonic_ns()
    done = selftest(tmp_path, "--json", QT_QPA_PLATFORM="")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["passed"]
    assert begun < told["first_paint_ns"] < time.monotonic_ns()
    names = [check["name"] for check in told["checks"]]
    assert sum(name.endswith(" captured") for name in names) == 5
    assert sum(name.endswith(" in the window") for name in names) == 6
    assert list(tmp_path.iterdir()) == []


def test_it_passes_without_a_window_and_tells_each_check_on_a_line(tmp_path: Path) -> None:
    done = selftest(tmp_path, "--headless")
    assert (done.returncode, done.stderr) == (0, "")
    *checks, last = done.stdout.splitlines()
    assert len(checks) == 11
    assert all(line.startswith("ok    ") for line in checks)
    assert last.startswith("selftest passed in ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [("--headless",), pytest.param((), marks=pytest.mark.long)])
def test_a_body_that_cannot_be_stored_fails_by_name(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """As on a full disk: no file may grow beyond 600,000 bytes."""

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    done = selftest(tmp_path, "--json", *arguments, before=small_files)
    assert done.returncode == 1
    assert "503" in failed(done)["large captured"]
    assert "JSON captured" not in failed(done)
    assert list(tmp_path.iterdir()) == []


def test_it_ends_at_its_time_limit_and_says_what_it_was_at(tmp_path: Path) -> None:
    done = selftest(tmp_path, "--json", "--time-limit", "0.001")
    assert done.returncode == 1
    assert list(failed(done).values()) == ["not done within 0.001 s"]
    assert list(tmp_path.iterdir()) == []


def test_on_screen_needs_a_display(tmp_path: Path) -> None:
    done = selftest(tmp_path, "--json", "--on-screen", DISPLAY=":983", WAYLAND_DISPLAY="", QT_QPA_PLATFORM="")
    assert done.returncode == 1
    assert ":983" in failed(done)["display"]


def test_a_session_that_ends_meanwhile_is_a_failure(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hookline", "selftest"]
    env = environment(TMPDIR=str(tmp_path), PYTHONWARNINGS="")
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("ok    window"):
                os.kill(process.pid, signal.SIGTERM)
                break
        rest = process.stdout.read()
    assert process.returncode == 1
    assert "closed before" in rest
    assert list(tmp_path.iterdir()) == []
