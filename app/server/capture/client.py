"""Who sent a request: the connection's peer, or the client that a reverse proxy or a tunnel's program names."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from app.core.record import Headers
from app.core.settings import Network
from app.core.tunnel_program import AddressHeader

_LOOPBACK = ip_network("127.0.0.0/8"), ip_network("::1")


class Client(NamedTuple):
    """The client's address. `port` is 0 where only the address is known."""

    address: str
    port: int
    scheme: str = "http"


def client_of(
    peer: tuple[str, int], headers: Headers, trusted: AddressHeader | None, proxies: Sequence[Network] = ()
) -> Client:
    """`peer` is the connection's, `trusted` the tunnel's header, None while no tunnel is up.

    Only a program on this machine can be the tunnel's: to any other peer the header is what its sender wrote. The same
    goes for a peer that is none of the `proxies`.
    """
    if proxies and _is_among(peer[0], proxies):
        return _client_of_proxy(peer, headers, proxies)
    if trusted is None or not _is_among(peer[0], _LOOPBACK):
        return Client(*peer)
    address = client_address(headers, trusted)
    if address is None:
        return Client(*peer)
    return Client(address, 0, client_scheme(headers) or "http")


def _client_of_proxy(peer: tuple[str, int], headers: Headers, proxies: Sequence[Network]) -> Client:
    """The last address of X-Forwarded-For that is none of the proxies: what is before it, anybody may have written."""
    scheme = client_scheme(headers) or "http"
    for value in reversed(_values(headers, "X-Forwarded-For")):
        address = _address(value)
        if address is None:
            break
        if not _is_among(address, proxies):
            return Client(address, 0, scheme)
    return Client(*peer, scheme)


def _is_among(text: str, networks: Sequence[Network]) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in networks)


VALUE_MAX = 2_000
_SCHEMES = ("http", "https")


def client_address(headers: Headers, header: AddressHeader) -> str | None:
    """The address that the tunnel saw, without zone and port; None if the header is missing or has none."""
    values = _values(headers, header.name)
    if not values or (header.take == "only" and len(values) != 1):
        return None
    return _address(values[0] if header.take == "first" else values[-1])


def client_scheme(headers: Headers) -> str | None:
    """`https` or `http` as the last X-Forwarded-Proto says; None if there is none."""
    values = _values(headers, "X-Forwarded-Proto")
    return values[-1].lower() if values and values[-1].lower() in _SCHEMES else None


def _values(headers: Headers, name: str) -> list[str]:
    """All comma-separated values of a header, over all its lines."""
    lines = [value[-VALUE_MAX:] for given, value in headers if given.lower() == name.lower()]
    return [value.strip() for line in lines for value in line.split(",")]


def _address(text: str) -> str | None:
    text = text.strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
