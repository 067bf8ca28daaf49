"""IP addresses and networks in filters."""

from __future__ import annotations

import ipaddress


def read_network(text: str) -> str | None:
    """The usual spelling of an address or network; None if it is neither."""
    try:
        if "/" in text:
            return str(ipaddress.ip_network(text, strict=False))
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None
