"""What is stored is what was sent, byte for byte."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import os
import zlib

import pytest

from app.core.clock import now_us
from app.core.model import METHODS, PART_SIZE, DeliveryState
from tests.server.capture.support import Rig, request
from tests.support import until


@pytest.mark.parametrize("method", METHODS)
async def test_all_seven_methods_are_captured(rig: Rig, method: str) -> None:
    answer = await rig.ask(request(method, body=b"abc"), bodiless=method == "HEAD")
    assert answer.status == 200
    assert (rig.sink.last.method, rig.sink.last_body) == (method, b"abc")


async def test_the_record_tells_all_that_was_sent(rig: Rig) -> None:
    body = os.urandom(700)
    raw = (
        b"POST /catch/orders/a%2Fb//..;x=1?q=%20&q=+&e HTTP/1.1\r\nhOsT: example.test\r\nX-Dup: 1\r\nx-dup:2\r\n"
        b"X_under: kept\r\nX-Latin: caf\xe9 \xff\r\nX-Empty:\r\nX-Dup: \t three words \r\n"
        b"content-TYPE: application/octet-stream\r\nContent-Length: 700\r\n\r\n"
    )
    before = now_us()
    sender = await rig.connect()
    await sender.send(raw + body)
    answer = await sender.response()
    record = rig.sink.last
    assert record.target == "/catch/orders/a%2Fb//..;x=1?q=%20&q=+&e"
    assert record.headers == (
        ("hOsT", "example.test"),
        ("X-Dup", "1"),
        ("x-dup", "2"),
        ("X_under", "kept"),
        ("X-Latin", "caf\xe9 \xff"),
        ("X-Empty", ""),
        ("X-Dup", "three words"),
        ("content-TYPE", "application/octet-stream"),
        ("Content-Length", "700"),
    )
    assert rig.sink.last_body == body
    assert (record.size, record.sha256) == (700, hashlib.sha256(body).hexdigest())
    assert (record.http_version, record.scheme, record.complete) == ("1.1", "http", True)
    assert (record.source_address, record.source_port) == sender.writer.get_extra_info("sockname")
    assert record.content_type == "application/octet-stream"
    assert before <= record.received_at <= now_us()
    assert answer.json() == {"status": "captured", "id": record.id}
    assert (record.response_status, record.delivery, record.read) == (200, DeliveryState.NONE, False)


@pytest.mark.parametrize(
    "target",
    [
        "/catch/orders",
        "/catch/orders/",
        "/catch/orders?",
        "/catch/orders?a=b#c",
        "/catch/orders/%00%ff%2e%2e/",
        "/catch/orders/" + "x" * 60_000,
        "http://elsewhere.test:99/catch/orders?x=1",
        "HTTP://u:p@elsewhere.test/catch/orders",
    ],
)
async def test_the_raw_target_is_kept(rig: Rig, target: str) -> None:
    assert (await rig.ask(request("GET", target))).status == 200
    assert rig.sink.last.target == target


async def test_http_1_0_is_captured_and_answered_in_kind(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.0\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi")
    assert (await sender.response()).value("Connection") == "keep-alive"
    await sender.send(b"GET /catch/orders HTTP/1.0\r\n\r\n")
    assert (await sender.response()).value("Connection") == "close"
    assert await sender.rest() == b""
    assert [capture.http_version for capture in rig.sink.captures] == ["1.0", "1.0"]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "nonsense"])
async def test_a_content_coding_is_left_alone(rig: Rig, coding: str) -> None:
    body = {"gzip": gzip.compress(b"x" * 500), "deflate": zlib.compress(b"y" * 500)}.get(coding, b"not that coding")
    assert (await rig.post(body, headers=f"Content-Encoding: {coding}\r\n")).status == 200
    assert rig.sink.last_body == body


async def test_a_chunked_body_loses_its_chunks_and_keeps_its_coding(rig: Rig) -> None:
    body = gzip.compress(b"hello " * 100)
    chunks = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(part), part) for part in (body[:5], body[5:]))
    head = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = await rig.ask(head + chunks + b"0\r\n\r\n")
    assert (answer.status, answer.value("Connection")) == (200, None)
    assert rig.sink.last_body == body
    assert ("Transfer-Encoding", "chunked") in rig.sink.last.headers


async def test_bytes_may_come_one_at_a_time(rig: Rig) -> None:
    sender = await rig.connect()
    for byte in request(body=b"slow", headers="X-A: b\r\n"):
        await sender.send(bytes((byte,)))
    assert (await sender.response()).status == 200
    assert rig.sink.last_body == b"slow"
    assert ("X-A", "b") in rig.sink.last.headers


async def test_requests_in_one_piece_are_captured_in_order(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send(b"".join(request(path=f"/catch/orders/{n}", body=b"b" * n) for n in range(50)))
    ids = [(await sender.response()).json()["id"] for _ in range(50)]
    assert [capture.target for capture in rig.sink.captures] == [f"/catch/orders/{n}" for n in range(50)]
    assert ids == [capture.id for capture in rig.sink.captures] == sorted(ids)


async def test_requests_behind_one_that_is_being_stored_wait_for_their_turn(rig: Rig) -> None:
    rig.sink.hold = asyncio.Event()
    sender = await rig.connect()
    await sender.send(request(path="/catch/orders/1"))
    await until(lambda: rig.sink.writing)
    await sender.send(request(path="/catch/orders/2") + request(path="/catch/orders/3")[:20])
    await asyncio.sleep(0.05)
    await sender.send(request(path="/catch/orders/3")[20:])
    rig.sink.hold.set()
    for _ in range(3):
        assert (await sender.response()).status == 200
    assert [capture.target[-1] for capture in rig.sink.captures] == ["1", "2", "3"]


async def test_garbage_behind_a_request_does_not_spoil_it(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send(request(body=b"good") + b"more than its length said\r\n\r\n")
    assert (await sender.response()).status == 200
    assert (await sender.response()).status == 400
    assert await sender.rest() == b""
    assert rig.sink.last_body == b"good"
    assert rig.sink.last.complete


async def test_a_trailer_is_never_taken_for_a_header_of_the_next_request(rig: Rig) -> None:
    head = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with_trailer = head + b"1\r\na\r\n0\r\nX-Trailer: 1\r\nContent-Length: 9\r\nHost: y\r\nx-trailer:  \xe9 \r\n\r\n"
    sender = await rig.connect()
    for follower in (request("GET"), head + b"1\r\nb\r\n0\r\n\r\n", with_trailer):
        await sender.send(with_trailer + follower)
        for _ in range(2):
            assert (await sender.response()).status == 200
    trailers = (("X-Trailer", "1"), ("Content-Length", "9"), ("Host", "y"), ("x-trailer", "\xe9"))
    assert [capture.trailers for capture in rig.sink.captures] == [trailers, (), trailers, (), trailers, trailers]
    assert [rig.sink.bodies[capture.seq] for capture in rig.sink.captures] == [b"a", b"", b"a", b"b", b"a", b"a"]
    sent = (("Host", "x"), ("Transfer-Encoding", "chunked"))
    assert {capture.headers for capture in rig.sink.captures} == {sent, (("Host", "x"), ("Content-Length", "0"))}


@pytest.mark.parametrize(
    ("trailers", "fault"),
    [
        (b"X: 1\nY: 2\r\n", "a trailer is not a name and a value"),
        (b"X : 1\r\n", "a trailer is not a name and a value"),
        (b"X: 1\r\n folded\r\n", "a trailer is not a name and a value"),
        (b"X: 1\r\n" * 101, "there are more than 100 trailers"),
        (b"X: " + b"x" * 65_536, "the trailers are longer than 65,536 bytes"),
    ],
)
async def test_trailers_are_read_strictly_and_bounded(rig: Rig, trailers: bytes, fault: str) -> None:
    head = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = await rig.ask(head + b"3\r\nabc\r\n0\r\n" + trailers + b"\r\n")
    assert (answer.status, answer.json()["reason"]) == (400, f"Malformed HTTP: {fault}.")
    assert (rig.sink.last_body, rig.sink.last.complete, rig.sink.last.trailers) == (b"abc", False, ())


async def test_ever_so_many_chunks_do_not_stop_the_connection(rig: Rig) -> None:
    """More than aiohttp's own stream keeps track of before it stops reading."""
    head = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    sender = await rig.connect()
    for number in (40_000, 3, 40_000):
        await sender.send(head + b"1\r\na\r\n" * number + b"0\r\n\r\n")
        assert (await sender.response()).status == 200
        assert rig.sink.last_body == b"a" * number


async def test_a_large_body_goes_to_the_store_in_parts(rig: Rig) -> None:
    body = os.urandom(PART_SIZE * 5 + 17)
    assert (await rig.post(body)).status == 200
    assert rig.sink.part_sizes == [PART_SIZE] * 5
    assert rig.sink.last_body == body
    assert rig.sink.last.sha256 == hashlib.sha256(body).hexdigest()


async def test_a_body_of_whole_parts_ends_with_a_whole_tail(rig: Rig) -> None:
    body = os.urandom(PART_SIZE * 2)
    assert (await rig.post(body)).status == 200
    assert rig.sink.part_sizes == [PART_SIZE]
    assert rig.sink.last_body == body


async def test_a_large_chunked_body_is_kept_whole(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send(b"PUT /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    block = os.urandom(100_000)
    for _ in range(30):
        await sender.send(b"%x\r\n%b\r\n" % (len(block), block))
    await sender.send(b"0\r\n\r\n")
    assert (await sender.response()).status == 200
    assert rig.sink.last_body == block * 30


@pytest.mark.slow
async def test_a_slow_store_makes_the_sender_wait_instead_of_filling_memory(rig: Rig) -> None:
    rig.sink.hold = asyncio.Event()
    total = 40 * PART_SIZE
    sender = await rig.connect()
    sender.writer.transport.set_write_buffer_limits(high=PART_SIZE)
    sent = 0

    async def pour() -> None:
        nonlocal sent
        await sender.send(request(body=b"")[:-5] + b"%d\r\n\r\n" % total)
        while sent < total:
            await sender.send(bytes(PART_SIZE))
            sent += PART_SIZE

    pouring = asyncio.create_task(pour(), name="pour")
    await asyncio.sleep(0.4)
    assert sent < 20 * PART_SIZE  # the rest of what was sent is in the system's socket buffers
    rig.sink.hold.set()
    await pouring
    assert (await sender.response()).status == 200
    assert rig.sink.last.size == total


async def test_a_forwarded_endpoint_queues_its_forward(rig: Rig) -> None:
    rig.directory.put("forwarded", forward_url="http://127.0.0.1:9/in")
    await rig.post(path="/catch/forwarded/x")
    assert rig.sink.last.delivery is DeliveryState.QUEUED
    assert rig.sink.targets[rig.sink.last.seq] == ("http://127.0.0.1:9/in",)
    await rig.post()
    assert rig.sink.targets[rig.sink.last.seq] == ()


async def test_an_upgrade_is_captured_like_any_request(rig: Rig) -> None:
    headers = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
    for kind in (headers, headers.replace("websocket", "h2c")):
        answer = await rig.post(b"abc", headers=kind)
        assert (answer.status, answer.value("Connection"), rig.sink.last_body) == (200, "close", b"abc")


async def test_a_changed_endpoint_counts_from_the_next_request_on(rig: Rig) -> None:
    sender = await rig.connect()
    for _ in range(2):
        await sender.send(request())
        assert (await sender.response()).status == 200
    rig.directory.put("orders", active=False)
    await sender.send(request())
    assert (await sender.response()).status == 503
    del rig.directory.endpoints["orders"]
    await sender.send(request())
    assert (await sender.response()).status == 404
