"""The whole command line on a real store, and the program as a process."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.cli import parser
from app.cli.options import CliServices
from app.db.sqlite.store import Store

ROOT = Path(__file__).parents[2]
WAIT_S = 30.0


@pytest.fixture(scope="session", autouse=True)
def _each_parser_is_made_once() -> Iterator[None]:
    """A process makes one, and nothing changes it; to make it takes most of the time of many commands here."""
    made = parser.build_parser

    @cache
    def of(helps: bool, named: frozenset[str] | None) -> argparse.ArgumentParser:
        return made(None if named is None else [*named, *(["--help"] if helps else ())])

    def build(words: Collection[str] | None = None) -> argparse.ArgumentParser:
        named = None if words is None else parser.COMMANDS.intersection(words)
        return of(words is not None and not {"--help", "-h"}.isdisjoint(words), named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "build_parser", build)
        yield


@dataclass(frozen=True)
class Done:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Done]


@pytest.fixture
def empty_store(folder: Path) -> None:
    """Makes the data folder, with nothing in it: most commands make none."""

    async def make() -> None:
        await (await Store.open(folder, lambda _: None)).close()

    folder.mkdir(mode=0o700)
    asyncio.run(make())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder yet to be made."""
    return tmp_path / "data"


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `hookline ARGUMENTS` on the data folder, in this process."""

    def call(*arguments: str) -> Done:
        capsys.readouterr()
        code = main([*arguments, "--data-dir", str(folder)])
        shown = capsys.readouterr()
        return Done(code, shown.out, shown.err)

    return call


def services(**given: Any) -> CliServices:
    """Those given, and nothing behind the others. No folder has lost its database."""
    nothing = dict.fromkeys(CliServices.__struct_fields__)
    return CliServices(**{**nothing, "require_database": lambda _: None, "names_team_store": lambda _: False, **given})


def press_ctrl_c_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as something listens for that, before it can go on."""
    listen = signal.signal

    def listen_and_press(number: int, handler: Any) -> Any:
        before = listen(number, handler)
        monkeypatch.undo()
        signal.raise_signal(number)
        return before

    monkeypatch.setattr(signal, "signal", listen_and_press)


def command(*arguments: str) -> list[str]:
    """`hookline ARGUMENTS` as a process, to be run in the checkout."""
    return [sys.executable, "-m", "hookline", *arguments]


class Program:
    """`hookline serve` as a process of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        started = command("serve", "--port", "0", "--api-port", "0", "--data-dir", str(folder), *arguments)
        self.folder = folder
        self.process = subprocess.Popen(started, cwd=ROOT, stdout=subprocess.PIPE, bufsize=0)
        self._buffer = b""
        self.url = self.read_line().removeprefix("listening on ")

    def read_line(self, timeout: float = 20) -> str:
        """The next line it prints."""
        assert self.process.stdout is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], timeout)
            assert ready, "the program prints nothing"
            piece = os.read(self.process.stdout.fileno(), 65536)
            assert piece, "the program has ended"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def stop(self) -> int:
        """Ctrl-C; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(20)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()


@pytest.fixture
def serve(folder: Path) -> Iterator[Callable[..., Program]]:
    """Starts the program on the data folder; it ends with the test."""
    if os.name == "nt":
        pytest.skip("select and SIGINT work on sockets and consoles there")
    started: list[Program] = []

    def start(*arguments: str) -> Program:
        started.append(Program(folder, *arguments))
        return started[-1]

    yield start
    for program in started:
        program.stop()


class Following:
    """A command that goes on, on the data folder."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            command(*arguments), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        self._buffers = {"stdout": b"", "stderr": b""}

    def line(self, name: str = "stdout") -> str:
        """The next line of standard output or error."""
        stream = getattr(self.process, name)
        end = time.monotonic() + WAIT_S
        while b"\n" not in self._buffers[name]:
            ready, _, _ = select.select([stream], [], [], max(0, end - time.monotonic()))
            assert ready, f"nothing on {name}"
            piece = os.read(stream.fileno(), 65536)
            assert piece, f"{name} ended"
            self._buffers[name] += piece
        line, _, self._buffers[name] = self._buffers[name].partition(b"\n")
        return line.decode()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def follow(folder: Path) -> Iterator[Callable[..., Following]]:
    """Starts `hookline ARGUMENTS` on the data folder; it ends with the test."""
    started: list[Following] = []

    def start(*arguments: str) -> Following:
        started.append(Following(*arguments, "--data-dir", str(folder)))
        return started[-1]

    yield start
    for one in started:
        one.close()
