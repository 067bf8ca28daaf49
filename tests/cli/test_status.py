"""`hookline status` while no program runs, and before one has started."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Program, Run, command


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the program is stopped by SIGINT")
def test_it_waits_until_the_program_captures(folder: Path, serve: Callable[..., Program]) -> None:
    """And does not keep the data folder from the program that is being started."""
    words = command("status", "--wait", "60", "--json", "--data-dir", str(folder))
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as waiting:
        program = serve()
        out, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == 0
    status = json.loads(out)
    assert (status["capture_url"], status["pid"]) == (program.url, program.process.pid)


@pytest.mark.parametrize(
    ("seconds", "told"), [("0.2", "did not capture within 0.2 seconds"), ("0", "does not capture")]
)
def test_it_gives_up_and_makes_no_folder(folder: Path, run: Run, seconds: str, told: str) -> None:
    done = run("status", "--wait", seconds)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"hookline: Hookline {told}. Start it on {folder}: hookline serve, or the window.\n"
    assert not folder.exists()


@pytest.mark.usefixtures("empty_store")
def test_without_waiting_it_says_what_is_stored_and_where(run: Run, folder: Path) -> None:
    done = run("status")
    assert done.code == 0
    assert done.out.startswith(
        f"Running: no; start it with hookline, or hookline serve\nStore: {folder / 'hookline.db'}\n"
    )


def test_a_time_that_is_none_is_a_usage_error(run: Run) -> None:
    assert run("status", "--wait", "soon").code == 2
