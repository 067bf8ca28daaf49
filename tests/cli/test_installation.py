"""Installations that lack something, or are two: a sentence says so, and what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import app
from app.doctor import check_installation
from tests.cli.conftest import ROOT, Run


def lacking(module: str, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`hookline ARGUMENTS` with a Python that has no such module."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys; sys.modules[{module!r}] = None\n", "utf-8")
    return subprocess.run(
        [sys.executable, "-m", "hookline", *arguments, "--data-dir", str(tmp_path / "data")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", ["serve", "endpoint list", "doctor"])
def test_a_python_without_sqlite_is_named(tmp_path: Path, command: str) -> None:
    done = lacking("_sqlite3", tmp_path, *command.split())
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        f"hookline: This Python, {sys.executable}, has no SQLite, in which Hookline stores requests. Install Hookline"
        " with another one, such as your system's or that of python.org.\n"
    )


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    done = lacking("aiohttp", tmp_path, "serve")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(
        "hookline: Parts of Hookline, or of what it needs, are missing or of another version ("
    )
    assert "aiohttp" in done.stderr
    assert done.stderr.endswith(f" {sys.executable} -m pip install --force-reinstall hookline\n")
    assert done.stderr.count("\n") == 1


def test_a_second_program_on_the_path_is_told(tmp_path: Path) -> None:
    name = "hookline.exe" if sys.platform == "win32" else "hookline"
    one, two, same = (tmp_path / folder / name for folder in ("one", "two", "same"))
    for program in (one, two, same):
        program.parent.mkdir()
    for program in (one, two):
        program.write_text("", "utf-8")
        program.chmod(0o755)
    same.symlink_to(one)
    folders = [str(program.parent) for program in (same, one, two)]
    assert check_installation(os.pathsep.join([*folders[:2], "", str(tmp_path)])).state == "ok"
    found = check_installation(os.pathsep.join(folders))
    assert found.state == "warning"
    assert found.text.endswith(f"PATH has 2 programs hookline: {same} hides {two}")
    assert found.advice is not None
    assert found.advice.startswith("Uninstall")


class Older(BaseHTTPRequestHandler):
    """The API of a program whose responses lack what this version expects."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b'{"items": [{"slug": "orders"}], "next": null}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def older(folder: Path) -> Iterator[None]:
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), Older) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        running = {"pid": os.getpid(), "capture_url": None, "api_url": url, "version": "0.0.9"}
        (folder / "runtime.json").write_text(json.dumps(running))
        (folder / "api-token").write_text("token")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("older")
def test_a_running_program_of_another_version_is_named(run: Run) -> None:
    versions = (
        f" The running Hookline is version 0.0.9, and this command {app.__version__}. Restart Hookline to run this"
        " version, or use the hookline command of the other.\n"
    )
    for command in (("endpoint", "list"), ("status",)):
        done = run(*command)
        assert (done.code, done.out) == (3, "")
        assert done.err == f"hookline: Its response is not understood.{versions}"
    missing = run("target", "show", "7")
    assert missing.err.endswith(versions)
