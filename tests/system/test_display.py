"""Whether a window can open is found out without Qt."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.system.display import why_no_display


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_windows_and_macos_always_have_a_display(platform: str) -> None:
    assert why_no_display({}, platform) is None


def test_linux_without_a_display_says_so() -> None:
    assert "no display" in (why_no_display({}, "linux") or "")


def test_a_display_nobody_serves_is_named() -> None:
    assert ":983" in (why_no_display({"DISPLAY": ":983"}, "linux") or "")


@pytest.mark.parametrize("environment", [{"QT_QPA_PLATFORM": "offscreen"}, {"DISPLAY": "desk.example.org:0"}])
def test_screenless_platforms_and_remote_displays_are_taken_at_their_word(environment: dict[str, str]) -> None:
    assert why_no_display(environment, "linux") is None


def test_wayland_is_there_when_its_socket_answers(tmp_path: Path) -> None:
    environment = {"WAYLAND_DISPLAY": "wayland-7", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert "wayland-7" in (why_no_display(environment, "linux") or "")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "wayland-7"))
        server.listen()
        assert why_no_display(environment, "linux") is None
        assert why_no_display({**environment, "DISPLAY": ":983"}, "linux") is None
        assert ":983" in (why_no_display({**environment, "DISPLAY": ":983", "QT_QPA_PLATFORM": "xcb"}, "linux") or "")


@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="xvfb is not installed")
def test_an_x_server_that_does_not_know_the_user_is_named() -> None:
    ask = "from app.system.display import why_no_display; print(why_no_display())"
    for authority, found in (("", "None"), ("XAUTHORITY=/dev/null ", "denied access to this user")):
        command = ["xvfb-run", "-a", "sh", "-c", f"{authority}{sys.executable} -c '{ask}'"]
        env = {key: value for key, value in os.environ.items() if key not in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY")}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert found in done.stdout
