"""A tunnel that does what a test says, and programs as the catalogue might describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.errors import HooklineError, NotFoundError
from app.core.events import Bus, TunnelChanged
from app.core.tunnel import CONNECTED, OutdatedUrl, Probe, Tunnel, TunnelState, TunnelUrl, connected_state
from app.core.tunnel_program import FoundProgram, TunnelOption, TunnelProgram, saved_after, shown_values

URL = "https://swift-lake-reads-books.trycloudflare.com"
_INSTALL = "Download it from the website and put it on your PATH."


def program(program_id: str = "cloudflared", **fields: Any) -> TunnelProgram:
    """A program without options that gives a new URL at each start."""
    defaults: dict[str, Any] = {
        "id": program_id,
        "name": program_id,
        "summary": "Free, no account.",
        "website": "https://example.org",
        "executables": (program_id,),
        "install": dict.fromkeys(("linux", "macos", "windows"), _INSTALL),
    }
    return TunnelProgram(**{**defaults, **fields})


def found(program_id: str = "cloudflared", *, installed: bool = True, **fields: Any) -> FoundProgram:
    """It lies on this computer, without saved options."""
    values, secrets = fields.pop("values", {}), fields.pop("secrets_set", ())
    path = f"/usr/bin/{program_id}" if installed else None
    return FoundProgram(program=program(program_id, **fields), path=path, values=values, secrets_set=secrets)


HOST = TunnelOption(name="host", label="Server", required=True, placeholder="user@example.com", help="Your SSH server.")
PORT = TunnelOption(name="port", label="Remote port", default="9001", pattern=r"\d+")
TOKEN = TunnelOption(name="token", label="Auth token", secret=True, help="From your ngrok dashboard.")
COMMAND = TunnelOption(name="command", label="Command", required=True)
REGION = TunnelOption(name="region", label="Region", choices=("eu", "us", "ap"))


class FakeTunnels:
    """`calls` has what was called, in order; a call whose name is in `errors` raises that instead.

    `start` leaves the tunnel STARTING, as a real one is at first; `come_up` gives it a URL.
    """

    def __init__(self, bus: Bus, programs: Sequence[FoundProgram] = ()) -> None:
        self._bus = bus
        self.tunnel = Tunnel()
        self.found = list(programs or (found(name="Cloudflare quick tunnel"), found("ngrok", installed=False)))
        self.urls: list[TunnelUrl] = []
        self.calls: list[tuple[object, ...]] = []
        self.errors: dict[str, HooklineError] = {}
        self.next_probe = Probe(at=0, ms=84.0)

    def change(self, *, url_changed: bool = False, **fields: Any) -> Tunnel:
        """The tunnel changes, and says so."""
        previous, self.tunnel = self.tunnel, replace(self.tunnel, **fields)
        self._bus.publish(TunnelChanged(tunnel=self.tunnel, previous=previous, url_changed=url_changed))
        return self.tunnel

    def come_up(self, url: str = URL, **fields: Any) -> Tunnel:
        """It is up with this URL."""
        known = {"program": self.tunnel.program or self.found[0].program.id, "problem": None, "restart_at": None}
        up = {"state": TunnelState.UP, "url": url, "up_since": now_us()}
        return self.change(**{"url_changed": url != self.tunnel.url, **known, **up, **fields})

    def outdate(self, *endpoint_ids: int, url: str = URL) -> Tunnel:
        """It comes up with this URL, and those of these endpoints were copied before."""
        old = (
            OutdatedUrl(endpoint_id=one, url=f"https://old.example/catch/{one}", copied_at=0) for one in endpoint_ids
        )
        return self.come_up(url, outdated=tuple(old))

    @property
    def url_state(self) -> TunnelState | None:
        return self.tunnel.state if self.tunnel.state in CONNECTED else None

    async def programs(self) -> Sequence[FoundProgram]:
        self._call("programs")
        return tuple(self.found)

    async def configure(self, program_id: str, values: Mapping[str, str]) -> None:
        self._call("configure", program_id, dict(values))
        for place, one in enumerate(self.found):
            if one.program.id == program_id:
                kept = {**one.values, **dict.fromkeys(one.secrets_set, "saved")}
                shown, secrets = shown_values(one.program, saved_after(one.program, kept, values))
                self.found[place] = replace(one, values=shown, secrets_set=secrets)

    async def start(self, program_id: str) -> Tunnel:
        self._call("start", program_id)
        return self.change(
            state=TunnelState.STARTING, program=program_id, url=None, problem=None, started_at=now_us(), probe=None
        )

    async def stop(self) -> Tunnel:
        self._call("stop")
        return self.change(url_changed=self.tunnel.url is not None, state=TunnelState.OFF, url=None, problem=None)

    async def probe(self) -> Probe:
        self._call("probe")
        if self.tunnel.state not in CONNECTED:
            raise NotFoundError("The tunnel has no URL.")
        return self.probed(replace(self.next_probe, at=now_us()))

    def probed(self, probe: Probe) -> Probe:
        """A probe arrived, or did not, which is an alarm."""
        self.change(probe=probe, problem=probe.problem, state=connected_state(probe, new=False), url_changed=True)
        return probe

    async def copied(self, endpoint_id: int) -> None:
        self._call("copied", endpoint_id)

    async def updated(self, endpoint_id: int) -> None:
        self._call("updated", endpoint_id)
        self.change(outdated=tuple(one for one in self.tunnel.outdated if one.endpoint_id != endpoint_id))

    async def history(self, limit: int = 50) -> Sequence[TunnelUrl]:
        return tuple(self.urls[:limit])

    def called(self, name: str) -> list[tuple[object, ...]]:
        """The arguments of each call of this name."""
        return [call[1:] for call in self.calls if call[0] == name]

    def _call(self, *call: object) -> None:
        if call[0] in self.errors:
            raise self.errors[str(call[0])]
        self.calls.append(call)
