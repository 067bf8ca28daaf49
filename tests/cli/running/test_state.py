"""`hookline status`, `plan`, `refused` and `deliveries` of a running program."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest

from app import __version__
from tests.cli.conftest import ROOT, Program, Run
from tests.cli.sending import post, send


def test_status_tells_how_the_program_is_doing(program: Program, run: Run) -> None:
    send(program, "/catch/orders")
    # What the tests before have deleted is counted until it is purged.
    stored = re.compile(r"^Stored: 1\.\d \w+ of \d", re.MULTILINE)
    end = time.monotonic() + 20
    while not stored.search(shown := run("status").out):
        assert time.monotonic() < end, shown
    assert re.search(r"^Running: process \d+, version \S+, for \d+:\d\d:\d\d$", shown, re.MULTILINE)
    assert f"Captures at: {program.url}\n" in shown
    assert "Plan: free\nEndpoints: 1 of 10\nRequests: 1, 1 unread\nStored: " in shown
    assert shown.endswith("Retention: running\nStorage: ok\n")
    told = run("status", "--json").json
    assert (told["capture_url"], told["pid"]) == (program.url, program.process.pid)


@pytest.mark.parametrize("words", [("status",), ("wait", "--timeout", "0"), ("requests",)])
def test_what_asks_it_loads_no_event_loop(program: Program, words: tuple[str, ...]) -> None:
    """What makes it quick, without a clock in the test."""
    line = [*words, "--data-dir", str(program.folder)]
    loaded = "{'asyncio', 'httpx'} & set(sys.modules)"
    code = f"import sys, app.__main__; app.__main__.main({line}); sys.exit(str({loaded} or ''))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.strip() in ("", "hookline: No request matches.", "hookline: No requests are stored yet.")


def test_the_program_is_the_one_node_of_its_store(program: Program, run: Run) -> None:
    (row,) = run("nodes").out.splitlines()
    number, version, started, seen, here, jobs = row.split("\t")
    assert (number, version, here, jobs) == ("1", __version__, "yes", "-")
    assert started <= seen
    (node,) = run("nodes", "--json").json
    assert (node["number"], node["current"], node["jobs"]) == (1, True, [])


def test_the_plan_is_changed_and_refused_while_there_are_too_many_endpoints(program: Program, run: Run) -> None:
    assert run("plan").out == "Plan: free\nEndpoints: 1 of 10\n"
    assert run("plan", "pro").out == "Plan: pro\nEndpoints: 1\n"
    for number in range(10):
        run("endpoint", "add", f"Endpoint {number}")
    done = run("plan", "free")
    assert (done.code, done.out) == (3, "")
    assert "Delete 1 first." in done.err
    run("endpoint", "rm", "orders", "--yes")
    assert run("plan", "free", "--json").json == {"plan": "free", "endpoints": {"held": 10, "limit": 10}}


def test_refused_requests_are_listed_with_their_reason(program: Program, run: Run) -> None:
    post(program, "/catch/none/\x1b", b"", answer=b"HTTP/1.1 400")
    post(program, "/other", b"", answer=b"HTTP/1.1 404")
    newest, before = run("refused", "-n", "2").out.splitlines()
    number, time_, status, source, method, target, reason = newest.split("\t")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", time_)
    assert (status, source, method, target) == ("404", "127.0.0.1", "POST", "/other")
    assert reason
    assert before.replace("\t", "").isprintable()
    assert before.split("\t")[2] == "400"
    assert run("refused", "--raw", number).out.startswith("POST /other HTTP/1.1\r\nHost: x\r\n")
    assert run("refused", "--raw", "9999").code == 1
    assert run("refused", "--raw", "x").code == 2
    assert [one["target"] for one in run("refused", "-n", "1", "--json").json] == ["/other"]


def test_deliveries_are_listed_and_the_failed_ones_alone(program: Program, run: Run) -> None:
    run("target", "add", "orders", "http://127.0.0.1:9/in", "--retries", "0")
    send(program, "/catch/orders/paid?a=%20b")
    end = time.monotonic() + 20
    while not (rows := run("deliveries", "orders", "--failed").out.splitlines()):
        assert time.monotonic() < end, run("deliveries").out
    (row,) = rows
    delivery, _, endpoint, request, state, status, _, attempts, upcoming, target, error = row.split("\t")
    assert (endpoint, state, status, attempts, upcoming) == ("orders", "failed", "-", "1", "-")
    assert run("delivery", delivery, "--json").json["request"] == request
    assert request == run("requests", "orders", "--json").json[0]["id"]
    assert target == "http://127.0.0.1:9/in/paid?a=%20b"
    assert error != "-"
    assert [one["request"] for one in run("deliveries", "--json").json] == [request]
    assert f"{target}: failed." in run("show", request).out
    assert run("deliveries", "none").code == 1
    run("endpoint", "add", "Other", "--slug", "other")
    nothing = run("deliveries", "other")
    assert (nothing.code, nothing.out) == (0, "")
    assert "There are no such deliveries." in nothing.err
