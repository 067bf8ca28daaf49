"""The test request that a user sends to a new endpoint."""

from __future__ import annotations

import json
import socket

import pytest

from app.core.clock import now_us, parse_rfc3339
from app.core.errors import HooklineError
from app.server.test_request import ProbeRequest, proxy_for, send_test_request
from tests.server.forward.targets import answering, target


async def test_a_friendly_json_post(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with target(answering(b"HTTP/1.1 202 x\r\nContent-Length: 0\r\n\r\n")) as place:
        assert await send_test_request(place.url + "/catch/abc", request := ProbeRequest()) == 202
    received = place.received[0]
    assert received.line == "POST /catch/abc HTTP/1.1"
    assert received.all("content-type") == ["application/json"]
    assert received.all("x-hookline-test") == [request.token]
    body = json.loads(received.body)
    assert "Hookline" in body["message"]
    assert abs(parse_rfc3339(body["sent_at"]) - now_us()) < 60_000_000


async def test_nobody_answers() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/catch/abc"
    with pytest.raises(HooklineError, match="Nothing is listening"):
        await send_test_request(url, ProbeRequest())


async def test_a_public_url_is_reached_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with target(answering(b"HTTP/1.1 202 x\r\nContent-Length: 0\r\n\r\n")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert await send_test_request("http://hooks.example/catch/abc", ProbeRequest()) == 202
    assert proxy.received[0].line == "POST http://hooks.example/catch/abc HTTP/1.1"


async def test_a_proxy_that_fails_is_named_without_its_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{probe.getsockname()[1]}"
    monkeypatch.setenv("https_proxy", f"http://ann:s3cret@{place}")
    with pytest.raises(HooklineError, match="Nothing is listening") as failed:
        await send_test_request("https://hooks.example/catch/abc", ProbeRequest())
    assert f"through the proxy {place}." in str(failed.value)
    assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize(
    ("url", "proxied"),
    [
        ("http://127.0.0.1:8787/catch/abc", False),
        ("http://localhost:8787/catch/abc", False),
        ("http://[::1]:8787/catch/abc", False),
        ("http://192.168.1.5:8787/catch/abc", False),
        ("http://intern.example/catch/abc", False),
        ("http://hooks.example/catch/abc", True),
        ("https://hooks.example/catch/abc", False),
    ],
)
def test_which_urls_are_reached_through_a_proxy(url: str, proxied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "proxy.example:3128")
    monkeypatch.setenv("no_proxy", "intern.example")
    assert proxy_for(url) == ("http://proxy.example:3128" if proxied else None)


@pytest.mark.parametrize("place", ["127.0.0.1:99999", "127.0.0.1:abc", "[::1", ""])
async def test_a_proxy_that_is_no_url_is_told(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", f"http://ann:s3cret@{place}")
    with pytest.raises(HooklineError, match="no valid host or port") as failed:
        await send_test_request("https://hooks.example/catch/abc", ProbeRequest())
    assert "s3cret" not in str(failed.value)


async def test_an_answer_that_never_ends_is_waited_for_no_longer_than_told() -> None:
    async with target(answering(b"HTTP/1.1 200 x\r\nX: ")) as place:
        with pytest.raises(HooklineError, match=r"No response within 0\.2 s"):
            await send_test_request(place.url, ProbeRequest(), 200)
