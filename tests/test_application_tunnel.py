"""The tunnel in the whole program: capture URLs follow it, it follows the capture port, and it ends with Hookline."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from app.application import Application
from app.core.errors import InvalidFieldsError
from app.core.events import TunnelChanged
from app.core.target import TargetDraft
from app.core.tunnel import CONNECTED, Tunnel, TunnelState
from app.window_session import services_of
from tests.e2e.senders import post
from tests.factories import draft
from tests.stand_in_tunnel import URL
from tests.support import free_port
from tests.tunnels import SCRIPT, ended

MANUAL = "https://hooks.example.com"


@pytest.fixture
async def application(tmp_path: Path) -> AsyncIterator[Application]:
    running = Application(tmp_path, {"port": 0, "api_port": 0})
    await running.open()
    await running.listen()
    yield running
    await running.close()


async def use(application: Application, mode: str) -> None:
    """Make the user's own command the stand-in in this mode."""
    command = shlex.join([sys.executable, str(SCRIPT), mode]) + " {port}"
    await application.tunnels.configure("own", {"command": command, "before_url": "your url is:"})


async def until(application: Application, wanted: Callable[[Tunnel], bool]) -> Tunnel:
    changed = asyncio.Event()
    subscription = application.bus.subscribe(TunnelChanged, lambda _: changed.set())
    try:
        async with asyncio.timeout(60):
            while not wanted(application.tunnels.tunnel):
                await changed.wait()
                changed.clear()
    finally:
        subscription.end()
    return application.tunnels.tunnel


def connected(tunnel: Tunnel) -> bool:
    return tunnel.state in CONNECTED


async def test_capture_urls_follow_the_tunnel(application: Application) -> None:
    endpoint = await application.store.endpoints.create(draft(slug="orders"))
    services = services_of(application)
    local = application.addresses.capture_url(endpoint)
    await application.change_settings({"base_url": MANUAL})
    assert services.capture_url(endpoint) == f"{MANUAL}/catch/orders"
    seen: list[TunnelChanged] = []
    application.bus.subscribe(TunnelChanged, seen.append)
    await use(application, "in pieces")
    await services.tunnels.start("own")
    await until(application, connected)
    assert services.capture_url(endpoint) == f"{URL}/catch/orders"
    assert services.about.base_url == URL
    assert application.addresses.local_url(endpoint.slug) == local
    for base in (URL, MANUAL):
        with pytest.raises(InvalidFieldsError, match="loop"):
            await services.store.targets.create(endpoint.id, TargetDraft(url=f"{base}/catch/orders"))
    await services.tunnels.stop()
    assert services.capture_url(endpoint) == f"{MANUAL}/catch/orders"
    with pytest.raises(InvalidFieldsError, match="loop"):  # it may be the tunnel's again
        await services.store.targets.create(endpoint.id, TargetDraft(url=f"{URL}/catch/orders"))
    changes = [event.tunnel.state for event in seen if event.url_changed]
    assert changes == [TunnelState.CHECKING, TunnelState.STOPPING]


async def test_a_test_request_goes_through_the_tunnel(application: Application) -> None:
    endpoint = await application.store.endpoints.create(draft(slug="orders"))
    await use(application, "relay")
    await application.tunnels.start("own")
    tunnel = await until(application, connected)
    sent = await services_of(application).send_test(endpoint)
    assert (sent.status, sent.place, sent.public) == (200, tunnel.url, True)


async def test_the_tunnel_follows_the_capture_port(application: Application) -> None:
    endpoint = await application.store.endpoints.create(draft(slug="orders"))
    await use(application, "relay")
    await application.tunnels.start("own")
    first = (await until(application, connected)).url
    await application.change_settings({"port": free_port()})
    second = (await until(application, lambda tunnel: connected(tunnel) and tunnel.url != first)).url
    assert (await asyncio.to_thread(post, f"{second}/catch/orders", b"{}")).status == 200
    assert application.addresses.capture_url(endpoint) == f"{second}/catch/orders"


async def test_a_tunnel_that_cannot_start_with_hookline_does_not_stop_it(tmp_path: Path) -> None:
    application = Application(tmp_path, {"port": 0, "api_port": 0, "tunnel_program": "ssh", "tunnel_autostart": True})
    await application.open()
    await application.listen()
    tunnel = application.tunnels.tunnel
    assert application.addresses.listening is not None
    assert (tunnel.state, tunnel.program) == (TunnelState.FAILED, "ssh")
    assert tunnel.problem == "SSH to your own server needs host (Server)."
    await application.close()
    assert application.tunnels.tunnel.state is TunnelState.OFF


async def test_the_program_ends_with_hookline(tmp_path: Path) -> None:
    application = Application(tmp_path, {"port": 0, "api_port": 0})
    await application.open()
    await application.listen()
    await use(application, "leaves children")
    await application.tunnels.start("own")
    tunnel = await until(application, lambda tunnel: connected(tunnel) and len(tunnel.output) >= 4)
    processes = [int(line.split()[1]) for line in tunnel.output if line.startswith(("child", "me"))]
    assert len(processes) == 3
    await application.close()
    await application.close()
    assert await ended(processes)
    again = Application(tmp_path, {"port": 0, "api_port": 0})
    await again.open()
    (url,) = await again.tunnels.history()
    assert url.until is not None
    await again.close()


async def test_an_unknown_program_is_no_setting(application: Application) -> None:
    with pytest.raises(InvalidFieldsError, match="no tunnel program 'nothing'") as caught:
        await application.change_settings({"tunnel_program": "nothing"})
    assert [error.field for error in caught.value.errors] == ["tunnel_program"]
