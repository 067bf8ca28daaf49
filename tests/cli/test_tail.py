"""`hookline tail` and `hookline wait` as processes, and the line of `tail`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.application import Application
from app.cli.call import LocalCall
from app.cli.commands.tail import delivery_line, tail, terminal_line, wait
from app.cli.errors import CliError
from app.cli.output import Output, cell_count
from hookline.records import DeliverySummary, Summary
from tests.cli.conftest import WAIT_S, Following, Program, Run, services
from tests.cli.sending import send
from tests.cli.target_server import serving
from tests.factories import capture, draft
from tests.server.forward.targets import answering
from tests.support import until

processes = pytest.mark.skipif(os.name == "nt", reason="select and signals of POSIX")


@pytest.fixture
def program(run: Run, serve: Callable[..., Program]) -> Program:
    run("endpoint", "add", "Orders", "--slug", "orders")
    return serve()


@pytest.mark.slow
@processes
def test_it_prints_what_is_there_and_what_comes(program: Program, follow: Callable[..., Following]) -> None:
    for number in range(3):
        send(program, f"/catch/orders/{number}")
    tail = follow("tail", "orders", "-n", "2")
    assert [tail.line().split("\t")[-1] for _ in range(2)] == ["/catch/orders/1", "/catch/orders/2"]
    send(program, "/catch/orders/%1b", b"")
    identity, _, slug, method, status, size, provider, event, target = tail.line().split("\t")
    assert (slug, method, status, size) == ("orders", "POST", "200", "0 B")
    assert (provider, bool(event), target) == ("-", True, "/catch/orders/%1b")
    assert len(identity) == 36
    tail.process.send_signal(signal.SIGINT)
    assert tail.process.wait(WAIT_S) == 130


@pytest.mark.slow
@processes
def test_it_goes_on_after_a_restart(
    program: Program, serve: Callable[..., Program], follow: Callable[..., Following]
) -> None:
    tail = follow("tail", "-q", "method:PUT", "--json")
    send(program, "/catch/orders/0", method="PUT")
    assert json.loads(tail.line())["target"] == "/catch/orders/0"
    assert program.stop() == 0
    assert "Waiting" in tail.line("stderr")
    again = serve()
    for number in range(1, 20):
        send(again, f"/catch/orders/{number}", method="PUT" if number % 3 else "POST")
    numbers = [number for number in range(1, 20) if number % 3]
    assert [json.loads(tail.line())["target"] for _ in numbers] == [f"/catch/orders/{number}" for number in numbers]
    assert "is back" in tail.line("stderr")


@pytest.mark.slow
@processes
def test_a_closed_pipe_ends_it_though_nothing_comes(program: Program, follow: Callable[..., Following]) -> None:
    tail = follow("tail", "--json")
    send(program, "/catch/orders")
    tail.line()
    assert tail.process.stdout is not None
    tail.process.stdout.close()
    assert tail.process.wait(WAIT_S) == 0
    assert tail.process.stderr is not None
    assert tail.process.stderr.read() == b""


@pytest.mark.slow
@processes
def test_wait_prints_the_request(program: Program, follow: Callable[..., Following], run: Run) -> None:
    send(program, "/catch/orders/first")
    first = run("requests", "orders", "--json").json[0]["id"]
    waiting = follow("wait", "orders", "-q", "path:/b", "--after", first[:20], "--json")
    send(program, "/catch/orders/a")
    send(program, "/catch/orders/b", b"text")
    assert waiting.process.wait(WAIT_S) == 0
    assert waiting.process.stdout is not None
    found = json.loads(waiting.process.stdout.read())
    assert (found["target"], "headers" in found) == ("/catch/orders/b", True)
    shown = run("wait", "--after", first, "-q", "method:POST", "--timeout", "0")
    assert shown.code == 0
    assert shown.out.startswith("POST /catch/orders/a HTTP/1.1\n")
    oldest = run("wait", "orders", "--from-start", "--timeout", "0", "--json")
    assert (oldest.code, oldest.json["id"]) == (0, first)
    matching = run("wait", "--from-start", "-q", "path:/b", "--timeout", "0", "--json")
    assert matching.json["id"] == found["id"]
    none = run("wait", "--from-start", "-q", "path:/none", "--timeout", "0")
    assert (none.code, none.err) == (1, "hookline: No request matches.\n")
    both = run("wait", "--from-start", "--after", first)
    assert (both.code, "not allowed with argument" in both.err) == (2, True)
    second = run("wait", "--after", found["id"], "--timeout", "0.1")
    assert (second.code, second.out) == (1, "")
    assert second.err == "hookline: No request came within 0.1 seconds.\n"


async def test_wait_goes_on_after_a_restart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is stored while it does not know of the new program is not missed."""
    application = await opened(tmp_path)
    endpoint = await application.store.endpoints.create(draft(slug="orders"))
    options = Namespace(slug="orders", query="", timeout=60.0, after=None)
    waiting = asyncio.create_task(asyncio.to_thread(wait, LocalCall(options, Output(True), tmp_path, services())))
    await until(lambda: application._events.followers)
    await application.close()
    application = await opened(tmp_path)
    made = capture(b"{}", endpoint_id=endpoint.id)
    await application.store.captures.add(made, b"{}")
    assert await waiting == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["id"] == made.id
    assert [line.partition(".")[0] for line in shown.err.splitlines()] == [
        "hookline: Hookline does not respond",
        "hookline: Hookline is back",
    ]
    await application.close()


async def test_wait_gives_up_while_the_program_is_gone(tmp_path: Path) -> None:
    application = await opened(tmp_path)
    options = Namespace(slug=None, query="", timeout=2.0, after=None)
    waiting = asyncio.create_task(asyncio.to_thread(wait, LocalCall(options, Output(), tmp_path, services())))
    await until(lambda: application._events.followers)
    await application.close()
    with pytest.raises(CliError, match="No request came within 2 seconds") as told:
        await waiting
    assert told.value.code == 1


async def test_tail_says_what_was_paused_while_it_did_not_follow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cli.client.RETRY_S", 0.01)
    application = await opened(tmp_path)
    endpoint = await application.store.endpoints.create(draft(slug="orders", forward_url="http://127.0.0.1:9/"))
    options = Namespace(slug=None, query="", count=0, deliveries=True)
    call = LocalCall(options, Output(), tmp_path, services())
    threading.Thread(target=tail, args=(call,), daemon=True).start()  # which goes on until the process ends
    await until(lambda: application._events.followers)
    await application.close()
    application = Application(tmp_path, {"port": 0, "api_port": 0})
    await application.open()
    await application.store.targets.pause(endpoint.targets[0].id)
    await application.listen()
    await until(lambda: "Forwarding to http://127.0.0.1:9/ is paused." in capsys.readouterr().err)
    await application.close()


async def opened(folder: Path) -> Application:
    application = Application(folder, {"port": 0, "api_port": 0})
    await application.open()
    await application.listen()
    return application


@pytest.mark.parametrize(("timeout", "told"), [("0", "No request matches."), ("1", "No request came within 1 second.")])
def test_wait_says_that_none_came(run: Run, program: Program, timeout: str, told: str) -> None:
    done = run("wait", "-q", "path:/none", "--timeout", timeout)
    assert (done.code, done.err) == (1, f"hookline: {told}\n")


@pytest.mark.parametrize("words", [("tail",), ("wait",), ("wait", "orders", "--timeout", "0")])
def test_without_a_running_program_they_say_so(run: Run, empty_store: None, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert (done.code, done.out) == (3, "")
    assert "No Hookline is running" in done.err
    assert "hookline serve" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("tail", "-n", "-1"), "not a valid number of rows"),
        (("wait", "--timeout", "soon"), "is not a number of seconds"),
        (("wait", "--timeout", "-1"), "is not a number of seconds"),
        (("tail", "-q", "is:what"), "is:what"),
        (("logs", "-n", "x"), "is not a whole number"),
    ],
)
def test_usage_errors(run: Run, words: tuple[str, ...], told: str) -> None:
    done = run(*words)
    assert done.code == 2
    assert told in done.err


UNAVAILABLE = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.slow
@processes
def test_deliveries_are_printed_with_their_requests(
    run: Run, serve: Callable[..., Program], follow: Callable[..., Following]
) -> None:
    with serving(answering(UNAVAILABLE)) as place:
        added = ("target", "add", "orders", place.url, "--retries", "1", "--retry-on", "5xx", "--pause-after", "1")
        run("endpoint", "add", "Orders", "--slug", "orders")
        number = run(*added, "--retry-delay", "0.001", "--json").json["id"]
        run("endpoint", "add", "Quiet", "--slug", "quiet")
        program = serve("--tail")
        tail = follow("tail", "-q", "method:PUT")
        send(program, "/catch/quiet", method="PUT")
        tail.line()  # it follows now
        send(program, "/catch/orders/other")
        assert "--> POST" in program_line(program, "-->")
        assert "--> POST" in program_line(program, "-->")
        assert run("target", "resume", str(number)).code == 0
        send(program, "/catch/orders/new", method="PUT")
        tail.line()
        request = run("requests", "orders", "--json").json[0]["id"]
        start, url = ["-->", request, "orders", "PUT"], f"{place.url}/new"
        for end in ("Next attempt", "Gave up after 2 attempts."):
            *fields, shown_url, result = tail.line().split("\t")
            assert (fields, shown_url) == (start, url)
            assert result.startswith("failed in ")
            assert "The target responded with 503 Service Unavailable." in result
            assert end in result
            printed = program_line(program, "-->")
            assert printed.startswith(f"--> PUT {url} failed in ")
            assert end in printed
        delivery = run("deliveries", "orders", "--failed", "--json").json[0]
        assert result.endswith(f": {delivery['error']} {delivery['next_step']}"), "all of it"
        paused = f"Forwarding to {place.url} is paused after 1 failed delivery in a row."
        told = tail.line("stderr")
        assert told.startswith(f"hookline: {paused}")
        assert told.endswith(f"To resume it: hookline target resume {number}")
        status = run("status", "--json").json
        assert [line.startswith(paused) for line in status["warnings"]] == [True]
        assert run("endpoint", "list").out.split("\t")[3] == "paused"
        doctor = next(one for one in run("doctor", "--json").json if one["name"] == "Forwarding")
        assert (doctor["state"], paused in doctor["text"]) == ("warning", True)
        assert "target 1 of “Orders” is paused after 1 failed delivery in a row" in run("logs").out


def program_line(program: Program, start: str) -> str:
    """The next line of the program that begins so."""
    while not (line := program.read_line()).startswith(start):
        pass
    return line


@pytest.mark.slow
@processes
def test_a_success_is_printed_and_deliveries_can_be_left_out(
    run: Run, serve: Callable[..., Program], follow: Callable[..., Following]
) -> None:
    with serving() as place:
        run("endpoint", "add", "Orders", "--slug", "orders", "--forward-url", place.url)
        run("endpoint", "add", "Quiet", "--slug", "quiet")
        program = serve()
        tail, without = follow("tail", "--json"), follow("tail", "--no-deliveries", "--json")
        send(program, "/catch/quiet")
        assert json.loads(tail.line())["id"] == json.loads(without.line())["id"]  # they follow now
        for _ in range(2):
            send(program, "/catch/orders")
            request, delivery = json.loads(tail.line()), json.loads(tail.line())
            assert (delivery["request"], delivery["state"], delivery["method"]) == (request["id"], "delivered", "POST")
            assert json.loads(without.line())["id"] == request["id"]
        assert run("endpoint", "list").out.split("\t")[3] == "on"


class Terminal:
    """Standard output that is one."""

    def isatty(self) -> bool:
        return True


def _request(**fields: Any) -> Summary:
    request: dict[str, Any] = {
        "id": "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b",
        "endpoint": "orders",
        "received_at": "2026-11-20T09:00:00.000000Z",
        "method": "POST",
        "target": "/catch/orders/new",
        "size": 12,
        "complete": True,
        "response": {"status": 200, "ms": None},
        "provider": None,
        "event": None,
        "gist": "",
        "content_type": "",
        "delivery": "none",
        "read": False,
        "starred": False,
        "note": None,
    }
    return msgspec.convert({**request, **fields}, Summary)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_line_fits_its_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = Output(out=Terminal())  # type: ignore[arg-type]
    request = _request(endpoint="日本語" * 9, target="/catch/orders/" + "ü\x1b[31m検" * 50, event="a\x07b" * 30)
    line = terminal_line(out, request, width, of_all=True)
    assert cell_count(line) <= width
    assert line.isprintable()


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({"state": "delivered", "status": 200}, "\x1b[32m200 in 12 ms\x1b[0m"),
        (
            {"state": "delivered", "status": 204, "attempt_count": 3, "replay": "r"},
            "\x1b[32m204 in 12 ms, attempt 3 (replay)\x1b[0m",
        ),
        ({"state": "queued", "error": "No\x1b."}, "\x1b[31mfailed in 12 ms: No\\x1b. Next attempt now.\x1b[0m"),
        ({"state": "failed", "error": "No.", "next_step": "Not so."}, "\x1b[31mfailed in 12 ms: No. Not so.\x1b[0m"),
        ({"state": "failed", "error": "No.", "replay": "r"}, "\x1b[31mfailed in 12 ms (replay): No.\x1b[0m"),
        (
            {"state": "not_sent", "error": "The stored body is damaged.", "ms": None},
            "\x1b[33mnot sent: The stored body is damaged.\x1b[0m",
        ),
        ({"state": "queued"}, "queued again"),
    ],
)
def test_a_delivery_has_a_colour_and_keeps_its_result(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], result: str
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Output(out=Terminal())  # type: ignore[arg-type]
    values = {"method": "POST", "url": "http://localhost:3000/" + "x" * 99, "attempt_count": 1, "ms": 12.0, **fields}
    delivery = DeliverySummary(**{**dict.fromkeys(DeliverySummary.__struct_fields__), **values})
    assert delivery_line(out, delivery) == f"--> POST {values['url']} {result}"
    assert delivery_line(out, delivery, 20) == f"--> POST http://localhost:3000/xxxxxxxxx… {result}"


def test_a_line_has_colours_and_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Output(out=Terminal())  # type: ignore[arg-type]
    line = terminal_line(out, _request(response={"status": 404, "ms": None}), 100, of_all=False)
    assert "POST     \x1b[31m404\x1b[0m      12 B  \x1b[2m/new\x1b[0m" in line
    assert "orders            POST" in terminal_line(out, _request(), 100, of_all=True)
