"""Who gets in, and how errors look."""

from __future__ import annotations

import asyncio
import gc
import socket
from contextlib import ExitStack, suppress

import httpx
import pytest

from app.core.errors import PortInUseError
from app.server.api.server import ApiServer
from tests import deliveries
from tests.server.api.conftest import TOKEN, Desk, fields, problem


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
async def test_without_the_token_nobody_gets_in(desk: Desk, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    url = str(desk.client.base_url)
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, verify=False) as stranger:
        for path in ("/status", "/nowhere"):
            response = await stranger.get(path)
            problem(response, 401, "unauthorized")
            assert response.headers["www-authenticate"].startswith("Bearer")


async def test_the_scheme_is_written_in_any_case(desk: Desk) -> None:
    response = await desk.client.get("/status", headers={"Authorization": f"bearer {TOKEN}"})
    assert response.status_code == 200


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8788", "127.0.0.1", "127.1.2.3:1", "[::1]:8788"])
async def test_loopback_names_are_answered(desk: Desk, host: str) -> None:
    assert (await desk.client.get("/status", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "a@127.0.0.1", "[::2]", ""]
)
async def test_other_names_are_refused_even_with_the_token(desk: Desk, host: str) -> None:
    problem(await desk.client.get("/status", headers={"Host": host}), 403, "forbidden-host")


async def test_web_pages_are_refused(desk: Desk) -> None:
    headers = {"Origin": "http://127.0.0.1:8788"}
    problem(await desk.client.get("/status", headers=headers), 403, "forbidden-origin")
    preflight = {**headers, "Access-Control-Request-Method": "GET"}
    response = await desk.client.request("OPTIONS", "/status", headers=preflight)
    problem(response, 403, "forbidden-origin")
    assert not [name for name in response.headers if name.startswith("access-control")]


async def test_unknown_paths_and_methods(desk: Desk) -> None:
    problem(await desk.client.get("/nowhere"), 404, "not-found")
    response = await desk.client.put("/endpoints", json={})
    assert "POST" in problem(response, 405, "method-not-allowed")["detail"]
    assert "POST" in response.headers["allow"]


async def test_a_wrong_method_for_a_fixed_path_is_not_taken_for_an_id(desk: Desk) -> None:
    response = await desk.client.get("/deliveries/retry")
    problem(response, 405, "method-not-allowed")
    assert response.headers["allow"] == "POST"
    problem(await desk.client.get("/deliveries/retry-not"), 404, "not-found")


async def test_head_answers_like_get_without_a_body(desk: Desk) -> None:
    response = await desk.client.head("/status")
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["content-length"]) > 0


async def test_query_parameters_are_checked(desk: Desk) -> None:
    for path in ("/status?limit=1", "/requests?foo=1", "/endpoints/x?a=b", "/requests?limit=1&limit=2"):
        assert len(fields(await desk.client.get(path), 400, "invalid-parameter")) == 1
    for limit in ("0", "501", "-1", "1.0", "", "x", "٣", "9" * 5000):
        response = await desk.client.get("/requests", params={"limit": limit})
        assert fields(response, 400, "invalid-parameter") == ["limit"]
    for cursor in ("x", "AAAA", "1", f"1.{'0' * 36}", "-1.", "bnVsbA==", "eyJpZCI6MX0=", "é", "MQ==" * 1000):
        response = await desk.client.get("/requests", params={"cursor": cursor})
        assert fields(response, 400, "invalid-parameter") == ["cursor"]


async def test_an_empty_cursor_is_the_beginning_of_every_list(desk: Desk) -> None:
    await deliveries.two_targets(desk.store, slug="orders")
    paged = [route.path for route in desk.routes if any(one.name == "cursor" for one in route.parameters)]
    assert len(paged) > 7
    for path in paged:
        page = await desk.client.get(path.replace("{slug}", "orders"), params={"cursor": ""})
        assert page.status_code == 200, (path, page.text)


async def test_a_body_beyond_two_mebibytes_is_refused(desk: Desk) -> None:
    response = await desk.client.post("/endpoints", content=b" " * (2 * 1024 * 1024 + 1))
    problem(response, 413, "body-too-large")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"name":"\xff"}'])
async def test_bodies_that_are_no_json(desk: Desk, body: bytes) -> None:
    problem(await desk.client.post("/endpoints", content=body), 400, "invalid-json")


async def test_an_error_of_ours_is_told_as_one_and_the_server_lives(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> str:
        raise ZeroDivisionError

    desk.addresses.base_url = broken  # type: ignore[method-assign]
    server = ApiServer(desk.services(), TOKEN)
    await server.start("127.0.0.1", 0)
    url = "http://{}:{}/api/v1/status".format(*server.address)
    for _ in range(2):
        problem(await desk.client.get(url), 500, "internal")
    assert "ZeroDivisionError" in caplog.text
    await server.stop()


async def test_a_taken_port_is_named(desk: Desk) -> None:
    host, port = desk.server.address
    second = ApiServer(desk.services(), TOKEN)
    with pytest.raises(PortInUseError, match=str(port)):
        await second.start(host, port)
    await second.stop()


async def test_callers_wait_from_when_it_listens_until_it_serves(desk: Desk) -> None:
    server = ApiServer(desk.services(), TOKEN)
    await server.listen("127.0.0.1", 0)
    url = "http://{}:{}/api/v1/status".format(*server.address)
    called = asyncio.create_task(desk.client.get(url))
    await asyncio.sleep(0.05)
    assert not called.done()
    await asyncio.gather(server.serve(), server.serve())
    assert (await called).status_code == 200
    await server.stop()


async def test_who_waits_when_it_stops_is_let_go(desk: Desk) -> None:
    server = ApiServer(desk.services(), TOKEN)
    await server.listen("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.address)
    await server.stop()
    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()
    await server.serve()
    with pytest.raises(RuntimeError, match="not being served"):
        assert server.address


async def test_stops_twice_starts_again_and_frees_its_port(desk: Desk) -> None:
    host, port = desk.server.address
    await desk.server.stop()
    await desk.server.stop()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, port)
    await desk.server.start(host, port)
    assert (await desk.client.get("/status")).status_code == 200


@pytest.mark.parametrize("turns", range(5))
async def test_a_connection_that_is_being_accepted_as_it_stops_is_closed(desk: Desk, turns: int) -> None:
    with ExitStack() as callers:
        sockets = [callers.enter_context(socket.create_connection(desk.server.address, timeout=5)) for _ in range(5)]
        for _ in range(turns):
            await asyncio.sleep(0)
        await desk.server.stop()
        for caller in sockets:
            with suppress(ConnectionError):
                assert await asyncio.to_thread(caller.recv, 1) == b""
    gc.collect()


async def test_a_stop_that_is_cancelled_has_freed_the_port(desk: Desk) -> None:
    address = desk.server.address
    stopping = asyncio.create_task(desk.server.stop(), name="stop")
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.wait([stopping])
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*address)
