"""`hookline mcp`, asked by the protocol's own client while Hookline runs."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import socket
import subprocess
import sys
from subprocess import PIPE
from typing import Any

import pytest

from tests.cli.agent import agent, error, reader, result
from tests.cli.conftest import ROOT, Program, Run
from tests.cli.sending import send
from tests.cli.target_server import serving

pytestmark = pytest.mark.slow

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"},
    },
}


async def test_without_options_it_only_reads(program: Program) -> None:
    async with agent(program.folder) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {
            *("status", "list_endpoints", "search_requests", "get_request", "wait_for_request"),
            *("list_deliveries", "get_delivery"),
        }
        assert all(tool.description and tool.annotations and tool.annotations.read_only_hint for tool in tools)
        status = await result(client, "status")
        assert (status["running"], status["capture_url"]) == (True, program.url)
        endpoint = (await result(client, "list_endpoints"))["endpoints"][0]
        assert (endpoint["slug"], endpoint["url"]) == ("orders", f"{program.url}/catch/orders")
        assert await error(client, "replay_request", request="@last") == (
            "replay_request is not allowed. Only the user can allow it: hookline mcp --allow-replay."
        )
        assert "See search_requests." in await error(client, "get_request", request="nothing")


async def test_requests_are_found_and_read_in_part_and_redacted(program: Program) -> None:
    body = json.dumps({"id": 7, "password": "hunter2", "text": "ü" * 50}, ensure_ascii=False).encode()
    send(program, "/catch/orders/paid?token=abc", body, Content_Type="application/json", Authorization="Bearer s3cret")
    async with reader(program.folder) as client:
        found = await result(client, "search_requests", query="path:/paid", endpoint="orders")
        assert (len(found["requests"]), found["more"]) == (1, False)
        row = found["requests"][0]
        assert row["target"] == "/catch/orders/paid?token=[redacted]"
        request = await result(client, "get_request", request="@last")
        assert request["id"] == row["id"]
        assert ["Authorization", "Bearer [redacted]"] in request["headers"]
        assert json.loads(request["body"]["text"]) == {"id": 7, "password": "[redacted]", "text": "ü" * 50}
        parts, offset = "", 0
        while offset is not None:
            part = (await result(client, "get_request", request=row["id"], body_bytes=33, body_offset=offset))["body"]
            parts, offset = parts + part["text"], part["next_offset"]
        assert parts.count("ü") == 50
        assert "No endpoint" in await error(client, "search_requests", endpoint="nothing")
        assert "size" in await error(client, "search_requests", query="size:>>")
    async with agent(program.folder, "--show-secrets") as client:
        request = await result(client, "get_request", request="@last")
        assert ["Authorization", "Bearer s3cret"] in request["headers"]
        assert request["body"]["text"].encode() == body
        assert request["target"] == "/catch/orders/paid?token=abc"


def test_what_tells_of_requests_and_deliveries_is_redacted_too(program: Program, run: Run) -> None:
    target = "http://127.0.0.1:9/hook?token=hunter2"
    assert run("endpoint", "add", "Password: hunter2", "--slug", "leaks", "--forward-url", target).code == 0
    send(program, "/catch/leaks?password=hunter2", b"log in at https://user:hunter2@shop.test/ today")
    assert run("mark", "@last:leaks", "--note", "the password=hunter2 is old").code == 0

    async def ask() -> list[Any]:
        async with reader(program.folder, replay=True, send=True) as client:
            first = await result(client, "get_request", request="@last:leaks")
            return [
                await result(client, "replay_request", request=first["id"], url="http://127.0.0.1:9/?token=hunter2"),
                await result(client, "search_requests", endpoint="leaks"),
                *[await result(client, tool) for tool in ("status", "list_endpoints", "list_deliveries")],
                first,
                await result(client, "get_delivery", delivery="@last:leaks"),
                await result(client, "send_request", endpoint="leaks", path="?token=hunter2"),
                await result(client, "wait_for_request", endpoint="leaks", after=first["id"]),
                await error(client, "replay_request", request="@last", url="ftp://user:hunter2@127.0.0.1/"),
            ]

    replayed, found, *told = asyncio.run(ask())
    assert "127.0.0.1:9" in replayed["deliveries"][0]["attempts"][0]["error"]
    assert found["requests"][0]["summary"] == "text · log in at https://[redacted]@shop.test/ today"
    assert found["requests"][0]["note"] == "the password=[redacted] is old"
    assert "hunter2" not in json.dumps([replayed, found, told])


def test_a_header_in_which_the_endpoint_asks_for_a_secret_is_redacted(
    program: Program, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_AUTH_SECRET", "hunter2")
    assert run("endpoint", "add", "P", "--slug", "partner", "--auth", "header:X-Partner").code == 0
    send(program, "/catch/partner", X_Partner="hunter2")

    async def ask(url: str) -> list[Any]:
        async with reader(program.folder, replay=True) as client:
            request = await result(client, "get_request", request="@last:partner")
            replayed = await result(client, "replay_request", request="@last:partner", url=url)
            return [request, replayed["deliveries"][0]]

    with serving() as target:
        request, delivery = asyncio.run(ask(target.url))
    assert ["X-Partner", "[redacted]"] in request["headers"]
    assert ["X-Partner", "[redacted]"] in delivery["attempts"][0]["headers"]
    assert "hunter2" not in json.dumps([request, delivery])


async def test_a_secret_is_redacted_wherever_a_part_of_its_body_begins(program: Program) -> None:
    body = b'{"password": "8675309", "n": "\xc3\xbc"}'
    send(program, "/catch/orders", body, Content_Type="application/json")
    at = body.index(b"8675309")
    async with reader(program.folder) as client:
        for offset in (at, at + 3):
            part = (await result(client, "get_request", request="@last", body_offset=offset))["body"]
            assert (part["text"], part["next_offset"]) == (', "n": "ü"}', None)
        part = (await result(client, "get_request", request="@last", body_offset=len(body) - 3))["body"]
        assert base64.b64decode(part["base64"]) == body[-3:]
        send(program, "/catch/orders", body + b"\0", Content_Type="application/json")
        part = (await result(client, "get_request", request="@last"))["body"]
        assert base64.b64decode(part["base64"]) == body.replace(b"8675309", b"[redacted]") + b"\0"


async def test_what_a_tool_does_not_know_is_refused(program: Program) -> None:
    async with reader(program.folder) as client:
        assert await error(client, "search_requests", qeury="method:GET") == (
            "Unknown argument 'qeury'. Did you mean query? The arguments are query, endpoint, limit."
        )
        assert await error(client, "get_request", id="@last") == (
            "Unknown argument 'id'. The arguments are request, body_bytes, body_offset."
        )
        assert await error(client, "status", verbose=True) == "Unknown argument 'verbose'. There are no arguments."
        told = await error(client, "get_requests")
        assert told.startswith("Unknown tool 'get_requests'. Did you mean get_request? The tools are status, ")
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False


async def test_waiting_misses_nothing_between_two_calls(program: Program) -> None:
    async with reader(program.folder) as client:
        none = await result(client, "wait_for_request", query="path:/never", timeout_seconds=1)
        assert none["request"] is None
        for name in ("a", "b"):
            send(program, f"/catch/orders/{name}")
        first = await result(client, "wait_for_request", endpoint="orders", after=none["position"])
        second = await result(client, "wait_for_request", endpoint="orders", after=first["position"])
        assert [one["request"]["target"] for one in (first, second)] == ["/catch/orders/a", "/catch/orders/b"]
        waiting = asyncio.create_task(result(client, "wait_for_request", query="path:/c", timeout_seconds=60))
        send(program, "/catch/orders/c")
        again = await result(client, "wait_for_request", query="path:/c", after=second["position"])
        assert again["request"]["target"] == "/catch/orders/c"
        waiting.cancel()


async def test_bytes_that_are_no_text_come_as_base64(program: Program) -> None:
    send(program, "/catch/orders", bytes(range(256)))
    async with reader(program.folder) as client:
        body = (await result(client, "get_request", request="@last", body_bytes=200))["body"]
    assert (body["text"], body["next_offset"], body["size"]) == (None, 200, 256)
    assert base64.b64decode(body["base64"]) == bytes(range(200))


async def test_what_is_allowed_is_offered_and_done(program: Program) -> None:
    async with agent(program.folder, "--allow-replay", "--allow-send", "--allow-create") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for tool in tools.values():
            assert tool.description == " ".join((tool.description or "").split()), "a docstring's line breaks"
        assert {"replay_request", "send_request", "create_endpoint"} <= set(tools)
        sent = await result(client, "send_request", endpoint="orders", path="/x?a=1", body="hello")
        assert (sent["status"], sent["url"]) == (200, f"{program.url}/catch/orders/x?a=1")
        done = await result(client, "replay_request", request="@last:orders", url="http://127.0.0.1:9/none")
        replayed = done["deliveries"]
        assert [(one["delivery"]["state"], one["delivery"]["replay"]) for one in replayed] == [("failed", True)]
        assert len(replayed[0]["attempts"]) == 1
        listed = await result(client, "list_deliveries", endpoint="orders", state="failed")
        assert [one["id"] for one in listed["deliveries"]] == [replayed[0]["delivery"]["id"]]
        one = await result(client, "get_delivery", delivery=replayed[0]["delivery"]["id"])
        assert one == replayed[0]
        given = {"name": "By an agent", "forward_url": "http://127.0.0.1:9/", "tags": ["shop", "tests"]}
        made = await result(client, "create_endpoint", **given)
        assert (made["name"], made["targets"]) == ("By an agent", ["http://127.0.0.1:9/"])
        assert made["tags"] == ["shop", "tests"]
        for wrong, told in (
            ({"path": "x"}, "path must begin with / or ?, not 'x'."),
            ({"path": "/a/%2e%2E/b"}, "path must not have . or .. between its slashes: the request would leave the"),
            ({"path": "/a#b"}, "path must not have #: what follows it would not be sent. Write %23."),
            ({"headers": {"content-length": "3"}, "body": "hello"}, "headers must not have content-length: it follows"),
            ({"headers": {"ä": "b"}}, "headers must be ASCII, which 'ä' is not."),
            ({"headers": {"a b": "c"}}, "The request could not be sent to "),
        ):
            assert (await error(client, "send_request", endpoint="orders", **wrong)).startswith(told)
        assert (await result(client, "list_endpoints", name="agent"))["endpoints"] == [made]
        assert (await result(client, "list_endpoints", tag="Shop"))["endpoints"] == [made]
        assert (await result(client, "list_endpoints", tag="sho"))["endpoints"] == []
        assert (await result(client, "list_endpoints", limit=1))["more"] is True
        assert "forward" in (await error(client, "create_endpoint", name="n", forward_url="ftp://x")).lower()


@pytest.mark.skipif(os.name == "nt", reason="a closed pipe is another error there")
def test_an_agent_that_is_gone_ends_it_without_a_traceback(program: Program) -> None:
    command = [sys.executable, "-m", "hookline", "mcp", "--data-dir", str(program.folder)]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        try:
            told = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert told == b""


async def test_calls_that_wait_hold_up_no_other(program: Program) -> None:
    """Nor what reads the agent's messages and writes to it, however many wait."""
    async with agent(program.folder) as client:
        asked = {"query": "path:/never", "timeout_seconds": 60}
        waiting = [asyncio.create_task(client.call_tool("wait_for_request", asked)) for _ in range(60)]
        await asyncio.sleep(1)
        assert (await asyncio.wait_for(result(client, "status"), 20))["running"] is True
        assert not any(one.done() for one in waiting)
        for one in waiting:
            one.cancel()


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
def test_ctrl_c_ends_it_while_its_input_stays_open(program: Program) -> None:
    command = [sys.executable, "-m", "hookline", "mcp", "--data-dir", str(program.folder)]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        try:
            assert process.stdout.readline().startswith(b'{"jsonrpc"')
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130
        finally:
            process.kill()


def test_an_agent_that_leaves_ends_what_it_has_asked_for(program: Program) -> None:
    """Not only once the target of a replay has responded, or its ten seconds are over."""
    send(program, "/catch/orders")
    command = [sys.executable, "-m", "hookline", "mcp", "--data-dir", str(program.folder), "--allow-replay"]
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        subprocess.Popen(command, stdin=PIPE, stdout=PIPE, cwd=ROOT) as process,
    ):
        silent.settimeout(60)
        assert process.stdin is not None
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        replay = {"name": "replay_request", "arguments": {"request": "@last:orders", "url": url}}
        for message in (
            INITIALIZE,
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": replay},
        ):
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        try:
            with silent.accept()[0]:
                process.communicate(timeout=6)
        finally:
            process.kill()
    assert process.returncode == 0
