"""What is answered without a token: that the program lives, and whether it can capture."""

from __future__ import annotations

import asyncio
import sys
from unittest.mock import AsyncMock, Mock

import pytest
from aiohttp.test_utils import make_mocked_request

from app.core.errors import HooklineError
from app.core.events import Bus, StorageTrouble
from app.server.api.problems import Problem
from app.server.api.protocol import ApiProtocol
from app.server.api.web_application import guard
from tests.server.api.conftest import TOKEN, Desk, problem


async def answer(desk: Desk, head: str) -> tuple[str, str]:
    """The status line and the body of a response, for what a caller of its own sends."""
    reader, writer = await asyncio.open_connection(*desk.server.address)
    writer.write(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    said = (await reader.read()).decode()
    writer.close()
    return said.partition("\r\n")[0], said.partition("\r\n\r\n")[2]


async def ask(desk: Desk, path: str, host: str = "node-1.internal:8788") -> tuple[str, str]:
    return await answer(desk, f"GET {path} HTTP/1.1\nHost: {host}\nConnection: close")


async def test_it_says_that_it_lives_to_anybody(desk: Desk) -> None:
    assert await ask(desk, "/healthz") == ("HTTP/1.1 200 OK", "ok\n")
    assert await answer(desk, "GET /healthz HTTP/1.0") == ("HTTP/1.0 200 OK", "ok\n")  # names no host
    assert (await answer(desk, "HEAD /healthz HTTP/1.1\nHost: x\nConnection: close"))[1] == ""


async def test_it_is_ready_while_it_can_capture(desk: Desk, bus: Bus) -> None:
    assert await ask(desk, "/readyz") == ("HTTP/1.1 200 OK", "ready\n")
    bus.publish(StorageTrouble(reason="The disk is full. Free some space."))
    assert await ask(desk, "/readyz") == (
        "HTTP/1.1 503 Service Unavailable",
        "The disk is full. Free some space.\n",
    )
    assert (await ask(desk, "/healthz"))[0] == "HTTP/1.1 200 OK"
    bus.publish(StorageTrouble(reason=None))
    assert (await ask(desk, "/readyz"))[0] == "HTTP/1.1 200 OK"
    desk.addresses.listening = None
    assert await ask(desk, "/readyz") == ("HTTP/1.1 503 Service Unavailable", "The capture port is closed.\n")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_web_pages_and_other_methods_are_refused(desk: Desk, path: str) -> None:
    url = "http://{}:{}{}".format(*desk.server.address, path)
    problem(await desk.client.get(url, headers={"Origin": "http://evil.example"}), 403, "forbidden-origin")
    problem(await desk.client.post(url), 405, "method-not-allowed")
    response = await desk.client.get(url, headers={"Authorization": ""})
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["server"] == "Hookline"


@pytest.mark.parametrize("path", ["/healthz/", "/healthz/../api/v1/status", "//healthz", "/api/v1/healthz"])
async def test_no_other_path_is_open(desk: Desk, path: str) -> None:
    assert (await ask(desk, path, "127.0.0.1"))[0] == "HTTP/1.1 401 Unauthorized"


@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.3 is an address of this machine on Linux alone")
async def test_the_api_listens_elsewhere_too_for_probes_and_its_own_address(desk: Desk) -> None:
    await desk.server.stop()
    await desk.server.start("127.0.0.3", 0)
    host, port = desk.server.address
    assert host == "127.0.0.1"
    token = {"Authorization": f"Bearer {TOKEN}"}
    for address in (host, "127.0.0.3"):
        assert (await desk.client.get(f"http://{address}:{port}/healthz")).text == "ok\n"
        assert (await desk.client.get(f"http://{address}:{port}/api/v1/status", headers=token)).status_code == 200
    await desk.server.stop()
    for address in (host, "127.0.0.3"):
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(address, port)


@pytest.mark.parametrize(
    ("listens", "named", "known"),
    [
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.3:8788", True),
        ("10.1.2.3", "10.1.2.33:8788", False),
        ("10.1.2.3", "node-1.internal:8788", False),
        ("fd00::1", "[fd00::1]:8788", True),
        ("fd00::1", "[FD00::1]", True),
        ("fd00::1", "[fd00::2]:8788", False),
        ("0.0.0.0", "0.0.0.0:8788", False),
        ("0.0.0.0", "10.1.2.3:8788", False),
        ("0.0.0.0", "localhost:8788", True),
        ("::", "[::]:8788", False),
    ],
)
async def test_the_api_is_called_by_names_of_this_machine(listens: str, named: str, known: bool) -> None:
    protocol = Mock(spec=ApiProtocol, crowded=False)
    headers = {"Host": named, "Authorization": f"Bearer {TOKEN}"}
    request = make_mocked_request("GET", "/api/v1/status", headers=headers, protocol=protocol)
    handler = AsyncMock()
    if known:
        await guard(TOKEN, listens)(request, handler)
        handler.assert_awaited_once()
    else:
        with pytest.raises(Problem, match="loopback address"):
            await guard(TOKEN, listens)(request, handler)


async def test_an_address_of_another_machine_is_refused_in_words(desk: Desk) -> None:
    await desk.server.stop()
    with pytest.raises(HooklineError, match=r"203\.0\.113\.7, port \d+: .* another address with --api-host"):
        await desk.server.start("203.0.113.7", 0)
    await desk.server.start("0.0.0.0", 0)
    assert (await desk.client.get(f"http://127.0.0.1:{desk.server.address[1]}/healthz")).text == "ok\n"
