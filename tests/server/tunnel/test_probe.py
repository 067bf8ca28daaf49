"""Probes through the public URL: only this Hookline's own response is a success, and only two failures are an alarm."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import httpx
import msgspec
import pytest

from app.core.errors import NotFoundError
from app.core.tunnel import CONNECTED, Tunnel, TunnelState
from app.core.tunnel_program import ProbeSpec
from app.server.addresses import ProbeKey
from app.server.test_request import probe
from app.server.tunnel import session
from tests import factories
from tests.server.tunnel.conftest import TunnelRig
from tests.tunnels import spec

BROKEN = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def connected(tunnel: Tunnel) -> bool:
    return tunnel.state in CONNECTED


@asynccontextmanager
async def responding(response: bytes) -> AsyncIterator[str]:
    """The base URL of a server that responds to everything with these bytes; none at all: it closes at once."""

    served = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.add(asyncio.current_task())
        if response:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(response)
            await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    if served:
        await asyncio.wait(served)


def http(status: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (
            http("302 Found", b"", "Location: http://login.hotel.example/welcome"),
            "The public URL redirects to login.hotel.example",
        ),
        (http("302 Found", b"", "Location: http://["), "The public URL redirects to another address"),
        (
            http("200 OK", b"<!DOCTYPE html><html>Welcome"),
            "Another program responds at the public URL, with a web page",
        ),
        (http("200 OK", b"ok"), "Another program responds at the public URL, with something that is not Hookline's"),
        (http("200 OK", b"0" * 64), "Another program responds at the public URL"),
        (http("200 OK", b"x" * 200_000), "Another program responds at the public URL"),
        (http("404 Not Found", b'{"error":"not_found"}', "Server: Hookline"), "Another Hookline responds"),
        (http("404 Not Found", b"x", "ngrok-error-code: ERR_NGROK_3200"), "ngrok responds with ERR_NGROK_3200"),
        (http("511 Network Authentication Required"), "The public URL responds with 511: it asks for a sign-in"),
        (http("502 Bad Gateway"), "127.0.0.1 responds with 502: its service does not reach Hookline"),
        (http("530 Origin"), "127.0.0.1 responds with 530"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "127.0.0.1:"),
        (b"", "127.0.0.1:"),
    ],
)
async def test_what_is_not_this_hookline_is_no_success(response: bytes, told: str) -> None:
    async with responding(response) as base:
        result = await probe(base, ProbeKey(), (), timeout_s=10)
    assert result.probe.ms is None
    assert (result.probe.problem or "").startswith(told)
    assert not result.unresolved


async def test_a_url_that_nobody_serves_or_that_has_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    async with responding(b"") as base:
        pass
    refused = await probe(base, ProbeKey(), (), timeout_s=10)
    assert "Nothing is listening" in (refused.probe.problem or "")

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    lost = await probe("http://no-such-host.invalid", ProbeKey(), (), timeout_s=10)
    assert "could not be found" in (lost.probe.problem or "")
    assert lost.unresolved


async def test_a_response_that_does_not_come() -> None:
    async with responding(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n") as base:
        result = await probe(base, ProbeKey(), (), timeout_s=5)
    assert result.probe.problem is not None


async def test_a_probe_through_the_tunnel_is_counted_nowhere(rig: TunnelRig) -> None:
    service = await rig.use(spec("relay"))
    with pytest.raises(NotFoundError, match="The tunnel is off"):
        await service.probe()
    await service.start("stand-in")
    await rig.until(connected)
    result = await service.probe()
    assert result.problem is None
    assert result.ms is not None
    assert service.tunnel.probe == result
    assert service.tunnel.state is TunnelState.UP
    assert rig.refused.total == 0
    assert await rig.store.captures.page(None) == []


async def test_only_the_exact_target_gets_a_proof(rig: TunnelRig) -> None:
    key, host = rig.key, "http://{}:{}".format(*rig.capture.address)
    target = key.new_target()
    path, _, nonce = target.partition("?")
    async with httpx.AsyncClient(trust_env=False) as client:
        proved = await client.get(host + target)
        assert (proved.status_code, proved.text) == (200, key.proof_for(target))
        assert proved.headers["Cache-Control"] == "no-store"
        other = await client.get(host + key.new_target())
        assert other.text != proved.text
        wrong = [path, f"{path}?", f"{path}?{nonce[:-1]}", f"{path}?{nonce}0", f"{path}/?{nonce}", f"{path}x?{nonce}"]
        for each in wrong:
            assert (await client.get(host + each)).status_code == 404, each
        posted = await client.post(host + target, content=b"x" * 100)
        assert posted.status_code == 200
    assert rig.refused.total == len(wrong)
    assert ProbeKey().proof_for(target) is None


async def test_it_is_up_only_while_the_last_probe_arrived(rig: TunnelRig, caplog: pytest.LogCaptureFixture) -> None:
    broken = rig.folder / "broken"
    service = await rig.use(spec("relay", "", str(broken)))
    await service.start("stand-in")
    tunnel = await rig.until(connected)
    assert (tunnel.state, tunnel.up_since, service.url_state) == (TunnelState.CHECKING, None, TunnelState.CHECKING)
    await service.probe()
    assert (service.tunnel.state, service.url_state) == (TunnelState.UP, TunnelState.UP)
    up_since = service.tunnel.up_since
    await service.probe()
    assert service.tunnel.up_since == up_since is not None
    broken.write_bytes(BROKEN)
    probe = await service.probe()
    tunnel = service.tunnel
    assert (tunnel.state, tunnel.up_since, tunnel.problem) == (TunnelState.UNREACHABLE, None, None)
    assert tunnel.reason == probe.problem
    assert (service.base, service.url_state) == (tunnel.url, TunnelState.UNREACHABLE)
    assert "WARNING" in caplog.text
    assert f"Tunnel: unreachable. {probe.problem} (stand-in)" in caplog.text
    broken.unlink()
    await service.probe()
    assert service.tunnel.state is TunnelState.UP
    changes = [event.tunnel.state.value for event in rig.events if event.url_changed]
    assert changes == ["checking", "up", "unreachable", "up"]


async def test_two_failures_in_a_row_are_an_alarm_until_it_works_again(rig: TunnelRig) -> None:
    broken = rig.folder / "broken"
    service = await rig.use(spec("relay", "", str(broken)), first_probe=0.01, probe=0.05, probe_again=0.05)
    await service.start("stand-in")
    await rig.until(lambda tunnel: tunnel.probe is not None and tunnel.probe.problem is None)
    seen = len(rig.events)
    broken.write_bytes(BROKEN)
    tunnel = await rig.until(lambda tunnel: tunnel.problem is not None)
    assert tunnel.state is TunnelState.UNREACHABLE
    assert tunnel.problem == "127.0.0.1 responds with 502: its service does not reach Hookline through the tunnel."
    failed = {event.tunnel.probe.at for event in rig.events[seen:] if event.tunnel.probe and event.tunnel.probe.problem}
    assert len(failed) == 2
    broken.unlink()
    await rig.until(lambda tunnel: tunnel.problem is None)


async def test_a_new_url_gets_some_time_until_it_works(rig: TunnelRig) -> None:
    broken = rig.folder / "broken"
    broken.write_bytes(BROKEN)
    service = await rig.use(spec("relay", "", str(broken)), first_probe=0.01, probe_again=0.02, patience=600)
    await service.start("stand-in")
    probes: set[int] = set()

    def counted(tunnel: Tunnel) -> bool:
        probes.update({tunnel.probe.at} if tunnel.probe else ())
        return len(probes) >= 4

    tunnel = await rig.until(counted)
    assert (tunnel.state, tunnel.problem) == (TunnelState.CHECKING, None)
    assert tunnel.probe is not None
    assert tunnel.probe.problem is not None
    broken.unlink()
    await rig.until(lambda tunnel: tunnel.probe is not None and tunnel.probe.problem is None)


async def test_a_program_that_does_not_notice_is_started_again(rig: TunnelRig) -> None:
    broken = rig.folder / "broken"
    hangs = msgspec.structs.replace(spec("relay", "", str(broken)), probe=ProbeSpec(restarts=True))
    service = await rig.use(hangs, first_probe=0.01, probe=0.02, probe_again=0.02)
    await service.start("stand-in")
    await rig.until(lambda tunnel: tunnel.probe is not None and tunnel.probe.problem is None)
    broken.write_bytes(BROKEN)
    tunnel = await rig.until(lambda tunnel: tunnel.state is TunnelState.RESTARTING)
    assert (tunnel.problem or "").startswith("The public URL has stopped working, so python")
    broken.unlink()
    await rig.until(lambda tunnel: tunnel.state is TunnelState.UP)


async def test_after_a_sleep_of_the_computer_it_probes_at_once(rig: TunnelRig, monkeypatch: pytest.MonkeyPatch) -> None:
    service = await rig.use(spec("relay"), first_probe=0.01, probe=100_000)
    await service.start("stand-in")
    first = (await rig.until(lambda tunnel: tunnel.probe is not None)).probe
    monkeypatch.setattr(session, "wall_clock", lambda: time.time() + 3600)
    await rig.until(lambda tunnel: tunnel.probe != first)


@pytest.mark.parametrize(
    ("sent", "client", "address", "scheme"),
    [
        ("", "203.0.113.7", "203.0.113.7", "https"),
        ("X-Forwarded-For: 6.6.6.6\r\n", "203.0.113.7", "6.6.6.6", "https"),
        ("", "not an address", "127.0.0.1", "http"),
        ("", "", "127.0.0.1", "http"),
    ],
)
async def test_the_clients_address_is_the_one_the_tunnel_names(
    rig: TunnelRig, sent: str, client: str, address: str, scheme: str
) -> None:
    """The stand-in puts its header first, so that what the sender wrote comes last, as from a tunnel that appends."""
    await rig.store.endpoints.create(factories.draft(slug="orders"))
    service = await rig.use(spec("relay", client))
    await service.start("stand-in")
    tunnel = await rig.until(connected)
    headers = dict(line.split(": ") for line in sent.split("\r\n") if line)
    new_connections = httpx.Limits(max_keepalive_connections=0)  # the stand-in adds its header to a connection's first
    async with httpx.AsyncClient(trust_env=False, limits=new_connections) as http_client:
        await http_client.post(f"{tunnel.url}/catch/orders", content=b"{}", headers=headers)
        (row,) = await rig.store.captures.page(None)
        through = await rig.store.captures.get(row.id)
        assert through is not None
        assert (through.source_address, through.scheme) == (address, scheme)
        assert ("X-Forwarded-For", client) in through.headers or not client
        assert (await http_client.get(f"{tunnel.url}/catch/none", headers=headers)).status_code == 404
        assert [one.source_address for one in rig.refused.newest()] == [address]
        await service.stop()
        local = "http://{}:{}/catch/orders".format(*rig.capture.address)
        await http_client.post(local, content=b"{}", headers={"X-Forwarded-For": "6.6.6.6"})
    newest = (await rig.store.captures.page(None))[0]
    direct = await rig.store.captures.get(newest.id)
    assert direct is not None
    assert (direct.source_address, direct.scheme) == ("127.0.0.1", "http")
    assert direct.source_port > 0
