"""Recognises Hookline's own URLs, however their host is spelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from unicodedata import normalize
from urllib.parse import SplitResult, unquote, urlsplit

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

CAPTURE_PATH = "/catch/"
ALL_ADDRESSES = ("0.0.0.0", "::", "")
"""Hosts to listen on that stand for all addresses of the machine."""
_LOOPBACK = "localhost"
_LOOPBACK_NAMES = frozenset({_LOOPBACK, "localhost.localdomain", "ip6-localhost", "ip6-loopback"})
_OTHER_DOTS = str.maketrans(dict.fromkeys("\u3002\uff0e\uff61", "."))


def own_base_of(url: str, own_bases: Sequence[str]) -> str | None:
    """The one of `own_bases` that `url` is below, such as `http://127.0.0.1:8787/catch/`; None for any other URL.

    All names and addresses of the loopback interface count as one host.
    """
    parts = urlsplit(url)
    for own in own_bases:
        base = urlsplit(own)
        if _host_and_port(parts) == _host_and_port(base) and (parts.path + "/").startswith(base.path):
            return own
    return None


def is_loopback(url: str) -> bool:
    """Whether only this computer can reach it."""
    return _host(urlsplit(url).hostname or "") == _LOOPBACK


def _host_and_port(parts: SplitResult) -> tuple[str, int]:
    return _host(parts.hostname or ""), parts.port or (443 if parts.scheme == "https" else 80)


def _host(name: str) -> str:
    name = normalize("NFKC", unquote(name)).translate(_OTHER_DOTS).lower().rstrip(".")
    if name in _LOOPBACK_NAMES or name.endswith("." + _LOOPBACK):
        return _LOOPBACK
    address = _address(name)
    if address is None:
        return name
    return _LOOPBACK if address.is_loopback or address.is_unspecified else str(address)


def _address(name: str) -> IPv4Address | IPv6Address | None:
    """The address for `name`; resolvers also accept 127.1, 0x7f000001 and 2130706433."""
    import socket  # start-up time: few commands check a URL
    from ipaddress import IPv4Address, IPv6Address, ip_address  # as above

    try:
        address = ip_address(name)
    except ValueError:
        try:
            return IPv4Address(socket.inet_aton(name))
        except (OSError, ValueError):
            return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
