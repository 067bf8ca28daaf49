"""Attempts over real sockets: what arrives at the target, and what is recorded."""

from __future__ import annotations

import os

import pytest

from app.core.clock import now_us
from app.core.delivery import AttemptTrigger, FailureKind, RequestEdit, ended_state
from app.core.model import PART_SIZE, DeliveryState
from tests.server.forward.scripted import Desk, Peer, once, scripted
from tests.server.forward.targets import OK


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
async def test_arrives_as_it_was_sent(desk: Desk, method: str) -> None:
    body = b"" if method in ("GET", "HEAD") else bytes(range(256))
    length = (("content-LENGTH", str(len(body))),) if body else ()
    headers = (("Host", "public.example"), ("x-B", "1"), ("X-Sig", "sha256=\xff"), *length, ("X-b", "2"), ("x-b", ""))
    target = "/catch/s/a%2Fb/../c//d?q=%20&q=2"
    async with scripted() as place:
        given = {"method": method, "target": target, "headers": headers}
        attempt = await desk.attempt(place.url + "/in?own=1", body, capture=given)
    received = place.received[0]
    assert received.line == f"{method} /in/a%2Fb/../c//d?own=1&q=%20&q=2 HTTP/1.1"
    assert attempt.url == place.url + received.line.split(" ")[1]
    assert received.body == body
    assert received.headers == [
        ("Host", f"127.0.0.1:{place.port}"),
        *headers[1:],
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Forwarded-Host", "public.example"),
        ("X-Forwarded-Proto", "http"),
        ("X-Hookline-Forwarded-By", "me"),
    ]
    assert list(attempt.headers) == received.headers
    assert (attempt.method, attempt.size, attempt.status, attempt.failure) == (method, len(body), 200, None)


async def test_what_an_attempt_records(desk: Desk) -> None:
    answer = b"HTTP/1.1 201 Made\r\nX-One: 1\r\nx-one: \xff\r\nContent-Length: 2\r\n\r\nok"
    before = now_us()
    async with scripted(once(answer)) as place:
        ((attempt, body),) = await desk.attempts(place.url)
    assert body == b"ok"
    assert attempt.response_headers == (("X-One", "1"), ("x-one", "\xff"), ("Content-Length", "2"))
    assert (attempt.number, attempt.trigger, attempt.http_version) == (1, AttemptTrigger.FORWARD, "1.1")
    assert (attempt.response_size, attempt.response_truncated) == (2, False)
    assert before <= attempt.started_at <= now_us()
    timing = attempt.timing
    assert timing.connect is not None
    assert timing.first_byte is not None
    assert (timing.lookup, timing.tls) == (None, None)
    assert timing.connect + timing.first_byte <= attempt.ms


async def test_a_name_is_looked_up_and_all_its_addresses_are_tried(desk: Desk) -> None:
    """The target listens on 127.0.0.1 only; `localhost` can be ::1 too."""
    async with scripted() as place:
        attempt = await desk.attempt(place.url.replace("127.0.0.1", "localhost"))
    assert attempt.failure is None
    assert attempt.timing.lookup is not None


@pytest.mark.parametrize("size", [PART_SIZE + 1, 20 * PART_SIZE])
async def test_a_long_body_arrives_whole(desk: Desk, size: int) -> None:
    body = os.urandom(size)

    async def script(peer: Peer) -> None:
        head = await peer.reader.readuntil(b"\r\n\r\n")
        assert f"Content-Length: {size}\r\n".encode() in head
        got.append(await peer.reader.readexactly(size))
        await peer.send(OK)

    got: list[bytes] = []
    async with scripted(script) as place:
        desk.bodies.body_of_all = body
        attempt = await desk.attempt(place.url, None, size=size)
    assert (attempt.failure, attempt.size) == (None, size)
    assert got == [body]
    assert desk.bodies.reads == list(range(0, size, PART_SIZE))


@pytest.mark.parametrize(
    ("body", "most"), [(None, 30 * PART_SIZE), (bytes(40 * PART_SIZE), 40 * PART_SIZE - 1)], ids=["read", "in memory"]
)
async def test_of_a_body_only_what_left_counts_when_a_target_does_not_read(
    desk: Desk, body: bytes | None, most: int
) -> None:
    async def script(peer: Peer) -> None:
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await peer.writer.wait_closed()

    async with scripted(script) as place:
        attempt = await desk.attempt(place.url, body, size=40 * PART_SIZE, timeout_ms=500)
    assert attempt.failure is FailureKind.TIMEOUT
    assert attempt.error == f"127.0.0.1:{place.port} did not take the whole request within 0.5 s."
    assert attempt.size <= most
    assert len(desk.bodies.reads) < 30


async def test_a_request_that_was_deleted_is_not_sent(desk: Desk) -> None:
    async with scripted() as place:
        attempt = await desk.attempt(place.url, None, capture={"size": 2 * PART_SIZE})
    assert (attempt.failure, attempt.headers, attempt.size) == (FailureKind.NOT_SENT, (), 0)
    assert attempt.error == "The captured request was deleted before it could be forwarded."
    assert place.connections == 0


async def test_a_request_that_is_deleted_while_it_is_sent_has_failed(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        desk.bodies.bodies.clear()
        await peer.closed()

    async with scripted(script) as place:
        attempt = await desk.attempt(place.url, None, size=40 * PART_SIZE)
    assert attempt.failure is FailureKind.INTERNAL
    assert ended_state(attempt.failure) is DeliveryState.FAILED, "a part of it was sent"
    assert attempt.size > 0
    assert attempt.error == "gone"


async def test_a_path_that_would_leave_the_targets_path_is_not_sent(desk: Desk) -> None:
    async with scripted() as place:
        attempt = await desk.attempt(place.url + "/in", capture={"target": "/catch/s/../admin"})
        assert attempt.failure is FailureKind.NOT_SENT
        assert attempt.error == "The path /../admin would leave the forward URL's path."
        assert place.connections == 0
        attempt = await desk.attempt(place.url + "/in", capture={"target": "/catch/s/../admin?x"}, append_path=False)
    assert place.received[0].line == "POST /in?x HTTP/1.1"


async def test_an_edited_replay(desk: Desk) -> None:
    edit = RequestEdit(method="PUT", headers=(("B", "2"), ("Content-Length", "77"), ("a", "1")), body=b"changed")
    async with scripted() as place:
        attempt = await desk.attempt(place.url, edit=edit, set_headers=(("X", "1"),))
        assert attempt.failure is None
        received = place.received[0]
        assert (received.line, received.body) == ("PUT / HTTP/1.1", b"changed")
        assert received.headers == [
            ("Host", f"127.0.0.1:{place.port}"),
            ("B", "2"),
            ("Content-Length", "7"),
            ("a", "1"),
            ("X-Hookline-Forwarded-By", "me"),
        ]
        await desk.attempt("http://unused.invalid", edit=RequestEdit(url=f"{place.url}/x/../y?é=%C3"))
    assert place.received[1].line == "POST /x/../y?%C3%A9=%C3 HTTP/1.1"
    assert place.received[1].body == b"{}"


async def test_an_edited_url_of_another_origin_gets_none_of_the_targets_own_headers(desk: Desk) -> None:
    own = {
        "set_headers": (("Authorization", "Bearer of-the-target"), ("X-Other", "set")),
        "add_headers": (("X-Added", "1"),),
        "remove_headers": ("Cookie",),
    }
    capture = {"headers": (("X-Other", "sent"), ("Cookie", "c"))}
    async with scripted() as other, scripted() as place:
        for url in (f"{other.url}/x", f"{place.url}/x"):
            edit = RequestEdit(url=url)
            assert (await desk.attempt(f"{place.url}/in", edit=edit, capture=capture, **own)).failure is None
    ((far,), (near,)) = other.received, place.received
    names = ("authorization", "x-added", "x-other", "cookie")
    assert [far.all(name) for name in names] == [[], [], ["sent"], []]
    assert [near.all(name) for name in names] == [["Bearer of-the-target"], ["1"], ["set"], []]


async def test_an_edited_body_alone_keeps_the_headers(desk: Desk) -> None:
    async with scripted() as place:
        await desk.attempt(place.url, None, capture={"size": 9}, edit=RequestEdit(body=b""))
        await desk.attempt(place.url, edit=RequestEdit(body=b"xyz"))
    assert [received.all("content-length") for received in place.received] == [[], ["3"]]
    assert place.received[1].all("x-dup") == ["1", "2"]


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (RequestEdit(method="G T"), "This request cannot be sent as HTTP/1.1: 'G T' is not a method."),
        (
            RequestEdit(headers=(("A", "1\r\nB: 2"),)),
            "This request cannot be sent as HTTP/1.1: a header contains a line break or a zero byte.",
        ),
        (RequestEdit(headers=(("A b", ""),)), "This request cannot be sent as HTTP/1.1: 'A b' is not a header name."),
        (
            RequestEdit(headers=(("A", "→"),)),
            "This request cannot be sent as HTTP/1.1: a header contains '→', which is not in Latin-1.",
        ),
        (RequestEdit(url="ftp://x"), "The forward URL cannot be used: it is not an http or https URL."),
    ],
)
async def test_what_cannot_be_sent(desk: Desk, edit: RequestEdit, error: str) -> None:
    async with scripted() as place:
        attempt = await desk.attempt(place.url, edit=edit)
    assert (attempt.failure, attempt.error) == (FailureKind.NOT_SENT, error)
    assert (attempt.size, attempt.headers) == (0, ())
    assert place.connections == 0


async def test_environment_proxies_are_not_used(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with scripted() as place:
        assert (await desk.attempt(place.url)).failure is None


async def test_an_error_of_this_program_is_a_result(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("app.server.forward.exchange.take_head", broken)
    async with scripted() as place:
        attempt = await desk.attempt(place.url)
    assert attempt.failure is FailureKind.INTERNAL
    assert (
        attempt.error == "Hookline could not forward this request because of an internal error: ZeroDivisionError: oh"
    )


async def test_a_connection_that_lacks_a_part_of_the_body_is_not_used_again(desk: Desk) -> None:
    """The response comes while the body cannot be read any more."""

    async def script(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        desk.bodies.bodies.clear()
        await peer.reader.readexactly(PART_SIZE)
        await peer.send(OK)
        await peer.closed()

    async with scripted(script) as place:
        await desk.attempt(place.url, None, size=40 * PART_SIZE)
        await place.all_ended(1)
    assert len(desk.bodies.reads) < 40
