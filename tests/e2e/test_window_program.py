"""The real program with its window, as a process: captures, is raised by a second start, closes cleanly."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.program import START_S, Program, environment, hookline
from tests.e2e.senders import Load, post

pytestmark = [pytest.mark.smoke, pytest.mark.slow]

# PySide keeps an object to the very end of the process, which Python warns of when asked for all such warnings.
OFFSCREEN = {"QT_QPA_PLATFORM": "offscreen", "PYTHONWARNINGS": ""}


@pytest.mark.parametrize("event_loop", ["", pytest.param("qasync", marks=pytest.mark.long)])
def test_the_window_program_captures_and_answers_the_command_line(tmp_path: Path, event_loop: str) -> None:
    made = json.loads(hookline(tmp_path, "endpoint", "add", "Desk", "--json").stdout)
    with Program(tmp_path, command=(), HOOKLINE_EVENT_LOOP=event_loop, **OFFSCREEN) as program:
        url = f"{program.base}/catch/{made['slug']}"
        load = Load(url, "window", threads=4, most=50)
        load.start()
        load.join()
        assert len(load.acknowledged) == 200
        shown = json.loads(hookline(tmp_path, "endpoint", "show", made["slug"], "--json").stdout)
        assert shown["request_count"] == 200
        assert post(url, b"{}").status == 200
        assert program.stop() == 0
    assert program.errors == []


def test_a_second_start_raises_the_first_and_ends(tmp_path: Path) -> None:
    with Program(tmp_path, command=(), **OFFSCREEN) as program:
        second = hookline(tmp_path, "--port", "0", "--api-port", "0", **OFFSCREEN)
        assert second.returncode == 0, second.stderr
        assert program.process.poll() is None


ASKED = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from app.cli.options import WindowOptions
from app.gui import run_window
from app.ui.widgets.dialog import ChoiceDialog

def look():
    if any(isinstance(widget, ChoiceDialog) and widget.isVisible() for widget in QApplication.topLevelWidgets()):
        print("asked", flush=True)
    else:
        QTimer.singleShot(20, look)

QTimer.singleShot(0, look)
folder, host, port = sys.argv[1:]
sys.exit(run_window(WindowOptions(data_dir=Path(folder), host=host, port=int(port), api_port=0)))
"""


@pytest.mark.parametrize("address", ["192.0.2.1", "127.0.0.1"])
def test_a_question_at_the_start_stays_until_answered_or_told_to_end(tmp_path: Path, address: str) -> None:
    """An address that is not this machine's, and a port that is taken."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-c", ASKED, str(tmp_path), address, port]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, env=environment(**OFFSCREEN), text=True, **pipes) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "asked\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
            process.terminate()
            _, errors = process.communicate(timeout=START_S)
            assert "Traceback" not in errors
    assert process.returncode == 3


WHICH_LOOP = """
import asyncio, sys
from pathlib import Path
import PySide6.QtCore, qasync
from app.cli.options import WindowOptions
from app.gui import run_window

def ready(shown):
    loop = asyncio.get_running_loop()
    print(type(loop).__qualname__, isinstance(loop, qasync.QEventLoop))
    shown.window.close()

sys.exit(run_window(WindowOptions(data_dir=Path(sys.argv[1]), port=0, api_port=0), ready))
"""


@pytest.mark.parametrize(("event_loop", "kind"), [("", "QtEventLoop"), ("qasync", "QSelectorEventLoop")])
def test_the_window_runs_on_a_loop_of_qasync(tmp_path: Path, event_loop: str, kind: str) -> None:
    if sys.platform == "win32":
        kind = "QIOCPEventLoop"
    done = subprocess.run(
        [sys.executable, "-c", WHICH_LOOP, str(tmp_path)],
        env=environment(HOOKLINE_EVENT_LOOP=event_loop, **OFFSCREEN),
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == (f"{kind} True\n", "", 0)


QUITTER = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication, QEvent
from app.cli.options import WindowOptions
from app.gui import run_window

def ready(told):
    told.window.desktop.close_to_tray = lambda: True
    told.window.close()
    QCoreApplication.postEvent(QCoreApplication.instance(), QEvent(QEvent.Type.Quit))

sys.exit(run_window(WindowOptions(data_dir=Path(sys.argv[1]), port=0, api_port=0), ready))
"""


def test_the_systems_wish_to_quit_ends_a_program_that_closing_leaves_in_the_tray(tmp_path: Path) -> None:
    command = [sys.executable, "-c", QUITTER, str(tmp_path)]
    done = subprocess.run(
        command, env=environment(**OFFSCREEN), capture_output=True, text=True, timeout=START_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


DELETER = """
import asyncio, os, signal, sys
from pathlib import Path
from app.cli.options import WindowOptions
from app.core.model import EndpointDraft
from app.gui import run_window

async def delete(told):
    endpoints = told.window.services.store.endpoints
    for name in ("kept", "gone"):
        await endpoints.create(EndpointDraft(name=name, slug=name))
    await told.window.services.deletes.delete_endpoint(endpoints.by_slug("gone").id)
    assert told.application.store.endpoints.capturing("gone") is not None
    os.kill(os.getpid(), signal.SIGKILL if sys.argv[2] == "killed" else signal.SIGTERM)

def ready(told):
    ready.task = asyncio.get_running_loop().create_task(delete(told))

sys.exit(run_window(WindowOptions(data_dir=Path(sys.argv[1]), port=0, api_port=0), ready))
"""


@pytest.mark.parametrize(("end", "left"), [("stopped", [("kept", 1)]), ("killed", [("gone", 1), ("kept", 1)])])
def test_what_waits_to_be_deleted_is_deleted_at_a_stop_and_stored_as_it_was_when_killed(
    tmp_path: Path, end: str, left: list[tuple[str, int]]
) -> None:
    command = [sys.executable, "-c", DELETER, str(tmp_path), end]
    done = subprocess.run(
        command, env=environment(**OFFSCREEN), capture_output=True, text=True, timeout=START_S, check=False
    )
    assert (done.returncode == 0, done.stderr) == (end == "stopped", "")
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as database:
        rows = database.execute("SELECT slug, active FROM endpoint WHERE NOT removed ORDER BY slug").fetchall()
    assert rows == left
