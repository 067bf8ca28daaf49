"""`hookline targets`, `hookline target`: what can be set, shown, paused and deleted."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from app.db.sqlite.store import Store
from tests import deliveries
from tests.cli.conftest import Run

SHOWN = """\
Target: {id}
Endpoint: orders
URL: https://localhost:8443/in
State: on
Queued: 0
Adds: nothing of the request's path or query
Host: as the sender sent it
Sets header: X-Env: dev
Sets header: X-Env: b:c
Adds header: X-More: 1
Removes: Authorization, Cookie
Timeout: 2.5 s
Retries: 8 times on connection, 5xx; first after up to 500 ms, then up to 5 s, within 24 h
Parallel: up to 4
Rate limit: 2.5 a second
Attempt: its number is sent as X-Attempt
Pauses: never by itself
TLS: certificate not verified
Certificate: {folder}/client.pem
Key: {folder}/client.key
CA: {folder}/ca.pem
Redirects: followed
"""
ALL = (
    *("--set-header", "X-Env: dev", "--set-header", "X-Env:b:c", "--add-header", "X-More:1"),
    *("--remove-header", "Authorization", "--remove-header", "Cookie", "--retries", "8"),
    *(
        "--retry-on",
        "connection, 5xx,5xx",
        "--retry-delay",
        "0.5",
        "--retry-longest-delay",
        "5",
        "--retry-time",
        "86400",
    ),
    *("--parallel", "4", "--timeout", "2.5", "--insecure", "--client-cert", "client.pem", "--client-key", "client.key"),
    *("--ca-cert", "ca.pem", "--rate-limit", "2.5", "--attempt-header", "X-Attempt", "--auto-resume"),
    *("--follow-redirects", "--no-append-path", "--no-query", "--host", "sender", "--pause-after", "0"),
)
UNSET = (
    *("--no-set-headers", "--no-add-headers", "--no-remove-headers", "--no-insecure", "--no-client-cert"),
    *("--no-client-key", "--no-ca-cert", "--no-rate-limit", "--no-attempt-header", "--no-auto-resume"),
    *("--no-follow-redirects", "--append-path", "--query", "--host", "target", "--in-order"),
)
REFUSED: list[tuple[list[str], int, str]] = [
    (["--url", "ftp://x"], 2, "--url must start with http:// or https://"),
    (["--set-header", "no colon"], 2, "--set-header takes a name and a value"),
    (["--add-header", "Content-Length: 1"], 2, "--add-header: Content-Length is set by Hookline itself"),
    (["--remove-header", "Host"], 2, "--remove-header: Host is set by Hookline itself"),
    (["--retries", "51"], 2, "--retries must be 0 to 50, not 51."),
    (["--retries", "many"], 2, "'many' is not a whole number"),
    (["--retry-on", "connection,204"], 2, "'204' is not a result; use any of connection, timeout, tls"),
    (["--retry-delay", "86401"], 2, "--retry-delay: 86401 is out of range; use 0 to 86,400 seconds."),
    (["--parallel", "0"], 2, "--parallel must be 1 to 64, not 0."),
    (["--timeout", "0.01"], 2, "--timeout: 0.01 is out of range; use 0.1 to 600 seconds."),
    (["--pause-after", "-1"], 2, "--pause-after must be 0 to 10,000, not -1."),
    (["--rate-limit", "0"], 2, "--rate-limit must be 0.01 to 1,000 requests a second, not 0."),
    (["--attempt-header", "a b"], 2, "--attempt-header: 'a b' is not a header name."),
    (["--client-key", "x"], 2, "--client-key needs a client certificate."),
    (["--client-cert", "no-such-file"], 2, "no-such-file cannot be read: No such file"),
    (["--host", "mine"], 2, "invalid choice: 'mine'"),
    (["--insecure", "--no-insecure"], 2, "not allowed with"),
    (["--in-order", "--parallel", "2"], 2, "not allowed with"),
    (["--position", "2"], 2, "--position must be a whole number from 1 to 1, not 2."),
    ([], 2, "Nothing to change"),
]


@pytest.fixture
def target(run: Run) -> str:
    """The number of the one target of the endpoint `orders`."""
    run("endpoint", "add", "Orders", "--slug", "orders")
    return str(run("target", "add", "orders", deliveries.URL, "--json").json["id"])


def read(run: Run, target: str) -> Any:
    return run("target", "show", target, "--json").json


def test_every_field_is_set_shown_and_unset(
    run: Run, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("client.pem", "client.key", "ca.pem"):
        shutil.copy(deliveries.CLIENT_CERTIFICATE, tmp_path / name)
    before = read(run, target)
    shown = run("target", "edit", target, "--url", "https://localhost:8443/in", *ALL)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == SHOWN.format(id=target, folder=tmp_path)
    assert run("target", "show", target).out == shown.out
    added = run("target", "add", "orders", "https://localhost:8443/in", *ALL, "--json").json
    assert added == {**read(run, target), "id": added["id"], "position": 2}
    assert added["retry"]["on"] == ["connection", "5xx"]
    run("target", "edit", target, *UNSET, "--url", deliveries.URL)
    kept = {name: read(run, target)[name] for name in ("retry", "pause_after", "timeout_ms")}
    assert kept == {name: added[name] for name in kept}
    assert read(run, target) == {**before, **kept}


@pytest.mark.slow
def test_what_cannot_be_set_is_said_and_nothing_changes(run: Run, target: str) -> None:
    before = read(run, target)
    for arguments, code, said in REFUSED:
        done = run("target", "edit", target, *arguments)
        assert (done.code, done.out) == (code, ""), arguments
        assert said in done.err
        assert done.err.count("\n") == 1
    assert read(run, target) == before
    done = run("target", "add", "orders", "here", "--parallel", "0")
    assert (done.code, "URL must start" in done.err, "--parallel must" in done.err) == (2, True, True)


def test_targets_are_listed_with_their_state(run: Run, target: str) -> None:
    other = str(run("target", "add", "orders", "http://127.0.0.1:9/b", "--retries", "0", "--json").json["id"])
    row = f"{target}\t{deliveries.URL}\ton\t0\t4 times on connection\t-"
    assert run("targets", "orders").out.splitlines() == [row, f"{other}\thttp://127.0.0.1:9/b\ton\t0\tnever\t-"]
    run("target", "edit", other, "--position", "1", "--retries", "1", "--retry-on", "timeout")
    assert [line.split("\t")[0] for line in run("targets", "orders").out.splitlines()] == [other, target]
    assert run("targets", "orders").out.splitlines()[0].endswith("\tonce on timeout\t-")
    assert [str(one["id"]) for one in run("targets", "orders", "--json").json] == [other, target]
    run("endpoint", "add", "Empty", "--slug", "empty")
    nothing = run("targets", "empty")
    assert (nothing.code, nothing.out) == (0, "")
    assert "No targets yet. Add one: hookline target add empty URL" in nothing.err


def test_on_off_pause_and_resume(run: Run, target: str) -> None:
    def state() -> str:
        return run("targets", "orders").out.split("\t")[2]

    assert "State: paused (deliveries stay queued)\n" in run("target", "pause", target).out
    assert state() == "paused"
    assert f"Forwarded to: {deliveries.URL}, timeout 10.0 s, paused\n" in run("endpoint", "show", "orders").out
    assert run("target", "off", target).code == 0
    assert state() == "off"
    assert run("target", "resume", target, "--json").json["paused"] is None
    assert state() == "off"
    run("target", "on", target)
    assert state() == "on"


def test_too_many_failures_are_the_reason_that_is_shown(run: Run, target: str, folder: Path) -> None:
    run("target", "edit", target, "--pause-after", "1")

    async def fail() -> None:
        store = await Store.open(folder, lambda _: None)
        (endpoint,) = store.endpoints.all()
        for _ in range(2):
            (first,) = await deliveries.queued(store, endpoint)
        await deliveries.fail(store, first)
        await store.close()

    asyncio.run(fail())
    row = run("targets", "orders").out.split("\t")
    assert row[2:4] == ["paused (failures)", "1"]
    assert (
        "State: paused after too many failures in a row; deliveries stay queued\n" in run("target", "show", target).out
    )


def test_rm_asks_first(run: Run, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    asked = run("target", "rm", target)
    assert (asked.code, asked.out) == (2, "")
    assert "Add --yes." in asked.err
    assert run("target", "rm", target, "--yes").out == f"Deleted the target {deliveries.URL} of Orders.\n"
    assert run("target", "rm", target, "--yes").code == 1


@pytest.mark.slow
def test_an_unknown_target_or_endpoint_ends_with_1(run: Run, target: str) -> None:
    for number in ("99", "x", "", f"0{target}"):
        for verb in (["show"], ["edit", "--retries", "1"], ["on"], ["pause"], ["rm", "--yes"]):
            done = run("target", verb[0], number, *verb[1:])
            assert (done.code, done.out) == (1, "")
            assert f"No target has the number {number!r}." in done.err
    assert run("targets", "none").code == 1
    assert run("target", "add", "none", deliveries.URL).code == 1


def test_an_endpoints_response_can_be_its_targets(run: Run, target: str) -> None:
    shown = run("endpoint", "edit", "orders", "--response-from-target", "--response-wait", "2.5").out
    assert "Response: the first target's; if none comes within 2.5 s: 200\n" in shown
    response = run("endpoint", "show", "orders", "--json").json["response"]
    assert (response["from_target"], response["wait_ms"]) == (True, 2500)
    assert "0.1 to 30" in " ".join(run("endpoint", "edit", "--help").out.split())
    done = run("endpoint", "edit", "orders", "--response-wait", "0.05")
    assert done.code == 2
    assert "--response-wait: 0.05 is out of range; use 0.1 to 30 seconds." in done.err
    assert "Response: 200\n" in run("endpoint", "edit", "orders", "--no-response-from-target").out
