"""Who sent a request: the connection's peer, or behind a tunnel, the client that its program names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import NamedTuple

from app.core.tunnel.client_address import client_address, client_scheme
from app.core.tunnel.program import AddressHeader


class Client(NamedTuple):
    """The client's address. `port` is 0 where only the address is known."""

    address: str
    port: int
    scheme: str = "http"


TunnelClient = Callable[[tuple[str, int], Sequence[tuple[bytes, bytes]]], Client]
"""Takes the connection's peer and the request's headers."""


def direct_client(peer: tuple[str, int], headers: Sequence[tuple[bytes, bytes]]) -> Client:
    """A `TunnelClient` without a tunnel."""
    return Client(*peer)


def tunnel_client(header: Callable[[], AddressHeader | None]) -> TunnelClient:
    """A `TunnelClient` that believes the tunnel's header. `header` returns it, None while no tunnel is up.

    Only a program on this machine can be the tunnel's: to any other peer the header is what its sender wrote.
    """

    def client(peer: tuple[str, int], headers: Sequence[tuple[bytes, bytes]]) -> Client:
        trusted = header()
        if trusted is None or not _is_loopback(peer[0]):
            return Client(*peer)
        address = client_address(headers, trusted)
        if address is None:
            return Client(*peer)
        return Client(address, 0, client_scheme(headers) or "http")

    return client


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
