"""Requests that are not captured: what the sender hears, and what is listed."""

from __future__ import annotations

import asyncio
from base64 import b64encode

import pytest

from app.core.errors import NotFoundError, StorageUnavailableError
from app.core.model import METHODS, PART_SIZE, Auth
from tests.server.capture.support import OWN_ID, Rig, request


@pytest.mark.parametrize("method", ["TRACE", "PROPFIND", "PURGE", "FOO", "M-Y_2!", "get", "CONNECT"])
async def test_any_other_method_is_405_with_allow(rig: Rig, method: str) -> None:
    target = "orders:80" if method == "CONNECT" else "/catch/orders"
    answer = await rig.ask(request(method, target))
    assert (answer.status, answer.json()) == (405, {"error": "method_not_allowed"})
    assert answer.value("Allow") == ", ".join(METHODS)
    assert rig.refusals() == [(405, method, target)]
    assert not rig.sink.captures


@pytest.mark.parametrize(
    "target",
    [
        "/catch/unknown",
        "/catch/Orders",
        "/catch/orders%2F",
        "/catch/orders%2Fx",
        "/catch/%6frders",
        "/catch/ordersX",
        "/catch/orders;x",
        "/catch/orders#x",
        "/catch/",
        "/catch",
        "/catch?orders",
        "//catch/orders",
        "/catch//orders",
        "/./catch/orders",
        "/Catch/orders",
        "/",
        "/api/v1/endpoints",
        "/favicon.ico",
        "http://host/",
        "http://host",
        "http://host?/catch/orders",
        "ftp://host/catch/orders",
    ],
)
async def test_what_is_no_capture_url_gets_one_and_the_same_404(rig: Rig, target: str) -> None:
    answer = await rig.ask(request("GET", target))
    assert (answer.status, answer.body) == (404, b'{"error":"not_found"}\n')
    names = [name for name, _ in answer.headers]
    assert names == ["Server", "Content-Type", "Content-Length", "Date"]
    assert rig.refusals() == [(404, "GET", target)]


async def test_options_star_is_404(rig: Rig) -> None:
    assert (await rig.ask(request("OPTIONS", "*"))).status == 404


async def test_an_inactive_endpoint_asks_to_come_back(rig: Rig) -> None:
    rig.directory.put("off", active=False)
    answer = await rig.post(path="/catch/off/x")
    assert (answer.status, answer.json()) == (503, {"error": "endpoint_inactive"})
    assert answer.value("Retry-After") == "60"
    assert rig.refusals() == [(503, "POST", "/catch/off/x")]


async def test_a_declared_length_over_the_limit_is_refused_before_the_body(rig: Rig) -> None:
    rig.settings.override(body_limit=1024)
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 1025\r\n\r\n")
    answer = await sender.response()
    assert (answer.status, answer.json()) == (413, {"error": "body_too_large", "limit": 1024})
    assert answer.value("Connection") == "close"
    assert await sender.rest() == b""
    assert rig.refusals() == [(413, "POST", "/catch/orders")]
    assert (await rig.post(b"x" * 1024)).status == 200


@pytest.mark.parametrize("length", ["99999999999999999", "0" * 5000 + "99999"])
async def test_absurd_lengths_are_too_large(rig: Rig, length: str) -> None:
    rig.settings.override(body_limit=1024)
    answer = await rig.ask(f"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode())
    assert answer.status == 413


async def test_a_chunked_body_is_refused_as_soon_as_it_passes_the_limit(rig: Rig) -> None:
    rig.settings.override(body_limit=3 * PART_SIZE)
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(4):
        await sender.send(b"%x\r\n%b\r\n" % (PART_SIZE, bytes(PART_SIZE)))
    answer = await sender.response()
    assert (answer.status, answer.json()["limit"]) == (413, rig.settings.now.body_limit)
    assert await sender.rest() == b""
    assert PART_SIZE in rig.sink.part_sizes
    assert (rig.sink.parts, rig.sink.dropped, rig.sink.captures) == ({}, [1], [])


async def test_a_small_chunked_body_that_came_at_once_is_measured_too(rig: Rig) -> None:
    rig.settings.override(body_limit=1024)
    head = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = await rig.ask(head + b"401\r\n" + b"x" * 1025 + b"\r\n0\r\n\r\n")
    assert answer.status == 413
    assert not rig.sink.captures


async def test_the_sender_of_a_refused_body_can_read_the_answer(rig: Rig) -> None:
    """Closing with bytes unread would reset the connection, and the answer would be lost."""
    rig.settings.override(body_limit=1024)
    sender = await rig.connect()
    await sender.send(request(body=bytes(3_000_000)))
    await asyncio.sleep(0.1)
    assert (await sender.response()).status == 413


async def test_a_refused_request_whose_body_came_keeps_the_connection(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send(request(path="/nope", body=b"xyz") + request(body=b"ok"))
    assert (await sender.response()).status == 404
    assert (await sender.response()).status == 200


async def test_expect_continue_is_answered_before_the_body(rig: Rig) -> None:
    head = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n"
    sender = await rig.connect()
    await sender.send(head)
    async with asyncio.timeout(5):
        assert await sender.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    await sender.send(b"abc")
    assert (await sender.response()).status == 200
    await sender.send(head + b"def")  # one who does not wait needs no word
    assert (await sender.response()).status == 200
    assert rig.sink.last_body == b"def"


@pytest.mark.parametrize(("path", "length", "status"), [("/nope", 3, 404), ("/catch/orders", 4_000, 413)])
async def test_no_continue_for_a_request_that_is_refused(rig: Rig, path: str, length: int, status: int) -> None:
    rig.settings.override(body_limit=1024)
    raw = f"POST {path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
    assert (await rig.ask(raw.encode())).status == status


async def test_when_storing_fails_the_sender_may_come_back(rig: Rig) -> None:
    rig.sink.fail_with = StorageUnavailableError("The disk is full.")
    sender = await rig.connect()
    await sender.send(request())
    answer = await sender.response()
    assert (answer.status, answer.json()) == (503, {"error": "storage_unavailable"})
    assert answer.value("Retry-After")
    assert "The disk is full." in rig.refused.newest()[0].reason
    assert not rig.sink.dropped  # there was nothing to drop, and no need to ask a store that is in trouble
    rig.sink.fail_with = None
    await sender.send(request())
    assert (await sender.response()).status == 200


async def test_when_a_part_cannot_be_stored_the_others_are_dropped(rig: Rig) -> None:
    rig.sink.fail_after_parts = 2
    answer = await rig.post(bytes(5 * PART_SIZE))
    assert (answer.status, answer.json()) == (503, {"error": "storage_unavailable"})
    assert (rig.sink.parts, rig.sink.dropped) == ({}, [1])


async def test_an_endpoint_deleted_while_the_body_came_is_not_found(rig: Rig) -> None:
    rig.sink.fail_with = NotFoundError("That endpoint is gone.")
    assert (await rig.post()).body == b'{"error":"not_found"}\n'


async def test_a_mistake_of_ours_is_500_and_logged(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.sink.fail_with = ZeroDivisionError("ours")
    assert (await rig.post()).status == 500
    assert "ZeroDivisionError" in caplog.text
    rig.sink.fail_with = None
    assert (await rig.post()).status == 200


@pytest.mark.parametrize("value", [OWN_ID, f"other, {OWN_ID}", f"other\r\nx-hookline-forwarded-by: {OWN_ID}"])
async def test_a_request_forwarded_by_this_program_is_a_loop(rig: Rig, value: str) -> None:
    answer = await rig.post(headers=f"X-Hookline-Forwarded-By: {value}\r\n")
    assert (answer.status, answer.json()) == (508, {"error": "forward_loop"})
    assert rig.refusals() == [(508, "POST", "/catch/orders")]


async def test_a_request_forwarded_by_another_hookline_is_welcome(rig: Rig) -> None:
    assert (await rig.post(headers=f"X-Hookline-Forwarded-By: not-{OWN_ID}\r\n")).status == 200


def basic(credentials: str, encoding: str = "utf-8") -> str:
    return f"Authorization: Basic {b64encode(credentials.encode(encoding)).decode()}\r\n"


BASIC = Auth(kind="basic", name="jo", secret="p:ä")
BEARER = Auth(kind="bearer", secret="s3cret")
HEADER = Auth(kind="header", name="X-Token", secret="s3cret")


@pytest.mark.parametrize(
    ("auth", "headers"),
    [
        (BASIC, basic("jo:p:ä")),
        (BASIC, basic("jo:p:ä", "latin-1")),
        (BASIC, basic("jo:p:ä").replace("Basic", "bAsIc")),
        (BEARER, "authorization: Bearer s3cret\r\n"),
        (HEADER, "x-token: s3cret\r\n"),
        (HEADER, "X-Token: other\r\nX-Token: s3cret\r\n"),
    ],
)
async def test_right_credentials_pass(rig: Rig, auth: Auth, headers: str) -> None:
    rig.directory.put("locked", auth=auth)
    assert (await rig.post(path="/catch/locked", headers=headers)).status == 200


@pytest.mark.parametrize(
    ("auth", "headers", "challenge"),
    [
        (BASIC, "", 'Basic realm="Hookline", charset="UTF-8"'),
        (BASIC, basic("jo:wrong"), 'Basic realm="Hookline", charset="UTF-8"'),
        (BASIC, "Authorization: Basic !!!\r\n", 'Basic realm="Hookline", charset="UTF-8"'),
        (BASIC, "Authorization: Basic\r\n", 'Basic realm="Hookline", charset="UTF-8"'),
        (BEARER, basic("jo:p:ä"), 'Bearer realm="Hookline"'),
        (BEARER, "Authorization: Bearer s3cret2\r\n", 'Bearer realm="Hookline"'),
        (BEARER, "Authorization: s3cret\r\n", 'Bearer realm="Hookline"'),
        (HEADER, "X-Token: S3cret\r\n", None),
        (HEADER, "Authorization: s3cret\r\n", None),
    ],
)
async def test_wrong_credentials_are_401_and_listed(rig: Rig, auth: Auth, headers: str, challenge: str | None) -> None:
    rig.directory.put("locked", auth=auth)
    answer = await rig.post(path="/catch/locked", headers=headers)
    assert (answer.status, answer.json()) == (401, {"error": "unauthorized"})
    assert answer.value("WWW-Authenticate") == challenge
    assert rig.refusals() == [(401, "POST", "/catch/locked")]
    assert "s3cret" not in rig.refused.newest()[0].reason


async def test_the_list_names_time_source_and_reason(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send(request(path="/nope"))
    await sender.response()
    refusal = rig.refused.newest()[0]
    assert (refusal.source_address, refusal.source_port) == sender.writer.get_extra_info("sockname")
    assert refusal.reason == "No endpoint has this path."
    assert refusal.at > 1_700_000_000_000_000


async def test_what_is_kept_of_a_refused_request_ends_with_it(rig: Rig) -> None:
    sender = await rig.connect()
    stored = request(headers="Authorization: Bearer secret\r\n", body=b"kept")
    await sender.send(request(path="/catch/nobodys", body=b"xx") + stored)
    assert [(await sender.response()).status for _ in range(2)] == [404, 200]
    assert rig.refused.raw(1) == request(path="/catch/nobodys", body=b"xx")


async def test_a_chunked_body_of_http_1_0_is_malformed(rig: Rig) -> None:
    """A proxy of that version does not know where it ends."""
    head = b"POST /catch/orders HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = await rig.ask(head + b"1\r\nx\r\n0\r\n\r\n")
    assert answer.status == 400
    assert not rig.sink.captures


@pytest.mark.parametrize("length", [2**63, 2**64 - 1])
async def test_a_length_beyond_all_bounds_is_malformed(rig: Rig, length: int) -> None:
    """aiohttp's parser finds no body at all behind the largest of them."""
    answer = await rig.ask(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length)
    assert (answer.status, answer.json()["reason"]) == (400, "Malformed HTTP: Content-Length is too large.")


CHUNKED = b"POST /catch/orders HTTP/1.1\r\nhOst:  x \r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "body", "status"),
    [
        (b"POST /nope HTTP/1.1\r\nhOst:  x \r\nContent-Length: 2\r\n\r\n", b"ab", 404),
        (
            b"POST /nope HTTP/1.1\r\nhOst:  x \r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\na\r\n" * 200 + b"0\r\n\r\n",
            404,
        ),
        (b"BREW /catch/orders HTTP/1.1\r\nhOst:  x \r\n\r\n", b"", 405),
        (b"PROPFIND /catch/orders HTTP/1.1\r\nhOst:  x \r\n\r\n", b"", 405),
        (b"POST /catch/orders HTTP/1.1\r\nhOst:  x \r\nContent-Length: 2000\r\n\r\n", b"", 413),
        (b"POST /catch/locked HTTP/1.1\r\nhOst:  x \r\nContent-Length: 2\r\n\r\n", b"ab", 401),
        (b"POST /catch/off HTTP/1.1\r\nhOst:  x \r\nContent-Length: 2\r\n\r\n", b"ab", 503),
        (
            b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nx-HOOKLINE-forwarded-by: " + OWN_ID.encode() + b"\r\n\r\n",
            b"",
            508,
        ),
    ],
)
async def test_of_each_refused_request_the_head_is_kept_as_it_came(
    rig: Rig, head: bytes, body: bytes, status: int
) -> None:
    rig.settings.override(body_limit=1024)
    rig.directory.put("locked", auth=BEARER)
    rig.directory.put("off", active=False)
    assert (await rig.ask(head + body)).status == status
    assert rig.refused.raw(1) == head + body


async def test_of_what_is_refused_while_its_body_comes_the_head_is_kept(rig: Rig) -> None:
    rig.settings.override(body_limit=1024)
    sender = await rig.connect()
    await sender.send(CHUNKED)
    for _ in range(3):
        await sender.send(b"200\r\n" + bytes(512) + b"\r\n")
    assert (await sender.response()).status == 413
    assert rig.refused.raw(1) == CHUNKED
    assert [refusal.raw_size for refusal in rig.refused.newest()] == [len(CHUNKED)]


async def test_of_what_cannot_be_stored_all_that_came_with_the_head_is_kept(rig: Rig) -> None:
    rig.sink.fail_with = StorageUnavailableError("The disk is full.")
    request = CHUNKED + b"1\r\nx\r\n0\r\n\r\n"
    assert (await rig.ask(request)).status == 503
    assert rig.refused.raw(1) == request
