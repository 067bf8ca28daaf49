"""Starts what is measured, each in a process of its own, and finds its capture URL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START_S = 20.0
STOP_S = 10.0


class BenchError(Exception):
    """Something did not start, did not answer or did not stop; the text says which."""


@contextmanager
def bare(folder: Path) -> Iterator[str]:
    """The bare handler's URL."""
    log = folder / "bare.log"

    def find() -> str | None:
        _, found, rest = log.read_text().partition("listening on ")
        return rest.strip() or None if found else None

    with _running(["-m", "benchmarks.bare"], log, find) as url:
        yield url


@contextmanager
def hookline(folder: Path, *command: str) -> Iterator[str]:
    """The URL of an endpoint of Hookline, started with `command` (`-m app serve`, …) on a data folder in `folder`."""
    data = folder / "data"
    slug = make_endpoint(data)

    def find() -> str | None:
        try:
            base = json.loads((data / "runtime.json").read_text())["capture_url"]
        except FileNotFoundError:
            return None
        return f"{base}/catch/{slug}" if base else None

    options = ["--port", "0", "--api-port", "0", "--data-dir", str(data)]
    with _running([*command, *options], folder / "program.log", find) as url:
        yield url


def make_endpoint(data: Path) -> str:
    """The slug of the endpoint `bench`, made when there is none."""
    for endpoint in cli(data, "endpoint", "list"):
        if endpoint["name"] == "bench":
            return str(endpoint["slug"])
    return str(cli(data, "endpoint", "add", "bench")["slug"])


def cli(data: Path, *arguments: str) -> Any:
    """What one command of Hookline prints as JSON."""
    command = [sys.executable, "-m", "app", *arguments, "--json", "--data-dir", str(data)]
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


@contextmanager
def _running(arguments: list[str], log: Path, find: Callable[[], str | None]) -> Iterator[str]:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, env=environment, stdout=output, stderr=output, text=True
        )
    name = " ".join(arguments[:3])
    try:
        end = time.monotonic() + START_S
        while (url := find()) is None:
            if process.poll() is not None or time.monotonic() > end:
                raise BenchError(f"{name} did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.02)
        yield url
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
