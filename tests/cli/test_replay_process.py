"""`hookline replay` as a process: beside a running program, at a terminal, and ended with Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.clock import now_us
from tests.cli.conftest import ROOT, Program, Run, command
from tests.cli.running.test_terminal import on_terminal
from tests.cli.stored import store_requests
from tests.cli.target_server import serving

pytestmark = pytest.mark.skipif(os.name == "nt", reason="terminals and signals of POSIX")
COUNT = 400


@pytest.fixture
def ids(folder: Path) -> list[str]:
    """So many requests of the endpoint `orders`."""
    now = now_us()
    return store_requests(folder, "orders", [{"received_at": now - n, "body": b"%d" % n} for n in range(COUNT)])


def interrupt(folder: Path, arrival: Callable[[], None], *arguments: str) -> tuple[int, str, str]:
    """Exit code and output of `hookline ARGUMENTS`, ended with Ctrl-C after `arrival` returns."""
    process = subprocess.Popen(
        command(*arguments, "--data-dir", str(folder)),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    arrival()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


@pytest.mark.parametrize("beside", [False, True])
def test_ctrl_c_cancels_and_says_what_was_sent(
    folder: Path, ids: list[str], run: Run, serve: Callable[..., Program], beside: bool
) -> None:
    if beside:
        serve()
    with serving() as place:
        words = ("replay", "--endpoint", "orders", "--to", place.url, "--rate", "20", "--json")
        code, out, err = interrupt(folder, lambda: place.wait_for(3), *words)
        sent = len(place.received)
    assert code == 130
    replay = json.loads(out)
    assert (replay["state"], replay["progress"]["sent"]) == ("cancelled", sent)
    assert sent < COUNT
    waiting, told = err.splitlines()
    assert waiting == "hookline: Cancelling; waiting for what is being sent."
    assert told == f"hookline: Cancelled: {sent} of {COUNT} sent."
    assert run("replays", "@last", "--json").json["state"] == "cancelled"


def test_a_replay_in_the_background_is_paused_resumed_and_cancelled(
    ids: list[str], run: Run, serve: Callable[..., Program]
) -> None:
    serve()
    with serving() as place:
        started = run("replay", "--endpoint", "orders", "--to", place.url, "--rate", "20", "--background")
        assert started.code == 0
        identity = started.out.split()[-1]
        assert started.out == f"Replaying orders. Its progress: hookline replays {identity}\n"
        place.wait_for(2)
        assert run("replays", identity, "--pause").out.startswith("Paused: ")
        assert run("replays", "--json").json[0]["state"] == "paused"
        assert ", paused\n" in run("replays", "@last").out
        assert run("replays", "@last", "--resume").out.startswith("Running: ")
        assert run("replays", "--cancel", "@last").out == "Cancelling; what is being sent is not cut off.\n"


def test_another_endpoint_captures_what_is_replayed(ids: list[str], run: Run, serve: Callable[..., Program]) -> None:
    run("endpoint", "add", "Other", "--slug", "other")
    serve()
    assert run("replay", ids[0], ids[1], "--to-endpoint", "other").code == 0
    assert len(run("requests", "other").out.splitlines()) == 2


def test_what_an_end_interrupted_is_resumed_without_a_program(
    ids: list[str], run: Run, serve: Callable[..., Program]
) -> None:
    program = serve()
    with serving() as place:
        run("replay", *ids[:30], "--to", place.url, "--rate", "20", "--background")
        place.wait_for(2)
        program.stop()
        assert run("replays", "@last", "--json").json["state"] == "interrupted"
        done = run("replays", "@last", "--resume", "--json")
        assert done.code == 0
        assert (done.json["state"], done.json["progress"]["delivered"]) == ("done", 30)
        assert sorted(one.body for one in place.received) == sorted(b"%d" % n for n in range(30))


def test_a_terminal_shows_how_far_it_is(folder: Path, ids: list[str]) -> None:
    with serving() as place:
        words = ("replay", *ids[:30], "--to", place.url, "--rate", "50", "--data-dir", str(folder))
        code, screen = on_terminal(*words, columns=100)
        dumb = on_terminal(*words, columns=100, TERM="dumb")
    assert code == 0
    line, _, summary = screen.rpartition("\r\x1b[K")
    assert " of 30 sent, " in line
    assert summary.startswith("Replay finished\n")
    assert dumb[0] == 0
    assert dumb[1].startswith("Replay finished\n")
