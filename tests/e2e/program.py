"""Runs the real program as a process of its own, for tests that start, load, kill and question it."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

READY = "listening on "
START_S = 40.0
"""A start takes a second, and much longer on a machine that does much else."""


def environment(**extra: str) -> dict[str, str]:
    """This process's environment, made predictable."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HOOKLINE")}
    return {**kept, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "error::ResourceWarning", **extra}


def hookline(folder: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end on the data folder, with nothing on standard input."""
    command = [sys.executable, "-m", "hookline", *arguments]
    env = environment(HOOKLINE_DATA_DIR=str(folder), **extra)
    return subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_S, check=False
    )


def api(program: Program, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Status and answer of a call to the program's local API; `body` is sent as JSON."""
    connection = HTTPConnection(urlsplit(program.api_url).netloc, timeout=START_S)
    with closing(connection):
        headers = {"Authorization": f"Bearer {program.token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body)
        connection.request(method, f"/api/v1{path}", content, headers)
        answer = connection.getresponse()
        data = answer.read()
    return answer.status, json.loads(data) if data else None


class Program:
    """`hookline …` on a data folder and free ports, ready once entered, stopped when left."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        command: tuple[str, ...] = ("serve",),
        prefix: tuple[str, ...] = (),
        python: str = sys.executable,
        **extra: str,
    ) -> None:
        self.folder = folder
        line = [*prefix, python, "-m", "hookline", *command, "--port", "0", "--api-port", "0", *arguments]
        env = environment(HOOKLINE_DATA_DIR=str(folder), **extra)
        self.process = subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.api_url = self.token = ""
        self._lines: queue.Queue[str] = queue.Queue()
        self.errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Program:
        self.wait_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def wait_ready(self) -> None:
        """Wait until `runtime.json` tells the addresses of this very process."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.process.poll() is None:
            runtime = self.runtime()
            if runtime and runtime["pid"] == self.process.pid and runtime["capture_url"]:
                self.api_url = str(runtime["api_url"])
                self.token = (self.folder / "api-token").read_text().strip()
                return
            time.sleep(0.02)
        self.process.kill()
        raise AssertionError(f"the program did not start: {''.join(self.errors)}")

    def runtime(self) -> dict[str, Any] | None:
        """What the program says of itself in the data folder."""
        try:
            told: dict[str, Any] = json.loads((self.folder / "runtime.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return told

    @property
    def base(self) -> str:
        """The capture port's address."""
        return str((self.runtime() or {})["capture_url"])

    @property
    def port(self) -> int:
        """The capture port."""
        return int(urlsplit(self.base).port or 0)

    def line(self, containing: str, timeout: float = START_S) -> str:
        """The next line of standard output that holds `containing`."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no line with {containing!r}; errors: {''.join(self.errors)}") from None
            if containing in line:
                return line.rstrip("\n")

    def wait_until(self, condition: Callable[[], bool], seconds: float = START_S) -> None:
        """Wait until it holds; fails when it does not come to, or the program has ended."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "".join(self.errors)
            assert self.process.poll() is None, "".join(self.errors)
            time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self._end()

    def stop(self, timeout: float = 10.0) -> int:
        """SIGTERM, and wait; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self._end()
                raise AssertionError(f"did not stop within {timeout} s: {''.join(self.errors)}") from None
        self._end()
        return self.process.returncode

    def _end(self) -> None:
        self.process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(iter(self.process.stderr.readline, ""))
