"""Calls about the tunnel."""

from __future__ import annotations

from collections.abc import Mapping

from hookline.calls import Call, Pages, Response, decode_as, path_of
from hookline.client.methods import Asynchronous, Blocking, ListMethod, Method
from hookline.records import Probe, Tunnel, TunnelProgram, TunnelPrograms, TunnelUrl

PATH = "/tunnel"


class _Calls:
    @Method
    def get(self) -> Call[Tunnel]:
        return Call("GET", PATH, decode_as(Tunnel))

    @Method
    def programs(self) -> Call[tuple[TunnelProgram, ...]]:
        """All programs that Hookline can run as a tunnel."""
        return Call("GET", f"{PATH}/programs", _programs)

    @Method
    def set_options(self, program: str, options: Mapping[str, str]) -> Call[TunnelProgram]:
        """Save options of a program; an empty text removes one."""
        return Call("PUT", path_of("tunnel", "programs", program, "options"), decode_as(TunnelProgram), content=options)

    @Method
    def start(self, program: str) -> Call[Tunnel]:
        """Start a program; another one is stopped."""
        return Call("POST", f"{PATH}/start", decode_as(Tunnel), content={"program": program})

    @Method
    def stop(self) -> Call[Tunnel]:
        return Call("POST", f"{PATH}/stop", decode_as(Tunnel))

    @Method
    def probe(self) -> Call[Probe]:
        """Check that the public URL reaches Hookline."""
        return Call("POST", f"{PATH}/probe", decode_as(Probe))

    @Method
    def updated(self, endpoint: str) -> Call[Tunnel]:
        """The provider of this endpoint (a slug) has its new URL."""
        return Call("POST", f"{PATH}/updated", decode_as(Tunnel), content={"endpoint": endpoint})

    @ListMethod
    def history(self, count: int | None = None) -> Pages[TunnelUrl]:
        """The last `count` public URLs, newest first."""
        return Pages(f"{PATH}/history", TunnelUrl, {}, count)


class TunnelControl(_Calls, Blocking):
    """`client.tunnel`."""


class AsyncTunnelControl(_Calls, Asynchronous):
    """`TunnelControl` for asyncio."""


def _programs(response: Response) -> tuple[TunnelProgram, ...]:
    return decode_as(TunnelPrograms)(response).items
