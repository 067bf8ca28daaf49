"""Redirects: a stored result, or followed as browsers do."""

from __future__ import annotations

import pytest

from app.core.delivery import Attempt, FailureKind
from app.core.model import PART_SIZE
from app.core.record import Headers
from app.server.forward.request import OutgoingRequest, parse_url
from app.server.forward.sender import next_request
from tests.server.forward.scripted import Desk, Peer, Script, once, scripted
from tests.server.forward.targets import OK

LOOP = b'HTTP/1.1 508 x\r\nContent-Length: 24\r\n\r\n{"error":"forward_loop"}'


def redirect(location: str, status: int = 302) -> bytes:
    return f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 4\r\n\r\nmove".encode("latin-1")


def routes(answers: dict[str, bytes]) -> Script:
    async def script(peer: Peer) -> None:
        while True:
            received = await peer.request()
            await peer.send(answers.get(received.line.split(" ")[1], OK))

    return script


async def followed(desk: Desk, url: str, **fields: object) -> Attempt:
    return await desk.attempt(url, follow_redirects=True, **fields)


async def test_a_redirect_is_a_result_unless_it_is_to_be_followed(desk: Desk) -> None:
    async with scripted(routes({"/": redirect("/login")})) as place:
        attempt = await desk.attempt(place.url)
        assert len(place.received) == 1
        assert (attempt.failure, attempt.status) == (FailureKind.STATUS, 302)
        assert attempt.error == ("The target responded with 302 Found. Redirects are not followed; it points to /login")
        attempt = await followed(desk, place.url)
    assert (attempt.failure, attempt.status, attempt.url) == (None, 200, f"{place.url}/login")


@pytest.mark.parametrize(
    ("status", "method", "sent"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (307, "POST", "POST"),
        (308, "PATCH", "PATCH"),
    ],
)
async def test_method_and_body(desk: Desk, status: int, method: str, sent: str) -> None:
    body = b"" if method == "HEAD" else b"body"
    async with scripted(
        routes({"/in": redirect("next?x=1#part", status).replace(b"move", b"" if not body else b"move")})
    ) as place:
        attempt = await followed(desk, f"{place.url}/in", body=body, capture={"method": method})
    second = place.received[1]
    assert second.line == f"{sent} /next?x=1 HTTP/1.1"
    kept = sent == method
    assert second.body == (body if kept else b"")
    assert bool(second.all("content-type")) is kept
    assert second.all("x-dup") == ["1", "2"]
    assert (attempt.method, attempt.size, attempt.failure) == (sent, len(second.body), None)
    assert list(attempt.headers) == second.headers


async def test_a_long_body_is_sent_again(desk: Desk) -> None:
    size = 2 * PART_SIZE + 1
    async with scripted(routes({"/": redirect("/next", 307)})) as place:
        attempt = await followed(desk, place.url, body=None, size=size)
    assert [len(received.body) for received in place.received] == [size, size]
    assert (attempt.failure, attempt.size) == (None, size)


KEYS = (
    *("Authorization", "cookie", "Proxy-Authorization", "X-Api-Key", "X-Gitlab-Token", "X-Hub-Signature-256"),
    *("Stripe-Signature", "X-Shopify-Hmac-Sha256", "webhook-signature", "Paypal-Transmission-Sig", "X-Key"),
)


async def test_keys_signatures_and_the_targets_own_headers_stay_with_their_origin(desk: Desk) -> None:
    own = {"set_headers": (("X-Env", "staging"), ("X-Other", "set")), "add_headers": (("Via", "1.1 x"),)}
    headers: Headers = (*((name, "s3cret") for name in KEYS), ("X-Other", "1"), ("X-Kept", "1"))
    async with scripted() as other:
        answers = {"/": redirect("/same", 307), "/same": redirect(f"{other.url}/far", 307)}
        async with scripted(routes(answers)) as place:
            await followed(desk, place.url, capture={"headers": headers}, **own)
    sent, far = place.received[1], other.received[0]
    assert (sent.all("x-env"), sent.all("x-other"), sent.all("via")) == (["staging"], ["set"], ["1.1 x"])
    assert b"s3cret" not in far.head
    assert (far.all("x-env"), far.all("x-other"), far.all("via"), far.all("x-kept")) == ([], [], [], ["1"])
    assert far.all("host") == [f"127.0.0.1:{other.port}"]


async def test_credentials_stay_with_their_origin(desk: Desk) -> None:
    headers: Headers = (("Host", "x"), ("Authorization", "Bearer s"), ("cookie", "a=b"), ("X-Other", "1"))
    async with scripted() as other:
        answers = {"/": redirect("/same", 307), "/same": redirect(f"{other.url}/far", 307)}
        async with scripted(routes(answers)) as place:
            attempt = await followed(desk, place.url, capture={"headers": headers}, host="sender")
    assert place.received[1].all("authorization") == ["Bearer s"]
    assert place.received[1].all("host") == ["x"]
    far = other.received[0]
    assert (far.all("authorization"), far.all("cookie"), far.all("x-other")) == ([], [], ["1"])
    assert far.all("host") == [f"127.0.0.1:{other.port}"]
    assert attempt.url == f"{other.url}/far"


async def test_a_loop(desk: Desk) -> None:
    async with scripted(routes({"/": redirect("/b", 307), "/b": redirect("/", 307)})) as place:
        attempt = await followed(desk, place.url)
    assert (attempt.failure, attempt.status) == (FailureKind.STATUS, 307)
    assert attempt.error == (
        f"The target redirects in a loop. Followed redirects: {place.url}/ → {place.url}/b → {place.url}/"
    )
    assert len(place.received) == 2


async def test_too_many(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        while True:
            await peer.answer(redirect(f"/{len(peer.log) + 1}"))

    async with scripted(script) as place:
        attempt = await followed(desk, place.url)
    assert attempt.failure is FailureKind.STATUS
    assert attempt.error is not None
    assert attempt.error.startswith("The target redirected more than 10 times. Followed redirects: ")
    assert len(place.received) == 11


async def test_ten_are_followed(desk: Desk) -> None:
    answers = {f"/{number}": redirect(f"/{number + 1}") for number in range(10)}
    async with scripted(routes(answers)) as place:
        attempt = await followed(desk, f"{place.url}/0")
    assert (attempt.failure, attempt.url) == (None, f"{place.url}/10")


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("ftp://files.example/x", "it is not an http or https URL"),
        ("http://x:99999/", "Port out of range 0-65535"),
        ("javascript:alert(1)", "it is not an http or https URL"),
    ],
)
async def test_where_it_cannot_be_followed(desk: Desk, location: str, reason: str) -> None:
    async with scripted(routes({"/": redirect(location)})) as place:
        attempt = await followed(desk, place.url)
    assert attempt.failure is FailureKind.STATUS
    assert (
        attempt.error == f"The target responded with 302, and its redirect to {location} cannot be followed: {reason}."
    )


async def test_a_failure_after_a_redirect_names_the_way(desk: Desk) -> None:
    async with scripted(once(b"")) as other, scripted(routes({"/": redirect(other.url)})) as place:
        attempt = await followed(desk, place.url)
    assert attempt.failure is FailureKind.CONNECTION
    assert attempt.error == (
        f"127.0.0.1:{other.port} closed the connection without a response. "
        f"Followed redirects: {place.url}/ → {other.url}/"
    )


async def test_a_redirect_to_hookline_itself(desk: Desk) -> None:
    async with scripted(routes({"/": redirect("/catch/s", 307), "/catch/s": LOOP})) as place:
        attempt = await followed(desk, place.url)
    assert attempt.failure is FailureKind.LOOP
    assert attempt.error is not None
    assert attempt.error.startswith("The forwarded request came back to Hookline")
    assert place.received[1].all("x-hookline-forwarded-by") == ["me"]


async def test_without_a_location_it_is_a_result(desk: Desk) -> None:
    async with scripted(once(b"HTTP/1.1 302 x\r\nContent-Length: 0\r\n\r\n")) as place:
        attempt = await followed(desk, place.url)
    assert (attempt.failure, attempt.error) == (FailureKind.STATUS, "The target responded with 302 Found.")


@pytest.mark.parametrize(
    ("url", "location", "to"),
    [
        ("http://a/b/c?d", "../e", "http://a/e"),
        ("http://a/b", "?x", "http://a/b?x"),
        ("http://a/b", "//c/d", "http://c/d"),
        ("http://a/b", "/\xc3\xa9 x", "http://a/%C3%A9%20x"),
        ("http://a/b", "http://user:secret@c/", "http://c/"),
    ],
)
def test_where_a_location_leads(url: str, location: str, to: str) -> None:
    assert next_request(OutgoingRequest("GET", parse_url(url), (), b""), 302, location).url.text == to
