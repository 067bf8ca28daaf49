"""`hookline logs`: the last lines, and those that come."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli.commands.doctor import last_lines
from tests.cli.conftest import WAIT_S, Following, Program, Run


def test_the_last_lines_of_all_files(tmp_path: Path) -> None:
    log = tmp_path / "hookline.log"
    assert last_lines(log, 5) == ([], 0)
    log.with_name("hookline.log.2").write_text("1\n2\n")
    log.with_name("hookline.log.1").write_text("3\n4\n")
    log.write_bytes(b"5\n\xff\nhalf a li")
    assert last_lines(log, 4) == (["3", "4", "5", "\\xff"], 4)
    assert last_lines(log, 0) == ([], 4)
    assert last_lines(log, 100)[0] == ["1", "2", "3", "4", "5", "\\xff"]


def test_logs_are_read_without_the_program(run: Run, folder: Path) -> None:
    folder.mkdir()
    assert "Nothing is logged" in run("logs").err
    (folder / "hookline.log").write_text("one\ntwo \x1b[31m\n")
    assert run("logs").out == "one\ntwo \\x1b[31m\n"
    assert run("logs", "-n", "1").out == "two \\x1b[31m\n"
    assert json.loads(run("logs", "--json").out.splitlines()[0]) == {"line": "one"}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="select and signals of POSIX")
def test_the_program_writes_one_and_logs_follows_it(
    run: Run, folder: Path, serve: Callable[..., Program], follow: Callable[..., Following]
) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    program = serve()
    log = folder / "hookline.log"
    assert log.stat().st_mode & 0o777 == 0o600
    following = follow("logs", "--follow")
    assert "has started" in following.line()
    with log.open("a") as file:
        file.write("half ")
        file.flush()
        file.write("a line\n")
    assert following.line() == "half a line"
    log.rename(folder / "hookline.log.1")
    log.write_text("a new file\n")
    assert following.line() == "a new file"
    following.process.send_signal(signal.SIGINT)
    assert following.process.wait(WAIT_S) == 130
    program.stop()
