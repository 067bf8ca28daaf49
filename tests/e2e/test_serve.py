"""`hookline serve` as a process: start, stop, refusals to start, and one request from socket to command line."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.data_folder.folder_lock import lock_folder
from tests.e2e.program import Program, environment, hookline
from tests.e2e.senders import exchange, post

pytestmark = pytest.mark.smoke


def test_a_request_goes_from_the_socket_to_the_command_line(tmp_path: Path) -> None:
    body = bytes(range(256)) * 3
    with Program(tmp_path, "--endpoint", "First", "--tail") as program:
        assert program.line("listening on ") == f"listening on {program.base}"
        url = program.line("First: ").removeprefix("First: ")
        assert program.line("curl").strip().startswith("curl ")
        answer = post(
            url + "/a%2Fb?x=1&x=2", body, "x-dup: one", "X-Dup: two", "Content-Type: application/octet-stream"
        )
        assert answer.status == 200
        capture_id = json.loads(answer.body)["id"]
        assert "/a%2Fb?x=1&x=2" in program.line("POST")
        listed = json.loads(hookline(tmp_path, "requests", url.rsplit("/", 1)[1], "--json").stdout)
        assert [item["id"] for item in listed] == [capture_id]
        running = json.loads(hookline(tmp_path, "show", capture_id, "--json").stdout)
    stopped = json.loads(hookline(tmp_path, "show", capture_id, "--json").stdout)
    for shown in (running, stopped):
        assert shown["target"].endswith("/a%2Fb?x=1&x=2")
        assert [pair for pair in shown["headers"] if pair[0].lower() == "x-dup"] == [["x-dup", "one"], ["X-Dup", "two"]]
        assert shown["size"] == len(body)
        assert shown["sha256"] == hashlib.sha256(body).hexdigest()


def test_sigterm_ends_it_with_requests_in_hand(tmp_path: Path) -> None:
    with (
        Program(tmp_path, "--endpoint", "Busy") as program,
        socket.create_connection(("127.0.0.1", program.port)) as slow,
    ):
        slow.sendall(b"POST /catch/whatever HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nabc")
        time.sleep(0.1)
        assert program.stop() == 0
    assert not (tmp_path / "runtime.json").exists()
    assert not program.errors


def test_capturing_goes_on_when_nobody_reads_the_output(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hookline", "serve", "--tail", "--endpoint", "E", "--port", "0", "--api-port", "0"]
    env = environment(HOOKLINE_DATA_DIR=str(tmp_path))
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        url = process.stdout.readline().strip().removeprefix("E: ")
        process.stdout.readline()
        process.stdout.close()
        assert [post(url, b"unseen").status for _ in range(3)] == [200] * 3
        process.terminate()
        assert process.stderr is not None
        assert not process.stderr.read()
    assert process.returncode == 0


def test_a_second_serve_says_who_has_the_folder(tmp_path: Path) -> None:
    with Program(tmp_path) as program:
        second = hookline(tmp_path, "serve", "--port", "0", "--api-port", "0")
        assert second.returncode == 3
        assert str(program.process.pid) in second.stderr
        assert second.stderr.count("\n") == 1


def test_serve_waits_for_a_command_that_holds_the_folder(tmp_path: Path) -> None:
    hold = lock_folder(tmp_path)
    program = Program(tmp_path)
    try:
        time.sleep(1.0)
        assert program.process.poll() is None
    finally:
        hold.release()
    program.wait_ready()
    assert program.stop() == 0


@pytest.mark.parametrize(("option", "other"), [("--port", "--api-port"), ("--api-port", "--port")])
def test_a_port_in_use_is_named(tmp_path: Path, option: str, other: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = hookline(tmp_path, "serve", option, str(port), other, "0")
    assert refused.returncode == 3
    assert str(port) in refused.stderr
    assert f"with {option}." in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_damaged_database_is_left_alone_until_it_may_be_set_aside(tmp_path: Path) -> None:
    damaged = b"this is not a database, but it is somebody's file" * 100
    (tmp_path / "hookline.db").write_bytes(damaged)
    refused = hookline(tmp_path, "serve", "--port", "0", "--api-port", "0")
    assert refused.returncode == 3
    assert "--set-aside-damaged" in refused.stderr
    assert (tmp_path / "hookline.db").read_bytes() == damaged
    with Program(tmp_path, "--set-aside-damaged", "--endpoint", "Anew"):
        pass
    kept = [path for path in tmp_path.iterdir() if path.read_bytes() == damaged]
    assert len(kept) == 1


def test_a_newer_database_is_refused_untouched(tmp_path: Path) -> None:
    with Program(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "hookline.db") as database:
        database.execute("INSERT INTO migration VALUES ('9999_from_a_later_version', 0)")
    database.close()
    before = (tmp_path / "hookline.db").read_bytes()
    refused = hookline(tmp_path, "serve", "--port", "0", "--api-port", "0")
    assert refused.returncode == 3
    assert "newer" in refused.stderr
    assert (tmp_path / "hookline.db").read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    refused = hookline(tmp_path, "serve", "--port", "0", "--api-port", "0")
    tmp_path.chmod(0o700)
    assert refused.returncode == 3
    assert str(tmp_path) in refused.stderr


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("mine")
    refused = hookline(place, "serve", "--port", "0", "--api-port", "0")
    assert refused.returncode == 3
    assert str(place) in refused.stderr
    assert place.read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")
def test_what_it_leaves_on_disk_is_the_owners_alone(tmp_path: Path) -> None:
    with Program(tmp_path):
        for path in tmp_path.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path.name


def test_without_a_display_it_says_so_and_serves(tmp_path: Path) -> None:
    env = {
        key: value
        for key, value in environment().items()
        if key not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    }
    command = [sys.executable, "-m", "hookline", "--data-dir", str(tmp_path), "--port", "0", "--api-port", "0"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert process.stdout.readline().startswith("listening on http://127.0.0.1:")
        name, _, url = process.stdout.readline().strip().partition(": ")
        assert name
        assert url.startswith("http://127.0.0.1:")
        assert "curl" in process.stdout.readline()
        assert post(url, b"{}").status == 200
        assert "POST" in process.stdout.readline()
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=10)
    assert "display" in errors
    assert process.returncode == 0


def test_headless_never_loads_qt(tmp_path: Path) -> None:
    with Program(tmp_path) as program:
        maps = Path(f"/proc/{program.process.pid}/maps")
        if not maps.exists():
            pytest.skip("needs /proc")
        assert "Qt6" not in maps.read_text()


def test_nothing_but_capture_urls_answers_on_the_capture_port(tmp_path: Path) -> None:
    with Program(tmp_path) as program:
        for target in ("/", "/api/v1/status", "/catch", "/catch/", "/catch/unknown", "/static/x", "/catch/../api"):
            answer = exchange(program.port, f"GET {target} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n".encode())
            assert (answer.status, answer.body) == (404, b'{"error":"not_found"}\n'), target
