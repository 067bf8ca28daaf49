"""The program around its window: the port that it offers in place of a taken one, and how it goes to another store."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.data_folder.private_files import load_settings
from app.gui import next_free_port
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

WINDOWS = """
import asyncio, json, sys
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.cli.options import WindowOptions
from app.core.team import StoreChoice
from app.gui import run_window
from app.ui.shell.main_window import MainWindow

folder, address = sys.argv[1:]
begun = []


def ready(ready):
    application, window, loop = ready.application, ready.window, asyncio.get_running_loop()
    if not begun:
        window.resize(784, 600)
    begun.append({
        "file": application.store.file is not None,
        "captures": application.addresses.listening is not None,
        "works": application.store.works,
        "url": application.addresses.base_url(),
        "size": [window.width(), window.height()],
        "windows": sum(isinstance(one, MainWindow) for one in QApplication.topLevelWidgets()),
    })
    steps = [
        lambda: window.stores.use(StoreChoice(address=address)),
        window.stores.capture.trigger,
        lambda: window.stores.use(StoreChoice()),
        window.quit,
    ]
    loop.call_later(0.1, steps[len(begun) - 1])


def asked(text):
    begun.append({"asked": text})


code = run_window(WindowOptions(data_dir=Path(folder), port=0, api_port=0), ready, asked)
print(json.dumps({"code": code, "begun": begun}))
"""


def windows(folder: Path, address: str, **environment: str) -> dict[str, Any]:
    """What the program says of each window that it shows: on one's own store, on the team's, on that while it captures,
    and on one's own again."""
    done = subprocess.run(
        [sys.executable, "-c", WINDOWS, str(folder), address],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", **environment},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.stdout, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def test_a_port_that_hookline_needs_itself_is_not_offered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert next_free_port("127.0.0.1", port, {port, port + 1}) not in (port, port + 1)


def test_the_window_goes_to_a_teams_store_and_back(tmp_path: Path, postgres_url: str) -> None:
    said = windows(tmp_path, postgres_url)
    assert said["code"] == 0
    own, team, capturing, again = said["begun"]
    assert (own["file"], own["captures"]) == (True, True)
    assert (team["file"], team["captures"], team["works"], team["url"]) == (False, False, False, "")
    assert (capturing["file"], capturing["captures"], capturing["works"]) == (False, True, True)
    assert (again["file"], again["captures"], again["url"]) == (True, True, own["url"])
    assert [one["size"] for one in said["begun"]] == [[784, 600]] * 4
    assert [one["windows"] for one in said["begun"]] == [1] * 4
    assert load_settings(tmp_path).store is None


def test_ones_own_store_is_chosen_whatever_the_environment_says(tmp_path: Path, postgres_url: str) -> None:
    said = windows(tmp_path, postgres_url, HOOKLINE_STORE=postgres_url)
    assert [(one["file"], one["captures"]) for one in said["begun"]] == [
        (False, False),
        (False, False),
        (False, True),
        (True, True),
    ]


def test_a_store_that_cannot_be_used_is_a_question_at_the_start(tmp_path: Path, postgres_url: str) -> None:
    said = windows(tmp_path, "", HOOKLINE_STORE=postgres_url.replace("/test_", "/none_"))
    assert said["code"] == 3
    (question,) = said["begun"]
    assert question["asked"].endswith("does not exist. Create it, or name another.")


def test_a_role_that_only_captures_has_no_window(tmp_path: Path, postgres_server: Any) -> None:
    from app.core.team import Role
    from tests.team import USERS, as_user, team_store

    with team_store(postgres_server) as address:
        said = windows(tmp_path, "", HOOKLINE_STORE=as_user(address, USERS[Role.CAPTURE]))
    assert said["code"] == 3
    (question,) = said["begun"]
    assert "may only capture, so a window has nothing to show" in question["asked"]


LOADED_LATER = """
import asyncio, sys, threading
from pathlib import Path

elsewhere = []


class Watch:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("app.ui.", "PySide6")) and threading.current_thread() is not threading.main_thread():
            elsewhere.append(name)


sys.meta_path.insert(0, Watch())

from app.cli.options import WindowOptions
from app.gui import REST, run_window


def ready(ready):
    early = [name for name in REST if name in sys.modules]
    assert not early and "catalogue" not in vars(ready.application), early
    assert ready.window.pages.count() == 1
    ready.window.task = asyncio.get_running_loop().create_task(loaded(ready))


async def loaded(ready):
    while ready.window.pages.count() == 1:
        await asyncio.sleep(0.05)
    assert set(REST) <= set(sys.modules) and "catalogue" in vars(ready.application)
    print("loaded", *elsewhere)
    ready.window.quit()


sys.exit(run_window(WindowOptions(data_dir=Path(sys.argv[1]), port=0, api_port=0), ready))
"""


def test_what_the_start_left_out_is_loaded_once_the_window_is_there_and_qt_on_its_thread(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED_LATER, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "loaded\n"), done.stderr
