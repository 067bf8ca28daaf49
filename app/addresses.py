"""The URLs of a running Hookline: on this machine, and for senders elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.core.model import Endpoint
from app.core.own_urls import ALL_ADDRESSES, CAPTURE_PATH
from app.core.settings import Settings

LOOPBACK = "127.0.0.1"

Address = tuple[str, int]
"""Host and port."""


class Addresses:
    """`capture` and `api` are where the two ports listen now, None while they are closed; `tunnel_base` is what the
    tunnel's URL begins with while it is up, and `tunnel_bases` all that it has had."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        *,
        capture: Callable[[], Address | None],
        api: Callable[[], Address | None],
        tunnel_base: Callable[[], str | None],
        tunnel_bases: Callable[[], Sequence[str]],
    ) -> None:
        self._settings, self._capture, self._api = settings, capture, api
        self._tunnel_base, self._tunnel_bases = tunnel_base, tunnel_bases

    @property
    def listening(self) -> Address | None:
        """Host and port senders reach, None while the capture port is closed."""
        return self._capture()

    @property
    def api_url(self) -> str:
        """The local API's address without a path."""
        address = self._api()
        if address is None:
            raise RuntimeError("the local API is not being served")
        return f"http://{address[0]}:{address[1]}"

    def local_base(self) -> str:
        """The capture port's own address, as a program on this machine reaches it."""
        settings = self._settings()
        host, port = self.listening or (settings.host, settings.port)
        if host in ALL_ADDRESSES:
            host = LOOPBACK
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def listening_url(self) -> str | None:
        """The capture port's own address, None while it is closed."""
        return self.local_base() if self.listening else None

    def public_base(self) -> str | None:
        """The tunnel's URL while it is up, else the public base URL of the settings; None without either."""
        return self._tunnel_base() or self._settings().base_url

    def base_url(self) -> str:
        """What capture URLs begin with: the public base, or else the capture port's own address."""
        return self.public_base() or self.local_base()

    def capture_url(self, endpoint: Endpoint) -> str:
        """The URL to give to senders of `endpoint`."""
        return f"{self.base_url().rstrip('/')}/catch/{endpoint.slug}"

    def local_url(self, endpoint: Endpoint) -> str:
        """The URL by which this machine reaches `endpoint`, regardless of the public base URL."""
        return f"{self.local_base()}/catch/{endpoint.slug}"

    def own_bases(self) -> tuple[str, ...]:
        """The prefixes of Hookline's own URLs, on the capture port and the API port, which no forward URL may have."""
        settings, listening, api = self._settings(), self.listening, self._api()
        bases = [self.local_base(), f"http://{LOOPBACK}:{listening[1] if listening else settings.port}"]
        if settings.base_url:
            bases.append(settings.base_url)
        bases.extend(self._tunnel_bases())
        api_ports = {settings.api_port} | ({api[1]} if api is not None else set())
        return (
            *dict.fromkeys(base.rstrip("/") + CAPTURE_PATH for base in bases),
            *(f"http://{LOOPBACK}:{port}/" for port in sorted(api_ports - {0})),
        )
