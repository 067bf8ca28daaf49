"""Heads that aiohttp's parser refuses for nothing that frames a request are captured as sent; others are told why."""

from __future__ import annotations

import time

import pytest
from aiohttp import hdrs

from app.server.capture.incoming_body import READ_MOST, IncomingBody
from app.server.capture.limits import Limits
from app.server.capture.reader import RequestReader
from tests.server.capture.support import Rig

LINE = "POST /catch/orders HTTP/1.1"
BODY = "\r\n\r\nabc"
LENGTH = "Content-Length: 3"


async def captured(rig: Rig, *lines: str) -> None:
    """Send a request of these lines with the body `abc`, and a plain one behind it; both must be recorded as sent."""
    raw = "\r\n".join(lines) + BODY
    sender = await rig.connect()
    await sender.send((raw + raw + "GET /catch/orders/after HTTP/1.1\r\nHost: x\r\n\r\n").encode("latin-1"))
    assert [(await sender.response()).status for _ in range(3)] == [200, 200, 200], lines
    *both, after = rig.sink.captures[-3:]
    method, target, _ = lines[0].split(" ")
    for record in both:
        assert (record.method, record.target, record.http_version) == (method, target, "1.1")
        assert [f"{name}: {value}" for name, value in record.headers] == list(lines[1:])
        assert (rig.sink.bodies[record.seq], record.complete) == (b"abc", True)
    assert (after.target, after.headers) == ("/catch/orders/after", (("Host", "x"),))
    await sender.close()


NAMES = sorted(
    {value for name, value in vars(hdrs).items() if name.isupper() and isinstance(value, str)}
    - {hdrs.CONTENT_LENGTH, hdrs.TRANSFER_ENCODING, hdrs.HOST, hdrs.EXPECT, hdrs.CONNECTION, hdrs.UPGRADE}
    | {"Cookie", "Keep-Alive", "Sec-WebSocket-Key2", "X-Any"}
)


async def test_any_header_may_be_there_once_twice_and_three_times(rig: Rig) -> None:
    for name in NAMES:
        for values in ("1",), ("one", "two"), ("", "same", "same"):
            odd = [f"{(name, name.lower(), name.upper())[at]}: {value}" for at, value in enumerate(values)]
            await captured(rig, LINE, "Host: x", odd[0], LENGTH, *odd[1:])


async def test_equal_hosts_are_one_host(rig: Rig) -> None:
    await captured(rig, LINE, "Host: x", "X-A: 1", "hOST: x", LENGTH, "Host: x")


@pytest.mark.parametrize(
    "target", ["/caf\xe9", "?q=\xc3\xa9", "/\xff\x80?\xfe#\xe9", "/%C3%A9\xc3\xa9", "/" + "\xc3\xa9" * 30_000]
)
async def test_a_target_may_hold_bytes_beyond_ascii(rig: Rig, target: str) -> None:
    await captured(rig, f"PUT /catch/orders{target} HTTP/1.1", "Host: x", LENGTH)


async def test_all_oddities_at_once(rig: Rig) -> None:
    odd = ("Host: x", "user-agent: a", "Sec-WebSocket-Key1: 1", "User-Agent: \xe9", "ETag: 1", LENGTH, "ETAG: 2")
    await captured(rig, "DELETE /catch/orders/\xe9 HTTP/1.1", *odd, "X_y~: ", "Host: x")


async def test_an_odd_chunked_request_is_framed_as_any_other(rig: Rig) -> None:
    head = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nETag: 1\r\nTransfer-Encoding: chunked\r\nETag: 2\r\n\r\n"
    sender = await rig.connect()
    await sender.send((head + b"3\r\nabc\r\n0\r\nT: 1\r\n\r\n") * 2)
    for _ in range(2):
        assert (await sender.response()).status == 200
        assert (rig.sink.last_body, rig.sink.last.trailers) == (b"abc", (("T", "1"),))
        assert len(rig.sink.last.headers) == 4


@pytest.mark.parametrize(
    "codings", ["gzip;q=1, chunked", "gzip ;q=1 ,CHUNKED", ",chunked", "gzip, , chunked", "," * 100 + "chunked"]
)
async def test_a_body_is_chunked_whatever_codings_come_before(rig: Rig, codings: str) -> None:
    head = f"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {codings}\r\n\r\n"
    assert (await rig.ask(head.encode() + b"3\r\nabc\r\n0\r\n\r\n")).status == 200
    assert rig.sink.last_body == b"abc"


async def test_much_space_within_a_value_takes_no_time(rig: Rig) -> None:
    wide = b"a" + b" " * 60_000 + b"b"
    head = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nETag: 1\r\nETag: 2\r\nX: " + wide
    raw = head + b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: " + wide + b"\r\n\r\n"
    begin = time.process_time()
    assert (await rig.ask(raw)).status == 200
    assert time.process_time() - begin < 0.5
    assert rig.sink.last.trailers == (("T", wide.decode()),)


@pytest.mark.parametrize(("name", "value"), [("X", b"x" * 60_000), ("Connection", b"a," * 30_000)])
def test_the_longest_heads_take_little_time(name: str, value: bytes) -> None:
    head = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"%b: %b\r\n" % (name.encode(), value) * 4 + b"\r\n"
    begin = time.process_time()
    for _ in range(80):
        reader = RequestReader(IncomingBody, Limits().head_bytes)
        requests = [reader.read_head(head[at : at + READ_MOST]) for at in range(0, len(head), READ_MOST)]
        assert requests[-1] is not None
    assert time.process_time() - begin < 0.3


async def test_connection_close_counts_in_an_odd_head(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send(b"GET /catch/orders HTTP/1.1\r\nHost: x\r\nETag: 1\r\nConnection: close\r\nETag: 2\r\n\r\nGET")
    assert (await sender.response()).value("Connection") == "close"
    assert await sender.rest() == b""


CHUNKED = "Transfer-Encoding: chunked"
BOTH = "both Content-Length and Transfer-Encoding are present, so the end of the body is ambiguous"
ODD = "ETag: 1\r\nETag: 2"
"""Headers that other readers refuse: what is wrong with the framing must be refused beside them as well."""
NO_URL = "the request target is not a valid URL"
REFUSED = {
    f"{LINE}\r\nHost: x\r\nHost: y\r\n{LENGTH}": "there are several Host headers with different values",
    f"{LINE}\r\nHost: x\r\nHost: X\r\n{LENGTH}": "there are several Host headers with different values",
    f"{LINE}\r\n{LENGTH}": "the header Host is missing",
    f"{LINE}\r\nHost: x\r\n{LENGTH}\r\n{LENGTH}": "Content-Length appears more than once",
    f"{LINE}\r\nHost: x\r\nContent-Length: 3, 3": "Content-Length is not a number of bytes",
    f"{LINE}\r\nHost: x\r\nContent-Length: +3": "Content-Length is not a number of bytes",
    f"{LINE}\r\nHost: x\r\nContent-Length: \xb3": "Content-Length is not a number of bytes",
    f"{LINE}\r\nHost: x\r\nContent-Length:": "Content-Length is not a number of bytes",
    f"{LINE}\r\nHost: x\r\nContent-Length: {2**64}": "Content-Length is not a number of bytes",
    f"{LINE}\r\nHost: x\r\n{LENGTH}\r\nTransfer-Encoding: chunked": BOTH,
    f"{LINE}\r\nHost: x\r\nTransfer-Encoding: chunked\r\ncontent-length: 3": BOTH,
    f"{LINE}\r\nHost: x\r\n{CHUNKED}\r\n{CHUNKED}": "Transfer-Encoding appears more than once",
    f"{LINE}\r\nHost: x\r\nTransfer-Encoding: identity": "request has invalid Transfer-Encoding",
    f"{LINE}\r\nHost: x\r\nTransfer-Encoding: {',' * 101}chunked": "request has invalid Transfer-Encoding",
    f"{LINE}\r\nHost: x\r\nTransfer-Encoding: chunked, gzip": "invalid Transfer-Encoding header value",
    f"{LINE}\r\nHost: x\r\nTransfer-Encoding: chunked;a=b, chunked": "invalid Transfer-Encoding header value",
    f'{LINE}\r\nHost: x\r\nTransfer-Encoding: gzip;a="b, chunked': "invalid Transfer-Encoding header value",
    f"{LINE}\r\nHost: x\r\nTransfer-Encoding: gzip;, chunked": "invalid Transfer-Encoding header value",
    f"{LINE}\r\nHost: x\r\nX: a\n{LENGTH}": "a line of the head ends with LF alone instead of CR LF",
    f"{LINE}\r\nHost: x\r\nX: a\rb\r\n{LENGTH}": "the head contains a CR without LF",
    f"{LINE}\r\nHost: x\r\nX: a\0b\r\n{LENGTH}": "the head contains the control character 0x00",
    f"{LINE}\r\nHost: x\r\nX: a\r\n b\r\n{LENGTH}": "a header is folded over several lines",
    f"{LINE}\r\nHost: x\r\nnothing\r\n{LENGTH}": "a header line has no colon",
    f"{LINE}\r\nHost: x\r\nX : 1\r\n{LENGTH}": "a header's name is empty or contains a character that is not allowed",
    f"{LINE}\r\nHost: x\r\n: 1\r\n{LENGTH}": "a header's name is empty or contains a character that is not allowed",
    f"POST /catch/orders HTTP/1.2\r\nHost: x\r\n{LENGTH}": "invalid HTTP version",
    **{
        f"{line} HTTP/1.1\r\nHost: x\r\n{LENGTH}": NO_URL
        for line in (
            "POST http://[::1/catch/orders",
            "POST http://[::1]x/catch/orders",
            "POST http://a\\b/catch/orders",
            "POST http://a<b>/catch/orders",
            "POST https://h#f",
            "CONNECT http://h/catch/orders",
        )
    },
    f"hello\r\nHost: x\r\n{LENGTH}": "the first line is not a request line such as GET /path HTTP/1.1",
    "PRI * HTTP/2.0": "the sender speaks HTTP/2 to a port for HTTP/1.1",
    f"POST /catch/{'x' * 65_536} HTTP/1.1\r\nHost: x\r\n{LENGTH}": "the request target is longer than 65,536 bytes",
    f"{LINE}\r\nHost: x\r\nX: {'s3cret' * 12_000}\r\n{LENGTH}": "a header is longer than 65,536 bytes",
    f"{LINE}\r\nHost: x\r\n{'X: 1' + chr(13) + chr(10)}" * 1 + "X: 1\r\n" * 1_001 + LENGTH: "there are more than 1,000"
    " headers",
}


@pytest.mark.parametrize("raw", REFUSED, ids=[str(number) for number in range(len(REFUSED))])
@pytest.mark.parametrize("odd", [False, True])
async def test_what_is_malformed_is_refused_with_the_reason_and_kept_as_it_came(rig: Rig, raw: str, odd: bool) -> None:
    reason = f"Malformed HTTP: {REFUSED[raw]}."
    if odd and "Transfer-Encoding" in raw and "\r\nHost: x\r\n" in raw:
        raw = raw.replace("\r\nHost: x\r\n", f"\r\n{ODD}\r\nHost: x\r\n", 1)
    sent = (raw + BODY).encode("latin-1")
    sender = await rig.connect()
    await sender.send(sent + b"GET /catch/orders HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = await sender.response()
    assert (answer.status, answer.json()) == (400, {"error": "bad_request", "reason": reason})
    assert await sender.rest() == b""
    assert not rig.sink.captures
    (refusal,) = rig.refused.newest()
    assert (refusal.status, refusal.reason) == (400, reason)
    kept = rig.refused.raw(refusal.id)
    assert kept is not None
    assert len(kept) == refusal.raw_size
    assert kept[: len(sent)] == sent[:65_536]


async def test_of_any_refused_request_what_came_with_its_head_is_kept(rig: Rig) -> None:
    raw = b"POST /nope HTTP/1.1\r\nhOst: x\r\nContent-Length: 5\r\n\r\nab"
    sender = await rig.connect()
    await sender.send(raw)
    assert (await sender.response()).status == 404
    assert rig.refused.raw(rig.refused.newest()[0].id) == raw
    await sender.send(b"cde" + raw)
    assert (await sender.response()).status == 404
    await sender.close()
    assert (await rig.post(b"x" * 100)).status == 200
    assert rig.refused.total == 2
