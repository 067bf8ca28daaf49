"""The test request that a user sends to a new endpoint."""

from __future__ import annotations

import json
import socket

import pytest

from app.core.clock import now_us, parse_rfc3339
from app.core.errors import HooklineError
from app.server.probe import send_test_request
from tests.server.forward.targets import answering, target


async def test_a_friendly_json_post(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with target(answering(b"HTTP/1.1 202 x\r\nContent-Length: 0\r\n\r\n")) as place:
        assert await send_test_request(place.url + "/catch/abc") == 202
    received = place.received[0]
    assert received.line == "POST /catch/abc HTTP/1.1"
    assert received.all("content-type") == ["application/json"]
    assert received.all("x-hookline-test") == ["1"]
    body = json.loads(received.body)
    assert "Hookline" in body["message"]
    assert abs(parse_rfc3339(body["sent_at"]) - now_us()) < 60_000_000


async def test_nobody_answers() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/catch/abc"
    with pytest.raises(HooklineError, match="Nothing is listening"):
        await send_test_request(url)
