"""Links and second starts, with the real program as processes: what the window that runs then shows."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app import __version__
from app.core.clock import now_us
from app.core.ids import new_slug, uuid7
from app.core.links import LaunchRequest, link_to_endpoint, link_to_request
from app.ui.single_instance import ask
from tests.cli.stored import store_requests
from tests.e2e.program import START_S, Program, environment, hookline
from tests.e2e.senders import post

pytestmark = pytest.mark.slow

OFFSCREEN = {"QT_QPA_PLATFORM": "offscreen", "PYTHONWARNINGS": ""}
TELLER = Path(__file__).with_name("window_teller.py")
ROOT = TELLER.parents[2]
FREE_PORTS = ("--port", "0", "--api-port", "0")


class Window:
    """The first start, and what it tells of itself."""

    def __init__(self, folder: Path, *given: str) -> None:
        env = environment(PYTHONPATH=str(ROOT), **OFFSCREEN)
        command = [sys.executable, str(TELLER), str(folder), *given]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._told: queue.Queue[dict[str, Any]] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._told.put(json.loads(line))

    def tells(self, what: str) -> dict[str, Any]:
        """The first of this kind that was not yet returned, whatever else it tells before and after."""
        while (told := next((told for told in self._kept if what in told), None)) is None:
            self._kept.append(self._told.get(timeout=START_S))
        self._kept.remove(told)
        return told

    def end(self) -> str:
        """Its standard error."""
        self.process.terminate()
        _, errors = self.process.communicate(timeout=START_S)
        self._reader.join()
        return errors


@contextmanager
def window(folder: Path, *given: str) -> Iterator[Window]:
    shown = Window(folder, *given)
    try:
        yield shown
    finally:
        errors = shown.end()
    assert "Traceback" not in errors, errors


def test_later_starts_are_done_by_the_window_that_runs(tmp_path: Path) -> None:
    store_requests(tmp_path, "orders", [])
    with window(tmp_path) as first:
        base = first.tells("listening")["listening"]
        sent = [json.loads(post(f"{base}/catch/orders", b"{}").body)["id"] for _ in range(3)]
        second = hookline(tmp_path, link_to_request(sent[0]), **OFFSCREEN)
        assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
        assert first.tells("opened")["opened"] == sent[0]
        assert hookline(tmp_path, "--new-endpoint", **OFFSCREEN).returncode == 0
        assert "endpoint" in first.tells("form")["form"].lower()
        assert hookline(tmp_path, link_to_request(uuid7(now_us())), **OFFSCREEN).returncode == 0
        assert "no longer exists" in first.tells("said")["said"]
        assert hookline(tmp_path, link_to_endpoint(new_slug()), **OFFSCREEN).returncode == 0
        assert "The endpoint" in first.tells("said")["said"]
        assert hookline(tmp_path, "hookline:" + "\N{PILE OF POO}" * 600, **OFFSCREEN).returncode == 0
        assert "names a request" in first.tells("said")["said"]
        assert hookline(tmp_path, "--minimized", **OFFSCREEN).returncode == 0
        heard = ask(tmp_path, LaunchRequest("99.0"))
        assert heard is not None
        assert heard.version == __version__
        told = first.tells("said")
        while "99.0" not in told["said"]:
            told = first.tells("said")
        assert told["advice"] == "Close Hookline and start it again to use 99.0."


def test_the_first_start_opens_its_own_link_and_what_macos_hands_on_as_an_event(tmp_path: Path) -> None:
    sent = store_requests(tmp_path, "orders", [{}, {}, {}])
    with window(tmp_path, link_to_request(sent[0])) as first:
        assert first.tells("opened")["opened"] == sent[0]
    with window(tmp_path, f"click={link_to_request(sent[1])}", "click=hookline:nothing") as first:
        while first.tells("opened")["opened"] != sent[1]:  # first what was open before
            pass
        assert "names a request" in first.tells("said")["said"]


@pytest.mark.parametrize("given", ["--new-endpoint", link_to_endpoint("my-hooks")])
def test_without_a_display_it_says_that_the_window_is_needed(tmp_path: Path, given: str) -> None:
    done = hookline(tmp_path, given, DISPLAY="", WAYLAND_DISPLAY="", QT_QPA_PLATFORM="")
    assert done.returncode == 3
    assert "needs the window" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_that_a_program_without_a_window_holds_is_told_of(tmp_path: Path) -> None:
    with Program(tmp_path) as headless:
        second = Window(tmp_path, link_to_endpoint("my-hooks"))
        told = second.tells("asked")
        assert told["asked"] == "Hookline is already running"
        assert str(headless.process.pid) in told["text"]
        assert second.process.wait(START_S) == 3
        assert "Traceback" not in second.end()


def test_two_starts_at_once_make_one_window(tmp_path: Path) -> None:
    env = environment(HOOKLINE_DATA_DIR=str(tmp_path), **OFFSCREEN)
    command = [sys.executable, "-m", "hookline", *FREE_PORTS]
    starts = [subprocess.Popen(command, env=env) for _ in range(2)]
    try:
        while all(start.poll() is None for start in starts):
            time.sleep(0.02)
        ended = next(start for start in starts if start.poll() is not None)
        assert ended.returncode == 0
    finally:
        for start in starts:
            start.terminate()
            start.wait(START_S)
