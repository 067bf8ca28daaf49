"""`hookline replay` as a process: beside a running program, at a terminal, and ended with Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.clock import now_us
from tests.cli.conftest import ROOT, Program, Run, command
from tests.cli.running.test_terminal import on_terminal
from tests.cli.stored import store_requests
from tests.cli.target_server import serving
from tests.server.forward.targets import OK, Received, answering

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="terminals and signals of POSIX"), pytest.mark.slow]
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
        shown = run("replays", "@last").out
        assert ", paused\n" in shown
        assert f"Target: {place.url}: " in shown
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


def test_what_a_kill_interrupted_is_repeated_and_marked(
    ids: list[str], run: Run, serve: Callable[..., Program]
) -> None:
    program = serve()
    held = threading.Event()

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.body == b"3":
            while not held.is_set():  # noqa: ASYNC110 - set by another thread
                await asyncio.sleep(0.01)
        await answering(OK)(received, writer)

    with serving(answer) as place:
        run("replay", *ids[:8], "--to", place.url, "--background")
        place.wait_for(5)  # oldest first: 7 to 4 have ended, or will not be sent again; 3 is under way
        program.process.kill()
        program.process.wait()
        held.set()
        before = [one.body for one in place.received]
        done = run("replays", "@last", "--resume", "--json")
        after = [one.body for one in place.received[len(before) :]]
    assert before == [b"7", b"6", b"5", b"4", b"3"]
    assert after == [b"3", b"2", b"1", b"0"]
    progress = done.json["progress"]
    assert (done.code, progress["sent"], progress["delivered"], progress["failed"]) == (0, 8, 8, 0)
    assert progress["repeated"] == 1
    rows = run("deliveries", "--replay", "@last", "--json").json
    assert sorted(row["state"] for row in rows) == ["delivered"] * 8 + ["failed"]
    assert "Repeated after a restart  1" in run("replays", "@last").out


def test_incomplete_requests_are_left_out_and_counted(folder: Path, run: Run) -> None:
    whole, cut = store_requests(folder, "orders", [{"body": b"1"}, {"body": b"2", "complete": False}])
    with serving() as place:
        done = run("replay", "--endpoint", "orders", "--to", place.url)
        assert (done.code, len(place.received)) == (0, 1)
        told = "hookline: 1 incomplete request was left out. To send them too, add --incomplete.\n"
        assert done.err == told
        alone = run("replay", cut, "--to", place.url)
        assert (alone.code, alone.out, alone.err) == (1, "", told)
        both = run("replay", whole, cut, "--to", place.url, "--incomplete", "--json")
        assert (both.code, both.json["progress"]["sent"], both.json["incomplete"]) == (0, 2, True)


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
