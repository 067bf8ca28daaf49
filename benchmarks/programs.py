"""Starts what is measured, each in a process of its own, and finds its capture URL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]
START_S = 20.0
STOP_S = 10.0


T = TypeVar("T")


class BenchError(Exception):
    """Something did not start, did not answer or did not stop; the text says which."""


@contextmanager
def bare(folder: Path) -> Iterator[str]:
    """The bare handler's URL."""
    with _listening(folder, "benchmarks.bare") as (_, url):
        yield url


@contextmanager
def bare_process(folder: Path) -> Iterator[tuple[int, str]]:
    """The bare handler's process ID and URL."""
    with _listening(folder, "benchmarks.bare") as (process, url):
        yield process.pid, url


@contextmanager
def delivery_target(folder: Path) -> Iterator[str]:
    """The URL of `benchmarks.delivery_target`."""
    with _listening(folder, "benchmarks.delivery_target") as (_, url):
        yield url


@contextmanager
def _listening(folder: Path, module: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    log = folder / f"{module}.log"

    def find() -> str | None:
        _, found, rest = log.read_text().partition("listening on ")
        return rest.strip() or None if found else None

    with _running(["-m", module], log, find) as found:
        yield found


@contextmanager
def hookline(folder: Path, *command: str) -> Iterator[str]:
    """The URL of an endpoint of Hookline, started with `command` (`-m hookline serve`, …) on a data folder in
    `folder`."""
    data = folder / "data"
    slug = make_endpoint(data)
    with running(data, folder / "program.log", *command) as program:
        yield f"{program.capture_url}/catch/{slug}"


@dataclass(frozen=True)
class Running:
    """The program as a process of its own; `log` has all that it prints."""

    process: subprocess.Popen[str]
    data: Path
    log: Path
    capture_url: str
    api_url: str

    @property
    def address(self) -> tuple[str, int]:
        """Of the capture port."""
        parts = urlsplit(self.capture_url)
        return parts.hostname or "127.0.0.1", parts.port or 80

    @property
    def token(self) -> str:
        """What the local API asks for."""
        return (self.data / "api-token").read_text().strip()


@contextmanager
def running(data: Path, log: Path, *command: str, port: int = 0) -> Iterator[Running]:
    """Hookline, started with `command` (`-m hookline serve`, …) on this data folder and free ports, unless it is to
    capture on this `port`."""

    def find() -> tuple[str, str] | None:
        try:
            told = json.loads((data / "runtime.json").read_text())
        except FileNotFoundError:
            return None
        return (told["capture_url"], told["api_url"]) if told["capture_url"] else None

    options = ["--port", str(port), "--api-port", "0", "--data-dir", str(data)]
    with _running([*command, *options], log, find) as (process, urls):
        yield Running(process, data, log, *urls)


@contextmanager
def fresh_folder(prefix: str) -> Iterator[Path]:
    """A folder in memory where the system has one, because a disk's times drown all else; deleted in the end."""
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place) as folder:
        yield Path(folder)


def make_endpoint(data: Path) -> str:
    """The slug of the endpoint `bench`, made when there is none."""
    return str(cli(data, "endpoint", "add", "bench", "--ensure")["slug"])


def cli(data: Path, *arguments: str) -> Any:
    """What one command of Hookline prints as JSON."""
    command = [sys.executable, "-m", "hookline", *arguments, "--json", "--data-dir", str(data)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=START_S, check=False)
    if done.returncode:
        raise BenchError(f"{' '.join(arguments)} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def run_load(url: str, *, connections: int, seconds: float, rate: float | None = None) -> dict[str, float]:
    """One round of `benchmarks.load`, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.load", url]
    command += ["--connections", str(connections), "--seconds", str(seconds)]
    if rate is not None:
        command += ["--rate", str(rate)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + START_S, check=False)
    if done.returncode:
        raise BenchError(f"{url}: {done.stderr.strip()}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def run_slow_senders(url: str, data: Path, *, seconds: float) -> dict[str, dict[str, float]]:
    """What `benchmarks.slow_senders` measures of the program that runs on this data folder."""
    pid = json.loads((data / "runtime.json").read_text())["pid"]
    command = [sys.executable, "-m", "benchmarks.slow_senders", url, str(pid), "--seconds", str(seconds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + 300, check=False)
    if done.returncode:
        raise BenchError(f"{url}: {done.stderr.strip()}")
    result: dict[str, dict[str, float]] = json.loads(done.stdout)
    return result


@contextmanager
def _running(
    arguments: list[str], log: Path, find: Callable[[], T | None]
) -> Iterator[tuple[subprocess.Popen[str], T]]:
    # On the screen of 800 by 800 pixels that Qt's offscreen platform has by itself: on a larger one the list paints
    # more rows, so another size needs other bars.
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    with log.open("w") as output:
        # In a session of its own, so that Ctrl-C ends what measures first, which then stops this.
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
            text=True,
            start_new_session=True,
        )
    name = " ".join(arguments[:3])
    try:
        end = time.monotonic() + START_S
        while (found := find()) is None:
            if process.poll() is not None or time.monotonic() > end:
                raise BenchError(f"{name} did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.02)
        yield process, found
    except BenchError as error:
        if process.poll() is not None:
            raise BenchError(f"{error}\n{name} ended with {process.poll()}:\n{log.read_text()[-2000:]}") from error
        raise
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
