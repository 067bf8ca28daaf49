"""From the capture port to the target: the whole way a forwarded request goes."""

from __future__ import annotations

import asyncio
import hashlib
import os

import httpx
import pytest

from app.core.model import PART_SIZE, DeliveryState, Forward
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import silent, target

ODD = (
    b"POST /catch/odd/a%2Fb/../c//?x=%41&&y HTTP/1.1\r\n"
    b"host: public.example\r\nx_under: 1\r\nX-Dup:  a\r\nx-dup: b\r\nX-Obs: \xe9\xff\r\nX-Empty:\r\n"
    b"TE: trailers\r\nConnection: TE\r\ntransfer-encoding: chunked\r\n\r\n"
    b"3\r\n\x00\xff\n\r\n2\r\n{}\r\n0\r\n\r\n"
)


async def test_an_odd_request_arrives_as_it_was_sent(stage: Stage, capture_port: str) -> None:
    async with target() as place:
        await stage.endpoint(place.url + "/dev", slug="odd")
        await stage.forwarder.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(capture_port.rpartition(":")[2]))
        writer.write(ODD)
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
        writer.close()
        await writer.wait_closed()
        await stage.outcomes(1)
    received = place.received[0]
    assert received.line == "POST /dev/a%2Fb/../c//?x=%41&&y HTTP/1.1"
    assert received.body == b"\x00\xff\n{}"
    assert received.headers[1:7] == [
        ("x_under", "1"),
        ("X-Dup", "a"),
        ("x-dup", "b"),
        ("X-Obs", "\xe9\xff"),
        ("X-Empty", ""),
        ("Content-Length", "5"),
    ]


async def test_a_large_body_goes_through(stage: Stage, capture_port: str) -> None:
    body = os.urandom(5 * PART_SIZE + 1)
    async with target() as place, httpx.AsyncClient(verify=False, trust_env=False) as client:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        assert (await client.put(f"{capture_port}/catch/{endpoint.slug}", content=body)).status_code == 200
        delivery = (await stage.outcomes(1))[0]
    assert delivery.state is DeliveryState.DELIVERED
    assert hashlib.sha256(place.received[0].body).digest() == hashlib.sha256(body).digest()


async def test_a_circle_ends_at_once_and_says_so(stage: Stage, capture_port: str) -> None:
    async with httpx.AsyncClient(verify=False, trust_env=False) as client:
        second = await stage.endpoint("http://127.0.0.1:9/")
        first = await stage.endpoint(f"{capture_port}/catch/{second.slug}")
        await stage.forwarder.start()
        assert (await client.post(f"{capture_port}/catch/{first.slug}")).status_code == 200
        delivery = (await stage.outcomes(1))[0]
    assert (delivery.state, delivery.status) == (DeliveryState.FAILED, 508)
    assert delivery.error == "The forwarded request came back to Hookline: the target is one of its own capture URLs."
    assert stage.store.captures.counts(second.id).total == 0


@pytest.mark.parametrize("answer", [silent, None])
async def test_a_target_that_fails_holds_no_sender_up(stage: Stage, capture_port: str, answer: object) -> None:
    async with target(silent) as place, httpx.AsyncClient(verify=False, trust_env=False) as client:
        url = place.url if answer else "http://127.0.0.1:9/"
        endpoint = await stage.endpoint(url, forward=Forward(timeout_ms=60_000))
        await stage.forwarder.start()
        for _ in range(30):
            assert (await client.post(f"{capture_port}/catch/{endpoint.slug}", content=b"{}")).status_code == 200
    assert stage.store.captures.counts(endpoint.id).total == 30
