"""Any bytes on the port get an HTTP answer or a closed connection; the server lives on and logs no traceback."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.capture.support import OwnLoop, Rig, request

HOST = b"Host: x\r\n"
NASTIES = {
    "null bytes": b"\0" * 200,
    "null in the target": b"GET /catch/or\0ders HTTP/1.1\r\n" + HOST + b"\r\n",
    "null in a header": b"GET /catch/orders HTTP/1.1\r\nX: a\0b\r\n" + HOST + b"\r\n",
    "bytes in the target": b"GET /catch/\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
    "huge header": b"GET /catch/orders HTTP/1.1\r\nX: " + b"x" * 70_000 + b"\r\n" + HOST + b"\r\n",
    "huge target": b"GET /catch/orders/" + b"x" * 70_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "too many headers": b"GET /catch/orders HTTP/1.1\r\n" + HOST + b"X: 1\r\n" * 1_001 + b"\r\n",
    "negative length": b"POST /catch/orders HTTP/1.1\r\n" + HOST + b"Content-Length: -5\r\n\r\n",
    "signed length": b"POST /catch/orders HTTP/1.1\r\n" + HOST + b"Content-Length: +5\r\n\r\nabcde",
    "length that is no number": b"POST /catch/orders HTTP/1.1\r\n" + HOST + b"Content-Length: 1e3\r\n\r\n",
    "two lengths": b"POST /catch/orders HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length past 64 bits": b"POST /catch/orders HTTP/1.1\r\n" + HOST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n",
    "length and chunked": b"POST /catch/orders HTTP/1.1\r\n"
    + HOST
    + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked is not last": b"POST /catch/orders HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked, gzip\r\n\r\n",
    "bad chunk size": b"POST /catch/orders HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "header without colon": b"GET /catch/orders HTTP/1.1\r\n" + HOST + b"nothing\r\n\r\n",
    "header without name": b"GET /catch/orders HTTP/1.1\r\n" + HOST + b": value\r\n\r\n",
    "space before the colon": b"GET /catch/orders HTTP/1.1\r\n" + HOST + b"X : 1\r\n\r\n",
    "folded header": b"GET /catch/orders HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n",
    "bare line feeds": b"GET /catch/orders HTTP/1.1\n" + HOST + b"\n",
    "no host": b"GET /catch/orders HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /catch/orders HTTP/1.1\r\n" + HOST + b"Host: y\r\n\r\n",
    "HTTP/0.9": b"GET /nope\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 9,
    "HTTP/3.0": b"GET /catch/orders HTTP/3.0\r\n" + HOST + b"\r\n",
    "TLS ClientHello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)),
    "SOCKS": b"\x05\x01\x00",
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    "line without target": b"GET HTTP/1.1\r\n" + HOST + b"\r\n",
    "CONNECT": b"CONNECT example.test:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "CONNECT to nowhere": b"CONNECT [ HTTP/1.1\r\n" + HOST + b"\r\n",
    "bad authority": b"GET http://[::1/catch/orders HTTP/1.1\r\n" + HOST + b"\r\n",
    "bad port": b"GET http://h:999999/catch/orders HTTP/1.1\r\n" + HOST + b"\r\n",
    "empty coding beside a length": b"POST /catch/orders HTTP/1.1\r\n"
    + HOST
    + b"Transfer-Encoding:\r\nContent-Length: 3\r\n\r\nabc",
    "RTSP": b"DESCRIBE /x RTSP/1.0\r\n" + HOST + b"\r\n",
}
ERRORS = {400, 404, 405}


@pytest.fixture(autouse=True)
def silent(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing a sender does is worth a warning in the log, let alone a traceback."""
    caplog.set_level(logging.DEBUG)
    yield
    loud = [record for record in caplog.get_records("call") if record.levelno >= logging.WARNING or record.exc_info]
    assert loud == []


@pytest.mark.parametrize("name", NASTIES)
@pytest.mark.parametrize("piece", [100_000, 7])
async def test_hand_made_nasties_are_refused_and_listed(rig: Rig, name: str, piece: int) -> None:
    raw = NASTIES[name]
    if len(raw) > 1_000 and piece < 100:
        piece *= 1_000
    sender = await rig.connect()
    for start in range(0, len(raw), piece):
        try:
            await sender.send(raw[start : start + piece])
        except ConnectionError:
            break
        await asyncio.sleep(0)
    sender.half_close()
    answer = await sender.response()
    assert answer.status in ERRORS, (name, answer.status)
    assert answer.json()["error"] in ("bad_request", "not_found", "method_not_allowed")
    if name == "bad chunk size":  # its head came first, so it was on its way in already
        assert [(one.complete, rig.refused.newest()) for one in rig.sink.captures] == [(False, [])]
    else:
        (refusal,) = [refusal for refusal in rig.refused.newest() if refusal.status == answer.status]
        assert refusal.reason.endswith(".")
        assert "\n" not in refusal.reason
        assert rig.sink.captures == []
    assert (await rig.post(b"still here")).status == 200


async def test_a_malformed_request_is_listed_with_what_is_known_of_it(rig: Rig) -> None:
    await rig.ask(b"POST /catch/orders?x HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n")
    await rig.ask(b"\x16\x03\x01\x02\x00\x01")
    tls, post = rig.refused.newest()
    assert (post.status, post.method, post.target) == (400, "POST", "/catch/orders?x")
    assert (tls.status, tls.reason) == (400, "Malformed HTTP: the sender speaks TLS (HTTPS) to a port for plain HTTP.")


PIECES = (
    b"GET |POST |HEAD |FOO |CONNECT |/catch/orders|/catch/|*|http://h/catch/orders| HTTP/1.1| HTTP/1.0| HTTP/9.9|\r\n"
    b"|\r\n\r\n|\n|\r|Host: x\r\n|Content-Length: |Transfer-Encoding: chunked\r\n|Transfer-Encoding: gzip\r\n"
    b"|Expect: 100-continue\r\n|Upgrade: h2c\r\n|Upgrade: websocket\r\n|Connection: upgrade\r\n|Connection: close\r\n"
    b"|5\r\n|0\r\n\r\n|abcde|: |X|\0|\xff|ffffffff\r\n|-1\r\n|Content-Encoding: gzip\r\n|Trailer: x\r\n"
)
FRAGMENTS = st.sampled_from(PIECES.split(b"|"))
WHOLE = st.sampled_from([request(body=b"abc"), request("HEAD"), request(path="/x"), *NASTIES.values()])
BYTES = st.lists(st.one_of(FRAGMENTS, FRAGMENTS, WHOLE, st.binary(max_size=40)), max_size=14)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=BYTES, apart=st.booleans())
def test_random_bytes_never_hurt(own_loop: OwnLoop, pieces: list[bytes], apart: bool) -> None:
    own_loop.runner.run(_throw(own_loop, pieces, apart))


async def _throw(own_loop: OwnLoop, pieces: list[bytes], apart: bool) -> None:
    rig = own_loop.rig
    sender = await rig.connect()
    try:
        for piece in pieces if apart else [b"".join(pieces)]:
            await sender.send(piece)
            await asyncio.sleep(0)
        sender.half_close()
    except (ConnectionError, OSError):
        pass
    came = await sender.rest()
    await sender.close()
    assert not came or re.match(rb"HTTP/1\.1 \d{3} ", came), came
    assert (await rig.post(b"still here")).status == 200
    assert own_loop.failures == []
    rig.senders.clear()
    rig.events.clear()
    del rig.sink.captures[:-1]


async def test_twenty_senders_of_nonsense_do_not_hold_up_an_honest_one(rig: Rig) -> None:
    async def nonsense() -> None:
        for raw in NASTIES.values():
            sender = await rig.connect()
            try:
                await sender.send(raw)
                sender.half_close()
            except (ConnectionError, OSError):
                pass
            await sender.rest()
            await sender.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(nonsense(), name="nonsense")
        for _ in range(50):
            assert (await rig.post()).status == 200
