"""The URLs of a running Hookline, on this machine and for senders elsewhere, and what proves that one leads to it."""

from __future__ import annotations

import hmac
import re
import secrets
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING

from app.core.model import Endpoint
from app.core.own_urls import ALL_ADDRESSES, CAPTURE_PATH
from app.core.settings import Network, networks
from app.core.tunnel_program import AddressHeader
from app.server.tunnel.current_tunnel import CurrentTunnel

if TYPE_CHECKING:
    from app.current_settings import CurrentSettings
    from app.db.part import Nodes

LOOPBACK = "127.0.0.1"

Address = tuple[str, int]
"""Host and port."""


class Addresses:
    """The application says here where the two ports listen, and which tunnel there is."""

    def __init__(self, settings: CurrentSettings) -> None:
        self._settings = settings
        self.listening: Address | None = None
        """Host and port senders reach, None while the capture port is closed."""
        self.api: Address | None = None
        """Those of the local API."""
        self.tunnel: CurrentTunnel | None = None
        """None until the store is open."""
        self.nodes: Nodes | None = None
        """Those of a team's store."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether nodes of a team's store capture, and this program does not."""
        return self.nodes is not None and self.listening is None

    @property
    def client_header(self) -> AddressHeader | None:
        """The header in which the tunnel names its clients; None unless it is connected and sends one."""
        return self.tunnel.address_header if self.tunnel is not None else None

    @property
    def proxies(self) -> tuple[Network, ...]:
        """Those that name their clients in a header."""
        text = self._settings.now.proxies
        return _networks(text) if text else ()

    @property
    def api_url(self) -> str:
        """The local API's address without a path."""
        if self.api is None:
            raise RuntimeError("the local API is not being served")
        return f"http://{self.api[0]}:{self.api[1]}"

    def local_base(self) -> str:
        """The capture port's own address, as a program on this machine reaches it. If it is elsewhere, what nodes tell;
        "" if they tell nothing."""
        if self.is_elsewhere:
            return self.public_base() or ""
        settings = self._settings.now
        host, port = self.listening or (settings.host, settings.port)
        return f"http://{_of_this_machine(host)}:{port}"

    @property
    def listening_url(self) -> str | None:
        """The capture port's own address, None while it is closed."""
        return self.local_base() if self.listening else None

    def public_base(self) -> str | None:
        """The tunnel's URL while it is up, else the public base URL of the settings; None without either. What nodes
        tell, if they capture elsewhere."""
        if self.nodes is not None and self.listening is None:
            return self.nodes.others.base_url
        return (self.tunnel.base if self.tunnel is not None else None) or self._settings.now.base_url

    def base_url(self) -> str:
        """What capture URLs begin with: the public base, or else the capture port's own address."""
        return self.public_base() or self.local_base()

    def announced(self) -> str | None:
        """What this node tells others who do not capture: an address by which they, too, reach it; None if it knows of
        none. A tunnel may be gone by the time that they use it."""
        settings = self._settings.now
        is_for_others = settings.host not in (*ALL_ADDRESSES, "localhost") and not ip_address(settings.host).is_loopback
        return settings.base_url or (self.local_base() if is_for_others and self.listening is not None else None)

    def capture_url(self, endpoint: Endpoint) -> str:
        """The URL to give to senders of `endpoint`."""
        return f"{self.base_url().rstrip('/')}/catch/{endpoint.slug}"

    def local_url(self, slug: str) -> str:
        """The URL by which this machine reaches an endpoint, regardless of the public base URL."""
        return f"{self.local_base()}/catch/{slug}"

    def own_bases(self) -> tuple[str, ...]:
        """The prefixes of Hookline's own URLs, on the capture port and the API port, which no forward URL may have."""
        settings, listening = self._settings.now, self.listening
        bases = [
            self.local_base(),
            f"http://{LOOPBACK}:{listening[1] if listening else settings.port}",
            settings.base_url,
            *(self.tunnel.bases if self.tunnel is not None else ()),
            self.nodes.others.base_url if self.nodes is not None else None,
        ]
        api_ports = {settings.api_port} | ({self.api[1]} if self.api is not None else set())
        api_hosts = dict.fromkeys((LOOPBACK, _of_this_machine(settings.api_host)))
        return (
            *dict.fromkeys(base.rstrip("/") + CAPTURE_PATH for base in bases if base),
            *(f"http://{host}:{port}/" for host in api_hosts for port in sorted(api_ports - {0})),
        )


_networks = cache(networks)


def _of_this_machine(host: str) -> str:
    """A host to listen on as it stands in a URL by which this machine reaches it."""
    if host in ALL_ADDRESSES:
        return LOOPBACK
    return f"[{host}]" if ":" in host else host


_QUERY = re.compile(r"\?([0-9a-f]{32})")


class ProbeKey:
    """What proves that a response came from this Hookline: a path that only this run knows, and a secret. One for each
    run; no endpoint has its slug."""

    def __init__(self) -> None:
        self._path = f"{CAPTURE_PATH}hookline-probe-{secrets.token_hex(16)}"
        self._secret = secrets.token_bytes(32)

    def new_target(self) -> str:
        """A target to request, never the same twice, so that no cache can respond."""
        return f"{self._path}?{secrets.token_hex(16)}"

    def proof_for(self, target: str) -> str | None:
        """The body of the response to a request of this target; None for any other target."""
        if not target.startswith(self._path):
            return None
        query = _QUERY.fullmatch(target.removeprefix(self._path))
        return hmac.digest(self._secret, query[1].encode(), "sha256").hex() if query else None
