"""The answer to a captured request, as its endpoint wants it."""

from __future__ import annotations

import asyncio

import pytest

from app.core.model import ResponseSettings
from tests.server.capture.support import Clock, Rig, request
from tests.support import until


async def test_the_default_answer(rig: Rig) -> None:
    answer = await rig.post()
    assert (answer.version, answer.status, answer.reason) == ("HTTP/1.1", 200, "OK")
    assert answer.body == b'{"status":"captured","id":"%b"}\n' % rig.sink.last.id.encode()
    assert answer.value("Content-Type") == "application/json"
    assert answer.value("Server") == "Hookline"
    assert answer.value("Date")


async def test_an_answer_of_the_users_own(rig: Rig) -> None:
    headers = (("x-CASE", "1"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Latin", "caf\xe9"))
    rig.directory.put("own", response=ResponseSettings(status=422, headers=headers, body="nö"))
    answer = await rig.post(path="/catch/own")
    assert (answer.status, answer.body.decode()) == (422, "nö")
    assert answer.headers[1:5] == list(headers)
    assert answer.value("Content-Type") == "text/plain; charset=utf-8"
    assert rig.sink.last.response_status == 422


async def test_headers_the_user_sets_are_not_added_again(rig: Rig) -> None:
    headers = (("server", "mine"), ("DATE", "never"), ("content-type", "text/html"))
    rig.directory.put("own", response=ResponseSettings(headers=headers))
    answer = await rig.post(path="/catch/own")
    assert answer.headers == [*headers, ("Content-Length", "66")]


@pytest.mark.parametrize("status", [200, 201, 299, 302, 404, 500, 599])
async def test_any_status(rig: Rig, status: int) -> None:
    rig.directory.put("own", response=ResponseSettings(status=status, body=""))
    answer = await rig.post(path="/catch/own")
    assert (answer.status, answer.body, answer.value("Content-Type")) == (status, b"", None)
    assert answer.value("Content-Length") == "0"


@pytest.mark.parametrize(("status", "length"), [(204, None), (304, None), (205, "0")])
@pytest.mark.parametrize("body", [None, "text"])
async def test_a_status_without_body_sends_none(rig: Rig, status: int, length: str | None, body: str | None) -> None:
    rig.directory.put("own", response=ResponseSettings(status=status, body=body))
    sender = await rig.connect()
    for _ in range(2):
        await sender.send(request(path="/catch/own"))
        answer = await sender.response()
        assert (answer.status, answer.value("Content-Length")) == (status, length)
        assert answer.value("Content-Type") is None


async def test_head_gets_the_headers_alone(rig: Rig) -> None:
    sender = await rig.connect()
    for _ in range(2):
        await sender.send(request("HEAD"))
        answer = await sender.response(bodiless=True)
        assert (answer.status, answer.value("Content-Length")) == (200, "66")
    await sender.send(request("HEAD", "/nope"))
    assert (await sender.response(bodiless=True)).status == 404
    await sender.send(request())
    assert (await sender.response()).status == 200


async def test_connection_close_is_honoured(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send(request(headers="Connection: close\r\n"))
    assert (await sender.response()).value("Connection") == "close"
    assert await sender.rest() == b""


async def test_the_answer_waits_for_the_commit(rig: Rig) -> None:
    rig.sink.hold = asyncio.Event()
    sender = await rig.connect()
    await sender.send(request())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await sender.reader.read(1)
    rig.sink.hold.set()
    assert (await sender.response()).status == 200


async def test_the_time_of_the_answer_is_told_after_it_left(rig: Rig) -> None:
    rig.directory.put("slow", response=ResponseSettings(delay_ms=250))
    await rig.post(path="/catch/slow")
    assert rig.sink.response_ms[rig.sink.last.seq] >= 250
    await rig.post()
    assert rig.sink.response_ms[rig.sink.last.seq] > 0


async def test_a_delayed_answer_comes_late_but_the_request_is_stored_at_once(rig: Rig, clock: Clock) -> None:
    rig.directory.put("slow", response=ResponseSettings(delay_ms=30_000))
    sender = await rig.connect()
    await sender.send(request(path="/catch/slow", headers="Connection: close\r\n"))
    await until(lambda: rig.sink.captures)
    await clock.move_on(20)
    assert not rig.sink.response_ms
    await clock.move_on(10)
    assert (await sender.response()).status == 200


async def test_no_answer_is_told_when_nobody_waited_for_it(rig: Rig) -> None:
    rig.sink.hold = asyncio.Event()
    sender = await rig.connect()
    await sender.send(request())
    await until(lambda: rig.sink.writing)
    sender.reset()
    await until(lambda: rig.server.connections[0].transport is None)
    rig.sink.hold.set()
    await until(lambda: not rig.server.connections)
    assert rig.sink.last.complete
    assert not rig.sink.response_ms


async def test_a_slow_reader_of_large_answers_holds_up_only_itself(rig: Rig) -> None:
    rig.directory.put("big", response=ResponseSettings(body="x" * 1_000_000))
    sender = await rig.connect()
    await sender.send(request(path="/catch/big") * 40)
    await until(lambda: rig.server.connections and rig.server.connections[0].writing_paused)
    assert 0 < len(rig.sink.captures) < 40
    assert (await rig.post()).status == 200
    for _ in range(40):
        assert len((await sender.response()).body) == 1_000_000
