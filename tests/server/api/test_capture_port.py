"""The capture port knows nothing of the API: every call of its table, spelled in every way, is not found there."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from urllib.parse import quote

import pytest

from app.server.api.routes import PREFIX, Route
from tests.server.api.conftest import TOKEN, Desk
from tests.server.capture.support import Rig, Sender

pytestmark = pytest.mark.slow

VALUES = {"slug": "orders", "number": "1"}
ID = "0199c2a4-6f3b-7d10-8a51-2f0c9be41d77"
NOT_FOUND = b'{"error":"not_found"}\n'


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A capture port with the endpoint `orders`."""
    rig = Rig()
    await rig.start()
    yield rig
    await rig.close()


def spellings(path: str, api: str) -> Iterator[str]:
    """Request targets that a lenient server could take for `path`; `api` is the API's own `host:port`."""
    encoded = "".join(f"%{ord(char):02x}" if char != "/" else char for char in path)
    everything = "/" + quote(path[1:], safe="").replace("%2F", "%2f")
    twice = everything.replace("%", "%25")
    yield from (
        path,
        f"{path}/",
        f"{path}?limit=1",
        f"{path}#x",
        f"{path}%20",
        f"{path}%00",
        f"{path};x=1",
        f"{path}/..;/",
    )
    yield from (
        path.upper(),
        path.title(),
        path.replace("/", "//"),
        f"/{path}",
        f"//{api}{path}",
        path.replace("/", "/./"),
    )
    yield from (path.replace("/v1", "/v1;x=1"), f"/;{path}", "/" + path.replace("/", "\\"), f"/\\{api}{path}")
    yield from (encoded, encoded.upper(), everything, everything.upper(), twice, "/" + path.replace("/", "%2f"))
    yield from (f"/x/..{path}", f"/%2e{path}", f"/catch/..{path}", f"/catch/../..{path}", f"/catch/%2e%2e{path}")
    yield from (f"/catch/%252e%252e{path}", f"/catch/..%2f{path[1:]}", f"/catch/..%5c{path[1:]}", f"/catch{path}")
    yield from (
        f"/catch/..;{path}",
        f"/catch/.{path}",
        f"/catch/{path}",
        f"/catch/unknown/..{path}",
        f"/catch\\..{path}",
    )
    yield from (f"/catch/%c0%ae%c0%ae{path}", f"/catch/orders%2f..%2f..{path}", f"/catch/orders;/../..{path}")
    for scheme in ("http", "HTTP", "https", "ftp"):
        yield f"{scheme}://{api}{path}"
    yield from (f"http://localhost{path}", f"http://user@{api}{path}", f"http://{api}/catch/..{path}")


def targets(routes: tuple[Route, ...], api: str) -> Iterator[tuple[str, str]]:
    """Method and target of each spelling of each call, with real values in place of its placeholders."""
    for route in routes:
        path = PREFIX + re.sub(r"\{(\w+)\}", lambda found: VALUES.get(found[1], ID), route.path)
        for target in spellings(path, api):
            yield route.method, target


async def ask(sender: Sender, method: str, target: str, host: str) -> tuple[int, bytes]:
    head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n\r\n"
    await sender.send(head.encode("latin-1"))
    answer = await sender.response()
    return answer.status, answer.body


async def test_no_call_of_the_api_is_found_there(desk: Desk, rig: Rig) -> None:
    api = "{}:{}".format(*desk.server.address)
    sender, asked = await rig.connect(), 0
    for host in (api, "localhost"):
        for method, target in targets(desk.routes, api):
            assert await ask(sender, method, target, host) == (404, NOT_FOUND), (method, target, host)
            asked += 1
    assert asked > 2_000
    assert not rig.sink.captures
    await sender.close()


async def test_an_odd_method_is_not_allowed_whatever_the_path(desk: Desk, rig: Rig) -> None:
    api = "{}:{}".format(*desk.server.address)
    sender = await rig.connect()
    for target in sorted({target for _, target in targets(desk.routes, api)}):
        for method in ("TRACE", "PROPFIND"):
            status, _ = await ask(sender, method, target, api)
            assert status == 405, (method, target)
    await sender.close()


async def test_a_path_out_of_an_endpoint_is_recorded_and_led_nowhere(desk: Desk, rig: Rig) -> None:
    """All below a slug is captured as it was sent, `..` too; only the response to a captured request comes back."""
    api = "{}:{}".format(*desk.server.address)
    sender = await rig.connect()
    for route in desk.routes:
        path = f"/catch/orders/../..{PREFIX}{route.path}".replace("{", "").replace("}", "")
        status, body = await ask(sender, route.method, path, api)
        assert (status, rig.sink.last.target) == (200, path)
        assert body.startswith(b'{"status":"captured"')
    await sender.close()
