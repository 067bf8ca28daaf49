"""What a target receives is what was captured, but for the documented changes: forwarded, replayed and edited."""

from __future__ import annotations

import asyncio
import os

import pytest

from app.core.delivery import RequestEdit
from app.core.replay import ChosenRequests, OneUrl
from tests.server.forward.fidelity import Sent, differences
from tests.server.forward.targets import Received, Target, target
from tests.server.replay.conftest import ReplayStage

HOST = ("Host", "public.example")
BASE = "/dev/in"
REQUESTS = [
    Sent("GET", "", [HOST]),
    Sent("GET", "?", [HOST, ("accept", "*/*")]),
    Sent("GET", "/?&&=&a=%41&a=%zz&b", [HOST]),
    Sent("DELETE", "/x%2Fy//z;v=1/%00", [HOST, ("Content-Length", "0")]),
    Sent("PATCH", "/~!$&'()*+,;=:@", [HOST], b"with a body"),
    Sent("POST", "/one", [("hOST", "public.example:8080"), ("content-LENGTH", "3")], b"\x00\xff\n"),
    Sent("POST", "/chunks", [HOST, ("TE", "trailers"), ("Connection", "TE, x-own"), ("X-Own", "1")], b"ab" * 999, True),
    Sent(
        "PUT",
        "/dup",
        [("x_b", "2"), HOST, ("X-Dup", "a"), ("x-dup", ""), ("X-DUP", " a  b\t"), ("X-Obs", "\xe9\xff")],
        b"1",
    ),
    Sent("POST", "/proxied", [HOST, ("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-Proto", "https")], b"{}"),
    Sent("POST", "/proxied", [HOST, ("x-forwarded-host", "a.example"), ("Proxy-Authorization", "Basic eA==")], b"{}"),
    Sent("POST", "/old", [("Content-Type", "text/plain")], b"from a sender without Host", version="1.0"),
    Sent("POST", "/long", [HOST, ("X-Long", "v" * 6_000), ("Cookie", "a=1"), ("Cookie", "b=2")], os.urandom(700_000)),
    Sent("POST", "/zipped", [HOST, ("Content-Encoding", "gzip"), ("Expect", "100-continue")], b"\x1f\x8b not really"),
]


class Setting:
    """Sends one request to an endpoint with a target, and receives what becomes of it."""

    def __init__(self, stage: ReplayStage, port: int, place: Target) -> None:
        self._stage, self._port, self._place = stage, port, place
        self.host = place.url.removeprefix("http://")
        self.capture_id = ""

    async def forwarded(self, sent: Sent) -> Received:
        endpoint = await self._stage.endpoint(self._place.url + BASE)
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(sent.raw(f"/catch/{endpoint.slug}"))
        await reader.readuntil(b" 200 OK\r\n")
        writer.close()
        await writer.wait_closed()
        (delivery,) = await self._stage.outcomes()
        self.capture_id = delivery.capture_id
        return self._place.received.pop()

    async def replayed(self, edit: RequestEdit | None = None, **fields: OneUrl) -> Received:
        await self._stage.replay(ChosenRequests(ids=(self.capture_id,)), edit=edit, **fields)
        return self._place.received.pop()


@pytest.mark.parametrize("sent", REQUESTS, ids=[f"{one.method} {one.target}" for one in REQUESTS])
async def test_a_target_receives_what_was_sent(stage: ReplayStage, capture_port: str, sent: Sent) -> None:
    async with target() as place:
        await stage.forwarder.start()
        setting = Setting(stage, int(capture_port.rpartition(":")[2]), place)
        original = await setting.forwarded(sent)
        assert differences(sent, original, BASE, setting.host) == []
        assert await setting.replayed() == original
        assert await setting.replayed(destination=OneUrl(url=place.url + BASE)) == original

        edited = await setting.replayed(RequestEdit(method="PURGE"))
        assert edited == Received(original.head.replace(sent.method.encode(), b"PURGE", 1), original.body)
        edited = await setting.replayed(RequestEdit(url=f"{place.url}/else?1"))
        assert edited.line == f"{sent.method} /else?1 HTTP/1.1"
        assert (edited.headers, edited.body) == (original.headers, original.body)
        edited = await setting.replayed(RequestEdit(headers=(("b", "\xff"), ("A", ""), ("b", "2"))))
        assert (edited.line, edited.body) == (original.line, original.body)
        assert [pair for pair in edited.headers if len(pair[0]) == 1] == [("b", "\xff"), ("A", ""), ("b", "2")]
        edited = await setting.replayed(RequestEdit(body=b"other\x00"))
        assert (edited.line, edited.body) == (original.line, b"other\x00")
        assert without_length(edited) == without_length(original)


def without_length(received: Received) -> list[tuple[str, str]]:
    return [pair for pair in received.headers if pair[0].lower() != "content-length"]
