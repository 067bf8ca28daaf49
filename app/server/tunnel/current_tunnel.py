"""The tunnel as it is now, and the URLs that it had: stored, and announced with each change."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.errors import StorageUnavailableError
from app.core.events import Bus, EndpointRemoved, EndpointSaved, TunnelChanged
from app.core.own_urls import CAPTURE_PATH
from app.core.tunnel import (
    CONNECTED,
    DOWN,
    OutdatedUrl,
    Probe,
    Tunnel,
    TunnelCopy,
    TunnelState,
    TunnelUrl,
    connected_state,
)
from app.core.tunnel_program import AddressHeader
from app.server.tunnel.launch import Launch

if TYPE_CHECKING:
    from app.db.endpoints import Endpoints, Tunnels

log = logging.getLogger(__name__)


class CurrentTunnel:
    """What `Session` reports, and what others ask. Each change publishes `TunnelChanged`."""

    def __init__(self, repository: Tunnels, endpoints: Endpoints, bus: Bus) -> None:
        self._repository, self._endpoints, self._bus = repository, endpoints, bus
        self.tunnel = Tunnel()
        self.launch: Launch | None = None
        """The program that runs or is started again; None while there is none."""
        self._copies: list[TunnelCopy] = []
        """The capture URLs that the user copied, or that a provider has now, the last copied last."""
        self._last_url: str | None = None
        self._bases: dict[str, None] = {}
        self._published: tuple[str | None, TunnelState | None] = None, None
        for kind in (EndpointRemoved, EndpointSaved):  # a deleted one may be restored
            bus.subscribe(kind, lambda _: self.change())

    async def load(self) -> None:
        """Read what earlier runs have stored. Raises StorageUnavailableError."""
        self._copies = await self._repository.copies()
        newest = await self._repository.history(1)
        if newest:
            self._last_url = newest[0].url
        self.tunnel = replace(self.tunnel, outdated=self._outdated())

    # -- what others ask ------------------------------------------------------------------------------------------

    @property
    def base(self) -> str | None:
        """What capture URLs begin with because of the tunnel: its URL while it is connected, and while it is started
        again if it comes back with the same one."""
        tunnel = self.tunnel
        if tunnel.state in CONNECTED:
            return tunnel.url
        again = tunnel.state is TunnelState.RESTARTING or (tunnel.state is TunnelState.STARTING and tunnel.restarts > 0)
        return tunnel.url if again and self.launch is not None and self.launch.keeps_url else None

    @property
    def url_state(self) -> TunnelState | None:
        """The tunnel's state if capture URLs begin with its URL: they work only while it is up."""
        return None if self.base is None else self.tunnel.state

    @property
    def bases(self) -> Sequence[str]:
        """All URLs that the tunnel had since Hookline started."""
        return tuple(self._bases)

    @property
    def address_header(self) -> AddressHeader | None:
        """The header to believe about clients' addresses; None unless the tunnel is connected and sends one."""
        if self.tunnel.state not in CONNECTED or self.launch is None:
            return None
        return self.launch.address_header

    async def history(self, limit: int = 50) -> list[TunnelUrl]:
        """The URLs, newest first."""
        return await self._repository.history(limit)

    # -- what the user does ---------------------------------------------------------------------------------------

    async def copied(self, endpoint_id: int) -> None:
        """The user copied this endpoint's capture URL."""
        if (base := self.base) is not None:
            await self._repository.copied(endpoint_id, base, now_us())
            await self._read_copies()

    async def updated(self, endpoint_id: int) -> None:
        """The provider has the new URL of this endpoint, and no older one."""
        if (base := self._last_url) is not None:
            await self._repository.updated(endpoint_id, base, now_us())
            await self._read_copies()

    # -- what happens to it ---------------------------------------------------------------------------------------

    def begin(self, **fields: object) -> None:
        """Forget the tunnel that there was."""
        self._set(replace(Tunnel(), **fields))

    def change(self, **fields: object) -> None:
        self._set(replace(self.tunnel, **fields))

    async def went_up(self, url: str) -> None:
        """The tunnel has this URL from now on."""
        await _stored(self._repository.opened(url, self.tunnel.program or "", now_us()))
        self._last_url = url
        self._bases[url] = None
        state = connected_state(None, new=True)
        self.change(state=state, url=url, up_since=None, restart_at=None, problem=None, probe=None)

    def probed(self, probe: Probe, *, new: bool, alarm: bool) -> None:
        """A request through the URL arrived, or did not. `alarm`: it should have, and not for the first time."""
        state = connected_state(probe, new=new)
        up_since = (self.tunnel.up_since or probe.at) if state is TunnelState.UP else None
        problem = probe.problem if alarm or probe.problem is None else self.tunnel.problem
        self.change(state=state, probe=probe, problem=problem, up_since=up_since)

    async def went_down(self) -> None:
        """The tunnel's URL does not work any more."""
        await _stored(self._repository.closed(now_us()))
        self.change(up_since=None)

    # -- within ---------------------------------------------------------------------------------------------------

    async def _read_copies(self) -> None:
        self._copies = await self._repository.copies()
        self.change()

    def _outdated(self) -> tuple[OutdatedUrl, ...]:
        """Of each endpoint the last URL that was copied under another public URL than the tunnel's last."""
        found: dict[int, OutdatedUrl] = {}
        for copy in self._copies:
            endpoint = self._endpoints.by_id(copy.endpoint_id)
            if endpoint is not None and copy.base != self._last_url:
                url = f"{copy.base}{CAPTURE_PATH}{endpoint.slug}"
                found[endpoint.id] = OutdatedUrl(endpoint_id=endpoint.id, url=url, copied_at=copy.copied_at)
        return tuple(found.values())

    def _set(self, tunnel: Tunnel) -> None:
        tunnel = replace(tunnel, outdated=self._outdated())
        if tunnel == self.tunnel:
            return
        previous, self.tunnel = self.tunnel, tunnel
        if tunnel.state is not previous.state:
            level = logging.WARNING if tunnel.state in DOWN else logging.INFO
            log.log(level, "%s (%s)", tunnel.sentence, tunnel.program)
        published = self.base, self.url_state
        changed, self._published = published != self._published, published
        self._bus.publish(TunnelChanged(tunnel=tunnel, previous=previous, url_changed=changed))


async def _stored(storing: Awaitable[None]) -> None:
    """Without its history a tunnel works too."""
    try:
        await storing
    except StorageUnavailableError as error:
        log.warning("the tunnel's URL is missing in its history: %s", error)
