"""One program that goes on running while these tests ask it; each finds it with the endpoint `orders` alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program, Run


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Starting it takes a second, more than what most tests here ask of it."""
    if os.name == "nt":
        pytest.skip("select and SIGINT work on sockets and consoles there")
    program = Program(tmp_path_factory.mktemp("running") / "data")
    yield program
    program.stop()


@pytest.fixture
def folder(running: Program) -> Path:
    """The data folder of the program that runs; it holds it, so that only it can answer."""
    return running.folder


@pytest.fixture
def program(running: Program, run: Run) -> Program:
    """What runs, with the endpoint `orders` and no requests."""
    for endpoint in run("endpoint", "list", "--json").json:
        assert run("endpoint", "rm", endpoint["slug"], "--yes").code == 0
    run("endpoint", "add", "Orders", "--slug", "orders")
    return running
