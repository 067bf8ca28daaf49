"""An endpoint whose senders get the target's response, from the capture port to the target and back."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import httpx
import pytest

from app.core.events import Captured
from app.core.model import Endpoint, ResponseSettings
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import Answering, answering, silent, target

CONFIGURED = ResponseSettings(status=202, body="configured", from_target=True, wait_ms=20_000)


async def send(stage: Stage, base: str, endpoint: Endpoint, method: str = "POST") -> httpx.Response:
    await stage.forwarder.start()
    async with httpx.AsyncClient(verify=False, trust_env=False) as client, asyncio.timeout(20):
        return await client.request(method, f"{base}/catch/{endpoint.slug}", content=b"{}")


async def test_status_headers_and_body_come_as_the_target_sent_them(stage: Stage, capture_port: str) -> None:
    packed = gzip.compress(b'{"ok":true}')
    answer = (
        b"HTTP/1.1 418 Teapot\r\nX-One: 1\r\nx-one: \xff\r\nContent-Encoding: gzip\r\nConnection: x-drop\r\n"
        b"X-Drop: 1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
        % (len(packed), packed)
    )
    async with target(answering(answer)) as place:
        endpoint = await stage.endpoint(place.url, response=CONFIGURED)
        response = await send(stage, capture_port, endpoint)
        (delivery,) = await stage.outcomes(1)
    assert (response.status_code, response.json()) == (418, {"ok": True})
    names = [(name.decode(), value.decode("latin-1")) for name, value in response.headers.raw]
    assert [pair for pair in names if pair[0].lower().startswith("x-")] == [("X-One", "1"), ("x-one", "\xff")]
    assert delivery.responded
    capture = await stage.store.captures.get(delivery.capture_id)
    assert capture is not None
    assert capture.response_status == 418


@pytest.mark.parametrize("answer", [answering(b"", close=True), answering(b"nonsense\r\n\r\n", close=True)])
async def test_without_one_the_sender_gets_the_configured_response(
    stage: Stage, capture_port: str, answer: Answering
) -> None:
    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url, response=CONFIGURED)
        response = await send(stage, capture_port, endpoint)
        (delivery,) = await stage.outcomes(1)
    assert (response.status_code, response.text) == (202, "configured")
    assert not delivery.responded


async def test_a_slow_target_keeps_the_sender_no_longer_than_allowed(stage: Stage, capture_port: str) -> None:
    async with target(silent) as place:
        patient = ResponseSettings(status=202, from_target=True, wait_ms=100)
        endpoint = await stage.endpoint(place.url, response=patient)
        response = await send(stage, capture_port, endpoint)
    assert response.status_code == 202


async def test_a_paused_target_is_not_waited_for(stage: Stage, capture_port: str) -> None:
    endpoint = await stage.endpoint("http://127.0.0.1:9/", response=CONFIGURED)
    await stage.store.targets.pause(endpoint.targets[0].id)
    assert (await send(stage, capture_port, endpoint)).status_code == 202


async def test_a_target_that_is_paused_while_the_request_is_stored_is_not_waited_for(
    stage: Stage, capture_port: str
) -> None:
    endpoint = await stage.endpoint("http://127.0.0.1:9/", response=CONFIGURED)
    captures, add = stage.store.captures, stage.store.captures.add

    async def late(*given: Any) -> int:
        await stage.store.targets.pause(endpoint.targets[0].id)
        return await add(*given)

    captures.add = late  # type: ignore[method-assign]
    assert (await send(stage, capture_port, endpoint)).status_code == 202


async def test_a_pause_ends_the_wait(stage: Stage, capture_port: str) -> None:
    async with target(silent) as place:
        endpoint = await stage.endpoint(place.url, response=CONFIGURED)
        first = asyncio.create_task(send(stage, capture_port, endpoint))
        await place.arrival()
        stored = asyncio.Event()
        stage.bus.subscribe(Captured, lambda _: stored.set())
        second = asyncio.create_task(send(stage, capture_port, endpoint))
        await stored.wait()
        await stage.store.targets.pause(endpoint.targets[0].id)
        assert (await second).status_code == 202
        assert (await first).status_code == 202


async def test_head_gets_the_headers_of_the_target(stage: Stage, capture_port: str) -> None:
    async with target(answering(b"HTTP/1.1 200 OK\r\nX-Here: yes\r\nContent-Length: 5\r\n\r\n")) as place:
        endpoint = await stage.endpoint(place.url, response=CONFIGURED)
        response = await send(stage, capture_port, endpoint, "HEAD")
    assert (response.status_code, response.headers["x-here"]) == (200, "yes")
