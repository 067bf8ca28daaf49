"""The chapter of the tunnel: its page in each state, what is said when its URL changed, the QR code, the settings.

No tunnel program is run: a stand-in has the states.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from app import window_session
from app.application import Application
from app.core.clock import now_us
from app.core.errors import InvalidFieldsError
from app.core.files import Component, resource
from app.core.model import Endpoint
from app.core.rules import FieldError
from app.core.text import Fact
from app.core.tunnel import OutdatedUrl, Probe, TunnelState, TunnelUrl
from app.core.tunnel_program import FoundProgram, read_folder
from app.system import about as system_about
from app.ui.endpoints.qr_dialog import QrDialog
from app.ui.services import Services
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.sidebar import DASHBOARD, TUNNEL
from app.ui.tunnel.page import TunnelPage
from app.ui.widgets.text_fields import TextField
from docs.book import Book
from tests.ui.tunnels import URL, FakeTunnels

SIZES = ((1366, 768), (1920, 1080))
MINUTE, HOUR = 60_000_000, 3_600_000_000
OLD = "https://quiet-river-finds-stones.trycloudflare.com"
QUICK = "cloudflared-quick"
INSTALLED = ("cloudflared", "ngrok", "ssh")
VALUES = {"ngrok": {"domain": "ann.ngrok-free.dev"}, "ssh": {"host": "vps.example.net", "user": "ann"}}


def programs() -> list[FoundProgram]:
    """The catalogue, on a computer that has some of its programs."""
    return [
        FoundProgram(
            program=spec.program,
            path=next((f"/usr/bin/{one}" for one in spec.program.executables if one in INSTALLED), None),
            values=VALUES.get(name, {}),
            secrets_set=("authtoken",) if name == "ngrok" else (),
        )
        for name, spec in read_folder(resource("tunnels")).items()
    ]


class About:
    """The program's own, with capture URLs that begin with the tunnel's."""

    def __init__(self, about: system_about.About, tunnels: FakeTunnels) -> None:
        self._about, self._tunnels = about, tunnels
        self.installation = about.installation

    @property
    def base_url(self) -> str:
        tunnel = self._tunnels.tunnel
        return tunnel.url if self._tunnels.url_state and tunnel.url else self._about.base_url

    def versions(self) -> Sequence[Fact]:
        return self._about.versions()

    async def licences(self) -> Sequence[Component]:
        return await self._about.licences()

    async def diagnostics(self, window: Sequence[Fact]) -> str:
        return await self._about.diagnostics(window)


_real_services_of = window_session.services_of


def services_of(application: Application, *restarts: Callable[..., None]) -> Services:
    """Those of the program, with a stand-in for the tunnel."""
    real = _real_services_of(application, *restarts)
    tunnels = FakeTunnels(application.bus, programs())
    about = About(real.about, tunnels)

    def capture_url(endpoint: Endpoint) -> str:
        if tunnels.tunnel.program == "local":
            return application.addresses.local_url(endpoint.slug)
        path = real.capture_url(endpoint).partition("/catch/")[2]
        return f"{about.base_url}/catch/{path}"

    stand_ins: dict[str, Any] = {"tunnels": tunnels, "about": about, "capture_url": capture_url}
    return dataclasses.replace(real, **stand_ins)


_LOG = """2026-11-23T03:02:11Z INF Thank you for trying Cloudflare Tunnel.
2026-11-23T03:02:11Z INF Requesting new quick Tunnel on trycloudflare.com...
2026-11-23T03:02:14Z INF |  Your quick Tunnel has been created! Visit it at:                           |
2026-11-23T03:02:14Z INF |  https://swift-lake-reads-books.trycloudflare.com                            |
2026-11-23T03:02:14Z INF Generated Connector ID: 5f8d7c1e-2f0a-4a55-9a3e-0f1e2d3c4b5a
2026-11-23T03:02:15Z INF Initial protocol quic
2026-11-23T03:02:15Z INF Registered tunnel connection connIndex=0 ip=198.41.200.13 location=fra08 protocol=quic
2026-11-23T03:02:16Z WRN Failed to dial a quic connection error="timeout: no recent network activity" connIndex=1"""
LINES = tuple(_LOG.split("\n"))


class Chapter:
    """The pictures, with what they share."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.page: TunnelPage = book.window.tunnel_page
        tunnels: object = book.window.services.tunnels
        assert isinstance(tunnels, FakeTunnels)
        self.tunnels = tunnels

    async def save(self, name: str) -> None:
        await asyncio.sleep(0.1)
        await self.book.save(name, SIZES)

    async def off(self) -> None:
        book, programs = self.book, self.page.programs
        book.window.show_page(TUNNEL)
        await book.until("the programs", lambda: programs.list.rows.rowCount() > 0)
        await self.save("tunnel-off")
        for name in ("ngrok", "pinggy", "bore"):
            programs.list.select(name)
            await self.save(f"tunnel-off-{name}")
        programs.list.select("ssh")
        error = FieldError(field="url", message="Public URL must begin with http:// or https://, not “hooks”.")
        url = programs.panes["ssh"].form.fields["url"].editor
        assert isinstance(url, TextField)
        url.setText("hooks")
        refused = InvalidFieldsError([error])
        await book.save("tunnel-errors", SIZES, before=lambda: programs.show_error("ssh", refused))
        programs.panes["ssh"].show_error(InvalidFieldsError([]))
        programs.list.select(QUICK)

    async def up(self, minutes: int = 84) -> None:
        now = now_us()
        probe = Probe(at=now - 12_000_000, ms=84.3)
        self.page.programs.list.setFocus()
        self.tunnels.come_up(URL, program=QUICK, up_since=now - minutes * MINUTE, probe=probe, output=LINES)

    async def states(self) -> None:
        tunnels, page, now = self.tunnels, self.page, now_us()
        tunnels.change(state=TunnelState.STARTING, program=QUICK, started_at=now - 3_000_000, output=LINES[:2])
        page.tabs.setCurrentWidget(page.output)
        await self.save("tunnel-starting")
        await self.book.ready.application.change_settings({"tunnel_program": QUICK})
        await self.up()
        await self.save("tunnel-up-output")
        page.tabs.setCurrentWidget(page.programs)
        await self.save("tunnel-up")
        tunnels.urls = [
            TunnelUrl(url=URL, program=QUICK, since=now - 84 * MINUTE),
            TunnelUrl(url=OLD, program=QUICK, since=now - 9 * HOUR, until=now - 84 * MINUTE),
            TunnelUrl(url="https://ann.ngrok-free.dev", program="ngrok", since=now - 60 * HOUR, until=now - 31 * HOUR),
        ]
        page._read()
        page.tabs.setCurrentWidget(page.history)
        await self.save("tunnel-history")
        page.tabs.setCurrentWidget(page.programs)
        problem = (
            "Requests through the URL get a page of somebody else, perhaps of a network that asks you to sign in."
            " Open the URL in a browser to see it."
        )
        tunnels.probed(Probe(at=now_us() - 4_000_000, ms=None, problem=problem))
        await self.save("tunnel-unreachable")
        problem = "cloudflared ended with exit code 1: failed to request quick Tunnel. Check this computer’s network."
        tunnels.change(state=TunnelState.RESTARTING, restart_at=now_us() + 9_000_000, restarts=2, problem=problem)
        await self.save("tunnel-restarting")
        tunnels.change(state=TunnelState.FAILED, restarts=5, url_changed=True, url=None, problem=problem)
        await self.save("tunnel-failed")
        self.tunnels.come_up(
            "http://bore.pub:40213",
            program="bore",
            up_since=now_us() - 40_000_000,
            restarts=0,
            probe=Probe(at=now_us() - 9_000_000, ms=212.0),
        )
        await self.save("tunnel-up-plain")

    async def alarm(self, *endpoints: Endpoint) -> None:
        book, now = self.book, now_us()
        outdated = tuple(
            OutdatedUrl(endpoint_id=one.id, url=f"{OLD}/catch/{one.slug}", copied_at=now - (place + 1) * 31 * MINUTE)
            for place, one in enumerate(endpoints)
        )
        await self.up(1)
        self.tunnels.change(outdated=outdated, restarts=1)
        await self.save("tunnel-outdated")
        await book.show(endpoints[0])
        await self.save("tunnel-alarm")
        self.tunnels.change(outdated=())
        book.window.show_page(DASHBOARD)
        problem = "cloudflared ended with exit code 1: failed to request quick Tunnel. Check this computer’s network."
        self.tunnels.change(state=TunnelState.FAILED, url=None, problem=problem, url_changed=True)
        await self.save("tunnel-failed-bar")
        self.tunnels.change(state=TunnelState.OFF, problem=None)

    async def qr(self, endpoint: Endpoint) -> None:
        book = self.book
        await self.up()
        await book.show(endpoint)
        book.page.header.qr.click()
        await self.save("qr")
        book.dialog(QrDialog).reject()
        self.tunnels.change(state=TunnelState.OFF, program="local", url=None, url_changed=True)
        book.page.header.qr.click()
        await self.save("qr-local")
        book.dialog(QrDialog).reject()

    async def settings(self) -> None:
        book = self.book
        book.window.dialogs.open_settings("tunnel_autostart")
        dialog = book.dialog(SettingsDialog)
        await self.save("settings-tunnel")
        dialog.reject()


async def draw(book: Book, stripe: Endpoint, github: Endpoint) -> None:
    """Each state of the page, then the rest of the window."""
    chapter = Chapter(book)
    await chapter.off()
    await chapter.states()
    await chapter.alarm(stripe, github)
    await chapter.qr(stripe)
    await chapter.settings()
