"""A backup is restored in the window: it closes, the data folder is exchanged, and the program starts again."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.db.sqlite.restore import KEPT_NAME
from app.db.sqlite.store import Store
from tests import factories
from tests.e2e.program import START_S, environment

pytestmark = pytest.mark.slow

DRIVER = Path(__file__).with_name("restore_driver.py")


def make(folder: Path, name: str) -> Path:
    """A database with one endpoint."""

    async def fill() -> None:
        store = await Store.open(folder, lambda _: None)
        await store.endpoints.create(factories.draft(name=name))
        await store.close()

    folder.mkdir(mode=0o700)
    asyncio.run(fill())
    return folder / "hookline.db"


def endpoint_in(file: Path) -> str:
    with closing(sqlite3.connect(file)) as connection:
        return str(connection.execute("SELECT name FROM endpoint").fetchone()[0])


@pytest.mark.parametrize("lost", [False, True])
def test_the_window_restarts_with_the_backup_or_as_it_was(tmp_path: Path, lost: bool) -> None:
    current = make(tmp_path / "data", "old")
    backup = make(tmp_path / "other", "new").rename(tmp_path / ("a--lost.db" if lost else "a.db"))
    started = tmp_path / "started"
    line = [sys.executable, str(DRIVER), str(current.parent), str(backup), str(started)]
    env = environment(QT_QPA_PLATFORM="offscreen", PYTHONPATH=str(DRIVER.parents[2]), PYTHONWARNINGS="")
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=2 * START_S, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    kept = list(current.parent.glob(f"{KEPT_NAME}*"))
    again = json.loads(started.read_text())
    assert again[:2] == ["--data-dir", str(current.parent)]
    assert again[-2:] == ["--replaced", str(kept[0])] if kept else "--replaced" not in again
    assert endpoint_in(current) == ("old" if lost else "new")
    if lost:  # what was staged is gone: the failure is told, and Hookline starts as it was
        assert json.loads(done.stdout)["title"] == "The restore did not finish"
        assert kept == []
    else:
        assert [endpoint_in(file) for file in kept] == ["old"]


RESTARTED = """
import sys
from pathlib import Path
from app.cli.options import WindowOptions
from app.gui import run_window

def ready(told):
    for message in told.messages.waiting():
        print(message.text, message.advice)
    told.window.close()

folder, replaced = map(Path, sys.argv[1:])
sys.exit(run_window(WindowOptions(data_dir=folder, port=0, api_port=0, replaced=replaced), ready))
"""


def test_after_the_restart_the_window_says_where_the_old_database_is(tmp_path: Path) -> None:
    old = tmp_path / f"{KEPT_NAME}2026-03-01"
    env = environment(QT_QPA_PLATFORM="offscreen", PYTHONPATH=str(DRIVER.parents[2]), PYTHONWARNINGS="")
    line = [sys.executable, "-c", RESTARTED, str(tmp_path / "data"), str(old)]
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=2 * START_S, check=False)
    said = f"The backup was restored. The previous database is kept as {old.name} in {tmp_path}.\n"
    assert (done.stdout, done.stderr, done.returncode) == (said, "", 0)
