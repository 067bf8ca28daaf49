"""The same bytes are judged the same, however they are cut into packets."""

from __future__ import annotations

import asyncio
import random
import re
from itertools import pairwise
from typing import Any

import pytest

from app.server.capture.handler import Handler
from app.server.capture.limits import Limits
from app.server.capture.server import CaptureServer, ServedConnection
from app.server.refused import RefusedLog
from tests.server.capture.support import Directory, MemorySink, in_memory
from tests.support import current_settings
from tests.tunnels import listening_at

HOST = b"Host: x\r\n"
POST = b"POST /catch/orders HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
GOOD = (
    b"GET /catch/orders?a=b HTTP/1.1\r\n" + HOST + b"\r\n",
    POST + b"Content-Length: 5\r\n\r\nabcde",
    POST + b"Content-Length: 0\r\n\r\n",
    CHUNKED + b"3\r\nabc\r\n10;x=y\r\n0123456789abcdef\r\n0\r\n\r\n",
    CHUNKED + b'3 ; a ;\tb = c; d= "e;"\r\nabc\r\n0; f\r\n\r\n',
    b"\r\n\n" + CHUNKED + b"3\r\nabc\r\n0\r\nX-Sum: 1\r\nx-sum:\t2 \r\n\r\n",
    CHUNKED + b"1;a\r\nx\r\n" * 200 + b"0\r\nT: 1\r\n\r\n",
    POST + b"ETag: 1\r\netag: 2\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi",
    b"PUT /catch/orders/\xc3\xa9 HTTP/1.1\r\n"
    + HOST
    + b"X:\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nT: 1\r\n\r\n",
    b"GET   /catch/orders   HTTP/1.1\r\n" + HOST + b"\r\n",
    POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nok",
    b"HEAD /catch/orders HTTP/1.1\r\n" + HOST + b"\r\n",
)
REFUSED = (
    b"GET /nope HTTP/1.1\r\n" + HOST + b"\r\n",
    b"POST /nope HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\nabcd\r\n\r\nx",
    b"POST /nope HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    b"POST /nope HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\na",
    POST + b"Content-Length: 1500\r\n\r\n" + b"x" * 1500,
    CHUNKED + b"800\r\n" + b"x" * 2048 + b"\r\n0\r\n\r\n",
    b"GET /catch/orders\r\n" + HOST + b"\r\n",
    b"GET /catch/orders HTTP/1.0\r\n\r\n",
    b"PURGE /catch/orders HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /catch/orders HTTP/1.1\r\n" + HOST + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n",
)
"""Refused, or the last on their connection."""
MALFORMED = (
    b"FOO /catch/orders HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /catch/orders HTTP/1.1\n" + HOST + b"\r\n",
    b"GET /catch/orders\n" + HOST + b"\r\n",
    b"GET /catch/orders HTTP/1.1\r\n" + HOST + b"X: a\nY: b\r\n\r\n",
    b"GET /catch/orders HTTP/1.1\r\nX: a\rb\r\n" + HOST + b"\r\n",
    b"GET /catch/orders HTTP/1.1\r\n" + HOST + b" folded\r\n\0\r\n",
    b"GET /catch/orders HTTP/1.1\r\n" + HOST + b"nothing\r\nX: \x01\r\n\r\n",
    b"GET /catch/orders HTTP/1.1\r\n\r\n",
    b"GET /catch/orders HTTP/1.1\r\n" + HOST + b"Host: y\r\n\r\n",
    POST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
    POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding:\r\nContent-Length: 3\r\n\r\nabc",
    CHUNKED + b"3\r\nabcX\r\n0\r\n\r\n",
    CHUNKED + b"2\r\nab\r\nzz\r\n",
    CHUNKED + b"2 \r\nab\r\n0\r\n\r\n",
    CHUNKED + b"2;a b\r\nab\r\n0\r\n\r\n",
    CHUNKED + b"2; \r\nab\r\n0\r\n\r\n",
    CHUNKED + b"2;a= \r\nab\r\n0\r\n\r\n",
    CHUNKED + b"2\nab\r\n0\r\n\r\n",
    CHUNKED + b"2\r\nab\r\n0\r\nno trailer\r\n\r\n",
    CHUNKED + b"2\r\nab\r\n" + b"f" * 5_000 + b"\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /nope HTTP/1.2\r\n" + HOST + b"\r\n",
    b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: 1\r\n" * 1_000 + b"\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X:\r\n" * 15_000 + b"Y: \0\r\n\r\n",
    b"CONNECT h:1 HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabcdef",
    b"CONNECT h:1 HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 120_000 + b"\r\n\r\n",
)


class Wire(asyncio.Transport):
    """The system's side of a connection, as asyncio's own transport behaves towards a protocol."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 9)})
        self.sent = b""
        self.paused = self.closed = False

    def is_closing(self) -> bool:
        return self.closed

    def write(self, data: Any) -> None:
        self.sent += data

    def write_eof(self) -> None:
        pass

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def close(self) -> None:
        self.closed = True

    async def readable(self) -> None:
        while self.paused:  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0)

    abort = close


async def judged(pieces: list[bytes], gaps: random.Random | None) -> tuple[list[Any], list[Any], list[int]]:
    """What became of these packets, followed by the end of the sender's side: captures, refusals, answers."""
    loop = asyncio.get_running_loop()
    directory, sink, refused = Directory(), MemorySink(), RefusedLog(lambda _: None)
    directory.put()
    settings, limits = current_settings(body_limit=1024), Limits(head_bytes=100_000)
    server = CaptureServer(Handler(in_memory(directory, sink), refused, settings, listening_at(None), limits=limits))
    wire, connection = Wire(), ServedConnection(server, loop)
    connection.connection_made(wire)
    for piece in pieces:
        await wire.readable()
        if gaps is not None and gaps.random() < 0.3:
            await asyncio.sleep(0)
        if wire.closed:
            break
        connection.data_received(piece)
    await wire.readable()
    if not wire.closed and not connection.eof_received():
        wire.close()
    async with asyncio.timeout(5):
        while connection.task is not None and not connection.task.done():
            if wire.closed:
                connection.connection_lost(None)
            await asyncio.sleep(0)
    kept = [
        (
            *(record.method, record.target, record.http_version, record.headers, record.trailers, record.complete),
            *(record.response_status, sink.bodies[record.seq]),
        )
        for record in sink.captures
    ]
    why = [(refusal.status, refusal.reason, refusal.method, refusal.target) for refusal in refused.newest()]
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (?!100)(\d+) ", wire.sent)]
    return kept, why, statuses


def cuts(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(set(places) - {0, len(data)}), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges)]


@pytest.mark.slow
async def test_every_cut_of_a_short_request_gives_the_same() -> None:
    for number, raw in enumerate((*GOOD, *REFUSED, *MALFORMED)):
        if len(raw) > 300:
            continue
        data = raw + GOOD[number % len(GOOD)]
        whole = await judged([data], None)
        for place in range(1, len(raw) + 2):
            assert await judged(cuts(data, [place]), None) == whole, data[:place]


@pytest.mark.slow
async def test_sequences_are_judged_the_same_in_one_packet_by_bytes_and_cut_at_random() -> None:
    rng = random.Random(20261122)
    for case in range(150):
        data = b"".join(rng.choices(GOOD + REFUSED, k=rng.randrange(4)))
        data += rng.choice(GOOD + MALFORMED)
        data = data[: rng.randrange(len(data) - 40, len(data) + 1)] if case % 3 == 0 and len(data) > 100 else data
        whole = await judged([data], None)
        several = [rng.randrange(len(data)) for _ in range(rng.randrange(1, 12))]
        assert await judged(cuts(data, several), rng) == whole, data
        assert await judged(cuts(data, several), None) == whole, data
        if len(data) < 2_000:
            assert await judged(cuts(data, list(range(len(data)))), rng) == whole, data
        else:
            assert await judged(cuts(data, list(range(0, len(data), 997))), rng) == whole, data


async def test_all_kinds_are_there() -> None:
    for raw in GOOD:
        kept, why, statuses = await judged([raw], None)
        assert (len(kept), why, statuses) == (1, [], [200])
        assert kept[0][5]
    for raw in MALFORMED:
        kept, why, statuses = await judged([raw], None)
        assert statuses[0] in (400, 405)
        assert kept or why
