"""A second start tells the first what it wants, is answered, and cannot do harm."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QDir
from PySide6.QtNetwork import QLocalSocket
from pytestqt.qtbot import QtBot

from app import __version__
from app.core.links import LINE_MAX, EndpointLink, LaunchAction, LaunchRequest, RequestLink, encode
from app.data_folder.folder_lock import lock_folder
from app.ui.single_instance import SingleInstance, ask, socket_name

ROOT = Path(__file__).parents[2]

ASK = """
import sys
from pathlib import Path
from app.core.links import decode_request
from app.ui.single_instance import ask
heard = ask(Path(sys.argv[1]), decode_request(sys.argv[2].encode()))
sys.exit("nobody answers" if heard is None else print(heard.version))
"""
REQUEST = RequestLink(id="019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b")


def asking(folder: Path, asked: LaunchRequest) -> subprocess.Popen[str]:
    """Another process that asks; it prints the version that answers."""
    command = [sys.executable, "-c", ASK, str(folder), encode(asked).decode()]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def running(folder: Path, version: str = "1.0") -> Iterator[tuple[SingleInstance, list[LaunchRequest]]]:
    """A first start, and what it was asked."""
    instance = SingleInstance(folder, version)
    heard: list[LaunchRequest] = []
    instance.launch_requested.connect(heard.append)
    try:
        yield instance, heard
    finally:
        instance.close()


def test_nobody_answers_for_a_folder_without_a_window(qtbot: QtBot, tmp_path: Path) -> None:
    assert ask(tmp_path, LaunchRequest("1.0")) is None


def test_a_start_waits_for_the_window_of_one_that_is_still_starting(qtbot: QtBot, tmp_path: Path) -> None:
    hold = lock_folder(tmp_path)
    command = [sys.executable, "-m", "hookline", "--data-dir", str(tmp_path), "--port", "0", "--api-port", "0"]
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}) as second:
        try:
            qtbot.wait(3_000)
            assert second.poll() is None
            with running(tmp_path, __version__) as (_, heard):
                qtbot.waitUntil(lambda: second.poll() is not None, timeout=30_000)
            assert (second.returncode, len(heard)) == (0, 1)
        finally:
            second.kill()
            hold.release()


def test_any_folder_has_a_socket_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert socket_name(tmp_path / "link") == socket_name(tmp_path / "real")
    odd = [tmp_path / "real", tmp_path / "round", tmp_path / "\udcff", tmp_path / ("ü" * 40)]
    assert len({socket_name(folder) for folder in odd}) == len(odd)


@pytest.mark.parametrize("wish", [*LaunchAction, REQUEST, EndpointLink(slug="my-hooks")])
def test_another_process_is_heard_by_the_window_of_its_folder_only(
    qtbot: QtBot, tmp_path: Path, wish: LaunchAction | RequestLink | EndpointLink
) -> None:
    with running(tmp_path / "a", "1.0") as (_, heard), running(tmp_path / "b") as (_, other):
        process = asking(tmp_path / "a", LaunchRequest("2.0", wish))
        qtbot.waitUntil(lambda: process.poll() is not None, timeout=10_000)
        out, err = process.communicate()
        assert (out, err) == ("1.0\n", "")
        assert heard == [LaunchRequest("2.0", wish)]
        assert other == []


def test_nonsense_is_hung_up_on_and_the_next_is_heard(qtbot: QtBot, tmp_path: Path) -> None:
    unknown = b'{"version":"1","wish":"open x"}\n'
    with running(tmp_path) as (_, heard):
        for said in (b"raise\n", b"\xff\xfe\n", b"{}\n", b"\n", unknown, b"x" * LINE_MAX, b"[" * 100_000):
            socket = QLocalSocket()
            socket.connectToServer(socket_name(tmp_path))
            with qtbot.waitSignal(socket.disconnected, timeout=10_000):
                socket.write(said)
            assert socket.readAll().isEmpty(), said[:9]
            assert heard == [], said[:9]
        process = asking(tmp_path, LaunchRequest("1.0"))
        qtbot.waitUntil(lambda: process.poll() is not None, timeout=10_000)
        assert process.communicate()[0] == "1.0\n"


def test_a_line_in_pieces_is_heard_and_what_follows_it_is_not(qtbot: QtBot, tmp_path: Path) -> None:
    line = encode(LaunchRequest("1.0", REQUEST))
    with running(tmp_path) as (_, heard):
        socket = QLocalSocket()
        socket.connectToServer(socket_name(tmp_path))
        socket.write(line[:10])
        socket.flush()
        qtbot.wait(50)
        assert heard == []
        with qtbot.waitSignal(socket.disconnected, timeout=10_000):
            socket.write(line[10:] + encode(LaunchRequest("1.0", LaunchAction.NEW_ENDPOINT)))
        assert heard == [LaunchRequest("1.0", REQUEST)]


def test_who_says_nothing_is_hung_up_on(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.ui.single_instance.IDLE_TIMEOUT_MS", 20)
    with running(tmp_path) as (instance, _):
        socket = QLocalSocket()
        with qtbot.waitSignal(socket.disconnected, timeout=10_000):
            socket.connectToServer(socket_name(tmp_path))
        qtbot.waitUntil(lambda: len(instance.children()) == 1, timeout=10_000)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_socket_of_another_user_is_told_nothing(qtbot: QtBot, tmp_path: Path) -> None:
    with running(tmp_path) as (_, heard):
        os.chown(QDir(QDir.tempPath()).filePath(socket_name(tmp_path)), 12_345, 12_345)
        process = asking(tmp_path, LaunchRequest("1.0", REQUEST))
        qtbot.waitUntil(lambda: process.poll() is not None, timeout=10_000)
        assert process.communicate() == ("", "nobody answers\n")
        assert heard == []


def test_a_socket_left_by_a_killed_program_is_no_hindrance(qtbot: QtBot, tmp_path: Path) -> None:
    leave = (
        "import os, sys, signal; from pathlib import Path; from PySide6.QtCore import QCoreApplication;"
        "app = QCoreApplication([]); from app.ui.single_instance import SingleInstance;"
        "kept = SingleInstance(Path(sys.argv[1]), '1.0'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", leave, str(tmp_path)], check=False)
    assert ask(tmp_path, LaunchRequest("1.0")) is None
    with running(tmp_path) as (instance, heard):
        process = asking(tmp_path, LaunchRequest("1.0"))
        with qtbot.waitSignal(instance.launch_requested, timeout=10_000):
            pass
        qtbot.waitUntil(lambda: process.poll() is not None, timeout=10_000)
        assert process.communicate()[0] == "1.0\n"
        assert heard == [LaunchRequest("1.0")]
